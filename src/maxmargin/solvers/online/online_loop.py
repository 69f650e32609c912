"""The loop of every online learner: theta <- (1 - eta lambda) theta + eta g x."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np
from sklearn.utils import check_random_state

from maxmargin.base.typing import FloatArray, IntArray, RandomStateLike, TableLike
from maxmargin.compute.online.online_pass import Examples, Learner, Totals, online_pass
from maxmargin.compute.tables.inner_products import squared_norms
from maxmargin.compute.tables.shuffle import random_order
from maxmargin.compute.tables.table_rows import rows_of

Rule = Literal["perceptron", "pa1", "pa2", "hinge", "squares"]
# columns of the log of a pass: the effect of each row on w <- shrink (keep w + change x) and on b
LOG = ("row", "score", "loss", "keep", "change", "shrink", "intercept")
_PORTION = 1 << 26  # numbers in the rows of one compiled call: 0.1 s, so that Ctrl-C is not delayed
_SMALLEST = float(np.finfo(np.float64).tiny)  # m < _SMALLEST is m <= 0


@dataclass
class OnlineState:
    """The current model: w = scale v and b. The sum of all iterates is mass v + z (and sum_b).

    ``eta`` is the first step, 0 until the first pass chooses it by the schedule.
    """

    v: FloatArray
    z: FloatArray
    rng: Any
    scale: float = 1.0
    mass: float = 0.0
    b: float = 0.0
    sum_b: float = 0.0
    steps: float = 0.0
    length2: float = 0.0
    longest: float = 0.0
    eta: float = 0.0
    passes: int = 0

    def totals(self) -> Totals:
        """The scalars that a pass changes."""
        return Totals(
            self.scale, self.mass, self.b, self.sum_b, self.steps, self.length2, self.longest, 0.0, 0.0
        )

    def accept(self, totals: Totals) -> None:
        """Set the scalars after a pass."""
        self.scale, self.mass, self.b, self.sum_b = totals.scale, totals.mass, totals.b, totals.sum_b
        self.steps, self.length2, self.longest = totals.steps, totals.length2, totals.longest
        self.passes += 1

    def longest_row(self) -> float:
        """max ||x|| over the rows of the first pass, for the rules "perceptron" and "hinge"."""
        return float(np.sqrt(self.longest))

    def theta(self, average: bool) -> FloatArray:
        """(w, b), or their average over all steps."""
        if average and self.steps > 0:
            return np.append(self.mass * self.v + self.z, self.sum_b) / self.steps
        return np.append(self.scale * self.v, self.b)

    def repeat(self, n_steps: int) -> None:
        """Count the current iterate ``n_steps`` more times in the average, for steps that change nothing."""
        self.mass += n_steps * self.scale
        self.sum_b += n_steps * self.b
        self.steps += n_steps


def _order(shuffle: bool | Literal["replacement"], weights: FloatArray, rng: Any) -> IntArray:
    """The rows in the order in which they are visited."""
    n = len(weights)
    if shuffle == "replacement":
        used = np.flatnonzero(weights).astype(np.uint32)
        return used[rng.randint(0, len(used), size=len(used))]
    return random_order(n, rng) if shuffle else np.arange(n, dtype=np.uint32)


@dataclass(frozen=True)
class Schedule:
    """eta_t: "constant" eta0, "inverse_root" eta0/sqrt t, "strongly_convex" 1/(lambda t), or
    "inverse_decay" eta0/(1 + eta0 lambda t)."""

    kind: Literal["constant", "inverse_root", "strongly_convex", "inverse_decay"]
    eta0: float = 1.0

    def steps(self, eta0: float, decay: float) -> dict[str, Any]:
        """eta_t in the form of `Learner`, with ``eta0`` for the first step."""
        constant = self.kind in ("constant", "inverse_decay")
        rates = {"inverse_root": 1.0, "strongly_convex": decay, "inverse_decay": eta0 * decay}
        return {
            "first": 1.0 if self.kind == "strongly_convex" else float(eta0),
            "constant": float(constant),
            "rate": float(rates.get(self.kind, 0.0)),
            "root": self.kind == "inverse_root",
        }


@dataclass(frozen=True, kw_only=True)
class OnlineLoop:
    """An update rule with its step lengths.

    ``rule``: "perceptron" (y f <= 0), "pa1" and "pa2" (hinge > 0, step min(hinge/||x||^2, C) or
    hinge/(||x||^2 + 1/(2C))), "hinge" (subgradient of the hinge), "squares" (gradient of (f - y)^2/2).
    ``decay`` is lambda; ``decay_bias`` tells whether the intercept decays with w; ``radius`` > 0 projects
    onto a ball; ``bias_step`` is the longest step of the intercept. ``relative_step`` divides eta0 by max
    ||x||^2 + 1. Weights scale the step; for the passive-aggressive rules they scale the cap C.
    """

    rule: Rule
    schedule: Schedule = field(default_factory=lambda: Schedule("constant"))
    decay: float = 0.0
    C: float = np.inf
    fit_intercept: bool = True
    decay_bias: bool = False
    average: bool = False
    radius: float = 0.0
    relative_step: bool = False
    bias_step: float = np.inf

    def start(self, n_features: int, random_state: RandomStateLike | None) -> OnlineState:
        return OnlineState(np.zeros(n_features), np.zeros(n_features), check_random_state(random_state))

    def learner(self, eta0: float, *, first: bool) -> Learner:
        """The rule as numbers for compiled code, with ``eta0`` for the first step; rows are measured once."""
        return Learner(
            edge=0.0 if self.rule == "perceptron" else 1.0,
            below=_SMALLEST if self.rule == "perceptron" else 1.0,
            regression=self.rule == "squares",
            passive_aggressive=self.rule in ("pa1", "pa2"),
            damping=0.5 / self.C if self.rule == "pa2" else 0.0,
            cap=float(self.C) if self.rule == "pa1" else np.inf,
            **self.schedule.steps(eta0, self.decay),
            decay=float(self.decay),
            decay_bias=self.decay_bias,
            bias=float(self.fit_intercept),
            bias_step=float(self.bias_step),
            radius=float(self.radius),
            average=self.average,
            measures=first and self.rule in ("perceptron", "hinge"),
        )

    def run(
        self,
        current: OnlineState,
        X: TableLike,
        y: FloatArray,
        weights: FloatArray,
        *,
        shuffle: bool | Literal["replacement"] = True,
        log: FloatArray | None = None,
    ) -> tuple[int, float]:
        """One pass; returns its mistakes (sign of f before the step) and its weighted mean loss.

        With ``shuffle="replacement"`` every step draws a row of positive weight at random. ``log`` of shape
        (rows of positive weight, 7) receives the effect of every row, see `LOG`.
        """
        order = _order(shuffle, weights, current.rng)
        if current.eta == 0.0:
            longest = float(np.max(squared_norms(X))) if self.relative_step else 0.0
            current.eta = self.schedule.eta0 / (longest + 1.0)
        examples = Examples(
            rows_of(X),
            np.ascontiguousarray(y, dtype=np.float64),
            np.ascontiguousarray(weights, dtype=np.float64),
            order,
        )
        learner, totals = self.learner(current.eta, first=current.steps == 0.0), current.totals()
        size = len(order) if log is not None else 1 + _PORTION // (8 + examples.rows[0].size // len(y))
        for start in range(0, len(order), size):  # so that Ctrl-C is not delayed
            portion = examples._replace(order=order[start : start + size])
            totals = Totals(*online_pass(learner, portion, current.v, current.z, totals, log))
        current.accept(totals)
        return int(totals.mistakes), totals.loss / max(float(np.sum(weights)), 1e-300)
