"""Gains and lift: how many of the events the highest scores hold."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd

from maxmargin.base.parameters import as_number, check_count
from maxmargin.base.tables import row_weights
from maxmargin.base.typing import FloatArray
from maxmargin.metrics.curves import roc
from maxmargin.metrics.labels import BinaryTarget, Measure, binary_target


def _capture(
    y: Any, score: Any, target: BinaryTarget, shares: FloatArray, positive: Any, sample_weight: Any
) -> tuple[FloatArray, float, float]:
    """Share of the positives among the top ``shares`` of all rows, share of positives, and total weight.

    Between two distinct scores the curve is straight: tied rows are taken in random order, on average.
    """
    curve = roc(y, score, positive=positive, sample_weight=sample_weight)
    weight = row_weights(sample_weight, len(target.is_positive))
    total = float(weight.sum())
    base_rate = float(weight[target.is_positive].sum()) / total
    taken = base_rate * curve.tpr + (1 - base_rate) * curve.fpr
    return np.interp(shares, taken, curve.tpr), base_rate, total


def gains(
    y: Any,
    score: Any,
    *,
    n_groups: int = 10,
    positive: Any = None,
    names: Sequence[str] | None = None,
    sample_weight: Any = None,
) -> pd.DataFrame:
    """Rows sorted from the highest score down and cut into ``n_groups`` equal parts.

    Columns: group (1 holds the highest scores), share of rows up to and with this group, rows, events
    (positive rows), event_rate, lift (event_rate over that of all rows), captured (share of all events up to
    here), cumulative_lift. Tied scores are shared out evenly, so the table does not depend on the order of
    rows and counts need not be whole. ``attrs`` of the table name the positive and the negative class.

    Examples
    --------
    >>> from maxmargin.metrics import gains
    >>> table = gains([1, 1, 0, 1, 0, 0, 0, 0], [8, 7, 6, 5, 4, 3, 2, 1], n_groups=4)
    >>> table[["events", "captured"]].round(3).to_numpy().tolist()
    [[2.0, 0.667], [1.0, 1.0], [0.0, 1.0], [0.0, 1.0]]
    """
    check_count("n_groups", n_groups)
    shares = np.arange(1, n_groups + 1) / n_groups
    target = binary_target(y, positive=positive, names=names)
    captured, base_rate, total = _capture(y, score, target, shares, positive, sample_weight)
    gained = np.diff(captured, prepend=0.0)
    table = pd.DataFrame(
        {
            "group": np.arange(1, n_groups + 1),
            "share": shares,
            "rows": total / n_groups,
            "events": gained * base_rate * total,
            "event_rate": gained * base_rate * n_groups,
            "lift": gained * n_groups,
            "captured": captured,
            "cumulative_lift": captured / shares,
        }
    )
    table.attrs.update(positive=target.positive, negative=target.negative)
    return table


def lift(
    y: Any,
    score: Any,
    *,
    share: float = 0.1,
    positive: Any = None,
    names: Sequence[str] | None = None,
    sample_weight: Any = None,
) -> Measure:
    """Event rate among the top ``share`` of rows by score, over the event rate of all rows.

    >>> from maxmargin.metrics import lift
    >>> print(lift([1, 1, 0, 1, 0, 0, 0, 0], [8, 7, 6, 5, 4, 3, 2, 1], share=0.25, names=["no", "yes"]))
    2.6667 (yes against no)
    """
    if not 0.0 < as_number(share) <= 1.0:
        raise ValueError(f"share={share!r} must lie in (0, 1], for example 0.1 for the top tenth.")
    target = binary_target(y, positive=positive, names=names)
    captured, _, _ = _capture(y, score, target, np.array([share]), positive, sample_weight)
    return Measure(float(captured[0]) / share, positive=target.positive, negative=target.negative)
