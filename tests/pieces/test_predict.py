"""Predictions in pieces are the predictions."""

from __future__ import annotations

import dask.array as da
import dask.dataframe as dd
import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.ensemble import RandomForestClassifier
from sklearn.preprocessing import OneHotEncoder

import maxmargin as mm
from maxmargin import pieces as mp
from maxmargin.scorecards import Binning, WOEEncoder

rng = np.random.default_rng(0)
X = rng.normal(size=(300, 3))
y = np.digitize(X[:, 0] + rng.normal(size=300), [-0.7, 0.7])
KIND = rng.choice(["u", "v"], 300)
MODELS = [
    (mm.SVC(), y, "predict"),
    (mm.SVC(), y, "decision_function"),
    (mm.LogisticRegression(), y, "predict_proba"),
    (mm.SVR(), X[:, 0], "predict"),
    (mm.OneClassSVM(nu=0.2), None, "predict"),
    (mm.KernelRidge(), X[:, 0], "predict"),
    (mm.FisherDiscriminant(), y, "transform"),
    (RandomForestClassifier(5, random_state=0), y, "predict_proba"),
]
IDS = [f"{type(model).__name__}-{method}" for model, _, method in MODELS]


@pytest.fixture(scope="module", params=MODELS, ids=IDS)
def fitted(request):
    """A fitted model and a method of it."""
    model, target, method = request.param
    return model.fit(X, target), method


def test_every_way_out(fitted, tmp_path):
    model, method = fitted
    expected = getattr(model, method)(X)
    parts = mp.predict(model, mp.from_array(X, rows=70), method=method)
    np.testing.assert_allclose(np.concatenate(list(parts)), expected, atol=1e-12)
    filled = mp.predict(model, X, method=method, out=np.empty_like(expected))
    np.testing.assert_allclose(filled, expected, atol=1e-12)
    mapped = mp.predict(model, mp.from_array(X, rows=70), method=method, out=tmp_path / "out.npy")
    assert isinstance(mapped, np.memmap)
    np.testing.assert_allclose(mapped, expected, atol=1e-12)
    path = mp.predict(model, mp.from_array(X, rows=70), method=method, out=tmp_path / "out.parquet")
    np.testing.assert_allclose(pd.read_parquet(path).to_numpy().reshape(expected.shape), expected, atol=1e-12)


def test_dask_in_dask_out(fitted):
    model, method = fitted
    expected = getattr(model, method)(X)
    lazy = mp.predict(model, da.from_array(X, chunks=(80, 2)), method=method)
    assert isinstance(lazy, da.Array)
    assert lazy.shape == expected.shape
    assert lazy.dtype == expected.dtype
    np.testing.assert_allclose(lazy.compute(), expected, atol=1e-12)


def test_dask_dataframes_keep_their_index_and_get_names():
    frame = pd.DataFrame(X, columns=list("abc"), index=np.arange(300) * 2)
    frame["kind"] = KIND
    lazy = dd.from_pandas(frame, npartitions=3)
    logistic = mm.LogisticRegression().fit(frame[list("abc")], y)
    labels = mp.predict(logistic, lazy[list("abc")])
    assert labels.name == "predict"
    pd.testing.assert_series_equal(
        labels.compute(), pd.Series(logistic.predict(frame[list("abc")]), frame.index, name="predict")
    )
    shares = mp.predict(logistic, lazy[list("abc")], method="predict_proba")
    assert list(shares.columns) == ["predict_proba_0", "predict_proba_1", "predict_proba_2"]
    encoder = WOEEncoder(Binning(), handle_unknown="error").fit(frame, y > 0)
    encoded = mp.predict(encoder, lazy, method="transform")
    assert list(encoded.columns) == ["a", "b", "c", "kind"]
    np.testing.assert_allclose(encoded.compute(), encoder.transform(frame))


def test_partitions_without_rows():
    """As a filter leaves them: they add nothing to a fit and have no predictions."""
    frame = pd.DataFrame(X, columns=list("abc")).assign(y=y > 0, kind=KIND)
    lazy = dd.concat(
        [dd.from_pandas(frame.iloc[rows], npartitions=1) for rows in (slice(0, 0), slice(0, 180))]
    )
    lazy = dd.concat([lazy, dd.from_pandas(frame.iloc[180:], npartitions=1)])
    assert lazy.npartitions == 3
    for make, target in ((mm.LogisticRegression, "y"), (mm.LeastSquares, "c"), (mm.FisherDiscriminant, "y")):
        whole, cut = make().fit(frame[["a", "b"]], frame[target]), make().fit(lazy[["a", "b"]], lazy[target])
        expected = whole.predict(frame[["a", "b"]])
        np.testing.assert_allclose(mp.predict(cut, lazy[["a", "b"]]).compute(), expected, atol=1e-9)
    encoder = WOEEncoder().fit(lazy.drop(columns="y"), lazy["y"])
    expected = WOEEncoder().fit_transform(frame.drop(columns="y"), frame["y"])
    np.testing.assert_allclose(
        mp.predict(encoder, lazy.drop(columns="y"), method="transform").compute(), expected, atol=1e-9
    )


def test_sparse_results_and_frames():
    frame = pd.DataFrame({"k": KIND[:50]})
    encoder = OneHotEncoder().fit(frame)
    parts = list(mp.predict(encoder, mp.from_array(frame, rows=20), method="transform"))
    np.testing.assert_array_equal(sparse.vstack(parts).toarray(), encoder.transform(frame).toarray())


def test_wrong_requests(tmp_path):
    model = mm.SVC().fit(X, y)
    with pytest.raises(AttributeError, match="SVC has no method 'guess'"):
        mp.predict(model, X, method="guess")
    with pytest.raises(ValueError, match="must end in"):
        mp.predict(model, X, out="a.csv")
    with pytest.raises(ValueError, match="10 rows"):
        mp.predict(model, X, out=np.empty(10))
    with pytest.raises(ValueError, match="400 rows and there are 300"):
        mp.predict(model, X, out=np.empty(400))
    words = mm.SVC().fit(X, np.array(["a", "b", "c"], dtype=object)[y])
    with pytest.raises(TypeError, match=r"use '.parquet'"):
        mp.predict(words, X, out=tmp_path / "a.npy")
    with pytest.raises(ValueError, match="out= is for pieces"):
        mp.predict(model, da.from_array(X), out=np.empty(300))


@pytest.mark.parametrize("ending", [".npy", ".parquet"])
def test_a_full_disk_leaves_no_partial_file(ending, tmp_path, monkeypatch):
    X = np.linspace(-1.0, 1.0, 100)[:, None]
    model = mm.LinearSVC().fit(X, X[:, 0] > 0)
    path = tmp_path / f"out{ending}"
    mm.pieces.predict(model, mm.pieces.from_array(X, rows=30), method="decision_function", out=path)
    before = path.read_bytes()

    class Full(type(model)):
        def decision_function(self, X):
            if X[0, 0] > 0.5:
                raise OSError(28, "No space left on device")
            return super().decision_function(X)

    model.__class__ = Full
    with pytest.raises(OSError, match="No space left"):
        mm.pieces.predict(model, mm.pieces.from_array(X, rows=30), method="decision_function", out=path)
    assert path.read_bytes() == before
    assert [one.name for one in tmp_path.iterdir()] == [path.name]
