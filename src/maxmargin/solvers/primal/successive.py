"""Successive linearisation of the concave l0 penalty."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from operator import attrgetter

import numpy as np

from maxmargin.base import work_clock
from maxmargin.base.typing import FloatArray
from maxmargin.problems.loss_penalty import LossPenalty
from maxmargin.problems.penalties import Penalty
from maxmargin.problems.solution import Solution, Status
from maxmargin.solvers.stopping import GapCallback, stop_asked

_SHARES = (0.3, 0.2, 0.14, 0.1, 0.07, 0.05, 0.03)  # factors on the tangent at zero
_ROUGH = 1e-5  # relative decrease of the objective below which a descent stops
_STOPPED = 1e-6  # relative decrease in `_STEPS` steps below which a slow descent has stopped
_STEPS = 10
_MOST_LOST = 1e-3  # of the objective, when separating weights are scaled up
_ROUGH_GAP = 1e-6  # relative gap of the convex problems of such a descent
_FINEST_GAP = 1e-11  # rounding prevents a finer one
_MOST_MOMENTUM = 8.0  # factor on the last step by which the point of contact is moved ahead
_INNER_STEPS = 200  # of the convex problems
Solve = Callable[[LossPenalty, FloatArray | None, float, int], Solution]  # ..., gap, most steps


@dataclass(frozen=True)
class Descent:
    """One descent: the objective by iteration, the solution, and whether it is stationary."""

    objectives: list[float]
    solution: Solution
    converged: bool

    @property
    def reached(self) -> float:
        return self.objectives[-1]


_reached = attrgetter("reached")


@dataclass(frozen=True, kw_only=True)
class SuccessiveLinearisation:
    """min over w, b   sum_i c_i L + l2/2 ||w||^2 + l1 ||w||_1 + l0 sum_j (1 - exp(-alpha |w_j|)).

    The concave part is replaced by its tangent at the current w, which gives a convex problem with a weighted
    l1 norm (a linear program for the hinge without l2: Bradley & Mangasarian 1998, algorithm 2.1; a
    difference-of-convex step otherwise: Neumann, Schnoerr & Steidl 2005). The objective decreases at every
    step, and the limit is a stationary point. The last descent, which is slow, extrapolates the point where
    the tangent touches, as long as the objective decreases.

    A stationary point depends on the start. Several are tried: zero (the l1 solution), solutions with lighter
    tangents, and ``n_random`` random ones. Each descent ends when the objective no longer decreases; the best
    one is improved by removing columns one at a time while that helps, and continued until it is
    stationary to ``tol`` or the objective has stopped. With a ``start`` there are three descents, from there,
    from zero and from the lightest tangent, and no column is removed. The trace has the objectives of every
    descent.

    ``max_iter`` and ``n_iter`` count the convex problems of all descents; one descent has at most
    ``longest``.
    """

    solve_convex: Solve
    tol: float = 1e-4
    max_iter: int = 2000
    longest: int = 50
    n_random: int = 4
    random_state: int = 0

    def can_solve(self, problem: LossPenalty) -> bool:
        return not problem.penalty.convex

    def solve(
        self, problem: LossPenalty, *, start: FloatArray | None = None, callback: GapCallback | None = None
    ) -> Solution:
        began = work_clock.now()
        runs: list[Descent] = []
        asked = False
        for w in self._starts(problem, start):
            if not (left := self._left(runs)):
                break
            goal = min((run.reached for run in runs), default=np.inf)
            runs.append(self.descend(problem, w, left, _ROUGH, goal))
            asked = stop_asked(callback, len(runs), min(run.reached for run in runs))
            # along a path, a lighter tangent hardly improves a point without loss where the penalty is flat
            second = start is not None and len(runs) > 1
            if asked or (second and _is_flat(problem, min(runs, key=_reached))):
                break
        best = min(runs, key=_reached)
        if not asked and start is None:
            best = self._without_columns(problem, best, runs, callback)
            asked = stop_asked(callback, len(runs), best.reached)
        if not (asked or best.converged) and (flat := self._levelled(problem, best)) is not None:
            best = flat
            runs.append(flat)
        while not (asked or best.converged) and (left := self._left(runs)):
            runs.append(self.descend(problem, best.solution.x[:-1], left, 0.0))
            stuck = best.reached - runs[-1].reached <= 0 or _creeps(runs[-1].objectives)
            best = runs[-1]
            asked = stop_asked(callback, len(runs), best.reached)
            if stuck:
                break
        early = Status.STALLED if self._left(runs) else Status.MAX_ITER
        early = Status.INTERRUPTED if asked else early
        return Solution(
            x=best.solution.x,
            multipliers=best.solution.multipliers,
            status=Status.CONVERGED if best.converged else early,
            n_iter=sum(len(run.objectives) for run in runs),
            seconds=work_clock.now() - began,
            trace=[run.objectives for run in runs],
        )

    def _levelled(self, problem: LossPenalty, best: Descent) -> Descent | None:
        """Weights that separate the classes, scaled up until no loss is left and the penalty is flat.

        Such a point is stationary, and its objective is the number of columns in use. None if the classes
        are not separated, if the penalty grows, or if this costs more than a thousandth of the objective.
        """
        theta, penalty = best.solution.x, problem.penalty
        theta = np.where(penalty.alpha * np.abs(theta) < _MOST_LOST, 0.0, theta)  # not worth a column
        used = np.abs(theta[:-1][theta[:-1] != 0])
        grows = penalty.l2 > 0 or np.any(np.asarray(penalty.l1) > 0)
        margin = float((problem.y * problem.scores(theta)).min())
        if grows or not len(used) or margin < 0.5:
            return None
        needed = np.log(max(penalty.l0 * penalty.alpha / (0.01 * self.tol), 1.0)) / penalty.alpha
        x = max(1.0, 1.0 / margin, needed / float(used.min())) * theta
        value = problem.value(x)
        losses = float((problem.c * problem.loss.value(problem.scores(x), problem.y)).sum())
        if losses > 0 or value > (1 + _MOST_LOST) * best.reached:
            return None
        return Descent([value], replace(best.solution, x=x, multipliers=np.zeros_like(problem.y)), True)

    def _left(self, runs: list[Descent]) -> int:
        return self.max_iter - sum(len(run.objectives) for run in runs)

    def descend(
        self, problem: LossPenalty, w: FloatArray, left: int, rough: float = 0.0, goal: float = np.inf
    ) -> Descent:
        """The successive linearisation algorithm from the weights w, with ``left`` steps at most.

        It ends at a stationary point, when a step lowers the objective by less than ``rough`` of it, or when
        `_STEPS` such steps would not lower it to ``goal``.
        """
        objectives: list[float] = []
        theta: FloatArray | None = None
        tangent = problem.penalty.tangent(w)
        momentum, accepted = 0.0, list[Solution]()
        gap = _ROUGH_GAP if rough else max(1e-3 * self.tol**2, _FINEST_GAP)
        for _ in range(min(left, self.longest)):
            # two Newton steps lower the objective enough, because the next tangent changes the problem anyway
            steps = _most_steps(problem, 2) if rough and objectives else _INNER_STEPS
            solution = self.solve_convex(replace(problem, penalty=tangent), theta, gap, steps)
            theta = solution.x
            objectives.append(problem.value(theta))
            before, w = w, theta[:-1]
            touched, tangent = tangent, problem.penalty.tangent(w)
            # the change of the tangent is the violation of the first-order condition
            turned = np.abs(tangent.l1 - touched.l1)
            if np.max(np.maximum(np.abs(w - before), turned), initial=0.0) <= 0.1 * self.tol:
                return Descent(objectives, solution, not rough)
            if not rough and momentum and objectives[-1] > objectives[-2]:
                objectives[-1], w, momentum = objectives[-2], before, 0.0  # too far: back, and plain steps
                solution, tangent = accepted[-1], problem.penalty.tangent(w)
                theta = solution.x
            elif not rough:  # the steps of a slow descent are alike, so move the point of contact ahead
                momentum = min(1.5 * momentum + 0.25, _MOST_MOMENTUM)
                accepted = [solution]
                tangent = problem.penalty.tangent(w + momentum * (w - before))
            if len(objectives) > 1:
                fall = objectives[-2] - objectives[-1]
                if fall < rough * abs(objectives[-1]) or objectives[-1] - _STEPS * fall > goal:
                    break
            if _creeps(objectives):
                break
        return Descent(objectives, solution, False)

    def _starts(self, problem: LossPenalty, start: FloatArray | None) -> Iterator[FloatArray]:
        p = problem.X.shape[1]
        if start is not None:
            yield start[:-1]
        yield np.zeros(p)
        full = problem.penalty.linearised(np.zeros(p))
        for share in _SHARES if start is None else _SHARES[-1:]:
            lighter = replace(problem, penalty=Penalty(l2=problem.penalty.l2, l1=share * full))
            yield self.solve_convex(lighter, None, _ROUGH_GAP, _most_steps(problem, 10)).x[:-1]
        if start is not None:
            return
        rng = np.random.default_rng(self.random_state)
        for _ in range(self.n_random):
            yield rng.exponential(1.0 / problem.penalty.alpha, size=p)

    def _without_columns(
        self, problem: LossPenalty, best: Descent, runs: list[Descent], callback: GapCallback | None
    ) -> Descent:
        """Restart without each of the columns in use, weakest first, while the objective falls."""
        for _ in range(20):
            w = best.solution.x[:-1]
            used = np.flatnonzero(w)
            better = None
            for j in used[np.argsort(np.abs(w[used]))][:5]:
                trial = w.copy()
                trial[j] = 0.0
                if not (left := self._left(runs)):
                    return best
                run = self.descend(problem, trial, left, _ROUGH, best.reached)
                runs.append(run)
                if stop_asked(callback, len(runs), min(run.reached, best.reached)):
                    return min(run, best, key=_reached)
                if run.reached < best.reached - 2 * _ROUGH * abs(best.reached):
                    better = run
                    break
            if better is None:
                return best
            best = better
        return best


def _most_steps(problem: LossPenalty, few: int) -> int:
    """``few`` Newton steps, if Newton's method solves the convex problem."""
    return few if problem.loss.smooth else _INNER_STEPS


def _is_flat(problem: LossPenalty, best: Descent) -> bool:
    """True if the objective nearly equals the number of columns in use: no loss, no penalty that grows."""
    used = np.count_nonzero(problem.penalty.alpha * np.abs(best.solution.x[:-1]) >= _MOST_LOST)
    return bool(abs(best.reached - problem.penalty.l0 * used) <= _MOST_LOST * best.reached)


def _creeps(objectives: list[float]) -> bool:
    """True if the last steps lowered the objective by almost nothing, at a constant rate."""
    if len(objectives) <= _STEPS:
        return False
    falls = -np.diff(objectives[-_STEPS - 1 :])
    first, second = falls[: _STEPS // 2].sum(), falls[_STEPS // 2 :].sum()
    return bool(falls.sum() < _STOPPED * abs(objectives[-1]) and second > 0.95 * first)
