"""A fit on pieces is the fit on the whole table."""

from __future__ import annotations

import warnings
from functools import partial
from itertools import pairwise

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse
from sklearn.base import clone, is_classifier
from sklearn.exceptions import ConvergenceWarning

import maxmargin as mm
from maxmargin import pieces as mp
from maxmargin.feature_selection import FisherScore, InformationGain
from maxmargin.pieces.piece import Piece
from maxmargin.problems.loss_penalty import solved
from maxmargin.problems.losses import Logistic
from maxmargin.problems.penalties import Penalty
from maxmargin.problems.rows_in_pieces import LossRows, NumberTargets
from maxmargin.solvers.primal import newton_pieces as primal_pieces

CLASSIFIERS = [
    mm.LinearSVC(tol=1e-10),
    mm.LinearSVC(tol=1e-10, fit_intercept=False),
    mm.LinearSVC(tol=1e-10, class_weight="balanced"),
    mm.LinearSVC(tol=1e-10, loss="logistic", class_weight={0: 2.0, 1: 0.5, 2: 1.0}),
    mm.LinearSVC(tol=1e-10, multiclass="ovo"),
    mm.LinearSVC(tol=1e-10, penalty="none"),
    mm.LogisticRegression(),
    mm.LogisticRegression(C=0.5, class_weight="balanced"),
    mm.LogisticRegression(fit_intercept=False),
    mm.LogisticRegression(multiclass="ovr"),
    mm.LogisticRegression(multiclass="ovo"),
    mm.FisherDiscriminant(),
    mm.FisherDiscriminant(shrinkage=0.1, method="canonical"),
    FisherScore(),
]
REGRESSORS = [
    mm.LeastSquares(),
    mm.LeastSquares(fit_intercept=False),
    mm.Ridge(2.0),
    mm.Ridge(0.0),
    mm.Ridge(alphas=[0.01, 0.1, 1.0, 100.0]),
    mm.LinearSVR(loss="squared_epsilon_insensitive", epsilon=0.3, tol=1e-10),
]
LEARNT = ("coef_", "intercept_", "axes_", "centroids_", "eigenvalues_", "scores_", "rank_", "alpha_")


def data(n=900, p=4, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, p)) + np.arange(p)
    score = X @ rng.normal(size=p)
    y = score + rng.normal(size=n)
    return X, y, np.digitize(y, np.quantile(y, [0.3, 0.7])), rng.integers(0, 3, n).astype(float)


def assert_same(in_pieces, in_memory, atol=1e-6):
    compared = [name for name in LEARNT if hasattr(in_memory, name)]
    assert compared
    for name in compared:
        np.testing.assert_allclose(
            getattr(in_pieces, name), getattr(in_memory, name), atol=atol, err_msg=name
        )
    assert in_pieces.n_features_in_ == in_memory.n_features_in_


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("model", CLASSIFIERS, ids=str)
def test_classifiers(model, n_classes, weighted):
    X, _, codes, weights = data()
    y = np.minimum(codes, n_classes - 1)
    weights = weights if weighted else None
    in_memory = clone(model).fit(X, y, weights)
    in_pieces = clone(model).fit(mp.from_array(X, y, weights, rows=70))
    assert_same(in_pieces, in_memory)
    if hasattr(in_memory, "predict"):
        np.testing.assert_array_equal(in_pieces.classes_, in_memory.classes_)
        np.testing.assert_array_equal(in_pieces.predict(X), in_memory.predict(X))


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("model", REGRESSORS, ids=str)
def test_regressors(model, weighted):
    X, y, _, weights = data()
    weights = weights if weighted else None
    in_memory = clone(model).fit(X, y, weights)
    in_pieces = clone(model).fit(mp.from_array(X, y, weights, rows=70))
    assert_same(in_pieces, in_memory)
    if hasattr(in_memory, "path_"):
        np.testing.assert_allclose(in_pieces.path_.loo_mse, in_memory.path_.loo_mse, rtol=1e-9)
        assert in_pieces.path_.loo_residuals.shape == (0, len(in_memory.path_.alphas))


@pytest.mark.parametrize("model", [*CLASSIFIERS[:11], *REGRESSORS], ids=str)
def test_the_certificate_is_that_of_the_whole_table(model):
    X, y, codes, _ = data()
    target = np.minimum(codes, 1) if is_classifier(model) else y
    in_memory = clone(model).fit(X, target).certificate_
    in_pieces = clone(model).fit(mp.from_array(X, target, rows=70)).certificate_
    assert solved(in_pieces, 1e-9)
    assert in_pieces.kkt < 1e-6
    assert in_pieces.n_checked == in_memory.n_checked
    np.testing.assert_allclose(in_pieces.primal, in_memory.primal, rtol=1e-10)
    np.testing.assert_allclose(in_pieces.dual, in_memory.dual, rtol=1e-8)


def test_the_certificate_sees_a_wrong_answer():
    """Not one that the solver left: the problem is asked about a point 1 % off."""
    from maxmargin.compute.tables.design import design
    from maxmargin.problems import losses
    from maxmargin.problems.loss_penalty import LossPenalty
    from maxmargin.problems.penalties import Penalty
    from maxmargin.problems.rows_in_pieces import LossPenaltyPieces, NumberTargets

    X, y, _, weights = data()
    theta = mm.Ridge(0.5).fit(X, y, weights)
    theta = 1.01 * np.append(theta.coef_, theta.intercept_)
    common = {"loss": losses.Squared(), "penalty": Penalty(l2=1.0)}
    whole = LossPenalty(X=design(X), y=y, c=weights, **common).certify(theta)
    cut = LossPenaltyPieces(
        pieces=mp.from_array(X, y, weights, rows=70),
        targets=NumberTargets(),
        n_features=4,
        n_rows=900,
        **common,
    ).certify(theta)
    assert whole.relative_gap > 1e-4
    for name in ("primal", "dual", "gap", "kkt"):
        np.testing.assert_allclose(getattr(cut, name), getattr(whole, name), rtol=1e-9, err_msg=name)


@given(st.lists(st.integers(1, 899), max_size=12, unique=True).map(sorted))
def test_the_answer_does_not_depend_on_where_the_rows_are_cut(cuts):
    X, _, codes, weights = data()
    y = codes > 0
    bounds = [0, *cuts, 900]
    parts = [(X[i:j], y[i:j], weights[i:j]) for i, j in pairwise(bounds)]
    whole = mm.LinearSVC(tol=1e-10).fit(X, y, weights)
    assert_same(mm.LinearSVC(tol=1e-10).fit(mp.from_iterable(parts)), whole, atol=1e-9)


@pytest.mark.parametrize("order", ["as it is", "sorted by class"])
def test_the_start_from_some_pieces_changes_nothing(order):
    X, _, codes, _ = data(n=30_000)
    y = np.minimum(codes, 1)
    if order == "sorted by class":  # the pieces of the sample then hold one class for long stretches
        rows = np.argsort(y, kind="stable")
        X, y = X[rows], y[rows]
    assert_same(
        mm.LogisticRegression().fit(mp.from_array(X, y, rows=500)), mm.LogisticRegression().fit(X, y), 1e-6
    )


@pytest.mark.parametrize(
    "make", [sparse.csr_matrix, lambda X: X.astype(np.float32)], ids=["sparse", "float32"]
)
def test_sparse_and_float32(make):
    X, y, codes, _ = data()
    X = np.where(X > 1.0, X, 0.0)
    for model, target in ((mm.LinearSVC(tol=1e-10), codes > 0), (mm.Ridge(1.0), y)):
        whole = clone(model).fit(make(X), target)
        assert_same(clone(model).fit(mp.from_array(make(X), target, rows=70)), whole)


def at_an_odd_address(values):
    """A copy as a cluster sends it: behind a header of any length."""
    if sparse.issparse(values):
        parts = tuple(map(at_an_odd_address, (values.data, values.indices, values.indptr)))
        return type(values)(parts, shape=values.shape)
    found = np.empty(values.nbytes + 3, np.uint8)[3:].view(values.dtype).reshape(values.shape)
    found[...] = values
    assert not found.flags.aligned
    return found


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize(
    "form",
    [np.asarray, sparse.csr_array, partial(pd.DataFrame, copy=False)],
    ids=["dense", "sparse", "frame"],
)
def test_addresses_of_rows_do_not_change_a_bit(form, dtype):
    """Workers of a cluster get the same rows at other addresses, also after one of them died.

    The first step of a fit multiplies the rows as they are, because all of them have the same curvature.
    """
    X, _, codes, weight = data(n=300, p=5)
    X, y = X.astype(dtype), np.where(codes > 0, 1.0, -1.0)
    moved = at_an_odd_address(form(X)) if form is sparse.csr_array else form(at_an_odd_address(X))
    rows = LossRows(NumberTargets(), Logistic(), Penalty(l2=1.0), fit_intercept=True)
    for weights in (np.ones(300), weight):
        pieces = Piece(form(X), y, weights), Piece(moved, at_an_odd_address(y), at_an_odd_address(weights))
        one, other = (vars(rows(piece).sums(np.zeros(6))) for piece in pieces)
        for name, values in one.items():
            np.testing.assert_array_equal(values, other[name], err_msg=name)


def test_many_columns_by_conjugate_gradients(monkeypatch):
    monkeypatch.setattr(primal_pieces, "EXPLICIT", 2)
    X, _, codes, _ = data()
    for model in (mm.LinearSVC(tol=1e-10), mm.LinearSVC(tol=1e-10, loss="logistic", fit_intercept=False)):
        whole = clone(model).fit(X, codes > 0)
        assert_same(clone(model).fit(mp.from_array(X, codes > 0, rows=100)), whole, atol=1e-5)


def test_a_step_that_is_too_long_is_shortened():
    """Far-away rows make the first Newton step of the logistic loss overshoot."""
    rng = np.random.default_rng(0)
    X = rng.standard_t(1.5, size=(400, 2)) * 30
    y = np.where(rng.random(400) < 0.1, X[:, 0] < 0, X[:, 0] > 0)
    whole = mm.LogisticRegression(C=10.0).fit(X, y)
    assert_same(mm.LogisticRegression(C=10.0).fit(mp.from_array(X, y, rows=50)), whole)


def test_the_table_of_a_logistic_regression():
    X, _, codes, weights = data()
    for y in (codes, np.minimum(codes, 1)):
        whole = mm.LogisticRegression().fit(X, y, weights).summary()
        cut = mm.LogisticRegression().fit(mp.from_array(X, y, weights, rows=70)).summary()
        np.testing.assert_allclose(cut.table, whole.table, rtol=1e-5, atol=1e-9)
        np.testing.assert_allclose(
            [cut.aic, cut.null_deviance, cut.rank], [whole.aic, whole.null_deviance, whole.rank], rtol=1e-9
        )


@pytest.mark.parametrize("kind", ["complete", "quasi-complete"])
def test_separation_is_reported(kind):
    x = np.linspace(-1, 1, 200)[:, None]
    y = x[:, 0] > 0
    if kind == "quasi-complete":
        x = np.where(np.abs(x) < 0.5, 0.0, x)
    for fit in (lambda m: m.fit(x, y), lambda m: m.fit(mp.from_array(x, y, rows=30))):
        with pytest.warns(mm.SeparationWarning, match=f"^{kind}"):
            model = fit(mm.LogisticRegression())
        assert model.separation_.kind == kind


def test_names_and_labels():
    X, _, codes, _ = data()
    frame = pd.DataFrame(X, columns=list("abcd"))
    labels = np.array(["low", "mid", "high"], dtype=object)[codes]
    model = mm.LinearSVC().fit(mp.from_array(frame, pd.Series(labels), rows=70))
    assert model.feature_names_in_.tolist() == list("abcd")
    assert model.classes_.tolist() == ["high", "low", "mid"]
    assert model.score(frame, labels) > 0.6


def test_a_rank_is_that_of_the_table():
    X, y, _, _ = data()
    X = np.column_stack([X, X[:, 0] + X[:, 1]])
    whole = mm.LeastSquares().fit(X, y)
    cut = mm.LeastSquares().fit(mp.from_array(X, y, rows=70))
    assert cut.rank_ == whole.rank_ == 4
    np.testing.assert_allclose(cut.coef_, whole.coef_, atol=1e-9)


def test_fewer_rows_than_columns():
    X, y = np.eye(3, 5), np.array([1.0, 2.0, 4.0])
    whole = mm.LeastSquares().fit(X, y)
    np.testing.assert_allclose(
        mm.LeastSquares().fit(mp.from_array(X, y, rows=1)).coef_, whole.coef_, atol=1e-12
    )


def test_what_cannot_be_done_in_pieces_says_what_can():
    X, y, codes, _ = data()
    pieces, numbers = mp.from_array(X, codes, rows=70), mp.from_array(X, y, rows=70)
    for model in (mm.LinearSVC(loss="hinge"), mm.LinearSVC(penalty="l1"), mm.LinearSVC(solver="augmented")):
        with pytest.raises(ValueError, match="use loss='squared_hinge'"):
            model.fit(pieces)
    with pytest.raises(ValueError, match="use loss='squared_epsilon_insensitive'"):
        mm.LinearSVR().fit(numbers)
    with pytest.raises(ValueError, match="solver='closed'"):
        mm.Ridge(solver="sgd").fit(numbers)
    with pytest.raises(ValueError, match="give a number between 0 and 1"):
        mm.FisherDiscriminant(shrinkage="auto").fit(pieces)
    with pytest.raises(TypeError, match="use FisherScore"):
        InformationGain().fit(pieces)


def test_bad_values_are_found_in_any_piece():
    X, y, codes, _ = data()
    for bad in (np.nan, np.inf):
        broken = X.copy()
        broken[500, 1] = bad
        with pytest.raises(ValueError, match=rf"row 500 of X, column .1., is {bad}"):
            mm.LinearSVC().fit(mp.from_array(broken, codes, rows=70))
    target = y.copy()
    target[100] = np.nan
    with pytest.raises(ValueError, match="row 100 of X, column 'y', is nan"):
        mm.Ridge().fit(mp.from_array(X, target, rows=70))
    with pytest.raises(ValueError, match="the squares of X are too large"):
        FisherScore().fit(mp.from_array(X * 1e306, codes, rows=70))  # smaller ones have scores
    with pytest.raises(ValueError, match="negative"):
        mm.Ridge().fit(mp.from_array(X, y, np.where(y > 0, 1, -1), rows=70))
    with pytest.raises(ValueError, match="all samples have zero or negative weights"):
        mm.Ridge().fit(mp.from_array(X, y, np.zeros(len(y)), rows=70))
    with pytest.raises(ValueError, match="one class"):
        mm.LinearSVC().fit(mp.from_array(X, np.ones(len(y)), rows=70))
    frames = [(pd.DataFrame(X[:9], columns=list(names)), codes[:9]) for names in ("abcd", "abdc")]
    with pytest.raises(ValueError, match="same columns in the same order"):
        mm.LinearSVC().fit(mp.from_iterable(frames))


def test_not_reaching_tol_is_a_warning():
    X, _, codes, _ = data()
    with pytest.warns(mm.SeparationWarning.__mro__[1], match="reached a relative duality gap"):
        mm.LinearSVC(tol=1e-12, max_iter=1).fit(mp.from_array(X, codes > 0, rows=70))


def test_progress_is_printed(capsys):
    X, _, codes, _ = data()
    with warnings.catch_warnings():
        mm.LinearSVC(verbose=1).fit(mp.from_array(X, codes > 0, rows=70))
    assert "LinearSVC: iteration 1, objective" in capsys.readouterr().err


def test_a_loose_certificate_of_least_squares_is_reported():
    """A column of 1e-9 beside one of 1e9 counts as dependent: its effect is lost, in memory as in pieces."""
    random, model = np.random.default_rng(0), mm.LeastSquares()
    rows = random.normal(size=(400, 3))
    target = rows @ [1.0, 2.0, 3.0]
    tiny = rows * [1e-9, 1.0, 1e9]
    for fit in (lambda X: model.fit(X, target), lambda X: model.fit(mp.from_array(X, target, rows=100))):
        fit(rows)  # no warning
        with pytest.warns(ConvergenceWarning, match="scale the columns of X"):
            fit(tiny)
        assert not solved(model.certificate_, 1e-3)
