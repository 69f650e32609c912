"""The proof that comes with every fit."""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import isnan, nan
from typing import Any, Self

from maxmargin.base.shown import filled, short_repr

_SUM_ROUNDING = 1e-12  # relative difference between sums over rows in two orders


@dataclass(frozen=True, kw_only=True)
class Certificate:
    """How good a solution is, computed by the problem in float64 from the solution alone.

    Attributes
    ----------
    primal, dual : values of the two problems (for a maximising dual, primal >= dual).
    gap : primal - dual, an upper bound on how far the primal value is from the optimum; 0 where rounding
        alone makes it negative.
    relative_gap : gap / max(1e-300, abs(dual)).
    kkt : the largest violation of the optimality conditions (as LIBSVM's ``tol`` counts it).
    infeasibility : the largest violation of a constraint.
    rounding : the gap that rounding alone can cause; it matters if the optimum is 0.
    complete : True if every row was checked, False if only a sample was (see ``n_checked``).
    convex : False if the problem is not convex, so that no gap exists.
    n_checked : number of rows whose conditions were evaluated.
    n_machines : number of binary problems, of which this certificate is the worst.
    backward_error : for a linear system, the size of the smallest relative change of its numbers after which
        the solution is exact (Rigal & Gaches 1967); about 1e-16 is the best that float64 can do.

    A figure that does not exist for this problem, or was not computed, is NaN (or None).
    """

    primal: float = nan
    dual: float = nan
    gap: float = nan
    relative_gap: float = nan
    kkt: float = nan
    infeasibility: float = 0.0
    rounding: float = 0.0
    complete: bool = True
    convex: bool = True
    n_checked: int = 0
    n_machines: int = 1
    backward_error: float | None = None

    __repr__ = short_repr

    @classmethod
    def between(cls, primal: float, dual: float, **figures: Any) -> Self:
        """From the values of the two problems; ``figures`` are the other attributes."""
        primal, dual = float(primal), float(dual)  # quotients of NumPy's numbers warn where they overflow
        gap = primal - dual
        if -_SUM_ROUNDING * max(abs(primal), abs(dual)) <= gap < 0.0:
            gap = 0.0
        return cls(primal=primal, dual=dual, gap=gap, relative_gap=gap / max(abs(dual), 1e-300), **figures)

    @property
    def is_wide(self) -> bool:
        """True if the gap is more than a tenth of the dual value, and neither rounding nor bounds explain it.

        A violation costs at most as much as the bound of its variable. If the bounds are at most ten, as in
        all estimators without a cost C, small violations mean a small gap, even if the optimum is zero.
        """
        floor = max(0.1 * abs(self.dual), self.rounding, 10.0 * self.kkt * self.n_checked)
        return self.kkt > 0 and self.gap > floor

    def holds(self, tol: float) -> bool:
        """True if the checked conditions hold to ``tol``."""
        return bool(self.kkt <= tol) and self.infeasibility <= max(tol, 1e-9)

    @property
    def sentence(self) -> str:
        """All that is known, in one line."""
        return "; ".join(self._parts())

    def __str__(self) -> str:
        return filled("Certificate: " + ";\n  ".join(self._parts()))

    def _parts(self) -> list[str]:
        rows = f"all {self.n_checked} rows" if self.complete else f"a sample of {self.n_checked} rows"
        several = f"the worst of {self.n_machines} machines: " if self.n_machines > 1 else ""
        kkt = f"values of {rows}" if isnan(self.kkt) else f"largest KKT violation {self.kkt:.3g} over {rows}"
        lines = [several + kkt, f"infeasibility {self.infeasibility:.3g}"]
        if not self.convex:
            lines.append("not convex: a stationary point, no duality gap exists")
        elif not isnan(self.gap):
            relative = f" ({self.relative_gap:.2g} relative)" if self.dual else ""
            values = f"primal {self.primal:.10g}, dual {self.dual + 0.0:.10g}"
            lines.append(f"{values}, gap {self.gap:.3g}{relative}")
        if self.is_wide:
            lines.append("so wide a gap does not show that the objective is near its minimum")
        elif 0.1 * abs(self.dual) < self.gap <= self.rounding:
            lines.append(f"the gap may be rounding alone, which is up to {self.rounding:.2g}")
        if self.backward_error is not None:
            lines.append(f"backward error {self.backward_error:.2g}")
        return lines


def worst(certificates: list[Certificate]) -> Certificate:
    """The one with a wide gap or the largest KKT violation, marked complete only if all are."""
    chosen = max(certificates, key=lambda c: (c.is_wide, c.kkt))
    return replace(chosen, complete=all(c.complete for c in certificates), n_machines=len(certificates))
