"""What a TuneResult says about its cells, at boundaries and ties."""

from __future__ import annotations

import numpy as np
import pytest

from maxmargin.problems.multiclass import predict_codes, votes
from maxmargin.tuning.result import TuneResult, make_table


def result_of(params, folds):
    folds = np.asarray(folds, dtype=float)
    table = make_table(params, folds, np.zeros(len(params)), ["converged"] * len(params))
    return TuneResult(table, folds, params, measure="error", path="test", seconds=0.0)


def cells(values, name="C"):
    return [{name: value} for value in values]


def test_dispersion_is_the_standard_deviation_over_folds():
    result = result_of(cells([1.0]), [[0.1, 0.2, 0.4, 0.5]])
    assert result.best_error == pytest.approx(0.3)
    assert result.table["dispersion"][0] == pytest.approx(np.std([0.1, 0.2, 0.4, 0.5], ddof=1))
    assert result_of(cells([1.0]), [[0.1]]).table["dispersion"][0] == 0.0


def test_the_best_cell_is_the_first_of_equals_and_never_nan():
    assert result_of(cells([1.0, 2.0, 3.0]), [[np.nan], [0.2], [0.2]]).best_index == 1


def test_one_standard_error_divides_the_deviation_by_the_root_of_the_folds():
    """Deviation 2 over 4 folds: standard error 1, so an error of 4 is within reach of 3 and 4.5 is not."""
    best = np.array([1.0, 1.0, 1.0, 1.0]) + np.array([3.0, 3.0, -3.0, -3.0]) / np.sqrt(3)
    deviation = best.std(ddof=1)
    assert deviation == pytest.approx(2.0)
    near, far = np.full(4, 1.9), np.full(4, 2.1)
    folds = [far, near, best]
    assert result_of(cells([1.0, 2.0, 3.0]), folds).one_standard_error_index == 1


def test_an_error_of_exactly_one_standard_error_is_within_reach():
    folds = [[0.5, 0.5], [0.25, 0.75], [0.0, 0.5]]  # the best has deviation sqrt(1/8), standard error 1/4
    result = result_of(cells([1.0, 2.0, 3.0]), folds)
    assert result.best_index == 2
    assert result.best_error + result.table["dispersion"][2] / np.sqrt(2) == 0.5
    assert result.one_standard_error_index == 0


@pytest.mark.parametrize(
    ("params", "chosen"),
    [
        ([{"C": 2.0, "gamma": 0.1}, {"C": 1.0, "gamma": 9.0}], 1),  # C decides first
        ([{"C": 1.0, "gamma": 0.2}, {"C": 1.0, "gamma": 0.1}], 1),  # then gamma
        ([{"C": 1.0, "degree": 3}, {"C": 1.0, "degree": 2}], 1),  # or the degree
        ([{"C": 1.0, "epsilon": 0.1}, {"C": 1.0, "epsilon": 0.2}], 1),  # a larger epsilon is simpler
        ([{"nu": 0.2}, {"nu": 0.3}], 1),
        ([{"svc__C": 2.0}, {"svc__C": 1.0}], 1),  # the last part of the name counts
        ([{"C": 1.0, "shrinking": True}, {"C": 1.0, "shrinking": False}], 0),  # a flag is not a number
    ],
)
def test_the_simplest_cell(params, chosen):
    assert result_of(params, [[0.5], [0.5]]).one_standard_error_index == chosen


def test_edges_need_three_values():
    assert result_of(cells([1.0, 2.0]), [[0.1], [0.2]]).edges() == []
    assert result_of(cells([1.0, 2.0, 3.0]), [[0.1], [0.2], [0.3]]).edges() == ["C"]
    assert result_of(cells([1.0, 2.0, 3.0]), [[0.3], [0.2], [0.1]]).edges() == ["C"]
    assert result_of(cells([1.0, 2.0, 3.0]), [[0.3], [0.1], [0.2]]).edges() == []


def test_tied_votes_go_to_the_first_class():
    """Pairs (0, 1), (0, 2), (1, 2): each class wins once, so class 0 is taken."""
    assert votes(np.array([[1.0, -1.0, 1.0], [-1.0, 1.0, -1.0]]), 3).tolist() == [0, 0]
    assert votes(np.array([[-1.0, -1.0, 1.0], [-1.0, -1.0, -1.0]]), 3).tolist() == [1, 2]


def test_a_decision_of_zero_is_a_vote_for_the_second_class():
    assert votes(np.array([[0.0, 0.0, 0.0]]), 3).tolist() == [2]
    assert predict_codes(np.array([0.0, 1e-300, -1e-300]), 2, "ovo").tolist() == [0, 1, 0]


def test_break_ties_uses_the_summed_confidences():
    decisions = np.array([[0.1, -2.0, 0.1]])  # a cycle: one vote each; class 2 wins by far against class 0
    assert predict_codes(decisions, 3, "ovo").tolist() == [0]
    assert predict_codes(decisions, 3, "ovo", break_ties=True).tolist() == [2]
    assert predict_codes(np.array([[1.0, 1.0, 0.5]]), 3, "ovr").tolist() == [0]
