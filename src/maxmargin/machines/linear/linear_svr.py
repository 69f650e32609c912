"""The linear support vector regressor."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import Literal

import numpy as np

from maxmargin.base.interruption import all_or_nothing
from maxmargin.base.parameters import check_choice, check_not_negative
from maxmargin.base.progress import Callback
from maxmargin.base.typing import FloatArray, RandomStateLike, TableLike, TargetLike, WeightLike
from maxmargin.compute.tables.design import Design, design
from maxmargin.machines.linear.base import (
    LinearRegressor,
    check_linear_svm,
    finite_or_refused,
    keep_solutions,
    solve_as_asked,
    with_constant,
    without_constant,
)
from maxmargin.machines.linear.linear_pieces import (
    check_newton,
    number_problem,
    solve_in_pieces,
    survey_numbers,
)
from maxmargin.pieces.collection import Pieces
from maxmargin.pieces.given import as_pieces
from maxmargin.problems import losses
from maxmargin.problems.certificate import Certificate
from maxmargin.problems.loss_penalty import LossPenalty
from maxmargin.problems.penalties import Penalty
from maxmargin.problems.solution import Solution
from maxmargin.solvers.primal.primal_choice import primal_penalty

_LOSSES = ("epsilon_insensitive", "squared_epsilon_insensitive")


@dataclass(eq=False, repr=False)
class LinearSVR(LinearRegressor):
    """Linear support vector regression with a free intercept.

        min over w, b   C sum_i s_i L(<w, x_i> + b - y_i) + P(w)

    with L(r) = max(0, |r| - epsilon) or its square, and the convex penalties of `LinearSVC`.

    Parameters
    ----------
    C, sparsity, solver, dual, fit_intercept, intercept_scaling, tol, max_iter, random_state, n_jobs,
        verbose : as in `LinearSVC`.
    epsilon : half width of the tube in which residuals cost nothing.
    loss : "epsilon_insensitive" or "squared_epsilon_insensitive".
    penalty : "l2", "l1", "l1l2" or "none".

    Attributes
    ----------
    coef_ : of shape (n_features,), or (n_targets, n_features) where y has columns.
    intercept_ : of shape (1,) or (n_targets,).
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
    dual: bool | Literal["auto"] = "auto"
    fit_intercept: bool = True
    intercept_scaling: float | None = None
    tol: float = 1e-4
    max_iter: int = 2000
    random_state: RandomStateLike | None = None
    n_jobs: int | None = None
    verbose: int = 0

    _lists_intercepts = True

    @all_or_nothing
    def fit(
        self,
        X: TableLike | Pieces,
        y: TargetLike | None = None,
        sample_weight: WeightLike | None = None,
        *,
        callback: Callback | None = None,
    ) -> LinearSVR:
        """Fit to X of shape (n_samples, n_features) and y of shape (n_samples,) or (n_samples, n_targets).

        ``X`` may be `Pieces`; ``callback`` as in `LinearSVC`.
        """
        check_linear_svm(self)
        check_not_negative("epsilon", self.epsilon)
        check_choice("penalty", self.penalty, ("l2", "l1", "l1l2", "none"))
        pieces = as_pieces(X, y, sample_weight)
        with finite_or_refused(self):
            if pieces is None:
                X, y, weights = self.validated(X, y, sample_weight)
                table = design(with_constant(X, self), self.n_jobs)
                fits = [self._fit_target(table, target, weights) for target in y.reshape(len(y), -1).T]
            else:
                y, fits = np.empty(0), [self._fit_pieces(pieces)]
            self._store_planes(without_constant([solution.x for solution, _ in fits], self), y)
        self.n_iter_ = max(solution.n_iter for solution, _ in fits)
        keep_solutions(self, fits)
        return self

    def _loss(self) -> losses.Loss:
        return losses.by_name(self.loss, _LOSSES, epsilon=self.epsilon)

    def _penalty(self) -> Penalty:
        return primal_penalty(self.penalty, self.sparsity, 5.0)

    def _fit_target(self, table: Design, y: FloatArray, weights: FloatArray) -> tuple[Solution, Certificate]:
        problem = LossPenalty(
            X=table,
            y=np.ascontiguousarray(y),
            c=self.C * weights,
            loss=self._loss(),
            penalty=self._penalty(),
            fit_intercept=self.fit_intercept and self.intercept_scaling is None,
        )
        return solve_as_asked(self, problem)

    def _fit_pieces(self, pieces: Pieces) -> tuple[Solution, Certificate]:
        loss, penalty = self._loss(), self._penalty()
        check_newton(self, loss, penalty, "loss='squared_epsilon_insensitive' with penalty='l2'")
        seen = survey_numbers(self, pieces)
        problem = number_problem(self, pieces, seen, C=self.C, loss=loss, penalty=penalty)
        return solve_in_pieces(self, problem)
