"""Least squares, ridge, linear SVR, Fisher's discriminant."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy import sparse
from scipy.stats import linregress, norm
from scipy.stats import t as t_distribution
from sklearn.covariance import ledoit_wolf_shrinkage
from sklearn.datasets import load_diabetes
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LinearRegression
from sklearn.linear_model import Ridge as Reference
from sklearn.svm import SVR

import maxmargin as mm
from maxmargin.problems.loss_penalty import solved
from maxmargin.solvers.least_squares.ridge_path import RidgePath
from tests.real_data import standardised


def _data(n=60, p=4, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, p)) + 3.0
    return X, X @ np.arange(1.0, p + 1) + rng.normal(size=n), rng.uniform(0.5, 2.0, size=n)


@pytest.mark.parametrize("fit_intercept", [True, False])
@pytest.mark.parametrize("as_sparse", [True, False])
def test_least_squares(fit_intercept, as_sparse):
    X, y, weights = _data()
    table = sparse.csr_matrix(X) if as_sparse else X
    model = mm.LeastSquares(fit_intercept=fit_intercept).fit(table, y, sample_weight=weights)
    other = LinearRegression(fit_intercept=fit_intercept).fit(X, y, sample_weight=weights)
    np.testing.assert_allclose(model.coef_, other.coef_, rtol=1e-8)
    assert solved(model.certificate_, 1e-8)


@pytest.mark.parametrize("shape", [(40, 6), (12, 30)])
@pytest.mark.parametrize("fit_intercept", [True, False])
def test_ridge_path_and_brute_force_leave_one_out(shape, fit_intercept):
    X, y, weights = _data(*shape)
    alphas = np.array([0.1, 1.0, 10.0])
    model = mm.Ridge(alphas=alphas, fit_intercept=fit_intercept).fit(X, y, sample_weight=weights)
    for k, alpha in enumerate(alphas):
        other = Reference(alpha=alpha, fit_intercept=fit_intercept, solver="cholesky", tol=1e-12)
        other.fit(X, y, sample_weight=weights)
        np.testing.assert_allclose(model.path_.coef[k], other.coef_, rtol=1e-7, atol=1e-9)
        left_out = []
        for i in range(len(y)):
            rest = np.arange(len(y)) != i
            other.fit(X[rest], y[rest], sample_weight=weights[rest])
            left_out.append(y[i] - other.predict(X[[i]])[0])
        np.testing.assert_allclose(model.path_.loo_residuals[:, k], left_out, rtol=1e-6)
        assert model.path_.loo_mse[k] == pytest.approx(weights @ np.square(left_out) / weights.sum())
    assert model.alpha_ == alphas[np.argmin(model.path_.loo_mse)]
    assert solved(model.certificate_, 1e-8)


def _refitted_without(i, X, y, weights, alpha, fit_intercept):
    """The residual of row i by singular values of the others, which no small alpha disturbs."""
    rest = np.arange(len(y)) != i
    total = weights[rest].sum() if fit_intercept else np.inf
    mean_x, mean_y = weights[rest] @ X[rest] / total, weights[rest] @ y[rest] / total
    root = np.sqrt(weights[rest])
    U, s, V = np.linalg.svd(root[:, None] * (X[rest] - mean_x), full_matrices=False)
    kept = s > 1e-10 * s[0]
    w = V[kept].T @ (s[kept] / (s[kept] ** 2 + alpha) * (U[:, kept].T @ (root * (y[rest] - mean_y))))
    return y[i] - mean_y - (X[i] - mean_x) @ w


@pytest.mark.parametrize("shape", [(12, 40), (9, 8), (8, 8), (7, 8)])
@pytest.mark.parametrize("fit_intercept", [True, False])
def test_leave_one_out_of_few_rows_is_exact_with_any_penalty(shape, fit_intercept):
    """As many columns as rows can follow them: 1 minus the leverage is of the size of alpha."""
    X, y, weights = _data(*shape)
    alphas = np.array([1e-10, 1e-7, 1e-4, 1.0])
    path = mm.Ridge(alphas=alphas, fit_intercept=fit_intercept).fit(X, y, sample_weight=weights).path_
    given = (X, y, weights)
    refitted = [[_refitted_without(i, *given, a, fit_intercept) for a in alphas] for i in range(len(y))]
    np.testing.assert_allclose(path.loo_residuals, refitted, rtol=1e-9)
    np.testing.assert_allclose(path.loo_mse, weights @ np.square(refitted) / weights.sum(), rtol=1e-9)


@pytest.mark.parametrize(
    ("errors", "best"), [([np.nan, 2.0, 3.0], 1), ([np.nan, np.nan, np.nan], 2), ([1.0, np.nan, 1.0], 2)]
)
def test_an_error_that_is_not_known_is_the_largest(errors, best):
    none = np.empty((0, 3))
    path = RidgePath(
        alphas=np.array([0.1, 1.0, 10.0]),
        coef=none,
        intercept=np.zeros(3),
        loo_residuals=none,
        loo_mse=np.array(errors),
    )
    assert path.best == best


@pytest.mark.parametrize("alpha", [0.0, 1.0])
@pytest.mark.parametrize("as_sparse", [True, False])
def test_ridge_leaves_out_rows_that_count_only(alpha, as_sparse):
    """A row of weight zero has no residual, and the others are what they are without it."""
    X, y, weights = _data(30, 4)
    weights[[2, 11]] = 0.0
    kept = weights > 0
    table = sparse.csr_matrix(X) if as_sparse else X
    model = mm.Ridge(alpha).fit(table, y, weights)
    other = mm.Ridge(alpha).fit(table[kept], y[kept], weights[kept])
    assert np.isnan(model.path_.loo_residuals[~kept]).all()
    np.testing.assert_allclose(model.path_.loo_residuals[kept], other.path_.loo_residuals, rtol=1e-8)
    np.testing.assert_allclose(model.path_.loo_mse, other.path_.loo_mse, rtol=1e-8)


def test_ridge_sparse_is_dense():
    X, y, weights = _data()
    dense, thin = mm.Ridge(2.0).fit(X, y, weights), mm.Ridge(2.0).fit(sparse.csr_matrix(X), y, weights)
    np.testing.assert_allclose(thin.coef_, dense.coef_, rtol=1e-9)
    np.testing.assert_allclose(thin.path_.loo_mse, dense.path_.loo_mse)


def test_ridge_by_stochastic_gradients_comes_close():
    X, y, _ = _data(n=400)
    closed = mm.Ridge(4.0).fit(X - 3.0, y)
    with pytest.warns(ConvergenceWarning, match="not tol=1e-15"):  # all passes are meant
        descended = mm.Ridge(4.0, solver="sgd", max_iter=200, tol=1e-15, random_state=0).fit(X - 3.0, y)
    assert descended.history_["pass"].tolist() == list(range(1, 201))
    # the first pass starts from 0, and the last ones are at the optimum: half its mean squared residual
    assert descended.history_["loss"].iloc[0] > descended.history_["loss"].iloc[-1]
    residuals = y - descended.predict(X - 3.0)
    assert descended.history_["loss"].iloc[-1] == pytest.approx(0.5 * np.mean(residuals**2), rel=0.1)
    assert descended.certificate_.primal <= 1.01 * closed.certificate_.primal
    np.testing.assert_allclose(descended.coef_, closed.coef_, atol=0.1)


@pytest.mark.parametrize("kind", ["all two", "unequal", "some zero", "one heavy"])
def test_ridge_by_stochastic_gradients_with_weights(kind):
    X, y, weights = _data(n=200)
    weights = {
        "all two": np.full(200, 2.0),
        "unequal": weights,
        "some zero": weights * (np.arange(200) % 3 > 0),
        "one heavy": np.where(np.arange(200) == 7, 50.0, 1.0),
    }[kind]
    closed = mm.Ridge(20.0).fit(X - 3.0, y, weights)
    descended = mm.Ridge(20.0, solver="sgd", max_iter=500, random_state=0).fit(X - 3.0, y, weights)
    assert descended.certificate_.primal <= 1.001 * closed.certificate_.primal


@pytest.mark.parametrize("fit_intercept", [True, False])
def test_least_squares_of_a_wide_sparse_table(fit_intercept):
    """More columns than rows: the shortest of the solutions, from products of rows."""
    rng = np.random.default_rng(0)
    X = sparse.random(20, 2000, density=0.05, random_state=0, format="csr")
    y, weights = rng.normal(size=20), rng.uniform(0.0, 2.0, size=20) * (np.arange(20) > 2)
    thin = mm.LeastSquares(fit_intercept=fit_intercept).fit(X, y, weights)
    dense = mm.LeastSquares(fit_intercept=fit_intercept).fit(X.toarray(), y, weights)
    assert thin.rank_ == dense.rank_ == 17 - fit_intercept
    np.testing.assert_allclose(thin.coef_, dense.coef_, atol=1e-12)
    np.testing.assert_allclose(thin.predict(X)[3:], y[3:], atol=1e-10)


def test_least_squares_of_wide_sparse_float32_columns():
    """Products of these rows overflow in float32, and have few digits in it."""
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(6, 20)), rng.normal(size=6)
    for unit in (1.0, 1e30):
        table = sparse.csr_matrix((X * unit).astype(np.float32))
        model = mm.LeastSquares().fit(table, y)
        expected = LinearRegression().fit(table.toarray().astype(np.float64), y)
        np.testing.assert_allclose(model.coef_, expected.coef_, rtol=1e-5)
        assert model.certificate_.primal < 1e-9


@pytest.mark.parametrize("options", [{"alpha": -1.0}, {"alphas": [0.0, 1.0]}, {"solver": "qr"}])
def test_ridge_errors(options):
    X, y, _ = _data()
    with pytest.raises(ValueError, match=r"must be|unknown"):
        mm.Ridge(**options).fit(X, y)


@pytest.mark.parametrize("solver", ["augmented", "dual_coordinate"])
def test_svr_is_the_kernel_svr_with_a_linear_kernel(solver):
    X, y, _ = _data()
    model = mm.LinearSVR(0.5, epsilon=0.2, solver=solver, tol=1e-7, max_iter=100_000).fit(X - 3.0, y)
    other = SVR(C=0.5, epsilon=0.2, kernel="linear", tol=1e-8).fit(X - 3.0, y)
    np.testing.assert_allclose(model.coef_, other.coef_.ravel(), atol=5e-3)
    assert solved(model.certificate_, 1e-7)


@pytest.mark.parametrize("loss", ["epsilon_insensitive", "squared_epsilon_insensitive"])
@pytest.mark.parametrize("penalty", ["l2", "l1", "l1l2", "none"])
def test_svr_certificates(loss, penalty):
    X, y, weights = _data()
    model = mm.LinearSVR(loss=loss, penalty=penalty, sparsity=3.0, tol=1e-5).fit(X, y, sample_weight=weights)
    assert solved(model.certificate_, 1e-5)


@pytest.mark.parametrize("method", ["eigen", "canonical"])
def test_fisher_axes_are_those_of_scikit_learn(method):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(90, 4)) + np.repeat([[0, 0, 0, 0], [2, 1, 0, 0], [0, 2, 2, 0]], 30, axis=0)
    y = np.repeat(["a", "b", "c"], 30)
    model = mm.FisherDiscriminant(method=method).fit(X, y)
    other = LinearDiscriminantAnalysis(solver="eigen").fit(X, y)
    ours, theirs = model.transform(X), other.transform(X)[:, :2]
    for k in range(2):
        assert abs(np.corrcoef(ours[:, k], theirs[:, k])[0, 1]) == pytest.approx(1.0, abs=1e-9)
    inside = ours - model.centroids_[np.searchsorted(model.classes_, y)]
    np.testing.assert_allclose(inside.T @ inside / (90 - 3), np.eye(2), atol=1e-9)
    np.testing.assert_array_equal(model.predict(X), other.predict(X))


def test_fisher_cut_point_of_two_classes():
    rng = np.random.default_rng(1)
    X = np.vstack([rng.normal(size=(20, 3)) + 2.0, rng.normal(size=(35, 3))])
    model = mm.FisherDiscriminant().fit(X, np.repeat(["first", "second"], [20, 35]))
    low, high = model.centroids_[:, 0]
    assert low < high
    assert model.cut_points_[0] == pytest.approx((low + high) / 2)
    np.testing.assert_array_equal(
        model.predict(X) == "second", model.transform(X)[:, 0] > model.cut_points_[0]
    )


def test_fisher_shrinkage_repairs_a_singular_scatter():
    rng = np.random.default_rng(2)
    X = rng.normal(size=(10, 30)) + np.repeat([[0.0], [1.0]], 5, axis=0)
    y = np.repeat([0, 1], 5)
    with pytest.warns(UserWarning, match="singular"):
        mm.FisherDiscriminant().fit(X, y)
    assert mm.FisherDiscriminant(shrinkage="auto").fit(X, y).score(X, y) == 1.0


def test_fisher_needs_fourth_powers_for_automatic_shrinkage_only():
    X, y = np.random.default_rng(0).normal(size=(40, 3)) * 1e90, np.repeat([0, 1], 20)
    assert np.isfinite(mm.FisherDiscriminant(shrinkage=0.1).fit(X, y).axes_).all()
    for rows in (X, sparse.csr_matrix(X)):
        with pytest.raises(ValueError, match=r"fourth powers of X.*shrinkage='auto'.*scale its columns"):
            mm.FisherDiscriminant(shrinkage="auto").fit(rows, y)


def test_fisher_on_sparse_columns_that_are_constant_inside_classes():
    """Sums of squares minus squares of sums leave rounding of either sign, which is no scatter."""
    rng = np.random.default_rng(0)
    y = np.repeat([0, 1], 9)
    X = np.column_stack([rng.normal(size=18), np.where(y == 0, 0.1, 1e5 / 3)])
    with pytest.warns(UserWarning, match="1 directions have none"):
        dense = mm.FisherDiscriminant().fit(X, y)
    with pytest.warns(UserWarning, match="1 directions have none"):
        thin = mm.FisherDiscriminant().fit(sparse.csr_matrix(X), y)
    np.testing.assert_allclose(thin.axes_, dense.axes_, rtol=1e-6)


def test_fisher_eigenvalues_are_those_of_the_scatters():
    """W^-1 F v = lambda v, with the sums of squares inside and between the classes."""
    rng = np.random.default_rng(3)
    y = np.repeat([0, 1, 2], [20, 30, 25])
    X = rng.normal(size=(75, 4)) + np.array([[0, 0, 0, 0], [2, 1, 0, 0], [0, 2, 2, 0]])[y]
    means = np.array([X[y == k].mean(axis=0) for k in range(3)])
    W = (X - means[y]).T @ (X - means[y])
    F = (means[y] - X.mean(axis=0)).T @ (means[y] - X.mean(axis=0))
    model = mm.FisherDiscriminant().fit(X, y)
    np.testing.assert_allclose(
        np.linalg.solve(W, F) @ model.axes_, model.axes_ * model.eigenvalues_, atol=1e-12
    )
    ratios = np.sum(model.axes_ * (F @ model.axes_), axis=0) / np.sum(model.axes_ * (W @ model.axes_), axis=0)
    np.testing.assert_allclose(model.eigenvalues_, ratios, rtol=1e-9)


@pytest.mark.parametrize("shrinkage", [None, 0.3, "auto"])
def test_fisher_weight_two_is_a_row_twice(shrinkage):
    rng = np.random.default_rng(4)
    X, y = rng.normal(size=(40, 6)), np.arange(40) % 3
    weights = rng.integers(0, 4, size=40).astype(float)
    rows = np.repeat(np.arange(40), weights.astype(int))
    model = mm.FisherDiscriminant(shrinkage=shrinkage).fit(X, y, weights)
    other = mm.FisherDiscriminant(shrinkage=shrinkage).fit(X[rows], y[rows])
    np.testing.assert_allclose(model.axes_, other.axes_, atol=1e-10)
    if shrinkage == "auto":
        inside = X[rows] - np.array([X[rows][y[rows] == k].mean(axis=0) for k in range(3)])[y[rows]]
        assert other.shrinkage_ == pytest.approx(ledoit_wolf_shrinkage(inside), rel=1e-10)
        assert 0 < other.shrinkage_ < 1


def test_fisher_needs_some_scatter():
    with pytest.raises(ValueError, match="all equal, so the within-class scatter is zero"):
        mm.FisherDiscriminant().fit([[0.0, 1.0], [0.0, 1.0], [1.0, 0.0]], [0, 0, 1])
    with pytest.raises(ValueError, match="or the squares of their differences are too small"):
        mm.FisherDiscriminant().fit(1e-200 * np.arange(8.0).reshape(4, 2) ** 2, [0, 0, 1, 1])


def test_a_new_fit_forgets_what_the_other_solver_reported():
    X, y = np.array([[0.0], [1.0], [2.0], [3.0]]), np.array([0.1, 0.9, 2.2, 2.8])
    model = mm.Ridge().fit(X, y)
    assert hasattr(model, "path_")
    model.set_params(solver="sgd", random_state=0).fit(X, y)
    assert hasattr(model, "history_")
    assert not hasattr(model, "path_")


def test_squares_that_overflow_are_named():
    with pytest.raises(ValueError, match="squares of X are too large"):
        mm.Ridge().fit([[1e300], [-1e300], [2e299]], [1.0, 2.0, 3.0])


@pytest.mark.parametrize("model", [mm.LeastSquares(), mm.Ridge()], ids=str)
def test_squares_of_the_target_that_overflow_are_named(model):
    X, y, _ = _data()
    with pytest.raises(ValueError, match="squares of y are too large"):
        model.fit(X, y * 1e200)


def test_nothing_to_learn_from_one_row_of_weight():
    model = mm.Ridge(0.0).fit([[1.0], [2.0]], [3.0, 5.0], sample_weight=[1.0, 0.0])
    assert model.predict([[7.0]]) == pytest.approx([3.0])


@pytest.mark.parametrize("make", [mm.Ridge, mm.LeastSquares], ids=lambda make: make.__name__)
@pytest.mark.parametrize("average", [True, False])
@pytest.mark.parametrize("name", ["diabetes", "california_housing"])
def test_stochastic_gradients_come_within_a_percent_of_the_closed_form(make, average, name):
    """With default settings on standardised columns; a constant step was 20 % off."""
    if name == "diabetes":
        X, y = load_diabetes(return_X_y=True)
        X = (X - X.mean(axis=0)) / X.std(axis=0)
    else:
        X, y = standardised(name)
    exact = make().fit(X, y)
    model = make(solver="sgd", average=average, random_state=0).fit(X, y)  # warnings are errors
    assert model.certificate_.primal <= 1.001 * exact.certificate_.primal
    assert model.certificate_.relative_gap <= model.tol
    assert model.certificate_.dual == pytest.approx(exact.certificate_.primal, rel=1e-6)  # the gap is exact
    assert model.n_iter_ == len(model.history_)
    if average:  # a gap of 0.1 % left 27 % in the coefficients and 2 % in the predictions
        assert np.linalg.norm(model.coef_ - exact.coef_) <= 0.01 * np.linalg.norm(exact.coef_)
        assert np.std(model.predict(X) - exact.predict(X)) <= 0.001 * np.std(y)


def test_stochastic_gradients_warn_where_the_tolerance_is_missed():
    X, y = load_diabetes(return_X_y=True)
    with pytest.warns(ConvergenceWarning, match=r"Ridge reached .* not tol=1e-09: raise max_iter=7"):
        model = mm.Ridge(solver="sgd", max_iter=7, tol=1e-9, random_state=0).fit(X, y)
    assert model.n_iter_ == 7
    for name, value in (("average", 1), ("trace", "yes"), ("tol", 0), ("eta0", -1.0), ("solver", "newton")):
        with pytest.raises(ValueError, match=f"^{name}="):
            mm.LeastSquares(solver="sgd").set_params(**{name: value}).fit(X, y)


def test_the_trace_of_stochastic_gradients():
    X, y = load_diabetes(return_X_y=True)
    X = (X - X.mean(axis=0)) / X.std(axis=0)
    model = mm.Ridge(solver="sgd", average=False, trace=True, tol=0.1, random_state=0).fit(X, y)
    assert len(model.trace_) == 442 * model.n_iter_
    theta = mm.replay(model.trace_, X)[0]
    np.testing.assert_allclose(theta, np.append(model.coef_, model.intercept_), rtol=1e-8)
    steps = model.trace_["keep"].groupby(model.trace_["pass"]).first()
    assert (np.diff(1.0 - steps) < 0).all()  # the steps decay from pass to pass


@pytest.mark.parametrize("method", ["eigen", "canonical"])
@pytest.mark.parametrize("shrinkage", [None, 0.2])
def test_fishers_certificate_is_the_residual_of_the_eigenproblem(method, shrinkage):
    rng = np.random.default_rng(0)
    y = rng.integers(0, 4, 200)
    X = rng.normal(size=(200, 5)) * [1.0, 1e3, 1e-3, 1.0, 1.0] + np.arange(4)[y][:, None]
    model = mm.FisherDiscriminant(method=method, shrinkage=shrinkage).fit(X, y)
    assert model.certificate_.kkt < 1e-9
    assert model.certificate_.infeasibility < 1e-9
    means = np.array([X[y == k].mean(axis=0) for k in range(4)])
    W = sum((X[y == k] - means[k]).T @ (X[y == k] - means[k]) for k in range(4))
    W = W if shrinkage is None else 0.8 * W + 0.2 * np.trace(W) / 5 * np.eye(5)
    F = sum(np.sum(y == k) * np.outer(means[k] - X.mean(axis=0), means[k] - X.mean(axis=0)) for k in range(4))
    images = F @ model.axes_ - W @ model.axes_ * model.eigenvalues_
    assert np.abs(images).max() <= 1e-8 * np.abs(F @ model.axes_).max()


# -- summaries and priors ----------------------------------------------------------------------------


def test_summary_agrees_with_a_line_by_scipy() -> None:
    rng = np.random.default_rng(3)
    x = rng.normal(2020.0, 4.0, 60)
    y = 3.0 - 0.5 * x + rng.normal(size=60)
    line = linregress(x, y)
    found = mm.LeastSquares().fit(x[:, None], y).summary()
    slope, constant = found.table.iloc[0], found.table.iloc[1]
    assert slope["coef"] == pytest.approx(line.slope, rel=1e-9)
    assert slope["std_err"] == pytest.approx(line.stderr, rel=1e-9)
    assert slope["p_value"] == pytest.approx(line.pvalue, rel=1e-7)
    assert constant["std_err"] == pytest.approx(line.intercept_stderr, rel=1e-9)
    assert found.r2 == pytest.approx(line.rvalue**2, rel=1e-9)
    assert found.f == pytest.approx(slope["t"] ** 2, rel=1e-9)  # of one variable
    assert found.f_p_value == pytest.approx(line.pvalue, rel=1e-7)
    half = t_distribution.ppf(0.975, 58) * line.stderr
    assert slope[["low", "high"]].tolist() == pytest.approx([line.slope - half, line.slope + half])
    normal = norm.logpdf(y, line.intercept + line.slope * x, np.sqrt(found.residual_sum / 60)).sum()
    assert found.log_likelihood == pytest.approx(normal, rel=1e-9)
    assert max(map(len, str(found).splitlines())) <= 80


def test_summary_counts_a_weight_of_two_as_a_row_twice() -> None:
    rng = np.random.default_rng(4)
    X, y = rng.normal(size=(25, 3)), rng.normal(size=25)
    weights = rng.integers(1, 4, 25)
    weighted = mm.LeastSquares().fit(X, y, sample_weight=weights).summary()
    repeated = mm.LeastSquares().fit(np.repeat(X, weights, axis=0), np.repeat(y, weights)).summary()
    np.testing.assert_allclose(weighted.table, repeated.table, rtol=1e-9)
    assert weighted.aic == pytest.approx(repeated.aic)


def test_summary_of_dependent_columns_and_of_sgd() -> None:
    rng = np.random.default_rng(5)
    X = rng.normal(size=(30, 2))
    found = mm.LeastSquares().fit(np.column_stack([X, X[:, 0]]), rng.normal(size=30)).summary()
    assert found.table["std_err"].isna().tolist()[:3] == [True, False, True]
    assert found.rank == 3
    with pytest.raises(ValueError, match="closed"):
        mm.LeastSquares(solver="sgd", random_state=0, tol=0.5).fit(X, X[:, 0]).summary()


@pytest.mark.parametrize("priors", [None, [0.7, 0.2, 0.1], "training"])
@pytest.mark.parametrize("n_classes", [2, 3])
def test_priors_give_the_decisions_of_linear_discriminant_analysis(priors: Any, n_classes: int) -> None:
    rng = np.random.default_rng(6)
    y = rng.choice(n_classes, 120, p=[0.6, 0.4] if n_classes == 2 else [0.5, 0.3, 0.2])
    X = rng.normal(size=(120, 3)) + 0.8 * y[:, None] * [1.0, -1.0, 0.0]
    shares = priors[:n_classes] / np.sum(priors[:n_classes]) if isinstance(priors, list) else priors
    other = np.full(n_classes, 1 / n_classes) if priors is None else None if priors == "training" else shares
    peer = LinearDiscriminantAnalysis(priors=other).fit(X, y)
    model = mm.FisherDiscriminant(priors=shares).fit(X, y)
    np.testing.assert_array_equal(model.predict(X), peer.predict(X))


@pytest.mark.parametrize("priors", [[0.5], [1.0, -1.0], [np.nan, 1.0], "equal", {0: 0.5, 1: 0.5}])
def test_impossible_priors_are_refused(priors: Any) -> None:
    X, y = [[0.0], [1.0], [3.0], [4.0]], [0, 0, 1, 1]
    with pytest.raises(ValueError, match="priors"):
        mm.FisherDiscriminant(priors=priors).fit(X, y)
