"""Boundaries, ties and worked values of measures."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats
from sklearn.datasets import load_iris
from sklearn.linear_model import LogisticRegression, Perceptron
from sklearn.neighbors import NearestCentroid

from maxmargin import metrics as mm
from maxmargin.metrics import ranking
from maxmargin.metrics.confusion import ConfusionTable
from maxmargin.metrics.delong import _placements
from maxmargin.metrics.labels import BinaryTarget

# -- confusion tables ----------------------------------------------------------------------------------------


def test_rows_of_the_table_of_measures():
    """Every measure once, in its order; proportions have the interval of their own counts."""
    table = mm.confusion_table([1, 1, 1, 0, 0, 0, 0, 0], [1, 1, 0, 0, 0, 0, 1, 0])
    found = table.measures()
    assert list(found.index) == [
        "sensitivity", "specificity", "precision", "accuracy", "error", "balanced accuracy", "F1", "MCC"
    ]  # fmt: skip
    counts = {
        "sensitivity": (2, 3),
        "specificity": (4, 5),
        "precision": (2, 3),
        "accuracy": (6, 8),
        "error": (2, 8),
    }
    for name, (k, n) in counts.items():
        assert tuple(found.loc[name]) == pytest.approx((k / n, *mm.wilson_interval(k, n)))
    assert found.loc[["balanced accuracy", "F1", "MCC"], ["low", "high"]].isna().all(axis=None)
    assert not table.weighted
    assert not ConfusionTable(counts=np.eye(2), names=("a", "b"), positive="b").weighted


def test_measures_of_several_classes():
    table = mm.confusion_table(list("aaabbc"), list("abcbba"))  # diagonal 1, 2, 0
    found = table.measures()
    assert list(found.index) == ["accuracy", "error", "balanced accuracy", "MCC"] + [
        f"{kind} of {name}" for name in "abc" for kind in ("recall", "precision")
    ]
    counts = {
        "recall of a": (1, 3),
        "precision of a": (1, 2),
        "recall of b": (2, 2),
        "precision of b": (2, 3),
    }
    for name, (k, n) in counts.items():
        assert tuple(found.loc[name]) == pytest.approx((k / n, *mm.wilson_interval(k, n)))
    assert str(table).startswith("Prediction by truth\n")
    assert str(mm.confusion_table([0, 1], [0, 1])).startswith("Prediction by truth (positive: 1)\n")


def test_a_correlation_with_small_weights():
    """Weights of 1e-3 give a spread below 1; without a spread there is no correlation."""
    y, said = [0, 0, 1, 1, 1], [0, 1, 1, 1, 0]
    small = mm.confusion_table(y, said, sample_weight=np.full(5, 1e-3))
    assert small.mcc == pytest.approx(mm.confusion_table(y, said).mcc)
    assert np.isnan(mm.confusion_table([0, 1], [1, 1]).mcc)


@pytest.mark.parametrize("confidence", [0.0, 1.0, 1.5, -0.5])
def test_a_confidence_lies_strictly_between_0_and_1(confidence):
    calls = [
        lambda: mm.wilson_interval(1, 2, confidence),
        lambda: mm.confusion_table([0, 1], [0, 1], sample_weight=[1.0, 2.0]).measures(confidence),
        lambda: mm.auc([0, 1], [0, 1], confidence=confidence),
        lambda: mm.compare_auc([0, 1, 0], ["no", "numbers", "here"], [0, 1, 1], confidence=confidence),
    ]
    for call in calls:
        with pytest.raises(ValueError, match="must lie between 0 and 1"):
            call()


def test_different_numbers_of_rows_are_refused():
    with pytest.raises(ValueError, match=r"inconsistent numbers of samples: \[3, 2\]"):
        mm.confusion_table([0, 1, 0], [0, 1])
    with pytest.raises(ValueError, match=r"inconsistent numbers of samples: \[3, 2\]"):
        mm.auc([0, 1, 0], [0.5, 1.0])


# -- areas ---------------------------------------------------------------------------------------------------


def test_placements_are_shares_of_the_other_class():
    """Positives 1, 2, 3 and negatives 0, 2: a tie counts one half."""
    target = BinaryTarget(is_positive=np.array([True, True, True, False, False]), positive="1", negative="0")
    below, above = _placements(target, np.array([1.0, 2.0, 3.0, 0.0, 2.0]))
    np.testing.assert_allclose(below, [0.5, 0.75, 1.0])
    np.testing.assert_allclose(above, [1.0, 0.5])
    result = mm.auc([1, 1, 1, 0, 0], [1, 2, 3, 0, 2])
    assert result.value == 0.75
    error = np.sqrt(np.var([0.5, 0.75, 1.0], ddof=1) / 3 + np.var([1.0, 0.5], ddof=1) / 2)
    assert result.standard_error == pytest.approx(error)


def test_an_interval_of_no_width_is_shown_and_one_of_weighted_rows_is_not():
    assert "interval 1.0000 to 1.0000" in str(mm.auc([0, 0, 1, 1], [0, 1, 2, 3]))
    assert "interval" not in str(mm.auc([0, 0, 1, 1], [0, 1, 2, 3], sample_weight=[1, 2, 3, 4]))


def test_a_comparison_is_two_sided_and_cut_to_possible_differences():
    y = [0, 0, 0, 0, 1, 1, 1, 1]
    good, poor = [1, 2, 3, 5, 4, 6, 7, 8], [2, 1, 6, 3, 5, 4, 8, 7]
    first, second = mm.compare_auc(y, good, poor), mm.compare_auc(y, poor, good)
    assert second.difference == -first.difference
    assert second.p_value == first.p_value == pytest.approx(2 * stats.norm.sf(first.z))
    assert second.interval == (-first.interval[1], -first.interval[0])
    reversed_ = [9 - k for k in good]
    wide = mm.compare_auc(y, good, reversed_, confidence=0.999999)
    assert wide.interval[1] == 1.0
    assert mm.compare_auc(y, reversed_, good, confidence=0.999999).interval[0] == -1.0


# -- rankings ------------------------------------------------------------------------------------------------


def test_a_curve_keeps_every_threshold():
    curve = mm.roc([1, 1, 1, 0, 0], [5, 4, 3, 2, 1])
    assert curve.thresholds.tolist() == [np.inf, 5, 4, 3, 2, 1]


@pytest.mark.parametrize(
    ("few", "many", "law"), [(3, 3, "exact"), (3, 4, "asymp"), (4, 3, "asymp"), (2, 3, "exact")]
)
def test_p_values_are_exact_up_to_a_number_of_rows_in_each_class(monkeypatch, few, many, law):
    assert ranking._EXACT_ROWS == 1000
    monkeypatch.setattr(ranking, "_EXACT_ROWS", 3)
    y, score = np.repeat([0, 1], [few, many]), np.arange(few + many) * 3 % 7.0
    expected = stats.ks_2samp(score[y == 1], score[y == 0], method=law).pvalue
    assert stats.ks_2samp(score[y == 1], score[y == 0], method="exact").pvalue != pytest.approx(
        stats.ks_2samp(score[y == 1], score[y == 0], method="asymp").pvalue
    )
    assert mm.ks_statistic(y, score).p_value == expected


def test_worked_gains():
    """Events in the top 2, 4, 6, 8 of 8 rows: 2, 3, 3, 3 of 3."""
    table = mm.gains([1, 1, 0, 1, 0, 0, 0, 0], [8, 7, 6, 5, 4, 3, 2, 1], n_groups=4)
    np.testing.assert_allclose(table["cumulative_lift"], [8 / 3, 2.0, 4 / 3, 1.0])
    y, score = np.arange(40) % 2, np.arange(40)
    assert len(mm.gains(y, score)) == len(ranking.gains_of(BinaryTarget(
        is_positive=y == 1, positive="1", negative="0"), score)) == 10  # fmt: skip


def test_shares_of_a_lift():
    assert mm.lift([0, 1], [0, 1], share=1.0) == 1.0
    for share in (0.0, 1.0000001, 2.0, -0.1):
        with pytest.raises(ValueError, match=r"must lie in \(0, 1\]"):
            mm.lift([0, 1], [0, 1], share=share)


def test_probabilities_of_a_calibration():
    y = np.arange(40) % 2
    assert len(mm.calibration_table(y, np.arange(40) / 40)) == 10
    target = BinaryTarget(is_positive=y == 1, positive="1", negative="0")
    assert len(ranking.calibration_of(target, np.arange(40) / 40)) == 10
    assert mm.calibration_table([0, 1], [0.0, 1.0])["rows"].tolist() == [1, 1]
    for wrong in ([-0.001, 0.5], [0.5, 1.001]):
        with pytest.raises(ValueError, match=r"Probabilities must lie in \[0, 1\]"):
            mm.calibration_table([0, 1], wrong)


def test_calibration_groups_start_at_quantiles():
    """10 values with 3 groups: the shares below are 0, .1, ..., .9, and a group begins at 1/3 and at 2/3."""
    table = mm.calibration_table(np.arange(10) % 2, np.arange(10) / 10, n_groups=3)
    assert table["rows"].tolist() == [4, 3, 3]
    # a share of 3/10 * 10 in floating point is a hair below 3: it still begins its own group
    assert (
        mm.calibration_table(np.arange(10) % 2, np.arange(10) / 10, n_groups=10)["rows"].tolist() == [1] * 10
    )
    uneven = mm.calibration_table([0, 1, 0, 1, 0, 1], [0.1, 0.1, 0.1, 0.1, 0.5, 0.9], n_groups=2)
    assert uneven["rows"].tolist() == [4, 2]


def test_an_unknown_risk_is_refused_before_its_rows_are_read():
    with pytest.raises(ValueError, match="loss='squared'"):
        mm.empirical_risk([0, 1], [0.0, 1.0, 2.0], loss="squared")


# -- evaluations ---------------------------------------------------------------------------------------------

ROWS = np.array([[0.0], [1.0], [2.0], [1.5], [3.0], [4.0]])
LABELS = np.array([0, 0, 0, 1, 1, 1])


def test_rows_of_an_evaluation():
    result = mm.evaluate(LogisticRegression().fit(ROWS, LABELS), ROWS, LABELS)
    table, area = result.table(), result.ranking.auc
    assert list(table.index[-5:]) == ["AUC", "Gini", "KS", "Brier score", "log loss"]
    assert tuple(table.loc["AUC"]) == (area.value, *area.interval)
    gini = [2 * share - 1 for share in (area.value, *area.interval)]
    assert tuple(table.loc["Gini"]) == pytest.approx(gini)
    y = np.tile([0, 1, 1, 0], 10)
    noisy = mm.evaluate(LogisticRegression().fit(np.arange(40.0)[:, None] % 7 + y[:, None], y),
                        np.arange(40.0)[:, None] % 7 + y[:, None], y)  # fmt: skip
    high = noisy.ranking.auc.interval[1]
    assert high < 0.99
    assert noisy.table().loc["Gini", "high"] == pytest.approx(2 * high - 1)
    assert table.loc["Brier score", "value"] == result.ranking.brier
    assert table.loc["log loss", "value"] == result.ranking.log_loss
    lines = str(result).splitlines()
    assert lines[0] == "LogisticRegression on 6 rows, decided by predict"
    assert any(line.startswith("accuracy ") for line in lines)
    assert lines[-1] == f"{result.ranking.ks} (predict_proba)"
    cut = mm.evaluate(LogisticRegression().fit(ROWS, LABELS), ROWS, LABELS, threshold=0.25)
    assert str(cut).startswith("LogisticRegression on 6 rows, decided by score >= 0.25\n")


def test_a_threshold_is_reached_by_a_score_equal_to_it():
    model = Perceptron().fit(ROWS, LABELS)
    score = model.decision_function(ROWS)
    result = mm.evaluate(model, ROWS, LABELS, threshold=score[3])
    assert result.confusion.counts[1].sum() == np.sum(score >= score[3])
    with pytest.raises(ValueError, match="must be a number"):
        mm.evaluate(model, ROWS, LABELS, threshold=np.nan)


def test_evaluations_without_a_score_have_no_ranking():
    class Silent(NearestCentroid):
        """A classifier of two classes that only predicts."""

        predict_proba = decision_function = property()

    silent = Silent().fit(ROWS, LABELS)
    result = mm.evaluate(silent, ROWS, LABELS)
    assert result.ranking is None
    assert str(result).splitlines()[-1].startswith("MCC ")
    with pytest.raises(ValueError, match="needs two classes and a score"):
        mm.evaluate(silent, ROWS, LABELS, threshold=0.5)
    with pytest.raises(ValueError, match="Silent has no decision_function"):
        mm.evaluate(silent, ROWS, LABELS, response_method="decision_function")


def test_three_classes_without_a_positive_one_have_no_score():
    X, y = load_iris(return_X_y=True)
    model = LogisticRegression(max_iter=1000).fit(X, y)
    for method in ("auto", "predict_proba", "decision_function"):
        assert mm.evaluate(model, X, y, response_method=method).ranking is None
    for positive in (None, 2):
        with pytest.raises(ValueError, match="the model has 3 classes"):
            mm.evaluate(model, X, y, positive=positive, threshold=0.5)
    model = LogisticRegression().fit(ROWS, LABELS)
    assert (
        mm.evaluate(model, ROWS, LABELS, response_method="decision_function").ranking.response
        == "decision_function"
    )
