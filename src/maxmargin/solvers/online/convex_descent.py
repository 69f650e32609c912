"""Subgradient descent on any convex function, with the bounds of the theorems."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import ceil, log
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
import pandas as pd

from maxmargin.base.parameters import check_choice, check_count, check_positive
from maxmargin.base.typing import FloatArray

_THEOREMS = {True: "corollary 5.2", False: "theorem 5.14"}


def lipschitz_steps(B: float, rho: float, epsilon: float) -> int:
    """The smallest T with B rho / sqrt(T) <= epsilon."""
    check_positive("epsilon", epsilon)
    return max(1, ceil((B * rho / epsilon) ** 2 * (1.0 - 1e-12)))


def strongly_convex_bound(rho: Any, lam: float, T: Any, shift: float = 0.0) -> Any:
    """rho^2 (1 + log(T + shift)) / (2 lambda T)."""
    return rho**2 * (1.0 + np.log(T + shift)) / (2.0 * lam * T)


def strongly_convex_steps(rho: float, lam: float, epsilon: float, shift: float = 0.0) -> int:
    """The smallest T with rho^2 (1 + log(T + shift)) / (2 lambda T) <= epsilon."""
    check_positive("epsilon", epsilon)
    scale = rho**2 / (2.0 * lam * epsilon)
    low, high = 0, 1
    while scale * (1.0 + log(high + shift)) > high:
        low, high = high, 2 * high
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if scale * (1.0 + log(middle + shift)) > middle else (low, middle)
    return high


@dataclass(frozen=True, kw_only=True)
class DescentPath:
    """Result of `subgradient_descent`.

    Attributes
    ----------
    x : the average of the iterates 1 to T, of shape (n,); ``value`` is f there.
    bound : an upper bound on f(x) - f(x*); NaN if the path shows that the theorem does not apply.
        ``bound_note`` names the theorem or the reason.
    iterates : of shape (T, n), the first one the start; ``values`` of shape (T,) are f there.
    lengths : of the subgradients, of shape (T,).
    steps : eta_1 ... eta_T.
    """

    x: FloatArray
    value: float
    bound: float
    bound_note: str
    iterates: FloatArray
    values: FloatArray
    lengths: FloatArray
    steps: FloatArray

    @property
    def best(self) -> FloatArray:
        """The iterate with the smallest value."""
        return self.iterates[int(np.argmin(self.values))]

    def averages(self) -> FloatArray:
        """The averages of the first t iterates for t = 1 ... T, of shape (T, n)."""
        counts = np.arange(1, len(self.iterates) + 1)
        return np.asarray(np.cumsum(self.iterates, axis=0) / counts[:, None])

    def table(self) -> pd.DataFrame:
        """Step, value, best value so far, length of the subgradient and eta of every iterate."""
        return pd.DataFrame(
            {
                "step": np.arange(1, len(self.values) + 1),
                "value": self.values,
                "best": np.minimum.accumulate(self.values),
                "length": self.lengths,
                "eta": self.steps,
            }
        )


def subgradient_descent(
    f: Callable[[FloatArray], float],
    subgradient: Callable[[FloatArray], npt.ArrayLike],
    start: npt.ArrayLike,
    *,
    rho: float,
    B: float = 1.0,
    lam: float = 1.0,
    step: Literal["constant", "strongly_convex"] = "constant",
    max_iter: int | None = None,
    epsilon: float | None = None,
    projection: Callable[[FloatArray], npt.ArrayLike] | None = None,
) -> DescentPath:
    """Minimise a convex function by subgradient steps, and bound the distance from its minimum.

        x(t + 1) = x(t) - eta_t v(t),   v(t) a subgradient of f at x(t),   t = 1 ... T

        step="constant"          eta = B/(rho sqrt T)    f(mean x) - f(x*) <= B rho/sqrt T
        step="strongly_convex"   eta = 1/(lambda t)      f(mean x) - f(x*) <= rho^2 (1 + log T)/(2 lambda T)

    Valera, corollary 5.2 and theorem 5.14. The mean is that of x(1) ... x(T).

    Parameters
    ----------
    f : a convex function of an array of shape (n,).
    subgradient : a subgradient of f at a point, of shape (n,).
    start : the first point, of shape (n,).
    rho : a bound on the length of the subgradients. A longer one on the path makes the bound NaN.
    B : a bound on the distance between the start and x*, the minimum of f (of the constant rule).
    lam : f - lambda/2 ||x||^2 is convex (of the strongly convex rule).
    step : the rule.
    max_iter : the number of steps T, 1000 by default.
    epsilon : the bound to reach, which determines T, in place of ``max_iter``.
    projection : the nearest point of a convex set in which x* lies, applied after every step.

    Examples
    --------
    >>> import numpy as np, maxmargin as mm
    >>> path = mm.subgradient_descent(np.abs, np.sign, [1.0], rho=1.0, B=1.0, epsilon=0.05)
    >>> len(path.iterates)  # B^2 rho^2 / epsilon^2
    400
    >>> path.bound, bool(path.value <= path.bound)
    (0.05, True)
    """
    T = _n_steps(rho, B, lam, step, max_iter, epsilon)
    x = np.array(start, dtype=np.float64)
    if x.ndim != 1 or not np.isfinite(x).all():
        raise ValueError(f"start has the shape {x.shape}: give finite numbers of shape (n,).")
    constant = step == "constant"
    steps = np.full(T, B / (rho * np.sqrt(T))) if constant else 1.0 / (lam * np.arange(1, T + 1))
    bound = B * rho / np.sqrt(T) if constant else strongly_convex_bound(rho, lam, T)
    iterates, slopes, values = np.empty((T, len(x))), np.empty((T, len(x))), np.empty(T)
    for k in range(T):
        iterates[k], values[k], slopes[k] = x, _number(f, x), _vector(subgradient, x)
        x = x - steps[k] * slopes[k]
        x = x if projection is None else np.array(projection(x), dtype=np.float64)
    return _described(f, iterates, values, slopes, steps, rho, float(bound), constant)


def _n_steps(rho: float, B: float, lam: float, step: str, max_iter: int | None, epsilon: float | None) -> int:
    """Check the parameters and return the number of steps."""
    check_positive("rho", rho)
    check_positive("B", B)
    check_positive("lam", lam)
    check_choice("step", step, ("constant", "strongly_convex"))
    if epsilon is None:
        return check_count("max_iter", 1000 if max_iter is None else max_iter)
    if max_iter is not None:
        raise ValueError(f"max_iter={max_iter} and epsilon={epsilon} both set the number of steps: give one.")
    constant = step == "constant"
    return lipschitz_steps(B, rho, epsilon) if constant else strongly_convex_steps(rho, lam, epsilon)


def _described(
    f: Callable[[FloatArray], float],
    iterates: FloatArray,
    values: FloatArray,
    slopes: FloatArray,
    steps: FloatArray,
    rho: float,
    bound: float,
    constant: bool,
) -> DescentPath:
    """The path with its average, and the bound if the theorem applies."""
    average = iterates.mean(axis=0)
    value = _number(f, average)
    lengths = np.linalg.norm(slopes, axis=1)
    reason = _why_not(iterates, values, slopes, lengths, rho, average, value)
    lower = value - float(values.min())
    if not reason and lower > bound * (1.0 + 1e-9):
        name = "B" if constant else "lam"
        reason = f"an iterate has a value lower by {lower:.3g}, more than the theorem allows: {name} is wrong"
    return DescentPath(
        x=average,
        value=value,
        bound=np.nan if reason else bound,
        bound_note=f"no bound: {reason}" if reason else f"Valera, {_THEOREMS[constant]}",
        iterates=iterates,
        values=values,
        lengths=lengths,
        steps=steps,
    )


def _number(f: Callable[[FloatArray], float], x: FloatArray) -> float:
    value = np.asarray(f(x.copy()))
    if value.size != 1:
        raise ValueError(f"f must return one number, and returned an array of the shape {value.shape}.")
    if not np.isfinite(value).all():
        raise ValueError(f"f is {value.item()} at {x.tolist()}: it must be finite along the whole path.")
    return float(value.item())


def _vector(subgradient: Callable[[FloatArray], npt.ArrayLike], x: FloatArray) -> FloatArray:
    v = np.asarray(subgradient(x.copy()), dtype=np.float64)
    if v.shape != x.shape or not np.isfinite(v).all():
        raise ValueError(f"subgradient must return finite numbers of the shape {x.shape}, not {v!r}.")
    return v


def _why_not(
    iterates: FloatArray,
    values: FloatArray,
    slopes: FloatArray,
    lengths: FloatArray,
    rho: float,
    average: FloatArray,
    value: float,
) -> str:
    """Why the theorem does not apply, judged from the path; "" if there is no reason."""
    longest = float(lengths.max())
    if longest > rho * (1.0 + 1e-12):
        return f"a subgradient of length {longest:.6g} is longer than rho={rho:g}"
    # f(z) >= f(x) + <v, z - x> at the average and at the next iterate of every x
    room = 1e-9 * (np.abs(values) + abs(value) + lengths * np.linalg.norm(iterates - average, axis=1))
    below = value - values - np.sum(slopes * (average - iterates), axis=1)
    after = np.diff(values) - np.sum(slopes[:-1] * np.diff(iterates, axis=0), axis=1)
    if (below < -room).any() or (after < -room[:-1] - 1e-9 * np.abs(values[1:])).any():
        return "f is not convex, or subgradient does not return its subgradients"
    return ""
