"""Logistic regression by Newton's method, with the statistics of its coefficients."""

from __future__ import annotations

import warnings
from math import inf, isinf
from typing import Any, Literal

import numpy as np
import pandas as pd
from scipy.special import expit, softmax
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from maxmargin.base.interruption import all_or_nothing
from maxmargin.base.parameters import (
    check_choice,
    check_count,
    check_flags,
    check_inner_fraction,
    check_positive,
)
from maxmargin.base.threads import single_threaded_blas
from maxmargin.base.typing import BoolArray, FloatArray, IntArray
from maxmargin.compute.tables.design import Design, design
from maxmargin.machines.linear.base import LinearClassifier
from maxmargin.machines.linear.linear_pieces import (
    binary_problems,
    find_separation_in_pieces,
    survey_classes,
    weights_of_classes,
)
from maxmargin.machines.linear.separation import (
    Separation,
    find_multinomial_separation,
    find_separation,
    strictly_separated,
)
from maxmargin.machines.linear.summary import LogisticSummary, coefficient_table, covariance
from maxmargin.pieces.collection import Pieces
from maxmargin.pieces.given import as_pieces
from maxmargin.pieces.survey import Survey
from maxmargin.problems.certificate import Certificate
from maxmargin.problems.loss_penalty import LossPenalty, solved, warn_unsolved, worst_gap
from maxmargin.problems.loss_penalty_pieces import LossPenaltyPieces
from maxmargin.problems.losses import Logistic
from maxmargin.problems.multiclass import BinaryTask, binary_tasks
from maxmargin.problems.multinomial import Multinomial
from maxmargin.problems.multinomial_pieces import MultinomialPieces, MultinomialRows
from maxmargin.problems.penalties import Penalty
from maxmargin.problems.solution import Solution
from maxmargin.solvers.primal.multinomial_newton import MultinomialNewton, free_unknowns, multinomial_hessian
from maxmargin.solvers.primal.multinomial_newton_pieces import MultinomialPiecesNewton
from maxmargin.solvers.primal.newton import Newton, hessian
from maxmargin.solvers.primal.newton_pieces import PiecesNewton, solve_pieces
from maxmargin.solvers.primal.warm_newton import sample_start


class SeparationWarning(ConvergenceWarning):
    """The classes are separated by a hyperplane, so that the likelihood has no maximum."""


class LogisticRegression(LinearClassifier):
    """Logistic regression: maximum likelihood, or penalised by the length of the weights.

        min over w, b   C sum_i s_i log(1 + exp(-y_i (<w, x_i> + b))) + 1/2 ||w||^2

    with the penalty gone for ``C=inf``, the default: standard errors, p values and odds ratios are those of
    the likelihood, and a penalty would bias them. The intercept is never penalised. Solved by Newton's method
    (cost n p^2 per iteration, a handful of iterations) until the relative duality gap is below ``tol``.
    Fuentes, section 7.

    Parameters
    ----------
    C : weight of the losses against the penalty; ``inf`` for none.
    fit_intercept : whether b is free or 0.
    multiclass : "multinomial" (one model of all classes), "ovr" or "ovo", for three classes and more.
    class_weight : dict, "balanced" or None.
    tol : relative duality gap.
    max_iter : largest number of Newton steps.
    n_jobs : number of threads.
    verbose : 1 to print the objective of every iteration.

    Attributes
    ----------
    coef_ : of shape (n_machines, n_features); (1, n_features) for two classes.
    intercept_ : of shape (n_machines,).
    certificate_ : of the machine furthest from its optimum; ``certificates_`` has all.
    separation_ : a `Separation` where the classes are separated and C is inf, else None.
    n_iter_ : of shape (n_machines,).

    Notes
    -----
    Where a hyperplane separates the classes and C is inf the likelihood has no maximum: fit stops, warns with
    `SeparationWarning` and names the columns. With three classes and more and C=inf the first class is the
    base line of the multinomial model: its coefficients are 0 and every odds ratio is relative to it.

    Examples
    --------
    >>> import numpy as np, maxmargin as mm
    >>> x = np.array([[1.0], [2.0], [3.0], [4.0], [5.0], [6.0]])
    >>> model = mm.LogisticRegression().fit(x, [0, 0, 1, 0, 1, 1])
    >>> print(round(float(model.coef_[0, 0]), 4), round(model.summary().deviance, 4))
    1.214 4.956
    """

    def __init__(
        self,
        C: float = inf,
        *,
        fit_intercept: bool = True,
        multiclass: Literal["multinomial", "ovr", "ovo"] = "multinomial",
        class_weight: Any = None,
        tol: float = 1e-10,
        max_iter: int = 100,
        n_jobs: int | None = None,
        verbose: int = 0,
    ) -> None:
        self.C = C
        self.fit_intercept = fit_intercept
        self.multiclass = multiclass
        self.class_weight = class_weight
        self.tol = tol
        self.max_iter = max_iter
        self.n_jobs = n_jobs
        self.verbose = verbose

    @all_or_nothing
    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> LogisticRegression:
        """Fit to X of shape (n_samples, n_features) and labels y of shape (n_samples,), or to `Pieces`."""
        self.check_parameters()
        self.separation_: Separation | None = None
        pieces = as_pieces(X, y, sample_weight)
        masses = self._fit_memory(X, y, sample_weight) if pieces is None else self._fit_pieces(pieces)
        self._null_log_likelihood = _null_log_likelihood(masses, self.fit_intercept)
        self._n_observations = float(masses.sum())
        if self.separation_ is None:
            warn_unsolved(
                self.certificate_, self.tol, "LogisticRegression", f"raise max_iter={self.max_iter}"
            )
        else:
            warnings.warn(self.separation_.sentence(self._names()), SeparationWarning, stacklevel=3)
        return self

    def _fit_memory(self, X: Any, y: Any, sample_weight: Any) -> FloatArray:
        """Fit to tables in memory; returns the weights of the classes."""
        X, codes, weights = self._validate(X, y, sample_weight)
        table = design(X, self.n_jobs)
        if self.multiclass == "multinomial" and len(self.classes_) > 2:
            self._fit_multinomial(table, codes, weights)
        else:
            tasks = binary_tasks(codes, len(self.classes_), self._strategy())
            self._store([self._fit_task(table, weights, task) for task in tasks])
        return np.bincount(codes, weights, len(self.classes_)).astype(np.float64, copy=False)

    def _fit_pieces(self, pieces: Pieces) -> FloatArray:
        """Fit to data in pieces; returns the weights of the classes."""
        seen = survey_classes(self, pieces)
        C, l2 = self._weight()
        if self.multiclass == "multinomial" and len(self.classes_) > 2:
            self._fit_multinomial_pieces(pieces, seen)
        else:
            problems = binary_problems(self, pieces, seen, C=C, loss=Logistic(), penalty=Penalty(l2=l2))
            self._store([self._fit_task_pieces(problem) for problem in problems])
        return seen.masses * weights_of_classes(self, seen)

    def _fit_task_pieces(self, problem: LossPenaltyPieces) -> tuple[Solution, Certificate, FloatArray | None]:
        free = problem.penalty.l2 == 0
        solver = PiecesNewton(tol=self.tol, max_iter=self.max_iter, stop_separated=free)
        solution, certificate, sums = solve_pieces(problem, solver, callback=self._report)
        if free and self._may_be_separated(certificate, sums.largest):
            self.separation_ = find_separation_in_pieces(problem, solution.x, sums) or self.separation_
        if not free or sums.hessian is None:
            return solution, certificate, None
        return solution, certificate, sums.hessian if self.fit_intercept else sums.hessian[:-1, :-1]

    def _fit_multinomial_pieces(self, pieces: Pieces, seen: Survey) -> None:
        C, l2 = self._weight()
        rows = MultinomialRows(self.classes_, C * weights_of_classes(self, seen), self.fit_intercept)
        problem = MultinomialPieces(pieces=pieces, rows=rows, n_features=seen.n_features, l2=l2)
        solver = MultinomialPiecesNewton(tol=self.tol, max_iter=self.max_iter)
        solution, certificate, sums = solver.solve(problem, callback=self._report)
        self._store([(solution, certificate, None)])
        self.coef_, self.intercept_ = self.coef_[0], self.intercept_[0]
        if l2 == 0 and sums.least > 0:
            self.separation_ = Separation("complete", np.abs(solution.x).max(axis=0))
        elif l2 == 0:
            free = free_unknowns(len(self.classes_), seen.n_features, l2, self.fit_intercept).ravel()
            self._information: list[FloatArray | None] = [sums.hessian[np.ix_(free, free)]]

    def check_parameters(self) -> None:
        check_positive("C", self.C, infinite=True)
        check_flags(self, "fit_intercept")
        check_positive("tol", self.tol)
        check_count("max_iter", self.max_iter)
        check_choice("multiclass", self.multiclass, ("multinomial", "ovr", "ovo"))

    def _strategy(self) -> Any:
        return "ovr" if self.multiclass == "multinomial" else self.multiclass

    def _weight(self) -> tuple[float, float]:
        """C and the weight of the penalty."""
        return (1.0, 0.0) if isinf(self.C) else (self.C, 1.0)

    def _report(self, iteration: int, value: float) -> None:
        if self.verbose:
            print(f"LogisticRegression: iteration {iteration}, objective {value:.10g}")

    def _store(self, fits: list[tuple[Solution, Certificate, FloatArray | None]]) -> None:
        thetas = np.array([solution.x for solution, _, _ in fits])
        self.coef_, self.intercept_ = thetas[..., :-1], thetas[..., -1]
        self.n_iter_ = np.array([solution.n_iter for solution, _, _ in fits])
        self.certificates_ = [certificate for _, certificate, _ in fits]
        self.certificate_ = worst_gap(self.certificates_, self.tol)
        self._information = [information for _, _, information in fits]

    def _fit_task(
        self, table: Design, weights: FloatArray, task: BinaryTask
    ) -> tuple[Solution, Certificate, FloatArray | None]:
        whole = len(task.rows) == table.shape[0]
        X = table if whole else table.take(task.rows)
        C, l2 = self._weight()
        problem = LossPenalty(
            X=X,
            y=task.signs,
            c=C * weights[task.rows],
            loss=Logistic(),
            penalty=Penalty(l2=l2),
            fit_intercept=self.fit_intercept,
        )
        # penalised problems have an optimum, separated or not
        stop = strictly_separated if l2 == 0 else None
        solver = Newton(tol=self.tol, max_iter=self.max_iter, stop=stop)
        with single_threaded_blas():  # the tall products run on our threads
            solution = solver.solve(problem, start=sample_start(problem, solver), callback=self._report)
            certificate = problem.certify(solution.x, solution.multipliers)
        if l2 == 0 and self._may_be_separated(
            certificate, float(np.max(task.signs * problem.scores(solution.x)))
        ):
            self.separation_ = find_separation(problem, solution.x) or self.separation_
        return solution, certificate, self._task_information(problem, solution.x)

    def _may_be_separated(self, certificate: Certificate, largest: float) -> bool:
        """Whether a search for separation is worth its while, from the largest margin of a row.

        Separated rows that are still within a margin of 6 leave the likelihood more than 0.002 each to gain.
        Where ``tol`` allows that much to be left they may have been left there.
        """
        left = self.tol * certificate.primal
        return not solved(certificate, self.tol) or largest > 6.0 or left > 1e-3

    def _task_information(self, problem: LossPenalty, theta: FloatArray) -> FloatArray | None:
        if problem.penalty.l2 > 0 or problem.X.shape[1] > 1500:
            return None
        d = problem.c * problem.loss.curvature(problem.scores(theta), problem.y)
        H = hessian(problem.X, d, 0.0, self.fit_intercept)
        return H if self.fit_intercept else H[:-1, :-1]

    def _fit_multinomial(self, table: Design, codes: IntArray, weights: FloatArray) -> None:
        C, l2 = self._weight()
        problem = Multinomial(
            X=table,
            codes=codes,
            c=C * weights,
            n_classes=len(self.classes_),
            l2=l2,
            fit_intercept=self.fit_intercept,
        )
        solution = MultinomialNewton(tol=self.tol, max_iter=self.max_iter).solve(
            problem, callback=self._report
        )
        self.coef_, self.intercept_ = solution.x[:, :-1], solution.x[:, -1]
        self.n_iter_ = np.array([solution.n_iter])
        self.certificate_ = problem.certify(solution.x, solution.multipliers)
        self.certificates_ = [self.certificate_]
        self._information = [None]
        if l2 > 0:
            return
        large = solution.x.size > 1500
        margins = problem.scores(solution.x)
        if large or self._may_be_separated(self.certificate_, float(np.ptp(margins, axis=1).max())):
            self.separation_ = find_multinomial_separation(problem, solution.x)
        if not large:
            self._information = [multinomial_hessian(problem, solution.x)[0]]

    def _names(self) -> list[str]:
        names = getattr(self, "feature_names_in_", None)
        return (
            [f"x{j}" for j in range(self.n_features_in_)] if names is None else [str(name) for name in names]
        )

    def _has_probabilities(self) -> bool:
        if self.multiclass == "ovo" and len(getattr(self, "classes_", ())) != 2:
            raise AttributeError("multiclass='ovo' has no probabilities: use 'multinomial' or 'ovr'.")
        return True

    @available_if(_has_probabilities)
    def predict_log_proba(self, X: Any) -> FloatArray:
        """Logarithms of `predict_proba`."""
        with np.errstate(divide="ignore"):
            logs: FloatArray = np.log(self.predict_proba(X))
        return logs

    @available_if(_has_probabilities)
    def predict_proba(self, X: Any) -> FloatArray:
        """Probabilities of shape (n_samples, n_classes), in the order of ``classes_``.

        One-versus-rest probabilities are scaled to sum to one; one-versus-one has none.
        """
        check_is_fitted(self)
        scores = self.decision_function(X)
        if scores.ndim == 1:
            return np.column_stack([expit(-scores), expit(scores)])
        if self.multiclass == "multinomial":
            probabilities: FloatArray = softmax(scores, axis=1)
            return probabilities
        single = np.maximum(expit(scores), 1e-300)
        return np.asarray(single / single.sum(axis=1, keepdims=True))

    def summary(self, level: float = 0.95) -> LogisticSummary:
        """Coefficients, standard errors, z, p values, odds ratios and their intervals; needs ``C=inf``.

        Wald statistics from the inverse of the observed information at the maximum of the likelihood; sample
        weights count as numbers of rows. With several classes the multinomial model is needed.
        """
        check_is_fitted(self)
        if not isinf(self.C):
            raise ValueError(
                f"summary() needs the maximum of the likelihood: fit with C=inf, not C={self.C:g}."
            )
        check_inner_fraction("level", level)
        several = len(self.classes_) > 2
        if several and self.multiclass != "multinomial":
            raise ValueError("summary() of several classes needs multiclass='multinomial'.")
        labels = self.classes_.tolist()
        coefficients, index = self._coefficients(several)
        information, rank = self._information[0], len(coefficients)
        if information is None:
            inverse, estimable = np.full((rank, rank), np.nan), np.ones(rank, dtype=bool)
        else:
            inverse, estimable, rank = covariance(information)
        separated = self._separated(len(coefficients))
        variances = np.where(separated, np.nan, np.diag(inverse))
        aliased = [str(name) for name in index[~estimable & ~separated]]
        return LogisticSummary(
            table=coefficient_table(coefficients, variances, index, level),
            odds=f"{'each class' if several else repr(labels[1])} against {labels[0]!r}",
            level=level,
            log_likelihood=-self.certificate_.primal,
            null_log_likelihood=self._null_log_likelihood,
            n_observations=self._n_observations,
            rank=rank,
            notes=self._notes(aliased),
        )

    def _separated(self, n_coefficients: int) -> BoolArray:
        """Which coefficients grow without end, so that they have no standard error."""
        if self.separation_ is None:
            return np.zeros(n_coefficients, dtype=bool)
        involved = np.append(self.separation_.columns, [True] * self.fit_intercept)
        return np.tile(involved, n_coefficients // len(involved))

    def _notes(self, aliased: list[str]) -> tuple[str, ...]:
        notes = []
        if self.separation_ is not None:
            notes.append(self.separation_.sentence(self._names()))
        if aliased:
            notes.append(f"not estimable, because columns depend on each other: {', '.join(aliased)}")
        if self._information[0] is None and self.separation_ is None:
            notes.append("no standard errors: more than 1500 coefficients")
        if not solved(self.certificate_, self.tol) and self.separation_ is None:
            notes.append(f"not converged: {self.certificate_}")
        return tuple(notes)

    def _coefficients(self, several: bool) -> tuple[FloatArray, pd.Index]:
        """The estimated coefficients in one row, in the order of the information matrix, and their names."""
        names = self._names() + (["intercept"] if self.fit_intercept else [])
        blocks = np.column_stack([self.coef_, self.intercept_]) if self.fit_intercept else self.coef_
        if not several:
            return blocks[0], pd.Index(names, name="variable")
        pairs = [(label, name) for label in self.classes_[1:] for name in names]
        return blocks[1:].ravel(), pd.MultiIndex.from_tuples(pairs, names=["class", "variable"])


def _null_log_likelihood(masses: FloatArray, fit_intercept: bool) -> float:
    """Of the model with an intercept only; without an intercept all classes are equally likely."""
    if not fit_intercept:
        return -float(masses.sum() * np.log(len(masses)))
    masses = masses[masses > 0]
    return float(masses @ np.log(masses / masses.sum()))
