"""Support vector classification with a price of slack: SVC, HardMarginSVC."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np

from maxmargin.base.parameters import check_choice, check_positive
from maxmargin.base.typing import BoolArray, FloatArray
from maxmargin.machines.svm.fitted_problem import Machine
from maxmargin.machines.svm.svm_classifier import Classifier
from maxmargin.problems.formulations import Classification, Formulation
from maxmargin.problems.multiclass import BinaryTask


class SVC(Classifier):
    """Support vector classification, exact and certified.

        min 1/2 ||w||^2 + C sum_i w_i L(y_i f(x_i)),   f(x) = <w, phi(x)> + b,

    with L the hinge max(0, 1 - z) or its square, solved in the dual by the working-set engine in
    O(n n_SV p) for most data. C = inf is the hard margin.

    Parameters
    ----------
    C : price of slack, > 0; inf for the hard margin.
    kernel : name ("rbf", "linear", "poly", "sigmoid", "laplacian", "exponential", "precomputed"), Kernel, or
        function of two sets of rows.
    gamma, coef0, degree : of kernels given by name.
    loss : "hinge" or "squared_hinge".
    multiclass : "ovo" (every pair of classes) or "ovr" (every class against the rest).
    class_weight : None, "balanced" or a dict of factors on C.
    tol : largest KKT violation allowed; certify : "auto" checks a sample of rows when all would cost as
        much as the fit, "full" always all.
    max_iter : steps at most (-1: no limit), as the solver counts them; time_limit : seconds at most.
    solver : "working_set" (the engine), or a rung of the ladder in docs/classroom.md: "qp", "chunking",
        "decomposition", "smo", and for the linear kernel "subgradient" and "pegasos"; or an object of
        `maxmargin.solvers` with options of its own.
    break_ties, decision_function_shape : as in scikit-learn's SVC.
    probability : if True, predict_proba through cross-validated decisions (five more fits).
    cache_size : MB for kernel rows; None chooses from free memory.
    shrinking : set variables aside that cannot move.
    warm_start : start from the multipliers of the last fit on the same rows.
    n_jobs : threads; None uses all cores, but one inside a joblib worker.
    verbose : 1 prints progress.
    trace : record what every step did, in ``trace_``.

    Attributes
    ----------
    support_, support_vectors_, dual_coef_, intercept_, coef_ (linear kernel), n_support_, classes_, n_iter_ :
        as in scikit-learn's SVC.
    certificate_ : the proof of the fit (of the worst binary machine).
    machines_ : the binary machines.
    solution_, alpha_, margin_, slack_, point_kinds_ : of binary machines.
    trace_ : table of the steps, with ``trace=True``: machine, step, chosen variables and their rows,
        multipliers before and after, objective, gap, violation, n_active, kernel_values, cache_hits.
        `maxmargin.replay` makes the multipliers from it again.

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

    def __init__(
        self,
        C: float = 1.0,
        *,
        kernel: Any = "rbf",
        gamma: Any = "scale",
        coef0: float = 0.0,
        degree: int = 3,
        loss: Literal["hinge", "squared_hinge"] = "hinge",
        multiclass: Literal["ovo", "ovr"] = "ovo",
        class_weight: Any = None,
        tol: float = 1e-3,
        certify: Literal["auto", "full"] = "auto",
        max_iter: int = -1,
        time_limit: float | None = None,
        solver: Any = "working_set",
        break_ties: bool = False,
        decision_function_shape: Literal["ovr", "ovo"] = "ovr",
        probability: bool = False,
        cache_size: float | None = None,
        shrinking: bool = True,
        warm_start: bool = False,
        n_jobs: int | None = None,
        verbose: int = 0,
        trace: bool = False,
    ) -> None:
        self.C = C
        self.kernel = kernel
        self.gamma = gamma
        self.coef0 = coef0
        self.degree = degree
        self.loss = loss
        self.multiclass = multiclass
        self.class_weight = class_weight
        self.tol = tol
        self.certify = certify
        self.max_iter = max_iter
        self.time_limit = time_limit
        self.solver = solver
        self.break_ties = break_ties
        self.decision_function_shape = decision_function_shape
        self.probability = probability
        self.cache_size = cache_size
        self.shrinking = shrinking
        self.warm_start = warm_start
        self.n_jobs = n_jobs
        self.verbose = verbose
        self.trace = trace

    def check_parameters(self) -> None:
        super().check_parameters()
        check_positive("C", self.C, infinite=True)
        check_choice("loss", self.loss, ("hinge", "squared_hinge"))
        if float(self.C) == np.inf and self.loss == "squared_hinge":
            raise ValueError("C=inf is the hard margin, which has no loss: use loss='hinge'.")

    def formulation(self) -> Formulation:
        return Classification(C=float(self.C), loss=self.loss)

    def _start(self, machine: Machine, task: BinaryTask, weight: FloatArray) -> FloatArray | None:
        if not np.array_equal(machine.rows, task.rows) or float(self.C) == np.inf:
            return None
        alpha = machine.alpha
        if self.loss == "squared_hinge":
            return alpha
        used = alpha > 0
        factor = float(np.min(self.C * weight[used] / alpha[used], initial=1.0))
        return alpha * factor

    def _beyond_margin(self, machine: Machine) -> BoolArray:
        if self.loss == "squared_hinge":
            beyond: BoolArray = machine.signs * machine.decisions < 1 - self.tol
            return beyond
        return super()._beyond_margin(machine)


class HardMarginSVC(SVC):
    """The hard margin, SVC(C=inf). Data that no hyperplane separates raise NotSeparableError with a proof."""

    def __init__(
        self,
        *,
        kernel: Any = "rbf",
        gamma: Any = "scale",
        coef0: float = 0.0,
        degree: int = 3,
        multiclass: Literal["ovo", "ovr"] = "ovo",
        tol: float = 1e-3,
        certify: Literal["auto", "full"] = "auto",
        max_iter: int = -1,
        time_limit: float | None = None,
        solver: Any = "working_set",
        break_ties: bool = False,
        decision_function_shape: Literal["ovr", "ovo"] = "ovr",
        cache_size: float | None = None,
        shrinking: bool = True,
        n_jobs: int | None = None,
        verbose: int = 0,
        trace: bool = False,
    ) -> None:
        self.kernel = kernel
        self.gamma = gamma
        self.coef0 = coef0
        self.degree = degree
        self.multiclass = multiclass
        self.tol = tol
        self.certify = certify
        self.max_iter = max_iter
        self.time_limit = time_limit
        self.solver = solver
        self.break_ties = break_ties
        self.decision_function_shape = decision_function_shape
        self.cache_size = cache_size
        self.shrinking = shrinking
        self.n_jobs = n_jobs
        self.verbose = verbose
        self.trace = trace

    C = float("inf")
    loss = "hinge"
    class_weight = None
    probability = False
