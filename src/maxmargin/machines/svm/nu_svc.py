"""Support vector classification with a share of margin errors: NuSVC."""

from __future__ import annotations

from typing import Any, Literal

from maxmargin.base.parameters import check_share
from maxmargin.machines.svm.svm_classifier import Classifier
from maxmargin.problems.formulations import Formulation, NuClassification


class NuSVC(Classifier):
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
        solver: Any = "working_set",
        break_ties: bool = False,
        decision_function_shape: Literal["ovr", "ovo"] = "ovr",
        probability: bool = False,
        cache_size: float | None = None,
        shrinking: bool = True,
        n_jobs: int | None = None,
        verbose: int = 0,
        trace: bool = False,
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
        self.trace = trace

    def check_parameters(self) -> None:
        super().check_parameters()
        check_share("nu", self.nu)

    def formulation(self) -> Formulation:
        return NuClassification(nu=float(self.nu))
