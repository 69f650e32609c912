"""Weight-of-evidence columns, information value and selection by it."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.pipeline import make_pipeline

from maxmargin.machines.linear import LogisticRegression
from maxmargin.scorecards import Binning, IVSelector, WOEEncoder, information_value, iv_table, read_iv


@pytest.fixture(scope="module")
def table():
    rng = np.random.default_rng(0)
    n = 2000
    X = pd.DataFrame(
        {
            "age": rng.integers(18, 80, n).astype(float),
            "noise": rng.normal(size=n),
            "city": rng.choice(list("abc"), n),
        }
    )
    y = (rng.random(n) < 1 / (1 + np.exp(X["age"] / 20 - 1 + (X["city"] == "a")))).astype(int)
    X.loc[::20, "age"] = np.nan
    return X, y.to_numpy()


cells = st.lists(st.tuples(st.integers(1, 9), st.integers(1, 9)), min_size=2, max_size=5)


@settings(derandomize=True, deadline=None, max_examples=30)
@given(cells, st.sampled_from(["nonevent", "event"]))
def test_one_column_regression_has_coefficient_one_and_log_odds(counts, numerator):
    """The saturated model: a logistic regression on WoE alone repeats the bins' event rates."""
    x = np.repeat(np.arange(len(counts)), [p + n for p, n in counts])
    y = np.concatenate([np.r_[np.ones(p), np.zeros(n)] for p, n in counts])
    rates = {p / (p + n) for p, n in counts}
    woe = WOEEncoder(
        Binning(categories="each", categorical_features=[0], rare_share=0, min_share=0), numerator=numerator
    )
    Z = woe.fit_transform(x[:, None], y)
    if len(rates) == 1:
        assert np.ptp(Z) < 1e-12
        return
    model = LogisticRegression().fit(Z, y)
    expected = -1.0 if numerator == "nonevent" else 1.0
    assert model.coef_[0, 0] == pytest.approx(expected, abs=1e-5)
    assert model.intercept_[0] == pytest.approx(np.log(y.sum() / (len(y) - y.sum())), abs=1e-5)


@pytest.mark.parametrize("method", ["optimal", "quantile", "width", "mdl", "tree"])
def test_regression_identity_for_binned_numbers(table, method):
    X, y = table
    Z = WOEEncoder(Binning(method)).fit_transform(X[["age"]], y)
    model = LogisticRegression().fit(Z, y)
    assert model.coef_[0, 0] == pytest.approx(-1.0, abs=1e-6)
    assert model.intercept_[0] == pytest.approx(np.log(y.mean() / (1 - y.mean())), abs=1e-6)


def test_transform_reads_the_table_of_bins(table):
    X, y = table
    encoder = WOEEncoder().fit(X, y)
    Z = encoder.transform(X)
    np.testing.assert_array_equal(Z, WOEEncoder().fit_transform(X, y))
    codes = encoder.binning_.transform(X)
    for j, name in enumerate(X):
        np.testing.assert_array_equal(Z[:, j], encoder.binning_.table(name)["woe"].to_numpy()[codes[:, j]])
    np.testing.assert_array_equal(WOEEncoder(numerator="event").fit_transform(X, y), -Z)
    named = WOEEncoder().set_output(transform="pandas").fit_transform(X, y)
    assert list(named) == list(X)


def test_unknown_values(table):
    X, y = table
    encoder = WOEEncoder().fit(X, y)
    new = pd.DataFrame({"age": [30.0], "noise": [np.nan], "city": ["z"]})
    with pytest.warns(UserWarning, match="noise: 1 missing; city: 1 in unseen category"):
        assert encoder.transform(new)[0, 1:].tolist() == [0.0, 0.0]
    assert encoder.set_params(handle_unknown="neutral").transform(new)[0, 2] == 0.0
    with pytest.raises(ValueError, match="had no row in fit"):
        encoder.set_params(handle_unknown="error").transform(new)


def test_settings_are_checked(table):
    X, y = table
    with pytest.raises(ValueError, match="numerator"):
        WOEEncoder(numerator="bad").fit(X, y)
    with pytest.raises(ValueError, match="handle_unknown"):
        WOEEncoder(handle_unknown="ignore").fit(X, y)
    with pytest.raises(ValueError, match="must not be above"):
        IVSelector(min_iv=0.5, max_iv=0.1).fit(X, y)


def test_information_value_table(table):
    X, y = table
    found = information_value(X, y)
    assert found["variable"].tolist()[-1] == "noise"
    assert (np.diff(found["iv"]) <= 0).all()
    for row in found.itertuples():
        assert row.reading == read_iv(row.iv)
    binning = Binning().fit(X, y)
    pd.testing.assert_frame_equal(found, iv_table(binning))
    shares = binning.table("age")
    p, q = shares["events"] / shares["events"].sum(), shares["nonevents"] / shares["nonevents"].sum()
    expected = float(np.sum((q - p) * np.log(q / p)))
    assert found.set_index("variable")["iv"]["age"] == pytest.approx(expected)


@pytest.mark.parametrize(
    ("iv", "word"),
    [(0.0, "useless"), (0.02, "weak"), (0.1, "medium"), (0.3, "strong"), (0.5, "suspicious")],
)
def test_reading(iv, word):
    assert read_iv(iv) == word


def test_selection(table):
    X, y = table
    selector = IVSelector(min_iv=0.03).fit(X, y)
    assert selector.get_feature_names_out().tolist() == ["age", "city"]
    assert selector.table_.set_index("variable")["kept"].to_dict() == {
        "age": True,
        "city": True,
        "noise": False,
    }
    ceiling = float(np.sort(selector.iv_)[-1]) - 1e-9  # the best variable is now too good
    assert IVSelector(min_iv=0.0, max_iv=ceiling).fit(X, y).get_support().sum() == 2
    for value in selector.iv_:  # both ends of [min_iv, max_iv] belong to it
        exact = IVSelector(min_iv=float(value), max_iv=float(value)).fit(X, y)
        np.testing.assert_array_equal(exact.get_support(), selector.iv_ == value)
        np.testing.assert_array_equal(exact.table_["kept"], exact.table_["iv"] == value)
    model = make_pipeline(
        IVSelector(min_iv=0.03).set_output(transform="pandas"), WOEEncoder(), LogisticRegression()
    )
    assert model.fit(X, y).predict(X).shape == y.shape
