"""An SVC on subsets of columns: the problems that wrappers and elimination pass to the solver."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.base import BaseEstimator, clone
from sklearn.exceptions import ConvergenceWarning

from maxmargin.base.memory import cache_bytes
from maxmargin.base.tables import Classes, class_weights
from maxmargin.base.threads import effective_threads
from maxmargin.base.typing import AnyArray, FloatArray, IntArray
from maxmargin.machines.svm import SVC
from maxmargin.problems.multiclass import binary_tasks, predict_codes
from maxmargin.problems.solution import Ending, Status
from maxmargin.solvers.dual.gram.chains import ChainCell
from maxmargin.solvers.dual.gram.column_subsets import Splits, SubsetProblems
from maxmargin.solvers.dual.gram.subset_kernels import SubsetKernel
from maxmargin.tuning.sharing import column_parts

MAX_ROWS = 4096  # rows of a kernel matrix that is stored as a whole


@dataclass(frozen=True)
class ColumnSVC:
    """A hinge classifier and the scaler of single columns in front of it (or None)."""

    svc: SVC
    kernel: SubsetKernel
    scaler: Any

    @classmethod
    def of(cls, estimator: BaseEstimator) -> ColumnSVC | None:
        """None where the problems of the estimator cannot share kernel matrices."""
        parts = column_parts(estimator)
        if parts.reason:
            return None
        kernel = SubsetKernel.of(parts.model.make_kernel())
        assert kernel is not None  # as `column_parts` requires
        return cls(parts.model, kernel, parts.front)

    def problems(self, X: FloatArray, classes: Classes, splits: Splits) -> SubsetProblems:
        """The problems of all folds, on all columns."""
        tasks = binary_tasks(classes.codes, len(classes.labels), self.svc.multiclass)
        signs = np.zeros((len(tasks), len(X)))
        for m, task in enumerate(tasks):
            signs[m, task.rows] = task.signs
        bounds = np.stack([self._bounds(classes, train) for train, _ in splits])
        return SubsetProblems(
            kernel=self.kernel,
            cell=ChainCell(self.svc.formulation(), self.svc.dual_solver()),
            views=self._views(X, splits),
            splits=splits,
            signs=signs,
            bounds=bounds[:, None, :] * np.abs(signs),
        )

    def _bounds(self, classes: Classes, train: IntArray) -> FloatArray:
        """Upper bounds C w_i of all rows, 0 outside of ``train``."""
        codes, labels = classes.codes, classes.labels
        weights = np.ones(len(labels))
        counts = np.bincount(codes[train], minlength=len(labels))
        present = counts > 0
        weights[present] = class_weights(self.svc.class_weight, labels[present], counts[present])
        bounds = np.zeros(len(codes))
        bounds[train] = self.svc.C * weights[codes[train]]
        return bounds

    def _views(self, X: FloatArray, splits: Splits) -> list[FloatArray]:
        if self.scaler is None:
            return [np.ascontiguousarray(X.T)]
        return [np.ascontiguousarray(clone(self.scaler).fit(X[train]).transform(X).T) for train, _ in splits]

    def predict(self, decisions: FloatArray, n_classes: int) -> IntArray:
        """Class codes from decisions of shape (n_samples, n_machines)."""
        return predict_codes(decisions, n_classes, self.svc.multiclass, break_ties=self.svc.break_ties)

    def n_threads(self, n_jobs: int | None) -> int:
        """Threads of a selector: its own n_jobs, else that of the SVC."""
        return effective_threads(self.svc.n_jobs if n_jobs is None else n_jobs)

    def fits_in_memory(self, n: int, n_classes: int, n_folds: int, n_threads: int) -> bool:
        """A statistic for every scaling, matrices for every thread, and a few vectors for every problem."""
        n_views = 1 if self.scaler is None else n_folds
        n_machines = 1 if n_classes == 2 else n_classes * (n_classes - 1) // 2
        needed = 8 * n * (n * (n_views + 2 * n_threads) + (2 + 3 * n_threads) * n_folds * n_machines)
        return needed <= cache_bytes(self.svc.cache_size)

    def warn_if_open(self, ending: Ending) -> None:
        """Warn if a problem has not converged."""
        if ending.status is Status.CONVERGED:
            return
        warnings.warn(
            f"{ending.status.value}: the largest KKT violation on a subset of columns is "
            f"{ending.violation:.3g}, tol={self.svc.tol:g}. Scale the columns, lower C, or raise tol.",
            ConvergenceWarning,
            stacklevel=3,
        )


def numbers_of(X: AnyArray) -> FloatArray | None:
    """A table as finite float64 numbers; None if it is not that, or too large for a whole kernel matrix."""
    if sp.issparse(X) or len(X) > MAX_ROWS:
        return None
    try:
        values = np.asarray(X, dtype=np.float64)
    except (TypeError, ValueError):
        return None
    return values if values.ndim == 2 and np.isfinite(values).all() else None
