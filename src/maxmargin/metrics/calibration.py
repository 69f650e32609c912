"""Does a predicted probability happen as often as it says?"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd

from maxmargin.base.parameters import check_count
from maxmargin.base.typing import FloatArray
from maxmargin.metrics.confusion import wilson_interval
from maxmargin.metrics.labels import scored_target


def calibration_table(
    y: Any,
    probability: Any,
    *,
    n_groups: int = 10,
    positive: Any = None,
    names: Sequence[str] | None = None,
    confidence: float = 0.95,
) -> pd.DataFrame:
    """Rows in groups of about equal size by predicted probability: predicted against observed.

    Columns: rows, events, predicted (mean probability of the group), observed (share of positive rows) and
    its Wilson interval low, high. Rows with the same probability are never separated, so there may be fewer
    groups. ``attrs`` of the table name the positive and the negative class.

    Parameters
    ----------
    y, positive, names : as in `roc`.
    probability : of the positive class, of shape (n_samples,), in [0, 1].

    Examples
    --------
    >>> from maxmargin.metrics import calibration_table
    >>> table = calibration_table([0, 0, 1, 0, 1, 1], [0.1, 0.1, 0.2, 0.6, 0.8, 0.9], n_groups=2)
    >>> table[["rows", "events", "predicted", "observed"]].round(3).to_numpy().tolist()
    [[3.0, 1.0, 0.133, 0.333], [3.0, 2.0, 0.767, 0.667]]
    """
    check_count("n_groups", n_groups)
    target, p = scored_target(y, probability, positive=positive, names=names)
    if p.min() < 0 or p.max() > 1:
        raise ValueError(
            f"Probabilities must lie in [0, 1], got {p.min():.6g} to {p.max():.6g}: "
            "a decision value needs calibration first (sklearn's CalibratedClassifierCV)."
        )
    group = _equal_groups(p, n_groups)
    rows = np.bincount(group)
    events = np.bincount(group, weights=target.is_positive).astype(np.int64)
    intervals = [wilson_interval(int(k), int(n), confidence) for k, n in zip(events, rows, strict=True)]
    table = pd.DataFrame(
        {
            "rows": rows,
            "events": events,
            "predicted": np.bincount(group, weights=p) / rows,
            "observed": events / rows,
            "low": [low for low, _ in intervals],
            "high": [high for _, high in intervals],
        }
    )
    table.attrs.update(positive=target.positive, negative=target.negative)
    return table


def _equal_groups(p: FloatArray, n_groups: int) -> np.ndarray[Any, np.dtype[np.int64]]:
    """Group number of every row: cut at quantiles, equal values together, empty groups left out."""
    edges = np.quantile(p, np.arange(1, n_groups) / n_groups)
    _, group = np.unique(np.searchsorted(edges, p, side="left"), return_inverse=True)
    return group.astype(np.int64)
