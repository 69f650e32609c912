"""The perceptron and the passive-aggressive classifier."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import Any, Literal, Self

import numpy as np
import numpy.typing as npt

from maxmargin.base.interruption import all_or_nothing
from maxmargin.base.parameters import (
    check_allowed,
    check_choice,
    check_count,
    check_flags,
    check_inner_fraction,
    check_positive,
)
from maxmargin.base.progress import Callback
from maxmargin.base.typing import FloatArray, TableLike, TargetLike, WeightLike
from maxmargin.compute.tables.inner_products import squared_norms
from maxmargin.machines.online.base import OnlineClassifier, rows_of_task
from maxmargin.problems.multiclass import BinaryTask
from maxmargin.solvers.online.online_loop import OnlineLoop, Rule, Schedule

_VARIANTS: dict[str, Rule] = {"hinge": "pa1", "squared_hinge": "pa2"}
_FIRST_ROWS = 1000  # checked first: without separation one of them is usually misclassified


@dataclass(eq=False, repr=False, kw_only=True)
class StepsOnErrors(OnlineClassifier):
    """Base class of `Perceptron` and `PassiveAggressive`: starting point and stopping rule."""

    average: bool = False
    tol: float | None = None
    n_iter_no_change: int = 5
    early_stopping: bool = False
    validation_fraction: float = 0.1
    warm_start: bool = False
    n_jobs: int | None = None

    def _check(self) -> None:
        super()._check()
        check_flags(self, "early_stopping", "warm_start")
        check_count("n_iter_no_change", self.n_iter_no_change)
        check_inner_fraction("validation_fraction", self.validation_fraction)
        reason = "no rows are held out; the training loss decides when to stop (tol, n_iter_no_change)."
        check_allowed("early_stopping", self.early_stopping, (False,), reason)

    @all_or_nothing
    def fit(
        self,
        X: TableLike,
        y: TargetLike,
        sample_weight: WeightLike | None = None,
        *,
        coef_init: npt.ArrayLike | None = None,
        intercept_init: npt.ArrayLike | None = None,
        callback: Callback | None = None,
    ) -> Self:
        """Passes over X of shape (n_samples, n_features) with labels y until done or ``max_iter``.

        Starts from ``coef_init`` of shape (n_machines, n_features) and ``intercept_init`` of shape
        (n_machines,); by default from zero or, with ``warm_start``, from the last fit. ``callback``
        is called with a `SolverProgress` after every pass; the fit ends if it returns True.
        """
        if self.warm_start and coef_init is None and hasattr(self, "coef_"):
            coef_init = self.coef_
            intercept_init = self.intercept_ if intercept_init is None else intercept_init
        return self._learn(X, y, sample_weight, coef_init=coef_init, intercept_init=intercept_init)

    def _begin(self, n_features: int, coef_init: Any = None, intercept_init: Any = None) -> None:
        super()._begin(n_features)
        n_machines = len(self._states)
        coef = _start("coef_init", coef_init, (n_machines, n_features))
        starts = np.column_stack([coef, _start("intercept_init", intercept_init, (n_machines, 1))])
        self._start_lengths = np.linalg.norm(starts, axis=1)
        if self.trace and starts.any():
            raise ValueError("trace=True needs a fit from zero: leave coef_init and intercept_init out.")
        if starts[:, -1].any() and not self.fit_intercept:
            raise ValueError("intercept_init needs fit_intercept=True.")
        for state, start in zip(self._states, starts, strict=True):
            state.v[:], state.b = start[:-1], float(start[-1])

    def _finished(self, mistakes: int) -> bool:
        """True if the best mean loss of the last passes is not better by ``tol`` than the best one before."""
        recent = self.n_iter_no_change
        if self.tol is None or len(self._rows) <= recent:
            return self.tol is not None and self._rows[-1][2] == 0.0
        losses = [row[2] for row in self._rows]
        return min(losses[-recent:]) > min(losses[:-recent]) - self.tol


@dataclass(eq=False, repr=False, kw_only=True)
class Perceptron(StepsOnErrors):
    """Rosenblatt's perceptron, plain or averaged: on y f <= 0, w <- w + eta y x and b <- b + eta y.

    Fuentes, algorithms 1-3. With ``average=True`` the average of the iterates over all ``max_iter`` passes is
    returned (the intention of algorithm 3). On separable data it makes at most (R / gamma)^2 mistakes
    (Novikoff 1962), where with an intercept R and gamma are taken for the points (x, 1). Cost of a pass: n p.

    Parameters
    ----------
    average : return the average of the iterates over all steps. Passes after one without a mistake change
        nothing: they are skipped, but count in the average.
    eta0 : length of a step.
    tol : stop when the best mean loss of the last ``n_iter_no_change`` passes is not better by this than the
        best one before; None to make all passes.
    n_iter_no_change : see ``tol``.
    warm_start : start from the last fit.
    penalty : must be None: the perceptron has none, and no ``alpha`` or ``l1_ratio``.
    early_stopping : must be False, so ``validation_fraction`` is not used.
    n_jobs : accepted for compatibility; a pass uses one thread.
    fit_intercept : whether b is learnt or 0.
    max_iter : maximum number of passes; it stops earlier after a pass without a mistake.
    shuffle : True for a new order of the rows in every pass, False for the order of X, "replacement" to draw
        a row at random for every step.
    multiclass : "ovr" or "ovo".
    class_weight : dict, "balanced" or None; weights scale the steps.
    random_state : seed of the order.
    verbose : 1 to print every pass.
    trace : record every step in ``trace_``.

    Attributes
    ----------
    coef_, intercept_ : of shape (n_machines, n_features) and (n_machines,).
    n_mistakes_ : mistakes made in all passes, of shape (n_machines,).
    n_errors_ : training rows that the returned model misclassifies, of shape (n_machines,); NaN if not
        all rows were checked (see ``certificate_``).
    R_ : max ||(x, 1)||.
    margin_ : the margin gamma of the returned model, of shape (n_machines,); NaN if it makes errors.
    bound_ : (R/gamma)^2 with the larger margin of the last iterate and the average, of shape
        (n_machines,); NaN if neither separates. Novikoff's theorem uses the largest possible margin, so
        its bound is at most this one. Weights and a start vector make the bound larger:
        (R^2 max(s) + 2 gamma ||start||/eta) / (gamma^2 min(s)).
    converged_ : whether the returned model classifies all training rows correctly; ``stopped_`` explains it.
    certificate_ : the mean of max(0, -y f) and its smallest possible value, 0. Checking all rows costs about
        a pass: it is done after 30 passes, for tables of up to 100 000 numbers, with ``average`` and where
        the data may be separated. Otherwise ``certificate_.complete`` is False and `certify` checks them.
    history_ : table of pass, mistakes and mean loss.
    trace_ : table of the steps, with ``trace=True``: machine, step, pass, row, its score and loss before, and
        its effect w <- shrink (keep w + change x), with the intercept after it and the weight of this iterate
        in the average. `maxmargin.replay` recomputes (w, b) from it.

    Examples
    --------
    >>> import maxmargin as mm
    >>> X, y = [[2.0, 1.0], [1.0, 3.0], [-1.0, -2.0], [-2.0, 0.0]], [1, 1, 0, 0]
    >>> model = mm.Perceptron(shuffle=False).fit(X, y)
    >>> model.converged_, bool(model.n_mistakes_[0] <= model.bound_[0])
    (True, True)
    """

    eta0: float = 1.0
    penalty: None = None
    alpha: float = 0.0001
    l1_ratio: float = 0.15

    _reports = ("n_errors_", "R_", "margin_", "bound_", "converged_", "stopped_")

    def _check(self) -> None:
        super()._check()
        check_positive("eta0", self.eta0)
        reason = "the perceptron has none. Use Pegasos, or LinearSVC for l1."
        check_allowed("penalty", self.penalty, (None,), reason)

    def _loop(self) -> OnlineLoop:
        return OnlineLoop(
            rule="perceptron",
            schedule=Schedule("constant", self.eta0),
            fit_intercept=self.fit_intercept,
            average=self.average,
        )

    def _begin(self, n_features: int, coef_init: Any = None, intercept_init: Any = None) -> None:
        super()._begin(n_features, coef_init, intercept_init)
        self.n_mistakes_ = np.zeros(len(self._states), dtype=np.int64)

    def _pass(self, X: Any, tasks: list[BinaryTask], weights: FloatArray) -> tuple[int, float]:
        totals = super()._pass(X, tasks, weights)
        self.n_mistakes_ = self.n_mistakes_ + self._last_mistakes
        return totals

    def _finished(self, mistakes: int) -> bool:
        return mistakes == 0 or super()._finished(mistakes)

    def _complete_passes(self, weights: FloatArray, tasks: list[BinaryTask]) -> None:
        missing = self.max_iter - len(self._rows)
        if not self.average or missing == 0:
            return
        for task, state in zip(tasks, self._states, strict=True):
            state.repeat(missing * int(np.count_nonzero(weights[task.rows])))

    def _conclude(self, X: Any, tasks: list[BinaryTask], weights: FloatArray) -> None:
        self.R_ = self._radius(X, weights)
        last = int(self._last_mistakes.sum())
        n_machines = len(self._states)
        self.n_errors_, self.margin_ = np.full(n_machines, np.nan), np.full(n_machines, np.nan)
        if not self.average and last and not self._is_cheap(X) and self._errs_early(X, tasks, weights):
            self._leave_unchecked()
            self.converged_, widest = False, self.margin_
        else:
            measured = self._measure(X, tasks, weights, norms=False)
            self.n_errors_ = np.array([found.mistakes for found in measured])
            thetas = np.column_stack([self.coef_, self.intercept_])
            self.margin_ = np.array([_margin(f.smallest, v) for f, v in zip(measured, thetas, strict=True)])
            self.converged_ = not self.n_errors_.any()
            widest = self._widest_margins(X, tasks, weights)
        used = [rows_of_task(weights, task) for task in tasks]
        least, most = (np.array([f(w[w > 0]) for w in used]) for f in (np.min, np.max))
        extra = 2.0 * widest * self._start_lengths / self.eta0
        with np.errstate(over="ignore"):
            self.bound_ = (self.R_**2 * (most / least) + extra / least) / widest**2
        errors = 1 if np.isnan(self.n_errors_).any() else int(self.n_errors_.sum())
        self.stopped_ = why_stopped(self.n_iter_, last, errors, self.max_iter if self.average else 0)
        if not self.converged_ and self.max_iter > 1:
            self._warn(f"{self.stopped_}; raise max_iter={self.max_iter} or use LinearSVC.")

    def _radius(self, X: Any, weights: FloatArray) -> float:
        """R = max ||(x, 1)||, or max ||x|| without an intercept, over the rows of positive weight."""
        if self.shuffle == "replacement":  # the first pass may not have seen all of them
            longest = float(np.sqrt(np.max(squared_norms(X)[weights > 0])))
        else:
            longest = max(state.longest_row() for state in self._states)
        return float(np.hypot(longest, float(self.fit_intercept)))

    def _errs_early(self, X: Any, tasks: list[BinaryTask], weights: FloatArray) -> bool:
        """True if one of the first rows is misclassified, so that the others need not be checked."""
        first = slice(0, _FIRST_ROWS)
        for task, w, b in zip(tasks, self.coef_, self.intercept_, strict=True):
            rows = task.rows[first]
            m = task.signs[first] * (np.asarray(X[rows] @ w).ravel() + b)
            if np.any((m <= 0) & (weights[rows] > 0)):
                return True
        return False

    def _widest_margins(self, X: Any, tasks: list[BinaryTask], weights: FloatArray) -> FloatArray:
        """The larger margin of the returned model and the last iterate, for every machine."""
        if not self.average:
            return self.margin_
        lasts = [state.theta(average=False) for state in self._states]
        problems = self._problems(X, tasks, weights)
        measured = [p.measure(v, bounded=False, norms=False) for p, v in zip(problems, lasts, strict=True)]
        others = [_margin(found.smallest, v) for found, v in zip(measured, lasts, strict=True)]
        return np.fmax(self.margin_, others)


def why_stopped(n_passes: int, last_mistakes: int, errors: int, averaged_passes: int) -> str:
    """Why a perceptron stopped; ``averaged_passes`` is 0 if the last iterate is returned."""
    if last_mistakes == 0 and averaged_passes:
        found = "misclassifies " + ("1 point" if errors == 1 else f"{errors} points")
        found = "classifies all points correctly" if errors == 0 else found
        return (
            f"stopped after pass {n_passes}, in which the last iterate made no mistake; the average over "
            f"all {averaged_passes} passes {found}"
        )
    if errors == 0:
        return f"stopped after pass {n_passes}: all points are classified correctly"
    return (
        f"gave up after {n_passes} passes with {last_mistakes} mistakes in the last: the data may not be "
        "separable"
    )


def _start(name: str, given: Any, shape: tuple[int, int]) -> FloatArray:
    """A start of this shape, or one that has as many numbers."""
    if given is None:
        return np.zeros(shape)
    start = np.asarray(given, dtype=np.float64)
    if start.size != shape[0] * shape[1] or not np.isfinite(start).all():
        raise ValueError(f"{name} has the shape {start.shape}: give finite numbers of the shape {shape}.")
    return start.reshape(shape)


def _margin(smallest: float, theta: FloatArray) -> float:
    """Distance of the nearest row to the hyperplane in the space of (x, 1); NaN if one is misclassified."""
    length = float(np.linalg.norm(theta))
    return smallest / length if smallest > 0 and 0 < length < np.inf else np.nan


@dataclass(eq=False, repr=False)
class PassiveAggressive(StepsOnErrors):
    """Passive-aggressive learning: the smallest change that gives the last row a margin of one, capped.

        step  min(hinge / ||x||^2, C)           "pa1": Fuentes, algorithm 4, with C = 1/lambda
        step  hinge / (||x||^2 + 1/(2C))         "pa2"

    With an intercept x is (x, 1). Crammer et al. 2006. Cost of a pass: n p.

    Parameters
    ----------
    C : cap of a step ("pa1") or its softness ("pa2").
    lam : lambda = 1/C; give this or C.
    variant : "pa1" or "pa2"; None means that of ``loss``.
    loss : scikit-learn's name of the variant: "hinge" is "pa1", "squared_hinge" is "pa2".
    tol, n_iter_no_change, warm_start, average, fit_intercept, max_iter, shuffle, multiclass, class_weight,
        random_state, verbose, trace, early_stopping, n_jobs : as in `Perceptron`; weights scale C.

    Attributes
    ----------
    coef_, intercept_, history_, n_iter_ : as in `Perceptron`.
    certificate_ : the mean hinge, and 0 as its lower bound; not complete for few passes over a large table,
        see `Perceptron`.

    Examples
    --------
    >>> import maxmargin as mm
    >>> model = mm.PassiveAggressive(C=1.0, random_state=0).fit([[1.0], [2.0], [-1.0], [-3.0]], [1, 1, 0, 0])
    >>> model.predict([[1.5], [-1.5]]).tolist()
    [1, 0]
    """

    C: float = 1.0
    _: KW_ONLY
    lam: float | None = None
    variant: Literal["pa1", "pa2"] | None = None
    loss: Literal["hinge", "squared_hinge"] = "hinge"
    tol: float | None = 1e-3

    def _check(self) -> None:
        super()._check()
        check_positive("C", self.C, infinite=True)
        if self.lam is not None:
            check_positive("lam", self.lam)
            if self.C != 1.0:
                raise ValueError(f"C={self.C} and lam={self.lam} mean the same: give one of them.")
        check_choice("loss", self.loss, tuple(_VARIANTS))
        if self.variant is not None:
            check_choice("variant", self.variant, ("pa1", "pa2"))
            if self.loss == "squared_hinge" and self.variant == "pa1":
                raise ValueError("loss='squared_hinge' is variant='pa2': give one of them.")

    def _loop(self) -> OnlineLoop:
        return OnlineLoop(
            rule=_VARIANTS[self.loss] if self.variant is None else self.variant,
            C=self.C if self.lam is None else 1.0 / self.lam,
            fit_intercept=self.fit_intercept,
            average=self.average,
        )

    def _conclude(self, X: Any, tasks: list[BinaryTask], weights: FloatArray) -> None:
        super()._conclude(X, tasks, weights)
        if self.tol is not None and self.max_iter > 1 and not self._finished(0):
            self._warn(
                f"the mean loss, {self._rows[-1][2]:.3g}, was still falling after {self.n_iter_} passes; "
                f"raise max_iter={self.max_iter} or tol={self.tol:g}."
            )
