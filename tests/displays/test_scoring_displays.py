"""Displays of scores and bins: what is drawn is what was computed."""

from __future__ import annotations

import doctest
import importlib

import matplotlib as mpl
import numpy as np
import pandas as pd
import pytest

from maxmargin import displays
from maxmargin.metrics import evaluate
from maxmargin.scorecards import Binning, IVSelector, Scorecard, WOEEncoder

SCORED = ["RocDisplay", "KsDisplay", "CalibrationDisplay", "ScoreDisplay"]


@pytest.fixture(scope="module")
def table():
    rng = np.random.default_rng(0)
    n = 1500
    X = pd.DataFrame({"age": rng.integers(18, 80, n).astype(float), "city": rng.choice(list("abc"), n)})
    y = np.where(rng.random(n) < 1 / (1 + np.exp(X["age"] / 20 - 1 - (X["city"] == "a"))), "bad", "good")
    X.loc[::30, "age"] = np.nan
    return X, y


@pytest.fixture(scope="module")
def card(table):
    return Scorecard(positive="bad").fit(*table)


@pytest.mark.parametrize(
    "name",
    ["choices.scorecard_displays", "evaluation.score_displays", "evaluation.prediction_displays"],
)
def test_examples(name):
    result = doctest.testmod(importlib.import_module(f"maxmargin.displays.{name}"))
    assert result.attempted > 0
    assert result.failed == 0


def test_names_are_listed():
    assert set(SCORED) < set(dir(displays))
    with pytest.raises(AttributeError, match="NoDisplay"):
        displays.NoDisplay  # noqa: B018 - the access is the test


@pytest.mark.parametrize("name", SCORED)
def test_all_ways_to_a_display_agree(table, card, name):
    X, y = table
    kind = getattr(displays, name)
    from_model = kind.from_estimator(card, X, y, positive="bad").plot()
    from_result = kind.from_result(evaluate(card, X, y, positive="bad")).plot()
    from_scores = kind.from_scores(y, card.predict_proba(X)[:, 0], positive="bad", what="p").plot()
    lines = [
        [line.get_xydata() for line in d.ax_.get_lines()] for d in (from_model, from_result, from_scores)
    ]
    for first, second, third in zip(*lines, strict=True):
        np.testing.assert_array_equal(first, second)
        np.testing.assert_allclose(first, third)
    words = [t.get_text() for t in from_model.ax_.figure.findobj(mpl.text.Text)]
    assert any("bad" in word for word in words)


def test_roc_marks_ks(table, card):
    X, y = table
    result = evaluate(card, X, y, positive="bad")
    ax = displays.RocDisplay.from_result(result).plot().ax_
    curve, _, gap = ax.get_lines()
    np.testing.assert_array_equal(curve.get_xdata(), result.ranking.roc.fpr)
    low, high = gap.get_ydata()
    assert high - low == pytest.approx(result.ranking.ks.value)


def test_ks_curves_meet_the_gap(table, card):
    X, y = table
    ks = evaluate(card, X, y, positive="bad").ranking.ks
    display = displays.KsDisplay.from_estimator(card, X, y, positive="bad").plot()
    gap = display.ax_.get_lines()[-1].get_ydata()
    assert abs(gap[1] - gap[0]) == pytest.approx(ks.value)
    assert np.mean(display.positive_scores < ks.threshold) == pytest.approx(1 - ks.tpr)


@pytest.mark.parametrize("line", ["event_rate", "woe"])
def test_bins(table, line):
    X, y = table
    binning = Binning(positive="bad").fit(X, y)
    display = displays.BinDisplay.from_estimator(binning, "age", line=line).plot()
    expected = binning.table("age")
    expected = expected[expected["count"] > 0]
    np.testing.assert_allclose([bar.get_height() for bar in display.ax_.patches], expected["share"])
    drawn = [part.get_ydata() for part in display.line_ax_.get_lines()]
    np.testing.assert_allclose(np.concatenate(drawn), expected[line])
    assert len(drawn[1]) == 1  # the missing values stand apart
    assert "age" in display.ax_.get_title()
    with pytest.raises(ValueError, match="line="):
        displays.BinDisplay.from_estimator(binning, "age", line="iv")


def test_bins_of_every_model(table, card):
    X, y = table
    encoder = WOEEncoder(Binning(positive="bad")).fit(X, y)
    first = displays.BinDisplay.from_estimator(encoder, "city").table
    pd.testing.assert_frame_equal(first, displays.BinDisplay.from_estimator(card, "city").table)


def test_information_values(table, card):
    X, y = table
    wide = X.assign(**{f"copy{k}": X["age"] for k in range(4)})
    selector = IVSelector(binning=Binning(positive="bad")).fit(wide, y)
    display = displays.IVDisplay.from_estimator(selector).plot(max_variables=4)
    assert len(display.ax_.patches) == 4
    assert "2 further variables" in display.ax_.get_title()
    np.testing.assert_allclose(
        [bar.get_width() for bar in display.ax_.patches], selector.table_["iv"].head(4).iloc[::-1]
    )
    assert len(displays.IVDisplay.from_estimator(card).plot().ax_.patches) == 2


def test_page(table, card):
    X, y = table
    page = displays.EvaluationDisplay.from_estimator(card, X, y, positive="bad").plot()
    assert len(page.axes_) == 4
    from sklearn.datasets import load_iris
    from sklearn.linear_model import LogisticRegression, Perceptron

    iris, kinds = load_iris(return_X_y=True)
    model = LogisticRegression(max_iter=1000).fit(iris, kinds)
    with pytest.raises(ValueError, match="no ranking to draw"):
        displays.EvaluationDisplay.from_estimator(model, iris, kinds)
    hard = Perceptron().fit(iris, kinds == 0)
    assert len(displays.EvaluationDisplay.from_estimator(hard, iris, kinds == 0).plot().axes_) == 3


def test_an_axes_is_used_when_given(table, card):
    import matplotlib.pyplot as plt

    X, y = table
    _, ax = plt.subplots()
    assert displays.RocDisplay.from_estimator(card, X, y, positive="bad").plot(ax).ax_ is ax
