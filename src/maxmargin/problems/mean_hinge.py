"""The mean hinge loss of the online classifiers, and its certificate."""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import inf
from typing import Any, NamedTuple

import numpy as np

from maxmargin.base.typing import FloatArray
from maxmargin.compute.tables.inner_products import squared_norms
from maxmargin.problems.certificate import Certificate

_CHUNK = 1 << 17  # numbers of a block of rows that stays in the cache between two products
_WIDTHS = (1e-3, 0.03, 0.1, 0.3, 1.0, 4.0)  # widths of the ramps that define the dual points


class Measured(NamedTuple):
    """A certificate and, over rows of positive weight, the smallest y f, how many are <= 0, max ||x||."""

    certificate: Certificate
    smallest: float
    mistakes: int
    longest: float


@dataclass(frozen=True, kw_only=True)
class MeanHinge:
    """min over theta = (w, b)   lambda/2 ||theta||^2 + sum_i s_i max(0, edge - y_i f(x_i)),   sum_i s_i = 1.

    ``share`` are the s_i, ``decay`` is lambda, ``bias`` 1 or 0 for no intercept. ``edge`` is 1 for the hinge
    and 0 for the perceptron's loss. ``ball`` is the radius of the ball in which theta lies, inf for none.
    """

    X: Any
    y: FloatArray
    share: FloatArray
    edge: float = 1.0
    decay: float = 0.0
    bias: float = 1.0
    ball: float = inf

    def certify(self, theta: FloatArray) -> Certificate:
        """The certificate of `measure`."""
        return self.measure(theta).certificate

    def measure(self, theta: FloatArray, *, bounded: bool = True, norms: bool = True) -> Measured:
        """The value at theta and the best lower bound from a few dual points, in one pass over X.

        Every a with 0 <= a_i <= s_i gives a bound. With g = sum_i a_i y_i (x_i, bias) it is the largest
        t edge sum(a) - t^2 ||g||^2/(2 lambda) for 0 <= t <= 1, or edge sum(a) - ball ||g|| without lambda. At
        the optimum a_i is s_i inside the margin and 0 outside; here it falls from one to the other on ramps
        of several widths around the margin. The bound is never below 0, and 0 without ``bounded``.
        """
        n, p = self.X.shape
        step = max(1, _CHUNK // p) if isinstance(self.X, np.ndarray) else n
        bounded = bounded and self.edge > 0 and (self.decay > 0 or self.ball < inf)
        gains, totals = np.zeros(len(_WIDTHS)), np.zeros((p + 1, len(_WIDTHS)))
        loss, mistakes, smallest, longest = 0.0, 0, inf, 0.0
        with np.errstate(over="ignore", invalid="ignore"):  # a value that overflows is infinite
            for start in range(0, n, step):
                rows = slice(start, min(start + step, n))
                X, y, share = self.X if step >= n else self.X[rows], self.y[rows], self.share[rows]
                m = y * (np.asarray(X @ theta[:-1]).ravel() + theta[-1])
                loss += float(share @ np.maximum(0.0, self.edge - m))
                counted = m if share.all() else m[share > 0]
                mistakes += int(np.count_nonzero(counted <= 0))
                smallest = min(smallest, float(counted.min(initial=inf)))
                if norms:
                    longest = max(longest, float(np.max(squared_norms(X) * (share > 0))))
                if bounded:
                    ramps = np.clip(0.5 + 0.5 * (self.edge - m)[:, None] / _WIDTHS, 0.0, 1.0) * share[:, None]
                    gains += self.edge * ramps.sum(axis=0)
                    ramps *= y[:, None]
                    totals[:-1] += X.T @ ramps
                    totals[-1] += self.bias * ramps.sum(axis=0)
            primal = 0.5 * self.decay * float(theta @ theta) + loss
            dual = self._bound(gains, totals) if bounded else 0.0
        return Measured(lower_bounded(primal, dual, n), smallest, mistakes, float(np.sqrt(longest)))

    def _bound(self, gains: FloatArray, totals: FloatArray) -> float:
        """The largest lower bound; 0 if the dual points give none."""
        lengths = np.linalg.norm(totals, axis=0)
        if self.decay > 0:
            t = np.minimum(1.0, self.decay * gains / np.maximum(lengths**2, 1e-300))
            bounds = t * gains - (t * lengths) ** 2 / (2.0 * self.decay)
        else:
            bounds = gains - self.ball * lengths
        return max(0.0, float(np.nanmax(bounds, initial=0.0)))


def lower_bounded(primal: float, dual: float, n: int) -> Certificate:
    """The certificate of a value with a lower bound >= 0."""
    gap = max(0.0, primal - dual)
    relative = gap / dual if dual > 0 else (0.0 if gap == 0 else inf)
    return Certificate(primal=primal, dual=dual, gap=gap, relative_gap=relative, n_checked=n)


def widest_gap(certificates: list[Certificate]) -> Certificate:
    """The certificate with the largest gap."""
    return replace(max(certificates, key=lambda c: c.gap), n_machines=len(certificates))
