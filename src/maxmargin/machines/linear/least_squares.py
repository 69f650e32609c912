"""Least squares and ridge regression."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
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
from maxmargin.base.tables import checked_numbers, numbers_or_csr, row_weights
from maxmargin.base.threads import blas_threads_for, effective_threads
from maxmargin.base.typing import FloatArray
from maxmargin.compute.tables.design import Design, design
from maxmargin.machines.linear.base import LinearRegressor
from maxmargin.machines.linear.linear_pieces import number_problem, survey_numbers
from maxmargin.pieces.collection import Pieces
from maxmargin.pieces.given import as_pieces
from maxmargin.pieces.survey import Survey
from maxmargin.problems.loss_penalty import LossPenalty
from maxmargin.problems.losses import Squared
from maxmargin.problems.penalties import Penalty
from maxmargin.solvers.least_squares.ridge_path import RidgePath, linear_path
from maxmargin.solvers.least_squares.squares_pieces import least_squares, ridge_path_in_pieces
from maxmargin.solvers.online.online_loop import OnlineLoop, Schedule


class _Squares(LinearRegressor):
    """What both share: validation and the certificate."""

    fit_intercept: bool
    n_jobs: int | None

    def _validate(self, X: Any, y: Any, sample_weight: Any) -> tuple[Any, FloatArray, FloatArray]:
        X = numbers_or_csr(self, X)
        y = checked_numbers(y, X.shape[0], self)
        with np.errstate(over="ignore"):
            if not np.isfinite(np.square(y).sum()):
                raise ValueError("the squares of y are too large for floating-point numbers: scale y.")
        return X, y, row_weights(sample_weight, X.shape[0])

    def _store(self, table: Design, y: FloatArray, weights: FloatArray, theta: FloatArray, l2: float) -> None:
        self.coef_, self.intercept_ = theta[:-1], float(theta[-1])
        problem = LossPenalty(
            X=table,
            y=y,
            c=weights,
            loss=Squared(),
            penalty=Penalty(l2=l2),
            fit_intercept=self.fit_intercept,
        )
        self.certificate_ = problem.certify(theta)

    def _store_pieces(self, pieces: Pieces, seen: Survey, theta: FloatArray, l2: float) -> None:
        self.coef_, self.intercept_ = theta[:-1], float(theta[-1])
        problem = number_problem(self, pieces, seen, C=1.0, loss=Squared(), penalty=Penalty(l2=l2))
        self.certificate_ = problem.certify(theta)


class LeastSquares(_Squares):
    """Linear least squares, the shortest solution where it is not unique.

        min over w, b   sum_i s_i (y_i - <w, x_i> - b)^2                                (Fuentes, section 4.1)

    Dense tables by singular values (cost n p min(n, p)), CSR ones through the normal equations, of the rows
    where these are fewer than the columns.

    Parameters
    ----------
    fit_intercept : whether b is free or 0.
    n_jobs : number of threads.

    Attributes
    ----------
    coef_ : of shape (n_features,).
    intercept_ : float.
    rank_ : rank of the centred table.
    certificate_ : the duality gap of the answer.

    Examples
    --------
    >>> import maxmargin as mm
    >>> model = mm.LeastSquares().fit([[0.0], [1.0], [2.0]], [1.0, 3.0, 5.0])
    >>> model.coef_.round(6).tolist(), round(model.intercept_, 6)
    ([2.0], 1.0)
    """

    def __init__(self, *, fit_intercept: bool = True, n_jobs: int | None = None) -> None:
        self.fit_intercept = fit_intercept
        self.n_jobs = n_jobs

    @all_or_nothing
    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> LeastSquares:
        """Fit to X of shape (n_samples, n_features) and targets y of shape (n_samples,), or to `Pieces`."""
        check_flags(self, "fit_intercept")
        pieces = as_pieces(X, y, sample_weight)
        if pieces is not None:
            seen = survey_numbers(self, pieces)
            theta, self.rank_ = least_squares(pieces, seen, self.fit_intercept)
            self._store_pieces(pieces, seen, theta, 0.0)
            return self
        X, y, weights = self._validate(X, y, sample_weight)
        table = design(X, self.n_jobs)
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
        self._store(table, y, weights, np.append(w, mean_y - float(mean_x @ w)), 0.0)
        return self


class Ridge(_Squares):
    """Ridge regression, with a path of penalties and exact leave-one-out errors for the price of one fit.

        min over w, b   sum_i s_i (y_i - <w, x_i> - b)^2 + alpha ||w||^2                (Fuentes, section 4.2)

    alpha is n lambda in Fuentes' notation, and scikit-learn's alpha. The intercept is not penalised.
    Cost: n p min(n, p) for the factorisation, then n min(n, p) for each alpha.

    Parameters
    ----------
    alpha : the penalty; not used where ``alphas`` is given.
    alphas : penalties to try; the one with the smallest leave-one-out error is kept as ``alpha_``.
    fit_intercept : whether b is free or 0.
    solver : "closed", or "sgd" for stochastic gradient descent (Fuentes, algorithm 7) on
        (1/2)(y - f)^2 + (lambda/2)||w||^2 with lambda = alpha / n and the steps eta0 / (1 + eta0 lambda t).
    eta0 : first step of "sgd", in units of 1 / max ||(x, 1)||^2 for the heaviest row.
    max_iter : passes of "sgd".
    random_state : seed of the order of the rows in "sgd".
    n_jobs : number of threads.

    Attributes
    ----------
    coef_ : of shape (n_features,).
    intercept_ : float.
    alpha_ : the penalty in use.
    n_iter_ : passes of "sgd"; 1 for the closed form.
    history_ : table of pass and mean loss before its steps, (1/2)(y - f)^2 (solver "sgd").
    path_ : `RidgePath` with all models and their leave-one-out residuals (solver "closed").
    certificate_ : the duality gap of the answer; it tells how far "sgd" came.

    Examples
    --------
    >>> import maxmargin as mm
    >>> X, y = [[0.0], [1.0], [2.0], [3.0]], [0.1, 0.9, 2.2, 2.8]
    >>> model = mm.Ridge(alphas=[0.01, 0.1, 1.0, 10.0]).fit(X, y)
    >>> model.alpha_, model.path_.loo_mse.round(4).tolist()
    (0.1, [0.0678, 0.0576, 0.1868, 1.3076])
    """

    def __init__(
        self,
        alpha: float = 1.0,
        *,
        alphas: Any = None,
        fit_intercept: bool = True,
        solver: Literal["closed", "sgd"] = "closed",
        eta0: float = 0.5,
        max_iter: int = 50,
        random_state: Any = None,
        n_jobs: int | None = None,
    ) -> None:
        self.alpha = alpha
        self.alphas = alphas
        self.fit_intercept = fit_intercept
        self.solver = solver
        self.eta0 = eta0
        self.max_iter = max_iter
        self.random_state = random_state
        self.n_jobs = n_jobs

    @all_or_nothing
    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Ridge:
        """Fit to X of shape (n_samples, n_features) and targets y of shape (n_samples,), or to `Pieces`."""
        alphas = penalties_to_try(self.alpha, self.alphas)
        check_flags(self, "fit_intercept")
        check_choice("solver", self.solver, ("closed", "sgd"))
        for name in ("path_", "history_"):  # an earlier fit may have had the other solver
            self.__dict__.pop(name, None)
        pieces = as_pieces(X, y, sample_weight)
        if pieces is not None:
            return self._fit_pieces(pieces, alphas)
        X, y, weights = self._validate(X, y, sample_weight)
        table = design(X, self.n_jobs)
        with blas_threads_for(table.shape[1]):  # threads of BLAS that wait would be in the way of ours
            if self.solver == "sgd":
                theta = self._descend(X, y, weights, alphas)
            else:
                threads = effective_threads(self.n_jobs)
                theta = self._choose(linear_path(table, y, weights, alphas, self.fit_intercept, threads))
            self._store(table, y, weights, theta, 2.0 * self.alpha_)
        return self

    def _fit_pieces(self, pieces: Pieces, alphas: FloatArray) -> Ridge:
        if self.solver == "sgd":
            raise ValueError("solver='sgd' needs its rows in memory: use solver='closed' for data in pieces.")
        seen = survey_numbers(self, pieces)
        theta = self._choose(ridge_path_in_pieces(pieces, seen, alphas, self.fit_intercept))
        self._store_pieces(pieces, seen, theta, 2.0 * self.alpha_)
        return self

    def _choose(self, path: RidgePath) -> FloatArray:
        """Keep the path and return (w, b) of its best penalty."""
        self.path_, self.n_iter_ = path, 1
        best = path.best if self.alphas is not None else 0
        self.alpha_ = float(path.alphas[best])
        return np.append(path.coef[best], path.intercept[best])

    def _descend(self, X: Any, y: FloatArray, weights: FloatArray, alphas: FloatArray) -> FloatArray:
        if self.alphas is not None:
            raise ValueError("solver='sgd' fits one alpha: use solver='closed' for a path.")
        check_count("max_iter", self.max_iter)
        check_positive("eta0", self.eta0)
        self.alpha_ = float(alphas[0])
        # with weights of mean one a step follows the gradient of the mean loss; the heaviest row keeps eta0
        scaled = weights * (np.count_nonzero(weights) / weights.sum())
        loop = OnlineLoop(
            rule="squares",
            schedule=Schedule("inverse_decay", self.eta0 / scaled.max()),
            decay=self.alpha_ / float(weights.sum()),
            fit_intercept=self.fit_intercept,
            relative_step=True,
        )
        state = loop.start(X.shape[1], self.random_state)
        losses = [loop.run(state, X, y, scaled)[1] for _ in range(self.max_iter)]
        self.history_ = pd.DataFrame({"pass": np.arange(1, self.max_iter + 1), "loss": losses})
        self.n_iter_ = self.max_iter
        return state.theta(average=False)


def penalties_to_try(alpha: float, alphas: Any) -> FloatArray:
    """The validated penalties of shape (n_alphas,)."""
    if alphas is None:
        check_not_negative("alpha", alpha)
        return np.array([alpha], dtype=np.float64)
    return check_positives("alphas", alphas)
