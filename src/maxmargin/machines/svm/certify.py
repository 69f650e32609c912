"""Check a fitted model again: its full certificate, and its problem solved in stages."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from maxmargin.base.typing import FloatArray
from maxmargin.machines.svm.base import KernelMachine
from maxmargin.problems.certificate import Certificate
from maxmargin.problems.solution import Status
from maxmargin.solvers.certified import certify_fully

_GROWTH = 1.3  # of the number of steps from one certificate to the next
_MOST_STAGES = 200


def certify(model: Any, X: Any, y: Any = None, sample_weight: Any = None) -> Certificate:
    """Check every training row of a fitted model in float64, from its multipliers or weights alone.

    ``X``, ``y`` and ``sample_weight`` are the data of the fit. Costs O(n n_SV p). With several classes the
    certificate is that of the worst binary problem.

    >>> import numpy as np
    >>> import maxmargin as mm
    >>> X, y = np.array([[0.0], [1.0], [2.0], [3.0]]), [0, 0, 1, 1]
    >>> model = mm.SVC(kernel="linear").fit(X, y)
    >>> mm.certify(model, X, y).complete
    True
    """
    check_is_fitted(model)
    if not hasattr(model, "full_certificate"):
        where = ": that of its fit is in certificate_" if hasattr(model, "certificate_") else ""
        raise TypeError(
            "certify checks SVC, NuSVC, SVR, NuSVR, OneClassSVM, SVDD and the online classifiers, not "
            f"{type(model).__name__}{where}."
        )
    certificate: Certificate = model.full_certificate(X, y, sample_weight)
    return certificate


@dataclass(frozen=True)
class Stages:
    """The state of the solution after so many steps; all arrays of shape (n_stages,).

    ``gap`` is relative to the dual value and NaN where the problem is not convex.
    """

    steps: FloatArray
    kkt: FloatArray
    gap: FloatArray
    n_active: FloatArray
    n_support: FloatArray


def solve_in_stages(
    model: Any, X: Any, y: Any = None, sample_weight: Any = None, *, machine: int = 0
) -> Stages:
    """Solve the problem of a fitted model again from the start, with a full certificate after each stage.

    Stages end after 1, 2, 3, ... and then 30 % more steps. Each stage starts from the last solution, so the
    path may differ a little from that of an uninterrupted fit; it ends at the same optimum. Costs about as
    much as the fit, plus some 40 certificates of O(n n_SV p).

    ``machine`` is the number of the binary problem when there are several classes.
    """
    check_is_fitted(model)
    if not isinstance(model, KernelMachine):
        raise TypeError(f"{type(model).__name__} has no dual problem to solve again.")
    problems = model.rebuilt_problems(X, y, sample_weight)
    if not 0 <= machine < len(problems):
        raise ValueError(
            f"machine={machine!r} does not exist: the model has the problems 0 ... {len(problems) - 1}."
        )
    solver = replace(model.dual_solver(), time_limit=None, trace=False)
    if not solver.warm_starts:
        raise ValueError(f"{type(solver).__name__} does not support warm starts, so it cannot run in stages.")
    return _run(problems[machine], solver)


def _run(problem: Any, solver: Any) -> Stages:
    a, total, stages = problem.start, 0, []
    for _ in range(_MOST_STAGES):
        active = [len(problem.Q.points)]
        solution = replace(solver, max_iter=max(1, int((_GROWTH - 1.0) * total))).solve(
            problem, start=a, callback=lambda progress, active=active: active.append(progress.n_active)
        )
        a, total = solution.x, total + solution.n_iter
        found = certify_fully(problem, solution, solver)
        stages.append((total, found.kkt, found.relative_gap, active[-1], int((a > 0).sum())))
        if solution.status is not Status.MAX_ITER or solver.accepts(found):
            break
    return Stages(*np.array(stages, dtype=np.float64).T)
