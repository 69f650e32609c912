"""Large machines: certificates, agreement with linear machines on the map and with the exact kernel."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from sklearn.exceptions import ConvergenceWarning
from sklearn.kernel_approximation import Nystroem
from sklearn.linear_model import Ridge
from sklearn.svm import LinearSVC

import maxmargin as mm
from maxmargin.machines.large import large_svm
from maxmargin.machines.large.approximation import snapped
from maxmargin.machines.large.mapped_rows import map_size

GAMMA = 0.2


def curved(n: int = 600, p: int = 3, seed: int = 0) -> tuple[Any, Any, Any]:
    """Rows, a smooth function of them, and three classes cut out of it."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, p))
    f = X[:, 0] * X[:, 1] + np.sin(2 * X[:, 2]) + 0.1 * rng.normal(size=n)
    return X, f, np.digitize(f, [-0.5, 0.5])


def svc(**settings: Any) -> mm.LargeSVC:
    return mm.LargeSVC(**{"gamma": GAMMA, "n_components": 60, "random_state": 0, **settings})


@pytest.mark.parametrize("loss", ["squared_hinge", "hinge", "logistic"])
@pytest.mark.parametrize("multiclass", ["ovr", "ovo"])
def test_the_answer_is_the_linear_machine_on_the_map(loss: str, multiclass: str) -> None:
    X, _, y = curved()
    model = svc(loss=loss, multiclass=multiclass, tol=1e-9).fit(X, y)
    phi = model.map_.of_points(model.map_.points(X))
    linear = mm.LinearSVC(loss=loss, multiclass=multiclass, tol=1e-9).fit(phi, y)
    np.testing.assert_allclose(model.coef_, linear.coef_, atol=1e-5)
    assert model.certificate_.relative_gap <= 1e-9
    assert model.certificate_.primal == pytest.approx(
        max(model.certificates_, key=lambda c: c.relative_gap).primal, rel=1e-12
    )
    scores = model._decisions(X)
    np.testing.assert_allclose(scores, phi @ model.coef_.T + model.intercept_, atol=1e-7)


def test_classes_of_many_rows_start_from_a_sample(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each class is first solved on an eighth of the rows: fewer steps, the same optimum."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(16_000, 3))
    y = np.digitize((X**2).sum(axis=1) + 0.5 * rng.normal(size=len(X)), [1.5, 3.0, 4.5])
    settings: dict[str, Any] = {"n_components": 100, "C": 10.0, "tol": 1e-6, "random_state": 0}
    from_sample = mm.LargeSVC(**settings).fit(X, y)
    monkeypatch.setattr(large_svm, "_FEW_ROWS", len(X))
    from_zero = mm.LargeSVC(**settings).fit(X, y)
    assert all(proof.relative_gap <= 1e-6 for proof in from_sample.certificates_ + from_zero.certificates_)
    assert from_sample.n_iter_.sum() < from_zero.n_iter_.sum()
    apart = np.abs(from_sample.decision_function(X) - from_zero.decision_function(X)).max()
    assert apart < 0.01


def test_two_classes_against_scikit_learn_on_the_same_features() -> None:
    X, f, _ = curved()
    y = np.where(f > 0, "b", "a")
    model = svc(tol=1e-10).fit(X, y)
    phi = model.map_.of_points(model.map_.points(X))
    peer = LinearSVC(C=1.0, dual=False, tol=1e-10, max_iter=10_000, intercept_scaling=1e3).fit(phi, y)
    assert list(model.classes_) == ["a", "b"]
    np.testing.assert_allclose(model.decision_function(X), peer.decision_function(phi), atol=2e-4)
    theirs = Nystroem(gamma=GAMMA, n_components=60, random_state=0).fit(X)
    assert model.score(X, y) > LinearSVC().fit(theirs.transform(X), y).score(theirs.transform(X), y) - 0.01


@pytest.mark.parametrize("loss", ["squared_hinge", "hinge"])
@pytest.mark.parametrize("method", ["pivoted_cholesky", "kmeans", "uniform"])
def test_the_gap_to_the_exact_kernel_is_a_bound(loss: str, method: str) -> None:
    X, f, _ = curved()
    y = np.where(f > 0, 1, -1)
    model = svc(loss=loss, method=method, n_components=15, tol=1e-8).fit(X, y)
    exact = mm.certify(mm.SVC(gamma=GAMMA, loss=loss, tol=1e-6).fit(X, y), X, y)
    excess = model.low_rank_certificate_.primal - exact.primal
    assert 0 < excess <= model.approximation_.exact_gap * (1 + 1e-9)
    assert model.approximation_.exact_gap_error == 0  # every support row was looked at
    assert "above the optimum of the exact kernel" in str(model.approximation_)


def test_the_gap_of_regressions_is_a_bound_too() -> None:
    X, f, _ = curved()
    ridge = mm.LargeKernelRidge(0.3, gamma=GAMMA, n_components=20, random_state=0).fit(X, f)
    exact = mm.KernelRidge(0.3, gamma=GAMMA).fit(X, f)
    value = np.sum((f - exact.predict(X)) ** 2) + 0.3 * exact.dual_coef_ @ exact.predict(X)
    excess = ridge.certificate_.primal - value
    assert 0 < excess <= ridge.approximation_.exact_gap * (1 + 1e-9)
    low = mm.LargeSVR(epsilon=0.1, gamma=GAMMA, n_components=20, random_state=0, tol=1e-8).fit(X, f)
    twin = mm.SVR(epsilon=0.1, gamma=GAMMA, loss="squared_epsilon_insensitive", tol=1e-6).fit(X, f)
    excess = low.certificate_.primal - mm.certify(twin, X, f).primal
    assert 0 < excess <= low.approximation_.exact_gap * (1 + 1e-9)


def test_a_sampled_gap_agrees_with_the_exact_one(monkeypatch: pytest.MonkeyPatch) -> None:
    X, f, _ = curved()
    y = np.where(f > 0, 1, -1)
    exact = svc(n_components=15).fit(X, y).approximation_
    monkeypatch.setattr("maxmargin.machines.large.approximation._ALL_PAIRS", 0)
    sampled = svc(n_components=15).fit(X, y).approximation_
    assert sampled.exact_gap_error > 0
    assert abs(sampled.exact_gap - exact.exact_gap) < 5 * sampled.exact_gap_error


@pytest.mark.parametrize("loss", ["squared_hinge", "hinge"])
@pytest.mark.parametrize("multiclass", ["ovr", "ovo"])
def test_polish_gives_the_exact_machine(loss: str, multiclass: str) -> None:
    X, _, y = curved(300)
    weight = np.random.default_rng(0).integers(0, 3, size=300).astype(float)
    settings = {"loss": loss, "multiclass": multiclass, "class_weight": "balanced"}
    model = svc(polish=True, n_components=20, tol=1e-6, **settings).fit(X, y, weight)
    exact = mm.SVC(gamma=GAMMA, tol=1e-6, **settings).fit(X, y, weight)
    assert model.certificate_.kkt <= 1e-6
    assert model.low_rank_certificate_.relative_gap <= 1e-6
    np.testing.assert_allclose(model.decision_function(X), exact.decision_function(X), atol=1e-4)
    assert list(model.predict(X)) == list(exact.predict(X))


@pytest.mark.parametrize("loss", ["epsilon_insensitive", "squared_epsilon_insensitive"])
def test_polished_regression_is_exact(loss: str) -> None:
    X, f, _ = curved(300)
    settings = {"epsilon": 0.05, "gamma": GAMMA, "loss": loss}
    model = mm.LargeSVR(polish=True, n_components=20, tol=1e-6, random_state=0, **settings).fit(X, f)
    exact = mm.SVR(tol=1e-6, **settings).fit(X, f)
    assert model.certificate_.kkt <= 1e-6
    np.testing.assert_allclose(model.predict(X), exact.predict(X), atol=1e-4)


def test_snapped_starts_are_feasible_and_at_bounds() -> None:
    rng = np.random.default_rng(0)
    c = rng.uniform(0.5, 2.0, size=200)
    beta = c * rng.uniform(-1, 1, size=200)
    start = snapped(beta, c)
    assert abs(start.sum()) < 1e-9
    assert np.all(np.abs(start) <= c + 1e-12)
    assert np.sum((np.abs(start) > 1e-9) & (np.abs(start) < c - 1e-9)) <= 1


def test_ridge_against_scikit_learn_and_the_exact_finish() -> None:
    X, f, _ = curved()
    weight = np.random.default_rng(0).integers(0, 3, size=600).astype(float)
    model = mm.LargeKernelRidge(0.3, gamma=GAMMA, n_components=40, random_state=0).fit(X, f, weight)
    phi = model.map_.of_points(model.map_.points(X))
    peer = Ridge(0.3, fit_intercept=False).fit(phi, f, weight)
    np.testing.assert_allclose(model.predict(X), peer.predict(phi), atol=1e-7)
    model.set_params(polish=True, tol=1e-10).fit(X, f, weight)
    exact = mm.KernelRidge(0.3, gamma=GAMMA).fit(X, f, weight)
    np.testing.assert_allclose(model.predict(X), exact.predict(X), atol=1e-7)
    assert model.certificate_.relative_gap < 1e-10


def test_better_maps_save_products_with_the_exact_kernel() -> None:
    X, f, _ = curved()

    def products(m: int) -> int:
        model = mm.LargeKernelRidge(1e-3, gamma=GAMMA, n_components=m, polish=True, random_state=0)
        return int(model.fit(X, f).n_iter_)

    assert products(150) < products(50) < products(5)


def test_features_that_do_not_fit_are_computed_again() -> None:
    X, f, y = curved(4000)
    stored = svc(tol=1e-8).fit(X, y)
    assert map_size(4000, 3, 8, 60, 26).stored is False
    again = svc(tol=1e-8, memory=26).fit(X, y)
    np.testing.assert_allclose(stored.coef_, again.coef_, atol=1e-9)
    hinge = svc(loss="hinge", memory=26).fit(X, f > 0)
    np.testing.assert_allclose(
        hinge.certificate_.primal, svc(loss="hinge").fit(X, f > 0).certificate_.primal, rtol=1e-3
    )


def test_sizes_follow_rows_and_memory() -> None:
    assert map_size(100, 5, 8, "auto", 1000).n_components == 100
    assert map_size(10_000, 5, 8, "auto", 1000).n_components == 200
    assert map_size(1_000_000, 5, 4, "auto", 100_000).n_components == 1000
    assert map_size(10**9, 5, 4, "auto", 1000, in_pieces=True).n_components == 1500
    half = map_size(1_000_000, 5, 4, "auto", 3000)  # 4 GB would hold all 1000
    assert half.stored
    assert 500 <= half.n_components < 1000
    assert map_size(1_000_000, 5, 4, "auto", 1000) == map_size(1_000_000, 5, 4, 1000, 1000)
    with pytest.raises(MemoryError, match="500 components need"):
        map_size(1000, 5, 8, 500, 10)
    with pytest.raises(MemoryError, match="raise memory"):
        map_size(10**8, 5, 8, "auto", 100)


def test_weights_are_repetitions_and_zero_rows_do_not_count() -> None:
    """With every distinct row a landmark the map is the same; the solved problems are the same too."""
    X, _, y = curved(80)
    weight = np.random.default_rng(1).integers(0, 4, size=80)
    often = np.repeat(np.arange(80), weight)
    settings = {"n_components": 80, "method": "uniform", "tol": 1e-12}
    weighted = svc(**settings).fit(X, y, weight)
    repeated = svc(**{**settings, "n_components": len(often)}).fit(X[often], y[often])
    np.testing.assert_allclose(weighted.decision_function(X), repeated.decision_function(X), atol=1e-5)


def test_dataframes_pipelines_and_named_columns() -> None:
    X, _, y = curved()
    frame = pd.DataFrame(X, columns=["a", "b", "c"])
    kernel = mm.kernels.RBF(gamma=0.3, features=["a", "b"]) + mm.kernels.Linear(features=["c"])
    model = mm.LargeSVC(kernel=kernel, n_components=600, random_state=0, tol=1e-10).fit(frame, y)
    exact = mm.SVC(kernel=kernel, loss="squared_hinge", multiclass="ovr", tol=1e-7).fit(frame, y)
    assert list(model.feature_names_in_) == ["a", "b", "c"]
    np.testing.assert_allclose(model.decision_function(frame), exact.decision_function(frame), atol=1e-4)
    model.set_params(kernel__k1__gamma=0.1).fit(frame, y)
    assert model.kernel_.k1.gamma == 0.1


def test_strings_in_a_large_machine() -> None:
    texts = ["free prize now", "win a prize", "see you at home", "home by six"] * 10
    y = np.tile([1, 1, 0, 0], 10)
    model = mm.LargeSVC(kernel=mm.kernels.Subsequence(length=3), n_components=4, random_state=0).fit(texts, y)
    assert model.predict(["prizes to win", "are you home"]).tolist() == [1, 0]


def test_refusals_and_warnings(monkeypatch: pytest.MonkeyPatch) -> None:
    X, _, y = curved(100)
    with pytest.raises(ValueError, match="no logistic loss"):
        svc(loss="logistic", polish=True).fit(X, y)
    with pytest.raises(ValueError, match="method='best' is unknown"):
        svc(method="best").fit(X, y)
    with pytest.raises(ValueError, match="memory=-1 must be"):
        svc(memory=-1).fit(X, y)
    with pytest.raises(ValueError, match="C=0 must be a number > 0"):
        svc(C=0).fit(X, y)
    with pytest.warns(ConvergenceWarning, match="LargeSVC reached a relative duality gap"):
        svc(max_iter=1, tol=1e-12, C=100.0).fit(X, y)
    monkeypatch.setattr("maxmargin.machines.large.approximation._POLISHED", 50)
    with pytest.warns(UserWarning, match="grows with the square"):
        svc(polish=True).fit(X, y)


@pytest.mark.parametrize("machine", [mm.LargeSVC, mm.LargeSVR, mm.LargeKernelRidge])
def test_numbers_whose_squares_overflow_are_refused(machine: Any) -> None:
    X, y, labels = curved(100)
    target = labels if machine is mm.LargeSVC else y
    with pytest.raises(ValueError, match="divide all weights by a number"):
        machine(random_state=0).fit(X, target, sample_weight=np.full(100, 1e200))
    if machine is not mm.LargeSVC:
        with pytest.raises(ValueError, match="the squares of y are too large"):
            machine(random_state=0).fit(X, 1e200 * target)


def test_gamma_of_sparse_float32_rows_whose_sum_overflows() -> None:
    X = sp.csr_matrix(np.linspace(1e37, 2e38, 100, dtype=np.float32).reshape(50, 2))
    gamma = mm.RandomFourier(n_components=4, random_state=0).fit(X).kernel_.gamma
    assert gamma == pytest.approx(1.0 / (2.0 * X.toarray().var(dtype=np.float64)))
