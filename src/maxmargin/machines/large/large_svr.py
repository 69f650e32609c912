"""Support vector regression for many rows."""

from __future__ import annotations

from typing import Any, Literal

from sklearn.base import RegressorMixin
from sklearn.utils.validation import check_is_fitted

from maxmargin.base.interruption import all_or_nothing
from maxmargin.base.parameters import check_not_negative, check_positive
from maxmargin.base.tables import checked_numbers, row_weights
from maxmargin.base.typing import FloatArray
from maxmargin.machines.large.approximation import Answer, Approximation
from maxmargin.machines.large.base import LargeMachine
from maxmargin.machines.large.mapped_rows import opened
from maxmargin.machines.large.polish import PolishedSVR, dual_start, snapped
from maxmargin.machines.linear.linear_pieces import check_newton, number_problem, survey_numbers
from maxmargin.machines.svm import SVR
from maxmargin.pieces.collection import Pieces
from maxmargin.pieces.given import as_pieces
from maxmargin.problems import losses
from maxmargin.problems.certificate import Certificate
from maxmargin.problems.penalties import Penalty
from maxmargin.problems.solution import Solution

_LOSSES = ("epsilon_insensitive", "squared_epsilon_insensitive")


class LargeSVR(RegressorMixin, LargeMachine):
    """Support vector regression with a low-rank kernel, for 10^5 rows and far more.

        min over w, b   C sum_i s_i L(f(x_i) - y_i) + 1/2 |w|^2,   f(x) = <w, phi(x)> + b

    with L(r) = max(0, |r| - epsilon) or its square, and phi as in `LargeSVC`.

    Parameters
    ----------
    C, epsilon : as in `SVR`. loss : "squared_epsilon_insensitive" (fastest) or "epsilon_insensitive".
    The other parameters are those of `LargeSVC`.

    Attributes
    ----------
    coef_ : of shape (n_components_,); intercept_ : float. The others are those of `LargeSVC`.

    Examples
    --------
    >>> import numpy as np, maxmargin as mm
    >>> X = np.random.default_rng(0).uniform(-3, 3, size=(1000, 1))
    >>> model = mm.LargeSVR(C=10.0, n_components=30, epsilon=0.01, random_state=0).fit(X, np.sin(X[:, 0]))
    >>> bool(abs(model.predict([[1.0]])[0] - np.sin(1.0)) < 0.02)
    True
    """

    def __init__(
        self,
        C: float = 1.0,
        *,
        epsilon: float = 0.1,
        kernel: Any = "rbf",
        gamma: Any = "scale",
        coef0: float = 0.0,
        degree: int = 3,
        n_components: int | Literal["auto"] = "auto",
        method: str = "pivoted_cholesky",
        loss: Literal["epsilon_insensitive", "squared_epsilon_insensitive"] = "squared_epsilon_insensitive",
        memory: float | None = None,
        polish: bool = False,
        sample: int | None = None,
        tol: float = 1e-4,
        max_iter: int = 200,
        random_state: Any = None,
        n_jobs: int | None = None,
        verbose: int = 0,
    ) -> None:
        self.C = C
        self.epsilon = epsilon
        self.kernel = kernel
        self.gamma = gamma
        self.coef0 = coef0
        self.degree = degree
        self.n_components = n_components
        self.method = method
        self.loss = loss
        self.memory = memory
        self.polish = polish
        self.sample = sample
        self.tol = tol
        self.max_iter = max_iter
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose

    fit_intercept = True
    penalty = "l2"
    solver = "auto"

    @all_or_nothing
    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> LargeSVR:
        """Fit to X of shape (n_samples, n_features) and targets y of shape (n_samples,), or to `Pieces`."""
        check_positive("C", self.C)
        check_not_negative("epsilon", self.epsilon)
        self.check_parameters()
        loss = losses.by_name(self.loss, _LOSSES, epsilon=self.epsilon)
        self.exact_: SVR | None = None
        pieces = as_pieces(X, y, sample_weight)
        if pieces is None:
            self._fit_memory(X, y, sample_weight, loss)
        else:
            self._fit_pieces(pieces, loss)
        return self

    def _fit_memory(self, X: Any, y: Any, sample_weight: Any, loss: losses.Loss) -> None:
        rows = opened(self, X)
        target = checked_numbers(y, rows.n, self)
        mapped = self._mapped(rows)
        weights = row_weights(sample_weight, rows.n)
        problem = self._problem(mapped.design, target, self.C * weights, loss)
        solution, certificate = self._solve(problem)
        beta = dual_start(problem, solution)
        answer = Answer(-beta, mapped.design.adjoint(-beta), certificate)
        self._store(mapped.map, solution, certificate, self._near(mapped, [answer]))
        if self.polish:
            settings = self._exact_settings(mapped)
            exact = PolishedSVR(self.C, epsilon=self.epsilon, loss=self.loss, **settings)
            bounded = self.loss == "epsilon_insensitive"
            start = snapped(beta, self.C * weights) if bounded else beta
            self.exact_ = exact.begin_at(start).fit(X, y, sample_weight)
            self.certificate_ = exact.certificate_

    def _fit_pieces(self, pieces: Pieces, loss: losses.Loss) -> None:
        penalty = Penalty(l2=1.0)
        check_newton(self, loss, penalty, "loss='squared_epsilon_insensitive'")
        mapped = self._mapped_pieces(pieces, survey_numbers(self, pieces))
        problem = number_problem(self, mapped.pieces, mapped.seen, C=self.C, loss=loss, penalty=penalty)
        solution, certificate = self._solve_pieces(problem)
        self._store(mapped.map, solution, certificate, Approximation(map=mapped.error))

    def _store(self, map_: Any, solution: Solution, certificate: Certificate, near: Approximation) -> None:
        self._store_map(map_)
        self.coef_, self.intercept_ = solution.x[:-1], float(solution.x[-1])
        self.n_iter_ = solution.n_iter
        self.solution_ = solution
        self.low_rank_certificate_ = self.certificate_ = certificate
        self.approximation_ = near
        self._warn_unsolved(certificate)

    def predict(self, X: Any) -> FloatArray:
        """Predicted values of shape (n_samples,)."""
        check_is_fitted(self)
        if self.exact_ is not None:
            return self.exact_.predict(X)
        return self._decisions(X)[:, 0]
