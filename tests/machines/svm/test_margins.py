"""Margins, slack, kinds of points, the bias rule, and worked values."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from scipy import sparse

import maxmargin as mm
from maxmargin.kernels import RBF, Linear
from tests.strategies import Problem, make_problem, problems


@given(problem=problems(shapes=("separable",)))
def test_hard_margin_identities(problem: Problem) -> None:
    """||w||^2 = sum alpha, M = 1/||w||, every y f >= 1, and the support vectors lie on the margin."""
    model = mm.HardMarginSVC(kernel="linear", tol=1e-7).fit(problem.X, problem.y)
    w = model.coef_[0]
    assert w @ w == pytest.approx(model.alpha_.sum(), rel=1e-5)
    assert model.margin_ == pytest.approx(1 / np.linalg.norm(w), rel=1e-5)
    margins = problem.y * model.decision_function(problem.X)
    assert margins.min() >= 1 - 1e-5
    np.testing.assert_allclose(margins[model.support_], 1.0, atol=1e-5)
    assert set(model.point_kinds_) <= {"free", "outside"}
    assert model.slack_.max() <= 1e-5


def test_hard_margin_is_svc_with_infinite_C() -> None:
    problem = make_problem("separable", 40, 3, 0, "equal")
    hard = mm.HardMarginSVC(kernel="linear", tol=1e-8).fit(problem.X, problem.y)
    infinite = mm.SVC(C=np.inf, kernel="linear", tol=1e-8).fit(problem.X, problem.y)
    finite = mm.SVC(C=2 * hard.alpha_.max(), kernel="linear", tol=1e-8).fit(problem.X, problem.y)
    np.testing.assert_allclose(infinite.coef_, hard.coef_, atol=1e-6)
    np.testing.assert_allclose(finite.coef_, hard.coef_, atol=1e-5)


def test_two_points() -> None:
    """x = 0 and x = 2: w = 1, b = -1, alpha = 1/2 each, margin 1."""
    model = mm.HardMarginSVC(kernel="linear").fit([[0.0], [2.0]], [-1, 1])
    np.testing.assert_allclose(model.coef_, [[1.0]], atol=1e-6)
    np.testing.assert_allclose(model.intercept_, [-1.0], atol=1e-6)
    np.testing.assert_allclose(model.alpha_, [0.5, 0.5], atol=1e-6)
    assert model.margin_ == pytest.approx(1.0, abs=1e-6)


@given(problem=problems())
def test_kinds_follow_from_alpha_and_slack(problem: Problem) -> None:
    C, tol = 1.0, 1e-6
    model = mm.SVC(C=C, kernel=RBF(gamma=0.5), tol=tol).fit(problem.X, problem.y, problem.weight)
    margins = problem.y * model.decision_function(problem.X)
    upper = C * problem.weight
    expected = {
        "outside": model.alpha_ == 0,
        "free": (model.alpha_ > 0) & (model.alpha_ < upper),
        "inside": (model.alpha_ == upper) & (margins >= 0),
        "misclassified": (model.alpha_ == upper) & (margins < 0),
    }
    clear = np.abs(margins) > 1e-6
    for kind, rows in expected.items():
        np.testing.assert_array_equal((model.point_kinds_ == kind)[clear], rows[clear])
    np.testing.assert_allclose(model.slack_, np.maximum(0, 1 - margins), atol=1e-6)
    free = model.point_kinds_ == "free"
    np.testing.assert_allclose(margins[free], 1.0, atol=10 * tol)


def test_kinds_of_the_squared_hinge_follow_the_margin() -> None:
    problem = make_problem("overlapping", 60, 2, 1, "equal")
    model = mm.SVC(loss="squared_hinge", kernel="linear", tol=1e-6).fit(problem.X, problem.y)
    margins = problem.y * model.decision_function(problem.X)
    np.testing.assert_array_equal(model.point_kinds_ == "misclassified", margins < 0)
    np.testing.assert_array_equal(model.point_kinds_ == "outside", model.alpha_ == 0)
    # stationarity of the squared hinge: alpha = 2 C slack
    np.testing.assert_allclose(model.alpha_, 2 * model.slack_, atol=1e-4)


@pytest.mark.parametrize("C", [1e-4, 1e-3])
def test_bias_without_free_vectors_is_the_middle_of_the_optimal_interval(C: float) -> None:
    """With a tiny C and balanced classes every alpha is at its bound: b alone minimises the primal."""
    rng = np.random.default_rng(0)
    X = np.concatenate([rng.normal(-1, 1, (10, 2)), rng.normal(1, 1, (10, 2))])
    y = np.repeat([-1.0, 1.0], 10)
    model = mm.SVC(C=C, kernel="linear", tol=1e-9).fit(X, y)
    np.testing.assert_allclose(model.alpha_, C, rtol=1e-12)
    scores = X @ model.coef_[0]
    kinks = np.sort(y - scores)
    values = np.array([np.maximum(0, 1 - y * (scores + b)).sum() for b in kinks])
    best = kinks[values <= values.min() + 1e-12]
    assert model.intercept_[0] == pytest.approx((best.min() + best.max()) / 2, abs=1e-9)


def test_not_separable_comes_with_a_proof() -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(30, 2))
    y = np.where(rng.random(30) < 0.5, "no", "yes")
    with pytest.raises(mm.NotSeparableError, match="not linearly separable in this feature space") as caught:
        mm.HardMarginSVC(kernel="linear").fit(X, y)
    proof = caught.value
    for weights in (proof.positive_weights, proof.negative_weights):
        assert (weights > 0).all()
        assert weights.sum() == pytest.approx(1.0, abs=1e-9)
    assert set(y[proof.positive_rows]) == {"yes"}
    assert set(y[proof.negative_rows]) == {"no"}
    difference = (
        proof.positive_weights @ X[proof.positive_rows] - proof.negative_weights @ X[proof.negative_rows]
    )
    assert np.linalg.norm(difference) == pytest.approx(proof.distance, abs=1e-8)
    assert np.linalg.norm(difference) < 1e-4 * np.abs(X).max()
    mm.HardMarginSVC(kernel=RBF(gamma=1.0)).fit(X, y)  # a richer space separates different rows


def test_the_same_row_in_two_classes_is_not_separable() -> None:
    with pytest.raises(mm.NotSeparableError) as caught:
        mm.HardMarginSVC().fit([[0.0], [1.0], [1.0]], [0, 0, 1])
    assert caught.value.positive_rows.tolist() == [2]
    assert caught.value.negative_rows.tolist() == [1]


@pytest.mark.parametrize("seed", range(6))
def test_columns_of_any_scale_are_not_called_inseparable(seed: int) -> None:
    """Kernel values of 1e24 hide the small columns, which separate the classes."""
    rng = np.random.default_rng(seed)
    Z, w = rng.normal(size=(60, 6)), rng.normal(size=6)
    with pytest.raises(ValueError, match="separates the classes, but kernel values in float64") as caught:
        mm.HardMarginSVC(kernel="linear").fit(Z * 10.0 ** np.linspace(-12, 12, 6), np.sign(Z @ w))
    assert not isinstance(caught.value, mm.NotSeparableError)
    assert mm.HardMarginSVC(kernel="linear").fit(Z, np.sign(Z @ w)).score(Z, np.sign(Z @ w)) == 1.0


@pytest.mark.parametrize("kernel", ["linear", "poly"])
def test_the_proof_holds_in_every_column(kernel: str) -> None:
    rng = np.random.default_rng(3)
    X = rng.normal(size=(60, 3)) * [1e-6, 1.0, 1e5]
    y = rng.integers(0, 2, 60)
    with pytest.raises(mm.NotSeparableError) as caught:
        mm.HardMarginSVC(kernel=kernel, gamma=1.0, coef0=1.0, degree=2).fit(X, y)
    proof = caught.value
    map_ = mm.kernels.polynomial_map(X) if kernel == "poly" else X
    one = proof.positive_weights @ map_[proof.positive_rows]
    other = proof.negative_weights @ map_[proof.negative_rows]
    deviation = np.abs(map_ - map_.mean(axis=0)).max(axis=0)
    assert (np.abs(one - other) <= 1e-13 * deviation).all()


@pytest.mark.parametrize("half", [1e-10, 1e-11, 1e-12, 1e-13, 1e-14])
def test_hulls_that_nearly_meet_are_not_called_inseparable(half: float) -> None:
    """The linear program meets its tolerance of 1e-10 there, but no combinations are equal up to rounding."""
    for seed in range(3):
        rng = np.random.default_rng(seed)
        along, y = rng.normal(size=40), np.repeat([1, -1], 20)
        across = half * y * (1 + rng.random(40))
        X = np.column_stack([along + across, along - across])
        difference = X[:, 0] - X[:, 1]
        assert difference[y > 0].min() > difference[y < 0].max()  # separable
        with pytest.raises(ValueError, match="float64") as caught:
            mm.HardMarginSVC(kernel="linear").fit(X, y)
        assert not isinstance(caught.value, mm.NotSeparableError)
        with pytest.raises(ValueError, match=r"as far as kernel values in float64 show|could not decide"):
            mm.HardMarginSVC(kernel="precomputed").fit(X @ X.T, y)


def test_equal_sparse_rows_are_a_proof() -> None:
    """With looser tolerances HiGHS combined six other rows, which are apart."""
    X = sparse.random(600, 5, 0.3, format="csr", random_state=252)
    with pytest.raises(mm.NotSeparableError):
        mm.HardMarginSVC(kernel="linear").fit(X, np.random.default_rng(0).integers(0, 2, 600))


def test_what_float64_cannot_decide_is_not_called_inseparable() -> None:
    """A Gaussian kernel separates different rows, however close their images are."""
    rng = np.random.default_rng(1)
    with pytest.raises(ValueError, match="could not decide in float64") as caught:
        mm.HardMarginSVC(kernel=RBF(gamma=1e-3)).fit(rng.normal(size=(80, 2)), rng.integers(0, 2, 80))
    assert not isinstance(caught.value, mm.NotSeparableError)


@pytest.mark.parametrize("kernel", ["poly", "precomputed"])
def test_rows_of_any_length_are_not_called_inseparable(kernel: str) -> None:
    """40 rows in general position, with 22 100 monomials, are separable; long rows hide the short ones."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(40, 50)) * 10.0 ** rng.uniform(-8, 8, size=(40, 1))
    rows = mm.kernels.Polynomial(degree=3, gamma=1.0)(X, X) if kernel == "precomputed" else X * 1e-58
    with pytest.raises(ValueError, match="float64") as caught:
        mm.HardMarginSVC(kernel=kernel).fit(rows, rng.integers(0, 2, 40))
    assert not isinstance(caught.value, mm.NotSeparableError)


@pytest.mark.parametrize(("half", "found"), [(1e-5, True), (1e-9, False)])
def test_narrow_margins_are_found_or_refused(half: float, found: bool) -> None:
    x = np.random.default_rng(0).normal(size=40)
    X, y = np.column_stack([x, np.repeat([half, -half], 20)]), np.repeat([1, 0], 20)
    model = mm.HardMarginSVC(kernel="linear")
    if found:
        assert model.fit(X, y).margin_ == pytest.approx(half, rel=1e-3)
    else:
        with pytest.raises(ValueError, match="kernel values in float64 do not show"):
            model.fit(X, y)


HEIGHT = [170, 147, 150, 154, 175, 152, 173, 177]
WEIGHT = [85, 75, 77, 81, 79, 80, 82, 84]
NOISE = [0.011, 0.34, 0.034, 0.092, 0.065, 0.358, 0.36, 0.757]
TABLE = np.column_stack([HEIGHT, WEIGHT, NOISE]).astype(float)
CLASS = np.array([1, -1, -1, -1, 1, -1, 1, 1])


def wrong_rows(columns: list[int]) -> list[int]:
    """Leave-one-out errors (rows counted from 1) with columns standardised inside each fold."""
    X, wrong = TABLE[:, columns], []
    for i in range(len(X)):
        rest = np.delete(np.arange(len(X)), i)
        mean, deviation = X[rest].mean(axis=0), X[rest].std(axis=0, ddof=1)
        model = mm.SVC(C=1.0, kernel="linear", tol=1e-8).fit((X[rest] - mean) / deviation, CLASS[rest])
        if model.predict((X[[i]] - mean) / deviation)[0] != CLASS[i]:
            wrong.append(i + 1)
    return wrong


@pytest.mark.parametrize(
    ("columns", "n_wrong"), [([0], 0), ([1], 3), ([2], 8), ([0, 1], 0), ([0, 2], 0), ([1, 2], 4)]
)
def test_worked_leave_one_out_errors(columns: list[int], n_wrong: int) -> None:
    wrong = wrong_rows(columns)
    assert len(wrong) == n_wrong
    if columns == [1]:
        assert wrong == [4, 5, 6]


def test_worked_weights() -> None:
    """w and b on standardised columns (sample standard deviation)."""
    X = (TABLE - TABLE.mean(axis=0)) / TABLE.std(axis=0, ddof=1)
    model = mm.SVC(C=1.0, kernel=Linear(), tol=1e-9).fit(X, CLASS)
    np.testing.assert_allclose(model.coef_[0], [1.2989, 0.2853, -0.0407], atol=5e-5)
    assert model.intercept_[0] == pytest.approx(-0.228, abs=5e-4)
    pair = mm.SVC(C=1.0, kernel=Linear(), tol=1e-9).fit(X[:, :2], CLASS)
    np.testing.assert_allclose(pair.coef_[0], [1.3036, 0.2912], atol=5e-5)
