"""Scorecards: the scale, the points, the warnings."""

from __future__ import annotations

import pickle

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LogisticRegression as SklearnLogistic
from sklearn.model_selection import cross_val_score

from maxmargin.scorecards import Binning, Scorecard, ScorecardWarning
from maxmargin.scorecards.evidence import js_of_bins


@pytest.fixture(scope="module")
def table():
    rng = np.random.default_rng(0)
    n = 2000
    X = pd.DataFrame(
        {
            "age": rng.integers(18, 80, n).astype(float),
            "income": np.exp(rng.normal(size=n)),
            "city": rng.choice(list("abc"), n),
        }
    )
    logit = 1 - X["age"] / 25 - np.log(X["income"]) / 2 + (X["city"] == "a")
    y = np.where(rng.random(n) < 1 / (1 + np.exp(-logit)), "bad", "good")
    X.loc[::20, "age"] = np.nan
    return X, y


@pytest.fixture(scope="module")
def card(table):
    X, y = table
    return Scorecard(positive="bad", round_points=False).fit(X, y)


def test_scale(table, card):
    """Points are a straight line in log odds: base_score at base_odds, pdo more where the odds double."""
    X, _ = table
    p = card.predict_proba(X)[:, 0]  # "bad" sorts first
    points = card.points(X)
    odds = (1 - p) / p
    np.testing.assert_allclose(points, 600 + 20 * np.log2(odds / 50), rtol=1e-9)
    np.testing.assert_allclose(card.probability(points), p, rtol=1e-9)
    assert card.probability(600) == pytest.approx(1 / 51)
    assert card.probability(620) == pytest.approx(1 / 101)


def test_probabilities_are_the_regressions(table, card):
    X, _ = table
    expected = card.estimator_.predict_proba(
        pd.DataFrame(card.encoder_.transform(X), columns=list(X))[card.variables_]
    )
    np.testing.assert_allclose(card.predict_proba(X), expected, atol=1e-12)
    assert (card.predict(X) == card.classes_[card.predict_proba(X).argmax(axis=1)]).all()


def test_score_keeps_scikit_learns_meaning(table, card):
    X, y = table
    assert card.score(X, y) == pytest.approx(np.mean(card.predict(X) == y))
    assert card.score(X, y) > 0.6


@pytest.mark.parametrize("intercept", ["spread", "separate"])
@pytest.mark.parametrize("round_points", [False, True])
def test_points_table_adds_up(table, intercept, round_points):
    X, y = table
    card = Scorecard(positive="bad", intercept=intercept, round_points=round_points).fit(X, y)
    labels = card.binning_.labels(X)
    lookup = card.points_.set_index(["variable", "bin"])["points"]
    total = np.full(len(X), card.base_points_)
    for name in card.variables_:
        total += labels[name].map(lookup[name]).to_numpy(dtype=float)
    np.testing.assert_allclose(card.points(X), total)
    if round_points:
        assert (card.points_["points"] % 1 == 0).all()
        exact = Scorecard(positive="bad", intercept=intercept, round_points=False).fit(X, y).points(X)
        assert np.abs(card.points(X) - exact).max() <= 0.5 * (len(card.variables_) + 1)


def test_explanation(table, card):
    X, _ = table
    for row in (X.iloc[[3]], X.iloc[3], X.iloc[3].to_dict()):
        told = card.explain(row)
        assert told["points"].sum() == pytest.approx(card.points(X.iloc[[3]])[0])
        assert (told["lost"] >= -1e-12).all()
        assert (np.diff(told["lost"]) <= 0).all()
    separate = Scorecard(positive="bad", intercept="separate", round_points=False).fit(*table)
    separate = separate.explain(X.iloc[[3]])
    assert separate["points"].sum() == pytest.approx(card.points(X.iloc[[3]])[0])
    assert separate["variable"][0] == "(base)"
    with pytest.raises(ValueError, match="takes one row"):
        card.explain(X.iloc[:2])


def test_summary(table, card):
    X, _ = table
    summary = card.summary()
    assert set(summary.index) == set(X)
    assert (summary["sign"] == "right").all()
    assert (summary["p_value"] < 0.05).all()
    assert (summary["coefficient"] < 0).all()
    np.testing.assert_allclose(summary["z"], summary["coefficient"] / summary["std_error"])
    assert summary.loc["age", "trend"] == "descending"


def test_the_label_of_the_event_only_names_it(table, card):
    X, y = table
    binary = Scorecard(round_points=False).fit(X, (y == "bad").astype(int))
    np.testing.assert_allclose(binary.points(X), card.points(X))
    np.testing.assert_allclose(binary.decision_function(X), -card.decision_function(X))
    same = Scorecard(binning=Binning(positive="bad"), round_points=False).fit(X, y)
    np.testing.assert_allclose(same.points(X), card.points(X))
    with pytest.raises(ValueError, match="contradicts"):
        Scorecard(positive="good", binning=Binning(positive="bad")).fit(X, y)


def test_the_regression_is_certified(card):
    assert card.certificate_.relative_gap <= card.estimator_.tol


def test_another_estimator(table):
    X, y = table
    card = Scorecard(positive="bad", estimator=SklearnLogistic(C=0.5)).fit(X, y)
    assert np.isnan(card.summary()["std_error"]).all()
    assert card.certificate_ is None
    assert card.summary()["coefficient"].notna().all()


def test_a_wrong_sign_is_reported():
    """Two noisy copies of one signal, one of them noisier: the regression may turn the second around."""
    rng = np.random.default_rng(3)
    x = rng.normal(size=4000)
    y = (rng.random(4000) < 1 / (1 + np.exp(-2 * x))).astype(int)
    other = x + 0.3 * rng.normal(size=4000) - 0.35 * (y - 0.5)
    X = pd.DataFrame({"signal": x, "copy": other})
    with pytest.warns(ScorecardWarning, match="wrong sign .* for copy"):
        card = Scorecard().fit(X, y)
    assert card.summary().loc["copy", "sign"] == "wrong"
    assert any("wrong sign" in note for note in card.notes_)


def test_turning_event_rates_are_reported():
    x = np.linspace(-1, 1, 1000)
    y = (np.random.default_rng(0).random(1000) < x**2).astype(int)
    with pytest.warns(ScorecardWarning, match="does not move in one direction over the bins of x0"):
        Scorecard(binning=Binning("quantile", max_bins=5)).fit(x[:, None], y)
    card = Scorecard(binning=Binning(trend="none", max_bins=5)).fit(x[:, None], y)
    assert card.notes_ == []


def test_nothing_is_dropped_silently(table):
    X, y = table
    X = X.assign(constant=1.0)
    with pytest.warns(ScorecardWarning, match="one bin: constant"):
        card = Scorecard(positive="bad").fit(X, y)
    assert card.dropped_["variable"].tolist() == ["constant"]
    assert not card.summary().loc["constant", "used"]
    iv = card.summary()["iv"]
    with pytest.warns(ScorecardWarning):
        smaller = Scorecard(positive="bad", min_iv=float(iv.iloc[1])).fit(X, y)
    assert len(smaller.variables_) == 2
    assert len(smaller.dropped_) == 2
    with pytest.raises(ValueError, match="No variable is left"):
        Scorecard(min_iv=1e9).fit(X, y)


def test_useless_variables_are_named_and_left_out_by_default(table):
    X, y = table
    X = X.assign(coin=np.arange(len(y)) % 2)
    with pytest.warns(ScorecardWarning, match=r"information value is below min_iv=0.02: coin \(0\.0\d+\)"):
        card = Scorecard(positive="bad").fit(X, y)
    assert card.variables_ == ["age", "income", "city"]
    assert card.dropped_["variable"].tolist() == ["coin"]
    assert "min_iv=0.02" in card.dropped_["reason"][0]
    assert any("coin" in note for note in card.notes_)
    everything = Scorecard(positive="bad", min_iv=0.0).fit(X, y)
    assert "coin" in everything.variables_
    assert everything.notes_ == []


def test_a_variable_exactly_at_min_iv_is_kept(table):
    X, y = table
    iv = Scorecard(positive="bad").fit(X, y).summary()["iv"]
    at = Scorecard(positive="bad", min_iv=float(iv.min())).fit(X, y)
    assert set(at.variables_) == set(X)
    with pytest.warns(ScorecardWarning, match="min_iv"):
        above = Scorecard(positive="bad", min_iv=float(np.nextafter(iv.min(), 1))).fit(X, y)
    assert set(X) - set(above.variables_) == {iv.idxmin()}


def test_points_are_whole_by_default(table, card):
    X, y = table
    whole = Scorecard(positive="bad").fit(X, y)
    assert (whole.points_["points"] % 1 == 0).all()
    np.testing.assert_array_equal(whole.points_["points"], np.rint(card.points_["points"]))
    assert (whole.points(X) % 1 == 0).all()
    np.testing.assert_allclose(whole.predict_proba(X), card.predict_proba(X))
    assert np.abs(whole.points(X) - card.points(X)).max() <= 0.5 * len(card.variables_)


def test_unknown_values(table, card):
    X, _ = table
    new = X.iloc[[0]].assign(city="zz")
    with pytest.warns(UserWarning, match="unseen category"):
        points = card.points(new)[0]
    with pytest.warns(UserWarning, match="unseen category"):
        told = card.explain(new).set_index("variable")
    assert told.loc["city", "bin"] == "unseen"
    assert told["points"].sum() == pytest.approx(points)


def test_settings_are_checked(table):
    X, y = table
    for options in ({"pdo": 0}, {"base_odds": -1}):
        with pytest.raises(ValueError, match="must be a number > 0"):
            Scorecard(**options).fit(X, y)
    with pytest.raises(ValueError, match="intercept"):
        Scorecard(intercept="none").fit(X, y)


def test_weights_are_repeated_rows(table):
    X, y = table
    weight = np.random.default_rng(1).integers(0, 3, len(y))
    rows = np.repeat(np.arange(len(y)), weight)
    weighted = Scorecard(round_points=False).fit(X, y, sample_weight=weight)
    repeated = Scorecard(round_points=False).fit(X.iloc[rows], y[rows])
    np.testing.assert_allclose(weighted.points(X), repeated.points(X), rtol=1e-7)


def test_pickle_and_cross_validation(table, card):
    X, y = table
    again = pickle.loads(pickle.dumps(card))
    np.testing.assert_array_equal(again.points(X), card.points(X))
    assert cross_val_score(Scorecard(positive="bad"), X, y, cv=3, scoring="roc_auc").mean() > 0.7


def test_the_error_without_variables_is_one_sentence_with_the_reasons():
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"noise": rng.normal(size=3000), "city": [f"c{k % 300}" for k in range(3000)]})
    with pytest.raises(ValueError, match="No variable is left") as refused:
        Scorecard(min_iv=0.5).fit(X, rng.random(3000) < 0.5)
    said = str(refused.value)
    assert "noise (IV " in said
    assert "below min_iv=0.5" in said
    assert "city (IV 0: all rows are in one bin)" in said
    assert "\n" not in said


@pytest.mark.parametrize(("n_columns", "n_named", "more"), [(4, 4, False), (5, 5, False), (6, 5, True)])
def test_the_error_names_the_first_five_variables(n_columns: int, n_named: int, more: bool) -> None:
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.normal(size=(300, n_columns)), columns=[f"v{j}" for j in range(n_columns)])
    with pytest.raises(ValueError, match="No variable is left") as refused:
        Scorecard(min_iv=50.0).fit(X, rng.random(300) < 0.5)
    said = str(refused.value)
    assert sum(f"v{j} (IV " in said for j in range(n_columns)) == n_named
    assert (", ..." in said) is more


def test_the_jensen_shannon_divergence_of_two_bins() -> None:
    """Shares (1/2, 1/2) and (1, 0), whose mean is (3/4, 1/4)."""
    found = js_of_bins(np.array([3.0, 3.0]), np.array([8.0, 0.0]), 6.0, 8.0)
    first = 0.5 * (0.5 * np.log(0.5 / 0.75) + np.log(1 / 0.75))
    np.testing.assert_allclose(found, [first, 0.5 * 0.5 * np.log(0.5 / 0.25)])
