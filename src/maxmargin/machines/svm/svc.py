"""Support vector classification: SVC, HardMarginSVC, NuSVC."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, ClassVar, Literal

import numpy as np

from maxmargin.base.parameters import check_choice, check_flags, check_positive, check_share
from maxmargin.base.typing import BoolArray, FloatArray
from maxmargin.kernels import Kernel
from maxmargin.machines.svm.base import check_warm_start, scaled_start
from maxmargin.machines.svm.fitted_problem import FittedProblem
from maxmargin.machines.svm.svm_classifier import Classifier
from maxmargin.problems.formulations import Classification, Formulation, NuClassification
from maxmargin.problems.multiclass import BinaryTask


@dataclass(eq=False, repr=False)
class SVC(Classifier):
    """Support vector classification, exact and certified.

        min 1/2 ||w||^2 + C sum_i w_i L(y_i f(x_i)),   f(x) = <w, phi(x)> + b,

    with L the hinge max(0, 1 - z) or its square, solved in the dual by the working-set engine in
    O(n n_SV p) for most data. C = inf is the hard margin.

    Parameters
    ----------
    C : regularisation parameter (cost of slack), > 0; inf for the hard margin.
    kernel : name ("rbf", "linear", "poly", "sigmoid", "laplacian", "exponential", "cosine", "precomputed"),
        Kernel, or function of two sets of rows.
    gamma, coef0, degree : kernel parameters, used when ``kernel`` is a name.
    loss : "hinge" or "squared_hinge".
    fit_intercept : False fixes b = 0: a hyperplane through the origin of the feature space, whose dual has no
        equality constraint.
    multiclass : "ovo" (every pair of classes) or "ovr" (every class against the rest).
    class_weight : None, "balanced" or a dict of factors on C.
    tol : largest KKT violation allowed.
    certify : "auto" checks a sample of rows when checking all would cost as much as the fit, "full" always
        checks all.
    max_iter : maximum number of steps of the solver (-1: no limit).
    time_limit : maximum number of seconds.
    solver : "working_set" (the engine), or one of the textbook methods of docs/classroom.md: "qp",
        "chunking", "decomposition", "smo", and for the linear kernel "subgradient" and "pegasos"; or an
        object of `maxmargin.solvers` with its own options.
    break_ties, decision_function_shape : as in scikit-learn's SVC.
    probability : if True, enable predict_proba by cross-validated decisions (at most five more fits).
    random_state : shuffles the rows over the folds of ``probability=True``; None keeps their order.
    cache_size : MB for kernel rows; None chooses from free memory.
    shrinking : leave out variables that are not expected to change.
    warm_start : start from the multipliers of the last fit on the same rows.
    n_jobs : number of threads; None uses all cores, but one inside a joblib worker.
    verbose : 1 prints progress.
    trace : record every step in ``trace_``.

    Attributes
    ----------
    support_, support_vectors_, dual_coef_, intercept_, coef_ (linear kernel) : as in scikit-learn's SVC.
    n_support_, classes_, n_iter_, class_weight_, fit_status_, shape_fit_ : as in scikit-learn's SVC.
    certificate_ : the certificate of the fit (of the worst binary problem).
    machines_ : the fitted binary problems.
    solution_, alpha_, margin_, slack_, point_kinds_ : for two classes.
    trace_ : table of the steps, with ``trace=True``: machine, step, chosen variables and their rows,
        multipliers before and after; of the state after the step objective, primal, gap, violation,
        multipliers of the equalities and intercept; n_active, kernel_values, cache_hits.
        `maxmargin.steps` gives every state, `maxmargin.replay` the last multipliers.

    Examples
    --------
    >>> import numpy as np
    >>> import maxmargin as mm
    >>> X = np.array([[-1.0, -1.0], [-2.0, -1.0], [1.0, 1.0], [2.0, 1.0]])
    >>> y = np.array([1, 1, 2, 2])
    >>> model = mm.SVC(kernel="linear").fit(X, y)
    >>> model.predict([[-0.8, -1.0]]).tolist()
    [1]
    >>> round(model.margin_, 4)
    1.4142
    >>> model.certificate_.kkt <= model.tol
    True
    """

    C: float = 1.0
    loss: Literal["hinge", "squared_hinge"] = field(default="hinge", kw_only=True)
    fit_intercept: bool = field(default=True, kw_only=True)
    warm_start: bool = field(default=False, kw_only=True)

    def check_parameters(self) -> None:
        super().check_parameters()
        check_warm_start(self)
        check_flags(self, "fit_intercept")
        check_positive("C", self.C, infinite=True)
        check_choice("loss", self.loss, ("hinge", "squared_hinge"))
        if float(self.C) == np.inf and self.loss == "squared_hinge":
            raise ValueError("C=inf is the hard margin, which has no loss: use loss='hinge'.")
        if float(self.C) == np.inf and not self.fit_intercept:
            raise ValueError("C=inf needs fit_intercept=True: use a large C for a margin through the origin.")

    def formulation(self) -> Formulation:
        return Classification(C=float(self.C), loss=self.loss, fit_intercept=self.fit_intercept)

    def _shifted(self, kernel: Kernel, points: Any) -> Any:
        return super()._shifted(kernel, points) if self.fit_intercept else points

    def _starts(self, tasks: list[BinaryTask], weight: FloatArray) -> list[FloatArray | None]:
        old = getattr(self, "machines_", None)
        if not self.warm_start or old is None or len(old) != len(tasks) or float(self.C) == np.inf:
            return [None] * len(tasks)
        return [self._start(last, task, weight[task.rows]) for last, task in zip(old, tasks, strict=True)]

    def _start(self, last: FittedProblem, task: BinaryTask, weight: FloatArray) -> FloatArray | None:
        if not np.array_equal(last.rows, task.rows):
            return None
        return last.alpha if self.loss == "squared_hinge" else scaled_start(last.alpha, self.C * weight)

    def _beyond_margin(self, problem: FittedProblem) -> BoolArray:
        if self.loss == "squared_hinge":
            return problem.signs * problem.decisions < 1 - self.tol
        return super()._beyond_margin(problem)


@dataclass(eq=False, repr=False)
class HardMarginSVC(SVC):
    """The hard margin, SVC(C=inf). Classes that are not separable raise NotSeparableError with a proof.

    Parameters as in `SVC`, without C, loss, fit_intercept, class_weight, probability, random_state and
    warm_start.

    >>> import maxmargin as mm
    >>> X, y = [[-2.0, 0.0], [-3.0, 1.0], [2.0, 0.0], [3.0, 1.0]], [0, 0, 1, 1]
    >>> round(mm.HardMarginSVC(kernel="linear").fit(X, y).margin_, 4)
    2.0
    """

    # these parameters of SVC have a fixed value here
    C: ClassVar[float] = float("inf")  # type: ignore[misc]
    loss: ClassVar[Literal["hinge"]] = "hinge"  # type: ignore[misc]
    fit_intercept: ClassVar[bool] = True  # type: ignore[misc]  # not a parameter here
    class_weight: ClassVar[Any] = None  # type: ignore[misc]
    probability: ClassVar[bool] = False  # type: ignore[misc]
    random_state: ClassVar[None] = None  # type: ignore[misc]  # not a parameter here
    warm_start: ClassVar[bool] = False  # type: ignore[misc]


@dataclass(eq=False, repr=False)
class NuSVC(Classifier):
    """Support vector classification with nu in place of C.

    nu is an upper bound on the share of margin errors and a lower bound on the share of support vectors.
    It must not exceed twice the share of the smaller class. Parameters as in `SVC`, without C, loss,
    fit_intercept and warm_start.

    Examples
    --------
    >>> import numpy as np
    >>> import maxmargin as mm
    >>> X = np.array([[-1.0, -1.0], [-2.0, -1.0], [1.0, 1.0], [2.0, 1.0]])
    >>> mm.NuSVC(nu=0.5).fit(X, [1, 1, 2, 2]).predict([[-0.8, -1.0]]).tolist()
    [1]
    """

    nu: float = 0.5

    def check_parameters(self) -> None:
        super().check_parameters()
        check_share("nu", self.nu)

    def formulation(self) -> Formulation:
        return NuClassification(nu=float(self.nu))
