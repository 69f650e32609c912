"""The population stability index between two samples."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd
from sklearn.base import BaseEstimator
from sklearn.utils import column_or_1d

from maxmargin.base.parameters import check_count
from maxmargin.base.shown import short_repr, shown
from maxmargin.base.table_columns import Column, as_column
from maxmargin.base.typing import FloatArray, IntArray, TableLike
from maxmargin.compute.columns.column_bins import evidence_of_bins
from maxmargin.scorecards.binning import binning_of
from maxmargin.scorecards.bins import Bins, CategoryBins, NumberBins, missing_rows
from maxmargin.scorecards.cuts import cut_points
from maxmargin.scorecards.evidence import check_smoothing

_READING = ((0.1, "stable"), (0.25, "some shift"))


def read_psi(psi: float) -> str:
    """The usual interpretation: below 0.1 stable, below 0.25 some shift, above large shift.

    >>> read_psi(0.05), read_psi(0.1), read_psi(0.3)
    ('stable', 'some shift', 'large shift')
    """
    return next((word for bound, word in _READING if psi < bound), "large shift")


@dataclass(frozen=True, kw_only=True)
class StabilityResult:
    """Population stability index with its bins.

    Attributes
    ----------
    psi : sum over bins of (actual - expected) log(actual/expected), in shares of the rows.
    reading : "stable" below 0.1, "some shift" below 0.25, "large shift" from there.
    table : DataFrame with bin, expected, actual (shares) and psi by bin.

    >>> population_stability(["a"] * 6 + ["b"] * 4, ["a"] * 4 + ["b"] * 6).reading
    'some shift'
    """

    psi: float
    reading: str
    table: pd.DataFrame

    __repr__ = short_repr

    def __float__(self) -> float:
        return self.psi

    def __str__(self) -> str:
        return f"PSI {self.psi:.4f}: {self.reading}\n{shown(self.table)}"


def population_stability(
    expected: npt.ArrayLike, actual: npt.ArrayLike, *, n_bins: int = 10, smoothing: float = 0.5
) -> StabilityResult:
    """Population stability index of one variable (or of a score) between two samples.

    PSI = sum of (a_i - e_i) log(a_i/e_i) over bins, e_i and a_i being the shares of expected and actual rows:
    the symmetric Kullback-Leibler divergence. Numbers are cut at quantiles of the expected sample; every
    category is a bin, even if only the actual sample has it; missing values are a bin.

    Parameters
    ----------
    expected, actual : of shape (n_expected,) and (n_actual,), both numbers or both categories.
    n_bins : number of intervals for numbers.
    smoothing : rows that an empty cell counts as, where the other sample has rows in its bin.

    Examples
    --------
    >>> import numpy as np
    >>> from maxmargin.scorecards import population_stability
    >>> score = np.arange(1000) / 1000
    >>> result = population_stability(score, score**2)
    >>> round(result.psi, 3), result.reading
    (0.382, 'large shift')
    """
    check_smoothing(smoothing)
    check_count("n_bins", n_bins, least=2)
    first, second = _one_column(expected, "expected"), _one_column(actual, "actual")
    if first.is_number != second.is_number:
        raise ValueError("expected and actual must both hold numbers or both hold categories.")
    bins = _bins_of(first, second, n_bins)
    return _compare(bins, bins.assign(first), bins.assign(second), smoothing)


def variable_stability(
    model: BaseEstimator, expected: TableLike, actual: TableLike, *, smoothing: float = 0.5
) -> pd.DataFrame:
    """PSI of every variable of a table between two samples, in the bins of a fitted model, largest first.

    Parameters
    ----------
    model : fitted `Binning`, or anything with one in ``binning_`` (WOEEncoder, IVSelector, Scorecard).
    expected, actual : tables with the columns of fit.

    Returns
    -------
    DataFrame with variable, psi, reading, and unseen: the share of actual rows with a category
    not seen in fit (a separate bin here).

    >>> import pandas as pd
    >>> from maxmargin.scorecards import Binning
    >>> X = pd.DataFrame({"home": ["own"] * 6 + ["rent"] * 6})
    >>> binning = Binning(min_share=0.1).fit(X, [0, 0, 0, 0, 0, 1] + [1, 1, 1, 1, 1, 0])
    >>> variable_stability(binning, X, X)["psi"].tolist()
    [0.0]
    """
    check_smoothing(smoothing)
    binning = binning_of(model)
    rows = []
    for bins, e, a in zip(binning.bins_, binning.codes(expected), binning.codes(actual), strict=True):
        psi = _compare(bins, e, a, smoothing).psi
        rows.append((bins.name, psi, read_psi(psi), float(np.mean(a < 0))))
    frame = pd.DataFrame(rows, columns=["variable", "psi", "reading", "unseen"])
    return frame.sort_values("psi", ascending=False, kind="stable", ignore_index=True)


def _one_column(values: Any, name: str) -> Column:
    column = as_column(name, np.asarray(column_or_1d(values)), False)
    if len(column.values) == 0:
        raise ValueError(f"{name} has no rows.")
    return column


def _bins_of(expected: Column, actual: Column, n_bins: int) -> Bins:
    if not expected.is_number:
        values = np.concatenate([expected.values, actual.values])
        known = sorted(pd.unique(values[~missing_rows(values)]), key=lambda v: (type(v).__name__, v))
        return CategoryBins(name="value", groups=tuple((v,) for v in known))
    finite = expected.values[np.isfinite(expected.values)]
    none_missing = np.zeros(len(finite), dtype=bool)
    return NumberBins(name="value", edges=cut_points("quantile", finite, none_missing, None, n_bins, 0.0))


def _compare(bins: Bins, expected: IntArray, actual: IntArray, smoothing: float) -> StabilityResult:
    e, a = _counts(bins, expected), _counts(bins, actual)
    parts = evidence_of_bins(e, a, e.sum(), a.sum(), float(smoothing))[1]
    table = pd.DataFrame(
        {"bin": [*bins.labels(), "unseen"], "expected": e / e.sum(), "actual": a / a.sum(), "psi": parts}
    )
    table = table[(e > 0) | (a > 0)].reset_index(drop=True)
    psi = float(parts.sum())
    return StabilityResult(psi=psi, reading=read_psi(psi), table=table)


def _counts(bins: Bins, codes: IntArray) -> FloatArray:
    """Rows by bin; the last entry counts unseen categories."""
    places = np.where(codes < 0, bins.n_bins, codes)
    return np.bincount(places, minlength=bins.n_bins + 1).astype(np.float64)
