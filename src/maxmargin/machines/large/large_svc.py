"""Support vector classification for many rows."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
from sklearn.base import ClassifierMixin
from sklearn.utils.validation import check_is_fitted

from maxmargin.base.interruption import all_or_nothing
from maxmargin.base.parameters import check_positive
from maxmargin.base.tables import class_codes, example_weights
from maxmargin.base.typing import AnyArray, FloatArray
from maxmargin.compute.tables.design import Design
from maxmargin.machines.large.approximation import Answer, Approximation
from maxmargin.machines.large.base import LargeMachine, Mapped
from maxmargin.machines.large.mapped_rows import opened
from maxmargin.machines.large.polish import PolishedSVC, dual_start, snapped
from maxmargin.machines.linear.linear_pieces import binary_problems, check_newton, survey_classes
from maxmargin.machines.svm import SVC
from maxmargin.pieces.collection import Pieces
from maxmargin.pieces.given import as_pieces
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

_LOSSES = ("hinge", "squared_hinge", "logistic")


class LargeSVC(ClassifierMixin, LargeMachine):
    """Support vector classification with a low-rank kernel, for 10^5 rows and far more.

        min over w, b   C sum_i s_i L(y_i f(x_i)) + 1/2 |w|^2,   f(x) = <w, phi(x)> + b

    phi is the Nystrom map of `LowRank` (or random features), so f is the best function in the span of m
    landmarks. The linear problem is solved exactly by Newton's method and certified; how far its optimum is
    from that of the exact kernel is said separately, in ``approximation_``.

    Parameters
    ----------
    C, kernel, gamma, coef0, degree, class_weight : as in `SVC`; gamma="scale" is taken from the sample.
    n_components : landmarks, or "auto": max(200, sqrt(n)), at most 1500, and fewer where ``memory`` asks for
        it.
    method : "pivoted_cholesky", "leverage", "kmeans" or "uniform" as in `LowRank`, or "fourier" as in
        `RandomFourier`.
    loss : "squared_hinge" (fastest), "hinge" or "logistic".
    multiclass : "ovr" or "ovo".
    memory : MB that the fit may use beside the data; None for half of what is free. Features that do not fit
        are computed again in every pass.
    polish : finish with the exact kernel: the dual engine of `SVC` starts from this answer. Cost grows with
        n^2; beyond 100 000 rows it warns. Not for "logistic", nor for data in pieces.
    sample : rows that choose the landmarks; None for max(10 000, 20 m).
    tol : relative duality gap of the low-rank problem; with polish also the KKT violation (at most 1e-3).
    max_iter : Newton steps at most.
    random_state, n_jobs, verbose : as in `LinearSVC`.

    Attributes
    ----------
    coef_ : of shape (n_machines, n_components_); intercept_ : of shape (n_machines,).
    certificate_ : of the answer in use: of the low-rank problem or, with polish, of the exact one.
    low_rank_certificate_ : of the low-rank problem (of the machine furthest from its optimum).
    approximation_ : `Approximation`: what the map misses, and a bound on the objective's distance from the
        optimum of the exact kernel.
    exact_ : with polish the exact `SVC`, which then predicts; else None.
    classes_, n_iter_, n_components_, kernel_, map_ : as elsewhere.

    Notes
    -----
    Cost n (m p + m^2) for the map and n m^2 for each of about five Newton steps; memory n m numbers (float32
    for float32 rows) or, without storage, that of a few blocks. fit also takes `Pieces` and Dask collections:
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

    def __init__(
        self,
        C: float = 1.0,
        *,
        kernel: Any = "rbf",
        gamma: Any = "scale",
        coef0: float = 0.0,
        degree: int = 3,
        n_components: int | Literal["auto"] = "auto",
        method: str = "pivoted_cholesky",
        loss: Literal["hinge", "squared_hinge", "logistic"] = "squared_hinge",
        multiclass: Literal["ovr", "ovo"] = "ovr",
        class_weight: Any = None,
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
        self.kernel = kernel
        self.gamma = gamma
        self.coef0 = coef0
        self.degree = degree
        self.n_components = n_components
        self.method = method
        self.loss = loss
        self.multiclass = multiclass
        self.class_weight = class_weight
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
    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> LargeSVC:
        """Fit to X of shape (n_samples, n_features) and labels y of shape (n_samples,), or to `Pieces`."""
        check_positive("C", self.C)
        check_strategy(self.multiclass)
        self.check_parameters()
        loss = losses.by_name(self.loss, _LOSSES)
        if self.polish and self.loss == "logistic":
            raise ValueError("polish=True finishes with SVC, which has no logistic loss: use a hinge.")
        self.exact_: SVC | None = None
        pieces = as_pieces(X, y, sample_weight)
        if pieces is None:
            self._fit_memory(X, y, sample_weight, loss)
        else:
            self._fit_pieces(pieces, loss)
        return self

    # -- in memory -----------------------------------------------------------------------------------

    def _fit_memory(self, X: Any, y: Any, sample_weight: Any, loss: losses.Loss) -> None:
        rows = opened(self, X)
        self.classes_, codes = class_codes(y, rows.n, self)
        mapped = self._mapped(rows)
        c = self.C * example_weights(sample_weight, self.class_weight, self.classes_, codes)
        tasks = binary_tasks(codes, len(self.classes_), self.multiclass)
        fits, betas = [], []
        for task in tasks:
            solution, certificate, beta = self._fit_task(mapped.design, c, task, loss)
            fits.append((solution, certificate))
            betas.append(beta)
        answers = [
            Answer(-beta, mapped.design.adjoint(-beta), certificate)
            for beta, (_, certificate) in zip(betas, fits, strict=True)
        ]
        self._store(mapped.map, fits, self._near(mapped, answers))
        if self.polish:
            starts = [snapped(beta, c) for beta in betas] if self.loss == "hinge" else betas
            self._polish(X, y, sample_weight, starts, mapped)

    def _fit_task(
        self, table: Design, c: FloatArray, task: BinaryTask, loss: losses.Loss
    ) -> tuple[Solution, Certificate, FloatArray]:
        """The answer, its certificate, and coefficients of all rows that the exact dual allows."""
        whole = len(task.rows) == table.shape[0]
        design = table if whole else table.take(task.rows)
        problem = self._problem(design, task.signs, c[task.rows], loss)
        solution, certificate = self._solve(problem)
        beta = np.zeros(table.shape[0])
        beta[task.rows] = dual_start(problem, solution)
        return solution, certificate, beta

    def _polish(self, X: Any, y: Any, sample_weight: Any, betas: list[FloatArray], mapped: Mapped) -> None:
        exact = PolishedSVC(
            self.C,
            loss="hinge" if self.loss == "hinge" else "squared_hinge",
            multiclass=self.multiclass,
            class_weight=self.class_weight,
            **self._exact_settings(mapped),
        )
        self.exact_ = exact.begin_at(betas).fit(X, y, sample_weight)
        self.certificate_ = exact.certificate_

    # -- in pieces -----------------------------------------------------------------------------------

    def _strategy(self) -> Any:
        return self.multiclass

    def _fit_pieces(self, pieces: Pieces, loss: losses.Loss) -> None:
        penalty = Penalty(l2=1.0)
        check_newton(self, loss, penalty, "loss='squared_hinge' or 'logistic'")
        mapped = self._mapped_pieces(pieces, survey_classes(self, pieces))
        problems = binary_problems(
            self, mapped.pieces, mapped.seen, C=self.C, loss=loss, penalty=penalty, balance_sums=False
        )
        fits = [self._solve_pieces(problem) for problem in problems]
        self._store(mapped.map, fits, Approximation(map=mapped.error))

    # -- what stays ----------------------------------------------------------------------------------

    def _store(self, map_: Any, fits: list[tuple[Solution, Certificate]], near: Approximation) -> None:
        self._store_map(map_)
        thetas = np.array([solution.x for solution, _ in fits])
        self.coef_, self.intercept_ = thetas[:, :-1], thetas[:, -1]
        self.n_iter_ = np.array([solution.n_iter for solution, _ in fits])
        self.solutions_ = [solution for solution, _ in fits]
        self.certificates_ = [certificate for _, certificate in fits]
        self.low_rank_certificate_ = self.certificate_ = worst_gap(self.certificates_, self.tol)
        self.approximation_ = near
        self._warn_unsolved(self.certificate_)

    def decision_function(self, X: Any) -> FloatArray:
        """Signed scores: of shape (n_samples,) for two classes, else (n_samples, n_classes).

        One-versus-one machines give votes, with summed confidences inside a tie.
        """
        check_is_fitted(self)
        scores = self._decisions(X) if self.exact_ is None else self.exact_.binary_decisions(X)
        if len(self.classes_) == 2:
            return scores[:, 0]
        return scores if self.multiclass == "ovr" else summed_decisions(scores, len(self.classes_))

    def predict(self, X: Any) -> AnyArray:
        """Class labels of shape (n_samples,)."""
        scores = self.decision_function(X)
        labels: AnyArray = self.classes_[predict_codes(scores, len(self.classes_), "ovr")]
        return labels
