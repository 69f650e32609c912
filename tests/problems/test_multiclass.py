"""One-versus-one and one-versus-rest, apart from any machine."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest

from maxmargin.problems.multiclass import (
    _sides_of_pairs,
    binary_tasks,
    predict_codes,
    summed_decisions,
    votes,
)

CODES = np.array([0, 1, 2, 0, 1, 2, 3])


def test_pairs_in_order_and_positive_on_the_first() -> None:
    tasks = binary_tasks(CODES, 4, "ovo")
    assert [(task.positive, task.negative) for task in tasks] == list(combinations(range(4), 2))
    for task in tasks:
        np.testing.assert_array_equal(task.signs > 0, CODES[task.rows] == task.positive)
        assert set(CODES[task.rows]) == {task.positive, task.negative}


def test_two_classes_are_positive_on_the_second() -> None:
    (task,) = binary_tasks(np.array([0, 1, 1]), 2, "ovr")
    np.testing.assert_array_equal(task.signs, [-1, 1, 1])


def test_rest() -> None:
    tasks = binary_tasks(CODES, 4, "ovr")
    assert [task.positive for task in tasks] == [0, 1, 2, 3]
    np.testing.assert_array_equal(tasks[2].signs > 0, CODES == 2)


def test_the_sides_of_the_pairs_in_order() -> None:
    _sides_of_pairs.cache_clear()
    expected = [[1, -1, 0], [1, 0, -1], [0, 1, -1]]
    np.testing.assert_array_equal(_sides_of_pairs(3), expected)


def test_votes_and_ties() -> None:
    cycle = np.array([[1.0, -0.1, 5.0]])  # 0 beats 1, 2 beats 0, 1 beats 2: one vote each
    assert votes(cycle, 3)[0] == 0  # ties go to the first class
    sums = [1.0 - 0.1, -1.0 + 5.0, 0.1 - 5.0]
    assert predict_codes(cycle, 3, "ovo", break_ties=True)[0] == int(np.argmax(sums)) == 1
    assert summed_decisions(cycle, 3).shape == (1, 3)


def test_zero_is_negative() -> None:
    np.testing.assert_array_equal(predict_codes(np.array([0.0, 1e-300, -1.0]), 2, "ovo"), [0, 1, 0])


def test_unknown_strategy() -> None:
    with pytest.raises(ValueError, match="multiclass='both' is unknown"):
        binary_tasks(CODES, 4, "both")  # type: ignore[arg-type]  # that is what is tested
