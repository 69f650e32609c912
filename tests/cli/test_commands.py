"""The command line on real files: every command, its JSON, its exit codes, and its one-line errors."""

from __future__ import annotations

import gzip
import json
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import dump_svmlight_file, load_iris

import maxmargin as mm

pytest.importorskip("typer")

from typer.testing import CliRunner  # only where typer is installed

from maxmargin import feature_selection
from maxmargin.cli import finishing
from maxmargin.cli.app import app
from maxmargin.cli.commands.compare_command import Contest

SMALL = ["--grid", "C=1,10", "--grid", "gamma=0.1", "--folds", "3"]


def iris() -> pd.DataFrame:
    data = load_iris(as_frame=True)
    table = data.data.rename(columns=lambda name: name.removesuffix(" (cm)").replace(" ", "_"))
    table["species"] = data.target_names[data.target]
    return table


def credit(n: int = 120) -> pd.DataFrame:
    rng = np.random.default_rng(0)
    table = pd.DataFrame(
        {
            "age": rng.integers(20, 70, n).astype(float),
            "home": rng.choice(["own", "rent", "family"], n),
            "income": rng.lognormal(10, 0.5, n).round(),
            "id": [f"c{i:05d}" for i in range(n)],
            "country": "ES",
        }
    )
    odds = np.exp(4 - table["age"] / 10 + (table["home"] == "rent"))
    table["default"] = np.where(rng.random(n) < odds / (1 + odds), "yes", "no")
    table.loc[::17, "age"] = np.nan
    table.loc[::23, "home"] = None
    return table


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def call(*words: Any, code: int = 0) -> Any:
    result = CliRunner().invoke(app, [str(word) for word in words])
    said = f"{result.stdout}\n{result.stderr}\n{result.exception!r}"
    assert result.exit_code == code, said
    assert "Traceback" not in said
    return result


def answer(*words: Any, code: int = 0) -> dict[str, Any]:
    """The JSON on standard output, which must be all there is."""
    found: dict[str, Any] = json.loads(call(*words, "--json", code=code).stdout)
    return found


def refusal(*words: Any, code: int = 3) -> str:
    """The one line of a failure, the same in JSON."""
    said = call(*words, code=code).stderr.strip().splitlines()
    errors = [line for line in said if "error:" in line]
    assert len(errors) == 1, said
    assert answer(*words, code=code)["code"] == code
    return errors[0]


# -- the whole way -------------------------------------------------------------------------------------------


def test_fit_info_predict_evaluate(folder: Path) -> None:
    credit().to_csv("credit.csv")
    found = answer("fit", "credit.csv", "--target", "default", "--positive", "yes", *SMALL)
    assert found["data"]["numbers"] == ["age", "income"]
    assert found["data"]["categories"] == ["home"]
    assert found["data"]["missing"] == {"age": 8, "home": 6}
    assert any("missing values in age (8), home (6)" in note for note in found["notes"])
    assert any("left out id" in note for note in found["notes"])
    assert any("left out country: the same value" in note for note in found["notes"])
    assert found["tuning"]["path"] == "shared Gram matrices"
    assert found["certificate"]["kkt"] <= 1e-3
    assert found["evaluation"]["accuracy"]["low"] <= found["evaluation"]["accuracy"]["value"]
    assert np.sum(found["confusion"]["counts"]) == found["split"]["held_out"] == 30
    assert Path(found["report"]).read_text(encoding="utf-8").startswith("<!doctype html>")

    said = answer("info", "credit.svm.mm")["about"]
    assert said["notes"]["schema"]["target"] == "default"
    assert said["classes"] == ["no", "yes"]
    assert "SVC" in call("info", "credit.svm.mm").stdout

    new = credit().drop(columns=["default", "country"])
    new.loc[3, "home"] = "boat"
    new.to_csv("new.csv", index=False)
    out = call("predict", "credit.svm.mm", "new.csv", "--scores", "--keep", "id")
    lines = out.stdout.strip().splitlines()
    assert lines[0] == "id,predicted default,decision yes"
    assert len(lines) == 121
    assert "rows with a value of 'home' that the model has not seen, such as 'boat': 1." in out.stderr
    model = mm.load("credit.svm.mm")
    rows = new[["age", "income", "home"]].astype({"home": object})
    expected = model.predict(rows.where(rows.notna(), np.nan))
    assert [line.split(",")[1] for line in lines[1:]] == expected.tolist()

    call("predict", "credit.svm.mm", "new.csv", "--output", "once.csv", "--keep", "id")
    new.assign(**pd.read_csv("once.csv").drop(columns="id")).to_csv("twice.csv", index=False)
    again = refusal("predict", "credit.svm.mm", "twice.csv", "--keep", "predicted default", code=2)
    assert "'predicted default': the predictions get that name" in again

    measured = answer("evaluate", "credit.svm.mm", "credit.csv", "--report", "r.html", "--language", "es")
    assert measured["rows"] == 120
    assert 'lang="es"' in Path("r.html").read_text(encoding="utf-8")
    table = call("evaluate", "credit.svm.mm", "credit.csv").stdout
    assert "accuracy" in table
    assert "predicted" in table


def test_regression_from_tsv(folder: Path) -> None:
    rng = np.random.default_rng(0)
    x = rng.normal(size=(80, 2))
    table = pd.DataFrame(x, columns=["a", "b"]).assign(price=100 + 10 * x[:, 0] - 5 * x[:, 1])
    table.to_csv("houses.tsv", sep="\t", index=False)
    small = ["--grid", "C=100,1000", "--grid", "gamma=0.1", "--grid", "epsilon=0.5", "--folds", "3"]
    found = answer("fit", "houses.tsv", "-t", "price", *small, "--no-report")
    assert found["task"] == "regression"
    assert found["evaluation"]["R2"]["value"] > 0.9
    assert "R2" in call("evaluate", "houses.svm.mm", "houses.tsv").stdout
    assert "classes" in refusal("evaluate", "houses.svm.mm", "houses.tsv", "--positive", "1", code=2)
    found = answer(
        "fit", "houses.tsv", "-t", "price", "--model", "least-squares", "--no-report", "-o", "ls.mm"
    )
    assert found["evaluation"]["R2"]["value"] == pytest.approx(1.0)
    assert answer("select", "houses.tsv", "-t", "price", "--keep", "1")["selected"] == ["a"]


def test_formats_agree(folder: Path) -> None:
    table = iris()
    table.to_csv("a.csv", index=False)
    table.to_csv("semicolons.csv", index=False, sep=";", decimal=",")
    table.to_parquet("a.parquet")
    Path("a.csv.gz").write_bytes(gzip.compress(Path("a.csv").read_bytes()))
    codes = pd.Categorical(table["species"]).codes
    dump_svmlight_file(table.drop(columns="species").to_numpy(), codes, "a.libsvm", zero_based=False)
    Path("a.libsvm.gz").write_bytes(gzip.compress(Path("a.libsvm").read_bytes()))
    errors = {
        name: answer("tune", name, *words, *SMALL)["tuning"]["error"]
        for name, *words in [
            ("a.csv", "-t", "species"),
            ("semicolons.csv", "-t", "species"),
            ("a.parquet", "--guess-target"),
            ("a.csv.gz", "-t", "species"),
            ("a.libsvm",),
            ("a.libsvm.gz",),
        ]
    }
    assert len(set(errors.values())) == 1, errors


def test_tune_writes_table_and_picture(folder: Path) -> None:
    iris().to_csv("iris.csv", index=False)
    shown = call(
        "tune", "iris.csv", "-t", "species", *SMALL, "-o", "cells.csv", "--picture", "cells.png", "--top", "1"
    )
    assert "best 1 of 2 cells" in shown.stdout
    columns = ["C", "gamma", "error", "dispersion", "seconds", "status"]
    assert list(pd.read_csv("cells.csv").columns) == columns
    assert Path("cells.png").read_bytes().startswith(b"\x89PNG")


def test_a_kernel_of_the_user(folder: Path) -> None:
    iris().to_csv("iris.csv", index=False)
    words = ["--kernel", "RBF(gamma=0.1)+Linear()", "--grid", "C=1,10", "--folds", "3", "--no-report"]
    assert answer("fit", "iris.csv", "-t", "species", *words)["tuning"]["cells"] == 2
    assert repr(mm.load("iris.svm.mm")[-1].kernel) == "RBF(gamma=0.1) + Linear()"
    words[1] = "RBF(gamma=0.1, features=['petal_width', 'petal_length']) + Linear(features='sepal_width')"
    found = answer("fit", "iris.csv", "-t", "species", *words, "--force")
    assert found["tuning"]["path"] == "shared Gram matrices"
    assert "no kernel 'RBFF'" in refusal(
        "fit", "iris.csv", "-t", "species", "--kernel", "RBFF()", "--force", code=2
    )


def test_select(folder: Path) -> None:
    iris().to_csv("iris.csv", index=False)
    found = answer(
        "select",
        "iris.csv",
        "-t",
        "species",
        "--method",
        "fisher",
        "--keep",
        "2",
        "-o",
        "ranks.csv",
        "--folds",
        "3",
    )
    assert set(found["selected"]) == {"petal_length", "petal_width"}
    assert found["ranks"]["petal_length"] == 1
    assert 0 <= found["error"]["chosen"] < 0.1
    assert len(pd.read_csv("ranks.csv")) == 4
    assert "more than the 4 columns" in refusal("select", "iris.csv", "-t", "species", "--keep", "9", code=2)


def test_the_seed_of_select_makes_its_folds(folder: Path) -> None:
    credit().to_csv("credit.csv", index=False)
    words = [
        "select",
        "credit.csv",
        "-t",
        "default",
        "--drop",
        "id",
        "--method",
        "su",
        "--folds",
        "3",
        "--seed",
    ]
    errors = [answer(*words, seed)["error"]["all"] for seed in (0, 0, 1, 2, 3)]
    assert errors[0] == errors[1]
    assert len(set(errors)) > 1


def test_scorecard(folder: Path) -> None:
    credit(300).to_csv("credit.csv", index=False)
    words = [
        "scorecard",
        "credit.csv",
        "-t",
        "default",
        "--positive",
        "yes",
        "--points",
        "card.csv",
    ]
    found = answer(*words)
    assert {row["variable"] for row in found["card"]} >= {"age"}
    assert all(row["points"] == round(row["points"]) for row in found["card"])
    assert "points" in pd.read_csv("card.csv").columns
    scores = call("predict", "credit.scorecard.mm", "credit.csv", "--scores").stdout.splitlines()
    assert scores[0] == "id,predicted default,probability no,probability yes"
    assert [line.split(",")[0] for line in scores[1:]] == credit(300)["id"].tolist()
    iris().to_csv("iris.csv", index=False)
    assert "needs two classes" in refusal("scorecard", "iris.csv", "-t", "species")


def test_compare(folder: Path) -> None:
    iris().to_csv("iris.csv", index=False)
    words = [
        "compare",
        "iris.csv",
        "-t",
        "species",
        "--only",
        "fisher",
        "--only",
        "svm",
        "--folds",
        "3",
        "-o",
        "c.csv",
    ]
    found = answer(*words)
    assert {row["family"] for row in found["families"]} == {"fisher", "svm"}
    errors = [row["error"] for row in found["families"]]
    assert errors == sorted(errors)
    assert all(len(row["folds"]) == 3 for row in found["families"])
    assert "there is no model 'tree'" in refusal(
        "compare", "iris.csv", "-t", "species", "--only", "tree", code=2
    )


def test_kernel_check(folder: Path) -> None:
    iris().to_csv("iris.csv", index=False)
    found = answer("kernel", "2*RBF(gamma=0.1)+Linear()", "iris.csv", "--picture", "k.svg")
    assert found["holds"] is True
    assert found["psd_by_form"] is True
    assert "<svg" in Path("k.svg").read_text(encoding="utf-8")
    shown = call("kernel", "Sigmoid(gamma=0.5)", "iris.csv", "--rows", "50", code=5)
    assert "not positive semidefinite" in shown.stdout
    assert answer("kernel", "Sigmoid(gamma=0.5)", "iris.csv", code=5)["holds"] is False
    assert answer("kernel", "Spectrum(2, features='species')", "iris.csv")["holds"] is True
    assert "column 3" in refusal("kernel", "2*import(1)", "iris.csv", code=2)
    assert "no column 'sise'" in refusal("kernel", "RBF(features='sise')", "iris.csv")


# -- wrong files ---------------------------------------------------------------------------------------------


def write(name: str, content: str | bytes) -> str:
    Path(name).write_bytes(content.encode() if isinstance(content, str) else content)
    return name


GOOD_ROWS = "".join(f"{i},{i % 7},{'ab'[i % 2]}\n" for i in range(20))

WRONG: dict[str, tuple[str | bytes, str]] = {
    "empty file": ("", "bad.csv is empty"),
    "blank file": ("\n\n  \n", "bad.csv is empty"),
    "header only": ("x,z,y\n", "has a header and no rows"),
    "missing target": ("x,z,label\n" + GOOD_ROWS, "has no column 'y'"),
    "close target": ("x,z,Y\n" + GOOD_ROWS, "has no column 'y'"),
    "one class": ("x,y\n" + "".join(f"{i},a\n" for i in range(20)), "only one class ('a')"),
    "rare class": ("x,z,y\n" + GOOD_ROWS + "1,1,c\n", "class 'c' is too rare (rows: 1)"),
    "text among numbers": (
        "x,z,y\n" + GOOD_ROWS + "oops,1,a\n",
        "column 'x' holds numbers except 'oops' in row 21",
    ),
    "one row": ("x,z,y\n1,2,a\n", "only one class"),
    "few rows": ("x,z,y\n1,2,a\n3,4,b\n", "2 rows are too few; at least 10 are needed"),
    "duplicated header": ("x,x,y\n" + GOOD_ROWS, "the column 'x' appears twice in the header"),
    "nameless column": ("x,,y\n" + GOOD_ROWS, "column 2 has no name"),
    "no header": ("1,2,3\n4,5,6\n", "the first line holds numbers"),
    "wrong encoding": (
        "x,z,y\n1,2,Málaga\n".encode("latin-1"),
        "is not written in utf-8 (line 2): give --encoding",
    ),
    "huge integers": (
        "x,z,y\n" + GOOD_ROWS + "123456789012345678901234567890,1,a\n",
        "too large to be exact",
    ),
    "large identifiers": ("x,z,y\n" + GOOD_ROWS + "9007199254740995,1,a\n", "too large to be exact"),
    "infinity": ("x,z,y\n" + GOOD_ROWS + "inf,1,a\n", "column 'x' holds infinity in row 21"),
    "ragged": (
        "x,z,y\n1,2,a\n1,2,3,4,5\n4,5,b\n" + "1,2,3,4\n" * 4,
        "rows with more entries than the header, which names 3 columns: 5 (line 3: 5, 5: 4, 6: 4, ...). Name",
    ),
    "too long rows": ("x,z,y\n" + "".join(f"1,{i},2,a\n" for i in range(20)), "more entries than the header"),
    "no target value": ("x,z,y\n" + "".join(f"{i},1,\n" for i in range(20)), "missing in every row"),
    "binary": (b"x,z,y\n\x00\x01\x02\n", "contains zero bytes"),
    "only the target": ("y\n" + "a\nb\n" * 10, "there is no column to learn from, only the target"),
    "constant columns": ("x,y\n" + "1,a\n1,b\n" * 10, "no column is left to learn from"),
}


@pytest.mark.parametrize("name", WRONG)
def test_a_wrong_table_is_refused_in_one_line(name: str, folder: Path) -> None:
    content, reason = WRONG[name]
    assert reason in refusal("fit", write("bad.csv", content), "--target", "y", "--no-report", *SMALL)
    assert [path.name for path in folder.iterdir()] == ["bad.csv"]


def test_wrong_files_of_other_formats(folder: Path) -> None:
    assert "is not a Parquet file" in refusal("fit", write("a.parquet", b"PAR1 no"), "-t", "y")
    assert "is not a LIBSVM file" in refusal("fit", write("a.libsvm", "a b c\n"), "-t", "target")
    assert "is not a text file" in refusal("fit", write("a.csv", b"PAR1...."), "-t", "y")
    assert "does not say its format" in refusal("fit", write("a.dat", "x,y\n1,2\n"), "-t", "y", code=2)
    assert "there is no such file" in refusal("fit", "nothing.csv", "-t", "y")
    assert "is a folder" in refusal("fit", folder, "-t", "y", "--format", "csv")
    assert "cannot be read" in refusal("fit", write("a.csv.gz", b"no gzip"), "-t", "y")
    assert "'klingon' is unknown" in refusal(
        "fit", write("b.csv", "x,y\n1,2\n"), "-t", "y", "--encoding", "klingon", code=2
    )


def test_options_that_cannot_be_honoured(folder: Path) -> None:
    iris().to_csv("iris.csv", index=False)
    fit = ["fit", "iris.csv", "-t", "species"]
    assert "say which column to predict with --target" in refusal("fit", "iris.csv", code=2)
    assert "there is no model 'tree'" in refusal(*fit, "--model", "tree", code=2)
    assert "has no parameter 'D'" in refusal(*fit, "--grid", "D=1", code=2)
    assert "write NAME=VALUE" in refusal(*fit, "--grid", "C", code=2)
    assert "there is no class 'rose'" in refusal(*fit, "--positive", "rose", code=2)
    assert "weight of evidence needs two classes" in refusal(
        *fit, "--categories", "woe", "--categorical", "petal_width", code=2
    )
    assert "'fr' is not one of 'en', 'es'" in call(*fit, "--language", "fr", code=2).stderr
    assert "does not exist" in refusal(*fit, "-o", "no/where/m.mm", code=2)
    assert "holds text" in refusal(*fit, "--task", "regression")
    iris().assign(species="setosa").to_csv("one.csv", index=False)
    words = ["-t", "species", "--task", "classification"]
    assert "only one class ('setosa'): two are needed" in refusal("fit", "one.csv", *words)
    assert "linear-svm has no kernel" in refusal(*fit, "--model", "linear-svm", "--kernel", "RBF()", code=2)
    assert "C=-1" in refusal(*fit, "--grid", "C=-1", "--folds", "3", "--no-report", code=1)
    assert "has no column 'nothing'" in refusal(*fit, "--drop", "nothing")
    call("fit", code=2)  # typer's own usage error
    call("fit", "iris.csv", "--folds", "1", code=2)


def test_reading_options_repair_a_table(folder: Path) -> None:
    write("a.csv", "x,z,y\n" + GOOD_ROWS + "oops,1,a\n")
    found = answer("fit", "a.csv", "-t", "y", "--na", "oops", "--no-report", *SMALL)
    assert found["data"]["missing"] == {"x": 1}
    write("b.csv", "x,z,y\n" + GOOD_ROWS.replace("a", "á"))
    raw = Path("b.csv").read_text(encoding="utf-8").encode("latin-1")
    found = answer("fit", write("b.csv", raw), "-t", "y", "--encoding", "latin-1", "--no-report", *SMALL)
    assert found["classes"] == ["b", "á"]
    write("c.csv", "x,z,y\n" + GOOD_ROWS + "9007199254740995,1,a\n")
    assert answer("fit", "c.csv", "-t", "y", "--drop", "x", "--no-report", *SMALL)["data"]["numbers"] == ["z"]


def test_wrong_tables_for_a_model(folder: Path) -> None:
    iris().to_csv("iris.csv", index=False)
    call("fit", "iris.csv", "-t", "species", "--no-report", *SMALL)
    rows = iris().drop(columns="petal_width")
    rows.to_csv("short.csv", index=False)
    assert "short.csv has no 'petal_width', which iris.svm.mm was fitted on" in refusal(
        "predict", "iris.svm.mm", "short.csv"
    )
    extra = iris().assign(colour="blue")
    extra.to_csv("extra.csv", index=False)
    assert "not used by the model: colour" in call("predict", "iris.svm.mm", "extra.csv").stderr
    gaps = iris()
    gaps.loc[4, "petal_width"] = np.nan
    gaps.to_csv("gaps.csv", index=False)
    assert "'petal_width' is missing in row 5" in refusal("predict", "iris.svm.mm", "gaps.csv")
    iris().assign(petal_width="wide").to_csv("text.csv", index=False)
    assert "holds text ('wide' in row 1) where numbers are needed" in refusal(
        "predict", "iris.svm.mm", "text.csv"
    )
    iris().assign(species="rose").to_csv("rose.csv", index=False)
    assert "which the model does not know" in refusal("evaluate", "iris.svm.mm", "rose.csv", code=1)
    rows = iris().drop(columns="species")
    rows.to_csv("blind.csv", index=False)
    assert "has no column 'species'" in refusal("evaluate", "iris.svm.mm", "blind.csv")
    assert "has no column 'id'" in refusal("predict", "iris.svm.mm", "iris.csv", "--keep", "id")


def test_wrong_model_files(folder: Path) -> None:
    iris().to_csv("iris.csv", index=False)
    path = mm.save(mm.SVC().fit(iris().iloc[:, :4], iris()["species"]), "python.mm")
    assert "was not written by this version of the command line" in refusal(
        "predict", path, "iris.csv", code=4
    )
    assert "SVC" in call("info", path).stdout
    sneaky = mm.save(mm.SVC(), "sneaky.mm", notes={"command": "\x1b[2Jrm -rf \u202e", "schema": ["a"]})
    shown = call("info", sneaky).stdout
    assert "\\x1b[2Jrm" in shown
    assert all(line.isprintable() for line in shown.splitlines())
    write("short.mm", path.read_bytes()[:500])
    for words in (
        ["info", "short.mm"],
        ["predict", "short.mm", "iris.csv"],
        ["evaluate", "short.mm", "iris.csv"],
    ):
        assert "is truncated" in refusal(*words, code=4)
    assert "is not a model file" in refusal("info", "iris.csv", code=4)
    assert "there is no such file" in refusal("info", "no.mm", code=4)
    assert "is a folder" in refusal("info", folder, code=4)


# -- in a process of its own ---------------------------------------------------------------------------------


def test_a_process_gives_json_only_and_one_line_errors(folder: Path, process: Any) -> None:
    iris().to_csv("iris.csv", index=False)
    done = process("fit", "iris.csv", "--target", "species", "--no-report", "--json", *SMALL)
    assert json.loads(done.stdout)["model"] == "iris.svm.mm"
    assert done.said == ""
    write("bad.csv", "")
    failed = process("fit", "bad.csv", "--target", "y", code=3)
    assert failed.stdout == ""
    remedy = "give a table with a header line and at least one row."
    assert failed.stderr == f"maxmargin: error: bad.csv is empty: {remedy}\n"


NAMED = [
    "empty file",
    "missing target",
    "one class",
    "text among numbers",
    "one row",
    "duplicated header",
    "wrong encoding",
    "huge integers",
]


@pytest.mark.parametrize("name", NAMED)
def test_nothing_but_one_line_is_said_about_a_wrong_table(name: str, folder: Path) -> None:
    content, reason = WRONG[name]
    done = call("fit", write("bad.csv", content), "--target", "y", code=3)
    assert done.stdout == ""
    assert done.stderr.count("error:") == 1
    assert done.stderr.splitlines()[-1].startswith("maxmargin: error:")
    assert reason in done.stderr.replace("\n", " ")


def test_help_imports_nothing_of_the_library_and_shows_examples() -> None:
    """So it is there in 0.3 s."""
    code = (
        "import sys\n"
        "from maxmargin.cli import main\n"
        "sys.argv = ['maxmargin', 'fit', '--help']\n"
        "try:\n"
        "    main()\n"
        "finally:\n"
        "    heavy = {'numpy', 'numba', 'sklearn', 'pandas'}\n"
        "    print(sorted(heavy & set(sys.modules)), file=sys.stderr)\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert "Examples:" in done.stdout
    assert "--target" in done.stdout
    assert done.stderr == "[]\n"


def test_help_imports_no_numerics() -> None:
    code = (
        "import sys\nfrom maxmargin.cli.app import app\n"
        "print([m for m in ('numba', 'pandas', 'sklearn', 'matplotlib') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


@pytest.mark.skipif(os.name == "nt", reason="signals are sent another way there")
def test_ctrl_c_leaves_what_is_finished(folder: Path) -> None:
    """The search is interrupted from inside after its first cells, as Ctrl-C does it."""
    iris().to_csv("iris.csv", index=False)
    code = (
        "import os, signal, sys\n"
        "import numpy as np\n"
        "from maxmargin.cli.commands import fit_command\n"
        "fit_command._LITTLE = 100.0\n"  # a busy machine may take longer to fit the best cell
        "from maxmargin.tuning.search import GridRun\n"
        "plain = GridRun._take\n"
        "def take(self, batch):\n"
        "    plain(self, batch)\n"
        "    if not np.isnan(self.errors).any(axis=1).all():\n"
        "        os.kill(os.getpid(), signal.SIGINT)\n"
        "GridRun._take = take\n"
        "sys.argv = ['maxmargin', 'fit', 'iris.csv', '-t', 'species', '--model', 'logistic',\n"
        "            '--folds', '3']\n"
        "from maxmargin.cli import main\n"
        "main()\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=600, check=False
    )
    assert done.returncode == 130, done.stderr
    assert "the best of the finished cells is used" in done.stderr
    assert "Traceback" not in done.stderr
    assert mm.load("iris.logistic.mm").predict(iris().iloc[:1, :4]).tolist() == ["setosa"]
    assert "the model is saved without an evaluation and a report" in done.stderr  # they take longer
    assert not Path("iris.logistic.html").exists()


@pytest.mark.skipif(os.name == "nt", reason="signals are sent another way there")
def test_ctrl_c_while_options_are_read_ends_with_a_sentence() -> None:
    """Typer itself ends without a word."""
    code = (
        "import os, signal, sys, time\n"
        "import maxmargin.cli.app\n"
        "def filled(group, values):\n"
        "    os.kill(os.getpid(), signal.SIGINT)\n"
        "    time.sleep(30)\n"
        "maxmargin.cli.app.filled = filled\n"
        "signal.signal(signal.SIGINT, signal.default_int_handler)\n"
        "sys.argv = ['maxmargin', 'info', 'none.mm']\n"
        "maxmargin.cli.main()\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (130, "", "maxmargin: interrupted\n")


@pytest.mark.skipif(os.name == "nt", reason="signals are sent another way there")
def test_a_second_ctrl_c_waits_for_the_threads_of_the_first() -> None:
    """Compiled code that still ran while the process was taken apart crashed it."""
    code = (
        "import os, signal, threading, time\n"
        "import maxmargin.cli\n"
        "def work():\n"
        "    while main.is_alive():\n"
        "        time.sleep(0.01)\n"
        "    os.kill(os.getpid(), signal.SIGINT)\n"
        "    time.sleep(0.1)\n"
        "    print('ended', flush=True)\n"
        "def run():\n"
        "    threading.Thread(target=work).start()\n"
        "    raise SystemExit(130)\n"
        "main = threading.main_thread()\n"
        "maxmargin.cli._run = run\n"
        "signal.signal(signal.SIGINT, signal.default_int_handler)\n"
        "maxmargin.cli.main()\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (130, "ended\n", "")


@pytest.mark.skipif(os.name == "nt", reason="signals are sent another way there")
def test_ctrl_c_does_not_wait_for_a_thread_that_compiles() -> None:
    """`maxmargin warmup` ended 7.8 s late, because the interpreter waits for its threads."""
    code = (
        "import atexit, threading, time\n"
        "import maxmargin.cli, maxmargin.compute.compiling\n"
        "def run():\n"
        "    atexit.register(print, 'tidied')\n"
        "    maxmargin.compute.compiling.CompileWatch.running = True\n"
        "    threading.Thread(target=time.sleep, args=(1000,)).start()\n"
        "    raise SystemExit(130)\n"
        "maxmargin.cli._run = run\n"
        "maxmargin.cli.main()\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=600, check=False
    )
    assert (done.returncode, done.stdout, done.stderr) == (130, "tidied\n", "")


@pytest.mark.skipif(os.name == "nt", reason="signals are sent another way there")
def test_ctrl_c_while_llvm_makes_an_object_prints_no_traceback() -> None:
    """Its finaliser misses what was not made yet."""
    code = (
        "import maxmargin.cli\n"
        "class Half:\n"
        "    def __del__(self):\n"
        "        self.pointer\n"
        "def run():\n"
        "    half = Half()\n"
        "    raise SystemExit(130)\n"
        "maxmargin.cli._run = run\n"
        "maxmargin.cli.main()\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (130, "", "")


@pytest.mark.usefixtures("interrupted_search")
def test_after_ctrl_c_a_long_fit_is_stopped_and_its_command_is_told(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The fit of the best finished cell takes a minute here; the command ends without it."""
    iris().to_csv("iris.csv", index=False)

    steps = []

    def long_fit(self: Any, X: Any, y: Any) -> Any:
        for step in range(6000):
            steps.append(step)
            time.sleep(0.01)

    monkeypatch.setattr(mm.SVC, "fit", long_fit)
    grid = ["--grid", "C=1,10", "--grid", "gamma=0.125"]
    done = call("fit", "iris.csv", "-t", "species", *grid, code=130)
    assert 0 < len(steps) < 3000  # not by the clock: to compile the search takes a minute on a busy machine
    said = "interrupted: the best of the finished cells is not fitted to all rows; --model svm --grid C="
    assert said in done.stderr
    assert "--grid gamma=0.125 fits it." in done.stderr
    assert not Path("iris.svm.mm").exists()


def test_a_cell_that_cannot_be_fitted_to_all_rows_gives_way_to_the_next(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """NuSVC can be possible on every fold and impossible on all rows: then fit ended with an error."""
    iris().to_csv("iris.csv", index=False)
    plain, refused = mm.SVC.fit, []

    def fit(self: Any, X: Any, y: Any, **rest: Any) -> Any:
        if self.C not in refused and len(refused) < possible:
            refused.append(self.C)
        if self.C in refused:
            raise ValueError("no margin here")
        return plain(self, X, y, **rest)

    monkeypatch.setattr(mm.SVC, "fit", fit)
    words = ["fit", "iris.csv", "-t", "species", "--grid", "C=1,10", "--grid", "gamma=0.1", "--folds", "3"]
    possible = 1
    found = answer(*words)
    assert any(f"C={refused[0]:g}" in n and "no margin here" in n for n in found["notes"]), found["notes"]
    assert found["tuning"]["best"]["C"] == mm.load("iris.svm.mm")[-1].C != refused[0]
    possible = 2
    assert "no margin here" in call(*words, "--force", code=1).stderr


def test_the_model_is_saved_before_its_evaluation(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Ctrl-C during the evaluation does not cost the model."""
    iris().to_csv("iris.csv", index=False)

    def interrupted(*_: Any) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(finishing, "say_evaluation", interrupted)
    done = call("fit", "iris.csv", "-t", "species", "--model", "logistic", "--folds", "3", code=130)
    assert done.stderr.rstrip().endswith("error: interrupted")
    assert mm.load("iris.logistic.mm").predict(iris().iloc[:1, :4]).tolist() == ["setosa"]


def test_ctrl_c_in_compare_leaves_the_finished_families(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    iris().to_csv("iris.csv", index=False)
    one, asked = Contest.one, []

    def interrupted_at_the_second(self: Contest, name: str, plan: Any, step: Any) -> Any:
        asked.append(name)
        if len(asked) == 2:
            raise KeyboardInterrupt
        return one(self, name, plan, step)

    monkeypatch.setattr(Contest, "one", interrupted_at_the_second)
    words = ["compare", "iris.csv", "-t", "species", "--only", "fisher", "--only", "svm", "--folds", "3"]
    done = call(*words, "-o", "c.csv", code=130)
    assert "the finished models are shown" in done.stderr
    assert pd.read_csv("c.csv")["family"].tolist() == asked[:1]


def test_ctrl_c_in_select_leaves_the_finished_methods(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    iris().to_csv("iris.csv", index=False)
    one, asked = feature_selection.compare, []

    def interrupted_at_the_third(X: Any, y: Any, methods: Any, **rest: Any) -> Any:
        asked.extend(methods)
        if len(asked) == 3:
            raise KeyboardInterrupt
        return one(X, y, methods, **rest)

    monkeypatch.setattr(feature_selection, "compare", interrupted_at_the_third)
    words = ["select", "iris.csv", "-t", "species", "--method", "compare", "--folds", "3", "-o", "r.csv"]
    call(*words, code=130)
    assert pd.read_csv("r.csv", index_col=0).columns.tolist() == asked[:2]


@pytest.mark.parametrize("in_the_search", [True, False])
def test_ctrl_c_in_one_method_of_select_leaves_the_columns_chosen_so_far(
    in_the_search: bool, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Exit code 0 and the errors of the unfinished choice said nothing of Ctrl-C."""
    iris().to_csv("iris.csv", index=False)
    prepare = feature_selection.CrossValidatedError.prepare

    def interrupted_later(self: Any, X: Any, y: Any) -> Any:
        values, asked = prepare(self, X, y), []

        def second_is_interrupted(subsets: Any) -> Any:
            asked.append(subsets)
            if len(asked) > 1 if in_the_search else len(subsets[0]) == X.shape[1]:
                raise KeyboardInterrupt
            return values(subsets)

        return second_is_interrupted

    monkeypatch.setattr(feature_selection.CrossValidatedError, "prepare", interrupted_later)
    words = ["select", "iris.csv", "-t", "species", "--method", "sfs", "--keep", "2", "--folds", "3"]
    done = call(*words, "-o", "r.csv", code=130)
    assert "interrupted: the columns chosen so far are shown" in done.stderr
    assert pd.read_csv("r.csv", index_col=0)["chosen"].sum() == (1 if in_the_search else 2)


@pytest.mark.usefixtures("interrupted_search")
def test_ctrl_c_in_tune_shows_the_finished_cells(folder: Path) -> None:
    iris().to_csv("iris.csv", index=False)
    grid = ["--grid", "C=1,10", "--grid", "gamma=0.1,1", "--folds", "3"]
    done = call("tune", "iris.csv", "-t", "species", *grid, "-o", "c.csv", "--picture", "c.svg", code=130)
    assert "the best of the finished cells is used" in done.stderr
    assert "the table is written without its picture" in done.stderr  # it took 1.8 s
    assert len(pd.read_csv("c.csv")) >= 1
    assert not Path("c.svg").exists()


def test_the_demo_does_the_main_job(folder: Path) -> None:
    found = answer("demo", "out")
    assert found["report"] == "out/report.html"
    assert found["evaluation"]["AUC"]["value"] > 0.97
    assert len(found["selected"]) == 10
    assert Path("out/report.html").stat().st_size > 50_000
    assert answer("info", "out/breast_cancer.svm.mm")["about"]["classes"] == ["benign", "malignant"]


def test_a_picture_of_another_kind_is_refused_before_the_work(rare: Path, run: Any) -> None:
    done = run("tune", rare, "-t", "policy", "--picture", "grid.txt", code=2)
    assert "grid.txt: pictures are written as .png, .svg, .pdf: give such a name." in done.stderr
    assert done.stdout == ""


def test_wrong_values_of_a_grid_are_named_as_they_were_typed(rare: Path, run: Any) -> None:
    words = ["tune", rare, "-t", "policy", "--grid", "gamma=1"]
    said = run(*words, "--grid", "C=-1", code=1).stderr
    assert "C=-1 must be a number > 0" in said
    assert "model__" not in said
    said = run(*words, "--grid", "foo=1", code=2).stderr
    assert "svm has no parameter 'foo': it has C, " in said
