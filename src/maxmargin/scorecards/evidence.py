"""Weight of evidence, information value and Jensen-Shannon divergence of counts by bin."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from maxmargin.base.parameters import as_number
from maxmargin.base.typing import FloatArray
from maxmargin.compute.columns.column_bins import evidence_of_bins


def weight_of_evidence(
    events: npt.ArrayLike, nonevents: npt.ArrayLike, *, smoothing: float = 0.5
) -> FloatArray:
    """WoE_i = log((N_i/N) / (P_i/P)) of bins with P_i events and N_i non-events.

    If one of the two counts of a bin is zero, its evidence would be infinite: only that zero is replaced by
    ``smoothing`` rows; all other counts and the totals are unchanged. (Smoothing every cell would change the
    coefficient of a one-column logistic regression from -1.) A bin without rows has WoE 0: no evidence.

    Parameters
    ----------
    events, nonevents : counts or sums of weights, of shape (n_bins,).
    smoothing : rows that an empty cell counts as; positive.

    References
    ----------
    Good (1950), Probability and the Weighing of Evidence; Siddiqi (2006), Credit Risk Scorecards, chapter 6.

    Examples
    --------
    >>> from maxmargin.scorecards import weight_of_evidence
    >>> weight_of_evidence([10, 20, 30], [40, 20, 0]).round(4).tolist()
    [1.3863, 0.0, -4.0943]
    """
    p, q = _checked(events, nonevents, smoothing)
    return evidence_of_bins(p, q, p.sum(), q.sum(), float(smoothing))[0]


def iv_of_counts(events: npt.ArrayLike, nonevents: npt.ArrayLike, *, smoothing: float = 0.5) -> float:
    """IV = sum of (N_i/N - P_i/P) WoE_i: the symmetric Kullback-Leibler divergence of the two classes'
    shares.

    Zero counts are treated as in `weight_of_evidence`.

    >>> from maxmargin.scorecards import iv_of_counts
    >>> round(iv_of_counts([10, 20], [20, 10]), 4)
    0.4621
    """
    p, q = _checked(events, nonevents, smoothing)
    return float(evidence_of_bins(p, q, p.sum(), q.sum(), float(smoothing))[1].sum())


def js_of_bins(
    events: FloatArray, nonevents: FloatArray, all_events: float, all_nonevents: float
) -> FloatArray:
    """Contribution of each bin to the Jensen-Shannon divergence (nats); finite even if cells are empty."""
    p, q = events / all_events, nonevents / all_nonevents
    m = (p + q) / 2
    return (_relative(p, m) + _relative(q, m)) / 2


def _relative(p: FloatArray, m: FloatArray) -> FloatArray:
    out = np.zeros_like(p)
    some = p > 0
    out[some] = p[some] * np.log(p[some] / m[some])
    return out


def check_smoothing(smoothing: float) -> None:
    if not 0.0 < as_number(smoothing) < np.inf:
        raise ValueError(f"smoothing={smoothing!r} must be positive: an empty cell has no logarithm.")


def _checked(
    events: npt.ArrayLike, nonevents: npt.ArrayLike, smoothing: float
) -> tuple[FloatArray, FloatArray]:
    p, q = np.asarray(events, dtype=np.float64), np.asarray(nonevents, dtype=np.float64)
    check_smoothing(smoothing)
    if p.ndim != 1 or p.shape != q.shape:
        raise ValueError(
            f"events and nonevents need one count per bin each, got shapes {p.shape}, {q.shape}."
        )
    if min(p.min(initial=0), q.min(initial=0)) < 0 or not (p.sum() > 0 and q.sum() > 0):
        raise ValueError(
            f"Counts must be >= 0 with both classes present, got {p.sum():g} events, {q.sum():g} non-events."
        )
    return p, q
