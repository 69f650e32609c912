"""A hinge problem with a huge C on a kernel matrix: certified and, if necessary, solved again, as in a fit.

With a huge C a small violation of a condition can cost much, so the duality gap decides.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from maxmargin.base.typing import AnyArray, FloatArray
from maxmargin.kernels.points import IndexedPoints
from maxmargin.kernels.precomputed import Precomputed
from maxmargin.problems.certificate import Certificate
from maxmargin.problems.formulations import Classification
from maxmargin.problems.solution import Ending, Status
from maxmargin.solvers.certified import solve_certified
from maxmargin.solvers.dual.gram.chains import ChainCell


def certified_hinge(
    K: AnyArray, y: FloatArray, bound: FloatArray, cell: ChainCell, t: FloatArray | None
) -> tuple[FloatArray, FloatArray, Ending]:
    """Signed variables and decisions of all rows of K, for the problem of the rows that have a bound.

    The start ``t`` is returned unchanged if its gap is narrow.
    """
    rows = np.flatnonzero(bound)
    K = K.astype(np.float64)
    square: Any = IndexedPoints(K[np.ix_(rows, rows)], np.arange(len(rows)))
    problem = Classification(C=1.0).build(Precomputed(), square, y[rows], bound[rows])
    a = None if t is None else np.abs(t[rows])
    found = Certificate() if a is None else problem.certify(a, full=True)
    ending = Ending(Status.CONVERGED, 0, found.kkt)
    if a is None or found.is_wide or not cell.solver.accepts(found):
        solution, found = solve_certified(problem, cell.solver, full=True, start=a)
        is_wide = solution.status is Status.CONVERGED and found.is_wide
        a, status = solution.x, Status.WIDE_GAP if is_wide else solution.status
        ending = Ending(status, solution.n_iter, found.kkt)
    new = np.zeros(len(y))
    new[rows] = y[rows] * a
    v = K[:, rows] @ new[rows]
    multipliers = problem.multipliers(problem.signed_gradient(a, v[rows]), a)
    return new, v - multipliers[0], ending


__all__ = ["certified_hinge"]
