"""Measures of a regression, with intervals."""

from __future__ import annotations

import numpy as np

from maxmargin.base.typing import FloatArray

_RESAMPLES = 1000
_MOST_CELLS = 5_000_000


def regression_measures(
    truth: FloatArray, predicted: FloatArray, *, seed: int, confidence: float = 0.95
) -> dict[str, tuple[float, float, float]]:
    """R2, root mean square error and mean absolute error, each with its bootstrap percentile interval.

    Efron & Tibshirani (1993), chapter 13: rows are drawn with replacement, the model stays as it is.
    """
    n = len(truth)
    n_resamples = max(100, min(_RESAMPLES, _MOST_CELLS // n))
    chosen = np.random.default_rng(seed).integers(0, n, size=(n_resamples, n))
    values = {name: of(truth, predicted) for name, of in _MEASURES.items()}
    found = {name: np.empty(n_resamples) for name in _MEASURES}
    for k, rows in enumerate(chosen):
        for name, of in _MEASURES.items():
            found[name][k] = of(truth[rows], predicted[rows])
    ends = [50 * (1 - confidence), 50 * (1 + confidence)]
    return {name: (values[name], *np.nanpercentile(found[name], ends).tolist()) for name in _MEASURES}


def _r2(truth: FloatArray, predicted: FloatArray) -> float:
    spread = float(((truth - truth.mean()) ** 2).sum())
    return 1.0 - float(((truth - predicted) ** 2).sum()) / spread if spread > 0 else float("nan")


def _rmse(truth: FloatArray, predicted: FloatArray) -> float:
    return float(np.sqrt(np.mean((truth - predicted) ** 2)))


def _mae(truth: FloatArray, predicted: FloatArray) -> float:
    return float(np.mean(np.abs(truth - predicted)))


_MEASURES = {"R2": _r2, "root mean square error": _rmse, "mean absolute error": _mae}
