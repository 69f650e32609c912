"""The linear support vector regressor."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import Any, Literal

from maxmargin.base.interruption import all_or_nothing
from maxmargin.base.parameters import (
    check_choice,
    check_count,
    check_flags,
    check_not_negative,
    check_positive,
)
from maxmargin.base.progress import show_line
from maxmargin.base.typing import RandomStateLike, TableLike, TargetLike, WeightLike
from maxmargin.compute.tables.design import design
from maxmargin.machines.linear.base import LinearRegressor, finite_or_refused
from maxmargin.machines.linear.linear_pieces import check_newton, number_problem, survey_numbers
from maxmargin.pieces.collection import Pieces
from maxmargin.pieces.given import as_pieces
from maxmargin.problems import losses
from maxmargin.problems.certificate import Certificate
from maxmargin.problems.loss_penalty import LossPenalty, warn_unsolved
from maxmargin.problems.penalties import Penalty
from maxmargin.problems.solution import Solution
from maxmargin.solvers.primal.newton_pieces import PiecesNewton, solve_pieces
from maxmargin.solvers.primal.primal_choice import primal_penalty, solve_primal

_LOSSES = ("epsilon_insensitive", "squared_epsilon_insensitive")


@dataclass(eq=False, repr=False)
class LinearSVR(LinearRegressor):
    """Linear support vector regression with a free intercept.

        min over w, b   C sum_i s_i L(<w, x_i> + b - y_i) + P(w)

    with L(r) = max(0, |r| - epsilon) or its square, and the convex penalties of `LinearSVC`.

    Parameters
    ----------
    C, sparsity, solver, fit_intercept, tol, max_iter, random_state, n_jobs, verbose : as in `LinearSVC`.
    epsilon : half the width of the tube without loss.
    loss : "epsilon_insensitive" or "squared_epsilon_insensitive".
    penalty : "l2", "l1", "l1l2" or "none".

    Attributes
    ----------
    coef_ : of shape (n_features,).
    intercept_ : float.
    certificate_, solution_, n_iter_ : as in `LinearSVC`.

    Examples
    --------
    >>> import maxmargin as mm
    >>> model = mm.LinearSVR(C=100.0, epsilon=0.0, tol=1e-8).fit([[0.0], [1.0], [2.0], [3.0]], [1, 3, 5, 40])
    >>> model.predict([[1.5]]).round(3).tolist()
    [4.0]
    """

    C: float = 1.0
    _: KW_ONLY
    epsilon: float = 0.1
    loss: Literal["epsilon_insensitive", "squared_epsilon_insensitive"] = "epsilon_insensitive"
    penalty: Literal["l2", "l1", "l1l2", "none"] = "l2"
    sparsity: float = 1.0
    solver: str = "auto"
    fit_intercept: bool = True
    tol: float = 1e-4
    max_iter: int = 2000
    random_state: RandomStateLike | None = None
    n_jobs: int | None = None
    verbose: int = 0

    @all_or_nothing
    def fit(
        self, X: TableLike | Pieces, y: TargetLike | None = None, sample_weight: WeightLike | None = None
    ) -> LinearSVR:
        """Fit to X of shape (n_samples, n_features) and targets y of shape (n_samples,), or to `Pieces`."""
        check_positive("C", self.C)
        check_flags(self, "fit_intercept")
        check_not_negative("epsilon", self.epsilon)
        check_positive("tol", self.tol)
        check_count("max_iter", self.max_iter)
        check_choice("penalty", self.penalty, ("l2", "l1", "l1l2", "none"))
        pieces = as_pieces(X, y, sample_weight)
        with finite_or_refused(self):
            fitted = self._fit_memory(X, y, sample_weight) if pieces is None else self._fit_pieces(pieces)
            self.solution_, self.certificate_ = fitted
            self.coef_, self.intercept_ = self.solution_.x[:-1], float(self.solution_.x[-1])
        self.n_iter_ = self.solution_.n_iter
        warn_unsolved(self.certificate_, self.tol, "LinearSVR", f"raise max_iter={self.max_iter} or scale X")
        return self

    def _loss(self) -> losses.Loss:
        return losses.by_name(self.loss, _LOSSES, epsilon=self.epsilon)

    def _penalty(self) -> Penalty:
        return primal_penalty(self.penalty, self.sparsity, 5.0)

    def _fit_memory(self, X: Any, y: Any, sample_weight: Any) -> tuple[Solution, Certificate]:
        X, y, weights = self.validated(X, y, sample_weight)
        problem = LossPenalty(
            X=design(X, self.n_jobs),
            y=y,
            c=self.C * weights,
            loss=self._loss(),
            penalty=self._penalty(),
            fit_intercept=self.fit_intercept,
        )
        return solve_primal(
            problem,
            self.solver,
            tol=self.tol,
            max_iter=self.max_iter,
            random_state=self.random_state,
            callback=self._report if self.verbose else None,
        )

    def _fit_pieces(self, pieces: Pieces) -> tuple[Solution, Certificate]:
        loss, penalty = self._loss(), self._penalty()
        check_newton(self, loss, penalty, "loss='squared_epsilon_insensitive' with penalty='l2'")
        seen = survey_numbers(self, pieces)
        problem = number_problem(self, pieces, seen, C=self.C, loss=loss, penalty=penalty)
        solver = PiecesNewton(tol=self.tol, max_iter=self.max_iter)
        return solve_pieces(problem, solver, callback=self._report if self.verbose else None)[:2]

    def _report(self, iteration: int, value: float) -> None:
        show_line(f"LinearSVR: iteration {iteration}, objective {value:.10g}")
