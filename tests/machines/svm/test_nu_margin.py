"""NuSVC finds a margin or refuses, and the tolerance does not decide which."""

from __future__ import annotations

from contextlib import nullcontext as no_warning
from typing import Any

import numpy as np
import pytest
from sklearn.datasets import load_iris
from sklearn.preprocessing import StandardScaler

import maxmargin as mm
from maxmargin.problems.formulations import NuClassification, squared_extent

TOLERANCES = [1e-2, 1e-3, 1e-4, 1e-5, 1e-6]


def two_columns() -> tuple[Any, Any]:
    X, y = load_iris(return_X_y=True)
    return X[:, :2], y


@pytest.mark.parametrize("tol", TOLERANCES)
@pytest.mark.parametrize("solver", ["working_set", "smo"])
def test_overlapping_classes_are_refused_with_every_tolerance(tol: float, solver: str) -> None:
    X, y = two_columns()
    with pytest.raises(ValueError, match=r"nu=0\.2 leaves no margin .*larger nu"):
        mm.NuSVC(nu=0.2, tol=tol, solver=solver).fit(X, y)


@pytest.mark.parametrize("nu", [0.2, 0.4, 0.6])
def test_tuning_decides_as_a_fit_does(nu: float) -> None:
    X, y = two_columns()
    keep = y > 0
    X, y = X[keep], y[keep]
    for tol in TOLERANCES[:4]:
        outcome = []
        for train in (np.arange(100) % 5 != fold for fold in range(5)):
            try:
                mm.NuSVC(nu=nu, tol=tol).fit(X[train], y[train])
            except ValueError:
                outcome.append(False)
            else:
                outcome.append(True)
        folds = [(np.flatnonzero(np.arange(100) % 5 != k), np.arange(k, 100, 5)) for k in range(5)]
        search = mm.GridSearch(mm.NuSVC(tol=tol), {"nu": [nu, 0.9]}, cv=folds)
        with pytest.warns() if not all(outcome) else no_warning():
            search.fit(X, y)
        scored = [np.isfinite(search.cv_results_[f"split{k}_test_score"][0]) for k in range(5)]
        assert scored == outcome


def test_a_small_margin_is_found_with_every_tolerance() -> None:
    """Labels by chance: a margin of 3e-4, below the first tolerances, but far from nothing."""
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(500, 5)), rng.integers(0, 2, 500)
    fits = [mm.NuSVC(nu=0.2, tol=tol).fit(X, y) for tol in TOLERANCES[:4]]
    margins = [fit.machines_[0].scale for fit in fits]
    assert margins == pytest.approx([3.446e-4] * 4, rel=1e-3)
    assert all(fit.certificate_.kkt <= 0.1 * margins[0] for fit in fits)
    decisions = np.array([fit.decision_function(X) for fit in fits])
    assert np.abs(decisions - decisions[-1]).max() < 0.2
    assert np.mean(np.sign(decisions) == np.sign(decisions[-1])) > 0.999


@pytest.mark.parametrize("scale", [1e-3, 1.0, 1e6])
@pytest.mark.parametrize("offset", [0.0, 1e5])
def test_classes_apart_have_a_margin_on_every_scale(scale: float, offset: float) -> None:
    X, y = load_iris(return_X_y=True)
    X, y = scale * (StandardScaler().fit_transform(X[:100]) + offset), y[:100]
    for tol in (1e-2, 1e-4):
        assert mm.NuSVC(nu=0.1, kernel="linear", tol=tol * scale**2).fit(X, y).score(X, y) == 1.0


def problem() -> Any:
    X = mm.kernels.Linear().prepare(np.array([[-1.0], [-1.0], [1.0], [1.0]]))
    return NuClassification(nu=0.5).build(
        mm.kernels.Linear(), X, np.array([-1.0, -1.0, 1.0, 1.0]), np.ones(4)
    )


def test_the_rule_on_its_boundaries() -> None:
    """Multipliers of a class sum to 1, so the squared distance of the hulls is ||w||^2 itself."""
    form, qp = NuClassification(nu=0.5), problem()
    assert qp.delta.tolist() == [1.0, 1.0]

    def finer(rho: float, kkt: float, square: float) -> float | None:
        return form.finer(qp, np.array([rho, rho]), kkt, square=square, extent=1.0)

    assert finer(1e-2, 1e-3, 1e-9) is None  # rho is ten times its uncertainty, and not small
    assert finer(0.99e-2, 1e-3, 1.0) == pytest.approx(
        1e-5
    )  # it is not resolved: a hundredth of the violation
    assert finer(1e-3, 1e-4, 1.01e-6) is None  # small, but the hulls are not close
    with pytest.raises(ValueError, match="no margin"):
        finer(1e-3, 1e-4, 1e-6)
    with pytest.raises(ValueError, match="no margin"):
        finer(-1e-3, 1.09e-2, 1e-6)  # not resolved, but rho is below 0.01 for certain
    assert finer(0.0, 1.01e-2, 1e-6) is not None  # it may be above


def test_the_extent_does_not_depend_on_where_the_rows_are() -> None:
    X = np.array([[0.0, 0.0], [3.0, 4.0], [1.0, 1.0]])
    for shift in (0.0, 100.0):
        K = mm.kernels.Linear()(X + shift)
        assert squared_extent(np.diag(K), K[0]) == pytest.approx(25.0)
    equal = np.full((3, 3), 7.0)
    assert squared_extent(np.diag(equal), equal[0]) == pytest.approx(7e-5)
