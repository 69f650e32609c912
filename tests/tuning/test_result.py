"""What a TuneResult says about its cells, at boundaries and ties."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

from maxmargin.problems.solution import Status
from maxmargin.tuning.result import CellStatus, TuneResult, make_table


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


# -- status of a cell ----------------------------------------------------------------------------------------


def fitted(*endings):
    """A model whose binary fits ended with these (status, KKT violation) pairs."""
    fits = [
        SimpleNamespace(
            solution=SimpleNamespace(status=status, n_iter=1), certificate=SimpleNamespace(kkt=violation)
        )
        for status, violation in endings
    ]
    return SimpleNamespace(machines_=fits)


def test_the_worse_of_two_cells_is_the_one_that_did_not_converge_then_the_larger_violation():
    fine, loose = CellStatus("converged", 0.5), CellStatus("stalled", 0.1)
    assert fine.worse(loose) is loose
    assert loose.worse(fine) is loose
    small, large = CellStatus("converged", 0.1), CellStatus("converged", 0.2)
    assert small.worse(large) is large
    assert large.worse(small) is large
    equal = CellStatus("converged", 0.1)
    assert small.worse(equal) is small
    assert CellStatus("fitted").is_fine
    assert not CellStatus("failed").is_fine


def test_the_status_of_a_model_is_that_of_its_worst_fit():
    good, bad = (Status.CONVERGED, 0.1), (Status.MAX_ITER, 0.3)
    assert CellStatus.of_model(fitted(good, bad), warned=False) == CellStatus(Status.MAX_ITER.short, 0.3)
    assert CellStatus.of_model(fitted(good), warned=False) == CellStatus(Status.CONVERGED.short, 0.1)
    assert CellStatus.of_model(fitted(good), warned=True) == CellStatus("stalled", 0.1)
    assert CellStatus.of_model(fitted(bad), warned=True).name == Status.MAX_ITER.short
    assert CellStatus.of_model(SimpleNamespace(), warned=True).name == "not converged"
    assert CellStatus.of_model(SimpleNamespace(), warned=False).name == "fitted"


def test_the_last_step_of_a_pipeline_has_the_status():
    last = fitted((Status.CONVERGED, 0.2))
    pipeline = SimpleNamespace(steps=[("a", SimpleNamespace()), ("b", SimpleNamespace()), ("svc", last)])
    assert CellStatus.of_model(pipeline, warned=False) == CellStatus(Status.CONVERGED.short, 0.2)


def test_the_printed_result_names_edges_notes_and_values():
    result = result_of(cells([1.0, 2.0, 3.0]), [[0.1234567, 0.1234567], [0.2, 0.2], [0.3, 0.3]])
    text = str(replace(result, notes=("two cells failed",)))
    assert "2-fold cross-validation, 3 cells" in text
    assert "best parameters: C=1\n" in text
    assert "(error): 0.123457" in text
    assert "edge of the grid in C: extend it there" in text
    assert text.endswith("Note: two cells failed")
    assert "edge of the grid" not in str(result_of(cells([1.0, 2.0]), [[0.1], [0.2]]))
    assert "kernel='rbf'" in str(result_of(cells(["rbf"], "kernel"), [[0.1]]))
    assert not result.interrupted


def test_a_cell_without_a_number_counts_as_zero():
    """C is missing in the first cell, so that it is simpler than C = 0.5."""
    assert result_of([{"C": 0.5}, {"kernel": "linear"}], [[0.1], [0.1]]).one_standard_error_index == 1
    assert result_of([{"C": 0.5}, {"C": None}], [[0.1], [0.1]]).one_standard_error_index == 1


def test_ten_cells_are_shown_in_lines_of_80_characters():
    ten, eleven = (result_of(cells(np.arange(1.0, n + 1)), np.arange(n)[:, None] / 10) for n in (10, 11))
    assert ten._best_cells()[0] == "- cells:"
    assert eleven._best_cells()[0] == "- best 10 of 11 cells (all of them in .table):"
    assert len(eleven._best_cells()[1].splitlines()) == 11
    for length in range(1, 60):
        (_, text) = result_of(cells([1.0, 2.0], "a" * length), [[0.1], [0.2]])._best_cells()
        assert max(len(line.rstrip(" \\")) for line in text.splitlines()) <= 80
