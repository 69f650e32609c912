"""Support vector classification: SVC, NuSVC, HardMarginSVC."""

from __future__ import annotations

from functools import partial
from itertools import combinations
from typing import Any, Literal, Self

import numpy as np
from sklearn.base import ClassifierMixin, clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.utils.class_weight import compute_class_weight
from sklearn.utils.metaestimators import available_if
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import _check_y, check_is_fitted

from maxmargin._compute.threads import run
from maxmargin.formulations import Classification, Formulation, NuClassification
from maxmargin.multiclass import BinaryTask, binary_tasks, check_strategy, predict_codes, summed_decisions
from maxmargin.problems.box_qp import BoxQP
from maxmargin.problems.certificate import worst
from maxmargin.problems.solution import Solution
from maxmargin.svm.base import KernelMachine, columns_of
from maxmargin.svm.machine import Machine, fit_machine, progress_printer
from maxmargin.svm.parameters import check_choice, check_positive, check_share
from maxmargin.typing import AnyArray, BoolArray, FloatArray, IntArray

_ONE_BY_ONE = 4000  # rows from which a binary problem uses all threads itself


class _Classifier(ClassifierMixin, KernelMachine):
    """Fit binary machines, combine their decisions."""

    multiclass: Literal["ovo", "ovr"]
    class_weight: Any
    break_ties: bool
    decision_function_shape: Literal["ovr", "ovo"]
    probability: bool

    def _formulation(self) -> Formulation:
        raise NotImplementedError  # SVC and NuSVC say which

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Fit the machine.

        Parameters
        ----------
        X : table, array, sparse matrix (or kernel values) of shape (n_samples, n_features)
        y : labels of shape (n_samples,), two classes or more
        sample_weight : array of shape (n_samples,), factors on C; rows of weight zero are left out
        """
        with self._all_or_nothing():
            self._check_parameters()
            kernel, points = self._prepare(X)
            classes, codes = self._encode(y, len(points))
            weight = self._weights(sample_weight, points)
            weight = weight * self._class_factors(classes, codes, y)
            tasks = self._tasks(codes, weight, classes)
            machines = self._fit_machines(kernel, points, tasks, weight)
            self.classes_ = classes
            self.machines_ = machines
            self._codes = codes
            self._tasks_ = tasks
            self._assemble(kernel, points, X, codes)
            self._fit_probabilities(X, y, sample_weight)
        return self

    # -- the binary problems -------------------------------------------------------------------------

    def _check_parameters(self) -> None:
        super()._check_parameters()
        check_strategy(self.multiclass)
        check_choice("decision_function_shape", self.decision_function_shape, ("ovr", "ovo"))
        if self.break_ties and self.decision_function_shape == "ovo":
            raise ValueError("break_ties must be False when decision_function_shape is 'ovo'.")

    @staticmethod
    def _encode(y: Any, n: int) -> tuple[AnyArray, IntArray]:
        if y is None:
            raise ValueError("requires y to be passed, but the target y is None.")
        y = _check_y(y, estimator="the classifier")
        check_classification_targets(y)
        if len(y) != n:
            raise ValueError(f"X has {n} rows, but y has {len(y)}: found inconsistent numbers of samples.")
        classes, codes = np.unique(y, return_inverse=True)
        if len(classes) < 2:
            raise ValueError(
                f"y has one class only ({classes[0]!r}): the number of classes has to be greater than one."
            )
        return classes, codes

    def _class_factors(self, classes: AnyArray, codes: IntArray, y: Any) -> FloatArray:
        if self.class_weight is None:
            return np.ones(len(codes))
        factors = compute_class_weight(self.class_weight, classes=classes, y=np.asarray(y).ravel())
        chosen: FloatArray = factors[codes]
        return chosen

    def _tasks(self, codes: IntArray, weight: FloatArray, classes: AnyArray) -> list[BinaryTask]:
        """Binary problems without the rows of weight zero."""
        tasks = []
        for task in binary_tasks(codes, len(classes), self.multiclass):
            keep = weight[task.rows] > 0
            rows, signs = task.rows[keep], task.signs[keep]
            if len(np.unique(signs)) < 2:
                raise ValueError(
                    "one class has no row of positive weight: every class needs one "
                    f"(classes {classes[task.positive]!r} and the other side of its machine)."
                )
            tasks.append(BinaryTask(rows, signs, task.positive, task.negative))
        return tasks

    def _fit_machines(
        self, kernel: Any, points: Any, tasks: list[BinaryTask], weight: FloatArray
    ) -> list[Machine]:
        kernel, points = self._for_training(kernel, points)
        solver = self._solver()
        form = self._formulation()
        starts = self._starts(tasks, weight)

        def fit_one(k: int, n_threads: int) -> Machine:
            task = tasks[k]
            everything = len(task.rows) == len(points)
            return fit_machine(
                form,
                kernel,
                points if everything else points.take(task.rows),
                task.signs,
                weight[task.rows],
                solver.__class__(**{**solver.__dict__, "n_threads": n_threads}),
                rows=task.rows,
                full=self.certify == "full",
                start=starts[k],
                callback=progress_printer(self.verbose, f"{type(self).__name__} {k + 1}/{len(tasks)}"),
            )

        if len(tasks) > 1 and max(len(task.rows) for task in tasks) < _ONE_BY_ONE:
            return run([partial(fit_one, k, 1) for k in range(len(tasks))], solver.n_threads)
        return [fit_one(k, solver.n_threads) for k in range(len(tasks))]

    def _starts(self, tasks: list[BinaryTask], weight: FloatArray) -> list[FloatArray | None]:
        """With warm_start the multipliers of the last fit, scaled into the new bounds."""
        old = getattr(self, "machines_", None)
        if not self.warm_start or old is None or len(old) != len(tasks):
            return [None] * len(tasks)
        return [
            self._start(machine, task, weight[task.rows]) for machine, task in zip(old, tasks, strict=True)
        ]

    def _start(self, machine: Machine, task: BinaryTask, weight: FloatArray) -> FloatArray | None:
        return None

    # -- scikit-learn's attributes -------------------------------------------------------------------

    def _assemble(self, kernel: Any, points: Any, X: Any, codes: IntArray) -> None:
        n, n_classes = len(points), len(self.classes_)
        betas = np.zeros((len(self.machines_), n))
        for k, machine in enumerate(self.machines_):
            betas[k, machine.rows] = machine.beta
        used = betas.any(axis=0)
        support = np.concatenate([np.flatnonzero(used & (codes == k)) for k in range(n_classes)])
        self.n_support_ = np.array(
            [int((used & (codes == k)).sum()) for k in range(n_classes)], dtype=np.int32
        )
        chosen = betas[:, support]
        if n_classes > 2 and self.multiclass == "ovo":
            chosen = _compact(chosen, codes[support], n_classes)
        self._store_expansion(kernel, points, X, support, chosen)
        self.intercept_ = np.array([machine.intercept for machine in self.machines_])
        self.n_iter_ = np.array([machine.solution.n_iter for machine in self.machines_], dtype=np.int64)
        self.certificate_ = worst([machine.certificate for machine in self.machines_])
        self.shape_fit_ = (n, self.n_features_in_) if hasattr(self, "n_features_in_") else (n,)

    @property
    def solution_(self) -> Solution:
        """The solver's answer of a binary machine."""
        return self._only_machine("solution_").solution

    def _only_machine(self, what: str) -> Machine:
        check_is_fitted(self)
        if len(self.machines_) != 1:
            raise AttributeError(
                f"{what} exists for binary machines; with {len(self.classes_)} classes see machines_."
            )
        machine: Machine = self.machines_[0]
        return machine

    def _per_row(self, values: FloatArray, machine: Machine) -> FloatArray:
        full = np.zeros(self.shape_fit_[0])
        full[machine.rows] = values
        return full

    @property
    def alpha_(self) -> FloatArray:
        """Multipliers of the training rows, of shape (n_samples,), for binary machines."""
        machine = self._only_machine("alpha_")
        return self._per_row(machine.alpha, machine)

    @property
    def margin_(self) -> float:
        """Half of the width of the band: M = 1 / ||w||."""
        norm = self._only_machine("margin_").norm
        return 1.0 / norm if norm > 0 else float("inf")

    @property
    def slack_(self) -> FloatArray:
        """max(0, 1 - y f(x)) of the training rows, of shape (n_samples,); 0 for rows of weight zero."""
        machine = self._only_machine("slack_")
        return self._per_row(np.maximum(0.0, 1.0 - machine.signs * machine.decisions), machine)

    @property
    def point_kinds_(self) -> AnyArray:
        """What each training row is: "outside", "free", "inside" or "misclassified".

        Outside the band with alpha = 0; free on the margin; at its bound inside the band (slack <= 1) or
        beyond the boundary. The squared hinge has no bound, so the kind follows y f(x) there.
        """
        machine = self._only_machine("point_kinds_")
        kinds = np.full(self.shape_fit_[0], "outside", dtype="<U13")
        kinds[machine.rows] = self._kinds(machine)
        return kinds

    def _kinds(self, machine: Machine) -> AnyArray:
        margins = machine.signs * machine.decisions
        support = machine.alpha > 0
        bounded = support & self._beyond_margin(machine)
        kinds = np.where(support, "free", "outside").astype("<U13")
        kinds[bounded & (margins >= 0)] = "inside"
        kinds[bounded & (margins < 0)] = "misclassified"
        return kinds

    def _beyond_margin(self, machine: Machine) -> BoolArray:
        """Support vectors that are not on the margin: those at their bound."""
        return machine.bounded

    # -- prediction ----------------------------------------------------------------------------------

    def _decisions(self, X: Any) -> FloatArray:
        """Decisions of the binary machines, of shape (n_samples, n_machines)."""
        points = self._points(X)
        n_classes = len(self.classes_)
        if n_classes == 2 or self.multiclass == "ovr":
            sums = self._sums(points, slice(0, len(self.support_)), np.ascontiguousarray(self.dual_coef_.T))
            return sums + self.intercept_
        return self._pairwise_decisions(points, n_classes)

    def _pairwise_decisions(self, points: Any, n_classes: int) -> FloatArray:
        """Class by class: a support vector takes part in n_classes - 1 machines only."""
        decisions = np.tile(self.intercept_, (len(points), 1))
        pairs = list(combinations(range(n_classes), 2))
        stops = np.cumsum(self.n_support_)
        for k, stop in enumerate(stops):
            block = slice(int(stop - self.n_support_[k]), int(stop))
            machines = [m for m, pair in enumerate(pairs) if k in pair]
            if block.stop > block.start:
                weights = np.ascontiguousarray(self.dual_coef_[:, block].T)
                decisions[:, machines] += self._sums(points, block, weights)
        return decisions

    def _linear_coefficients(self) -> AnyArray:
        """Weights of the columns for every machine; the compact layout of pairs is spread out first."""
        n_classes = len(self.classes_)
        if n_classes == 2 or self.multiclass == "ovr":
            return super()._linear_coefficients()
        codes = np.repeat(np.arange(n_classes), self.n_support_)
        return columns_of(_spread(self.dual_coef_, codes, n_classes) @ self._support_points.X)

    def decision_function(self, X: Any) -> FloatArray:
        """f(x) of shape (n_samples,) for two classes; else one column per class ("ovr") or pair ("ovo")."""
        decisions = self._decisions(X)
        if len(self.classes_) == 2:
            return decisions[:, 0]
        if self.multiclass == "ovr":
            if self.decision_function_shape == "ovo":
                raise ValueError(
                    "multiclass='ovr' has one decision per class: decision_function_shape must be 'ovr'."
                )
            return decisions
        if self.decision_function_shape == "ovo":
            return decisions
        return summed_decisions(decisions, len(self.classes_))

    def predict(self, X: Any) -> AnyArray:
        """Classes of the rows, of shape (n_samples,)."""
        decisions = self._decisions(X)
        codes = predict_codes(decisions, len(self.classes_), self.multiclass, break_ties=self.break_ties)
        predicted: AnyArray = self.classes_[codes]
        return predicted

    # -- probabilities -------------------------------------------------------------------------------

    def _fit_probabilities(self, X: Any, y: Any, sample_weight: Any) -> None:
        self._calibrated = None
        if self.probability:
            plain = clone(self).set_params(probability=False)
            self._calibrated = CalibratedClassifierCV(plain, ensemble=False, cv=5)
            self._calibrated.fit(X, y, sample_weight=sample_weight)

    def _has_probabilities(self) -> bool:
        if not self.probability:
            raise AttributeError("predict_proba is not available when probability=False")
        return True

    @available_if(_has_probabilities)
    def predict_proba(self, X: Any) -> FloatArray:
        """Class probabilities of shape (n_samples, n_classes), by a sigmoid on cross-validated decisions."""
        check_is_fitted(self)
        if self._calibrated is None:
            raise AttributeError("predict_proba needs probability=True before fit.")
        probabilities: FloatArray = self._calibrated.predict_proba(X)
        return probabilities

    @available_if(_has_probabilities)
    def predict_log_proba(self, X: Any) -> FloatArray:
        """Logarithms of `predict_proba`."""
        return np.log(self.predict_proba(X))

    # -- certificates --------------------------------------------------------------------------------

    def _problems(self, X: Any, y: Any, sample_weight: Any) -> list[BoxQP]:
        points = self.kernel_.prepare(X, like=None)
        classes, codes = self._encode(y, len(points))
        if not np.array_equal(classes, self.classes_):
            raise ValueError(f"the model was fitted on the classes {self.classes_}, y has {classes}.")
        weight = self._weights(sample_weight, points) * self._class_factors(classes, codes, y)
        form = self._formulation()
        problems = []
        for task, machine in zip(self._tasks(codes, weight, classes), self.machines_, strict=True):
            if len(task.rows) != len(machine.rows):
                raise ValueError("certify needs the rows that the model was fitted on.")
            problems.append(form.build(self.kernel_, points.take(task.rows), task.signs, weight[task.rows]))
        return problems


def _compact(betas: FloatArray, codes: IntArray, n_classes: int) -> FloatArray:
    """Coefficients of shape (n_pairs, n_SV) in LIBSVM's layout of shape (n_classes - 1, n_SV).

    Row r of a support vector of class k belongs to the machine of k and the r-th other class.
    """
    compact = np.zeros((n_classes - 1, betas.shape[1]))
    for pair, (i, j) in enumerate(combinations(range(n_classes), 2)):
        compact[j - 1, codes == i] = betas[pair, codes == i]
        compact[i, codes == j] = betas[pair, codes == j]
    return compact


def _spread(compact: FloatArray, codes: IntArray, n_classes: int) -> FloatArray:
    """The reverse of `_compact`: coefficients of shape (n_pairs, n_SV)."""
    pairs = list(combinations(range(n_classes), 2))
    betas = np.zeros((len(pairs), compact.shape[1]))
    for pair, (i, j) in enumerate(pairs):
        betas[pair, codes == i] = compact[j - 1, codes == i]
        betas[pair, codes == j] = compact[i, codes == j]
    return betas


class SVC(_Classifier):
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
    max_iter : SMO steps at most (-1: no limit); time_limit : seconds at most.
    solver : "working_set".
    break_ties, decision_function_shape : as in scikit-learn's SVC.
    probability : if True, predict_proba through cross-validated decisions (five more fits).
    cache_size : MB for kernel rows; None chooses from free memory.
    shrinking : set variables aside that cannot move.
    warm_start : start from the multipliers of the last fit on the same rows.
    n_jobs : threads; None uses all cores, but one inside a joblib worker.
    verbose : 1 prints progress.

    Attributes
    ----------
    support_, support_vectors_, dual_coef_, intercept_, coef_ (linear kernel), n_support_, classes_, n_iter_ :
        as in scikit-learn's SVC.
    certificate_ : the proof of the fit (of the worst binary machine).
    machines_ : the binary machines.
    solution_, alpha_, margin_, slack_, point_kinds_ : of binary machines.

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
        solver: Literal["working_set"] = "working_set",
        break_ties: bool = False,
        decision_function_shape: Literal["ovr", "ovo"] = "ovr",
        probability: bool = False,
        cache_size: float | None = None,
        shrinking: bool = True,
        warm_start: bool = False,
        n_jobs: int | None = None,
        verbose: int = 0,
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

    def _check_parameters(self) -> None:
        super()._check_parameters()
        check_positive("C", self.C, infinite=True)
        check_choice("loss", self.loss, ("hinge", "squared_hinge"))
        if np.isinf(self.C) and self.loss == "squared_hinge":
            raise ValueError("C=inf is the hard margin, which has no loss: use loss='hinge'.")

    def _formulation(self) -> Formulation:
        return Classification(C=float(self.C), loss=self.loss)

    def _start(self, machine: Machine, task: BinaryTask, weight: FloatArray) -> FloatArray | None:
        if not np.array_equal(machine.rows, task.rows) or np.isinf(self.C):
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
        solver: Literal["working_set"] = "working_set",
        break_ties: bool = False,
        decision_function_shape: Literal["ovr", "ovo"] = "ovr",
        cache_size: float | None = None,
        shrinking: bool = True,
        n_jobs: int | None = None,
        verbose: int = 0,
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

    C = float("inf")
    loss = "hinge"
    class_weight = None
    probability = False
    warm_start = False


class NuSVC(_Classifier):
    """Support vector classification with nu in place of C.

    nu is an upper bound on the share of margin errors and a lower bound on the share of support vectors.
    It must not exceed twice the share of the smaller class. Parameters as in `SVC`, without C and loss.

    Examples
    --------
    >>> import numpy as np
    >>> import maxmargin as mm
    >>> X = np.array([[-1.0, -1.0], [-2.0, -1.0], [1.0, 1.0], [2.0, 1.0]])
    >>> mm.NuSVC(nu=0.5).fit(X, [1, 1, 2, 2]).predict([[-0.8, -1.0]]).tolist()
    [1]
    """

    def __init__(
        self,
        nu: float = 0.5,
        *,
        kernel: Any = "rbf",
        gamma: Any = "scale",
        coef0: float = 0.0,
        degree: int = 3,
        multiclass: Literal["ovo", "ovr"] = "ovo",
        class_weight: Any = None,
        tol: float = 1e-3,
        certify: Literal["auto", "full"] = "auto",
        max_iter: int = -1,
        time_limit: float | None = None,
        solver: Literal["working_set"] = "working_set",
        break_ties: bool = False,
        decision_function_shape: Literal["ovr", "ovo"] = "ovr",
        probability: bool = False,
        cache_size: float | None = None,
        shrinking: bool = True,
        n_jobs: int | None = None,
        verbose: int = 0,
    ) -> None:
        self.nu = nu
        self.kernel = kernel
        self.gamma = gamma
        self.coef0 = coef0
        self.degree = degree
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
        self.n_jobs = n_jobs
        self.verbose = verbose

    warm_start = False

    def _check_parameters(self) -> None:
        super()._check_parameters()
        check_share("nu", self.nu)

    def _formulation(self) -> Formulation:
        return NuClassification(nu=float(self.nu))
