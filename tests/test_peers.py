"""Parameters of scikit-learn's estimators, and the list of differences beside them."""

from __future__ import annotations

import inspect
import re
from typing import Any

import pandas as pd
import pytest
from sklearn import kernel_ridge, linear_model, svm
from sklearn.datasets import load_iris
from tools import peers

import maxmargin as mm

ESTIMATORS = [(module, name, home) for module, names in peers.SWAPS.items() for name, home in names.items()]
ESTIMATORS.append(("sklearn.linear_model", "LogisticRegression", "maxmargin"))


def parameters(cls: Any) -> dict[str, inspect.Parameter]:
    found = dict(inspect.signature(cls.__init__).parameters)
    found.pop("self")
    return found


def theirs(module: str, name: str) -> Any:
    return getattr(__import__(module, fromlist=[name]), name)


def defaults_of_page() -> dict[str, str]:
    """ "Class.parameter" -> our default, from the table of defaults, with "also in" spread."""
    page: dict[str, str] = {}
    for row in peers.DIFFERENCES.read_text(encoding="utf-8").splitlines():
        cells = [cell.strip() for cell in row.strip("|").split("|")]
        if len(cells) == 4 and (match := re.fullmatch(r"`(\w+)\.(\w+)`", cells[0])):
            others = re.findall(r"`(\w+)`", cells[3].partition("also in")[2].partition(";")[0])
            for owner in (match[1], *others):
                page[f"{owner}.{match[2]}"] = cells[1].strip("`")
    return page


@pytest.mark.parametrize(("module", "name", "home"), ESTIMATORS)
def test_every_parameter_of_scikit_learn_is_taken(module: str, name: str, home: str) -> None:
    ours, known = parameters(peers.ours(name, home)), parameters(theirs(module, name))
    assert set(known) <= set(ours)


@pytest.mark.parametrize(("module", "name", "home"), ESTIMATORS)
def test_the_page_lists_every_other_default(module: str, name: str, home: str) -> None:
    cls, page = peers.ours(name, home), defaults_of_page()
    ours, known = parameters(cls), parameters(theirs(module, name))
    for parameter in known:
        entry = f"{cls.__name__}.{parameter}"
        default = ours[parameter].default
        if repr(default) == repr(known[parameter].default) or default == known[parameter].default:
            assert entry not in page
        else:
            assert page.get(entry) == repr(default).replace("'", '"'), entry


def test_the_page_names_parameters_that_exist() -> None:
    for entry in defaults_of_page():
        owner, parameter = entry.split(".")
        assert parameter in parameters(getattr(mm, owner))


MODELS = [  # ours, scikit-learn's, whether they classify
    (mm.SVC(), svm.SVC(), True),
    (mm.NuSVC(), svm.NuSVC(), True),
    (mm.LinearSVC(), svm.LinearSVC(), True),
    (mm.LogisticRegression(C=1.0), linear_model.LogisticRegression(), True),
    (mm.Perceptron(), linear_model.Perceptron(), True),
    (mm.SVR(), svm.SVR(), False),
    (mm.NuSVR(), svm.NuSVR(), False),
    (mm.OneClassSVM(), svm.OneClassSVM(), False),
    (mm.LinearSVR(), svm.LinearSVR(), False),
    (mm.Ridge(), linear_model.Ridge(), False),
    (mm.KernelRidge(), kernel_ridge.KernelRidge(), False),
]


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize(("ours", "theirs", "classifies"), MODELS)
def test_attributes_are_there_or_on_the_page(ours: Any, theirs: Any, classifies: bool) -> None:
    X, y = load_iris(return_X_y=True)
    target = y[::5] if classifies else X[::5, 3]
    frame = pd.DataFrame(X[::5, :3], columns=["a", "b", "c"])
    missing = public_names(theirs.fit(frame, target)) - public_names(ours.fit(frame, target))
    line = next(row for row in peers.DIFFERENCES.read_text().splitlines() if "Missing attributes" in row)
    for name in missing:
        assert f"`{name}`" in line or f"`{type(ours).__name__}.{name}`" in line, name


def public_names(model: Any) -> set[str]:
    """Fitted attributes and methods, without those that are leftovers of base classes."""
    names = {name for name in dir(model) if not name.startswith("_")} - set(model.get_params())
    return {name for name in names if name.endswith("_") or callable(getattr(model, name, None))}


def test_every_designed_difference_names_a_line_of_the_page() -> None:
    lines = peers.lines_of_page()
    found = peers.designed_differences()
    assert found
    for entry in found:
        assert entry.line in lines, entry


def test_an_unknown_line_would_be_found() -> None:
    assert "a line that is not there" not in peers.lines_of_page()


@pytest.mark.parametrize(
    ("make", "named"),
    [
        (lambda: mm.LinearSVC(multi_class="crammer_singer"), "multi_class='crammer_singer'"),
        (lambda: mm.LinearSVC(dual="yes"), "dual='yes'"),
        (lambda: mm.LinearSVC(intercept_scaling=-1.0), "intercept_scaling=-1.0"),
        (lambda: mm.Perceptron(penalty="l2"), "penalty='l2'"),
        (lambda: mm.Perceptron(early_stopping=True), "early_stopping=True"),
        (lambda: mm.PassiveAggressive(early_stopping=True), "early_stopping=True"),
        (lambda: mm.LogisticRegression(penalty="l1"), "penalty='l1'"),
        (lambda: mm.LogisticRegression(l1_ratio=0.5), "l1_ratio=0.5"),
        (lambda: mm.LogisticRegression(solver="liblinear"), "solver='liblinear'"),
        (lambda: mm.LogisticRegression(intercept_scaling=2.0), "intercept_scaling=2.0"),
        (lambda: mm.LogisticRegression(warm_start=True), "warm_start=True"),
        (lambda: mm.Ridge(positive=True), "positive=True"),
        (lambda: mm.LeastSquares(positive=True), "positive=True"),
    ],
)
def test_refused_options_are_named(make: Any, named: str) -> None:
    X, y = [[0.0], [1.0], [2.0], [3.0]], [0, 0, 1, 1]
    with pytest.raises(ValueError, match=re.escape(named)):
        make().fit(X, y)
