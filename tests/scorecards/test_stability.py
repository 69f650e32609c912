"""Population stability."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from maxmargin.scorecards import Binning, Scorecard, population_stability, read_psi, variable_stability


def test_same_sample_is_stable():
    x = np.random.default_rng(0).normal(size=1000)
    result = population_stability(x, x)
    assert result.psi == 0.0
    assert result.reading == "stable"
    assert float(result) == 0.0
    assert len(result.table) == 10


def test_definition():
    expected, actual = np.repeat(["a", "b"], [60, 40]), np.repeat(["a", "b"], [30, 70])
    hand = (0.3 - 0.6) * np.log(0.3 / 0.6) + (0.7 - 0.4) * np.log(0.7 / 0.4)
    result = population_stability(expected, actual)
    assert result.psi == pytest.approx(hand)
    assert population_stability(actual, expected).psi == pytest.approx(hand)
    assert result.reading == "large shift"
    assert "PSI" in str(result)


def test_new_categories_and_missing_values_are_bins():
    result = population_stability(np.array(["a", "b"] * 50), np.array(["a", None, "c"] * 30, dtype=object))
    shares = result.table.set_index("bin")["actual"]
    assert shares["c"] == pytest.approx(1 / 3)
    assert shares["missing"] == pytest.approx(1 / 3)
    # three empty cells of the four bins a, b, c, missing count as half a row
    parts = [
        (1 / 3 - 1 / 2) * np.log((1 / 3) / (1 / 2)),
        (0.5 / 90 - 1 / 2) * np.log((0.5 / 90) / (1 / 2)),
        2 * (1 / 3 - 0.5 / 100) * np.log((1 / 3) / (0.5 / 100)),
    ]
    assert result.psi == pytest.approx(sum(parts))


def test_variables_of_a_model():
    rng = np.random.default_rng(1)
    X = pd.DataFrame({"age": rng.normal(40, 10, 1000), "city": rng.choice(list("ab"), 1000)})
    y = rng.random(1000) < 1 / (1 + np.exp(-(X["age"] - 40) / 10 - (X["city"] == "a")))
    later = X.assign(age=X["age"] + 15, city=np.where(np.arange(1000) < 100, "z", X["city"]))
    found = variable_stability(Binning().fit(X, y), X, later).set_index("variable")
    assert found.loc["age", "reading"] == "large shift"
    assert found.loc["city", "unseen"] == pytest.approx(0.1)
    card = Scorecard().fit(X, y)
    pd.testing.assert_frame_equal(variable_stability(card, X, later), found.reset_index())
    assert variable_stability(card, X, X)["psi"].max() == 0.0


@pytest.mark.parametrize(("psi", "word"), [(0.05, "stable"), (0.1, "some shift"), (0.25, "large shift")])
def test_reading(psi, word):
    assert read_psi(psi) == word


def test_errors():
    with pytest.raises(ValueError, match="both hold numbers"):
        population_stability([1.0, 2.0], ["a", "b"])
    with pytest.raises(ValueError, match="has no rows"):
        population_stability([], [1.0])
    with pytest.raises(ValueError, match="n_bins=1 must be a whole number >= 2"):
        population_stability([1.0], [1.0], n_bins=1)
