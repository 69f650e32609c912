"""Bins, evidence and information value of pieces are those of the whole table, exactly."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

import maxmargin as mm
from maxmargin import pieces as mp
from maxmargin.scorecards import Binning, IVSelector, WOEEncoder, information_value
from maxmargin.scorecards import compress as module


def table(n=4000, seed=0):
    """Distinct values: many, few, many with one heavy atom; categories; missing, special and infinite."""
    rng = np.random.default_rng(seed)
    X = pd.DataFrame(
        {
            "many": rng.normal(size=n),
            "few": rng.integers(0, 50, n).astype(float),
            "heavy": np.where(rng.random(n) < 0.7, 0.0, rng.normal(size=n)),
            "kind": rng.choice(list("abcdefgh"), n).astype(object),
        }
    )
    y = (X["many"] + X["kind"].isin(["a", "b"]) + rng.normal(size=n) > 0.5).astype(int)
    X.loc[rng.random(n) < 0.05, "many"] = np.nan
    X.loc[rng.random(n) < 0.05, "kind"] = None
    X.loc[rng.random(n) < 0.05, "few"] = -999.0
    X.loc[:3, "heavy"] = np.inf
    return X, y, rng.integers(0, 3, n).astype(float)


def assert_same(in_pieces, in_memory):
    ours, theirs = in_pieces.table(), in_memory.table()
    assert ours["bin"].tolist() == theirs["bin"].tolist()
    for column in ours.columns[2:]:
        np.testing.assert_allclose(ours[column], theirs[column], rtol=1e-10, err_msg=column)
    for a, b in zip(in_pieces.bins_, in_memory.bins_, strict=True):
        np.testing.assert_array_equal(getattr(a, "edges", 0), getattr(b, "edges", 0))


SETTINGS = [
    {},
    {"method": "quantile"},
    {"method": "width", "min_share": 0.0},
    {"prebinning": "width"},
    {"prebinning": "mdl"},
    {"prebinning": "tree"},
    {"categories": "each", "rare_share": 0.0},
    {"edges": {"many": [-1.0, 0.0, 9.0]}},
    {"min_events": 20, "max_bins": 4, "trend": "none"},
]


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("settings", SETTINGS, ids=str)
def test_bins_are_those_of_the_whole_table(settings, weighted):
    X, y, weights = table()
    weights = weights if weighted else None
    binning = Binning(special_values={"few": [-999.0]}, **settings)
    in_pieces = Binning(**binning.get_params()).fit(mp.from_array(X, y, weights, rows=333))
    assert_same(in_pieces, binning.fit(X, y, weights))


@pytest.fixture
def few_values_kept(monkeypatch):
    """So few that columns of thousands of values take the road of columns of millions."""
    monkeypatch.setattr(module, "DISTINCT", 64)


@pytest.mark.usefixtures("few_values_kept")
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("n_prebins", [5, 20])
@pytest.mark.parametrize(
    "settings", [s for s in SETTINGS if s.get("prebinning") not in ("mdl", "tree")], ids=str
)
def test_quantiles_are_exact_when_values_are_too_many_to_keep(settings, n_prebins, weighted):
    X, y, weights = table()
    weights = weights if weighted else None
    binning = Binning(n_prebins=n_prebins, special_values={"few": [-999.0]}, **settings)
    in_pieces = Binning(**binning.get_params()).fit(mp.from_array(X, y, weights, rows=333))
    assert_same(in_pieces, binning.fit(X, y, weights))


@pytest.mark.usefixtures("few_values_kept")
@given(
    values=st.lists(st.floats(-1e300, 1e300).map(lambda v: round(v, 3)), min_size=150, max_size=400),
    atom=st.floats(0.0, 0.9),
    rows=st.integers(20, 200),
)
def test_any_column_has_exact_quantiles(values, atom, rows):
    rng = np.random.default_rng(len(values))
    x = np.array(values) * rng.choice([1.0, 1e-290], size=len(values))
    x[rng.random(len(x)) < atom] = x[0]
    y = np.arange(len(x)) % 2
    binning = Binning("quantile", max_bins=8, min_share=0.0)
    cut = Binning("quantile", max_bins=8, min_share=0.0).fit(mp.from_array(x[:, None], y, rows=rows))
    np.testing.assert_array_equal(cut.bins_[0].edges, binning.fit(x[:, None], y).bins_[0].edges)


@pytest.mark.usefixtures("few_values_kept")
@pytest.mark.parametrize("method", ["tree", "mdl"])
def test_methods_that_need_all_values_say_so(method):
    X, y, _ = table()
    with pytest.raises(ValueError, match=f"more than 80 distinct values, and '{method}' needs all"):
        Binning(method, n_prebins=5).fit(mp.from_array(X, y, rows=333))


def test_weight_of_evidence_and_information_value():
    X, y, _ = table()
    pieces = mp.from_array(X, y, rows=333)
    encoder = WOEEncoder().fit(X, y)
    np.testing.assert_allclose(WOEEncoder().fit(pieces).transform(X), encoder.transform(X), atol=1e-10)
    whole, cut = information_value(X, y), information_value(pieces)
    assert cut["variable"].tolist() == whole["variable"].tolist()
    np.testing.assert_allclose(cut["iv"], whole["iv"], rtol=1e-10)
    np.testing.assert_array_equal(
        IVSelector(0.05).fit(pieces).get_support(), IVSelector(0.05).fit(X, y).get_support()
    )
    parts = WOEEncoder().fit_transform(pieces)
    np.testing.assert_allclose(np.concatenate(list(parts)), encoder.transform(X), atol=1e-10)


def test_labels_the_event_and_names():
    X, y, _ = table(500)
    labels = np.where(y == 1, "bad", "good")
    binning = Binning(positive="good").fit(mp.from_array(X, labels, rows=90))
    assert binning.classes_.tolist() == ["bad", "good"]
    assert binning.event_ == "good"
    assert binning.feature_names_in_.tolist() == list(X.columns)
    assert_same(binning, Binning(positive="good").fit(X, labels))


def test_a_column_that_changes_its_kind_is_refused():
    y = [0, 1, 0, 1]
    parts = [(pd.DataFrame({"x": column}), y) for column in ([1.0, 2.0, 3.0, 4.0], ["a", "b", "c", "d"])]
    with pytest.raises(ValueError, match="numbers in one piece and categories in another"):
        Binning().fit(mp.from_iterable(parts))
    parts[0] = (pd.DataFrame({"x": np.full(4, None, dtype=object)}), y)
    both = pd.concat([frame for frame, _ in parts])
    settings = {"min_share": 0.0, "rare_share": 0.0}
    assert_same(Binning(**settings).fit(mp.from_iterable(parts)), Binning(**settings).fit(both, [*y, *y]))


def test_one_class_is_refused():
    X, y, _ = table(100)
    with pytest.raises(ValueError, match="one class"):
        Binning().fit(mp.from_array(X, np.ones(100, dtype=int), rows=9))
    with pytest.raises(ValueError, match="no row of the class 0 has a positive weight"):
        Binning().fit(mp.from_array(X, y, np.where(y == 1, 1.0, 0.0), rows=9))


def test_public_names():
    assert mm.pieces is mp
