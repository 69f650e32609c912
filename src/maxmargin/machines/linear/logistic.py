"""Logistic regression by Newton's method, with the statistics of its coefficients."""

from __future__ import annotations

import warnings
from dataclasses import KW_ONLY, dataclass, replace
from functools import partial
from math import inf, isinf
from typing import Any, Literal

import numpy as np
import pandas as pd
from scipy.special import expit, softmax
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from maxmargin.base.interruption import all_or_nothing, of_one_fit
from maxmargin.base.parameters import (
    check_allowed,
    check_choice,
    check_count,
    check_flags,
    check_inner_fraction,
    check_positive,
)
from maxmargin.base.progress import Callback
from maxmargin.base.threads import blas_threads_for, single_threaded_blas
from maxmargin.base.typing import (
    AnyArray,
    ClassWeightLike,
    FloatArray,
    IntArray,
    RandomStateLike,
    TableLike,
    TargetLike,
    WeightLike,
)
from maxmargin.compute.tables.design import Design, design
from maxmargin.machines.linear.base import LinearClassifier, design_of_task, finite_or_refused
from maxmargin.machines.linear.linear_pieces import (
    binary_problems,
    find_separation_in_pieces,
    survey_classes,
    weights_of_classes,
)
from maxmargin.machines.linear.logistic_summary import (
    DependentColumns,
    LogisticSummary,
    coefficient_table,
    covariance,
    dependent_columns,
    with_odds,
)
from maxmargin.pieces.collection import Pieces
from maxmargin.pieces.given import as_pieces
from maxmargin.pieces.survey import Survey
from maxmargin.problems.certificate import Certificate
from maxmargin.problems.loss_penalty import LossPenalty, solved, warn_unsolved, worst_gap
from maxmargin.problems.losses import Logistic
from maxmargin.problems.multiclass import BinaryTask, binary_tasks
from maxmargin.problems.multinomial import Multinomial
from maxmargin.problems.newton_system import EXPLICIT, hessian
from maxmargin.problems.penalties import Penalty
from maxmargin.problems.rows_in_pieces import LossPenaltyPieces, MultinomialPieces, MultinomialRows
from maxmargin.problems.solution import Solution, Status
from maxmargin.solvers.primal.multinomial_newton import MultinomialNewton
from maxmargin.solvers.primal.newton import Newton
from maxmargin.solvers.primal.newton_pieces import PiecesNewton, solve_pieces
from maxmargin.solvers.primal.separation import (
    Separation,
    find_multinomial_separation,
    find_separation,
    limit_point,
    strictly_separated,
)
from maxmargin.solvers.primal.warm_newton import sample_start
from maxmargin.solvers.stopping import tell_iteration

_SOLVERS = ("newton", "lbfgs", "newton-cg", "newton-cholesky", "sag", "saga")


@dataclass(frozen=True)
class _Fit:
    """One fitted model: (w, b), or one row per class of the multinomial model."""

    theta: FloatArray
    certificate: Certificate
    n_iter: int
    information: FloatArray | None = None
    separation: Separation | None = None
    dependent: DependentColumns | None = None


class SeparationWarning(ConvergenceWarning):
    """A hyperplane separates the classes, so the likelihood has no maximum.

    >>> import warnings
    >>> import maxmargin as mm
    >>> with warnings.catch_warnings(record=True) as caught:
    ...     warnings.simplefilter("always")
    ...     model = mm.LogisticRegression().fit([[0.0], [1.0]], [0, 1])
    >>> [warning.category.__name__ for warning in caught]
    ['SeparationWarning']
    """


@dataclass(eq=False, repr=False)
class LogisticRegression(LinearClassifier):
    """Logistic regression by maximum likelihood, with an optional l2 penalty.

        min over w, b   C sum_i s_i log(1 + exp(-y_i (<w, x_i> + b))) + 1/2 ||w||^2

    without the penalty for ``C=inf``, the default, because a penalty would bias the estimates, standard
    errors, p values and odds ratios. The intercept is never penalised. Solved by Newton's method (cost n p^2
    per iteration, few iterations) until the relative duality gap is below ``tol``. Fuentes, section 7.

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
    penalty : "l2", weighted by C, or None for none, which is C=inf.
    l1_ratio : must be 0 or None. Use LinearSVC(loss="logistic", penalty="l1") for l1.
    dual, random_state : accepted for compatibility; the optimum depends on neither.
    solver : "newton". scikit-learn's other names mean the same, because the optimum is the same. "liblinear"
        and its ``intercept_scaling`` are refused, because it penalises the intercept.
    warm_start : must be False: Newton's method only takes a few steps from zero.

    Attributes
    ----------
    coef_ : of shape (n_machines, n_features); (1, n_features) for two classes.
    intercept_ : of shape (n_machines,).
    certificate_ : of the binary problem with the largest gap; ``certificates_`` has all.
    separation_ : a `Separation` if the classes are separated and C is inf, else None.
    dropped_ : names of the columns that depend on earlier ones (C=inf); their coefficients are 0.
    n_iter_ : of shape (n_machines,).
    history_ : table of machine, iteration and objective.

    Notes
    -----
    If a hyperplane separates the classes and C is inf, the likelihood has no maximum: fit warns with
    `SeparationWarning` and names the columns, and ``coef_`` has the direction of the limit of the penalised
    models as C grows (the hard margin), scaled so that the log-likelihood of every separated row is within
    ``tol`` of 0. `summary` has no finite estimate for these columns. With three classes and more and C=inf
    the first class is the baseline of the multinomial model: its coefficients are 0 and every odds ratio is
    relative to it.

    Examples
    --------
    >>> import numpy as np, maxmargin as mm
    >>> x = np.array([[1.0], [2.0], [3.0], [4.0], [5.0], [6.0]])
    >>> model = mm.LogisticRegression().fit(x, [0, 0, 1, 0, 1, 1])
    >>> print(round(float(model.coef_[0, 0]), 4), round(model.summary().deviance, 4))
    1.214 4.956
    """

    C: float = inf
    _: KW_ONLY
    fit_intercept: bool = True
    multiclass: Literal["multinomial", "ovr", "ovo"] = "multinomial"
    class_weight: ClassWeightLike | None = None
    tol: float = 1e-10
    max_iter: int = 100
    n_jobs: int | None = None
    verbose: int = 0
    penalty: Literal["l2", "deprecated"] | None = "l2"
    l1_ratio: float | None = 0.0
    dual: bool = False
    intercept_scaling: float = 1
    solver: Literal["newton", "lbfgs", "newton-cg", "newton-cholesky", "sag", "saga"] = "newton"
    warm_start: bool = False
    random_state: RandomStateLike | None = None

    @all_or_nothing
    def fit(
        self,
        X: TableLike | Pieces,
        y: TargetLike | None = None,
        sample_weight: WeightLike | None = None,
        *,
        callback: Callback | None = None,
    ) -> LogisticRegression:
        """Fit to X of shape (n_samples, n_features) and labels y of shape (n_samples,), or to `Pieces`.

        ``callback`` as in `LinearSVC`.
        """
        self.check_parameters()
        self._history: list[tuple[int, int, float]] = []
        pieces = as_pieces(X, y, sample_weight)
        with finite_or_refused(self):
            if pieces is None:
                fits, masses = self._fit_memory(X, y, sample_weight)
            else:
                fits, masses = self._fit_pieces(pieces)
            self._store(fits)
        self._null_log_likelihood = _null_log_likelihood(masses, self.fit_intercept)
        self._n_observations = float(masses.sum())
        if self.separation_ is None:
            warn_unsolved(
                self.certificate_, self.tol, "LogisticRegression", f"raise max_iter={self.max_iter}"
            )
        else:
            warnings.warn(self.separation_.sentence(self._names()), SeparationWarning, stacklevel=3)
        return self

    def _fit_memory(self, X: Any, y: Any, sample_weight: Any) -> tuple[list[_Fit], FloatArray]:
        """The fits to tables in memory, and the weights of the classes."""
        X, codes, weights = self._validate(X, y, sample_weight)
        table = design(X, self.n_jobs)
        if self._is_multinomial():
            with blas_threads_for(table.shape[1] * len(self.classes_)):  # the size of the Hessian
                fits = [self._fit_multinomial(table, codes, weights)]
        else:
            tasks = binary_tasks(codes, len(self.classes_), self._strategy())
            fits = [self._fit_task(k, table, weights, task) for k, task in enumerate(tasks)]
        masses: AnyArray = np.bincount(codes, weights=weights, minlength=len(self.classes_))
        return fits, masses

    def _fit_pieces(self, pieces: Pieces) -> tuple[list[_Fit], FloatArray]:
        """The fits to data in pieces, and the weights of the classes."""
        seen = survey_classes(self, pieces)
        C, l2 = self._weight()
        if self._is_multinomial():
            fits = [self._fit_multinomial_pieces(pieces, seen)]
        else:
            problems = binary_problems(self, pieces, seen, C=C, loss=Logistic(), penalty=Penalty(l2=l2))
            fits = [self._fit_task_pieces(k, problem) for k, problem in enumerate(problems)]
        return fits, seen.masses * weights_of_classes(self, seen)

    def _fit_task(self, k: int, table: Design, weights: FloatArray, task: BinaryTask) -> _Fit:
        C, l2 = self._weight()
        problem = LossPenalty(
            X=design_of_task(table, task),
            y=task.signs,
            c=C * weights[task.rows],
            loss=Logistic(),
            penalty=Penalty(l2=l2),
            fit_intercept=self.fit_intercept,
        )
        # penalised problems have an optimum even if the classes are separated
        stop = strictly_separated if l2 == 0 else None
        solver = Newton(tol=self.tol, max_iter=self.max_iter, stop=stop)
        with single_threaded_blas():  # the tall products run on our threads
            start = sample_start(problem, solver)
            solution = solver.solve(problem, start=start, callback=partial(self._report, k))
            theta, certificate = solution.x, problem.certify(solution.x, solution.multipliers)
            if l2 > 0:
                return _Fit(theta, certificate, solution.n_iter)
            return self._finished(problem, solver, solution, certificate)

    def _finished(
        self, problem: LossPenalty, solver: Newton, solution: Solution, certificate: Certificate
    ) -> _Fit:
        """For a likelihood without penalty: check for separation and for dependent columns."""
        theta = solution.x
        separation, dependent, slopes = None, None, solution.multipliers
        if self._may_be_separated(solution, certificate, float(np.max(problem.y * problem.scores(theta)))):
            separation = find_separation(problem, theta)
        if separation is not None and separation.is_limit:
            theta, slopes = limit_point(problem, separation, replace(solver, stop=None))
            certificate = problem.certify(theta, slopes)
        information = self._task_information(problem, theta)
        if information is not None and (separation is None or separation.kind != "complete"):
            dependent = dependent_columns(information, self.fit_intercept, used_rows(problem.X, problem.c))
        if dependent is not None:
            theta = dependent.moved(theta)
            certificate = problem.certify(theta, slopes)
        return _Fit(theta, certificate, solution.n_iter, information, separation, dependent)

    def _fit_task_pieces(self, k: int, problem: LossPenaltyPieces) -> _Fit:
        free = problem.penalty.l2 == 0
        solver = PiecesNewton(tol=self.tol, max_iter=self.max_iter, stop_separated=free)
        solution, certificate, sums = solve_pieces(problem, solver, callback=partial(self._report, k))
        theta, H = solution.x, sums.hessian
        if not free:
            return _Fit(theta, certificate, solution.n_iter)
        separation, dependent = None, None
        if self._may_be_separated(solution, certificate, sums.largest):
            separation = find_separation_in_pieces(problem, theta, sums)
        if separation is not None and separation.is_limit:
            theta = -float(np.log(np.expm1(self.tol))) * separation.direction
            certificate = problem.certify(theta)
        if H is not None and not self.fit_intercept:
            H = H[:-1, :-1]
        if H is not None and separation is None:
            dependent = dependent_columns(H, self.fit_intercept, None)
        if dependent is not None:
            theta = dependent.moved(theta)
            certificate = problem.certify(theta)
        return _Fit(theta, certificate, solution.n_iter, H, separation, dependent)

    def _fit_multinomial(self, table: Design, codes: IntArray, weights: FloatArray) -> _Fit:
        C, l2 = self._weight()
        problem = Multinomial(
            X=table,
            codes=codes,
            c=C * weights,
            n_classes=len(self.classes_),
            l2=l2,
            fit_intercept=self.fit_intercept,
        )
        solver = MultinomialNewton(tol=self.tol, max_iter=self.max_iter)
        solution, certificate, _ = solver.solve(problem, callback=partial(self._report, 0))
        theta = solution.x
        if l2 > 0:
            return _Fit(theta, certificate, solution.n_iter)
        separation, information, dependent = None, None, None
        large = theta.size > EXPLICIT
        margins = problem.scores(theta)
        if large or self._may_be_separated(solution, certificate, float(np.ptp(margins, axis=1).max())):
            separation = find_multinomial_separation(problem, theta)
        if separation is not None and separation.is_limit:
            theta = -float(np.log(np.expm1(self.tol) / (len(theta) - 1))) * separation.direction
            certificate = problem.certify(theta)
        if not large:
            information = problem.at(theta).hessian_of(problem.free())
            dependent = self._dependent_in_multinomial(information, separation, used_rows(table, weights))
        if dependent is not None:
            theta = dependent.moved(theta)
            certificate = problem.certify(theta)
        return _Fit(theta, certificate, solution.n_iter, information, separation, dependent)

    def _fit_multinomial_pieces(self, pieces: Pieces, seen: Survey) -> _Fit:
        C, l2 = self._weight()
        rows = MultinomialRows(self.classes_, C * weights_of_classes(self, seen), self.fit_intercept)
        problem = MultinomialPieces(pieces=pieces, rows=rows, n_features=seen.n_features, l2=l2)
        solver = MultinomialNewton(tol=self.tol, max_iter=self.max_iter)
        solution, certificate, sums = solver.solve(problem, callback=partial(self._report, 0))
        if l2 > 0:
            return _Fit(solution.x, certificate, solution.n_iter)
        if sums.least > 0:
            columns = np.abs(solution.x[:, :-1]).max(axis=0) > 0
            return _Fit(
                solution.x,
                certificate,
                solution.n_iter,
                separation=Separation("complete", solution.x, columns),
            )
        information = sums.hessian_of(problem.free())
        dependent = self._dependent_in_multinomial(information, None, None)
        theta = solution.x if dependent is None else dependent.moved(solution.x)
        return _Fit(theta, certificate, solution.n_iter, information, None, dependent)

    def _dependent_in_multinomial(
        self, information: FloatArray, separation: Separation | None, X: Design | None
    ) -> DependentColumns | None:
        """From the block of the first class after the baseline, whose rank is that of the table."""
        if separation is not None and separation.kind == "complete":
            return None
        width = self.n_features_in_ + self.fit_intercept
        return dependent_columns(information[:width, :width], self.fit_intercept, X)

    def check_parameters(self) -> None:
        check_positive("C", self.C, infinite=True)
        _check_scikit(self)
        check_flags(self, "fit_intercept")
        check_positive("tol", self.tol)
        check_count("max_iter", self.max_iter)
        check_choice("multiclass", self.multiclass, ("multinomial", "ovr", "ovo"))

    def _strategy(self) -> Any:
        return "ovr" if self.multiclass == "multinomial" else self.multiclass

    def _is_multinomial(self) -> bool:
        return self.multiclass == "multinomial" and len(self.classes_) > 2

    def _weight(self) -> tuple[float, float]:
        """C and the weight of the penalty."""
        return (1.0, 0.0) if isinf(self.C) or self.penalty is None else (self.C, 1.0)

    def _report(self, machine: int, iteration: int, value: float) -> bool:
        self._history.append((machine, iteration, value))
        return tell_iteration(self, iteration, value)

    def _store(self, fits: list[_Fit]) -> None:
        thetas = np.vstack([fit.theta for fit in fits])
        self.coef_, self.intercept_ = thetas[:, :-1], thetas[:, -1]
        self.n_iter_ = np.array([fit.n_iter for fit in fits])
        self.certificates_ = [fit.certificate for fit in fits]
        self.certificate_ = worst_gap(self.certificates_, self.tol)
        self.separation_ = next((fit.separation for fit in fits if fit.separation is not None), None)
        dependent = fits[0].dependent
        self._dropped = np.zeros(thetas.shape[1] - 1, dtype=bool) if dependent is None else dependent.dropped
        self.dropped_ = [name for name, out in zip(self._names(), self._dropped, strict=True) if out]
        self._information = fits[0].information
        self.history_ = pd.DataFrame(self._history, columns=["machine", "iteration", "objective"])

    def _may_be_separated(self, solution: Solution, certificate: Certificate, largest: float) -> bool:
        """True if the largest margin of a row suggests that a search for separation is worthwhile.

        A separated row with a margin below 6 can still gain more than 0.002 of log-likelihood, so the solver
        only stops there if ``tol`` allows it.
        """
        if solution.status is Status.INTERRUPTED:  # the user stopped the fit
            return False
        left = self.tol * certificate.primal
        return not solved(certificate, self.tol) or largest > 6.0 or left > 1e-3

    def _task_information(self, problem: LossPenalty, theta: FloatArray) -> FloatArray | None:
        if problem.X.shape[1] > EXPLICIT:
            return None
        d = problem.c * problem.loss.curvature(problem.scores(theta), problem.y)
        H = hessian(problem.X, d, 0.0, self.fit_intercept)
        return H if self.fit_intercept else H[:-1, :-1]

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
    @of_one_fit
    def predict_log_proba(self, X: TableLike) -> FloatArray:
        """Logarithms of `predict_proba`."""
        with np.errstate(divide="ignore"):
            logs: FloatArray = np.log(self.predict_proba(X))
        return logs

    @available_if(_has_probabilities)
    @of_one_fit
    def predict_proba(self, X: TableLike) -> FloatArray:
        """Probabilities of shape (n_samples, n_classes), in the order of ``classes_``.

        One-versus-rest probabilities are scaled to sum to one; one-versus-one has none.
        """
        check_is_fitted(self)
        scores = self.decision_function(X)
        if scores.ndim == 1:
            return np.column_stack([expit(-scores), expit(scores)])
        if self.multiclass == "multinomial":
            return softmax(scores, axis=1)
        single = np.maximum(expit(scores), 1e-300)
        return np.asarray(single / single.sum(axis=1, keepdims=True))

    def summary(self, level: float = 0.95) -> LogisticSummary:
        """Coefficients, standard errors, z, p values, odds ratios and their intervals; needs ``C=inf``.

        Wald statistics from the inverse of the observed information at the maximum of the likelihood; sample
        weights count as numbers of rows. With several classes the multinomial model is needed.
        """
        check_is_fitted(self)
        if self._weight()[1]:
            raise ValueError(
                f"summary() needs the maximum of the likelihood: fit with C=inf, not C={self.C:g}."
            )
        check_inner_fraction("level", level)
        several = len(self.classes_) > 2
        if several and self.multiclass != "multinomial":
            raise ValueError("summary() of several classes needs multiclass='multinomial'.")
        coefficients, index = self._coefficients(several)
        kept = np.append(~self._dropped, np.ones(int(self.fit_intercept), dtype=bool))
        kept = np.tile(kept, len(self.coef_[int(several) :]))
        rank, inverse = int(np.count_nonzero(kept)), np.full(2 * [len(coefficients)], np.nan)
        if self._information is not None:
            inverse[np.ix_(kept, kept)], found = covariance(self._information[np.ix_(kept, kept)])
            # separated rows add nothing to the information; no column has become dependent by that
            rank = found if self.separation_ is None else rank
        labels = self.classes_.tolist()
        table = coefficient_table(np.where(kept, coefficients, np.nan), np.diag(inverse), index, level)
        return LogisticSummary(
            table=with_odds(table),
            odds=f"{'each class' if several else repr(labels[1])} against {labels[0]!r}",
            level=level,
            log_likelihood=-self.certificate_.primal,
            null_log_likelihood=self._null_log_likelihood,
            n_observations=self._n_observations,
            rank=rank,
            notes=self._notes(),
        )

    def _coefficients(self, several: bool) -> tuple[FloatArray, pd.Index]:
        """The estimated coefficients in one row, in the order of the information matrix, and their names.

        Those that grow without bound are infinite; with complete separation no coefficient has an estimate.
        """
        theta = np.column_stack([self.coef_, self.intercept_])[int(several) :]
        if self.separation_ is not None:
            direction = np.atleast_2d(self.separation_.direction)[int(several) :]
            moves = np.append(self.separation_.columns, True)
            endless = np.where(direction == 0, np.nan, np.copysign(np.inf, direction))
            stay = np.full_like(theta, np.nan) if self.separation_.kind == "complete" else theta
            theta = np.where(moves, endless, stay)
        names = [*self._names(), "intercept"]
        if not self.fit_intercept:
            theta, names = theta[:, :-1], names[:-1]
        if not several:
            return theta[0], pd.Index(names, name="variable")
        pairs = [(label, name) for label in self.classes_[1:] for name in names]
        return theta.ravel(), pd.MultiIndex.from_tuples(pairs, names=["class", "variable"])

    def _notes(self) -> tuple[str, ...]:
        notes = []
        if self.separation_ is not None:
            notes.append(self.separation_.sentence(self._names()))
        if self.dropped_:
            notes.append(f"dropped, because they depend on earlier columns: {', '.join(self.dropped_)}")
        if self._information is None and self.separation_ is None:
            notes.append("no standard errors: more than 1500 coefficients")
        if not solved(self.certificate_, self.tol) and self.separation_ is None:
            notes.append(f"not converged: {self.certificate_.sentence}")
        return tuple(notes)


def used_rows(X: Design, weights: FloatArray) -> Design:
    """The rows of positive weight."""
    return X if weights.all() else X.take(np.flatnonzero(weights))


def _null_log_likelihood(masses: FloatArray, fit_intercept: bool) -> float:
    """Of the model with an intercept only; without an intercept all classes are equally likely."""
    if not fit_intercept:
        return -float(masses.sum() * np.log(len(masses)))
    masses = masses[masses > 0]
    return float(masses @ np.log(masses / masses.sum()))


def _check_scikit(model: LogisticRegression) -> None:
    """Accept those parameters of scikit-learn's LogisticRegression that do not change the optimum."""
    elastic = "use LinearSVC(loss='logistic', penalty='l1' or 'l1l2')."
    check_allowed("penalty", model.penalty, ("l2", None, "deprecated"), elastic)
    check_allowed("l1_ratio", model.l1_ratio, (None, 0, 0.0), elastic)
    check_flags(model, "dual", "warm_start")
    free = "the intercept is free here."
    check_allowed("intercept_scaling", model.intercept_scaling, (1, 1.0), free)
    check_allowed("solver", model.solver, _SOLVERS, f"use one of {', '.join(_SOLVERS)}; {free}")
    check_allowed("warm_start", model.warm_start, (False,), "a fit only takes a few Newton steps from zero.")
