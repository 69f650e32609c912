"""Every kernel machine as a BoxQP: build the problem, recover the model.

The table of these formulations, with the mathematics, is in docs/engine.md.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, Literal, Protocol

import numpy as np

from maxmargin.base.typing import FloatArray
from maxmargin.kernels.base import Kernel
from maxmargin.kernels.points import Points
from maxmargin.problems.box_qp import BoxQP, KernelMatrix
from maxmargin.problems.solution import Solution

_RESOLVED = 10.0  # a margin is trusted if it is this many times its uncertainty
_SMALL = 0.01  # ... and below this, with hulls this close (squared distance by squared extent), there is none
_FINE = 1e-3  # of the sum of the multipliers of one class, if that is below 1: the largest violation
_CLOSE = 1e-6


@dataclass(frozen=True)
class Expansion:
    """f(x) = sum_j beta_j K(x_j, x) + intercept, with the multipliers alpha it came from.

    ``epsilon`` is the width found by NuSVR; ``scale`` is the divisor of nu machines.
    """

    beta: FloatArray
    intercept: float
    alpha: FloatArray
    epsilon: float | None = None
    scale: float = 1.0


class Formulation(Protocol):
    """A machine as a quadratic problem. ``target`` has shape (n,), ``weight`` > 0 too."""

    def build(self, kernel: Kernel, points: Points, target: FloatArray, weight: FloatArray) -> BoxQP: ...
    def recover(self, problem: BoxQP, solution: Solution) -> Expansion: ...
    def intercept(self, multipliers: FloatArray) -> float: ...


def _one_variable_each(kernel: Kernel, points: Any, sign: FloatArray) -> KernelMatrix:
    return KernelMatrix(kernel=kernel, points=points, row=np.arange(len(points)), sign=sign)


def _fill(total: float, capacity: FloatArray) -> FloatArray:
    """A feasible start: the first variables at their bounds until the sum is ``total``."""
    before = np.concatenate([[0.0], np.cumsum(capacity)[:-1]])
    return np.clip(total - before, 0.0, capacity)


@dataclass(frozen=True, kw_only=True)
class Classification:
    """Hinge or squared hinge; C = inf is the hard margin.

    min 1/2 ||w||^2 + C sum w_i max(0, 1 - y_i f(x_i)) (or its square). Without an intercept the dual has no
    equality.
    """

    C: float
    loss: Literal["hinge", "squared_hinge"] = "hinge"
    fit_intercept: bool = True

    def build(self, kernel: Kernel, points: Points, target: FloatArray, weight: FloatArray) -> BoxQP:
        n = len(points)
        upper, ridge = self.limits(weight)
        return BoxQP(
            Q=_one_variable_each(kernel, points, target),
            d=ridge,
            p=np.full(n, -1.0),
            s=target,
            group=np.zeros(n, dtype=np.int64),
            delta=np.zeros(1),
            C=upper,
            start=np.zeros(n),
            fixed_sums=self.fit_intercept,
        )

    def limits(self, weight: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Upper bounds and ridge of rows with these weights."""
        if self.loss == "squared_hinge":
            return np.full_like(weight, np.inf), 0.5 / (self.C * weight)
        return self.C * weight, np.zeros_like(weight)

    def recover(self, problem: BoxQP, solution: Solution) -> Expansion:
        a = solution.x
        return Expansion(problem.Q.weights(a), self.intercept(solution.multipliers), a)

    def intercept(self, multipliers: FloatArray) -> float:
        return 0.0 - float(multipliers[0])


@dataclass(frozen=True, kw_only=True)
class NearestHulls:
    """The nearest points of the convex hulls of two classes: half of their difference is the hard margin.

    min 1/2 ||sum a_i y_i phi(x_i)||^2 with the a of each class summing to 1. It always has a solution: a
    distance of zero proves that no hyperplane separates the classes.
    """

    def build(self, kernel: Kernel, points: Points, target: FloatArray, weight: FloatArray) -> BoxQP:
        n = len(points)
        positive = target > 0
        start = np.where(positive, 1.0 / positive.sum(), 1.0 / (~positive).sum())
        return BoxQP(
            Q=_one_variable_each(kernel, points, target),
            d=np.zeros(n),
            p=np.zeros(n),
            s=np.ones(n),
            group=(~positive).astype(np.int64),
            delta=np.ones(2),
            C=np.full(n, np.inf),
            start=start,
        )

    def recover(self, problem: BoxQP, solution: Solution) -> Expansion:
        raise NotImplementedError("the hull problem only starts the hard margin, it is not a machine")

    def intercept(self, multipliers: FloatArray) -> float:
        raise NotImplementedError("the hull problem only starts the hard margin, it is not a machine")


@dataclass(frozen=True, kw_only=True)
class NuClassification:
    """nu bounds the share of margin errors from above and of support vectors from below."""

    nu: float

    def build(self, kernel: Kernel, points: Points, target: FloatArray, weight: FloatArray) -> BoxQP:
        n = len(points)
        negative = (target < 0).astype(np.int64)
        half = self.nu * weight.sum() / 2
        sides = np.bincount(negative, weights=weight, minlength=2)
        if half > sides.min() * (1 + 1e-12):
            raise ValueError(
                f"nu={self.nu:g} is infeasible: the classes have {_amount(sides[0])} and {_amount(sides[1])} "
                f"rows (by weight), so nu must be <= {2 * sides.min() / sides.sum():.3g}."
            )
        start = np.empty(n)
        for k in range(2):
            mine = negative == k
            start[mine] = _fill(half, weight[mine])
        return BoxQP(
            Q=_one_variable_each(kernel, points, target),
            d=np.zeros(n),
            p=np.zeros(n),
            s=np.ones(n),
            group=negative,
            delta=start_sums(start, negative),
            C=weight,
            start=start,
        )

    def finer(
        self, problem: BoxQP, multipliers: FloatArray, kkt: float, *, square: float, extent: float
    ) -> float | None:
        """The tolerance to continue with until the margin rho can be trusted; None if it can.

        ``kkt`` is the violation so far, which is also the uncertainty of rho, ``square`` is ||w||^2 and
        ``extent`` the `squared_extent` of the rows. Raises ValueError if there is no margin: rho < 0.01,
        and the reduced convex hulls of the classes, whose distance is ||w|| over the sum of the multipliers
        of a class, are closer than a thousandth of the extent. If nu is too small the hulls intersect, so
        rho = 0 and rounding decides the predictions. The outcome does not depend on the user's tolerance.
        """
        rho = float(multipliers.mean())
        total = float(problem.delta.max())
        close = square <= _CLOSE * extent * total * total
        resolved = rho >= _RESOLVED * kkt
        if close and (rho if resolved else rho + kkt) < _SMALL:
            raise self._no_margin(rho)
        # a hundredth of the violation, down to a thousandth where the margin is small too
        return None if resolved else max(min(kkt / 100, rho / 500), kkt / 1000, 1e-300)

    def _no_margin(self, rho: float) -> ValueError:
        return ValueError(
            f"nu={self.nu:g} leaves no margin on these data (rho = {rho:.2g}): the classes overlap too much "
            "for it. Use a larger nu, or scale the columns."
        )

    def recover(self, problem: BoxQP, solution: Solution) -> Expansion:
        positive, negative = solution.multipliers
        rho = (positive + negative) / 2
        if not rho > 0:
            raise self._no_margin(rho)
        a = solution.x / rho
        return Expansion(problem.Q.weights(a), self.intercept(solution.multipliers), a, scale=float(rho))

    def intercept(self, multipliers: FloatArray) -> float:
        """NaN while there is no margin."""
        positive, negative = multipliers
        total = positive + negative
        return float((negative - positive) / total) if total > 0 else float("nan")


@dataclass(frozen=True, kw_only=True)
class Regression:
    """min 1/2 ||w||^2 + C sum w_i max(0, |y_i - f(x_i)| - epsilon) (or its square)."""

    C: float
    epsilon: float
    loss: Literal["epsilon_insensitive", "squared_epsilon_insensitive"] = "epsilon_insensitive"

    def build(self, kernel: Kernel, points: Points, target: FloatArray, weight: FloatArray) -> BoxQP:
        n = len(points)
        squared = self.loss == "squared_epsilon_insensitive"
        upper = np.tile(self.C * weight, 2)
        sign = np.repeat([1.0, -1.0], n)
        return BoxQP(
            Q=KernelMatrix(kernel=kernel, points=points, row=np.tile(np.arange(n), 2), sign=sign),
            d=0.5 / upper if squared else np.zeros(2 * n),
            p=np.concatenate([self.epsilon - target, self.epsilon + target]),
            s=sign,
            group=np.zeros(2 * n, dtype=np.int64),
            delta=np.zeros(1),
            C=np.full(2 * n, np.inf) if squared else upper,
            start=np.zeros(2 * n),
        )

    def recover(self, problem: BoxQP, solution: Solution) -> Expansion:
        a = solution.x
        intercept = self.intercept(solution.multipliers)
        return Expansion(problem.Q.weights(a), intercept, a, epsilon=self.epsilon)

    def intercept(self, multipliers: FloatArray) -> float:
        return -float(multipliers[0])


@dataclass(frozen=True, kw_only=True)
class NuRegression:
    """As `Regression`, with epsilon found such that at most a share nu of the rows lies outside the tube."""

    C: float
    nu: float

    def build(self, kernel: Kernel, points: Points, target: FloatArray, weight: FloatArray) -> BoxQP:
        n = len(points)
        upper = self.C * weight
        half = _fill(self.nu * upper.sum() / 2, upper)
        group = np.repeat([0, 1], n)
        start = np.tile(half, 2)
        return BoxQP(
            Q=KernelMatrix(
                kernel=kernel, points=points, row=np.tile(np.arange(n), 2), sign=np.repeat([1.0, -1.0], n)
            ),
            d=np.zeros(2 * n),
            p=np.concatenate([-target, target]),
            s=np.ones(2 * n),
            group=group,
            delta=start_sums(start, group),
            C=np.tile(upper, 2),
            start=start,
        )

    def recover(self, problem: BoxQP, solution: Solution) -> Expansion:
        above, below = solution.multipliers
        return Expansion(
            problem.Q.weights(solution.x),
            self.intercept(solution.multipliers),
            solution.x,
            epsilon=float(-(above + below) / 2),
        )

    def intercept(self, multipliers: FloatArray) -> float:
        above, below = multipliers
        return float((below - above) / 2)


class Region:
    """Base class of `OneClass` and `Sphere`: all multipliers are >= 0 and have a given sum."""

    scale: ClassVar[float] = 1.0  # Q is scale^2 K

    def _build(self, kernel: Kernel, points: Points, p: FloatArray, upper: FloatArray, total: float) -> BoxQP:
        n = len(points)
        start = _fill(total, upper)
        return BoxQP(
            Q=_one_variable_each(kernel, points, np.full(n, self.scale)),
            d=np.zeros(n),
            p=p,
            s=np.ones(n),
            group=np.zeros(n, dtype=np.int64),
            delta=np.array([start.sum()]),
            C=upper,
            start=start,
        )

    def recover(self, problem: BoxQP, solution: Solution) -> Expansion:
        beta = self.scale * problem.Q.weights(solution.x)
        return Expansion(beta, self.intercept(solution.multipliers), solution.x)

    def intercept(self, multipliers: FloatArray) -> float:
        return -float(multipliers[0])


@dataclass(frozen=True, kw_only=True)
class OneClass(Region):
    """The hyperplane furthest from the origin with at most a share nu of the rows behind it."""

    nu: float

    def build(self, kernel: Kernel, points: Points, target: FloatArray, weight: FloatArray) -> BoxQP:
        return self._build(kernel, points, np.zeros(len(points)), weight, self.nu * weight.sum())

    def finer(self, problem: BoxQP, multipliers: FloatArray, kkt: float, **margin: float) -> float | None:
        """The tolerance to continue with where multipliers sum to less than 1; None if it is small enough.

        Decisions shrink with this sum. With the user's tolerance alone a tiny nu could put every row outside.
        """
        total = float(problem.delta.max())
        return None if total >= 1 or kkt <= _FINE * total else max(_FINE * total, 1e-300)


@dataclass(frozen=True, kw_only=True)
class Sphere(Region):
    """The smallest ball around the rows in feature space, with slack at the cost C (SVDD).

    f(x) = R^2 - ||phi(x) - centre||^2 = sum_j 2 a_j K(x_j, x) - K(x, x) + intercept.
    """

    scale = np.sqrt(2.0)
    C: float

    def build(self, kernel: Kernel, points: Points, target: FloatArray, weight: FloatArray) -> BoxQP:
        upper = self.C * weight
        if upper.sum() < 1:
            raise ValueError(
                f"C={self.C:g} is infeasible: C times the sum of the weights ({weight.sum():g}) must be at "
                f"least 1, so C must be >= {1 / weight.sum():.3g}."
            )
        return self._build(kernel, points, -kernel.diagonal(points).astype(np.float64), upper, 1.0)


def squared_extent(diagonal: FloatArray, first: FloatArray) -> float:
    """The largest squared distance of a point from the first one, from K(x, x) and K(x, x_first); > 0.

    Never below the rounding error for equal points if kernel values are large.
    """
    squares = diagonal + diagonal[0] - 2.0 * first
    return max(float(squares.max()), 1e-5 * float(np.abs(diagonal).max()), 1e-300)


def start_sums(start: FloatArray, group: Any) -> FloatArray:
    """The right-hand sides that a start satisfies exactly."""
    return np.bincount(group, weights=start, minlength=2).astype(np.float64, copy=False)


def _amount(weight: float) -> str:
    return f"{weight:.6g}"
