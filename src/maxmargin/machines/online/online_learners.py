"""The perceptron, passive-aggressive and Pegasos classifiers."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np

from maxmargin.base.parameters import check_choice, check_flags, check_positive
from maxmargin.base.typing import FloatArray
from maxmargin.machines.online.base import OnlineClassifier, rows_of_task
from maxmargin.machines.online.mean_hinge import MeanHinge
from maxmargin.problems.multiclass import BinaryTask
from maxmargin.solvers.online.online_loop import OnlineLoop, Schedule

_FIRST_ROWS = 1000  # looked at first: where the data are not separated, one of them is wrong as a rule


class Perceptron(OnlineClassifier):
    """Rosenblatt's perceptron, plain or averaged: on y f <= 0, w <- w + eta y x and b <- b + eta y.

    Fuentes, algorithms 1-3. With ``average=True`` the average of all iterates is returned (algorithm 3 means
    to). On separable data it makes at most (R / gamma)^2 mistakes (Novikoff 1962), where with an
    intercept R and gamma are taken for the points (x, 1). Cost of a pass: n p.

    Parameters
    ----------
    average : return the average of the iterates over all steps.
    eta : length of a step.
    fit_intercept : whether b is learnt or 0.
    max_iter : largest number of passes; it stops earlier after a pass without a mistake.
    shuffle : a new order of the rows for every pass.
    multiclass : "ovr" or "ovo".
    class_weight : dict, "balanced" or None; weights scale the steps.
    random_state : seed of the order.
    verbose : 1 to print every pass.
    trace : record what every step did, in ``trace_``.

    Attributes
    ----------
    coef_, intercept_ : of shape (n_machines, n_features) and (n_machines,).
    n_mistakes_ : mistakes made in all passes, of shape (n_machines,).
    R_, margin_, bound_ : R, the margin gamma of the last iterate (NaN where not separated), (R/gamma)^2.
    converged_ : whether every machine's last pass was without a mistake; ``stopped_`` says it in words.
    history_ : table of pass, mistakes and mean loss.
    trace_ : table of the steps, with ``trace=True``: machine, step, pass, row, its score and loss before, and
        what it did to w <- shrink (keep w + change x), with the intercept after it. `maxmargin.replay` makes
        (w, b) from it again.

    Examples
    --------
    >>> import maxmargin as mm
    >>> X, y = [[2.0, 1.0], [1.0, 3.0], [-1.0, -2.0], [-2.0, 0.0]], [1, 1, 0, 0]
    >>> model = mm.Perceptron(shuffle=False).fit(X, y)
    >>> model.converged_, bool(model.n_mistakes_[0] <= model.bound_[0])
    (True, True)
    """

    def __init__(
        self,
        *,
        average: bool = False,
        eta: float = 1.0,
        fit_intercept: bool = True,
        max_iter: int = 100,
        shuffle: bool = True,
        multiclass: Literal["ovr", "ovo"] = "ovr",
        class_weight: Any = None,
        random_state: Any = None,
        verbose: int = 0,
        trace: bool = False,
    ) -> None:
        self.average = average
        self.eta = eta
        self.fit_intercept = fit_intercept
        self.max_iter = max_iter
        self.shuffle = shuffle
        self.multiclass = multiclass
        self.class_weight = class_weight
        self.random_state = random_state
        self.verbose = verbose
        self.trace = trace

    _concluded = ("R_", "margin_", "bound_", "converged_", "stopped_")

    def _check(self) -> None:
        super()._check()
        check_positive("eta", self.eta)

    def _loop(self) -> OnlineLoop:
        return OnlineLoop(
            rule="perceptron",
            schedule=Schedule("constant", self.eta),
            fit_intercept=self.fit_intercept,
            average=self.average,
        )

    def _begin(self, n_features: int) -> None:
        super()._begin(n_features)
        self.n_mistakes_ = np.zeros(len(self._states), dtype=np.int64)

    def _pass(self, X: Any, tasks: list[BinaryTask], weights: FloatArray) -> tuple[int, float]:
        answer = super()._pass(X, tasks, weights)
        self.n_mistakes_ += self._last_mistakes
        return answer

    def _finished(self, mistakes: int) -> bool:
        return mistakes == 0

    def _conclude(self, X: Any, tasks: list[BinaryTask], weights: FloatArray) -> None:
        self.R_ = float(self._radii().max())
        self.margin_ = np.full(len(self._states), np.nan)
        for k, (task, state) in enumerate(zip(tasks, self._states, strict=True)):
            theta = state.theta(average=False)
            counted = weights[task.rows] > 0
            worst = _smallest_score(rows_of_task(X, task), np.where(counted, task.signs, np.nan), theta)
            if worst > 0:
                self.margin_[k] = worst / float(np.linalg.norm(theta))
        self.bound_ = (self.R_ / self.margin_) ** 2
        self.converged_ = not self._last_mistakes.any()
        self.stopped_ = (
            f"stopped after pass {self.n_iter_}: all points are right"
            if self.converged_
            else f"gave up after {self.n_iter_} passes with {int(self._last_mistakes.sum())} mistakes in the "
            "last: the data may not be separable"
        )
        if not self.converged_ and self.max_iter > 1:
            self._gave_up(f"{self.stopped_}; raise max_iter={self.max_iter} or use LinearSVC.")


def _smallest_score(X: Any, signs: FloatArray, theta: FloatArray) -> float:
    """The smallest signed score; where one of the first rows is wrong already, the smallest of these.

    Rows without a sign (NaN) do not count.
    """
    worst = np.inf
    for rows in (slice(0, _FIRST_ROWS), slice(_FIRST_ROWS, X.shape[0])):
        scores = signs[rows] * (np.asarray(X[rows] @ theta[:-1]).ravel() + theta[-1])
        worst = min(worst, float(np.fmin.reduce(scores, initial=np.inf)))
        if worst <= 0:
            break
    return worst


class PassiveAggressive(OnlineClassifier):
    """Passive-aggressive learning: the smallest change that gives the last row a margin of one, capped.

        step  min(hinge / ||x||^2, C)           "pa1": Fuentes, algorithm 4, with C = 1/lambda
        step  hinge / (||x||^2 + 1/(2C))         "pa2"

    With an intercept x is (x, 1). Crammer et al. 2006. Cost of a pass: n p.

    Parameters
    ----------
    C : cap of a step ("pa1") or its softness ("pa2").
    lam : lambda = 1/C; give this or C.
    variant : "pa1" or "pa2".
    tol : stop when the mean loss of a pass is not better than the best by this; None for all passes.
    average, fit_intercept, max_iter, shuffle, multiclass, class_weight, random_state, verbose, trace :
        as in `Perceptron`; weights scale C.

    Attributes
    ----------
    coef_, intercept_, history_, n_iter_ : as in `Perceptron`.

    Examples
    --------
    >>> import maxmargin as mm
    >>> model = mm.PassiveAggressive(C=1.0, random_state=0).fit([[1.0], [2.0], [-1.0], [-3.0]], [1, 1, 0, 0])
    >>> model.predict([[1.5], [-1.5]]).tolist()
    [1, 0]
    """

    def __init__(
        self,
        C: float = 1.0,
        *,
        lam: float | None = None,
        variant: Literal["pa1", "pa2"] = "pa1",
        average: bool = False,
        fit_intercept: bool = True,
        max_iter: int = 100,
        tol: float | None = 1e-3,
        shuffle: bool = True,
        multiclass: Literal["ovr", "ovo"] = "ovr",
        class_weight: Any = None,
        random_state: Any = None,
        verbose: int = 0,
        trace: bool = False,
    ) -> None:
        self.C = C
        self.lam = lam
        self.variant = variant
        self.average = average
        self.fit_intercept = fit_intercept
        self.max_iter = max_iter
        self.tol = tol
        self.shuffle = shuffle
        self.multiclass = multiclass
        self.class_weight = class_weight
        self.random_state = random_state
        self.verbose = verbose
        self.trace = trace

    def _check(self) -> None:
        super()._check()
        check_positive("C", self.C, infinite=True)
        if self.lam is not None:
            check_positive("lam", self.lam)
            if self.C != 1.0:
                raise ValueError(f"C={self.C} and lam={self.lam} are given: they say the same, give one.")
        check_choice("variant", self.variant, ("pa1", "pa2"))

    def _loop(self) -> OnlineLoop:
        return OnlineLoop(
            rule=self.variant,
            C=self.C if self.lam is None else 1.0 / self.lam,
            fit_intercept=self.fit_intercept,
            average=self.average,
        )

    def _finished(self, mistakes: int) -> bool:
        if self.tol is None or len(self._rows) < 6:
            return self.tol is not None and self._rows[-1][2] == 0.0
        losses = [row[2] for row in self._rows]
        return min(losses[-5:]) > min(losses[:-5]) - self.tol

    def _conclude(self, X: Any, tasks: list[BinaryTask], weights: FloatArray) -> None:
        if self.tol is not None and self.max_iter > 1 and not self._finished(0):
            self._gave_up(
                f"the mean loss, {self._rows[-1][2]:.3g}, was still falling after {self.n_iter_} passes; "
                f"raise max_iter={self.max_iter} or tol={self.tol:g}."
            )


class Pegasos(MeanHinge):
    """The support vector machine's primal by stochastic subgradients (Shalev-Shwartz et al. 2011).

        min over w, b   lambda/2 (||w||^2 + b^2) + mean_i hinge(y_i (<w, x_i> + b))

    with steps 1/(lambda t) (Fuentes, algorithm 5, prints 1/t), and with ``project`` a projection on the ball
    of radius 1/sqrt(lambda), which holds the optimum. The bound needs a strongly convex objective, so
    the intercept, a column of ones, is penalised with the rest. Cost of a pass: n p.

    Parameters
    ----------
    lam : lambda; 1/(n C) in the notation of the other machines.
    average : return the average of the iterates, for which the bound holds.
    project : project on the ball.
    fit_intercept, max_iter, shuffle, multiclass, class_weight, random_state, verbose, trace :
        as in `Perceptron`.

    Attributes
    ----------
    coef_, intercept_, history_, n_iter_ : as in `Perceptron`.
    objective_ : value of the problem above, of shape (n_machines,).
    bound_ : rho^2 (1 + log T)/(2 lambda T), on its expected distance from the optimum (average iterate); the
        largest of the machines.

    Examples
    --------
    >>> import maxmargin as mm
    >>> model = mm.Pegasos(lam=0.1, random_state=0).fit([[1.0], [2.0], [-1.0], [-3.0]], [1, 1, 0, 0])
    >>> model.predict([[1.5], [-1.5]]).tolist()
    [1, 0]
    """

    def __init__(
        self,
        lam: float = 1e-3,
        *,
        average: bool = True,
        project: bool = True,
        fit_intercept: bool = True,
        max_iter: int = 20,
        shuffle: bool = True,
        multiclass: Literal["ovr", "ovo"] = "ovr",
        class_weight: Any = None,
        random_state: Any = None,
        verbose: int = 0,
        trace: bool = False,
    ) -> None:
        self.lam = lam
        self.average = average
        self.project = project
        self.fit_intercept = fit_intercept
        self.max_iter = max_iter
        self.shuffle = shuffle
        self.multiclass = multiclass
        self.class_weight = class_weight
        self.random_state = random_state
        self.verbose = verbose
        self.trace = trace

    def _check(self) -> None:
        super()._check()
        check_flags(self, "project")
        check_positive("lam", self.lam)

    def _decay(self) -> float:
        return self.lam

    def _loop(self) -> OnlineLoop:
        return OnlineLoop(
            rule="hinge",
            schedule=Schedule("strongly_convex"),
            decay=self.lam,
            fit_intercept=self.fit_intercept,
            decay_bias=True,
            average=self.average,
            radius=1.0 / np.sqrt(self.lam) if self.project else 0.0,
        )

    def _conclude(self, X: Any, tasks: list[BinaryTask], weights: FloatArray) -> None:
        slopes = self._radii() * self._heaviest
        self.bound_ = self._bound(slopes + np.sqrt(self.lam) if self.project else 2.0 * slopes)
        self.objective_ = self._objectives(X, tasks, weights)
