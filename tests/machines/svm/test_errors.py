"""Wrong input is an error that says what, what was got, and the remedy."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import maxmargin as mm
from maxmargin.kernels import RBF

X = np.arange(12.0).reshape(6, 2)
Y = np.array([0, 0, 0, 1, 1, 1])
EVERY = [mm.SVC, mm.NuSVC, mm.HardMarginSVC, mm.SVR, mm.NuSVR, mm.OneClassSVM, mm.SVDD]


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: mm.SVC(C=0.0).fit(X, Y), r"C=0.0 must be a number > 0"),
        (lambda: mm.SVC(C=-1.0).fit(X, Y), r"C=-1.0"),
        (lambda: mm.SVC(C=float("nan")).fit(X, Y), r"C=nan"),
        (lambda: mm.SVC(C="1").fit(X, Y), r"C='1'"),
        (lambda: mm.NuSVR(C=np.inf).fit(X, Y), r"C=inf must be finite"),
        (lambda: mm.SVR(C=np.inf).fit(np.zeros((6, 2)), Y), "C=inf allows no residual above epsilon=0.1"),
        (lambda: mm.SVC(C=np.inf, loss="squared_hinge").fit(X, Y), "hard margin, which has no loss"),
        (lambda: mm.SVC(kernel="gauss").fit(X, Y), "kernel='gauss' is unknown"),
        (lambda: mm.SVC(kernel=RBF(gamma=1.0), gamma=2.0).fit(X, Y), "only apply to kernels given by name"),
        (lambda: mm.SVC(gamma=-1.0).fit(X, Y), "gamma=-1.0"),
        (lambda: mm.SVC(loss="zero_one").fit(X, Y), "loss='zero_one' is unknown"),
        (lambda: mm.SVC(multiclass="all").fit(X, Y), "multiclass='all' is unknown"),
        (lambda: mm.SVC(decision_function_shape="x").fit(X, Y), "decision_function_shape='x'"),
        (lambda: mm.SVC(solver="libsvm").fit(X, Y), "solver='libsvm' is unknown"),
        (lambda: mm.SVC(certify="no").fit(X, Y), "certify='no'"),
        (lambda: mm.SVC(tol=0.0).fit(X, Y), "tol=0.0"),
        (lambda: mm.SVC(max_iter=0).fit(X, Y), "max_iter=0"),
        (lambda: mm.SVC(time_limit=-1).fit(X, Y), "time_limit=-1"),
        (lambda: mm.SVC(cache_size=0).fit(X, Y), "cache_size=0"),
        (lambda: mm.SVC(n_jobs=0).fit(X, Y), "n_jobs=0"),
        (lambda: mm.SVR(epsilon=-0.1).fit(X, Y), "epsilon=-0.1"),
        (lambda: mm.NuSVC(nu=0.0).fit(X, Y), r"nu=0.0 must be a number in \(0, 1\]"),
        (lambda: mm.OneClassSVM(nu=1.5).fit(X), "nu=1.5"),
        (lambda: mm.SVDD(C=0.1).fit(X), r"C=0.1 is infeasible.*C must be >= 0.167"),
        (lambda: mm.SVDD(kernel="precomputed").fit(X @ X.T), "does not provide"),
        (lambda: mm.SVC().fit(X, np.zeros(6)), "one class only"),
        (lambda: mm.SVC().fit(X, Y[:4]), "X has 6 rows and y has 4"),
        (lambda: mm.SVR().fit(X, Y[:4]), "X has 6 rows and y has 4"),
        (lambda: mm.SVC().fit(X, None), "requires y"),
        (lambda: mm.SVC().fit(X, Y, np.ones(3)), r"shape \(3,\), and X has 6 rows"),
        (lambda: mm.SVC().fit(X, Y, -np.ones(6)), "negative numbers, the least -1"),
        (lambda: mm.SVC().fit(X, Y, np.zeros(6)), "all samples have zero or negative weights"),
        (lambda: mm.SVC().fit(X, Y, (Y == 0).astype(float)), "no row of the class 1 has a positive weight"),
        (lambda: mm.SVC().fit(X[:0], Y[:0]), "0 sample"),
        (lambda: mm.SVC().fit(X[:1], Y[:1]), "one class only"),
        (lambda: mm.SVC().fit(X[:, 0], Y), "Expected 2D array"),
        (lambda: mm.SVC().fit(X, Y).predict(X[:, :1]), "features"),
        (lambda: mm.SVC().fit(X, np.linspace(0, 1, 6)), "Unknown label type"),
    ],
)
def test_messages(make: Callable[[], Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        make()


@pytest.mark.parametrize("machine", EVERY)
@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_nan_and_infinity(machine: Any, bad: float) -> None:
    spoiled = X.copy()
    spoiled[2, 1] = bad
    with pytest.raises(ValueError, match=r"NaN|infinity"):
        machine().fit(spoiled, Y)


def test_infeasible_nu_says_which_nu_is_feasible() -> None:
    rows = np.random.default_rng(0).normal(size=(217, 2))
    labels = np.repeat([0, 1], [148, 69])
    with pytest.raises(ValueError, match=r"nu=0.9 is infeasible: the classes have 69 and 148 rows.*<= 0.636"):
        mm.NuSVC(nu=0.9).fit(rows, labels)
    mm.NuSVC(nu=0.63).fit(rows, labels)


def test_set_params_of_a_kernel_given_by_name() -> None:
    with pytest.raises(ValueError, match="given by name and has no parameter 'gamma'"):
        mm.SVC().set_params(kernel__gamma=1.0)


@pytest.mark.parametrize("machine", [mm.SVR, mm.NuSVR, mm.OneClassSVM, mm.SVDD])
def test_one_row(machine: Any) -> None:
    model = machine().fit([[1.0, 2.0]], [3.0])
    values = model.predict([[1.0, 2.0]])
    assert values.shape == (1,)
    if machine is mm.SVR:
        assert abs(values[0] - 3.0) <= model.epsilon + 1e-9


@pytest.mark.parametrize("machine", EVERY)
def test_a_failed_fit_changes_nothing(machine: Any) -> None:
    model = machine().fit(X, Y)
    before = dict(model.__dict__)
    with pytest.raises(ValueError, match="NaN"):
        model.fit(np.full((4, 3), np.nan), [0, 1, 0, 1])
    assert model.__dict__ == before


def test_huge_C_on_separable_rows() -> None:
    model = mm.SVC(C=1e12, kernel="linear").fit(X, Y)
    hard = mm.HardMarginSVC(kernel="linear").fit(X, Y)
    assert model.certificate_.kkt <= model.tol
    np.testing.assert_allclose(model.coef_, hard.coef_, rtol=1e-2)


def test_sigmoid_warns_and_has_no_gap() -> None:
    with pytest.warns(UserWarning, match="not positive semidefinite"):
        model = mm.SVC(kernel="sigmoid", gamma=0.01).fit(X, Y)
    assert not model.certificate_.convex
    assert np.isnan(model.certificate_.gap)
    assert "no duality gap" in str(model.certificate_)


def test_attributes_of_binary_machines_with_three_classes() -> None:
    model = mm.SVC().fit(X, [0, 0, 1, 1, 2, 2])
    for name in ("alpha_", "margin_", "slack_", "point_kinds_", "solution_"):
        with pytest.raises(AttributeError, match="machines_"):
            getattr(model, name)


def test_kernel_values_that_overflow_are_refused_without_a_warning() -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(600, 2)) * np.array([1e60, 1.0])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(ValueError, match="too large for floating-point numbers"):
            mm.SVR(10.0, gamma=100.0, kernel="poly", n_jobs=2).fit(X, X[:, 1])
