"""The quadratic problem behind every kernel machine, and the certificate of a solution."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from maxmargin.base.typing import BoolArray, FloatArray, IntArray
from maxmargin.compute.dual.bounds import multiplier_of
from maxmargin.kernels.base import Kernel
from maxmargin.kernels.kernel_products import kernel_times
from maxmargin.problems.certificate import Certificate

FULL_CHECK = 2_000_000  # values n * n_SV up to which every row is checked at the end of a fit
_WORST_ROWS = 256
_RANDOM_ROWS = 1000


@dataclass(frozen=True, kw_only=True)
class KernelMatrix:
    """Q_ij = sign_i sign_j K(x_row_i, x_row_j): a kernel matrix indexed by variables instead of points.

    ``row`` holds the point of each variable, so the two variables of a sample in regression share one row of
    kernel values.
    """

    kernel: Kernel
    points: Any
    row: IntArray
    sign: FloatArray

    def weights(self, a: FloatArray) -> FloatArray:
        """Coefficients of the points: f(x) = sum_j weights_j K(x_j, x), of shape (n_points,)."""
        return np.bincount(self.row, self.sign * a, len(self.points)).astype(np.float64, copy=False)

    def times(self, a: FloatArray, at: IntArray | None = None, *, n_threads: int = 1) -> FloatArray:
        """sum_j K(x_i, x_j) weights_j in float64, at all points or at the points ``at``."""
        beta = self.weights(a)
        support = np.flatnonzero(beta)
        left = self.points if at is None else self.points.take(at)
        right = self.points.take(support)
        return kernel_times(
            self.kernel, left.astype(np.float64), right.astype(np.float64), beta[support], n_threads=n_threads
        )


@dataclass(frozen=True, kw_only=True)
class BoxQP:
    """min 1/2 a'(Q + diag d)a + p'a   subject to   sum_{i in g} s_i a_i = delta_g,  0 <= a <= C.

    One group, or two for the nu machines; a pair of coordinates never crosses groups. Upper bounds may be
    infinite (squared losses, hard margin). A machine without an intercept has no equality: its multiplier,
    which is minus the intercept, is then 0.

    Attributes
    ----------
    Q : KernelMatrix over m variables.
    d, p, s, C : arrays of shape (m,); s is +1 or -1.
    group : integers of shape (m,); delta : array of shape (n_groups,).
    start : a feasible point of shape (m,).
    fixed_sums : False where there is no equality; delta is not used then.
    """

    Q: KernelMatrix
    d: FloatArray
    p: FloatArray
    s: FloatArray
    group: IntArray
    delta: FloatArray
    C: FloatArray
    start: FloatArray
    fixed_sums: bool = True

    def __len__(self) -> int:
        return len(self.p)

    @cached_property
    def convex(self) -> bool:
        """False if the kernel may fail to be positive semidefinite; True if nothing is known."""
        return self.Q.kernel.psd is not False

    def multipliers(self, signed_gradient: FloatArray, a: FloatArray) -> FloatArray:
        """The multiplier of each equality, from s_i times the gradient.

        The mean over the free variables of the value that makes their condition an equality; where none is
        free, the middle of the interval of values that satisfy all conditions; 0 without equalities.
        """
        if not self.fixed_sums:
            return np.zeros(len(self.delta))
        lo, hi = self.signed_bounds
        one = len(self.delta) == 1
        groups: list[Any] = [slice(None)] if one else [self.group == k for k in range(len(self.delta))]
        t = self.s * a
        return np.array([multiplier_of(signed_gradient[k], t[k], lo[k], hi[k]) for k in groups])

    def with_sums(self, start: FloatArray | None = None) -> BoxQP:
        """A problem without equality, written with one and two extra variables, for solvers that move pairs.

        They have no kernel values, no cost and no upper bound, and one rises where the other falls. Together
        they absorb any sum, so a variable that is paired with one of them moves alone.
        """
        a = np.asarray(self.start if start is None else start, dtype=np.float64)
        total = float(self.s @ a)
        nothing = np.zeros(2)
        return replace(
            self,
            Q=replace(self.Q, row=np.append(self.Q.row, [0, 0]), sign=np.append(self.Q.sign, nothing)),
            d=np.append(self.d, nothing),
            p=np.append(self.p, nothing),
            s=np.append(self.s, [1.0, -1.0]),
            group=np.append(self.group, [0, 0]),
            delta=np.zeros(1),
            C=np.append(self.C, [np.inf, np.inf]),
            start=np.append(a, [max(-total, 0.0), max(total, 0.0)]),
        )

    @cached_property
    def signed_bounds(self) -> tuple[FloatArray, FloatArray]:
        """The bounds of s_i a_i."""
        return np.where(self.s > 0, 0.0, -self.C), np.where(self.s > 0, self.C, 0.0)

    def sides(self, a: FloatArray) -> tuple[BoolArray, BoolArray]:
        """Which signed variables s_i a_i can rise, and which can fall."""
        up = np.where(self.s > 0, a < self.C, a > 0)
        down = np.where(self.s > 0, a > 0, a < self.C)
        return up, down

    def signed_gradient(self, a: FloatArray, v: FloatArray, which: IntArray | None = None) -> FloatArray:
        """s_i (Qa + d a + p)_i from v = K weights, for all variables or for ``which``."""
        i = np.arange(len(a)) if which is None else which
        G = self.Q.sign[i] * v + self.d[i] * a[i] + self.p[i]
        return self.s[i] * G

    def certify(
        self,
        a: FloatArray,
        *,
        full: bool = False,
        suspects: FloatArray | None = None,
        multipliers: FloatArray | None = None,
        n_threads: int = 1,
    ) -> Certificate:
        """The certificate of ``a``, computed in float64 from ``a`` alone.

        Every row is checked if ``full`` is True or n * n_SV is small. Otherwise the rows that look worst in
        ``suspects`` (a signed gradient from any source, only used to choose rows) and 1000 random rows are
        checked, and no gap is computed. Cost O(rows checked * n_SV * p). ``multipliers`` of the equalities
        replace those of the method `multipliers`; any value gives a gap that bounds the distance from the
        optimum.
        """
        if self.checks_all(a, full=full, suspects=suspects):
            return self.certify_all(a, self.Q.times(a, n_threads=n_threads), multipliers)
        assert suspects is not None
        variables = self._sample(a, suspects)
        at, inverse = np.unique(self.Q.row[variables], return_inverse=True)
        v = self.Q.times(a, at, n_threads=n_threads)[inverse]
        g = self.signed_gradient(a, v, variables)
        return Certificate(
            kkt=self.violation(g, a, variables),
            infeasibility=self._infeasibility(a),
            complete=False,
            convex=self.convex,
            n_checked=len(at),
        )

    def checks_all(self, a: FloatArray, *, full: bool, suspects: FloatArray | None) -> bool:
        """True if `certify` checks every row."""
        n_support = int(np.count_nonzero(self.Q.weights(a)))
        return full or len(self.Q.points) * n_support <= FULL_CHECK or suspects is None

    def _sample(self, a: FloatArray, suspects: FloatArray) -> IntArray:
        can_rise, can_fall = self.sides(a)
        chosen = [np.random.default_rng(0).choice(len(a), min(len(a), _RANDOM_ROWS), replace=False)]
        for k in range(len(self.delta)):
            mine = self.group == k
            for side, sign in ((can_rise, 1.0), (can_fall, -1.0)):
                key = np.where(mine & side, sign * suspects, np.inf)
                worst = min(_WORST_ROWS, len(a) - 1)
                chosen.append(np.argpartition(key, worst)[:worst])
        return np.unique(np.concatenate(chosen))

    def violation(self, g: FloatArray, a: FloatArray, variables: IntArray | None = None) -> float:
        """The largest KKT violation, from the signed gradient of all variables or of ``variables``."""
        variables = np.arange(len(a)) if variables is None else variables
        can_rise, can_fall = self.sides(a)
        largest = 0.0
        for k in range(len(self.delta)):
            mine = self.group[variables] == k
            lowest = g[mine & can_rise[variables]].min(initial=np.inf)
            highest = g[mine & can_fall[variables]].max(initial=-np.inf)
            found = highest - lowest if self.fixed_sums else max(highest, -lowest)
            largest = max(largest, float(found))
        return largest

    def violations(self, g: FloatArray, a: FloatArray, multipliers: FloatArray) -> FloatArray:
        """By how much each variable violates its own condition, given the multipliers of the equalities."""
        can_rise, can_fall = self.sides(a)
        r = g - multipliers[self.group]
        broken: FloatArray = np.maximum(np.where(can_rise, -r, 0.0), np.where(can_fall, r, 0.0))
        return np.maximum(broken, 0.0)

    def rounding(self, a: FloatArray) -> float:
        """A Cauchy-Schwarz bound on the error of float64 sums of kernel values at any point."""
        root = np.sqrt(np.abs(self.Q.kernel.diagonal(self.Q.points).astype(np.float64)))
        unit = float(np.finfo(np.float64).eps)
        return unit * float(root.max(initial=0.0)) * float(np.abs(self.Q.weights(a)) @ root)

    def grain(self, a: FloatArray) -> float:
        """The smallest change of the gradient by one variable; the two of a row may nearly cancel."""
        largest = np.abs(self.Q.kernel.diagonal(self.Q.points)).astype(np.float64)[self.Q.row]
        return float(np.finfo(np.float64).eps) * float((a * largest).max(initial=0.0))

    def _infeasibility(self, a: FloatArray) -> float:
        below = float((-a).max(initial=0.0))
        above = float((a - self.C).max(initial=0.0))
        if not self.fixed_sums:
            return max(0.0, below, above)
        sums = np.bincount(self.group, weights=self.s * a, minlength=len(self.delta))
        return max(float(np.abs(sums - self.delta).max()), below, above)

    def values(
        self, a: FloatArray, v: FloatArray, multipliers: FloatArray | None = None
    ) -> tuple[float, float]:
        """Primal and dual value at ``a``, from v = K weights at all points."""
        quadratic = float(self.Q.weights(a) @ v)
        dual = -(0.5 * quadratic + 0.5 * float((self.d * a) @ a) + float(self.p @ a))
        by_variable = v[self.Q.row]
        if multipliers is None:
            multipliers = self.multipliers(self.signed_gradient(a, by_variable), a)
        return self._primal(quadratic, by_variable, multipliers), dual

    def certify_all(self, a: FloatArray, v: FloatArray, multipliers: FloatArray | None) -> Certificate:
        """The certificate of every row, from v = K weights at all points."""
        g = self.signed_gradient(a, v[self.Q.row])
        fields: dict[str, Any] = {
            "kkt": self.violation(g, a),
            "infeasibility": self._infeasibility(a),
            "n_checked": len(self.Q.points),
        }
        if not self.convex:
            return Certificate(convex=False, **fields)
        found = Certificate.between(*self.values(a, v, multipliers), **fields)
        return self.with_rounding(found, a) if found.is_wide else found

    def with_rounding(self, certificate: Certificate, a: FloatArray) -> Certificate:
        """The certificate with the gap that rounding alone can cause; small fits save this time."""
        with np.errstate(over="ignore", invalid="ignore"):
            bound = np.where(np.isfinite(self.C), self.C, a)
            caused = float(np.nan_to_num(self.rounding(a) * bound.sum(), posinf=0.0))
        return replace(certificate, rounding=caused)

    def _primal(self, quadratic: float, v: FloatArray, multipliers: FloatArray) -> float:
        """Primal value at the point that belongs to ``a``: 1/2 ||w||^2 plus the conjugates.

        With z = -(Qa + p - lambda s) each variable adds max over 0 <= t <= C of z t - d t^2/2. If C is
        infinite and d = 0 (hard margin) z <= 0 must hold, so (w, lambda) is first divided by the smallest
        margin.
        """
        signed = self.Q.sign * v - multipliers[self.group] * self.s
        hard = np.isinf(self.C) & (self.d == 0) & (self.p != 0)
        scale = 1.0
        if hard.any():
            scale = float((signed[hard] / -self.p[hard]).min())
            if scale <= 0:
                return float("inf")
        z = -(signed / scale + self.p)
        return 0.5 * quadratic / scale**2 - float(multipliers @ self.delta) / scale + self._conjugates(z)

    def _conjugates(self, z: FloatArray) -> float:
        with np.errstate(divide="ignore", invalid="ignore"):
            t = np.where(self.d > 0, z / self.d, np.where(z > 0, self.C, 0.0))
        t = np.clip(t, 0.0, self.C)
        t[np.isinf(t)] = 0.0  # hard margin after scaling: z <= 0 up to rounding
        return float(z @ t - 0.5 * ((self.d * t) @ t))
