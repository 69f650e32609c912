"""Measures against their definitions, scikit-learn and scipy."""

from __future__ import annotations

import doctest
import importlib
import pickle
from itertools import combinations, product

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from scipy import stats
from sklearn import metrics as sk

from maxmargin import metrics as mm

quiet = settings(derandomize=True, deadline=None, max_examples=40)


@st.composite
def scored(draw):
    """Labels with both classes, and integer scores, so that ties are common."""
    n = draw(st.integers(4, 40))
    y = np.array(draw(st.lists(st.integers(0, 1), min_size=n, max_size=n)))
    y[:2] = [0, 1]
    score = np.array(draw(st.lists(st.integers(-4, 4), min_size=n, max_size=n)), dtype=float)
    return y, score


@pytest.mark.parametrize("name", ["confusion", "delong", "evaluation", "ranking", "risk"])
def test_examples(name):
    module = importlib.import_module(f"maxmargin.metrics.{name}")
    result = doctest.testmod(module)
    assert result.attempted > 0
    assert result.failed == 0


@quiet
@given(scored())
def test_auc_is_sklearns_and_mann_whitneys(data):
    y, score = data
    positives, negatives = score[y == 1], score[y == 0]
    u = stats.mannwhitneyu(positives, negatives).statistic
    result = mm.auc(y, score)
    assert result.value == pytest.approx(sk.roc_auc_score(y, score), abs=1e-12)
    assert result.value == pytest.approx(u / (len(positives) * len(negatives)), abs=1e-12)
    assert mm.gini(y, score) == pytest.approx(2 * result.value - 1, abs=1e-12)
    assert mm.auc(y, score, positive=0).value == pytest.approx(1 - result.value, abs=1e-12)


@quiet
@given(scored())
def test_delong_variance_is_the_definition(data):
    """Variance of the two sets of placements, computed from all pairs (DeLong et al. 1988, equation 5)."""
    y, score = data
    a, b = score[y == 1], score[y == 0]
    psi = (a[:, None] > b[None, :]) + 0.5 * (a[:, None] == b[None, :])
    if min(len(a), len(b)) < 2:
        assert mm.auc(y, score).interval == (0.0, 1.0)
        return
    expected = np.var(psi.mean(axis=1), ddof=1) / len(a) + np.var(psi.mean(axis=0), ddof=1) / len(b)
    assert mm.auc(y, score).standard_error ** 2 == pytest.approx(expected, abs=1e-12)


def test_delong_interval_covers():
    """A 90 % interval covers the true area in about 90 % of samples (binomial bound at 1e-6)."""
    rng = np.random.default_rng(0)
    truth = stats.norm.cdf(1 / np.sqrt(2))
    y = np.repeat([0, 1], 80)
    hits = 0
    for _ in range(300):
        low, high = mm.auc(y, rng.normal(size=160) + y, confidence=0.9).interval
        hits += low <= truth <= high
    low, high = stats.binom.ppf([1e-6, 1 - 1e-6], 300, 0.9)
    assert low <= hits <= high


def test_comparison_of_equal_and_of_unequal_models():
    rng = np.random.default_rng(1)
    y = np.repeat([0, 1], 200)
    good, noise = rng.normal(size=400) + 1.5 * y, rng.normal(size=400)
    assert mm.compare_auc(y, good, 3 * good).p_value == 1.0
    result = mm.compare_auc(y, good, noise)
    assert result.p_value < 1e-8
    assert result.interval[0] < result.difference < result.interval[1]
    assert mm.compare_auc(y, noise, good).z == pytest.approx(-result.z)
    assert mm.compare_auc([0, 1, 0, 1], [0, 1, 0, 1], [1, 0, 1, 0]).p_value == 0.0


def test_comparison_keeps_its_level():
    """Two equally good correlated scores differ at the 5 % level in about 5 % of samples."""
    rng = np.random.default_rng(2)
    y = np.repeat([0, 1], 60)
    rejected = 0
    for _ in range(300):
        shared = rng.normal(size=120) + y
        a, b = (shared + rng.normal(size=120) for _ in range(2))
        rejected += mm.compare_auc(y, a, b).p_value < 0.05
    low, high = stats.binom.ppf([1e-6, 1 - 1e-6], 300, 0.05)
    assert low <= rejected <= high


@quiet
@given(scored())
def test_ks_is_the_largest_gap_of_the_roc(data):
    y, score = data
    result = mm.ks_statistic(y, score)
    curve = mm.roc(y, score)
    assert result.value == pytest.approx(np.abs(curve.tpr - curve.fpr).max(), abs=1e-12)
    assert result.value == pytest.approx(
        stats.ks_2samp(score[y == 1], score[y == 0], method="asymp").statistic, abs=1e-12
    )
    said = score >= result.threshold
    assert abs(said[y == 1].mean() - said[y == 0].mean()) == pytest.approx(result.value)
    assert curve.at(result.threshold) == (result.fpr, result.tpr)


def test_ks_p_value_is_the_share_of_relabellings():
    """Exact law: of all ways to pick the 4 positives among 9 distinct scores, those at least as far apart."""
    score = np.arange(9.0)
    values = []
    for chosen in combinations(range(9), 4):
        y = np.isin(score, chosen)
        values.append(mm.ks_statistic(y, score).value)
    y = np.isin(score, (3, 6, 7, 8))
    result = mm.ks_statistic(y, score)
    assert result.p_value == pytest.approx(np.mean(np.array(values) >= result.value - 1e-12))


@quiet
@given(scored(), st.randoms(use_true_random=False))
def test_row_order_does_not_matter(data, random):
    y, score = data
    order = np.array(random.sample(range(len(y)), len(y)))
    assert mm.auc(y[order], score[order]).interval == pytest.approx(mm.auc(y, score).interval)
    assert mm.ks_statistic(y[order], score[order]) == mm.ks_statistic(y, score)
    first, second = mm.gains(y, score), mm.gains(y[order], score[order])
    np.testing.assert_allclose(first, second, atol=1e-12)


@quiet
@given(scored())
def test_weight_two_is_a_row_twice(data):
    y, score = data
    weight = 1 + (np.arange(len(y)) % 2)
    yy, ss = np.repeat(y, weight), np.repeat(score, weight)
    assert mm.roc(y, score, sample_weight=weight).auc == pytest.approx(mm.roc(yy, ss).auc)
    weighted = mm.ks_statistic(y, score, sample_weight=weight)
    assert weighted.value == pytest.approx(mm.ks_statistic(yy, ss).value)
    assert np.isnan(weighted.p_value)
    np.testing.assert_allclose(mm.gains(y, score, sample_weight=weight), mm.gains(yy, ss), atol=1e-12)
    area = mm.auc(y, score, sample_weight=weight)
    assert area.value == pytest.approx(mm.auc(yy, ss).value)
    assert np.isnan([area.standard_error, *area.interval]).all()
    p = (score + 4) / 8
    groups, repeated = (
        mm.calibration_table(y, p, sample_weight=weight),
        mm.calibration_table(yy, (ss + 4) / 8),
    )
    np.testing.assert_allclose(groups.iloc[:, :4], repeated.iloc[:, :4], atol=1e-12)
    assert np.isnan(groups[["low", "high"]]).all(axis=None)
    table = mm.confusion_table(y, score > 0, sample_weight=weight)
    np.testing.assert_array_equal(table.counts, mm.confusion_table(yy, ss > 0).counts)
    assert np.isnan(table.measures()["low"]).all()


def test_gains_of_distinct_scores_are_counts():
    rng = np.random.default_rng(3)
    y, score = rng.integers(0, 2, 100), rng.permutation(100).astype(float)
    ordered = y[np.argsort(-score)].reshape(10, 10).sum(axis=1)
    table = mm.gains(y, score)
    np.testing.assert_allclose(table["events"], ordered, atol=1e-9)
    np.testing.assert_allclose(table["captured"], np.cumsum(ordered) / y.sum())
    np.testing.assert_allclose(table["nonevents"], 10 - ordered, atol=1e-9)
    np.testing.assert_allclose(table["cumulative_events"], np.cumsum(ordered))
    np.testing.assert_allclose(table["cumulative_nonevents"], np.cumsum(10 - ordered))
    gap = np.cumsum(ordered) / y.sum() - np.cumsum(10 - ordered) / (100 - y.sum())
    np.testing.assert_allclose(table["ks"], gap, atol=1e-12)
    np.testing.assert_allclose(table["event_rate"], ordered / 10)
    np.testing.assert_allclose(table["lift"], ordered / 10 / y.mean())
    assert mm.lift(y, score, share=0.2) == pytest.approx(ordered[:2].sum() / 20 / y.mean())
    assert mm.lift(y, score, share=1.0) == pytest.approx(1.0)


@quiet
@given(scored())
def test_gains_add_up_and_their_ks_never_passes_the_statistic(data):
    y, score = data
    table = mm.gains(y, score, n_groups=7)
    np.testing.assert_allclose(table["events"] + table["nonevents"], table["rows"], atol=1e-9)
    np.testing.assert_allclose(table["cumulative_events"].iloc[-1], y.sum())
    np.testing.assert_allclose(table["cumulative_nonevents"].iloc[-1], (1 - y).sum())
    assert table["ks"].iloc[-1] == pytest.approx(0.0, abs=1e-12)
    assert table["ks"].abs().max() <= mm.ks_statistic(y, score).value + 1e-12


def test_ks_of_gains_reaches_the_statistic_where_a_cut_is_the_best_threshold():
    y, score = np.array([1, 1, 0, 1, 0, 0, 0, 0]), np.arange(8.0)[::-1]
    assert mm.gains(y, score, n_groups=8)["ks"].max() == pytest.approx(mm.ks_statistic(y, score).value)


@pytest.mark.parametrize("measure", [mm.gini, mm.lift])
def test_a_measure_names_its_classes(measure):
    y, score = ["good", "bad", "good", "bad"], [0.1, 0.9, 0.6, 0.4]
    value = measure(y, score, positive="bad", names=["defaulted", "paid"])
    assert (value.positive, value.negative) == ("defaulted", "paid")
    assert str(value).endswith("(defaulted against paid)")
    again = pickle.loads(pickle.dumps(value))
    assert (again, again.positive) == (value, "defaulted")


@quiet
@given(st.lists(st.tuples(st.integers(0, 1), st.integers(0, 1)), min_size=1, max_size=30))
def test_measures_are_sklearns(pairs):
    truth, said = np.array(pairs).T
    assume(len(np.unique(truth)) == len(np.unique(said)) == 2)
    table = mm.confusion_table(truth, said)
    np.testing.assert_array_equal(table.counts, sk.confusion_matrix(truth, said).T)
    assert table.sensitivity == pytest.approx(sk.recall_score(truth, said))
    assert table.specificity == pytest.approx(sk.recall_score(truth, said, pos_label=0))
    assert table.precision == pytest.approx(sk.precision_score(truth, said))
    assert table.f1 == pytest.approx(sk.f1_score(truth, said))
    assert table.accuracy == pytest.approx(sk.accuracy_score(truth, said))
    assert table.error == pytest.approx(1 - table.accuracy)
    assert table.balanced_accuracy == pytest.approx(sk.balanced_accuracy_score(truth, said))
    assert table.mcc == pytest.approx(sk.matthews_corrcoef(truth, said))
    flipped = mm.confusion_table(truth, said, positive=0)
    assert flipped.sensitivity == pytest.approx(table.specificity)


def test_wilson_solves_its_quadratic():
    """The ends p of the interval satisfy (k/n - p)^2 = z^2 p (1 - p)/n (Wilson 1927)."""
    z = stats.norm.ppf(0.975)
    for k, n in product([0, 3, 10], [10, 40]):
        for p in mm.wilson_interval(k, n):
            assert (k / n - p) ** 2 == pytest.approx(z**2 * p * (1 - p) / n, abs=1e-12)


def test_measures_without_rows_are_nan():
    table = mm.confusion_table([0, 0, 1], [0, 0, 0])
    assert np.isnan(table.precision)
    assert table.sensitivity == 0.0
    assert np.isnan(table.measures().loc["precision"]).all()


def test_several_classes():
    truth, said = list("aabbccc"), list("abbbcca")
    table = mm.confusion_table(truth, said, names=["A", "B", "C"])
    assert table.frame().loc["B", "A"] == 1  # predicted B, true A
    assert table.positive is None
    with pytest.raises(ValueError, match="No positive class is named"):
        _ = table.sensitivity
    assert table.mcc == pytest.approx(sk.matthews_corrcoef(truth, said))
    assert "recall of C" in table.measures().index
    named = mm.confusion_table(truth, said, positive="c")
    assert named.cells == (2, 1, 0, 4)


def test_tables_say_which_class_is_positive():
    y, p = ["g", "b", "g", "b"], [0.1, 0.8, 0.3, 0.6]
    for table in (
        mm.gains(y, p, positive="b", names=["bad", "good"]),
        mm.calibration_table(y, p, positive="b", names=["bad", "good"]),
    ):
        assert table.attrs == {"positive": "bad", "negative": "good"}


@pytest.mark.parametrize(("n", "n_groups", "sizes"), [(12, 3, [4, 4, 4]), (7, 2, [4, 3]), (3, 5, [1, 1, 1])])
def test_calibration_groups_are_as_equal_as_distinct_values_allow(n, n_groups, sizes):
    table = mm.calibration_table(np.arange(n) % 2, np.arange(n) / n, n_groups=n_groups)
    assert table["rows"].tolist() == sizes


def test_calibration_groups():
    rng = np.random.default_rng(4)
    p = rng.integers(0, 5, 500) / 5
    y = rng.random(500) < p
    y[:2] = [True, False]
    table = mm.calibration_table(y, p, n_groups=10)
    assert len(table) <= 5  # equal probabilities stay together
    assert table["rows"].sum() == 500
    assert table["events"].sum() == y.sum()
    assert (table["low"] <= table["observed"]).all()
    with pytest.raises(ValueError, match="must lie in"):
        mm.calibration_table(y, p * 2)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: mm.auc([1, 1], [0, 1]), "Both classes are needed"),
        (lambda: mm.auc([0, 1], [0, np.nan]), "are NaN"),
        (lambda: mm.roc([0, 1, 2], [0, 1, 2]), "say which is positive"),
        (lambda: mm.roc([0, 1], [0, 1], positive=7), "is not one of the classes"),
        (lambda: mm.roc([0, 1], [0, 1], names=["a"]), "names has 1 entries"),
        (lambda: mm.roc([0, 1], [0, 1], names=["a", "a"]), "differ from each other"),
        (lambda: mm.auc([0, 1], [0, 1], confidence=95), "between 0 and 1"),
        (lambda: mm.lift([0, 1], [0, 1], share=0), "must lie in"),
        (lambda: mm.gains([0, 1], [0, 1], n_groups=0), "n_groups=0 must be a whole number >= 1"),
        (lambda: mm.calibration_table([0, 1], [0, 1], n_groups=0), "n_groups=0 must be a whole number >= 1"),
        (lambda: mm.calibration_table([0, 1], [0, 1], confidence="a"), "confidence='a' must lie between"),
        (lambda: mm.roc([], []), "y is empty: give at least one row"),
        (lambda: mm.roc([0, 1, None], [0, 1, 2], positive=1), "y has 1 missing labels: leave these rows out"),
        (lambda: mm.roc([0, 1, np.nan], [0, 1, 2], positive=1), "y has 1 missing labels"),
        (lambda: mm.roc(np.array([0, "a"], dtype=object), [0, 1]), r"several types \(int, str\)"),
        (lambda: mm.roc([0, 1], ["low", "high"]), "one number for each row: could not convert string"),
        (lambda: mm.roc([0, 1], [0, 1], positive="1"), r"positive='1' is not one of the classes \[0, 1\]"),
        (lambda: mm.roc([0, 1], [0, 1], positive=[]), r"positive=\[\] is not one of the classes"),
        (lambda: mm.roc([0, 1], [0, 1], names=2), "names=2 must be a list of one name per class"),
        (lambda: mm.roc([0, 1], [0, 1], sample_weight=[1, -1]), "sample_weight holds negative numbers"),
        (lambda: mm.ks_statistic([0, 1], [0, 1], sample_weight=[1, 0]), "no row of the class '1' has a pos"),
        (
            lambda: mm.confusion_table([0, 1], [0, 1], sample_weight=[1]),
            r"sample_weight has the shape \(1,\)",
        ),
        (lambda: mm.confusion_table([0, 1], ["0", "1"]), r"several types \(int, str\)"),
        (lambda: mm.confusion_table([0, 1], [0, None]), "y_pred has 1 missing labels"),
        (lambda: mm.wilson_interval(3, 2), "successes=3 must be a whole number from 0 to 2"),
        (lambda: mm.wilson_interval(0, 0), "trials=0 must be a whole number >= 1"),
    ],
)
def test_errors_say_what_is_wrong(call, message):
    with pytest.raises(ValueError, match=message):
        call()


# -- empirical risk --------------------------------------------------------------------------------------


@quiet
@given(scored())
def test_risks_against_their_definitions(case):
    y, score = case
    sign = np.where(y == 1, 1.0, -1.0)
    zero_one = mm.empirical_risk(y, score)
    hinge = mm.empirical_risk(y, score, loss="hinge")
    assert zero_one == pytest.approx(sk.zero_one_loss(y, score > 0))
    assert hinge == pytest.approx(sk.hinge_loss(sign, score))
    assert zero_one <= hinge  # Valera, figure 3.2
    assert mm.empirical_risk(y, score, loss="squared_hinge") == pytest.approx(
        np.mean(np.maximum(0.0, 1.0 - sign * score) ** 2)
    )
    assert mm.empirical_risk(y, -score, loss="hinge", positive=0) == pytest.approx(hinge)
    weight = np.arange(1, len(y) + 1)
    repeated = mm.empirical_risk(np.repeat(y, weight), np.repeat(score, weight), loss="hinge")
    assert mm.empirical_risk(y, score, loss="hinge", sample_weight=weight) == pytest.approx(repeated)


def test_a_risk_without_a_name_is_refused():
    with pytest.raises(ValueError, match="zero_one"):
        mm.empirical_risk([0, 1], [0.0, 1.0], loss="squared")
