"""What a reader checks by hand: multipliers of one's own, and a budget for the slacks."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize
from sklearn.datasets import load_breast_cancer, make_blobs, make_regression
from sklearn.exceptions import ConvergenceWarning

import maxmargin as mm


def two_classes(seed=0, n=30, spread=1.5):
    X, y = make_blobs(n, centers=[(-1.0, 0.0), (1.0, 0.5)], cluster_std=spread, random_state=seed)
    return X, y


# -- certify(alpha=...) ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "model",
    [
        mm.SVC(kernel="linear", C=0.7),
        mm.SVC(gamma=0.5, loss="squared_hinge"),
        mm.OneClassSVM(nu=0.3),
        mm.SVDD(C=0.2),
        mm.SVR(epsilon=0.1),
        mm.NuSVR(nu=0.4),
    ],
    ids=lambda model: type(model).__name__,
)
def test_the_fitted_multipliers_have_the_certificate_of_the_fit(model):
    X, y = two_classes()
    model.fit(X, y)
    own, fitted = mm.certify(model, X, y, alpha=model.alpha_), mm.certify(model, X, y)
    for name in ("kkt", "primal", "dual", "gap"):
        assert getattr(own, name) == pytest.approx(getattr(fitted, name), rel=1e-9, abs=1e-9)


@settings(derandomize=True, deadline=None, max_examples=25)
@given(st.integers(0, 10_000))
def test_any_feasible_multipliers_bound_the_optimum(seed):
    """Weak duality: the dual value of any feasible alpha is at most the optimum, which is inside its gap."""
    X, y = two_classes(seed)
    model = mm.SVC(kernel="linear", C=1.0, tol=1e-8).fit(X, y)
    rng = np.random.default_rng(seed)
    alpha = rng.random(len(y))
    for label in (0, 1):  # both classes have the same sum
        alpha[y == label] *= 5.0 / alpha[y == label].sum()
    alpha = np.minimum(alpha, 1.0) if alpha.max() <= 1.0 else alpha / alpha.max()
    found = mm.certify(model, X, y, alpha=alpha)
    best = model.certificate_.dual
    assert found.infeasibility < 1e-9
    assert found.dual <= best + 1e-6
    assert found.primal >= best - 1e-6
    assert found.kkt >= 0


def test_the_hard_margin_of_four_points_by_hand():
    # two points per class at distance 2 of the boundary x = 0: alpha = 1/8 on two of them, w = (1/2, 0)
    X, y = np.array([[-2.0, 0.0], [-3.0, 1.0], [2.0, 0.0], [3.0, 1.0]]), [0, 0, 1, 1]
    model = mm.HardMarginSVC(kernel="linear").fit(X, y)
    proof = mm.certify(model, X, y, alpha=[1 / 8, 0, 1 / 8, 0])
    assert proof.kkt == pytest.approx(0.0, abs=1e-12)
    assert proof.dual == pytest.approx(1 / 8)  # ||w||^2 = sum alpha, so 1/2 ||w||^2 = 1/8
    assert proof.gap == pytest.approx(0.0, abs=1e-12)
    assert mm.certify(model, X, y, alpha=[0, 1 / 8, 0, 1 / 8]).kkt > 0.5


def test_the_matrix_of_the_dual_gives_its_value():
    """Valera (2.37): L_D = 1'alpha - 1/2 alpha'H alpha with H = yy' o K."""
    X, y = two_classes()
    model = mm.SVC(kernel="linear", C=1.0).fit(X, y)
    sign = np.where(y == 1, 1.0, -1.0)
    H = np.outer(sign, sign) * mm.kernels.Linear()(X)
    alpha = model.alpha_
    assert alpha.sum() - 0.5 * alpha @ H @ alpha == pytest.approx(model.certificate_.dual, rel=1e-9)


def test_multipliers_that_break_a_constraint_have_no_gap():
    X, y = two_classes()
    model = mm.SVC(kernel="linear", C=1.0).fit(X, y)
    for alpha in (np.full(len(y), 2.0), np.where(y == 1, 0.5, 0.1), -model.alpha_):
        found = mm.certify(model, X, y, alpha=alpha)
        assert found.infeasibility > 0.1
        assert np.isnan([found.dual, found.gap, found.relative_gap]).all()


def test_multipliers_that_cannot_be_read_are_refused():
    X, y = two_classes()
    model = mm.SVC().fit(X, y)
    with pytest.raises(ValueError, match="30 finite numbers"):
        mm.certify(model, X, y, alpha=[0.0])
    with pytest.raises(ValueError, match="30 finite numbers"):
        mm.certify(model, X, y, alpha=np.full(30, np.nan))
    with pytest.raises(ValueError, match="30 finite numbers"):
        mm.certify(model, X, y, alpha=["one"] * 30)
    with pytest.raises(TypeError, match="divided by rho"):
        mm.certify(mm.NuSVC(nu=0.5).fit(X, y), X, y, alpha=np.zeros(30))
    with pytest.raises(TypeError, match="not Pegasos"):
        mm.certify(mm.Pegasos(random_state=0).fit(X, y), X, y, alpha=np.zeros(30))
    three = np.arange(30) % 3
    with pytest.raises(ValueError, match="these labels need 3"):
        mm.certify(mm.SVC().fit(X, three), X, three, alpha=np.zeros(30))
    weight = np.ones(30)
    weight[0] = 0
    weighted = mm.SVC().fit(X, y, sample_weight=weight)
    alpha = weighted.alpha_
    assert mm.certify(weighted, X, y, weight, alpha=alpha).kkt <= 1e-3
    alpha[0] = 0.1
    with pytest.raises(ValueError, match="weight zero"):
        mm.certify(weighted, X, y, weight, alpha=alpha)


def test_a_dual_value_of_zero_has_no_relative_gap():
    X, y = two_classes()
    found = mm.certify(mm.SVC().fit(X, y), X, y, alpha=np.zeros(30))
    assert str(found).endswith("primal 30, dual 0, gap 30")


def test_one_sided_and_two_sided_regression():
    X, y = make_regression(20, 3, noise=5.0, random_state=0)
    model = mm.SVR(kernel="linear", C=1.0, epsilon=1.0).fit(X, y)
    assert mm.certify(model, X, y, alpha=np.zeros(20)).dual == pytest.approx(0.0, abs=1e-12)


# -- a budget for the slacks -----------------------------------------------------------------------------


@settings(derandomize=True, deadline=None, max_examples=8)
@given(st.integers(0, 10_000), st.floats(0.3, 0.9))
def test_the_budget_is_spent_and_no_norm_is_smaller(seed, share):
    """Strong duality of problem (3.4): 1/2 ||w||^2 = sum alpha - 1/2 ||w||^2 - K C."""
    X, y = two_classes(seed, spread=2.0)
    least = mm.SVC(kernel="linear", C=1e4, tol=1e-6).fit(X, y).slack_.sum()
    budget = float(least + share * (2 * np.bincount(y).min() - least))
    model = mm.slack_budget(mm.SVC(kernel="linear"), X, y, budget)
    assert model.slack_.sum() == pytest.approx(budget, rel=1e-4)
    square = float(model.coef_[0] @ model.coef_[0])
    assert model.alpha_.sum() - square - budget * model.C == pytest.approx(0.0, abs=1e-3 * max(1.0, square))


def test_the_budget_against_a_general_optimiser():
    X, y = two_classes(3, n=12, spread=2.0)
    sign, n = np.where(y == 1, 1.0, -1.0), 12
    budget = 8.0

    def norm(t):
        return 0.5 * t[:2] @ t[:2]

    constraints = [
        {"type": "ineq", "fun": lambda t: sign * (X @ t[:2] + t[2]) - 1 + t[3:]},
        {"type": "ineq", "fun": lambda t: t[3:]},
        {"type": "ineq", "fun": lambda t: budget - t[3:].sum()},
    ]
    found = minimize(
        norm, np.full(3 + n, 0.5), method="SLSQP", constraints=constraints, options={"maxiter": 500}
    )
    model = mm.slack_budget(mm.SVC(kernel="linear"), X, y, budget)
    assert norm(np.append(model.coef_[0], 0)) == pytest.approx(found.fun, rel=1e-4)


def test_budgets_that_no_cost_meets_are_refused():
    X, y = two_classes(spread=3.0)
    least = mm.SVC(kernel="linear", C=1e4, tol=1e-6).fit(X, y).slack_.sum()
    with pytest.raises(ValueError, match="cannot be met: with this kernel the slacks sum to at least"):
        mm.slack_budget(mm.SVC(kernel="linear"), X, y, 0.5 * float(least))
    with pytest.raises(ValueError, match="met with w = 0: use less than 30"):
        mm.slack_budget(mm.SVC(kernel="linear"), X, y, 30.0)
    with pytest.raises(ValueError, match="budget"):
        mm.slack_budget(mm.SVC(kernel="linear"), X, y, 0.0)
    with pytest.raises(ValueError, match="two classes, and y has 3"):
        mm.slack_budget(mm.SVC(kernel="linear"), X, np.arange(30) % 3, 5.0)
    for model in (mm.SVC(loss="squared_hinge"), mm.HardMarginSVC(), mm.NuSVC()):
        with pytest.raises(TypeError, match="SVC with loss='hinge'"):
            mm.slack_budget(model, X, y, 1.0)


def test_a_budget_that_a_limit_leaves_open_is_not_called_impossible():
    X, y = load_breast_cancer(return_X_y=True)
    with (
        pytest.warns(ConvergenceWarning),
        pytest.raises(ValueError, match=r"a fit stopped at max_iter .*: raise the limit"),
    ):
        mm.slack_budget(mm.SVC(max_iter=1), X, y, 50.0)
