"""What an analyst tries first: string kernels, coefficients, every selector, estimates, Spanish."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.model_selection import train_test_split

pytest.importorskip("typer")

import maxmargin as mm
from maxmargin.base import work_clock
from maxmargin.cli import planning
from maxmargin.cli.command_options import Method
from maxmargin.cli.options import FoldOptions, ModelOptions, SearchOptions
from maxmargin.cli.screen import Screen
from maxmargin.problems.certificate import Certificate
from maxmargin.tables.columns import Prepared, prepare
from maxmargin.tables.measures_and_rules import TuningMeasure
from maxmargin.tables.models import families
from maxmargin.tables.table_settings import ColumnSettings, Task
from maxmargin.tables.time_estimate import SampleSearch, duration
from maxmargin.tables.translation import Translator

ONE_CELL = ["--grid", "C=1", "--folds", "3", "--no-report"]
HOMES = ["own", "rent"]


@pytest.fixture
def sequences(tmp_path: Path) -> Path:
    """Sequences with one of two motifs, a number and a category that mean nothing."""
    rng = np.random.default_rng(2)
    has = rng.random(60) < 0.5
    ends = [["".join(rng.choice(list("acgt"), 8)) for _ in range(2)] for _ in has]
    texts = [a + ("gattaca" if motif else "ctgctgc") + b for (a, b), motif in zip(ends, has, strict=True)]
    table = pd.DataFrame({"seq": texts, "dose": rng.normal(size=60), "site": rng.choice(["a", "b"], 60)})
    table.assign(y=np.where(has, "yes", "no")).to_csv(tmp_path / "seq.csv", index=False)
    return tmp_path / "seq.csv"


@pytest.mark.parametrize(
    "kernel",
    [
        "Spectrum(3)",
        "Spectrum(3, features='seq')",
        "Subsequence(2, 0.5, features=['seq']) + RBF(gamma=0.1, features=['dose'])",
        "Spectrum(3) + 0.1*RBF(gamma=0.1)",
    ],
)
def test_string_kernels_take_a_column_of_text(sequences: Path, run: Any, ask: Any, kernel: str) -> None:
    found = ask("fit", sequences, "-t", "y", "--kernel", kernel, *ONE_CELL)
    assert found["data"]["strings"] == ["seq"]
    assert found["evaluation"]["accuracy"]["value"] >= 0.8
    predicted = run("predict", found["model"], sequences).stdout.splitlines()
    truth = pd.read_csv(sequences)["y"].tolist()
    assert np.mean([a == b for a, b in zip(predicted[1:], truth, strict=True)]) >= 0.9


def test_a_string_kernel_needs_its_column(sequences: Path, run: Any) -> None:
    said = run("fit", sequences, "-t", "y", "--kernel", "Spectrum(3, features='sec')", *ONE_CELL, code=3)
    assert "did you mean 'seq'" in said.stderr
    said = run("fit", sequences, "-t", "y", "--drop", "seq", "--kernel", "Spectrum(3)", *ONE_CELL, code=2)
    assert "features='text'" in said.stderr


# -- coefficients ------------------------------------------------------------------------------------


@pytest.fixture
def loans(tmp_path: Path) -> tuple[Path, pd.DataFrame]:
    """Two numbers in very different units and a category."""
    rng = np.random.default_rng(5)
    n = 160
    table = pd.DataFrame(
        {
            "income": rng.lognormal(10, 0.5, n),
            "age": rng.uniform(20, 70, n),
            "home": rng.choice(["own", "rent"], n),
        }
    )
    score = np.log(table["income"]) - 10 + 0.05 * (table["age"] - 45) + (table["home"] == "own")
    table["late"] = np.where(score + rng.logistic(size=n) > 0.5, "yes", "no")
    table["sum"] = 3.0 * table["age"] + 1e-3 * table["income"] + rng.normal(size=n)
    table.to_csv(tmp_path / "loans.csv", index=False)
    return tmp_path / "loans.csv", table


def _as_numbers(table: pd.DataFrame) -> pd.DataFrame:
    kept = table["home"].mode()[0]
    other = "rent" if kept == "own" else "own"
    return table[["income", "age"]].assign(**{f"home={other}": (table["home"] == other).astype(float)})


def test_logistic_coefficients_are_in_the_units_of_the_table(
    loans: tuple[Path, pd.DataFrame], ask: Any, run: Any
) -> None:
    path, table = loans
    words = [
        "fit",
        path,
        "-t",
        "late",
        "--drop",
        "sum",
        "--model",
        "logistic",
        "--grid",
        "C=1",
        "--folds",
        "3",
    ]
    found = ask(*words)
    train, _ = train_test_split(table, test_size=0.25, random_state=0, stratify=table["late"])
    summary = mm.LogisticRegression(C=np.inf).fit(_as_numbers(train), train["late"]).summary()
    assert set(found["coefficients"]) == set(summary.table.index)
    for name, row in found["coefficients"].items():
        for column in ("coef", "std_err", "z", "p_value", "odds_ratio", "odds_low", "odds_high"):
            assert row[column] == pytest.approx(summary.table.loc[name, column], rel=1e-4)
    assert found["fit"]["aic"] == pytest.approx(summary.aic, rel=1e-6)
    page = Path(found["report"]).read_text(encoding="utf-8") if Path(found["report"]).is_absolute() else ""
    page = page or (path.parent / Path(found["report"]).name).read_text(encoding="utf-8")
    assert "Odds ratio" in page
    assert "AIC" in page
    said = run(*words, "--force", "--no-report").stdout
    assert re.search(r"variable +estimate +std. error +z +p +odds ratio", said)


def test_least_squares_coefficients(loans: tuple[Path, pd.DataFrame], ask: Any) -> None:
    path, table = loans
    found = ask("fit", path, "-t", "sum", "--drop", "late", "--model", "least-squares", "--no-report")
    train, _ = train_test_split(table, test_size=0.25, random_state=0)
    summary = mm.LeastSquares().fit(_as_numbers(train), train["sum"]).summary()
    for name, row in found["coefficients"].items():
        assert row["std_err"] == pytest.approx(summary.table.loc[name, "std_err"], rel=1e-6)
    assert found["coefficients"]["age"]["low"] < 3.0 < found["coefficients"]["age"]["high"]


# -- selection ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("method", [method for method in Method if method is not Method.COMPARE])
def test_every_selector_finds_the_column_that_matters(method: Method, tmp_path: Path) -> None:
    from maxmargin.cli.column_selectors import SelectionSettings
    from maxmargin.cli.commands.select_command import selected

    rng = np.random.default_rng(7)
    X = pd.DataFrame(rng.normal(size=(60, 4)), columns=list("abcd"))
    y = pd.Series(np.where(X["c"] + 0.1 * rng.normal(size=60) > 0, "yes", "no"), name="y")
    data = _data(X.assign(y=y))
    found, interrupted = selected(
        data, SelectionSettings(method, 1, FoldOptions(folds=3)), Screen(as_json=True)
    )
    assert not interrupted
    assert bool(found.loc["c", "chosen"])


def test_every_selector_of_the_library_is_on_the_command_line() -> None:
    """A ranker, search or penalty that the library gets must get a name for ``--method`` too."""
    from sklearn.model_selection import StratifiedKFold

    from maxmargin import feature_selection as fs
    from maxmargin.cli.column_selectors import SelectionSettings, selector_of
    from maxmargin.feature_selection.base import Selector

    reached = set()
    for method in set(Method) - {Method.COMPARE}:
        settings = SelectionSettings(method, 2, FoldOptions(folds=3))
        selector = selector_of(settings, StratifiedKFold(3), 4, classifies=True)[0]
        reached |= {type(selector).__name__, type(getattr(selector, "search", None)).__name__}
    made_of_these = {"SBS", "SFS", "SequentialFeatureSelector"}  # a search and a criterion
    kinds = {name for name in fs.__all__ if isinstance(getattr(fs, name), type)}
    offered = {name for name in kinds if issubclass(getattr(fs, name), (fs.Search, Selector))}
    assert offered - made_of_these - {"Search"} <= reached


def test_the_time_of_a_selection_comes_before_it(tmp_path: Path, run: Any, ask: Any) -> None:
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.normal(size=(320, 3)), columns=list("abc"))
    X.assign(y=np.where(X["a"] > 0, "yes", "no")).to_csv(tmp_path / "t.csv", index=False)
    said = run("select", "t.csv", "-t", "y", "--method", "sfs", "--folds", "3").stdout
    assert said.index("about ") < said.index("sfs: 1 of 3 columns")
    assert "on 320 rows and 3 columns" in said
    assert ask("select", "t.csv", "-t", "y", "--method", "fisher", "--folds", "3")["estimate"]["seconds"] > 0
    pruned = ask("select", "t.csv", "-t", "y", "--method", "branch-and-bound", "--folds", "3")
    assert "estimate" not in pruned  # nobody knows how much it will prune


def test_the_estimate_of_a_comparison_weighs_its_methods(
    monkeypatch: pytest.MonkeyPatch, capsys: Any
) -> None:
    """Five quick methods of nine were "5/9, about 1 s left", and two slow ones came after them."""
    from maxmargin.cli.commands import select_command

    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.normal(size=(320, 3)), columns=list("abc"))
    data = _data(X.assign(y=np.where(X["a"] > 0, "yes", "no")))
    spent = {Method.SFS: 6.0, Method.SBS: 3.0}
    monkeypatch.setattr(select_command, "selection_seconds", lambda method, *_: spent.get(method, 0.0))
    screen = Screen()
    methods = (Method.FISHER, Method.SFS, Method.SBS)
    several = [select_command.SelectionSettings(method, 1, FoldOptions(folds=3)) for method in methods]
    shares = select_command.say_time(several, [None] * 3, X, data.y, 10, screen)
    assert shares == [1, 60, 30]  # the quick one is no third of the work
    assert screen.answer["estimate"] == {"seconds": 90.0, "rows": 320}
    assert "about 2 minutes on 320 rows and 3 columns" in capsys.readouterr().out


def test_select_refuses_what_a_method_does_not_take(rare: Path, run: Any) -> None:
    said = run("select", rare, "-t", "policy", "--method", "genetic", "--keep", 2, code=2)
    assert "leave out --keep" in said.stderr
    said = run("select", rare, "-t", "policy", "--method", "relief", "--criterion", "cfs", code=2)
    assert "--criterion" in said.stderr


# -- time --------------------------------------------------------------------------------------------


def _data(table: pd.DataFrame) -> Prepared:
    return prepare(table, Path("t.csv"), ColumnSettings(target="y"), Task.AUTO, print)


@pytest.mark.parametrize("target", ["classes", "quantity"])
def test_every_model_has_a_grid_of_its_own_parameters(target: str) -> None:
    rng = np.random.default_rng(0)
    y = np.arange(40) % 2 if target == "classes" else rng.normal(size=40)
    known = families(_data(pd.DataFrame({"x": rng.normal(size=40), "y": y})))
    for name, family in known.items():
        assert set(family.grid) <= family.parameters, name
        assert family.grid or name == "least-squares"  # which has nothing to tune
        assert family.large is None or family.large in known


def _planned(n: int, patience: float, monkeypatch: pytest.MonkeyPatch, **search: Any) -> Any:
    monkeypatch.setattr(planning, "_PATIENCE", patience)
    rng = np.random.default_rng(1)
    table = pd.DataFrame(rng.normal(size=(n, 3)), columns=list("abc"))
    data = _data(table.assign(y=np.where(table["a"] * table["b"] > 0, "yes", "no")))
    options = SearchOptions(validation=FoldOptions(folds=10), **search)
    screen = Screen(as_json=True)
    planner = planning.Planner(data, ModelOptions(), options, TuningMeasure("error"), None, screen)
    return planner.plan(data.X, data.y), screen


def test_a_long_search_becomes_smaller_and_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    plan, screen = _planned(400, 0.0, monkeypatch)
    assert plan.family.name == "large-svc"
    assert plan.validation.folds == 3
    assert "--exact" in screen.notes[0]
    assert "takes the place of svm" in screen.notes[1]
    assert screen.answer["estimate"]["model"] == "large-svc"


def test_a_coarser_grid_is_timed_itself(monkeypatch: pytest.MonkeyPatch) -> None:
    """Cells that share a matrix cost less than their number says: here all of a fold cost the same."""
    monkeypatch.setattr(SampleSearch, "_time", lambda self, size, grid: (0.0, 1e-4 * size))
    monkeypatch.setattr(SampleSearch, "growth", 1.0)
    plan, screen = _planned(400, 0.3, monkeypatch)
    assert plan.family.name == "svm"
    assert plan.fits == 125  # of 1100, which are 1/9; half of the folds take half the time
    assert 0.2 < screen.answer["estimate"]["seconds"] < 0.3


def test_kernel_ridge_regression_takes_the_cube_of_the_rows() -> None:
    known = families(_data(pd.DataFrame({"x": np.cos(np.arange(40.0)), "y": np.sin(np.arange(40.0))})))
    growths = {name: known[name].growth for name in ("svm", "kernel-ridge", "large-kernel-ridge", "ridge")}
    assert growths == {"svm": 2.0, "kernel-ridge": 3.0, "large-kernel-ridge": 1.0, "ridge": 1.0}


def test_exact_and_given_grids_are_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    plan, screen = _planned(400, 0.0, monkeypatch, exact=True, grid=["gamma=0.1", "C=1,10"])
    assert plan.family.name == "svm"
    assert plan.validation.folds == 10
    assert plan.fits == 20
    assert not screen.notes
    assert screen.answer["estimate"]["seconds"] > 0


def test_estimates_grow_with_rows_and_folds(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = [0.0]
    monkeypatch.setattr(work_clock, "now", lambda: clock[0])

    class Slow(mm.Ridge):
        """Takes a time that grows with its rows, on a clock that nothing else moves."""

        def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Any:
            clock[0] += 1e-5 * len(X)
            return super().fit(X, y, sample_weight)

    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.normal(size=(20_000, 2)))
    y = pd.Series(rng.normal(size=20_000))
    found = SampleSearch(Slow(), X, y, None).timed(budget=0.2).seconds(3)
    assert 0.15 < found < 2.0  # 0.2 s of work, and a margin
    twice = SampleSearch(Slow(), X, y, {"alpha": [1.0, 2.0]}).timed(budget=0.2).seconds(10)
    assert twice > 3.0  # 20 fits to nine tenths of the rows


@pytest.mark.usefixtures("interrupted_search")
def test_ctrl_c_during_the_estimate_ends_the_command() -> None:
    """The search that is timed returns its finished cells, and the command went on."""
    table = pd.DataFrame({"x": np.arange(60.0)})
    with pytest.raises(KeyboardInterrupt):
        SampleSearch(mm.SVC(), table, table["x"] > 30, {"C": [1.0, 2.0], "gamma": [0.1, 1.0]}).timed()


def test_what_a_call_costs_is_not_taken_for_work_on_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    """Calls take half a second before their first fit, and a fold 0.1 s for a thousand rows squared."""
    monkeypatch.setattr(SampleSearch, "_time", lambda self, size, grid: (0.5, 0.1 * (size / 1000) ** 2))
    table = pd.DataFrame({"x": np.arange(4000.0)})
    search = SampleSearch(mm.SVC(), table, table["x"], {"C": [1.0, 2.0]}, growth=2.0)
    # ten folds, and a fit of one of the two cells, which may be the slower one
    expected = 0.5 + 11 * 0.1 * 4**2
    assert search.timed(budget=0.0).seconds(10) == pytest.approx(1.25 * expected)
    assert search.timed(budget=100.0).seconds(10) == pytest.approx(1.25 * expected)
    # parameters chosen on 2000 rows: the folds take a quarter, the last fit what it took
    assert search.timed(budget=100.0).seconds(10, 2000) == pytest.approx(1.25 * (0.5 + (10 * 4 + 16) * 0.1))


def test_costs_that_do_not_grow_are_not_taken_for_costs_of_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    """A fold of few cells takes two seconds and hardly more on more rows."""
    monkeypatch.setattr(SampleSearch, "_time", lambda self, size, grid: (0.0, 2.0 + 1e-5 * size))
    table = pd.DataFrame({"x": np.arange(100_000.0)})
    search = SampleSearch(mm.LargeSVC(), table, table["x"], {"C": [0.1, 1.0, 10.0]})
    found = search.timed(budget=0.0, enough=1.0, folds=3)
    assert len(found.sizes) == 2  # the first alone would say a hundred seconds for a fold
    assert 3.0 <= found.one_fold(100_000) <= 8.0
    monkeypatch.setattr(SampleSearch, "_time", lambda self, size, grid: (0.0, 2.0))  # noise hid the growth
    assert search.timed(budget=0.0, enough=1.0, folds=3).one_fold(100_000) > 2.0


def test_durations_in_words() -> None:
    assert [duration(s) for s in (0.4, 7.2, 31, 200, 9000)] == [
        "a second",
        "8 seconds",
        "35 seconds",
        "4 minutes",
        "3 hours",
    ]


# -- manners -----------------------------------------------------------------------------------------

_ENGLISH = re.compile(
    r"\b(the|rows|with|held|training|accuracy|error rate|baseline|left out|numbers|classes|saved|best cell)\b"
)


def test_the_terminal_speaks_spanish(rare: Path, run: Any) -> None:
    words = ["--grid", "C=1", "--grid", "gamma=0.1", "--folds", "3", "--language", "es"]
    done = run("fit", rare, "-t", "policy", *words, "--no-report")
    said = done.stdout + done.stderr
    assert "filas de entrenamiento" in said
    assert "exactitud equilibrada" in said
    assert _ENGLISH.findall(said) == []
    assert re.search(r"exactitud +0,\d+", said)
    assert re.search(r"error equilibrado 0,\d+ \(± 0,\d+ entre particiones\)", said)


@pytest.mark.parametrize(
    "figures",
    [
        {"kkt": 1e-4, "primal": 2.5, "dual": 2.4, "gap": 0.1, "relative_gap": 0.04, "n_checked": 12},
        {"kkt": 1e-4, "complete": False, "n_checked": 1265, "n_machines": 3},
        {"primal": 2.5, "dual": 0.0, "gap": 2.5, "n_checked": 9, "backward_error": 1e-16},
        {"kkt": 0.5, "primal": 1e4, "dual": 1.0, "gap": 1e4, "relative_gap": 1e4, "n_checked": 7},
        {"kkt": 1e-4, "convex": False, "n_checked": 7},
    ],
)
def test_every_certificate_is_translated(figures: dict[str, Any]) -> None:
    said = Screen(language="es").parts(Certificate(**figures).sentence)
    assert not re.search(r"\b(rows|all|sample|worst|gap|relative|infeasibility|over|so|not|error of)\b", said)
    assert "." not in said  # decimal commas
    assert f"{figures['n_checked']} filas" in said


_REFUSED = (
    "RBF(|RBFF()|quux()|RBF|RBF(gama=1)|RBF(1) - Linear()|RBF(1) / 2|-RBF(1)|3.5|Linear() ** 2.5|"
    "2 ** Linear()|RBF(1e200)|9**9**9 * RBF(1)|Rank1(f)|RBF(RBF(1))|RBF(1).bind(2)|RBF(1).exp(2)|RBF(*[1])|"
    "RBF(features=age)|normalized(2)|'a' * RBF(1)|"
)


@pytest.mark.parametrize("expression", _REFUSED.split("|"))
def test_kernel_expressions_are_refused_in_spanish(expression: str) -> None:
    with pytest.raises(mm.kernels.KernelExpressionError) as refused:
        mm.kernels.parse(expression)
    english = str(refused.value)
    spanish = Translator("es")(english)
    assert spanish.startswith("expresión del núcleo, columna ")
    assert spanish.split(": ", 1)[1] != english.split(": ", 1)[1]


def test_measures_of_several_classes_are_translated() -> None:
    from maxmargin.cli.finishing import _measure_name

    assert _measure_name(Screen(language="es"), "recall of failure") == "sensibilidad de failure"
    assert _measure_name(Screen(), "recall of failure") == "recall of failure"


def test_money_is_not_written_with_powers_of_ten(tmp_path: Path, run: Any) -> None:
    rng = np.random.default_rng(0)
    x = rng.uniform(size=60)
    table = pd.DataFrame({"x": x, "price": [f"{150_000 + 90_000 * v:,.0f} €" for v in x]})
    table.to_csv(tmp_path / "houses.csv", index=False)
    words = ["fit", "houses.csv", "-t", "price", "--model", "ridge", "--no-report", "--language", "es"]
    said = run(*words).stdout
    low, high = 150_000 + 90_000 * x.min(), 150_000 + 90_000 * x.max()
    assert f"una cantidad de {low:.0f} a {high:.0f}" in said
    assert "e+" not in said.partition("reservadas (inter")[2].partition("aviso")[0]
    assert "raíz del error cuadrático medio" in said
    assert not re.search(r"\b(root|mean|squared?)\b", said)


def test_predictions_keep_identifiers(tmp_path: Path, run: Any) -> None:
    rng = np.random.default_rng(3)
    table = pd.DataFrame({"client_id": rng.permutation(900)[:40], "x": rng.normal(size=40)})
    table["y"] = np.where(table["x"] > 0, "yes", "no")
    table.to_csv(tmp_path / "t.csv", index=False)
    run("fit", "t.csv", "-t", "y", "--model", "logistic", "--grid", "C=1", "--folds", 3, "--no-report")
    done = run("predict", "t.logistic.mm", "t.csv")
    lines = done.stdout.splitlines()
    assert lines[0] == "client_id,predicted y"
    assert [int(line.split(",")[0]) for line in lines[1:]] == table["client_id"].tolist()
    assert done.stderr == ""


def test_select_searches_for_quantities_and_among_categories(tmp_path: Path, ask: Any, run: Any) -> None:
    rng = np.random.default_rng(3)
    X = rng.normal(size=(90, 3))
    table = pd.DataFrame(X, columns=["a", "b", "c"]).assign(city=rng.choice(["x", "y"], 90))
    table["label"] = np.where(X[:, 0] + 0.5 * rng.normal(size=90) > 0, "yes", "no")
    table["cost"] = 3 * X[:, 1] + rng.normal(size=90)
    table.to_csv(tmp_path / "t.csv", index=False)
    words = ["select", "t.csv", "--keep", "1", "--folds", "3"]
    of_cost = [*words, "-t", "cost", "--drop", "label"]
    for method in ("sfs", "exhaustive", "rfe"):
        found = ask(*of_cost, "--method", method)
        assert found["selected"] == ["b"]
        assert found["error"]["measure"] == "mean squared error"
    said = run(*of_cost, "--method", "fisher", code=2).stderr
    assert "--method fisher is for classes, and the target is a quantity: use one of rfe, sfs" in said
    of_label = [*words, "-t", "label", "--drop", "cost", "--method", "branch-and-bound"]
    found = ask(*of_label)  # the two columns of the city add up to one: their covariance is singular
    assert found["selected"] == ["a"]
    assert any("covariances are shrunk by 0.1" in note for note in found["notes"])
    said = run(*of_label, "--criterion", "error", code=2).stderr
    assert "use --criterion mahalanobis, bhattacharyya, divergence" in said


def _sentences(path: Path) -> Iterator[str]:
    """What a module says in errors and notes, with {} for each value."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Call) and node.args:
            name = getattr(node.func, "attr", getattr(node.func, "id", ""))
            text = node.args[-1]
            parts = text.values if isinstance(text, ast.JoinedStr) else [text]
            if name in ("Refusal", "UsageRefusal", "ModelFileError", "note"):
                yield "".join(str(part.value) if isinstance(part, ast.Constant) else "{}" for part in parts)
            if name in ("line", "working") and isinstance(node.args[0], ast.Constant):  # labels
                yield str(node.args[0].value)


def test_every_error_and_note_has_a_spanish_sentence() -> None:
    """A value is a number here; sentences that are only values, such as "{}: {}.", are made of others."""
    spanish, package = Translator("es"), Path(mm.__file__).parent
    files = [*(package / "cli").rglob("*.py"), *(package / "tables").glob("*.py")]
    found = {sentence for path in files for sentence in _sentences(path)}
    texts = [text.replace("{}", "7") for text in found if re.search(r"(?<![-\w])[a-z]{3}", text)]
    assert len(texts) > 100
    alike = {"error", "variables"}  # the same word in both languages
    assert {text for text in texts if spanish(text) == text} - alike == set()
