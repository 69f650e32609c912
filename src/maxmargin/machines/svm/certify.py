"""Check a fitted model again: its full certificate, and its problem solved in stages."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from maxmargin.base.parameters import as_numbers
from maxmargin.base.progress import SolverProgress
from maxmargin.base.typing import FloatArray, TableLike, TargetLike, WeightLike
from maxmargin.machines.svm.base import KernelMachine, two_sided
from maxmargin.machines.svm.svc import NuSVC
from maxmargin.problems.certificate import Certificate
from maxmargin.problems.solution import Status
from maxmargin.solvers.certified import certify_fully, solve

_GROWTH = 1.3  # factor on the number of steps between certificates
_MOST_STAGES = 200
_FEASIBLE = 1e-9  # tolerance of the constraints, relative to the largest multiplier


def certify(
    model: BaseEstimator,
    X: TableLike,
    y: TargetLike | None = None,
    sample_weight: WeightLike | None = None,
    *,
    alpha: npt.ArrayLike | None = None,
) -> Certificate:
    """Check every training row of a fitted model in float64, from its multipliers or weights alone.

    ``X``, ``y`` and ``sample_weight`` are the data of the fit. Costs O(n n_SV p). With several classes the
    certificate is that of the worst binary problem.

    ``alpha`` are multipliers of shape (n_samples,) to check in place of those of the fit. In regression they
    are those of one side minus those of the other, as in ``alpha_``. Multipliers that violate a constraint
    have an ``infeasibility``, but no dual value or gap.

    >>> import numpy as np
    >>> import maxmargin as mm
    >>> X, y = np.array([[0.0], [1.0], [2.0], [3.0]]), [0, 0, 1, 1]
    >>> model = mm.SVC(kernel="linear").fit(X, y)
    >>> mm.certify(model, X, y).complete
    True
    >>> mm.certify(model, X, y, alpha=[0, 1, 1, 0]).kkt
    0.0
    >>> mm.certify(model, X, y, alpha=[1, 0, 0, 1]).kkt  # rows 1 and 2 belong on the margin
    7.0
    """
    check_is_fitted(model)
    if not hasattr(model, "full_certificate"):
        where = ": see its certificate_ attribute" if hasattr(model, "certificate_") else ""
        raise TypeError(
            "certify checks SVC, NuSVC, SVR, NuSVR, OneClassSVM, SVDD and the online classifiers, not "
            f"{type(model).__name__}{where}."
        )
    if alpha is not None:
        return _certify_given(model, X, y, sample_weight, alpha)
    return model.full_certificate(X, y, sample_weight)


def _certify_given(model: Any, X: Any, y: Any, sample_weight: Any, alpha: npt.ArrayLike) -> Certificate:
    """The certificate of the user's multipliers."""
    if not isinstance(model, KernelMachine) or isinstance(model, NuSVC):
        raise TypeError(
            f"alpha is for SVC, HardMarginSVC, SVR, NuSVR, OneClassSVM and SVDD, not {type(model).__name__}"
            + (", whose multipliers are divided by rho." if isinstance(model, NuSVC) else ".")
        )
    problems = model.rebuilt_problems(X, y, sample_weight)
    if len(problems) != 1:
        raise ValueError(
            f"alpha is for one problem, and these labels need {len(problems)}: take two classes."
        )
    given = as_numbers(alpha)
    problem, rows, n = problems[0], model.machines_[0].rows, model.shape_fit_[0]
    if given.shape != (n,) or not np.isfinite(given).all():
        shape = np.shape(alpha)
        raise ValueError(f"alpha must hold {n} finite numbers, one for each row; its shape is {shape}.")
    if np.delete(given, rows).any():
        raise ValueError("alpha must be 0 for rows of weight zero, which are not in the problem.")
    a = two_sided(given[rows]) if len(problem) == 2 * len(rows) else given[rows]
    found = problem.certify(a, full=True)
    if found.infeasibility > _FEASIBLE * max(1.0, float(np.abs(given).max(initial=0.0))):
        return replace(found, dual=np.nan, gap=np.nan, relative_gap=np.nan)
    return found


@dataclass(frozen=True)
class Stages:
    """The state of the solution after each stage; all arrays have shape (n_stages,).

    ``gap`` is relative to the dual value and NaN if the problem is not convex.
    """

    steps: FloatArray
    kkt: FloatArray
    gap: FloatArray
    n_active: FloatArray
    n_support: FloatArray


def solve_in_stages(
    model: BaseEstimator,
    X: TableLike,
    y: TargetLike | None = None,
    sample_weight: WeightLike | None = None,
    *,
    machine: int = 0,
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
        stage = replace(solver, max_iter=max(1, int((_GROWTH - 1.0) * total)))

        def note(progress: SolverProgress, active: list[int] = active) -> None:
            active.append(active[0] if progress.n_active is None else progress.n_active)

        solution = solve(problem, stage, start=a, callback=note)
        a, total = solution.x, total + solution.n_iter
        found = certify_fully(problem, solution, solver)
        stages.append((total, found.kkt, found.relative_gap, active[-1], int((a > 0).sum())))
        if solution.status is not Status.MAX_ITER or solver.accepts(found):
            break
    return Stages(*np.array(stages, dtype=np.float64).T)
