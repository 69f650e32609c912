"""One-versus-one and one-versus-rest over any binary machine.

Signs follow scikit-learn's SVC: with two classes the positive side is ``classes_[1]``; with more, the
one-versus-one machine of the pair (i, j), i < j, is positive on class i, and the one-versus-rest machine of
class k is positive on class k.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from itertools import combinations
from typing import Any, Literal

import numpy as np
import pandas as pd
from sklearn.utils.multiclass import _ovr_decision_function, unique_labels

from maxmargin.base.parameters import check_choice
from maxmargin.base.shown import short_repr
from maxmargin.base.typing import AnyArray, FloatArray, IntArray

Strategy = Literal["ovo", "ovr"]


@dataclass(frozen=True)
class BinaryTask:
    """One binary problem: its rows, their signs, and the classes on its two sides (-1 means "the rest")."""

    rows: IntArray
    signs: FloatArray
    positive: int
    negative: int

    __repr__ = short_repr


def class_pairs(n_classes: int, strategy: Strategy) -> list[tuple[int, int]]:
    """The classes on the positive and negative side of every binary problem; -1 is "the rest"."""
    if n_classes == 2:
        return [(1, 0)]
    return [(k, -1) for k in range(n_classes)] if strategy == "ovr" else [*combinations(range(n_classes), 2)]


def binary_tasks(codes: IntArray, n_classes: int, strategy: Strategy) -> list[BinaryTask]:
    """The binary problems of a problem with ``n_classes`` classes, coded 0 ... n_classes - 1."""
    check_strategy(strategy)
    every = np.arange(len(codes))
    tasks = []
    for i, j in class_pairs(n_classes, strategy):
        some = j >= 0 and n_classes > 2
        rows = np.flatnonzero((codes == i) | (codes == j)) if some else every
        tasks.append(BinaryTask(rows, np.where(codes[rows] == i, 1.0, -1.0), i, j))
    return tasks


def check_strategy(strategy: str) -> None:
    check_choice("multiclass", strategy, ("ovo", "ovr"))


def stream_classes(classes: Any) -> AnyArray:
    """The sorted labels of a stream of chunks; an error if they are not given."""
    if classes is None:
        raise ValueError("the first call of partial_fit needs classes=, a list of all labels.")
    given = np.asarray(classes)
    if given.ndim != 1 or pd.isna(given).any() or len(np.unique(given)) < 2:
        raise ValueError(f"classes={classes!r} must be a list of two labels or more, none of them missing.")
    labels: AnyArray = unique_labels(given)
    return labels


def stream_codes(y: AnyArray, classes: AnyArray, announced: Any = None) -> IntArray:
    """Codes of a chunk's labels; an error for unknown labels or different ``announced`` classes."""
    if announced is not None and not np.array_equal(unique_labels(announced), classes):
        raise ValueError(
            f"classes={list(announced)} differ from those of the first call of partial_fit, "
            f"{classes.tolist()}: classes must be the same in every call."
        )
    unknown = np.setdiff1d(y, classes)
    if len(unknown):
        raise ValueError(
            f"y has the labels {unknown.tolist()}, not in classes={classes.tolist()}: name all of them in "
            "the first call of partial_fit."
        )
    codes: IntArray = np.searchsorted(classes, y)
    return codes


def votes(decisions: FloatArray, n_classes: int) -> IntArray:
    """Class codes by one-versus-one votes of shape (n_samples, n_pairs); ties go to the first class."""
    wins = (decisions > 0).astype(np.float32)  # sums of votes are exact
    counts = wins @ _sides_of_pairs(n_classes) + np.arange(n_classes)
    codes: IntArray = counts.argmax(axis=1)
    return codes


@cache
def _sides_of_pairs(n_classes: int) -> AnyArray:
    """+1 for the first class of each pair and -1 for the second, of shape (n_pairs, n_classes).

    Class j is the second of j pairs: it has j votes, less those that the first classes win.
    """
    pairs = list(combinations(range(n_classes), 2))
    sides = np.zeros((len(pairs), n_classes), dtype=np.float32)
    for m, (first, second) in enumerate(pairs):
        sides[m, first], sides[m, second] = 1.0, -1.0
    return sides


def summed_decisions(decisions: FloatArray, n_classes: int) -> FloatArray:
    """One-versus-one decisions as one score per class: votes, with summed confidences inside a tie."""
    scores: FloatArray = _ovr_decision_function(decisions < 0, -decisions, n_classes)
    return scores


def predict_codes(
    decisions: FloatArray, n_classes: int, strategy: Strategy, *, break_ties: bool = False
) -> IntArray:
    """Class codes from binary decisions of shape (n_samples,) or (n_samples, n_machines).

    With two classes the second needs f > 0; in votes of several classes 0 counts for the second of a pair.
    """
    if n_classes == 2:
        return (decisions.ravel() > 0).astype(np.int64)
    if strategy == "ovr":
        return np.asarray(decisions.argmax(axis=1))
    if break_ties:
        return np.asarray(summed_decisions(decisions, n_classes).argmax(axis=1))
    return votes(decisions, n_classes)
