"""Which rows train and which rows test."""

from __future__ import annotations

from collections.abc import Iterator, Sequence, Sized
from numbers import Integral
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, is_classifier
from sklearn.model_selection import KFold, LeaveOneOut, StratifiedKFold, check_cv

from maxmargin.base.tables import n_rows
from maxmargin.base.typing import AnyArray, FoldsLike, IntArray, Matrix, RandomStateLike

Fold = tuple[IntArray, IntArray]


def make_folds(
    cv: FoldsLike | None,
    estimator: BaseEstimator,
    X: Matrix,
    y: AnyArray | None,
    random_state: RandomStateLike | None,
    groups: Any = None,
) -> list[Fold]:
    """Training and test rows of every fold.

    A number makes that many folds, stratified for classifiers, shuffled when ``random_state`` is given;
    "loo" leaves one row out; a scikit-learn splitter or an iterable of pairs is taken as it is.
    """
    if isinstance(cv, str) and cv == "loo":
        splitter: Any = LeaveOneOut()
    elif not _makes_folds(cv):
        raise ValueError(f"cv={cv!r} is unknown: use a number of folds, 'loo', a splitter or pairs of rows.")
    elif isinstance(cv, Integral) and random_state is not None:
        kind = StratifiedKFold if is_classifier(estimator) else KFold
        splitter = kind(cv, shuffle=True, random_state=random_state)
    else:
        splitter = check_cv(cv, y, classifier=is_classifier(estimator))
    rows = np.zeros((len(y) if y is not None else n_rows(X), 1))
    folds = [(np.asarray(train), np.asarray(test)) for train, test in splitter.split(rows, y, groups)]
    if isinstance(cv, (Sequence, Iterator)):
        _check_pairs(folds, len(rows))
    return folds


def _check_pairs(folds: list[Fold], n: int) -> None:
    """Refuse pairs from the user that are empty or contain row numbers that do not exist."""
    for number, fold in enumerate(folds):
        for name, part in zip(("training", "test"), fold, strict=True):
            if part.ndim != 1 or not len(part):
                raise ValueError(f"fold {number} of cv has no {name} rows: give every fold at least one.")
            if part.dtype.kind not in "iub" or (
                part.dtype.kind != "b" and not -n <= part.min() <= part.max() < n
            ):
                raise ValueError(f"fold {number} of cv has {name} rows that X, which has {n}, does not hold.")


def _makes_folds(cv: Any) -> bool:
    if isinstance(cv, Sequence):
        return len(cv) > 0 and all(isinstance(pair, Sized) and len(pair) == 2 for pair in cv)
    return cv is None or isinstance(cv, (Integral, Iterator)) or hasattr(cv, "split")


def is_leave_one_out(folds: list[Fold]) -> bool:
    """True when every row is left out once, alone."""
    tests = [test for _, test in folds]
    n = len(tests)
    return all(len(test) == 1 for test in tests) and all(len(train) == n - 1 for train, _ in folds)
