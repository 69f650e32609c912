"""Rare classes: the criterion, class weights, thresholds, costs and the baseline; cautions everywhere."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

pytest.importorskip("typer")

import maxmargin as mm
from maxmargin.tables.measures_and_rules import cheapest_rule  # typer is installed

QUICK = ["--grid", "C=0.1,1,10", "--grid", "gamma=0.1,0.5", "--folds", "4", "--no-report"]


def test_a_rare_class_is_found_by_default(rare: Path, ask: Any, run: Any) -> None:
    found = ask("fit", rare, "-t", "policy", "--positive", "yes", *QUICK)
    assert found["tuning"]["measure"] == "balanced error"
    assert any("is rare (30 of 500 rows)" in note and "balanced error" in note for note in found["notes"])
    assert any("same total weight" in note for note in found["notes"])
    assert found["evaluation"]["sensitivity"]["value"] > 0.5
    assert found["baseline"] == {"class": "no", "accuracy": pytest.approx(0.936, abs=0.01)}
    # the plain error without weights is one option away
    words = ["--scoring", "error", "--class-weight", "none", "--force"]
    plain = ask("fit", rare, "-t", "policy", "--positive", "yes", *QUICK, *words)
    assert plain["tuning"]["measure"] == "error"
    assert plain["evaluation"]["sensitivity"]["value"] < found["evaluation"]["sensitivity"]["value"]
    shown = run("fit", rare, "-t", "policy", *QUICK, "--force").stdout
    accuracy = f"{found['baseline']['accuracy']:.4g}"
    assert f"baseline   accuracy {accuracy} by always predicting 'no', the largest class" in shown


@pytest.mark.parametrize(
    ("scoring", "measure"), [("auc", "1 - AUC"), ("f1", "1 - F1"), ("balanced-error", "balanced error")]
)
def test_scoring_on_tune_and_compare(rare: Path, ask: Any, scoring: str, measure: str) -> None:
    words = ["-t", "policy", "--scoring", scoring, "--folds", "3"]
    found = ask("tune", rare, *words, "--grid", "C=1,10", "--grid", "gamma=0.1")
    assert found["tuning"]["measure"] == measure
    assert 0 < found["tuning"]["error"] < 0.6
    compared = ask("compare", rare, *words, "--only", "logistic")
    assert compared["measure"] == measure
    assert 0 < compared["families"][0]["error"] < 0.6


def test_select_compares_columns_by_what_is_asked_for(rare: Path, ask: Any) -> None:
    words = ["select", rare, "-t", "policy", "--method", "sfs", "--keep", "2", "--folds", "3"]
    found = ask(*words)  # rare classes: the balanced error with balanced weights
    assert found["error"]["measure"] == "balanced error"
    assert any("same total weight" in note for note in found["notes"])
    assert set(found["selected"]) == {"income", "age"}
    plain = ask(*words, "--scoring", "error", "--class-weight", "none")
    assert plain["error"]["measure"] == "error"
    assert plain["error"]["all"] < found["error"]["all"]
    by_auc = ask(*words, "--scoring", "auc")
    assert by_auc["error"]["measure"] == "1 - AUC"
    from sklearn.metrics import get_scorer
    from sklearn.model_selection import StratifiedKFold, cross_val_score
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    table = pd.read_csv(rare)
    model = make_pipeline(StandardScaler(), mm.SVC(class_weight="balanced"))
    cv = StratifiedKFold(3, shuffle=True, random_state=0)
    score = cross_val_score(
        model, table[["income", "age", "cars"]], table["policy"], cv=cv, scoring=get_scorer("roc_auc")
    )
    assert by_auc["error"]["all"] == pytest.approx(1 - score.mean(), abs=1e-3)


def test_options_that_cannot_be_honoured_are_named(rare: Path, run: Any) -> None:
    fit = ["fit", rare, "-t", "policy"]
    assert "--scoring mse does not fit classification" in run(*fit, "--scoring", "mse", code=2).stderr
    select = ["select", *fit[1:], "--scoring", "log-loss"]
    assert "gives no probabilities" in run(*select, code=2).stderr
    assert "svm gives no probabilities" in run(*fit, "--scoring", "log-loss", code=2).stderr
    weights = run(*fit, "--model", "fisher", "--class-weight", "balanced", code=2).stderr
    assert "fisher takes no class weights" in weights
    assert "write fp=NUMBER,fn=NUMBER" in run(*fit, "--cost", "fp=1", code=2).stderr
    both = run(*fit, "--cost", "fp=1,fn=5", "--threshold", "0", code=2).stderr
    assert "exclude each other" in both


def test_the_threshold_is_kept_in_the_model_file(rare: Path, ask: Any, run: Any) -> None:
    fit = ["fit", rare, "-t", "policy", "--positive", "yes", "--model", "logistic", "--grid", "C=1"]
    found = ask(*fit, "--folds", "4", "--threshold", "0.2", "--no-report")
    model = found["model"]
    rows = pd.read_csv(rare)
    score = mm.load(model).predict_proba(rows[["income", "age", "cars"]])[:, 1]
    lines = run("predict", model, rare).stdout.splitlines()[1:]
    assert lines == np.where(score >= 0.2, "yes", "no").tolist()
    assert "threshold  0.2 (yes)" in run("info", model).stdout
    counts = np.array(ask("evaluate", model, rare)["confusion"]["counts"])
    assert counts.sum(axis=1)[1] == lines.count("yes")
    words = ["--positive", "yes", "--threshold", "0.9"]
    other = np.array(ask("evaluate", model, rare, *words)["confusion"]["counts"])
    assert other.sum(axis=1)[1] == (score >= 0.9).sum()


def test_evaluate_takes_weights(rare: Path, ask: Any, run: Any) -> None:
    fit = ["fit", rare, "-t", "policy", "--positive", "yes", "--model", "logistic", "--grid", "C=1"]
    model = ask(*fit, "--folds", "3", "--no-report")["model"]
    table = pd.read_csv(rare)
    weights = np.where(table["policy"] == "yes", 2.0, 1.0)
    table.assign(w=weights).to_csv("weighted.csv", index=False)
    pd.concat([table, table[table["policy"] == "yes"]]).to_csv("twice.csv", index=False)
    found = ask("evaluate", model, "weighted.csv", "--weights", "w")
    twice = ask("evaluate", model, "twice.csv")
    assert found["confusion"]["counts"] == twice["confusion"]["counts"]  # weight 2 is a row twice
    assert found["evaluation"]["AUC"]["value"] == pytest.approx(twice["evaluation"]["AUC"]["value"])
    assert found["evaluation"]["accuracy"]["low"] is None
    table.assign(w=[-1.0, *weights[1:]]).to_csv("wrong.csv", index=False)
    assert (
        "the weight in row 1 of 'w'" in run("evaluate", model, "wrong.csv", "--weights", "w", code=3).stderr
    )


def test_the_cheapest_threshold(rare: Path, ask: Any) -> None:
    fit = ["fit", rare, "-t", "policy", "--positive", "yes", "--model", "logistic", "--grid", "C=1"]
    cheap = ask(*fit, "--folds", "4", "--cost", "fp=1,fn=20", "--no-report")["threshold"]["value"]
    dear = ask(*fit, "--folds", "4", "--cost", "fp=20,fn=1", "--no-report", "--force")["threshold"]["value"]
    assert cheap < dear  # missing a case is worse, so more rows are called positive


def test_costs_are_compared_with_predicting_one_class(rare: Path, process: Any) -> None:
    """In a process: costs of held-out rows by hand, kept in the model file."""
    fit = ["fit", rare, "-t", "policy", "--model", "logistic", "--grid", "C=1", "--folds", "4", "--no-report"]
    said = process(*fit, "--cost", "fp=1,fn=20")
    assert "parameters are chosen by the AUC" in said.stderr
    assert "no threshold is cheaper" not in said.stderr
    for done in (said, process("evaluate", "insurance.logistic.mm", rare)):
        counts = re.findall(r"^(?:no|yes) +(\d+) +(\d+)$", done.stdout, re.MULTILINE)
        (tn, fn), (fp, tp) = [list(map(int, row)) for row in counts]
        n = tn + fn + fp + tp
        always_no = 20 * (fn + tp) / n
        expected = f"{(fp + 20 * fn) / n:.4g} per row; {min(always_no, (fp + tn) / n):.4g} by always"
        assert expected in done.stdout
    said = process(*fit, "--cost", "fp=1,fn=0", "--force")
    assert "at these costs no threshold is cheaper than always predicting 'no'" in said.stderr
    found = process("predict", "insurance.logistic.mm", rare)
    assert set(found.stdout.split()[2:]) == {"no"}


def test_a_given_threshold_does_not_choose_useless_parameters(rare: Path, ask: Any) -> None:
    """Without class weights every cell says "no" at 0.5, and the balanced error of all is 0.5."""
    grid = ["--grid", "C=0.0001,1", "--class-weight", "none", "--threshold", "0.2", "--folds", "3"]
    found = ask("fit", rare, "-t", "policy", "--model", "logistic", *grid, "--no-report")
    assert found["tuning"]["measure"] == "1 - AUC"
    assert found["evaluation"]["sensitivity"]["value"] > 0.5


def test_balanced_weights_shift_probabilities_and_say_so(rare: Path, ask: Any) -> None:
    words = ["fit", rare, "-t", "policy", "--grid", "C=1", "--folds", "3", "--no-report", "--model"]
    shift = "so that probabilities are those of equally frequent classes"
    assert any(shift in note for note in ask(*words, "logistic")["notes"])
    assert not any(shift in note for note in ask(*words, "linear-svm")["notes"])  # it has none


def test_odds_are_those_of_the_positive_class(rare: Path, ask: Any, run: Any) -> None:
    words = ["fit", rare, "-t", "policy", "--model", "logistic", "--folds", "3", "--grid", "C=1"]
    yes = ask(*words, "--no-report")["coefficients"]
    no = ask(*words, "--positive", "no", "--no-report", "--force")["coefficients"]
    assert yes["income"]["coef"] > 0
    for name, row in yes.items():
        assert no[name]["coef"] == pytest.approx(-row["coef"], rel=1e-6)
        assert no[name]["odds_low"] == pytest.approx(1 / row["odds_high"], rel=1e-6)
        assert no[name]["p_value"] == pytest.approx(row["p_value"], rel=1e-6)
    said = run(*words[:-1], "C=0.5,1", "--positive", "no", "--force").stdout
    assert "log odds of 'no' against 'yes'" in said
    page = rare.with_name("insurance.logistic.html").read_text(encoding="utf-8")
    assert "log odds of 'no' against 'yes'" in page.replace("&#39;", "'")
    assert "Balanced error</th>" in page  # the head of the table of cells, which said "Error"


def test_the_cheapest_rule_is_the_best_of_all_thresholds() -> None:
    rng = np.random.default_rng(3)
    X = rng.normal(size=(90, 2))
    y = pd.Series(np.where(X[:, 0] + rng.normal(size=90) > 0.8, "b", "a"))
    model = mm.LogisticRegression(C=1.0).fit(X, y)
    from sklearn.model_selection import StratifiedKFold, cross_val_predict

    cv = StratifiedKFold(5, shuffle=True, random_state=0)
    score = cross_val_predict(model, X, y, cv=cv, method="predict_proba")[:, 1]
    for costs in ((1.0, 1.0), (1.0, 7.0), (3.0, 1.0), (1.0, 0.0)):
        rule, cost = cheapest_rule(model, X, y, "b", costs, folds=5, seed=0)

        def price(t: float, costs: tuple[float, float] = costs) -> float:
            positive = score >= t
            return float(np.mean(costs[0] * (positive & (y == "a")) + costs[1] * (~positive & (y == "b"))))

        assert price(rule.threshold) == pytest.approx(cost)
        assert cost == pytest.approx(min(price(t) for t in [-1.0, *score, 2.0]))


def test_cautions_reach_the_terminal_and_json(tmp_path: Path, ask: Any, run: Any) -> None:
    """A leak, repeated rows, hidden zeros and a grid edge in one table."""
    rng = np.random.default_rng(1)
    n = 200
    y = np.where(rng.random(n) < 0.5, "sick", "well")
    rows = pd.DataFrame(
        {
            "glucose": np.where(rng.random(n) < 0.06, 0.0, rng.normal(120, 15, n).round(1)),
            "outcome_code": (y == "sick") * 2.0 + rng.normal(0, 0.01, n),
            "dose": rng.normal(size=n),
            "y": y,
        }
    )
    rows = pd.concat([rows, rows[:60]])
    rows.to_csv(tmp_path / "clinic.csv", index=False)
    words = ["fit", "clinic.csv", "-t", "y", "--grid", "C=1,2,4", "--grid", "gamma=0.1", "--folds", "3"]
    found = ask(*words, "--no-report")
    kinds = {caution["kind"]: caution for caution in found["cautions"]}
    assert {"leak", "repeated", "zeros", "edge"} <= set(kinds)
    assert kinds["leak"]["serious"]
    assert "outcome_code" in kinds["leak"]["what"]
    assert "--na glucose=0" in kinds["zeros"]["remedy"]
    shown = " ".join(run(*words, "--force").stdout.split())
    for caution in found["cautions"]:
        assert caution["what"] in shown
    page = (tmp_path / "clinic.svm.html").read_text(encoding="utf-8")
    assert kinds["zeros"]["what"] in page
    # the remedy works
    mended = ask(*words, "--no-report", "--force", "--na", "glucose=0")
    assert mended["data"]["missing"]["glucose"] == int((rows["glucose"] == 0).sum())
    assert "zeros" not in {caution["kind"] for caution in mended["cautions"]}
    assert json.dumps(found)


def test_the_rare_class_is_the_positive_one(tmp_path: Path, ask: Any, run: Any) -> None:
    """Also where its name comes first: sensitivity, precision and costs are those of the rare class."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(400, 2))
    s = X.sum(axis=1) + 2.0 * rng.normal(size=400)
    table = pd.DataFrame(X, columns=["a", "b"]).assign(
        policy=np.where(s > np.quantile(s, 0.94), "claim", "no")
    )
    table.to_csv(tmp_path / "p.csv", index=False)
    words = ["-t", "policy", "--model", "logistic", "--grid", "C=1", "--folds", "3", "--no-report"]
    found = ask("fit", "p.csv", *words, "--cost", "fp=1,fn=5")
    assert found["positive"] == found["threshold"]["positive"] == "claim"
    counts = np.asarray(found["confusion"]["counts"])
    k = found["confusion"]["labels"].index("claim")
    assert found["evaluation"]["sensitivity"]["value"] == pytest.approx(counts[k, k] / counts[:, k].sum())
    said = run("fit", "p.csv", *words, "--force").stdout
    assert "held-out rows, positive class claim (intervals of 95 %)" in said
    assert "is lower than that of always predicting no" in " ".join(said.split())
    assert "these rows, positive class claim" in run("evaluate", "p.logistic.mm", "p.csv").stdout
    other = run("fit", "p.csv", *words, "--force", "--positive", "no").stdout
    assert "held-out rows, positive class no (" in other
