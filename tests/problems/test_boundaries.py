"""Boundaries and ties of problems with several classes."""

from __future__ import annotations

import numpy as np
import pytest

from maxmargin.problems.multiclass import (
    binary_tasks,
    class_pairs,
    predict_codes,
    stream_classes,
    stream_codes,
    summed_decisions,
    votes,
)

CODES = np.array([0, 1, 2, 0, 1, 2])


def test_sides_of_the_binary_problems() -> None:
    assert class_pairs(2, "ovo") == class_pairs(2, "ovr") == [(1, 0)]
    assert class_pairs(3, "ovr") == [(0, -1), (1, -1), (2, -1)]
    assert class_pairs(3, "ovo") == [(0, 1), (0, 2), (1, 2)]


def test_rows_of_the_binary_problems() -> None:
    """Pairs hold the rows of their two classes, class 0 included; the others hold every row."""
    rows = [task.rows.tolist() for task in binary_tasks(CODES, 3, "ovo")]
    assert rows == [[0, 1, 3, 4], [0, 2, 3, 5], [1, 2, 4, 5]]
    for task in binary_tasks(CODES, 3, "ovr"):
        assert task.rows.tolist() == list(range(6))
        assert task.negative == -1
    (both,) = binary_tasks(np.array([0, 1, 0]), 2, "ovo")
    assert (both.rows.tolist(), both.signs.tolist(), both.positive, both.negative) == (
        [0, 1, 2],
        [-1.0, 1.0, -1.0],
        1,
        0,
    )


def test_summed_decisions_count_a_zero_as_a_vote_for_the_first_class() -> None:
    """As scikit-learn's SVC: a pair votes for its second class only where the decision is negative."""
    scores = summed_decisions(np.zeros((1, 3)), 3)
    np.testing.assert_allclose(scores, [[2.0, 1.0, 0.0]])
    assert predict_codes(np.zeros((1, 3)), 3, "ovo", break_ties=True).tolist() == [0]
    small = summed_decisions(np.array([[0.5, 0.5, -0.5]]), 3)
    assert small.argmax(axis=1).tolist() == [0]
    assert np.floor(small + 0.5).astype(int).tolist() == [[2, 0, 1]]


def test_classes_of_a_stream() -> None:
    assert stream_classes(["b", "a"]).tolist() == ["a", "b"]
    assert stream_classes([3, 1, 2]).tolist() == [1, 2, 3]
    with pytest.raises(ValueError, match="needs classes="):
        stream_classes(None)
    for wrong in (["a"], ["a", "a"], [["a", "b"]], [1.0, np.nan], ["a", None]):
        with pytest.raises(ValueError, match="must be a list of two labels or more"):
            stream_classes(wrong)


def test_codes_of_a_stream() -> None:
    classes = np.array(["a", "b", "c"])
    assert stream_codes(np.array(["c", "a"]), classes).tolist() == [2, 0]
    assert stream_codes(np.array(["c"]), classes, ["c", "b", "a"]).tolist() == [2]
    with pytest.raises(ValueError, match=r"y has the labels \['d'\]"):
        stream_codes(np.array(["a", "d"]), classes)
    with pytest.raises(ValueError, match="differ from those of the first call"):
        stream_codes(np.array(["a"]), classes, ["a", "b"])


def test_tied_votes_go_to_the_first_class() -> None:
    """Pairs (0, 1), (0, 2), (1, 2): each class wins once, so class 0 is taken."""
    assert votes(np.array([[1.0, -1.0, 1.0], [-1.0, 1.0, -1.0]]), 3).tolist() == [0, 0]
    assert votes(np.array([[-1.0, -1.0, 1.0], [-1.0, -1.0, -1.0]]), 3).tolist() == [1, 2]


def test_a_decision_of_zero_is_a_vote_for_the_second_class() -> None:
    assert votes(np.array([[0.0, 0.0, 0.0]]), 3).tolist() == [2]
    assert predict_codes(np.array([0.0, 1e-300, -1e-300]), 2, "ovo").tolist() == [0, 1, 0]


def test_break_ties_uses_the_summed_confidences() -> None:
    decisions = np.array([[0.1, -2.0, 0.1]])  # a cycle: one vote each; class 2 wins by far against class 0
    assert predict_codes(decisions, 3, "ovo").tolist() == [0]
    assert predict_codes(decisions, 3, "ovo", break_ties=True).tolist() == [2]
    assert predict_codes(np.array([[1.0, 1.0, 0.5]]), 3, "ovr").tolist() == [0]
