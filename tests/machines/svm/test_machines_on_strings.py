"""Machines on strings: every container, certificates, mixed tables, scikit-learn's tools."""

from __future__ import annotations

import pickle

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn import kernel_ridge as reference_ridge
from sklearn import svm as reference_svm
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV, cross_val_score

import maxmargin as mm
from maxmargin.kernels import RBF, Spectrum, Subsequence


def made_texts(n=80, seed=0):
    """Two kinds of text: one spells its words with "ab", the other with "ba", among random letters."""
    rng = np.random.default_rng(seed)
    y = np.arange(n) % 2
    texts = []
    for label in y:
        letters = list(rng.choice(list("abcde "), rng.integers(6, 14)))
        for place in sorted(rng.choice(len(letters), 3, replace=False)):
            letters[place] = "ab" if label else "ba"
        texts.append("".join(letters))
    return texts, y


TEXTS, Y = made_texts()
KERNEL = Subsequence(3, 0.4)


def test_classification_agrees_with_the_same_gram_matrix():
    model = mm.SVC(C=5.0, kernel=KERNEL, tol=1e-6).fit(TEXTS[:60], Y[:60])
    K = KERNEL(TEXTS[:60])
    reference = reference_svm.SVC(C=5.0, kernel="precomputed", tol=1e-6).fit(K, Y[:60])
    new = KERNEL(TEXTS[60:], TEXTS[:60])
    np.testing.assert_allclose(
        model.decision_function(TEXTS[60:]), reference.decision_function(new), atol=1e-4
    )
    assert model.support_vectors_ == [TEXTS[i] for i in model.support_]
    assert model.certificate_.kkt <= 1e-6
    assert mm.certify(model, TEXTS[:60], Y[:60]).kkt <= 1e-6


@pytest.mark.parametrize(
    "container",
    [
        tuple,
        np.array,
        lambda x: np.array(x, dtype=object),
        pd.Series,
        pl.Series,
        lambda x: pd.DataFrame({"text": x}),
    ],
)
def test_every_container(container):
    expected = mm.SVC(kernel=KERNEL).fit(TEXTS, Y).decision_function(TEXTS[:20])
    X = container(TEXTS)
    np.testing.assert_array_equal(mm.SVC(kernel=KERNEL).fit(X, Y).decision_function(X[:20]), expected)


@pytest.mark.parametrize("container", [tuple, np.array, pd.Series, pl.Series])
def test_function_kernels_take_the_same_containers(container):
    def shared_letters(A, B):
        return np.array([[len(set(a) & set(b)) for b in B] for a in A], dtype=float)

    expected = mm.SVC(kernel=shared_letters).fit(TEXTS, Y).decision_function(TEXTS[:20])
    X = container(TEXTS)
    model = mm.SVC(kernel=shared_letters).fit(X, Y)
    np.testing.assert_array_equal(model.decision_function(X[:20]), expected)


@pytest.mark.parametrize("frame", [pd.DataFrame, pl.DataFrame])
def test_text_and_numbers_together(frame):
    rng = np.random.default_rng(1)
    table = frame({"size": rng.normal(size=80), "message": TEXTS, "share": rng.normal(size=80)})
    kernel = 0.5 * Subsequence(2, 0.4, features="message") + RBF(gamma=0.3, features=["size", "share"])
    model = mm.SVC(kernel=kernel, C=10.0, tol=1e-5).fit(table, Y)
    numbers = np.column_stack([np.asarray(table["size"]), np.asarray(table["share"])])
    K = 0.5 * Subsequence(2, 0.4)(TEXTS) + RBF(gamma=0.3)(numbers)
    reference = reference_svm.SVC(kernel="precomputed", C=10.0, tol=1e-5).fit(K, Y)
    np.testing.assert_allclose(model.decision_function(table), reference.decision_function(K), atol=1e-3)
    assert model.feature_names_in_.tolist() == ["size", "message", "share"]


def test_values_among_training_rows_are_computed_once(monkeypatch):
    """Solver, precision check and certificate together ask for one half of the Gram matrix."""
    pairs = []
    evaluate = Subsequence.evaluate

    def counted(self, A, B, out):
        pairs.append(len(A) * len(B))
        evaluate(self, A, B, out)

    monkeypatch.setattr(Subsequence, "evaluate", counted)
    texts, y = made_texts(200)
    mm.SVC(kernel=KERNEL).fit(texts, y % 2)
    tiles = -(-200 // 64)
    assert sum(pairs) <= 64 * 64 * tiles * (tiles + 1) / 2
    pairs.clear()
    mm.SVC(kernel=KERNEL).fit(texts, np.arange(200) % 3)
    assert sum(pairs) <= 64 * 64 * tiles * (tiles + 1) / 2


def test_a_matrix_that_does_not_fit_is_not_made():
    """With a tiny cache the engine goes by rows, to the same answer."""
    texts, y = made_texts(400)
    whole = mm.SVC(kernel=Subsequence(2), tol=1e-5).fit(texts, y)
    rows = mm.SVC(kernel=Subsequence(2), tol=1e-5, cache_size=0.1).fit(texts, y)
    np.testing.assert_allclose(rows.decision_function(texts), whole.decision_function(texts), atol=1e-3)


@pytest.mark.parametrize(
    "kernel", [Spectrum(2), Spectrum(3, 1), Subsequence(1, tokens="words"), KERNEL + Spectrum(2)]
)
def test_other_string_kernels(kernel):
    model = mm.SVC(kernel=kernel).fit(TEXTS, Y)
    restored = pickle.loads(pickle.dumps(clone(model).fit(TEXTS, Y)))
    np.testing.assert_array_equal(
        restored.predict([*TEXTS, "", "zz zz"]), model.predict([*TEXTS, "", "zz zz"])
    )


def test_regression_and_outliers():
    counts = np.array([text.count("a") for text in TEXTS], dtype=float)
    regression = mm.SVR(kernel=Subsequence(1, normalize=False), C=10.0, epsilon=0.1).fit(TEXTS, counts)
    assert np.abs(regression.predict(TEXTS) - counts).max() < 0.2  # the count is linear in feature space
    strange = ["xyzxyzxyz", "QQQQQQ"]
    for detector in (mm.OneClassSVM(nu=0.1, kernel=Subsequence(2)), mm.SVDD(C=0.05, kernel=Subsequence(2))):
        detector.fit(TEXTS)
        assert detector.predict(strange).tolist() == [-1, -1]
        assert (detector.predict(TEXTS) == 1).mean() > 0.7


def test_scikit_learn_tools():
    search = GridSearchCV(mm.SVC(kernel=KERNEL), {"kernel__length": [1, 2], "C": [1.0, 10.0]}, cv=3).fit(
        TEXTS, Y
    )
    assert search.best_params_["kernel__length"] == 2  # single letters cannot tell "ab" from "ba"
    assert cross_val_score(search.best_estimator_, TEXTS, Y, cv=4).mean() > 0.7
    proba = mm.SVC(kernel=KERNEL, probability=True).fit(TEXTS, Y).predict_proba(TEXTS)
    np.testing.assert_allclose(proba.sum(axis=1), 1.0)


def test_empty_and_short_strings_are_no_trouble():
    model = mm.SVC(kernel=Subsequence(4)).fit(["", "ab", *TEXTS], [0, 1, *Y])
    assert np.isfinite(model.decision_function(["", "q", *TEXTS])).all()


def test_wrong_input_says_what_to_do():
    model = mm.SVC(kernel=KERNEL).fit(TEXTS, Y)
    with pytest.raises(ValueError, match="pass a list of strings"):
        model.predict("one text")
    with pytest.raises(ValueError, match="features='its name'"):
        mm.SVC(kernel=KERNEL).fit(pd.DataFrame({"a": TEXTS, "b": TEXTS}), Y)
    with pytest.raises(ValueError, match="X has no column 'message'"):
        mm.SVC(kernel=Subsequence(2, features="message")).fit(pd.DataFrame({"a": TEXTS}), Y)


def test_kernel_ridge_on_strings():
    counts = np.array([text.count("a") for text in TEXTS], dtype=float)
    model = mm.KernelRidge(0.5, kernel=KERNEL).fit(TEXTS[:60], counts[:60])
    reference = reference_ridge.KernelRidge(alpha=0.5, kernel="precomputed").fit(
        KERNEL(TEXTS[:60]), counts[:60]
    )
    new = KERNEL(TEXTS[60:], TEXTS[:60])
    np.testing.assert_allclose(model.predict(TEXTS[60:]), reference.predict(new), rtol=1e-8)
