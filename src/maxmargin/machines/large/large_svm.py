"""Support vector machines for many rows: LargeSVC, LargeSVR."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np
from sklearn.base import ClassifierMixin, RegressorMixin
from sklearn.utils.validation import check_is_fitted

from maxmargin.base.interruption import of_one_fit
from maxmargin.base.parameters import check_choice, check_not_negative, check_positive
from maxmargin.base.tables import (
    checked_numbers,
    class_codes,
    example_weights,
    row_weights,
    with_finite_squares,
)
from maxmargin.base.typing import AnyArray, FloatArray, TableLike
from maxmargin.compute.tables.design import Design
from maxmargin.machines.large.approximation import Approximation, DualPoint, snapped
from maxmargin.machines.large.base import LargeMachine, MappedRows
from maxmargin.machines.large.mapped_rows import opened
from maxmargin.machines.linear.base import (
    check_weight_sizes,
    check_weighted_squares,
    design_of_task,
    solve_as_asked,
)
from maxmargin.machines.linear.linear_pieces import (
    binary_problems,
    check_newton,
    number_problem,
    solve_in_pieces,
    survey_classes,
    survey_numbers,
)
from maxmargin.machines.svm import SVC, SVR
from maxmargin.pieces.collection import Pieces
from maxmargin.problems import losses
from maxmargin.problems.certificate import Certificate
from maxmargin.problems.loss_penalty import worst_gap
from maxmargin.problems.multiclass import (
    BinaryTask,
    binary_tasks,
    check_strategy,
    predict_codes,
    summed_decisions,
)
from maxmargin.problems.penalties import Penalty
from maxmargin.problems.solution import Solution
from maxmargin.solvers.primal.warm_newton import ROWS_PER_COLUMN

_CLASS_LOSSES = ("hinge", "squared_hinge", "logistic")
_NUMBER_LOSSES = ("epsilon_insensitive", "squared_epsilon_insensitive")
_FEW_ROWS = 4  # per component in a sample: one class against many takes ten Newton steps from zero, then six


@dataclass(eq=False, repr=False)
class LargeSVC(ClassifierMixin, LargeMachine):
    """Support vector classification with a low-rank kernel, for 10^5 rows and far more.

        min over w, b   C sum_i s_i L(y_i f(x_i)) + 1/2 |w|^2,   f(x) = <w, phi(x)> + b

    phi is the Nystrom map of `LowRank` (or random features), so f is the best function in the span of m
    landmarks. The linear problem is solved exactly by Newton's method and certified; ``approximation_`` tells
    how far its optimum is from that of the exact kernel.

    Parameters
    ----------
    C, kernel, gamma, coef0, degree, class_weight : as in `SVC`; gamma="scale" is computed from the sample.
    n_components : number of landmarks, or "auto": max(200, sqrt(n)), at most 1500, and fewer where ``memory``
        requires it.
    method : "pivoted_cholesky", "leverage", "kmeans" or "uniform" as in `LowRank`, or "fourier" as in
        `RandomFourier`.
    loss : "squared_hinge" (fastest), "hinge" or "logistic".
    multiclass : "ovr" or "ovo".
    memory : MB that the fit may use on top of the data; None for half of the free memory. Features that do
        not fit are recomputed in every pass.
    polish : finish with the exact kernel: the dual engine of `SVC` starts from this solution. Cost grows with
        n^2; beyond 100 000 rows it warns. Not for "logistic", nor for data in pieces.
    sample : number of rows from which landmarks are chosen; None for max(10 000, 20 m).
    tol : relative duality gap of the low-rank problem; with polish also the KKT violation (at most 1e-3).
    max_iter : largest number of Newton steps.
    random_state, n_jobs, verbose : as in `LinearSVC`.

    Attributes
    ----------
    coef_ : of shape (n_problems, n_components_); intercept_ : of shape (n_problems,).
    certificate_ : of the solution in use: of the low-rank problem or, with polish, of the exact one.
    low_rank_certificate_ : of the low-rank problem (of the binary problem furthest from its optimum).
    approximation_ : `Approximation`: the error of the map, and a bound on the objective's distance from the
        optimum of the exact kernel.
    exact_ : with polish the exact `SVC`, which then predicts; else None.
    classes_, n_iter_, n_components_, kernel_, map_ : as elsewhere.

    Notes
    -----
    Cost n (m p + m^2) for the map and n m^2 for each of about five Newton steps; memory n m numbers (float32
    for float32 rows) or, without storage, a few blocks. fit also takes `Pieces` and Dask collections:
    then one pass for each Newton step, smooth losses only.

    Examples
    --------
    >>> import numpy as np, maxmargin as mm
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(2000, 2))
    >>> y = np.where((X**2).sum(axis=1) < 1.4, "in", "out")
    >>> model = mm.LargeSVC(n_components=50, random_state=0).fit(X, y)
    >>> model.score(X, y) > 0.97, model.certificate_.relative_gap <= 1e-4
    (True, True)
    >>> model.approximation_.map.relative_trace < 0.01
    True
    """

    C: float = 1.0
    loss: Literal["hinge", "squared_hinge", "logistic"] = field(default="squared_hinge", kw_only=True)
    multiclass: Literal["ovr", "ovo"] = field(default="ovr", kw_only=True)
    class_weight: Any = field(default=None, kw_only=True)

    def check_parameters(self) -> None:
        super().check_parameters()
        check_positive("C", self.C)
        check_strategy(self.multiclass)
        check_choice("loss", self.loss, _CLASS_LOSSES)
        if self.polish and self.loss == "logistic":
            raise ValueError("polish=True finishes with SVC, which has no logistic loss: use a hinge.")

    # -- in memory -----------------------------------------------------------------------------------

    def _fit_memory(self, X: Any, y: Any, sample_weight: Any) -> None:
        rows = opened(self, X)
        self.classes_, codes = class_codes(y, rows.n, self)
        mapped = self._mapped(rows)
        c = self.C * example_weights(sample_weight, self.class_weight, self.classes_, codes)
        check_weight_sizes(c)
        fits, betas = [], []
        for task in binary_tasks(codes, len(self.classes_), self.multiclass):
            solution, certificate, beta = self._fit_task(mapped.design, c, task)
            fits.append((solution, certificate))
            betas.append(beta)
        found = [
            DualPoint(-beta, mapped.design.adjoint(-beta), certificate)
            for beta, (_, certificate) in zip(betas, fits, strict=True)
        ]
        self._store(mapped.map, fits, self._near(mapped, found))
        if self.polish:
            starts = [snapped(beta, c) for beta in betas] if self.loss == "hinge" else betas
            self._polish(X, y, sample_weight, starts, mapped)

    def _fit_task(
        self, table: Design, c: FloatArray, task: BinaryTask
    ) -> tuple[Solution, Certificate, FloatArray]:
        """The solution, its certificate, and coefficients of all rows that are feasible in the exact dual."""
        design = design_of_task(table, task)
        problem = self._problem(design, task.signs, c[task.rows], losses.by_name(self.loss, _CLASS_LOSSES))
        several = len(self.classes_) > 2
        rows_per_column = _FEW_ROWS if several else ROWS_PER_COLUMN
        solution, certificate = solve_as_asked(self, problem, rows_per_column=rows_per_column)
        beta = np.zeros(table.shape[0])
        beta[task.rows] = -problem.dual_point(solution.multipliers)
        return solution, certificate, beta

    def _polish(
        self, X: Any, y: Any, sample_weight: Any, betas: list[FloatArray], mapped: MappedRows
    ) -> None:
        exact = SVC(
            self.C,
            loss="hinge" if self.loss == "hinge" else "squared_hinge",
            multiclass=self.multiclass,
            class_weight=self.class_weight,
            **self._exact_settings(mapped),
        )
        self.exact_: SVC | None = exact.fit_from(X, y, sample_weight, betas)
        self.certificate_ = exact.certificate_

    # -- in pieces -----------------------------------------------------------------------------------

    def _strategy(self) -> Any:
        return self.multiclass

    def _fit_pieces(self, pieces: Pieces) -> None:
        loss, penalty = losses.by_name(self.loss, _CLASS_LOSSES), Penalty(l2=1.0)
        check_newton(self, loss, penalty, "loss='squared_hinge' or 'logistic'")
        mapped = self._mapped_pieces(pieces, survey_classes(self, pieces))
        problems = binary_problems(
            self, mapped.pieces, mapped.seen, C=self.C, loss=loss, penalty=penalty, balance_sums=False
        )
        fits = [solve_in_pieces(self, problem) for problem in problems]
        self._store(mapped.map, fits, Approximation(map=mapped.error))

    def _store(self, map_: Any, fits: list[tuple[Solution, Certificate]], near: Approximation) -> None:
        thetas = np.array([solution.x for solution, _ in fits])
        self.coef_, self.intercept_ = thetas[:, :-1], thetas[:, -1]
        self.n_iter_ = np.array([solution.n_iter for solution, _ in fits])
        self.solutions_ = [solution for solution, _ in fits]
        self.certificates_ = [certificate for _, certificate in fits]
        self.exact_ = None
        remedy = f"raise max_iter={self.max_iter}, lower C or scale X"
        self._store_map(map_, worst_gap(self.certificates_, self.tol), near, remedy)

    # -- prediction ----------------------------------------------------------------------------------

    @of_one_fit
    def decision_function(self, X: TableLike) -> FloatArray:
        """Signed scores: of shape (n_samples,) for two classes, else (n_samples, n_classes).

        With one-versus-one they are votes, with summed confidences inside a tie.
        """
        check_is_fitted(self)
        scores = self._decisions(X) if self.exact_ is None else self.exact_.binary_decisions(X)
        if len(self.classes_) == 2:
            return scores[:, 0]
        return scores if self.multiclass == "ovr" else summed_decisions(scores, len(self.classes_))

    @of_one_fit
    def predict(self, X: TableLike) -> AnyArray:
        """Class labels of shape (n_samples,)."""
        scores = self.decision_function(X)
        return self.classes_[predict_codes(scores, len(self.classes_), "ovr")]


@dataclass(eq=False, repr=False)
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

    C: float = 1.0
    epsilon: float = field(default=0.1, kw_only=True)
    loss: Literal["epsilon_insensitive", "squared_epsilon_insensitive"] = field(
        default="squared_epsilon_insensitive", kw_only=True
    )

    def check_parameters(self) -> None:
        super().check_parameters()
        check_positive("C", self.C)
        check_not_negative("epsilon", self.epsilon)
        check_choice("loss", self.loss, _NUMBER_LOSSES)

    def _loss(self) -> losses.Loss:
        return losses.by_name(self.loss, _NUMBER_LOSSES, epsilon=self.epsilon)

    def _fit_memory(self, X: Any, y: Any, sample_weight: Any) -> None:
        rows = opened(self, X)
        target = with_finite_squares(checked_numbers(y, rows.n, self))
        mapped = self._mapped(rows)
        c = self.C * row_weights(sample_weight, rows.n)
        check_weighted_squares(c, target)
        problem = self._problem(mapped.design, target, c, self._loss())
        solution, certificate = solve_as_asked(self, problem)
        beta = -problem.dual_point(solution.multipliers)
        found = DualPoint(-beta, mapped.design.adjoint(-beta), certificate)
        self._store(mapped.map, solution, certificate, self._near(mapped, [found]))
        if self.polish:
            settings = self._exact_settings(mapped)
            exact = SVR(self.C, epsilon=self.epsilon, loss=self.loss, **settings)
            start = snapped(beta, c) if self.loss == "epsilon_insensitive" else beta
            self.exact_: SVR | None = exact.fit_from(X, y, sample_weight, start)
            self.certificate_ = exact.certificate_

    def _fit_pieces(self, pieces: Pieces) -> None:
        loss, penalty = self._loss(), Penalty(l2=1.0)
        check_newton(self, loss, penalty, "loss='squared_epsilon_insensitive'")
        mapped = self._mapped_pieces(pieces, survey_numbers(self, pieces))
        problem = number_problem(self, mapped.pieces, mapped.seen, C=self.C, loss=loss, penalty=penalty)
        solution, certificate = solve_in_pieces(self, problem)
        self._store(mapped.map, solution, certificate, Approximation(map=mapped.error))

    def _store(self, map_: Any, solution: Solution, certificate: Certificate, near: Approximation) -> None:
        self.coef_, self.intercept_ = solution.x[:-1], float(solution.x[-1])
        self.n_iter_ = solution.n_iter
        self.solution_ = solution
        self.exact_ = None
        remedy = f"raise max_iter={self.max_iter}, lower C or scale X"
        self._store_map(map_, certificate, near, remedy)

    @of_one_fit
    def predict(self, X: TableLike) -> FloatArray:
        """Predicted values of shape (n_samples,)."""
        check_is_fitted(self)
        return self._decisions(X)[:, 0] if self.exact_ is None else self.exact_.predict(X)
