"""Does a hyperplane separate the classes? Then the likelihood of a logistic model has no maximum."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from maxmargin.problems.loss_penalty import LossPenalty
from maxmargin.solvers.primal_newton import newton_direction
from maxmargin.typing import BoolArray, FloatArray


@dataclass(frozen=True)
class Separation:
    """A direction in which the likelihood grows without end.

    ``kind`` is "complete" when every row is strictly on its side, "quasi-complete" when some lie on the
    hyperplane; ``direction`` of shape (n_features + 1,) is (w, b); ``columns`` marks the columns of w that
    are not zero: their coefficients have no finite estimate.
    """

    kind: str
    direction: FloatArray

    @property
    def columns(self) -> BoolArray:
        w = np.abs(self.direction[:-1])
        return np.asarray(w > 1e-6 * max(w.max(initial=0.0), 1e-300))

    def sentence(self, names: list[str]) -> str:
        involved = [name for name, used in zip(names, self.columns, strict=True) if used]
        shown = ", ".join(involved[:8]) + (", ..." if len(involved) > 8 else "")
        return (
            f"{self.kind} separation of the classes along {shown or 'the intercept'}: the likelihood has no "
            "maximum, the coefficients are only those of the last iteration. Make C finite or drop columns."
        )


def strictly_separated(f: FloatArray, signs: FloatArray) -> bool:
    """True when every row is on its side of f: a proof of complete separation."""
    return bool(np.min(signs * f) > 0)


def find_separation(problem: LossPenalty, theta: FloatArray) -> Separation | None:
    """A direction along which the likelihood grows without end, or None.

    At a maximum the next Newton step is nothing. Where there is no maximum it goes on for ever: it moves the
    scores of the separated rows by about one and leaves the others, so that y_i <(x_i, 1), step> >= 0 for all
    rows, which proves separation (Albert & Anderson 1984). Cost: one Newton step.
    """
    f = problem.scores(theta)
    used = problem.c > 0
    if strictly_separated(f[used], problem.y[used]):
        return Separation("complete", theta)
    u = problem.c * problem.loss.slope(f, problem.y)
    d = problem.c * problem.loss.curvature(f, problem.y)
    gradient = np.append(problem.X.adjoint(u), u.sum() * problem.fit_intercept)
    step = newton_direction(problem.X, d, 0.0, gradient, problem.fit_intercept)
    gain = (problem.y * (problem.X.scores(step[:-1]) + step[-1]))[used]
    if gain.max() > 0.1 and gain.min() >= -1e-6 * gain.max():
        return Separation("quasi-complete", step)
    return None
