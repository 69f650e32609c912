"""Several targets at once, penalties per target, and LIBLINEAR's intercept."""

from __future__ import annotations

from contextlib import nullcontext

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn import linear_model, svm
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.kernel_ridge import KernelRidge

import maxmargin as mm

SHAPES = {"tall": (40, 6), "wide": (12, 30)}


def table(shape: tuple[int, int], seed: int = 0) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    X = rng.normal(size=shape) + 3.0
    Y = X[:, :3] @ rng.normal(size=(3, 3)) + rng.normal(size=(shape[0], 3))
    return X, Y, rng.uniform(0.0, 2.0, shape[0])


@pytest.mark.parametrize("shape", SHAPES.values(), ids=SHAPES)
@pytest.mark.parametrize("fit_intercept", [True, False])
@pytest.mark.parametrize("sparse", [False, True])
def test_ridge_of_several_targets_is_one_ridge_for_each(shape, fit_intercept, sparse) -> None:
    X, Y, weight = table(shape)
    weight[0] = 0.0
    rows = sp.csr_array(X) if sparse else X
    alphas = [0.1, 1.0, 10.0]
    model = mm.Ridge(alphas=alphas, fit_intercept=fit_intercept).fit(rows, Y, weight)
    singles = [mm.Ridge(alphas=alphas, fit_intercept=fit_intercept).fit(rows, y, weight) for y in Y.T]
    assert model.coef_.shape == (3, shape[1])
    assert model.intercept_.shape == (3,)
    np.testing.assert_array_equal(model.alpha_, [one.alpha_ for one in singles])
    np.testing.assert_allclose(model.coef_, [one.coef_ for one in singles], atol=1e-10)
    np.testing.assert_allclose(model.intercept_, [one.intercept_ for one in singles], atol=1e-10)
    for path, one in zip(model.paths_, singles, strict=True):
        np.testing.assert_allclose(path.loo_residuals, one.path_.loo_residuals, atol=1e-9)
    assert model.certificate_.relative_gap <= 1e-8
    np.testing.assert_allclose(model.predict(rows)[:, 1], singles[1].predict(rows), atol=1e-9)


@pytest.mark.parametrize("shape", SHAPES.values(), ids=SHAPES)
def test_penalties_per_target_agree_with_scikit_learn(shape) -> None:
    X, Y, weight = table(shape)
    alpha = [0.5, 5.0, 0.5]
    ours = mm.Ridge(alpha=alpha).fit(X, Y, weight)
    theirs = linear_model.Ridge(alpha=alpha, solver="cholesky").fit(X, Y, weight)
    np.testing.assert_allclose(ours.coef_, theirs.coef_, atol=1e-9)
    np.testing.assert_allclose(ours.intercept_, theirs.intercept_, atol=1e-8)
    with pytest.raises(ValueError, match="do not correspond: 2 != 3"):
        mm.Ridge(alpha=[1.0, 2.0]).fit(X, Y)
    with pytest.raises(ValueError, match=r"alpha=-1\.0"):
        mm.Ridge(alpha=[1.0, -1.0, 1.0]).fit(X, Y)
    with pytest.raises(ValueError, match="one target"):
        mm.Ridge(solver="sgd").fit(X, Y)


@pytest.mark.parametrize("shape", SHAPES.values(), ids=SHAPES)
@pytest.mark.parametrize("sparse", [False, True])
def test_least_squares_of_several_targets(shape, sparse) -> None:
    X, Y, weight = table(shape)
    rows = sp.csr_array(X) if sparse else X
    model = mm.LeastSquares().fit(rows, Y, weight)
    for k, y in enumerate(Y.T):
        one = mm.LeastSquares().fit(rows, y, weight)
        np.testing.assert_allclose(model.coef_[k], one.coef_, atol=1e-9)
    theirs = linear_model.LinearRegression().fit(X, Y, weight)
    np.testing.assert_allclose(model.predict(rows), theirs.predict(X), atol=1e-6)


def test_linear_svr_of_several_targets() -> None:
    X, Y, _ = table((40, 6))
    model = mm.LinearSVR(tol=1e-8).fit(X, Y)
    singles = [mm.LinearSVR(tol=1e-8).fit(X, y) for y in Y.T]
    np.testing.assert_allclose(model.coef_, [one.coef_ for one in singles], atol=1e-6)
    assert len(model.certificates_) == 3
    assert model.certificate_.relative_gap <= 1e-8


PAIRS = [
    (mm.Ridge(), linear_model.Ridge()),
    (mm.LeastSquares(), linear_model.LinearRegression()),
    (mm.LinearSVR(), svm.LinearSVR(C=0.01, max_iter=10**5)),
    (mm.KernelRidge(kernel="linear"), KernelRidge()),
]


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.DataConversionWarning")  # of LinearSVR, theirs
@pytest.mark.parametrize(("ours", "theirs"), PAIRS, ids=lambda model: type(model).__name__)
@pytest.mark.parametrize("n_targets", [0, 1, 3])
def test_shapes_are_those_of_scikit_learn(ours, theirs, n_targets) -> None:
    """Targets of shape (n,), (n, 1) and (n, 3): even the exceptions of scikit-learn are the same."""
    if n_targets == 3 and isinstance(theirs, svm.LinearSVR):
        pytest.skip("scikit-learn's takes one target")
    X, Y, _ = table((40, 6))
    y = Y[:, :n_targets] if n_targets else Y[:, 0]
    ours, theirs = clone(ours).fit(X, y), clone(theirs).fit(X, y)
    for name in ("coef_", "intercept_", "dual_coef_"):
        assert hasattr(ours, name) == hasattr(theirs, name)
        if hasattr(theirs, name):
            assert getattr(ours, name).shape == getattr(theirs, name).shape, name
    assert ours.predict(X).shape == theirs.predict(X).shape


@pytest.mark.parametrize("alpha", [1.0, [0.1, 1.0, 10.0]])
@pytest.mark.parametrize("weighted", [False, True])
def test_kernel_ridge_of_several_targets_agrees_with_scikit_learn(alpha, weighted) -> None:
    X, Y, weight = table((30, 4))
    w = weight + 0.1 if weighted else None
    ours = mm.KernelRidge(alpha=alpha, gamma=0.1).fit(X, Y, w)
    theirs = KernelRidge(alpha=alpha, kernel="rbf", gamma=0.1).fit(X, Y, w)
    np.testing.assert_allclose(ours.dual_coef_, theirs.dual_coef_, atol=1e-8)
    np.testing.assert_allclose(ours.predict(X[:5]), theirs.predict(X[:5]), atol=1e-8)
    assert len(ours.paths_) == 3
    assert not hasattr(ours, "path_")


def test_kernel_ridge_without_penalty_interpolates() -> None:
    x = np.linspace(0, 3, 8)[:, None]
    model = mm.KernelRidge(alpha=0, gamma=2.0).fit(x, np.sin(x).ravel())
    np.testing.assert_allclose(model.predict(x), np.sin(x).ravel(), atol=1e-7)


def test_kernel_params_reach_a_function_and_nothing_else() -> None:
    X, Y, _ = table((20, 3))

    def scaled(A, B, factor=1.0):
        return factor * (A @ B.T)

    ours = mm.KernelRidge(kernel=scaled, kernel_params={"factor": 2.0}).fit(X, Y[:, 0])
    twice = mm.KernelRidge(kernel=lambda A, B: 2.0 * (A @ B.T)).fit(X, Y[:, 0])
    np.testing.assert_array_equal(ours.predict(X), twice.predict(X))
    with pytest.raises(ValueError, match="kernel_params"):
        mm.KernelRidge(kernel_params={"gamma": 1.0}).fit(X, Y[:, 0])


@pytest.mark.parametrize("scale", [1.0, 10.0])
@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize("options", [{"penalty": "l1", "dual": False}, {"loss": "hinge"}, {}])
def test_a_scaled_intercept_is_that_of_liblinear(scale, sparse, options) -> None:
    rng = np.random.default_rng(1)
    X = rng.normal(size=(60, 4)) + 1.0
    y = (X[:, 0] + 0.5 * rng.normal(size=60) > 1.3).astype(int)
    rows = sp.csr_matrix(X) if sparse else X
    ours = mm.LinearSVC(intercept_scaling=scale, tol=1e-10, **options).fit(rows, y)
    theirs = svm.LinearSVC(
        intercept_scaling=scale, tol=1e-10, max_iter=200_000, random_state=0, **options
    ).fit(rows, y)
    np.testing.assert_allclose(ours.coef_, theirs.coef_, atol=2e-4)
    np.testing.assert_allclose(ours.intercept_, theirs.intercept_, atol=2e-4)


def test_a_scaled_intercept_in_regression_is_that_of_liblinear() -> None:
    X, Y, _ = table((50, 4))
    options = {"loss": "squared_epsilon_insensitive", "epsilon": 0.1, "intercept_scaling": 2.0, "tol": 1e-10}
    ours = mm.LinearSVR(**options).fit(X, Y[:, 0])
    theirs = svm.LinearSVR(dual=False, max_iter=200_000, **options).fit(X, Y[:, 0])
    np.testing.assert_allclose(ours.coef_, theirs.coef_, atol=1e-5)
    np.testing.assert_allclose(ours.intercept_, theirs.intercept_, atol=1e-5)


def test_no_penalty_is_infinite_c() -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(80, 2))
    y = (X[:, 0] + rng.normal(size=80) > 0).astype(int)
    plain, named = mm.LogisticRegression().fit(X, y), mm.LogisticRegression(C=1.0, penalty=None).fit(X, y)
    np.testing.assert_array_equal(plain.coef_, named.coef_)
    assert named.summary().deviance == plain.summary().deviance


def test_a_warm_perceptron_goes_on_where_it_ended() -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 3))
    y = (X @ [1.0, 2.0, -1.0] + 0.3 * rng.normal(size=60) > 0).astype(int)
    options = {"shuffle": False, "tol": None}
    for kind in (mm.Perceptron, mm.PassiveAggressive):
        with pytest.warns(ConvergenceWarning) if kind is mm.Perceptron else nullcontext():
            whole = kind(max_iter=4, **options).fit(X, y)
            halves = kind(max_iter=2, warm_start=True, **options).fit(X, y).fit(X, y)
        np.testing.assert_allclose(halves.coef_, whole.coef_, atol=1e-12)


def test_scikit_learns_loss_is_the_variant() -> None:
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(30, 2)), np.arange(30) % 2
    first = mm.PassiveAggressive(loss="squared_hinge", random_state=0, tol=None, max_iter=3).fit(X, y)
    second = mm.PassiveAggressive(variant="pa2", random_state=0, tol=None, max_iter=3).fit(X, y)
    np.testing.assert_array_equal(first.coef_, second.coef_)
    with pytest.raises(ValueError, match="give one"):
        mm.PassiveAggressive(loss="squared_hinge", variant="pa1").fit(X, y)


@pytest.mark.parametrize("unit", [1e120, 1e112])
@pytest.mark.parametrize("name", ["LeastSquares", "Ridge", "LinearSVR", "LargeSVR", "LargeKernelRidge"])
def test_weighted_squares_that_overflow_are_refused(name: str, unit: float) -> None:
    """Weights and squares are finite each, and their products are not, or those of larger residuals."""
    X, Y, weight = table(SHAPES["tall"])
    model = getattr(mm, name)()
    with pytest.raises(ValueError, match="weighted squares of y are too large"):
        model.fit(X, unit * Y[:, 0], 1e80 * weight)
