"""Least squares and ridge regression, in closed form or by stochastic gradients."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
import pandas as pd
from sklearn.utils.validation import check_is_fitted

from maxmargin.base.interruption import all_or_nothing
from maxmargin.base.parameters import (
    check_allowed,
    check_choice,
    check_count,
    check_flags,
    check_inner_fraction,
    check_positive,
)
from maxmargin.base.table_columns import feature_names
from maxmargin.base.threads import blas_threads_for, effective_threads, interruptible
from maxmargin.base.typing import FloatArray, RandomStateLike, TableLike, TargetLike, WeightLike
from maxmargin.compute.tables.design import Design, design
from maxmargin.compute.tables.inner_products import squared_norms
from maxmargin.machines.linear.base import LinearRegressor, finite_or_refused
from maxmargin.machines.linear.linear_pieces import number_problem, survey_numbers
from maxmargin.machines.linear.squares_summary import SquaresMoments, SquaresSummary
from maxmargin.pieces.collection import Pieces
from maxmargin.pieces.given import as_pieces
from maxmargin.pieces.survey import Survey
from maxmargin.problems.certificate import Certificate
from maxmargin.problems.loss_penalty import LossPenalty, solved, warn_unsolved, worst_gap
from maxmargin.problems.losses import Squared
from maxmargin.problems.penalties import Penalty
from maxmargin.solvers.least_squares.ridge_path import (
    RidgePath,
    chosen_penalties,
    linear_paths,
    penalties_to_try,
)
from maxmargin.solvers.least_squares.squares_pieces import least_squares, ridge_path_in_pieces
from maxmargin.solvers.online.online_loop import LOG, OnlineLoop, Schedule
from maxmargin.solvers.primal.newton import newton_direction

_HALVING = 30  # passes after which the step is half of the first one
_CHECK_EVERY = 5  # passes
_PASSES = 1000  # where max_iter is None
_UNSEEN = 1e-6  # of the sum of squares: smaller gaps do not count, as interpolation has an optimum near 0
_SOLVERS = ("auto", "closed", "sgd", "svd", "cholesky", "lsqr", "sparse_cg", "sag", "saga", "lbfgs")
_MOST_SUMMARISED = 1500  # columns: the summary keeps their scatter


@dataclass(eq=False, repr=False, kw_only=True)
class Squares(LinearRegressor):
    """Base class of `LeastSquares` and `Ridge`: validation, stochastic gradients, the certificate."""

    fit_intercept: bool = True
    copy_X: bool = True  # noqa: N815  # scikit-learn's name
    positive: bool = False
    solver: Literal[
        "auto", "closed", "sgd", "svd", "cholesky", "lsqr", "sparse_cg", "sag", "saga", "lbfgs"
    ] = "auto"
    eta0: float = 1.0
    average: bool = True
    max_iter: int | None = None
    tol: float = 1e-3
    random_state: RandomStateLike | None = None
    trace: bool = False
    n_jobs: int | None = None

    def _check(self) -> None:
        check_flags(self, "fit_intercept", "copy_X", "positive", "average", "trace")
        check_choice("solver", self.solver, _SOLVERS)
        reason = "the problem is solved, and certified, without bounds. Use sklearn.linear_model for w >= 0."
        check_allowed("positive", self.positive, (False,), reason)
        if self.max_iter is not None:
            check_count("max_iter", self.max_iter)
        check_positive("eta0", self.eta0)
        check_positive("tol", self.tol)
        self.solver_ = "closed" if self.solver == "auto" else self.solver
        for name in ("path_", "paths_", "history_", "trace_"):  # of an earlier fit by the other solver
            self.__dict__.pop(name, None)

    def _problem(self, table: Design, y: FloatArray, weights: FloatArray, l2: float) -> LossPenalty:
        return LossPenalty(
            X=table, y=y, c=weights, loss=Squared(), penalty=Penalty(l2=l2), fit_intercept=self.fit_intercept
        )

    def _store(self, problems: list[Any], thetas: list[FloatArray], y: FloatArray, dtype: Any) -> None:
        """Weights and certificates of all targets; ``problems`` has one problem for each."""
        self._store_planes(np.array(thetas), y, dtype)
        self.n_iter_ = 1
        self.certificates_ = [problem.certify(theta) for problem, theta in zip(problems, thetas, strict=True)]
        self.certificate_ = worst_gap(self.certificates_, self.tol)

    def _pieces_problem(self, pieces: Pieces, seen: Survey, l2: float) -> Any:
        if self.solver == "sgd":
            raise ValueError("solver='sgd' needs its rows in memory: use solver='closed' for data in pieces.")
        return number_problem(self, pieces, seen, C=1.0, loss=Squared(), penalty=Penalty(l2=l2))

    def _refuse_targets(self, y: FloatArray) -> None:
        if y.ndim > 1:
            raise ValueError(
                f"solver='sgd' fits one target, and y has the shape {y.shape}: use solver='closed'."
            )

    def _descend(self, problem: LossPenalty, X: Any) -> None:
        """Passes of stochastic gradients on the mean loss; a relative gap above ``tol`` at the end warns.

        The gap is the square of a distance: at tol^2, where the passes end, predictions differ from those of
        the optimum by tol of the residuals (root mean square). In pass k the step is
        eta0/(1 + k/30) / max ||(x, 1)||^2: the sum of all steps diverges, that of their squares converges.
        The average is over the second half of the passes; a last iterate stays noisy, and ends at tol.
        """
        goal = self.tol**2 if self.average else self.tol
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
        passes = _PASSES if self.max_iter is None else self.max_iter
        for k in range(passes):
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
            if (k + 1) % _CHECK_EVERY == 0 and solved(_exact_certificate(problem, theta), goal):
                break
        self.n_iter_ = len(losses)
        self.history_ = pd.DataFrame({"pass": np.arange(1, self.n_iter_ + 1), "loss": losses})
        if logs:
            self.trace_ = pd.concat(logs, ignore_index=True).assign(machine=0)
        self.coef_, self.intercept_ = theta[:-1], theta[-1]
        self.certificate_ = _exact_certificate(problem, theta)
        warn_unsolved(self.certificate_, self.tol, type(self).__name__, f"raise max_iter={passes} or scale X")


def _exact_certificate(problem: LossPenalty, theta: FloatArray) -> Certificate:
    """The exact gap of theta, since the objective is quadratic.

    One Newton step reaches the optimum, whose residuals are the optimal dual point. Cost: n p^2.
    """
    u = problem.c * problem.loss.slope(problem.scores(theta), problem.y)
    d = problem.c * problem.loss.curvature(problem.y, problem.y)
    gradient = np.append(problem.X.adjoint(u), u.sum() * problem.fit_intercept)
    gradient[:-1] += problem.penalty.l2 * theta[:-1]
    step = newton_direction(problem.X, d, problem.penalty.l2, gradient, problem.fit_intercept)
    return problem.certify(theta, u + d * (problem.X.scores(step[:-1]) + step[-1]))


@dataclass(eq=False, repr=False, kw_only=True)
class LeastSquares(Squares):
    """Linear least squares; the solution of minimum norm if it is not unique.

        min over w, b   sum_i s_i (y_i - <w, x_i> - b)^2                                (Fuentes, section 4.1)

    Dense tables are solved by singular values (cost n p min(n, p)), CSR matrices by the normal equations, or
    their dual if there are fewer rows than columns.

    Parameters
    ----------
    fit_intercept : whether b is free or 0.
    solver : "auto" or "closed", or "sgd" for stochastic gradient descent (Fuentes, algorithm 6).
    copy_X, positive : as in `Ridge`.
    tol : relative duality gap above which the fit warns; "sgd" ends at its square, as in `Ridge`.
    eta0, average, max_iter, random_state, trace : of "sgd", as in `Ridge`.
    n_jobs : number of threads.

    Attributes
    ----------
    coef_ : of shape (n_features,).
    intercept_ : float.
    rank_ : rank of the centred table (solver "closed").
    n_iter_, history_, trace_ : as in `Ridge`.
    certificate_ : the duality gap of the solution; the fit warns if it is above ``tol``.

    Examples
    --------
    >>> import maxmargin as mm
    >>> model = mm.LeastSquares().fit([[0.0], [1.0], [2.0]], [1.0, 3.0, 5.0])
    >>> model.coef_.round(6).tolist(), round(float(model.intercept_), 6)
    ([2.0], 1.0)
    """

    _keeps_one_column = True

    @all_or_nothing
    def fit(
        self, X: TableLike | Pieces, y: TargetLike | None = None, sample_weight: WeightLike | None = None
    ) -> LeastSquares:
        """Fit to X of shape (n_samples, n_features) and targets y of shape (n_samples,), or to `Pieces`."""
        self._check()
        self._moments: SquaresMoments | None = None
        pieces = as_pieces(X, y, sample_weight)
        if pieces is not None:
            seen = survey_numbers(self, pieces)
            problem = self._pieces_problem(pieces, seen, 0.0)
            theta, self.rank_ = least_squares(pieces, seen, self.fit_intercept)
            self._store([problem], [theta], np.empty(0), np.float64)
            return self
        X, y, weights = self.validated(X, y, sample_weight)
        table = design(X, self.n_jobs)
        targets = y.reshape(len(y), -1).T
        with finite_or_refused(self):
            if self.solver == "sgd":
                self._refuse_targets(y)
                self._descend(self._problem(table, y, weights, 0.0), X)
            else:
                thetas, rows = self._solve(X, table, targets.T, weights)
                problems = [self._problem(table, target, weights, 0.0) for target in targets]
                self._store(problems, thetas, y, X.dtype)
                self._moments = self._of_rows(problems[0], rows) if y.ndim == 1 else None
        return self

    def _store(self, problems: list[Any], thetas: list[FloatArray], y: FloatArray, dtype: Any) -> None:
        super()._store(problems, thetas, y, dtype)
        remedy = "scale the columns of X: a very small one counts as dependent on the others"
        warn_unsolved(self.certificate_, self.tol, "LeastSquares", remedy)

    def summary(self, level: float = 0.95) -> SquaresSummary:
        """Coefficients, standard errors, t, p values and intervals, with R2, F and AIC.

        For independent normal errors of one variance; sample weights count as numbers of rows. Needs
        ``solver="closed"``, rows in memory and at most 1500 columns.
        """
        check_is_fitted(self)
        check_inner_fraction("level", level)
        if self._moments is None:
            raise ValueError(
                "summary() needs LeastSquares(solver='closed') fitted to one target and at most 1500 columns "
                "in memory."
            )
        return self._moments.summary(
            self.coef_, self.intercept_, feature_names(self), level, has_intercept=self.fit_intercept
        )

    def _of_rows(self, problem: LossPenalty, rows: FloatArray | None) -> SquaresMoments | None:
        """The moments that a summary needs; ``rows`` are those of `_solve`. Cost: n p^2, like the fit."""
        table, y, weights, total = problem.X, problem.y, problem.c, float(problem.c.sum())
        p = table.shape[1]
        if p > _MOST_SUMMARISED:
            return None
        means = table.adjoint(weights) / total if self.fit_intercept else np.zeros(p)
        scatter = rows.T @ rows if rows is not None else table.gram(weights) - total * np.outer(means, means)
        centre = float(weights @ y) / total if self.fit_intercept else 0.0
        residuals = y - table.scores(self.coef_) - self.intercept_
        return SquaresMoments(
            scatter=scatter,
            means=means,
            residual_sum=float(weights @ residuals**2),
            total_sum=float(weights @ (y - centre) ** 2),
            weight=total,
        )

    def _solve(
        self, X: Any, table: Design, Y: FloatArray, weights: FloatArray
    ) -> tuple[list[FloatArray], FloatArray | None]:
        """The minimum-norm (w, b) of every column of Y, and the centred weighted rows of a dense table."""
        total = float(weights.sum())
        mean_x = table.adjoint(weights) / total if self.fit_intercept else np.zeros(table.shape[1])
        mean_y = weights @ Y / total if self.fit_intercept else np.zeros(Y.shape[1])
        root, centred = np.sqrt(weights), Y - mean_y
        cut = max(table.shape) * float(np.finfo(np.float64).eps)
        rows = None
        if isinstance(X, np.ndarray):
            rows = root[:, None] * (table.dense() - mean_x)
            w, _, rank, _ = interruptible(
                lambda: np.linalg.lstsq(rows, root[:, None] * centred, rcond=cut), rows.size
            )
        elif X.shape[0] < X.shape[1]:
            projected = table.scores(mean_x)
            rows_64 = X.astype(np.float64)  # products of float32 values may overflow
            inner = (rows_64 @ rows_64.T).toarray() - projected - projected[:, None] + float(mean_x @ mean_x)
            inner *= root * root[:, None]
            a, _, rank, _ = interruptible(
                lambda: np.linalg.lstsq(inner, root[:, None] * centred, rcond=1e-12), inner.size
            )
            w = np.column_stack([table.adjoint(root * each) - mean_x * float(root @ each) for each in a.T])
        else:
            gram = table.gram(weights) - total * np.outer(mean_x, mean_x)
            right = np.column_stack(
                [table.adjoint(weights * each) - mean_x * float(weights @ each) for each in centred.T]
            )
            w, _, rank, _ = interruptible(lambda: np.linalg.lstsq(gram, right, rcond=1e-12), gram.size)
        self.rank_ = int(rank)
        thetas = [
            np.append(each, middle - float(mean_x @ each)) for each, middle in zip(w.T, mean_y, strict=True)
        ]
        return thetas, rows


@dataclass(eq=False, repr=False)
class Ridge(Squares):
    """Ridge regression, with a path of penalties and exact leave-one-out errors at the cost of one fit.

        min over w, b   sum_i s_i (y_i - <w, x_i> - b)^2 + alpha ||w||^2                (Fuentes, section 4.2)

    alpha is n lambda in Fuentes' notation, and scikit-learn's alpha. The intercept is not penalised.
    Cost: n p min(n, p) for the factorisation, then n min(n, p) for each alpha.

    Parameters
    ----------
    alpha : the penalty, or one per target; not used if ``alphas`` is given.
    alphas : penalties to try; the one with the smallest leave-one-out error is kept as ``alpha_``.
    fit_intercept : whether b is free or 0.
    solver : "auto" or "closed" for the closed form, or "sgd" for stochastic gradient descent (Fuentes,
        algorithm 7) on (1/2)(y - f)^2 + (lambda/2)||w||^2 with lambda = alpha / n. scikit-learn's names
        ("svd", "cholesky", "lsqr", "sparse_cg", "sag", "saga", "lbfgs") mean the closed form, which has the
        same optimum.
    copy_X : accepted for compatibility; X is never changed.
    positive : must be False.
    eta0 : first step of "sgd", in units of 1 / max ||(x, 1)||^2 for the heaviest row; that of pass k is
        eta0/(1 + k/30).
    average : return the average of the iterates in the second half of the passes of "sgd".
    max_iter : maximum number of passes of "sgd"; None for 1000.
    tol : relative duality gap above which the fit warns. "sgd" ends at tol^2, checked every five passes: its
        predictions then differ from those of the optimum by tol of the residuals (root mean square).
        Without averaging it ends at tol.
    random_state : seed of the order of the rows in "sgd".
    trace : record every step of "sgd" in ``trace_``, as in `Perceptron`.
    n_jobs : number of threads.

    Attributes
    ----------
    coef_ : of shape (n_features,), or (n_targets, n_features) where y has columns.
    intercept_ : float, or of shape (n_targets,).
    alpha_ : the penalty in use, or one for every target.
    solver_ : ``solver``, with "auto" as "closed".
    n_iter_ : passes of "sgd"; 1 for the closed form.
    history_ : table of pass and mean loss before its steps, (1/2)(y - f)^2 (solver "sgd").
    path_ : `RidgePath` with all models and their leave-one-out residuals (closed form); where y has columns
        ``paths_`` has one for each, from the same factorisation.
    certificate_ : the duality gap of the solution (of the worst target; ``certificates_`` has all); "sgd"
        warns if it is above ``tol``.

    Examples
    --------
    >>> import maxmargin as mm
    >>> X, y = [[0.0], [1.0], [2.0], [3.0]], [0.1, 0.9, 2.2, 2.8]
    >>> model = mm.Ridge(alphas=[0.01, 0.1, 1.0, 10.0]).fit(X, y)
    >>> model.alpha_, model.path_.loo_mse.round(4).tolist()
    (0.1, [0.0678, 0.0576, 0.1868, 1.3076])
    """

    alpha: float | npt.ArrayLike = 1.0
    _: KW_ONLY
    alphas: npt.ArrayLike | None = None

    @all_or_nothing
    def fit(
        self, X: TableLike | Pieces, y: TargetLike | None = None, sample_weight: WeightLike | None = None
    ) -> Ridge:
        """Fit to X of shape (n_samples, n_features) and y of shape (n_samples,) or (n_samples, n_targets).

        ``X`` may be `Pieces`.
        """
        alphas = penalties_to_try(self.alpha, self.alphas)
        self._check()
        if self.solver == "sgd" and len(alphas) > 1:
            raise ValueError("solver='sgd' fits one alpha: use solver='closed' for a path.")
        pieces = as_pieces(X, y, sample_weight)
        if pieces is not None:
            seen = survey_numbers(self, pieces)
            self._pieces_problem(pieces, seen, 0.0)
            path = ridge_path_in_pieces(pieces, seen, alphas, self.fit_intercept)
            thetas = self._choose([path], np.empty(0))
            self._store(
                [self._pieces_problem(pieces, seen, 2.0 * self.alpha_)], thetas, np.empty(0), np.float64
            )
            return self
        X, y, weights = self.validated(X, y, sample_weight)
        table = design(X, self.n_jobs)
        # idle BLAS threads would slow ours down
        with blas_threads_for(table.shape[1]), finite_or_refused(self):
            if self.solver == "sgd":
                self._refuse_targets(y)
                self.alpha_: Any = float(alphas[0])
                self._descend(self._problem(table, y, weights, 2.0 * self.alpha_), X)
            else:
                threads = effective_threads(self.n_jobs)
                Y = y.reshape(len(y), -1)
                paths = linear_paths(table, Y, weights, alphas, self.fit_intercept, threads)
                thetas = self._choose(paths, y)
                problems = [
                    self._problem(table, target, weights, 2.0 * float(alpha))
                    for target, alpha in zip(Y.T, np.atleast_1d(self.alpha_), strict=True)
                ]
                self._store(problems, thetas, y, X.dtype)
                with np.errstate(over="ignore", invalid="ignore"):
                    spread = float((weights @ (Y - Y.mean(axis=0)) ** 2).max())
                if self.certificate_.gap > _UNSEEN * spread:
                    remedy = "scale the columns of X: rounding hides the small ones beside the large ones"
                    warn_unsolved(self.certificate_, self.tol, "Ridge", remedy)
        return self

    def _choose(self, paths: list[RidgePath], y: FloatArray) -> list[FloatArray]:
        """Keep the paths and return (w, b) of the best, or the given, penalty of every target."""
        best = chosen_penalties(paths, self.alpha, self.alphas)
        values = [float(path.alphas[k]) for path, k in zip(paths, best, strict=True)]
        if y.ndim == 1:
            self.path_, self.alpha_ = paths[0], values[0]
        else:
            self.paths_, self.alpha_ = paths, np.array(values)
        return [np.append(path.coef[k], path.intercept[k]) for path, k in zip(paths, best, strict=True)]
