"""Tables that people have and nobody tests: meeting names, many classes, blanks, outputs that exist."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

pytest.importorskip("typer")

ONE = ["--grid", "C=1", "--folds", "3", "--no-report"]


def _labels(rng: np.random.Generator, n: int) -> Any:
    return rng.choice(["good", "bad"], n)


def test_words_of_two_columns_and_a_number_can_have_one_name(tmp_path: Path, run: Any, ask: Any) -> None:
    rng = np.random.default_rng(0)
    y = _labels(rng, 90)
    rows = pd.DataFrame(
        {
            "title": [f"a {label} price number {k}" for k, label in enumerate(y)],
            "body": [f"the price was {label} on day {k}" for k, label in enumerate(y)],
            "price": rng.normal(size=90),
            "y": y,
        }
    )
    rows.to_csv(tmp_path / "t.csv", index=False)
    found = ask("fit", "t.csv", "-t", "y", "--model", "linear-svm", *ONE[:4])
    assert "class" not in str([c["kind"] for c in found["cautions"] if c["kind"] == "unscaled"])
    page = (tmp_path / found["report"]).read_text(encoding="utf-8")
    assert "numbers__" not in page
    predicted = run("predict", found["model"], "t.csv").stdout.splitlines()
    assert predicted[1:] == list(y)


def test_a_value_of_a_category_can_give_the_name_of_a_column(tmp_path: Path, run: Any, ask: Any) -> None:
    rng = np.random.default_rng(0)
    rows = pd.DataFrame(
        {"region": rng.choice(["id", "x"], 60), "region_id": rng.normal(size=60), "y": _labels(rng, 60)}
    )
    rows.to_csv(tmp_path / "t.csv", index=False)
    found = ask("fit", "t.csv", "-t", "y", *ONE)
    assert len(run("predict", found["model"], "t.csv").stdout.splitlines()) == 61


@pytest.mark.parametrize("command", ["tune", "select", "compare"])
def test_a_dry_run_does_not_mind_outputs_that_exist(command: str, rare: Path, run: Any) -> None:
    Path("found.csv").write_text("of yesterday", encoding="utf-8")
    words = [rare, "-t", "policy", "-o", "found.csv"]
    assert "what is done to each column" in run(command, *words, "--dry-run").stdout
    assert "found.csv exists" in run(command, *words, code=2).stderr
    assert Path("found.csv").read_text(encoding="utf-8") == "of yesterday"


def test_options_of_a_search_that_does_not_take_place_are_named(tmp_path: Path, run: Any) -> None:
    x = np.random.default_rng(0).normal(size=60)
    pd.DataFrame({"x": x, "y": 2 * x + x**2}).to_csv(tmp_path / "t.csv", index=False)
    words = ["fit", "t.csv", "-t", "y", "--model", "least-squares", "--no-report", "--force"]
    unused = "least-squares has nothing to tune: --scoring and --folds have no effect."
    assert unused in run(*words, "--scoring", "mae").stderr
    assert unused in run(*words, "--folds", "3").stderr
    assert unused not in run(*words).stderr


def test_many_classes_show_their_most_frequent_confusions(tmp_path: Path, run: Any, ask: Any) -> None:
    rng = np.random.default_rng(0)
    labels = [f"class number {k % 12}" for k in range(240)]
    pd.DataFrame({"x": rng.normal(size=240), "y": labels}).to_csv(tmp_path / "t.csv", index=False)
    words = ["fit", "t.csv", "-t", "y", "--model", "fisher", "--grid", "shrinkage=0.1", *ONE[2:], "--force"]
    said = run(*words).stdout
    assert "most frequent confusions" in said
    assert "predicted \\ true" not in said
    counts = np.array(ask(*words)["confusion"]["counts"])
    shown = [
        line.split()
        for line in said.partition("confusions")[2].splitlines()
        if line.startswith("class number ")
    ]
    assert max(int(line[-1]) for line in shown) == (counts * (1 - np.eye(12))).max()
    assert "about " in run("tune", "t.csv", "-t", "y", "--folds", "2").stdout  # many classes take their time


def test_a_weighted_accuracy_is_compared_without_an_interval(tmp_path: Path, run: Any, ask: Any) -> None:
    x = np.random.default_rng(0).normal(size=200)
    rows = pd.DataFrame({"x": x, "y": np.where(x > 0, "a", "b"), "w": 1 + np.arange(200) % 3})
    rows.to_csv(tmp_path / "t.csv", index=False)
    model = ask("fit", "t.csv", "-t", "y", "--drop", "w", *ONE)["model"]
    found = ask("evaluate", model, "t.csv", "--weights", "w")
    assert found["evaluation"]["accuracy"]["value"] > 0.9
    assert found["cautions"] == [] or all(c["kind"] == "leak" for c in found["cautions"])
    rows.assign(w="€3").to_csv(tmp_path / "t.csv", index=False)
    assert "not a number" in run("evaluate", model, "t.csv", "--weights", "w", code=3).stderr


def test_telephone_numbers_stay_and_formulas_are_reported(tmp_path: Path, run: Any) -> None:
    rng = np.random.default_rng(0)
    rows = pd.DataFrame(
        {
            "phone": [f"+34 6{k:08d}" for k in rng.choice(10**8, 80, replace=False)],
            "x": rng.normal(size=80),
            "y": _labels(rng, 80),
        }
    )
    rows.to_csv(tmp_path / "t.csv", index=False)
    run("fit", "t.csv", "-t", "y", *ONE)
    done = run("predict", "t.svm.mm", "t.csv")
    assert done.stdout.splitlines()[1].startswith(rows["phone"][0])
    assert "formulas" not in done.stderr
    rows.assign(phone="=1+" + rows["phone"]).to_csv(tmp_path / "t.csv", index=False)
    done = run("predict", "t.svm.mm", "t.csv")
    assert done.stdout.splitlines()[1].startswith("'=1+")
    assert "would run as formulas (80)" in done.stderr


def test_thresholds_and_training_files_are_told(rare: Path, run: Any) -> None:
    said = run("fit", rare, "-t", "policy", "--threshold", "0.25", *ONE).stdout
    assert "threshold  0.25 for 'yes', as given" in said
    done = run("evaluate", "insurance.svm.mm", rare)
    assert "threshold  0.25 for 'yes', as chosen when fitting" in done.stdout
    assert "the model was fitted to rows of insurance.csv" in done.stderr
    pd.read_csv(rare).iloc[:100].to_csv("new.csv", index=False)
    done = run("evaluate", "insurance.svm.mm", "new.csv", "--threshold", "0.5", "--language", "es")
    assert "0,5 para 'yes', como se indicó" in done.stdout
    assert "se ajustó con filas" not in done.stderr


def test_kernel_checks_and_settings_of_comparisons_in_spanish(rare: Path, run: Any) -> None:
    said = run("kernel", "RBF(gamma=0.1)", rare, "--rows", "50", "--language", "es").stdout
    assert "semidefinido positivo en estos 50 puntos (menor valor propio" in said
    bent = ["kernel", "Sigmoid(gamma=1, coef0=-1)", rare, "--rows", "50", "--language", "es"]
    done = run(*bent, code=5)
    assert "no es semidefinido positivo: menor valor propio -" in done.stdout
    assert "el núcleo sigmoide no es semidefinido positivo en general" in done.stderr
    words = ["compare", rare, "-t", "policy", "--only", "fisher", "--folds", "2"]
    assert ("shrinkage=0," in (said := run(*words, "--language", "es").stdout)) or "shrinkage=None" in said


def test_pipes_units_and_spreadsheet_exports(tmp_path: Path, run: Any, ask: Any) -> None:
    rng = np.random.default_rng(0)
    x = rng.normal(75, 12, 60)
    rows = pd.DataFrame({"weight": [f"{v:.0f} kg" for v in x], "size": rng.choice(["500 g", "1 kg"], 60)})
    rows["height"] = [f"{v:.1f}cm" for v in rng.normal(170, 9, 60)]
    rows["age"] = rng.choice(["2 years", "5 years", "9 years", "3 weeks"], 60)
    rows["y"] = np.where(x > 75, "heavy", "light")
    rows.to_csv(tmp_path / "pipes.txt", sep="|", index=False)
    (tmp_path / "unicode.txt").write_bytes(rows.to_csv(sep="\t", index=False).encode("utf-16"))
    for name in ("pipes.txt", "unicode.txt"):
        use = {c["name"]: c["use"] for c in ask("fit", name, "-t", "y", "--dry-run")["columns"]}
        assert use == {
            "weight": "numbers with '.' before the decimals",
            "size": "category",
            "height": "numbers with '.' before the decimals",
            "age": "category",
        }
    fitted = ask("fit", "pipes.txt", "-t", "y", "--grid", "C=10", "--folds", "3", "--no-report")
    assert fitted["tuning"]["error"] < 0.15
    assert ask("evaluate", fitted["model"], "unicode.txt")["evaluation"]["accuracy"]["value"] > 0.85
    pounds = rows.assign(weight=[f"{2.2 * v:.0f} lb" for v in x])
    pounds.to_csv(tmp_path / "pounds.csv", index=False)
    refused = run("predict", fitted["model"], "pounds.csv", code=3).stderr
    assert "column 'weight' holds lb, and the model was fitted to kg: convert it first" in refused
    (tmp_path / "book.xlsx").write_bytes(b"PK\x03\x04" + bytes(40))
    said = run("fit", "book.xlsx", "-t", "y", code=2).stderr
    assert "is a workbook: save its sheet as CSV" in said
    (tmp_path / "export.csv").write_text("Export of May;;\n\nname;age;y\n" + "a;1;yes\n" * 20)
    assert "remove the lines above the header" in run("fit", "export.csv", "-t", "y", code=3).stderr


def test_codes_for_missing_values_days_and_whole_numbers(tmp_path: Path, run: Any, ask: Any) -> None:
    rng = np.random.default_rng(0)
    x = rng.normal(100, 15, 120).round()
    rows = pd.DataFrame({"glucose": np.where(rng.random(120) < 0.15, -999, x), "loss": rng.normal(size=120)})
    rows["day"] = pd.date_range("2024-01-01", periods=120).strftime("%d.%m.%Y")
    rows["score"] = np.arange(120) % 10
    rows.to_csv(tmp_path / "t.csv", index=False)
    found = ask("fit", "t.csv", "-t", "score", "--grid", "C=1", "--folds", "3", "--no-report", "--force")
    assert "10 different whole numbers, which are taken as classes; --task regression" in str(found["notes"])
    whats = {caution["kind"]: caution for caution in found["cautions"]}
    assert "identifier" not in whats
    assert "missing value: glucose=-999." in whats["codes"]["what"]
    assert "use --na glucose=-999." in whats["codes"]["remedy"]
    rows.assign(score=[7, *[8] * 119]).to_csv(tmp_path / "few.csv", index=False)
    assert "class 7 is too rare (rows: 1)" in run("fit", "few.csv", "-t", "score", code=3).stderr
    rows.assign(score=8).to_csv(tmp_path / "one.csv", index=False)
    assert "only one class (8)" in run("fit", "one.csv", "-t", "score", code=3).stderr
    again = ("fit", "t.csv", "-t", "score", "--task", "regression", "--na", "glucose=-999", *ONE, "--force")
    told = run(*again, "--language", "es")
    assert "números enteros distintos" not in told.stderr
    assert "quizá represente" not in told.stdout


def test_what_is_said_of_text_as_it_is_and_of_weights(tmp_path: Path, run: Any) -> None:
    rng = np.random.default_rng(0)
    words = [" ".join(rng.choice(["late", "rude"] if k % 2 else ["quick", "kind"], 4)) for k in range(60)]
    rows = pd.DataFrame({"review": words, "stars": rng.integers(1, 6, 60), "y": ["no", "yes"] * 30})
    rows.to_csv(tmp_path / "t.csv", index=False)
    kernel = "Spectrum(3, features='review') + RBF(gamma=0.1)"
    run("fit", "t.csv", "-t", "y", "--kernel", kernel, "--grid", "C=1", "--folds", "3")
    page = (tmp_path / "t.svm.html").read_text(encoding="utf-8")
    assert "FunctionTransformer" not in page
    assert "review: unchanged" in page
    weighted = run("evaluate", "t.svm.mm", "t.csv", "--weights", "stars").stdout
    assert "positive class yes\n" in weighted  # no interval is computed, and none is announced
    assert "intervals" in run("evaluate", "t.svm.mm", "t.csv").stdout
