"""LogisticRegression: certificates, statistics, separation."""

from __future__ import annotations

import warnings

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from scipy.optimize import linprog, nnls
from sklearn.base import clone
from sklearn.datasets import load_iris
from sklearn.ensemble import StackingClassifier
from sklearn.exceptions import ConvergenceWarning
from sklearn.feature_selection import SelectFromModel
from sklearn.linear_model import LogisticRegression as Reference

import maxmargin as mm
from maxmargin.machines.linear.logistic import SeparationWarning
from maxmargin.problems.loss_penalty import solved
from maxmargin.solvers.primal import multinomial_newton as primal_multinomial
from tests.real_data import standardised


def _data(n=300, p=4, classes=2, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, p))
    latent = X @ np.linspace(1, -1, p) + rng.logistic(size=n)
    return X, np.digitize(latent, np.quantile(latent, np.arange(1, classes) / classes))


@pytest.mark.parametrize("C", [np.inf, 10.0, 1e-2])
@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize("fit_intercept", [True, False])
def test_same_model_as_scikit_learn(C, classes, fit_intercept):
    X, y = _data(classes=classes)
    model = mm.LogisticRegression(C=C, fit_intercept=fit_intercept).fit(X, y)
    assert solved(model.certificate_, 1e-10)
    other = Reference(C=C, fit_intercept=fit_intercept, tol=1e-10, max_iter=5000).fit(X, y)
    np.testing.assert_allclose(model.predict_proba(X), other.predict_proba(X), atol=2e-5)
    np.testing.assert_array_equal(model.classes_, other.classes_)


def test_select_from_model_reads_its_parameters():
    """SelectFromModel looks at ``l1_ratio`` to choose its threshold."""
    X, y = load_iris(return_X_y=True)
    kinds = (mm.LogisticRegression, Reference)
    ours, theirs = (SelectFromModel(model(C=1.0, max_iter=1000)).fit(X, y) for model in kinds)
    np.testing.assert_array_equal(ours.get_support(), theirs.get_support())


def test_sparse_float32_and_dense_agree():
    X, y = _data()
    X = X.astype(np.float32) * (np.random.default_rng(1).random(X.shape) < 0.4)
    dense = mm.LogisticRegression(C=3.0).fit(X, y)
    thin = mm.LogisticRegression(C=3.0).fit(sparse.csr_matrix(X), y)
    wide = mm.LogisticRegression(C=3.0).fit(X.astype(np.float64), y)
    np.testing.assert_allclose(thin.coef_, dense.coef_, rtol=1e-10)
    np.testing.assert_allclose(wide.coef_, dense.coef_, rtol=1e-10)


def test_many_columns_use_products():
    rng = np.random.default_rng(0)
    X = sparse.random(120, 1600, density=0.02, format="csr", random_state=0)
    y = rng.integers(0, 2, size=120)
    model = mm.LogisticRegression(C=1.0, tol=1e-7).fit(X, y)
    assert solved(model.certificate_, 1e-7)


def test_weight_two_is_a_row_twice():
    X, y = _data(n=80)
    weights = np.where(np.arange(80) < 30, 2.0, 1.0)
    once = mm.LogisticRegression().fit(X, y, sample_weight=weights).summary()
    twice = mm.LogisticRegression().fit(np.vstack([X, X[:30]]), np.append(y, y[:30])).summary()
    pd.testing.assert_frame_equal(once.table, twice.table, rtol=1e-7)
    assert once.aic == pytest.approx(twice.aic)


@pytest.mark.parametrize("classes", [2, 3])
def test_summary_against_numeric_information(classes):
    """Standard errors from a Hessian of the log-likelihood by differences of its gradient."""
    X, y = _data(n=150, p=2, classes=classes)
    model = mm.LogisticRegression().fit(X, y)
    ones = np.column_stack([X, np.ones(len(X))])
    K = 1 if classes == 2 else classes - 1

    def gradient(flat):
        scores = np.column_stack([np.zeros(len(X)), ones @ flat.reshape(K, 3).T])
        scores = np.exp(scores - scores.max(axis=1, keepdims=True))
        miss = scores / scores.sum(axis=1, keepdims=True) - (y[:, None] == np.arange(K + 1))
        return (ones.T @ miss[:, 1:]).T.ravel()

    summary = model.summary(level=0.9)
    at = summary.table["coef"].to_numpy()
    h = 1e-5
    H = np.array([(gradient(at + h * e) - gradient(at - h * e)) / (2 * h) for e in np.eye(len(at))])
    np.testing.assert_allclose(gradient(at), 0, atol=1e-7)
    np.testing.assert_allclose(summary.table["std_err"], np.sqrt(np.diag(np.linalg.inv(H))), rtol=1e-6)
    # half width of a 90 % interval: 1.6448536 is the normal quantile of 0.95
    np.testing.assert_allclose(
        summary.table["high"] - summary.table["coef"], 1.6448536269514722 * summary.table["std_err"]
    )
    probability = model.predict_proba(X)[np.arange(len(X)), y]
    assert summary.log_likelihood == pytest.approx(np.log(probability).sum())
    assert summary.aic == pytest.approx(-2 * np.log(probability).sum() + 2 * len(at))
    counts = np.bincount(y)
    assert summary.null_log_likelihood == pytest.approx(counts @ np.log(counts / counts.sum()))


@pytest.mark.parametrize("estimator", [mm.LogisticRegression(C=1.0), mm.LinearSVC(tol=1e-9)], ids=str)
def test_balanced_classes_count_the_weights(estimator):
    """A weight of two is a row twice, and so it is to scikit-learn's linear models."""
    X, y = _data(n=90, classes=3)
    weights = np.random.default_rng(1).integers(0, 4, size=90).astype(float)
    rows = np.repeat(np.arange(90), weights.astype(int))
    model = clone(estimator).set_params(class_weight="balanced")
    light, often = clone(model).fit(X, y, weights), clone(model).fit(X[rows], y[rows])
    np.testing.assert_allclose(light.coef_, often.coef_, atol=1e-6)
    if isinstance(estimator, mm.LogisticRegression):
        other = Reference(C=1.0, class_weight="balanced", tol=1e-10, max_iter=5000).fit(X, y, weights)
        np.testing.assert_allclose(light.predict_proba(X), other.predict_proba(X), atol=2e-5)


@pytest.mark.parametrize("classes", [2, 3])
def test_units_of_the_columns_do_not_change_the_statistics(classes):
    X, y = _data(classes=classes)
    plain = mm.LogisticRegression().fit(X, y).summary()
    other = mm.LogisticRegression().fit(X * [1e-9, 1.0, 1e9, 1e3], y).summary()
    assert other.rank == plain.rank == 5 * (classes - 1)
    assert other.aic == pytest.approx(plain.aic)
    np.testing.assert_allclose(other.table["z"], plain.table["z"], rtol=1e-6)


def test_one_binary_column_has_the_log_odds_ratio():
    """2 x 2 table 30 10 / 20 40: coefficient log(30*40/(10*20)), variance 1/30 + 1/10 + 1/20 + 1/40."""
    x = np.repeat([0.0, 0.0, 1.0, 1.0], [30, 10, 20, 40])[:, None]
    y = np.repeat([0, 1, 0, 1], [30, 10, 20, 40])
    row = mm.LogisticRegression().fit(pd.DataFrame(x, columns=["dose"]), y).summary().table.loc["dose"]
    assert row["odds_ratio"] == pytest.approx(6.0)
    assert row["std_err"] == pytest.approx(np.sqrt(1 / 30 + 1 / 10 + 1 / 20 + 1 / 40))


def test_a_large_table_starts_from_a_sample():
    """16 000 rows are enough for a nested start; zero weights must not confuse it."""
    X, y = _data(n=16_500, p=3)
    weights = np.ones(len(y))
    weights[:300] = 0.0
    model = mm.LogisticRegression().fit(X, y, sample_weight=weights)
    rest = mm.LogisticRegression().fit(X[300:], y[300:])
    np.testing.assert_allclose(model.coef_, rest.coef_, rtol=1e-8)
    assert solved(model.certificate_, 1e-10)


def test_complete_separation_is_reported():
    frame = pd.DataFrame({"a": [1.0, 2, 3, 4, 5, 6], "b": [1.0, 0, 1, 0, 1, 0]})
    with pytest.warns(SeparationWarning, match="complete separation"):
        model = mm.LogisticRegression().fit(frame, [0, 0, 0, 1, 1, 1])
    assert model.separation_.kind == "complete"
    assert np.isnan(model.summary().table.loc["a", "std_err"])
    assert any("separation" in note for note in model.summary().notes)


def test_quasi_complete_separation_names_the_column():
    rng = np.random.default_rng(0)
    noise = rng.normal(size=60)
    flag = (np.arange(60) < 10).astype(float)
    y = (rng.random(60) < 0.5).astype(int)
    y[:10] = 1
    with pytest.warns(SeparationWarning, match="quasi-complete separation of the classes along flag"):
        model = mm.LogisticRegression().fit(pd.DataFrame({"noise": noise, "flag": flag}), y)
    table = model.summary().table
    assert np.isnan(table.loc["flag", "std_err"])
    assert np.isfinite(table.loc["noise", "std_err"])


@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize("tol", [1e-2, 1e-3, 1e-6])
def test_a_rough_fit_looks_for_separation_too(classes, tol):
    """It stops before the separated rows have a large margin."""
    X, y = _data(n=400, classes=classes)
    flag = (np.arange(400) < 5).astype(float)
    y[:5] = classes - 1
    with pytest.warns(SeparationWarning, match="along x4:"):
        model = mm.LogisticRegression(tol=tol).fit(np.column_stack([X, flag]), y)
    notes = model.summary().notes
    assert len(notes) == 1
    assert "separation" in notes[0]


def test_penalised_fit_of_separated_classes_has_an_optimum():
    model = mm.LogisticRegression(C=1.0).fit([[0.0], [1.0]], [0, 1])
    assert model.separation_ is None
    assert solved(model.certificate_, 1e-10)


def _angle(v, w):
    """Degrees between two vectors."""
    return np.degrees(np.arccos(np.clip(v @ w / np.linalg.norm(v) / np.linalg.norm(w), -1, 1)))


def _is_shortest(A, v, penalised):
    """Whether v is the shortest with A v >= 1: it is a sum of the rows that hold it, with weights >= 0."""
    gains = A @ v
    holding = A[gains <= 1.0 + 1e-6]
    unit = np.abs(holding).max(axis=0)
    _, rest = nnls((holding / unit).T, penalised * v / unit, maxiter=10_000)
    return gains.min() > 1.0 - 1e-9 and rest <= 1e-5 * np.linalg.norm(penalised * v / unit)


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("as_sparse", [False, True])
def test_separated_classes_get_the_direction_of_the_widest_margin(seed, as_sparse):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(60, 5)) * [1, 1, 0.1, 3, 1] + [0, 100, 0, 0, 0]
    y = (X - X.mean(axis=0)) @ rng.normal(size=5) > 0.2
    with pytest.warns(SeparationWarning, match=r"complete .* the limit of the penalised models"):
        model = mm.LogisticRegression().fit(sparse.csr_matrix(X) if as_sparse else X, y)
    signs = np.where(y, 1.0, -1.0)
    assert model.separation_.is_limit
    A = signs[:, None] * np.column_stack([X, np.ones(60)])
    assert _is_shortest(A, model.separation_.direction, np.append(np.ones(5), 0.0))
    assert _angle(model.coef_[0], model.separation_.direction[:-1]) < 1e-5
    margins = signs * model.decision_function(X)
    assert np.log1p(np.exp(-margins)).max() == pytest.approx(1e-10, rel=1e-3)  # as far as tol asks


@pytest.mark.parametrize("shape", [(60, 5), (6, 20)])
@pytest.mark.parametrize("as_sparse", [False, True])
def test_the_widest_margin_through_the_origin(shape, as_sparse):
    """Without an intercept dense rows had a bare error, and no such fit had a summary."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=shape) + 1.0
    y = X @ rng.normal(size=shape[1]) > 0
    with pytest.warns(SeparationWarning, match=r"complete .* the limit of the penalised models"):
        model = mm.LogisticRegression(fit_intercept=False).fit(sparse.csr_matrix(X) if as_sparse else X, y)
    assert model.intercept_[0] == 0.0
    v = model.separation_.direction[:-1]
    assert _is_shortest(np.where(y, 1.0, -1.0)[:, None] * X, v, np.ones(shape[1]))
    assert np.isinf(model.summary().table["coef"]).all()


def test_summary_without_an_intercept():
    rng = np.random.default_rng(1)
    X = rng.normal(size=(200, 2))
    y = X[:, 0] + rng.normal(size=200) > 0
    model = mm.LogisticRegression(fit_intercept=False).fit(X, y)
    p = 1.0 / (1.0 + np.exp(-X @ model.coef_[0]))
    errors = np.sqrt(np.diag(np.linalg.inv((X.T * (p * (1.0 - p))) @ X)))
    np.testing.assert_allclose(model.summary().table["std_err"], errors, rtol=1e-6)


def test_every_other_row_of_sonar_predicts_as_well_as_a_large_c():
    X, y = standardised("sonar")
    X, y = X[::2], y[::2]
    with pytest.warns(SeparationWarning):
        model = mm.LogisticRegression().fit(X, y)
    assert model.summary().rank == 61  # the rows on the margin alone would have 50
    near = mm.LogisticRegression(C=1e8).fit(X, y)
    assert _angle(model.coef_[0], near.coef_[0]) < 3.0  # it was 65 degrees
    nearer = mm.LogisticRegression(C=1e12, max_iter=1000).fit(X, y)
    assert _angle(model.coef_[0], nearer.coef_[0]) < _angle(model.coef_[0], near.coef_[0])


def test_a_separated_table_has_no_finite_estimate():
    frame = pd.DataFrame({"a": [1.0, 2, 3, 4, 5, 6], "b": [1.0, 0, 1, 0, 1, 0]})
    with pytest.warns(SeparationWarning):
        summary = mm.LogisticRegression().fit(frame, [0, 0, 0, 1, 1, 1]).summary()
    table = summary.table
    assert summary.rank == 3  # also where few rows are near the plane
    assert not np.isfinite(table.drop(columns=["odds_ratio"])).to_numpy().any()
    assert table.loc["a", "coef"] == np.inf
    assert table.loc["a", "odds_ratio"] == np.inf
    assert table.loc["intercept", "odds_ratio"] == 0.0


def test_quasi_complete_separation_keeps_the_estimates_of_the_other_columns():
    """Rows with the flag drop out of the likelihood in the limit; the rest is a model of its own."""
    rng = np.random.default_rng(0)
    noise, flag = rng.normal(size=60), (np.arange(60) < 10).astype(float)
    y = (rng.random(60) < 0.5).astype(int)
    y[:10] = 1
    frame = pd.DataFrame({"noise": noise, "flag": flag})
    with pytest.warns(SeparationWarning, match="quasi-complete"):
        model = mm.LogisticRegression().fit(frame, y)
    rest = mm.LogisticRegression().fit(frame[["noise"]][10:], y[10:]).summary().table
    table = model.summary().table
    np.testing.assert_allclose(table.loc[["noise"]], rest.loc[["noise"]], rtol=1e-5)
    assert table.loc["flag", "coef"] == np.inf
    assert model.summary().log_likelihood == pytest.approx(
        mm.LogisticRegression().fit(frame[["noise"]][10:], y[10:]).summary().log_likelihood
    )


def test_three_separated_classes_get_the_widest_margin():
    rng = np.random.default_rng(0)
    y = np.arange(60) % 3
    X = rng.normal(size=(60, 2)) + 8.0 * np.array([[0, 0], [1, 0], [0, 1]])[y]
    with pytest.warns(SeparationWarning, match="limit of the penalised"):
        model = mm.LogisticRegression().fit(X, y)
    ones = np.column_stack([X, np.ones(60)])
    A = [np.kron(np.eye(3)[y[i]] - np.eye(3)[k], ones[i]) for i in range(60) for k in range(3) if k != y[i]]
    v = model.separation_.direction
    v = v - np.append(v[:, :-1].mean(axis=0), 0.0)  # the shortest of the equal models
    assert _is_shortest(np.array(A), v.ravel(), np.tile([1.0, 1.0, 0.0], 3))
    np.testing.assert_array_equal(model.coef_[0], 0.0)
    assert model.score(X, y) == 1.0
    assert np.isinf(model.summary().table["coef"]).all()


def test_columns_that_depend_on_earlier_ones_are_dropped_by_name():
    """All dummies of a factor and the intercept: the last dummy goes, as in R."""
    rng = np.random.default_rng(0)
    factor = pd.Categorical.from_codes(rng.integers(0, 3, 200), ["red", "green", "blue"])
    frame = pd.get_dummies(factor).astype(float).assign(age=rng.normal(size=200))
    y = rng.random(200) < np.where(factor == "red", 0.7, 0.4)
    model = mm.LogisticRegression().fit(frame, y)
    assert model.dropped_ == ["blue"]
    less = mm.LogisticRegression().fit(frame.drop(columns="blue"), y)
    assert less.dropped_ == []
    table, expected = model.summary().table, less.summary().table
    assert table.loc["blue"].isna().all()
    pd.testing.assert_frame_equal(table.drop(index="blue"), expected, rtol=1e-6)
    np.testing.assert_allclose(model.predict_proba(frame), less.predict_proba(frame.drop(columns="blue")))
    assert model.summary().aic == pytest.approx(less.summary().aic)
    assert model.summary().notes == ("dropped, because they depend on earlier columns: blue",)
    pieces = mm.LogisticRegression().fit(mm.pieces.from_array(frame, y, rows=50))
    assert pieces.dropped_ == ["blue"]
    pd.testing.assert_frame_equal(pieces.summary().table, table, rtol=1e-5)


@pytest.mark.parametrize("classes", [2, 3])
def test_a_sum_of_columns_is_dropped(classes):
    X, y = _data(p=2, classes=classes)
    wide = np.column_stack([X, X[:, 0] - 3.0 * X[:, 1] + 2.0])
    model = mm.LogisticRegression().fit(wide, y)
    summary = model.summary()
    assert model.dropped_ == ["x2"]
    assert summary.rank == 3 * (classes - 1)
    less = mm.LogisticRegression().fit(X, y)
    np.testing.assert_allclose(model.coef_[:, :2], less.coef_, rtol=1e-6, atol=1e-9)
    np.testing.assert_allclose(summary.table["std_err"].dropna(), less.summary().table["std_err"], rtol=1e-6)
    assert np.isfinite(summary.table["std_err"]).sum() == 3 * (classes - 1)
    assert any("depend on earlier columns: x2" in note for note in summary.notes)


def test_columns_far_from_zero_are_not_called_dependent():
    X, y = _data(p=2)
    model = mm.LogisticRegression().fit(X + np.array([1e6, 0.0]), y)
    assert model.dropped_ == []


def test_newton_keeps_its_history():
    X, y = _data(classes=3)
    for multiclass, machines in (("multinomial", 1), ("ovr", 3)):
        model = mm.LogisticRegression(multiclass=multiclass).fit(X, y)
        assert model.history_["machine"].nunique() == machines
        counts = model.history_.groupby("machine")["iteration"].max()
        np.testing.assert_array_equal(counts, model.n_iter_)
        for _, steps in model.history_.groupby("machine"):
            assert (np.diff(steps["objective"]) <= 1e-9).all()
        last = model.history_.groupby("machine")["objective"].last()
        np.testing.assert_allclose(last, [c.primal for c in model.certificates_], rtol=1e-9)


@pytest.mark.parametrize("classes", [2, 3])
def test_a_column_of_zeros_has_a_coefficient_of_zero(classes):
    """Nothing can be learnt of it, and it must not disturb the others."""
    X, y = _data(classes=classes)
    padded = np.insert(X, 2, 0.0, axis=1)
    plain, model = mm.LogisticRegression().fit(X, y), mm.LogisticRegression().fit(padded, y)
    np.testing.assert_array_equal(model.coef_[:, 2], 0.0)
    np.testing.assert_allclose(np.delete(model.coef_, 2, axis=1), plain.coef_, rtol=1e-7)
    assert model.summary().rank == plain.summary().rank
    assert model.separation_ is None


def test_a_rare_flag_that_the_sample_of_the_start_lacks():
    """Three rows of 16 000: the eighth of the rows that the fit starts with has none of them."""
    for seed in range(2):
        X, y = _data(n=16_000, p=3, seed=seed)
        flag = np.zeros(16_000)
        flag[5:8] = y[5:8] = 1
        for table in (np.column_stack([X, flag]), sparse.csr_matrix(np.column_stack([X, flag]))):
            with pytest.warns(SeparationWarning, match="along x3:"):
                model = mm.LogisticRegression().fit(table, y)
            assert 5 < model.coef_[0, 3] < 40


def test_summary_says_which_class_its_odds_are_of():
    X, y = _data()
    two = mm.LogisticRegression().fit(X, np.where(y > 0, "good", "bad")).summary()
    assert "log odds of 'good' against 'bad'" in str(two)
    three = mm.LogisticRegression().fit(*_data(classes=3)).summary()
    assert "log odds of each class against 0" in str(three)
    with pytest.raises(ValueError, match="level='a' must be strictly between 0 and 1"):
        mm.LogisticRegression().fit(X, y).summary(level="a")


def test_printed_odds_ratios_near_one_are_not_one():
    """The ratio for a unit of money, exp(-3.4e-05), was printed as 1 with an interval from 1 to 1."""
    rng = np.random.default_rng(0)
    X = rng.lognormal(10, 0.5, (300, 1))
    y = np.log(X[:, 0]) - 10 + rng.logistic(size=300) > 0
    summary = mm.LogisticRegression(C=np.inf).fit(X, y).summary()
    row = summary.table.iloc[0]
    for name in ("odds_ratio", "odds_low", "odds_high"):
        assert f"{row[name]:.6f}".rstrip("0") in str(summary)
    assert max(map(len, str(summary).splitlines())) <= 80


def test_summary_refuses_a_penalty():
    X, y = _data()
    with pytest.raises(ValueError, match="C=inf"):
        mm.LogisticRegression(C=1.0).fit(X, y).summary()


@pytest.mark.parametrize("multiclass", ["ovr", "ovo"])
def test_other_strategies(multiclass):
    X, y = _data(classes=3)
    model = mm.LogisticRegression(multiclass=multiclass).fit(X, y)
    sides = [(y == k, y >= 0) for k in range(3)]
    if multiclass == "ovo":
        sides = [(y == i, (y == i) | (y == j)) for i, j in ((0, 1), (0, 2), (1, 2))]
    for (positive, rows), w, b in zip(sides, model.coef_, model.intercept_, strict=True):
        alone = Reference(C=np.inf, tol=1e-10, max_iter=5000).fit(X[rows], positive[rows])
        np.testing.assert_allclose(np.append(w, b), np.append(alone.coef_, alone.intercept_), atol=1e-4)


def test_too_few_iterations_of_a_likelihood_tell_no_negative_gap():
    """Without a penalty slopes that are not orthogonal to X make no dual point, whatever their value."""
    X, y = _data(n=400)
    with pytest.warns(ConvergenceWarning, match=r"relative (infeasibility|duality gap) of \d"):
        mm.LogisticRegression(max_iter=1).fit(5.0 * X, y)


def _separable_by_scipy(X, y):
    """An independent answer for two classes: does some (w, b) have y f >= 0 everywhere and not 0 everywhere?

    max sum y f with 0 <= y f <= 1 is 0 where only the trivial one exists.
    """
    A = np.where(y == 1, 1.0, -1.0)[:, None] * np.column_stack([X, np.ones(len(X))])
    rows, limits = np.vstack([-A, A]), np.repeat([0.0, 1.0], len(X))
    return linprog(-A.sum(axis=0), A_ub=rows, b_ub=limits, bounds=[(None, None)] * A.shape[1]).fun < -0.5


@given(seed=st.integers(0, 10_000), n=st.integers(6, 14), p=st.integers(1, 4))
@settings(derandomize=True, deadline=None, max_examples=60)
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_separation_is_what_a_linear_program_says(seed, n, p):
    """Small integers, so that rows often lie on the hyperplane: all three cases come."""
    rng = np.random.default_rng(seed)
    X = rng.integers(-2, 3, size=(n, p)).astype(float)
    y = rng.integers(0, 2, size=n)
    y[:2] = 0, 1
    found = mm.LogisticRegression().fit(X, y).separation_
    assert (found is not None) == _separable_by_scipy(X, y)
    if found is not None:
        gain = np.where(y == 1, 1.0, -1.0) * (X @ found.direction[:-1] + found.direction[-1])
        assert gain.min() >= -1e-9 * gain.max()
        assert (found.kind == "complete") == bool(gain.min() > 1e-9 * gain.max())


def test_nearly_separated_is_not_separated():
    """One row on the wrong side by 1e-5: the weights are huge, but there is a maximum."""
    x = np.array([0.0, 1, 2, 3, 4, 5, 3.0 - 1e-5])[:, None]
    with warnings.catch_warnings():
        warnings.simplefilter("error", SeparationWarning)
        warnings.simplefilter("ignore", ConvergenceWarning)
        model = mm.LogisticRegression(max_iter=1000).fit(x, [0, 0, 0, 0, 1, 1, 1])
    assert model.separation_ is None


def test_quasi_complete_separation_of_three_classes():
    """Wherever the flag is up the class is 2; the other column overlaps."""
    rng = np.random.default_rng(0)
    noise = rng.normal(size=90)
    flag = (np.arange(90) < 15).astype(float)
    y = rng.integers(0, 3, size=90)
    y[:15] = 2
    frame = pd.DataFrame({"noise": noise, "flag": flag})
    with pytest.warns(SeparationWarning, match="quasi-complete separation of the classes along flag"):
        model = mm.LogisticRegression().fit(frame, y)
    assert np.isnan(model.summary().table.xs("flag", level="variable")["std_err"]).all()
    y[:3] = [0, 1, 0]  # now it overlaps as well
    assert mm.LogisticRegression().fit(frame, y).separation_ is None


@pytest.mark.parametrize("C", [np.inf, 1.0])
def test_many_unknowns_use_products(C, monkeypatch):
    X, y = _data(classes=3)
    plain = mm.LogisticRegression(C).fit(X, y)
    monkeypatch.setattr(primal_multinomial, "EXPLICIT", 3)
    model = mm.LogisticRegression(C).fit(X, y)
    assert solved(model.certificate_, model.tol)
    assert model.n_iter_[0] <= 2 * plain.n_iter_[0]
    np.testing.assert_allclose(model.predict_proba(X), plain.predict_proba(X), atol=2e-5)


def test_more_than_1500_unknowns():
    rng = np.random.default_rng(0)
    X = sparse.random(120, 600, density=0.05, format="csr", random_state=0)
    model = mm.LogisticRegression(C=1.0).fit(X, rng.integers(0, 3, size=120))
    assert solved(model.certificate_, model.tol)


def test_a_separated_column_is_not_called_dependent():
    X = np.append(np.arange(10.0), 4.0)[:, None]
    with pytest.warns(SeparationWarning):
        model = mm.LogisticRegression().fit(X, np.append(np.arange(10) > 4, True))
    (note,) = model.summary().notes
    assert note.startswith("quasi-complete separation")


def test_one_versus_one_has_no_probabilities_to_stack():
    X, y = _data(classes=3)
    model = mm.LogisticRegression(C=1.0, multiclass="ovo")
    assert not hasattr(clone(model).fit(X, y), "predict_proba")
    assert hasattr(clone(model).fit(X, y > 0), "predict_proba")
    stack = StackingClassifier([("pairs", model)], final_estimator=mm.LogisticRegression(C=1.0), cv=3)
    assert stack.fit(X, y).score(X, y) > 0.5


def test_separation_of_sparse_float32_rows_whose_squares_overflow():
    X = sparse.csr_array(np.float32(1e30) * np.random.default_rng(0).normal(size=(4, 50)).astype(np.float32))
    y = [0, 1, 0, 1]
    with pytest.warns(SeparationWarning):
        model = mm.LogisticRegression().fit(X, y)
    np.testing.assert_array_equal(model.predict(X), y)
