"""Least squares and ridge regression, in closed form or by stochastic gradients."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
import pandas as pd
from scipy import linalg

from maxmargin.base.interruption import all_or_nothing
from maxmargin.base.parameters import (
    check_choice,
    check_count,
    check_flags,
    check_not_negative,
    check_positive,
    check_positives,
)
from maxmargin.base.threads import blas_threads_for, effective_threads
from maxmargin.base.typing import FloatArray, RandomStateLike, TableLike, TargetLike, WeightLike
from maxmargin.compute.tables.design import Design, design
from maxmargin.compute.tables.inner_products import squared_norms
from maxmargin.machines.linear.base import LinearRegressor, finite_or_refused
from maxmargin.machines.linear.linear_pieces import number_problem, survey_numbers
from maxmargin.pieces.collection import Pieces
from maxmargin.pieces.given import as_pieces
from maxmargin.pieces.survey import Survey
from maxmargin.problems.certificate import Certificate
from maxmargin.problems.loss_penalty import LossPenalty, solved, warn_unsolved
from maxmargin.problems.losses import Squared
from maxmargin.problems.penalties import Penalty
from maxmargin.solvers.least_squares.ridge_path import RidgePath, linear_path
from maxmargin.solvers.least_squares.squares_pieces import least_squares, ridge_path_in_pieces
from maxmargin.solvers.online.online_loop import LOG, OnlineLoop, Schedule
from maxmargin.solvers.primal.newton import newton_direction

_HALVING = 10  # passes after which the step is half of the first one
_CHECK_EVERY = 5  # passes


@dataclass(eq=False, repr=False, kw_only=True)
class Squares(LinearRegressor):
    """Base class of `LeastSquares` and `Ridge`: validation, stochastic gradients, the certificate."""

    fit_intercept: bool = True
    solver: Literal["closed", "sgd"] = "closed"
    eta0: float = 1.0
    average: bool = True
    max_iter: int = 100
    tol: float = 1e-3
    random_state: RandomStateLike | None = None
    trace: bool = False
    n_jobs: int | None = None

    def _check(self) -> None:
        check_flags(self, "fit_intercept", "average", "trace")
        check_choice("solver", self.solver, ("closed", "sgd"))
        check_count("max_iter", self.max_iter)
        check_positive("eta0", self.eta0)
        check_positive("tol", self.tol)
        for name in ("path_", "history_", "trace_"):  # an earlier fit may have had the other solver
            self.__dict__.pop(name, None)

    def _problem(self, table: Design, y: FloatArray, weights: FloatArray, l2: float) -> LossPenalty:
        return LossPenalty(
            X=table,
            y=y,
            c=weights,
            loss=Squared(),
            penalty=Penalty(l2=l2),
            fit_intercept=self.fit_intercept,
        )

    def _store(self, problem: Any, theta: FloatArray) -> None:
        self.coef_, self.intercept_, self.n_iter_ = theta[:-1], float(theta[-1]), 1
        self.certificate_ = problem.certify(theta)

    def _pieces_problem(self, pieces: Pieces, seen: Survey, l2: float) -> Any:
        if self.solver == "sgd":
            raise ValueError("solver='sgd' needs its rows in memory: use solver='closed' for data in pieces.")
        return number_problem(self, pieces, seen, C=1.0, loss=Squared(), penalty=Penalty(l2=l2))

    def _descend(self, problem: LossPenalty, X: Any) -> None:
        """Passes of stochastic gradients on the mean loss until the relative gap is at most ``tol``.

        In pass k the step is eta0/(1 + k/10) / max ||(x, 1)||^2, so that the steps sum to infinity and their
        squares do not. The average is over the second half of the passes.
        """
        weights, total = problem.c, float(problem.c.sum())
        # with weights of mean one a step follows the gradient of the mean loss
        scaled = weights * (np.count_nonzero(weights) / total)
        longest = float(np.max(squared_norms(X)[weights > 0])) + 1.0
        loop = OnlineLoop(
            rule="squares",
            schedule=Schedule("constant"),
            decay=0.5 * problem.penalty.l2 / total,
            fit_intercept=self.fit_intercept,
            average=self.average,
        )
        state = loop.start(X.shape[1], self.random_state)
        sums, losses, logs = [np.zeros(X.shape[1] + 1)], [], []
        for k in range(self.max_iter):
            state.eta = self.eta0 / (1.0 + k / _HALVING) / (longest * float(scaled.max()))
            log = np.empty((np.count_nonzero(weights), len(LOG))) if self.trace else None
            losses.append(loop.run(state, X, problem.y, scaled, log=log)[1])
            if log is not None:
                logs.append(pd.DataFrame(log, columns=list(LOG)).assign(**{"pass": k + 1}))
            theta = state.theta(average=False)
            if self.average:
                sums.append(state.steps * state.theta(average=True))
                half = (k + 1) // 2
                theta = (sums[-1] - sums[half]) / (state.steps * (1.0 - half / (k + 1.0)))
            if (k + 1) % _CHECK_EVERY == 0 and solved(_exact_certificate(problem, theta), self.tol):
                break
        self.n_iter_ = len(losses)
        self.history_ = pd.DataFrame({"pass": np.arange(1, self.n_iter_ + 1), "loss": losses})
        if logs:
            self.trace_ = pd.concat(logs, ignore_index=True).assign(machine=0)
        self.coef_, self.intercept_ = theta[:-1], float(theta[-1])
        self.certificate_ = _exact_certificate(problem, theta)
        warn_unsolved(
            self.certificate_, self.tol, type(self).__name__, f"raise max_iter={self.max_iter} or scale X"
        )


def _exact_certificate(problem: LossPenalty, theta: FloatArray) -> Certificate:
    """The distance of theta from the optimum, exactly: the objective is quadratic.

    One Newton step leads to the optimum, whose residuals are the best point of the dual. Cost: n p^2.
    """
    u = problem.c * problem.loss.slope(problem.scores(theta), problem.y)
    d = problem.c * problem.loss.curvature(problem.y, problem.y)
    gradient = np.append(problem.X.adjoint(u), u.sum() * problem.fit_intercept)
    gradient[:-1] += problem.penalty.l2 * theta[:-1]
    step = newton_direction(problem.X, d, problem.penalty.l2, gradient, problem.fit_intercept)
    return problem.certify(theta, u + d * (problem.X.scores(step[:-1]) + step[-1]))


@dataclass(eq=False, repr=False, kw_only=True)
class LeastSquares(Squares):
    """Linear least squares, the shortest solution where it is not unique.

        min over w, b   sum_i s_i (y_i - <w, x_i> - b)^2                                (Fuentes, section 4.1)

    Dense tables by singular values (cost n p min(n, p)), CSR ones through the normal equations, of the rows
    where these are fewer than the columns.

    Parameters
    ----------
    fit_intercept : whether b is free or 0.
    solver : "closed", or "sgd" for stochastic gradient descent (Fuentes, algorithm 6).
    eta0, average, max_iter, tol, random_state, trace : of "sgd", as in `Ridge`.
    n_jobs : number of threads.

    Attributes
    ----------
    coef_ : of shape (n_features,).
    intercept_ : float.
    rank_ : rank of the centred table (solver "closed").
    n_iter_, history_, trace_ : as in `Ridge`.
    certificate_ : the duality gap of the solution.

    Examples
    --------
    >>> import maxmargin as mm
    >>> model = mm.LeastSquares().fit([[0.0], [1.0], [2.0]], [1.0, 3.0, 5.0])
    >>> model.coef_.round(6).tolist(), round(model.intercept_, 6)
    ([2.0], 1.0)
    """

    @all_or_nothing
    def fit(
        self, X: TableLike | Pieces, y: TargetLike | None = None, sample_weight: WeightLike | None = None
    ) -> LeastSquares:
        """Fit to X of shape (n_samples, n_features) and targets y of shape (n_samples,), or to `Pieces`."""
        self._check()
        pieces = as_pieces(X, y, sample_weight)
        if pieces is not None:
            seen = survey_numbers(self, pieces)
            problem = self._pieces_problem(pieces, seen, 0.0)
            theta, self.rank_ = least_squares(pieces, seen, self.fit_intercept)
            self._store(problem, theta)
            return self
        X, y, weights = self.validated(X, y, sample_weight)
        problem = self._problem(design(X, self.n_jobs), y, weights, 0.0)
        with finite_or_refused(self):
            if self.solver == "sgd":
                self._descend(problem, X)
            else:
                self._store(problem, self._solve(X, problem))
        return self

    def _solve(self, X: Any, problem: LossPenalty) -> FloatArray:
        """The shortest (w, b) in closed form."""
        table, y, weights = problem.X, problem.y, problem.c
        total = float(weights.sum())
        mean_x = table.adjoint(weights) / total if self.fit_intercept else np.zeros(table.shape[1])
        mean_y = float(weights @ y) / total if self.fit_intercept else 0.0
        root = np.sqrt(weights)
        cut = max(table.shape) * float(np.finfo(np.float64).eps)
        if isinstance(X, np.ndarray):
            rows = root[:, None] * (table.dense() - mean_x)
            w, _, rank, _ = linalg.lstsq(rows, root * (y - mean_y), cond=cut, check_finite=False)
        elif X.shape[0] < X.shape[1]:
            projected = table.scores(mean_x)
            inner = (X @ X.T).toarray() - projected - projected[:, None] + float(mean_x @ mean_x)
            inner *= root * root[:, None]
            a, _, rank, _ = linalg.lstsq(inner, root * (y - mean_y), cond=1e-12, check_finite=False)
            w = table.adjoint(root * a) - mean_x * float(root @ a)
        else:
            gram = table.gram(weights) - total * np.outer(mean_x, mean_x)
            right = table.adjoint(weights * (y - mean_y)) - mean_x * float(weights @ (y - mean_y))
            w, _, rank, _ = linalg.lstsq(gram, right, cond=1e-12, check_finite=False)
        self.rank_ = int(rank)
        return np.append(w, mean_y - float(mean_x @ w))


@dataclass(eq=False, repr=False)
class Ridge(Squares):
    """Ridge regression, with a path of penalties and exact leave-one-out errors at the cost of one fit.

        min over w, b   sum_i s_i (y_i - <w, x_i> - b)^2 + alpha ||w||^2                (Fuentes, section 4.2)

    alpha is n lambda in Fuentes' notation, and scikit-learn's alpha. The intercept is not penalised.
    Cost: n p min(n, p) for the factorisation, then n min(n, p) for each alpha.

    Parameters
    ----------
    alpha : the penalty; not used where ``alphas`` is given.
    alphas : penalties to try; the one with the smallest leave-one-out error is kept as ``alpha_``.
    fit_intercept : whether b is free or 0.
    solver : "closed", or "sgd" for stochastic gradient descent (Fuentes, algorithm 7) on
        (1/2)(y - f)^2 + (lambda/2)||w||^2 with lambda = alpha / n.
    eta0 : first step of "sgd", in units of 1 / max ||(x, 1)||^2 for the heaviest row; that of pass k is
        eta0/(1 + k/10).
    average : return the average of the iterates in the second half of the passes of "sgd".
    max_iter : largest number of passes of "sgd".
    tol : relative duality gap at which "sgd" stops, looked at every five passes.
    random_state : seed of the order of the rows in "sgd".
    trace : record every step of "sgd" in ``trace_``, as in `Perceptron`.
    n_jobs : number of threads.

    Attributes
    ----------
    coef_ : of shape (n_features,).
    intercept_ : float.
    alpha_ : the penalty in use.
    n_iter_ : passes of "sgd"; 1 for the closed form.
    history_ : table of pass and mean loss before its steps, (1/2)(y - f)^2 (solver "sgd").
    path_ : `RidgePath` with all models and their leave-one-out residuals (solver "closed").
    certificate_ : the duality gap of the solution; "sgd" warns where it is above ``tol``.

    Examples
    --------
    >>> import maxmargin as mm
    >>> X, y = [[0.0], [1.0], [2.0], [3.0]], [0.1, 0.9, 2.2, 2.8]
    >>> model = mm.Ridge(alphas=[0.01, 0.1, 1.0, 10.0]).fit(X, y)
    >>> model.alpha_, model.path_.loo_mse.round(4).tolist()
    (0.1, [0.0678, 0.0576, 0.1868, 1.3076])
    """

    alpha: float = 1.0
    _: KW_ONLY
    alphas: npt.ArrayLike | None = None

    @all_or_nothing
    def fit(
        self, X: TableLike | Pieces, y: TargetLike | None = None, sample_weight: WeightLike | None = None
    ) -> Ridge:
        """Fit to X of shape (n_samples, n_features) and targets y of shape (n_samples,), or to `Pieces`."""
        alphas = penalties_to_try(self.alpha, self.alphas)
        self._check()
        if self.solver == "sgd" and self.alphas is not None:
            raise ValueError("solver='sgd' fits one alpha: use solver='closed' for a path.")
        pieces = as_pieces(X, y, sample_weight)
        if pieces is not None:
            seen = survey_numbers(self, pieces)
            self._pieces_problem(pieces, seen, 0.0)
            theta = self._choose(ridge_path_in_pieces(pieces, seen, alphas, self.fit_intercept))
            self._store(self._pieces_problem(pieces, seen, 2.0 * self.alpha_), theta)
            return self
        X, y, weights = self.validated(X, y, sample_weight)
        table = design(X, self.n_jobs)
        # threads of BLAS that wait would be in the way of ours
        with blas_threads_for(table.shape[1]), finite_or_refused(self):
            if self.solver == "sgd":
                self.alpha_: float = float(alphas[0])
                self._descend(self._problem(table, y, weights, 2.0 * self.alpha_), X)
            else:
                threads = effective_threads(self.n_jobs)
                theta = self._choose(linear_path(table, y, weights, alphas, self.fit_intercept, threads))
                self._store(self._problem(table, y, weights, 2.0 * self.alpha_), theta)
        return self

    def _choose(self, path: RidgePath) -> FloatArray:
        """Keep the path and return (w, b) of its best penalty."""
        self.path_ = path
        best = path.best if self.alphas is not None else 0
        self.alpha_ = float(path.alphas[best])
        return np.append(path.coef[best], path.intercept[best])


def penalties_to_try(alpha: float, alphas: Any) -> FloatArray:
    """The validated penalties of shape (n_alphas,)."""
    if alphas is None:
        check_not_negative("alpha", alpha)
        return np.array([alpha], dtype=np.float64)
    return check_positives("alphas", alphas)
