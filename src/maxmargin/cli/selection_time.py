"""How long a selection of columns will take, from samples of the rows."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from math import comb
from typing import Any

import numpy as np
import pandas as pd
from sklearn.base import clone

from maxmargin.base import work_clock
from maxmargin.cli.column_selectors import NEIGHBOURS, SEARCHES
from maxmargin.cli.command_options import Method
from maxmargin.tables.time_estimate import SampleTimes, sample_rows

_BUDGET = 0.3  # seconds for the estimate of a method
_FIRST, _STEP = 150, 2.5  # rows of the first sample, and by which factor samples grow
_TRIED = 6  # subsets on which the criterion of a search is timed
_PAIRS = (*NEIGHBOURS, Method.RELIEF, Method.RFE, Method.RFE_KERNEL, Method.RFECV)
_ANNEALING = 66 * 25  # temperatures times about 25 flips at each


def selection_seconds(method: Method, selector: Any, keep: int, X: pd.DataFrame, y: pd.Series) -> float:
    """Seconds of one fit of the selector, about.

    Searches are timed by what their criterion takes for some subsets, all others by fits to samples.
    """
    is_search = method in SEARCHES and method is not Method.CFS

    def time(size: int) -> float:
        rows = sample_rows(y, size)
        part, target, began = X.iloc[rows], y.iloc[rows].to_numpy(), work_clock.now()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                if is_search:
                    selector.criterion.prepare(part, target)(_some_subsets(X.shape[1], keep))
                else:
                    clone(selector).fit(part, target)
            except ValueError:  # a fold of the sample may lack a class; its time counts all the same
                pass
        return work_clock.now() - began

    spent = _of_samples(time, len(X), 2.0 if is_search or method in _PAIRS else 1.0)
    return spent * (_subsets(method, selector.search, X.shape[1], keep) / _TRIED if is_search else 1.0)


def _of_samples(time: Callable[[int], float], n: int, growth: float) -> float:
    """The time of all n rows."""
    sizes, spent, total = [min(_FIRST, n)], [], 0.0
    time(sizes[0])  # loads compiled code
    while True:
        spent.append(time(sizes[-1]))
        total += spent[-1]
        known = SampleTimes(n, sizes, spent, 0.0, growth, 0, 0)
        size = min(round(_STEP * sizes[-1]), n)
        if size == sizes[-1] or (len(sizes) > 1 and total + known.one_fold(size) > _BUDGET):
            return known.one_fold(n)
        sizes.append(size)


def _some_subsets(p: int, keep: int) -> list[tuple[int, ...]]:
    rng = np.random.default_rng(0)
    return [tuple(np.sort(rng.permutation(p)[: max(1, keep)]).tolist()) for _ in range(_TRIED)]


def _subsets(method: Method, search: Any, p: int, keep: int) -> int:
    """About how many different subsets a search evaluates."""
    forward, backward = sum(range(p - keep + 1, p + 1)), sum(range(keep + 1, p + 1))
    looked_at = {
        Method.SFS: forward,
        Method.SBS: backward,
        Method.FLOATING: 3 * forward,
        Method.FLOATING_BACKWARD: 3 * backward,
        Method.EXHAUSTIVE: comb(p, keep),
        Method.ANNEALING: _ANNEALING,
    }
    if method is Method.GENETIC:
        looked_at[method] = search.population * search.generations
    return min(looked_at[method], 2**p - 1)
