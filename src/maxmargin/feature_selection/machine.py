"""Our own classifier as the inner loops of wrappers and of recursive elimination see it."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.exceptions import ConvergenceWarning
from sklearn.pipeline import Pipeline

from maxmargin.base.tables import class_weights
from maxmargin.base.typing import AnyArray, FloatArray, IntArray
from maxmargin.machines.svm import SVC
from maxmargin.problems.multiclass import Strategy
from maxmargin.solvers.dual.gram.subset_kernels import SubsetKernel
from maxmargin.tuning.plan import SCALERS

MAX_ROWS = 4096  # of the one-call solver, and of a Gram matrix that is kept whole
MAX_STEPS = 10_000_000


@dataclass(frozen=True)
class Machine:
    """A support vector classifier with hinge loss, as far as the folds need to know it.

    ``scaler`` is a scikit-learn transformer that treats every column by itself, or None.
    """

    kernel: SubsetKernel
    C: float
    class_weight: Any
    tol: float
    strategy: Strategy
    break_ties: bool
    scaler: Any
    n_jobs: int | None

    def bounds(self, codes: IntArray, labels: AnyArray, train: IntArray) -> FloatArray:
        """Upper bounds C w_i of all rows, 0 outside of ``train``."""
        weights = np.ones(len(labels))
        counts = np.bincount(codes[train], minlength=len(labels))
        present = counts > 0
        weights[present] = class_weights(self.class_weight, labels[present], counts[present])
        bounds = np.zeros(len(codes))
        bounds[train] = self.C * weights[codes[train]]
        return bounds


def warn_not_converged(tol: float) -> None:
    warnings.warn(
        f"a problem stopped at {MAX_STEPS} steps before tol={tol:g} was reached: scale the columns "
        "or lower C.",
        ConvergenceWarning,
        stacklevel=3,
    )


def machine_of(estimator: Any) -> Machine | None:
    """The settings of an `SVC`, alone or behind a scaler of single columns; None for anything else.

    Only what the one-call solver does exactly is taken: hinge loss with finite C, no limit of time or steps,
    and a kernel of one statistic.
    """
    steps = [step for _, step in estimator.steps] if isinstance(estimator, Pipeline) else [estimator]
    scaler, svc = (steps[0], steps[-1]) if len(steps) == 2 else (None, steps[-1])
    if len(steps) > 2 or type(svc) is not SVC or not (scaler is None or type(scaler) in SCALERS):
        return None
    plain = svc.loss == "hinge" and svc.max_iter == -1 and svc.time_limit is None and not svc.probability
    if svc.solver != "working_set" or svc.trace:
        return None
    if not plain or not np.isfinite(svc.C) or svc.C <= 0 or svc.tol <= 0:
        return None
    kernel = SubsetKernel.of(svc.make_kernel())
    if kernel is None:
        return None
    return Machine(
        kernel, float(svc.C), svc.class_weight, svc.tol, svc.multiclass, svc.break_ties, scaler, svc.n_jobs
    )


def numbers_of(X: Any) -> FloatArray | None:
    """A table as finite float64 numbers; None if it is not that, or too large for a whole Gram matrix."""
    if sp.issparse(X) or len(X) > MAX_ROWS:
        return None
    try:
        values = np.asarray(X, dtype=np.float64)
    except (TypeError, ValueError):
        return None
    return values if values.ndim == 2 and np.isfinite(values).all() else None
