"""The soft margin with a budget for the slacks in place of their cost C."""

from __future__ import annotations

import numpy as np
from scipy.optimize import brentq
from sklearn.base import clone

from maxmargin.base.parameters import check_positive
from maxmargin.base.typing import TableLike, TargetLike
from maxmargin.machines.svm.svc import SVC, HardMarginSVC
from maxmargin.problems.solution import Status

_TOL = 1e-6  # KKT violation of the intermediate fits: small enough for accurate slacks
_FACTOR = 8.0
_TRIES = 3  # increases of C without a smaller sum of slacks before giving up


def slack_budget(model: SVC, X: TableLike, y: TargetLike, budget: float) -> SVC:
    """Fit an SVC whose slacks sum to ``budget``, for two classes.

        min 1/2 ||w||^2   subject to   y_i f(x_i) >= 1 - xi_i,  xi_i >= 0,  sum_i xi_i <= K

    (Valera, problem 3.4). The C of the usual problem is the multiplier of the last constraint, and the sum of
    the slacks falls as C grows, so a search over C finds it with about ten fits. Returns a fitted copy of
    ``model`` (its C is ignored) with that C.

    A budget of 2 min(n+, n-) or more (n with fit_intercept=False) is met with w = 0, and no C
    meets a budget that is too small for the kernel. Both are refused, and the error names the limit.

    Examples
    --------
    >>> import numpy as np
    >>> import maxmargin as mm
    >>> X, y = np.array([[0.0], [1.0], [2.0], [1.5], [3.0], [4.0]]), [0, 0, 0, 1, 1, 1]
    >>> model = mm.slack_budget(mm.SVC(kernel="linear"), X, y, 3.0)
    >>> round(float(model.slack_.sum()), 4), round(model.margin_, 4)
    (3.0, 1.5)
    """
    if not isinstance(model, SVC) or isinstance(model, HardMarginSVC) or model.loss != "hinge":
        raise TypeError(f"a budget for the slacks needs an SVC with loss='hinge', not {model!r}.")
    check_positive("budget", budget)
    search = _Search(model, X, y, float(budget))
    low, high = search.bracket()
    C = float(np.exp(brentq(search.excess, np.log(low), np.log(high), xtol=1e-12, rtol=1e-12)))
    return search.fitted(C)


class _Search:
    """Fits with different C, and how much their slacks exceed the budget."""

    def __init__(self, model: SVC, X: TableLike, y: TargetLike, budget: float) -> None:
        self.model, self.X, self.y, self.budget = model, X, y, budget

    def fitted(self, C: float) -> SVC:
        copy: SVC = clone(self.model).set_params(C=C, tol=min(self.model.tol, _TOL))
        return copy.fit(self.X, self.y)

    def excess(self, log_C: float) -> float:
        return float(self.fitted(float(np.exp(log_C))).slack_.sum()) - self.budget

    def bracket(self) -> tuple[float, float]:
        """Two values of C, with slacks above and below the budget."""
        low = self.fitted(1.0)
        if len(low.classes_) > 2:
            raise ValueError(f"a budget for the slacks is for two classes, and y has {len(low.classes_)}.")
        counts = np.bincount(low.class_codes_)
        most = 2 * counts.min() if self.model.fit_intercept else counts.sum()  # the slacks of w = 0
        if self.budget >= most:
            raise ValueError(f"budget={self.budget:g} is met with w = 0: use less than {most}.")
        if low.slack_.sum() > self.budget:
            return self._larger()
        C = 1.0
        while self.excess(np.log(C)) <= 0:
            C /= _FACTOR
        return C, C * _FACTOR

    def _larger(self) -> tuple[float, float]:
        C, best, idle = 1.0, np.inf, 0
        while True:
            model = self.fitted(C)
            excess = float(model.slack_.sum()) - self.budget
            if excess <= 0:
                return C / _FACTOR, C
            status = model.solution_.status
            if status in (Status.MAX_ITER, Status.TIME_LIMIT):
                raise ValueError(
                    f"budget={self.budget:g} was not reached, because a fit {status.value}: raise the limit."
                )
            idle = idle + 1 if excess > best - 1e-6 * (best + self.budget) else 0
            if idle == _TRIES:
                raise ValueError(
                    f"budget={self.budget:g} cannot be met: with this kernel the slacks sum to at least "
                    f"{best + self.budget:.6g}."
                )
            best = min(best, excess)
            C *= _FACTOR
