"""The linear support vector classifier."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from maxmargin.base.interruption import all_or_nothing
from maxmargin.base.parameters import check_allowed
from maxmargin.base.progress import Callback
from maxmargin.base.typing import (
    ClassWeightLike,
    FloatArray,
    RandomStateLike,
    TableLike,
    TargetLike,
    WeightLike,
)
from maxmargin.compute.tables.design import Design, design
from maxmargin.machines.linear.base import (
    LinearClassifier,
    check_linear_svm,
    design_of_task,
    finite_or_refused,
    keep_solutions,
    solve_as_asked,
    with_constant,
    without_constant,
)
from maxmargin.machines.linear.linear_pieces import (
    binary_problems,
    check_newton,
    solve_in_pieces,
    survey_classes,
)
from maxmargin.pieces.collection import Pieces
from maxmargin.pieces.given import as_pieces
from maxmargin.problems import losses
from maxmargin.problems.certificate import Certificate
from maxmargin.problems.loss_penalty import LossPenalty
from maxmargin.problems.multiclass import BinaryTask, binary_tasks
from maxmargin.problems.solution import Solution
from maxmargin.solvers.primal.primal_choice import primal_penalty

_LOSSES = ("hinge", "squared_hinge", "logistic")


@dataclass(eq=False, repr=False)
class LinearSVC(LinearClassifier):
    """Linear support vector classification with every loss and penalty, and a free intercept.

        min over w, b   C sum_i s_i L(y_i (<w, x_i> + b)) + P(w)

    ========  =====================================================  ==========================
    penalty   P(w)                                                   source
    ========  =====================================================  ==========================
    "l2"      1/2 ||w||^2                                            Valera, chapter 3
    "l1"      nu ||w||_1                                             Gómez 2024, (2.14)
    "l0"      nu sum_j (1 - exp(-alpha |w_j|))                       Gómez 2024, (2.17)-(2.18): FSV
    "l1l2"    1/2 ||w||^2 + nu ||w||_1                               Gómez 2024, (2.19), C = mu / n
    "l0l2"    1/2 ||w||^2 + nu sum_j (1 - exp(-alpha |w_j|))         Gómez 2024, (2.20), C = mu / n
    "none"    0                                                      Gómez 2024, (2.10), with the hinge
    ========  =====================================================  ==========================

    Parameters
    ----------
    C : weight of the losses, the inverse of the regularisation parameter lambda.
    loss : "hinge", "squared_hinge" or "logistic".
    penalty : see the table.
    sparsity : the weight nu of the l1 or l0 part.
    l0_alpha : alpha of the concave approximation of the number of non-zero weights.
    solver : "auto", or one of "newton", "descent_newton", "augmented", "dual_coordinate",
        "proximal_coordinate", "linear_program", "successive"; a solver that cannot solve the problem is an
        error.
    dual : accepted for compatibility with scikit-learn; primal and dual have the same optimum.
    fit_intercept : whether b is free or 0. It is not penalised, unless ``intercept_scaling`` is given.
    intercept_scaling : None for a free intercept. With a number s the intercept is that of LIBLINEAR: s times
        the weight of a constant column, and penalised.
    multiclass : "ovr" or "ovo".
    multi_class : must be "ovr"; see ``multiclass``.
    class_weight : dict, "balanced" or None.
    tol : relative duality gap; for the l0 penalties the stationarity (see `LossPenalty.certify`).
    max_iter : maximum number of iterations of the solver: Newton steps, passes of coordinate descent, passes
        of the simplex method (n_samples + n_features steps each), convex problems for "l0".
    random_state : seed of the order of the rows in coordinate descent, and of restarts.
    n_jobs : number of threads.
    verbose : 1 to print the objective of every iteration.

    Attributes
    ----------
    coef_ : of shape (n_machines, n_features); (1, n_features) for two classes.
    intercept_ : of shape (n_machines,).
    certificate_ : of the binary problem with the largest gap; ``certificates_`` has all.
    solution_ : the solver's `Solution` of the first machine, with status and trace; ``solutions_`` has all.
    n_iter_ : of shape (n_machines,).

    Notes
    -----
    Cost with "auto": n p^2 per Newton step while p <= 1500, about 5 steps for the squared hinge and 30 for
    the hinge, whose steps only use the rows near the margin; above that, n p per pass of coordinate descent.

    Examples
    --------
    >>> import maxmargin as mm
    >>> X = [[0.0, 0.0], [1.0, 0.0], [3.0, 1.0], [4.0, 0.0]]
    >>> model = mm.LinearSVC(C=10.0, loss="hinge", tol=1e-8).fit(X, ["a", "a", "b", "b"])
    >>> model.coef_.round(3).tolist(), model.intercept_.round(3).tolist()
    ([[0.8, 0.4]], [-1.8])
    >>> model.predict([[0.5, 0.5], [3.5, 0.5]]).tolist()
    ['a', 'b']
    """

    C: float = 1.0
    _: KW_ONLY
    loss: Literal["hinge", "squared_hinge", "logistic"] = "squared_hinge"
    penalty: Literal["l2", "l1", "l0", "l1l2", "l0l2", "none"] = "l2"
    sparsity: float = 1.0
    l0_alpha: float = 5.0
    solver: str = "auto"
    dual: bool | Literal["auto"] = "auto"
    fit_intercept: bool = True
    intercept_scaling: float | None = None
    multiclass: Literal["ovr", "ovo"] = "ovr"
    multi_class: Literal["ovr"] = "ovr"
    class_weight: ClassWeightLike | None = None
    tol: float = 1e-4
    max_iter: int = 2000
    random_state: RandomStateLike | None = None
    n_jobs: int | None = None
    verbose: int = 0

    @all_or_nothing
    def fit(
        self,
        X: TableLike | Pieces,
        y: TargetLike | None = None,
        sample_weight: WeightLike | None = None,
        *,
        callback: Callback | None = None,
        coef_init: npt.ArrayLike | None = None,
    ) -> LinearSVC:
        """Fit to X of shape (n_samples, n_features) and labels y of shape (n_samples,), or to `Pieces`.

        ``callback`` is called with a `SolverProgress` after steps of the solver; the fit stops if it
        returns True, with the status INTERRUPTED and the certificate of the current solution.
        ``coef_init``, of the shape of ``coef_``, is a start for an l0 penalty; the fit then only tries this
        start and zero. A path of fits passes the weights of the previous fit.
        """
        check_linear_svm(self)
        reason = "classes are separated one against the rest, or in pairs with multiclass='ovo'."
        check_allowed("multi_class", self.multi_class, ("ovr",), reason)
        pieces = as_pieces(X, y, sample_weight)
        with finite_or_refused(self):
            if coef_init is not None and (pieces is not None or not self.penalty.startswith("l0")):
                raise ValueError(
                    f"coef_init is for penalty='l0' or 'l0l2' on a table in memory, got {self.penalty!r}: a "
                    "convex problem has one optimum. Leave it out."
                )
            if pieces is None:
                fits = self._fit_memory(X, y, sample_weight, coef_init)
            else:
                fits = self._fit_pieces(pieces)
            thetas = without_constant([solution.x for solution, _ in fits], self)
            self.coef_, self.intercept_ = thetas[:, :-1], thetas[:, -1]
        self.n_iter_ = np.array([solution.n_iter for solution, _ in fits])
        keep_solutions(self, fits)
        return self

    def _fit_memory(
        self, X: Any, y: Any, sample_weight: Any, coef_init: npt.ArrayLike | None
    ) -> list[tuple[Solution, Certificate]]:
        X, codes, weights = self._validate(X, y, sample_weight)
        table = design(with_constant(X, self), self.n_jobs)
        tasks = binary_tasks(codes, len(self.classes_), self.multiclass)
        starts: list[FloatArray | None] = [None] * len(tasks)
        if coef_init is not None:
            coef = np.asarray(coef_init, dtype=np.float64)
            if coef.shape != (len(tasks), X.shape[1]) or not np.isfinite(coef).all():
                raise ValueError(
                    f"coef_init must hold finite numbers of shape {(len(tasks), X.shape[1])}, got "
                    f"{coef.shape}: use coef_ of a fit to the same columns and classes."
                )
            starts = list(np.pad(coef, [(0, 0), (0, table.shape[1] + 1 - X.shape[1])]))
        return [
            self._fit_task(table, weights, task, start) for task, start in zip(tasks, starts, strict=True)
        ]

    def _fit_pieces(self, pieces: Pieces) -> list[tuple[Solution, Certificate]]:
        loss = losses.by_name(self.loss, _LOSSES)
        penalty = primal_penalty(self.penalty, self.sparsity, self.l0_alpha)
        check_newton(self, loss, penalty, "loss='squared_hinge' or 'logistic' with penalty='l2'")
        seen = survey_classes(self, pieces)
        problems = binary_problems(self, pieces, seen, C=self.C, loss=loss, penalty=penalty)
        return [solve_in_pieces(self, problem) for problem in problems]

    def _fit_task(
        self, table: Design, weights: FloatArray, task: BinaryTask, start: FloatArray | None
    ) -> tuple[Solution, Certificate]:
        problem = LossPenalty(
            X=design_of_task(table, task),
            y=task.signs,
            c=self.C * weights[task.rows],
            loss=losses.by_name(self.loss, _LOSSES),
            penalty=primal_penalty(self.penalty, self.sparsity, self.l0_alpha),
            fit_intercept=self.fit_intercept and self.intercept_scaling is None,
        )
        return solve_as_asked(self, problem, start)
