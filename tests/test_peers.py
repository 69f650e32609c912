"""Parameters of scikit-learn's estimators, and the list of differences beside them."""

from __future__ import annotations

import contextlib
import inspect
import re
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn import kernel_ridge, linear_model, svm
from sklearn.base import clone
from sklearn.datasets import load_iris
from sklearn.metrics.pairwise import PAIRWISE_KERNEL_FUNCTIONS, chi2_kernel
from sklearn.preprocessing import scale
from sklearn.utils._param_validation import Interval, Options
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
    line = page_line("Other missing attributes")
    for name in missing:
        assert f"`{name}`" in line or f"`{type(ours).__name__}.{name}`" in line, name


NAMED_KERNELS = sorted(set(PAIRWISE_KERNEL_FUNCTIONS) | {"precomputed"})


@pytest.mark.filterwarnings("ignore:the sigmoid kernel")
@pytest.mark.parametrize("name", NAMED_KERNELS)
def test_kernels_by_name_are_taken_or_on_the_page(name: str) -> None:
    X, y = load_iris(return_X_y=True)
    rows = X @ X.T if name == "precomputed" else X
    if f'"{name}"' in refused_options():
        with pytest.raises(ValueError, match="a function"):
            mm.KernelRidge(kernel=name).fit(rows, y)
        return
    ours, theirs = (
        made.KernelRidge(kernel=name, gamma=0.1, coef0=1.0).fit(rows, y).predict(rows)
        for made in (mm, kernel_ridge)
    )
    np.testing.assert_allclose(ours, theirs, atol=1e-8)


def refused_options() -> str:
    page = peers.DIFFERENCES.read_text(encoding="utf-8")
    return page.partition("## Options that are refused")[2].partition("## Behaviour")[0]


def test_a_kernel_that_has_no_name_here_is_a_function() -> None:
    X, y = load_iris(return_X_y=True)
    ours = mm.KernelRidge(kernel=chi2_kernel, kernel_params={"gamma": 0.1}).fit(X, y)
    theirs = kernel_ridge.KernelRidge(kernel="chi2", gamma=0.1).fit(X, y)
    np.testing.assert_allclose(ours.predict(X), theirs.predict(X), atol=1e-8)


@pytest.mark.parametrize(
    ("name", "target"), [("LinearSVC", "classes"), ("LinearSVR", "one"), ("Ridge", "two")]
)
def test_intercepts_of_models_without_one_keep_their_shape(name: str, target: str) -> None:
    X, y = load_iris(return_X_y=True)
    ys = {"classes": y, "one": X[:, 0], "two": X[:, :2]}[target]
    ours = getattr(mm, name)(fit_intercept=False).fit(X, ys).intercept_
    assert not np.any(ours)
    assert np.shape(ours) == np.shape(getattr(mm, name)().fit(X, ys).intercept_)
    assert f"`{name}`" in page_line("Intercepts keep their shape")


@pytest.mark.parametrize("ours", [mm.LogisticRegression(C=1.0), mm.KernelRidge(), mm.Perceptron(max_iter=1)])
def test_float64_where_the_page_says_so(ours: Any) -> None:
    X, y = load_iris(return_X_y=True)
    fitted = ours.fit(X[:100].astype(np.float32), y[:100])
    assert getattr(fitted, "coef_", getattr(fitted, "dual_coef_", None)).dtype == np.float64
    assert f"`{type(ours).__name__}`" in page_line("More is computed in float64")


def page_line(start: str) -> str:
    return next(row for row in peers.DIFFERENCES.read_text().splitlines() if row.startswith(f"| {start}"))


def public_names(model: Any) -> set[str]:
    """Fitted attributes and methods, without those that are leftovers of base classes."""
    names = {name for name in dir(model) if not name.startswith("_")} - set(model.get_params())
    return {name for name in names if name.endswith("_") or callable(getattr(model, name, None))}


def accepted_values(cls: Any) -> list[tuple[str, Any]]:
    """Names, None, truth values and smallest numbers that scikit-learn's class declares."""
    found: list[tuple[str, Any]] = []
    for parameter, kinds in cls._parameter_constraints.items():
        for kind in kinds:
            if isinstance(kind, Options):
                found += [(parameter, value) for value in kind.options if value != "deprecated"]
            elif isinstance(kind, Interval) and kind.closed in ("left", "both") and kind.left is not None:
                found.append((parameter, kind.left))
            elif kind is None or kind == "boolean":
                found += [(parameter, value) for value in ((None,) if kind is None else (False, True))]
    return found


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(("ours", "theirs", "classifies"), MODELS)
def test_values_of_parameters_are_taken_or_on_the_page(ours: Any, theirs: Any, classifies: bool) -> None:
    X, y = load_iris(return_X_y=True)
    X, y = scale(X[::5]), y[::5] if classifies else X[::5, 3]
    for parameter, value in accepted_values(type(theirs)):
        rows = X @ X.T if value == "precomputed" else X
        if fits(theirs, parameter, value, rows, y) and not fits(ours, parameter, value, rows, y):
            shown = "0" if value == 0 else repr(value).replace("'", '"')
            spellings = (f"{parameter}={shown}", f"{parameter}=...", f"`{shown}`")
            assert any(spelling in refused_options() for spelling in spellings), (parameter, value)


def fits(model: Any, parameter: str, value: Any, X: Any, y: Any) -> bool:
    with contextlib.suppress(ValueError, TypeError):
        clone(model).set_params(**{parameter: value}).fit(X, y)
        return True
    return False


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
