"""The answers, names, shapes and conventions of scikit-learn's machines, on the same problems."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn import svm
from sklearn.datasets import load_iris, make_classification
from sklearn.kernel_ridge import KernelRidge
from sklearn.metrics.pairwise import cosine_similarity, rbf_kernel

import maxmargin as mm
from maxmargin.base.tables import as_dense
from maxmargin.base.typing import AnyArray

TIGHT = 1e-8
CLOSE: dict[str, Any] = {"rtol": 1e-4, "atol": 1e-5}


def data(n_classes: int) -> tuple[AnyArray, AnyArray]:
    X, y = make_classification(
        150, 5, n_informative=4, n_redundant=0, n_classes=n_classes, class_sep=0.8, flip_y=0.1, random_state=3
    )
    return X, np.array([f"class {label}" for label in y])


def assert_same_classifier(ours: Any, theirs: Any, X: AnyArray) -> None:
    np.testing.assert_array_equal(ours.classes_, theirs.classes_)
    np.testing.assert_allclose(ours.decision_function(X), theirs.decision_function(X), **CLOSE)
    np.testing.assert_array_equal(ours.predict(X), theirs.predict(X))
    np.testing.assert_array_equal(ours.support_, theirs.support_)
    np.testing.assert_array_equal(ours.n_support_, theirs.n_support_)
    np.testing.assert_allclose(ours.support_vectors_, theirs.support_vectors_)
    np.testing.assert_allclose(ours.dual_coef_, theirs.dual_coef_, **CLOSE)
    np.testing.assert_allclose(ours.intercept_, theirs.intercept_, **CLOSE)
    assert ours.n_iter_.shape == theirs.n_iter_.shape
    assert ours.shape_fit_ == theirs.shape_fit_
    assert ours.fit_status_ == theirs.fit_status_ == 0
    np.testing.assert_allclose(ours.class_weight_, theirs.class_weight_)
    assert ours.support_.dtype == theirs.support_.dtype
    assert ours.n_support_.dtype == theirs.n_support_.dtype


KERNELS: list[dict[str, Any]] = [
    {"kernel": "rbf"},
    {"kernel": "rbf", "gamma": "auto"},
    {"kernel": "linear"},
    {"kernel": "poly", "degree": 2, "coef0": 1.0, "gamma": 0.2},
]


@pytest.mark.parametrize("n_classes", [2, 3, 4])
@pytest.mark.parametrize("params", KERNELS, ids=lambda params: "-".join(map(str, params.values())))
def test_svc(n_classes: int, params: dict[str, Any]) -> None:
    X, y = data(n_classes)
    assert_same_classifier(mm.SVC(tol=TIGHT, **params).fit(X, y), svm.SVC(tol=TIGHT, **params).fit(X, y), X)


@pytest.mark.parametrize("n_classes", [2, 3])
def test_nu_svc(n_classes: int) -> None:
    X, y = data(n_classes)
    ours, theirs = mm.NuSVC(nu=0.4, tol=TIGHT).fit(X, y), svm.NuSVC(nu=0.4, tol=TIGHT).fit(X, y)
    assert_same_classifier(ours, theirs, X)


@pytest.mark.parametrize("n_classes", [2, 3, 4])
@pytest.mark.parametrize("class_weight", ["balanced", {"class 0": 5.0}])
def test_class_and_sample_weights(n_classes: int, class_weight: Any) -> None:
    X, y = data(n_classes)
    weight = np.random.default_rng(0).uniform(0.5, 2.0, len(y))
    ours = mm.SVC(tol=TIGHT, class_weight=class_weight).fit(X, y, weight)
    theirs = svm.SVC(tol=TIGHT, class_weight=class_weight).fit(X, y, weight)
    assert_same_classifier(ours, theirs, X)


@pytest.mark.parametrize("n_classes", [2, 3])
def test_rows_of_weight_zero(n_classes: int) -> None:
    """``support_`` counts all rows; scikit-learn's counts those of positive weight only."""
    X, y = data(n_classes)
    weight = np.random.default_rng(0).integers(0, 4, len(y)).astype(float)
    kept = np.flatnonzero(weight)
    ours, theirs = mm.SVC(tol=TIGHT).fit(X, y, weight), svm.SVC(tol=TIGHT).fit(X, y, weight)
    np.testing.assert_allclose(ours.decision_function(X), theirs.decision_function(X), **CLOSE)
    np.testing.assert_array_equal(ours.support_vectors_, X[ours.support_])
    np.testing.assert_array_equal(ours.support_vectors_, theirs.support_vectors_)
    np.testing.assert_array_equal(ours.support_, kept[theirs.support_])


@pytest.mark.parametrize("kernel", ["rbf", "linear"])
@pytest.mark.parametrize("n_classes", [2, 3])
def test_sparse_rows(n_classes: int, kernel: str) -> None:
    X, y = data(n_classes)
    X = sp.csr_matrix(np.where(np.abs(X) < 0.7, 0.0, X))
    ours, theirs = (machine.SVC(kernel=kernel, tol=TIGHT).fit(X, y) for machine in (mm, svm))
    np.testing.assert_allclose(ours.decision_function(X), theirs.decision_function(X), **CLOSE)
    np.testing.assert_array_equal(ours.predict(X), theirs.predict(X))
    np.testing.assert_array_equal(ours.support_, theirs.support_)
    for name in ("support_vectors_", "dual_coef_"):
        np.testing.assert_allclose(as_dense(getattr(ours, name)), as_dense(getattr(theirs, name)), **CLOSE)


@pytest.mark.parametrize("layout", [np.asarray, sp.csr_array])
def test_cosine(layout: Any) -> None:
    """Also with rows of zeros, as empty documents have: their kernel values are 0."""
    X, y = data(3)
    X[[5, 11]] = 0.0
    ours = mm.SVC(kernel="cosine", tol=TIGHT).fit(layout(X), y)
    theirs = svm.SVC(kernel=cosine_similarity, tol=TIGHT).fit(X, y)
    np.testing.assert_allclose(ours.decision_function(layout(X)), theirs.decision_function(X), **CLOSE)
    np.testing.assert_allclose(ours.decision_function(7 * layout(X)), ours.decision_function(layout(X)))
    ours = mm.KernelRidge(kernel="cosine").fit(layout(X), X[:, 0])
    theirs = KernelRidge(kernel="cosine").fit(X, X[:, 0])
    np.testing.assert_allclose(ours.predict(layout(X)), theirs.predict(X), atol=1e-12)


@pytest.mark.parametrize("shape", ["ovr", "ovo"])
@pytest.mark.parametrize("n_classes", [2, 3, 4])
def test_decision_function_shape(shape: Any, n_classes: int) -> None:
    X, y = data(n_classes)
    ours = mm.SVC(tol=TIGHT, decision_function_shape=shape).fit(X, y)
    theirs = svm.SVC(tol=TIGHT, decision_function_shape=shape).fit(X, y)
    assert ours.decision_function(X).shape == theirs.decision_function(X).shape
    np.testing.assert_allclose(ours.decision_function(X), theirs.decision_function(X), **CLOSE)


def test_break_ties() -> None:
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(120, 2)), rng.integers(0, 4, 120)
    grid = rng.uniform(-4, 4, size=(3000, 2))
    plain, broken = mm.SVC(tol=TIGHT).fit(X, y), mm.SVC(tol=TIGHT, break_ties=True).fit(X, y)
    np.testing.assert_array_equal(plain.predict(grid), svm.SVC(tol=TIGHT).fit(X, y).predict(grid))
    theirs = svm.SVC(tol=TIGHT, break_ties=True).fit(X, y)
    np.testing.assert_array_equal(broken.predict(grid), theirs.predict(grid))
    assert (plain.predict(grid) != broken.predict(grid)).any()
    with pytest.raises(ValueError, match="break_ties must be False"):
        mm.SVC(break_ties=True, decision_function_shape="ovo").fit(X, y).predict(X)


@pytest.mark.parametrize("ours", [mm.SVC, mm.LinearSVC])
@pytest.mark.parametrize("labels", [["a", "b"], ["b", "a"]])
def test_a_decision_of_zero_is_the_first_class(ours: Any, labels: list[str]) -> None:
    """Two rows, and the point between them. scikit-learn's SVC alone says the second class there."""
    X, between = [[-1.0], [1.0]], [[0.0]]
    options = {"kernel": "linear"} if ours is mm.SVC else {"tol": 1e-10}
    model, theirs = ours(**options).fit(X, labels), getattr(svm, ours.__name__)(**options).fit(X, labels)
    assert model.decision_function(between)[0] == theirs.decision_function(between)[0] == 0
    assert model.predict(between) == ["a"]
    assert theirs.predict(between) == ["b" if ours is mm.SVC else "a"]


def test_one_versus_rest_is_each_class_against_the_rest() -> None:
    X, y = data(3)
    model = mm.SVC(multiclass="ovr", tol=TIGHT).fit(X, y)
    columns = [
        svm.SVC(tol=TIGHT).fit(X, np.where(y == label, 1, -1)).decision_function(X)
        for label in model.classes_
    ]
    np.testing.assert_allclose(model.decision_function(X), np.column_stack(columns), **CLOSE)
    np.testing.assert_array_equal(model.predict(X), model.classes_[np.argmax(columns, axis=0)])
    with pytest.raises(ValueError, match="one decision per class"):
        model.set_params(decision_function_shape="ovo").decision_function(X)


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("multiclass", ["ovo", "ovr"])
@pytest.mark.parametrize("layout", [np.asarray, sp.csr_array])
def test_coef(n_classes: int, multiclass: Any, layout: Any) -> None:
    X, y = data(n_classes)
    model = mm.SVC(kernel="linear", multiclass=multiclass, tol=TIGHT).fit(layout(X), y)
    assert sp.issparse(model.coef_) == sp.issparse(layout(X)) == sp.issparse(model.dual_coef_)
    coef = as_dense(model.coef_)
    if multiclass == "ovo" or n_classes == 2:
        theirs = svm.SVC(kernel="linear", tol=TIGHT).fit(X, y)
        np.testing.assert_allclose(coef, theirs.coef_, **CLOSE)
    decisions = X @ coef.T + model.intercept_
    np.testing.assert_allclose(model.binary_decisions(layout(X)), decisions, rtol=1e-9, atol=1e-9)


def test_coef_exists_for_the_linear_kernel_only() -> None:
    X, y = data(2)
    assert not hasattr(mm.SVC().fit(X, y), "coef_")
    assert not hasattr(mm.SVC(kernel=mm.kernels.Linear(features=[0, 1])).fit(X, y), "coef_")


@pytest.mark.parametrize("n_classes", [2, 3])
def test_precomputed(n_classes: int) -> None:
    X, y = data(n_classes)
    K, new = rbf_kernel(X, gamma=0.2), rbf_kernel(X[:30] + 0.1, X, gamma=0.2)
    model = mm.SVC(kernel="precomputed", tol=TIGHT).fit(K, y)
    theirs = svm.SVC(kernel="precomputed", tol=TIGHT).fit(K, y)
    np.testing.assert_allclose(model.decision_function(new), theirs.decision_function(new), **CLOSE)
    np.testing.assert_array_equal(model.support_, theirs.support_)
    assert model.__sklearn_tags__().input_tags.pairwise
    with pytest.raises(ValueError, match="square"):
        model.fit(K[:, :10], y)
    with pytest.raises(ValueError, match=r"columns|features"):
        model.predict(new[:, :10])


def test_callable() -> None:
    X, y = data(3)

    def kernel(A: AnyArray, B: AnyArray) -> AnyArray:
        return (A @ B.T + 1.0) ** 2

    ours, theirs = mm.SVC(kernel=kernel, tol=TIGHT).fit(X, y), svm.SVC(kernel=kernel, tol=TIGHT).fit(X, y)
    np.testing.assert_allclose(ours.decision_function(X), theirs.decision_function(X), rtol=1e-3, atol=1e-4)


@pytest.mark.parametrize("params", KERNELS, ids=lambda params: "-".join(map(str, params.values())))
@pytest.mark.parametrize(
    ("ours", "theirs"),
    [
        (mm.SVR(C=2.0, epsilon=0.2, tol=TIGHT), svm.SVR(C=2.0, epsilon=0.2, tol=TIGHT)),
        (mm.NuSVR(nu=0.3, C=2.0, tol=TIGHT), svm.NuSVR(nu=0.3, C=2.0, tol=TIGHT)),
        (mm.OneClassSVM(nu=0.2, tol=TIGHT), svm.OneClassSVM(nu=0.2, tol=TIGHT)),
    ],
    ids=["svr", "nu_svr", "one_class"],
)
def test_single_machines(ours: Any, theirs: Any, params: dict[str, Any]) -> None:
    if isinstance(ours, mm.OneClassSVM) and params["kernel"] == "linear":
        pytest.skip("the origin lies among the rows, so every answer with w = 0 is optimal")
    X, _ = data(2)
    y = X[:, 0] + np.sin(X[:, 1])
    ours.set_params(**params).fit(X, y)
    theirs.set_params(**params).fit(X, y)
    decide = "predict" if hasattr(ours, "epsilon_") else "decision_function"
    np.testing.assert_allclose(getattr(ours, decide)(X), getattr(theirs, decide)(X), **CLOSE)
    np.testing.assert_allclose(ours.intercept_, theirs.intercept_, **CLOSE)
    np.testing.assert_array_equal(ours.support_, theirs.support_)
    np.testing.assert_allclose(ours.dual_coef_, theirs.dual_coef_, rtol=1e-3, atol=1e-4)
    if decide == "decision_function":
        np.testing.assert_allclose(ours.offset_, theirs.offset_, **CLOSE)
        np.testing.assert_allclose(ours.score_samples(X), theirs.score_samples(X), **CLOSE)


def test_svdd_agrees_with_one_class_for_constant_norms() -> None:
    """With K(x, x) = 1 both problems have the same minimisers, scaled by nu n."""
    X, _ = data(2)
    nu, n = 0.2, len(X)
    one = mm.OneClassSVM(nu=nu, gamma=0.3, tol=TIGHT).fit(X)
    ball = mm.SVDD(C=1 / (nu * n), gamma=0.3, tol=TIGHT).fit(X)
    np.testing.assert_allclose(ball.alpha_ * nu * n, one.alpha_, atol=1e-4)
    np.testing.assert_allclose(ball.decision_function(X) * nu * n / 2, one.decision_function(X), atol=1e-5)


def test_svdd_is_the_smallest_ball() -> None:
    """Three points of the unit circle that hold the centre: the ball is the unit disc."""
    X = np.array([[1.0, 0.0], [-0.5, np.sqrt(3) / 2], [-0.5, -np.sqrt(3) / 2], [0.1, 0.2]])
    model = mm.SVDD(C=1.0, kernel="linear", tol=1e-9).fit(X)
    assert model.radius_ == pytest.approx(1.0, abs=1e-6)
    np.testing.assert_allclose(model.decision_function(X), 1 - (X**2).sum(axis=1), atol=1e-6)


def test_iris_scores_are_equal() -> None:
    X, y = load_iris(return_X_y=True)
    assert mm.SVC().fit(X, y).score(X, y) == svm.SVC().fit(X, y).score(X, y)


def test_probability() -> None:
    X, y = data(3)
    model = mm.SVC(probability=True).fit(X, y)
    P = model.predict_proba(X)
    assert P.shape == (150, 3)
    np.testing.assert_allclose(P.sum(axis=1), 1.0)
    np.testing.assert_allclose(np.exp(model.predict_log_proba(X)), P)
    assert (model.classes_[P.argmax(axis=1)] == model.predict(X)).mean() > 0.9
    assert not hasattr(mm.SVC().fit(X, y), "predict_proba")


@pytest.mark.parametrize("counts", [(40, 3), (40, 1), (25, 20, 2), (25, 20, 1)])
def test_probability_of_small_classes(counts) -> None:
    X = np.random.default_rng(1).normal(size=(sum(counts), 3))
    y = np.repeat(np.arange(len(counts)), counts)
    X[:, 0] += 2.0 * y
    model = mm.SVC(probability=True, random_state=0).fit(X, y)
    P = model.predict_proba(X)
    np.testing.assert_allclose(P.sum(axis=1), 1.0)
    assert ((P > 0) & (P < 1)).all()
    last = P[:, -1]
    assert last[y == len(counts) - 1].mean() > last[y == 0].mean()  # the rare class is told apart


def test_a_parameter_that_only_the_folds_of_probability_refuse() -> None:
    X, y = np.random.default_rng(0).normal(size=(60, 4)), np.repeat([0, 1], [58, 2])
    assert len(mm.NuSVC(nu=0.05).fit(X, y).classes_) == 2
    with pytest.raises(ValueError, match=r"probability=True also fits .* nu=0.05 .* use probability=False"):
        mm.NuSVC(nu=0.05, probability=True).fit(X, y)
