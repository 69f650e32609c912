"""Kernel ridge regression for many rows."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from sklearn.base import RegressorMixin
from sklearn.utils import _safe_indexing
from sklearn.utils.validation import check_is_fitted

from maxmargin.base.interruption import of_one_fit
from maxmargin.base.parameters import check_positive
from maxmargin.base.tables import checked_numbers, row_weights, with_finite_squares
from maxmargin.base.threads import effective_threads
from maxmargin.base.typing import FloatArray, TableLike
from maxmargin.compute.tables.design import Design
from maxmargin.kernels.kernel_products import kernel_times
from maxmargin.machines.large.approximation import Approximation, DualPoint, warn_if_long
from maxmargin.machines.large.base import LargeMachine, MappedRows
from maxmargin.machines.large.mapped_rows import opened
from maxmargin.machines.linear.base import check_weighted_squares
from maxmargin.machines.linear.linear_pieces import number_problem, solve_in_pieces, survey_numbers
from maxmargin.pieces.collection import Pieces
from maxmargin.problems.certificate import Certificate
from maxmargin.problems.kernel_system import KernelRidgeProblem
from maxmargin.problems.loss_penalty import warn_unsolved
from maxmargin.problems.losses import Squared
from maxmargin.problems.newton_system import solve_symmetric
from maxmargin.problems.penalties import Penalty
from maxmargin.solvers.least_squares.preconditioned import PreconditionedGradients
from maxmargin.solvers.stopping import tell_iteration


@dataclass(eq=False, repr=False)
class LargeKernelRidge(RegressorMixin, LargeMachine):
    """Kernel ridge regression with a low-rank kernel, for 10^5 rows and far more.

        min over w   sum_i s_i (y_i - <w, phi(x_i)>)^2 + alpha |w|^2

    with phi as in `LargeSVC`, solved by one m x m system. As in `KernelRidge` there is no intercept: centre y
    or add a constant kernel.

    Parameters
    ----------
    alpha : regularisation parameter.
    kernel, gamma, coef0, degree, n_components, method, memory, sample, random_state, n_jobs, verbose : as in
        `LargeSVC`.
    polish : solve the exact problem (K + alpha S^-1) a = y by conjugate gradients, with the low-rank kernel
        as preconditioner: a few dozen products of cost n^2 p, without storing the matrix.
    tol : relative residual of the polished system; relative duality gap otherwise.
    max_iter : maximum number of products with the exact kernel; for rows in pieces, of Newton steps.

    Attributes
    ----------
    coef_ : of shape (n_components_,). dual_coef_ : with polish, of shape (n_samples,); else None.
    certificate_, low_rank_certificate_, approximation_, n_iter_, n_components_ : as in `LargeSVC`.

    Examples
    --------
    >>> import numpy as np, maxmargin as mm
    >>> X = np.random.default_rng(0).uniform(-3, 3, size=(1000, 1))
    >>> y = np.sin(X[:, 0])
    >>> low = mm.LargeKernelRidge(0.1, n_components=30, random_state=0).fit(X, y)
    >>> exact = mm.KernelRidge(0.1, gamma=low.kernel_.gamma).fit(X, y)
    >>> bool(np.abs(low.predict(X) - exact.predict(X)).max() < 1e-3)
    True
    """

    alpha: float = 1.0

    fit_intercept = False
    intercept_ = 0.0

    def check_parameters(self) -> None:
        check_positive("alpha", self.alpha)
        super().check_parameters()

    def _fit_memory(self, X: Any, y: Any, sample_weight: Any) -> None:
        rows = opened(self, X)
        target = with_finite_squares(checked_numbers(y, rows.n, self))
        mapped = self._mapped(rows)
        weights = row_weights(sample_weight, rows.n)
        check_weighted_squares(weights, target)
        features: Design = mapped.design
        H = features.gram(weights)
        H[np.diag_indices_from(H)] += self.alpha
        w = solve_symmetric(H, features.adjoint(weights * target))
        problem = self._problem(features, target, weights, Squared(), l2=2.0 * self.alpha)
        certificate = problem.certify(np.append(w, 0.0))
        u = 2.0 * weights * (features.scores(w) - target)
        # the penalty is l2 / 2 |w|^2 with l2 = 2 alpha, so the dual's quadratic form is divided by it
        scaled = u / np.sqrt(2.0 * self.alpha)
        found = DualPoint(scaled, features.adjoint(scaled), certificate)
        self._store(mapped.map, w, certificate, self._near(mapped, [found]), 1)
        if self.polish:
            self._polish(mapped, target, weights)

    def _fit_pieces(self, pieces: Pieces) -> None:
        mapped = self._mapped_pieces(pieces, survey_numbers(self, pieces))
        penalty = Penalty(l2=2.0 * self.alpha)
        problem = number_problem(self, mapped.pieces, mapped.seen, C=1.0, loss=Squared(), penalty=penalty)
        solution, certificate = solve_in_pieces(self, problem)
        near = Approximation(map=mapped.error)
        self._store(mapped.map, solution.x[:-1], certificate, near, solution.n_iter)

    def _polish(self, mapped: MappedRows, y: FloatArray, weights: FloatArray) -> None:
        """Solve the exact system on the rows of positive weight."""
        warn_if_long(mapped.rows.n, "LargeKernelRidge")
        used = np.flatnonzero(weights > 0)
        everything = len(used) == mapped.rows.n
        points = mapped.map.points(mapped.rows.X if everything else _safe_indexing(mapped.rows.X, used))
        problem = KernelRidgeProblem(
            kernel=mapped.map.kernel,
            points=points.astype(np.float64),
            y=y[used],
            weights=weights[used],
            alpha=float(self.alpha),
            n_threads=effective_threads(self.n_jobs),
        )
        solver = PreconditionedGradients(tol=self.tol, max_iter=self.max_iter)
        features = mapped.design if everything else mapped.design.take(used)
        solution = solver.solve(problem, features, callback=partial(tell_iteration, self))
        self._points = points.take(np.arange(len(points)))  # a copy: X may change after the fit
        self.dual_coef_: FloatArray | None = solution.x
        self.n_iter_ = 1 + solution.n_iter  # the preconditioner alone is the first solution
        self.certificate_ = problem.certify(solution.x)
        warn_unsolved(self.certificate_, self.tol, "LargeKernelRidge", f"raise max_iter={self.max_iter}")

    def _store(
        self, map_: Any, w: FloatArray, certificate: Certificate, near: Approximation, n_iter: int
    ) -> None:
        self.coef_ = w
        self.n_iter_ = n_iter
        self.dual_coef_ = None
        self._store_map(map_, certificate, near, "raise alpha or scale X")

    @of_one_fit
    def predict(self, X: TableLike) -> FloatArray:
        """Predicted values of shape (n_samples,)."""
        check_is_fitted(self)
        if self.dual_coef_ is None:
            return self._decisions(X)[:, 0]
        points = self.map_.points(opened(self, X, reset=False).X)
        threads = effective_threads(self.n_jobs)
        return kernel_times(self.kernel_, points, self._points, self.dual_coef_, n_threads=threads)
