"""One round of recursive elimination: fit on the columns that are left, and say what each is worth."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any, Protocol

import numpy as np
from sklearn.base import clone, is_classifier
from sklearn.pipeline import Pipeline
from sklearn.utils import _safe_indexing

from maxmargin.base.tables import Classes
from maxmargin.base.threads import check_stop, run, split
from maxmargin.base.typing import AnyArray, FloatArray, IntArray
from maxmargin.feature_selection.column_svc import ColumnSVC
from maxmargin.kernels import Linear
from maxmargin.machines.svm.base import KernelMachine
from maxmargin.solvers.dual.gram.column_subsets import FewerColumns
from maxmargin.solvers.dual.gram.subset_kernels import SubsetKernel


class Elimination(Protocol):
    """A model that is fitted on fewer and fewer columns."""

    def worths(self) -> FloatArray:
        """Fit on the columns that are left and return what each is worth, of shape (n_left,)."""

    def drop(self, places: IntArray) -> None:
        """Remove the columns at these places among those that are left."""

    def error(self) -> float:
        """Error of the last fit on the held-out rows."""


class AnyElimination:
    """Any estimator that says what its columns are worth (see `model_worths`), fitted afresh each round."""

    def __init__(self, estimator: Any, X: Any, y: AnyArray, train: IntArray, test: IntArray) -> None:
        self._estimator = estimator
        self._X, self._y = X, y
        self._train, self._test = train, test
        self._columns = np.arange(X.shape[1])

    def worths(self) -> FloatArray:
        X = self._rows(self._train)
        self._model = clone(self._estimator).fit(X, self._y[self._train])
        return model_worths(self._model, X)

    def drop(self, places: IntArray) -> None:
        self._columns = np.delete(self._columns, places)

    def error(self) -> float:
        predicted, truth = self._model.predict(self._rows(self._test)), self._y[self._test]
        if is_classifier(self._estimator):
            return float(np.mean(predicted != truth))
        return float(np.mean((predicted - truth) ** 2))

    def _rows(self, rows: IntArray) -> Any:
        return _safe_indexing(_safe_indexing(self._X, self._columns, axis=1), rows)


def model_worths(model: Any, X: Any) -> FloatArray:
    """What the columns of the training rows ``X`` are worth to a fitted model.

    Squared weights of a linear model (summed over its machines), |W^2 - W^2_(-j)| of a kernel machine of
    ours, else ``feature_importances_``. Of a pipeline the last step is asked.
    """
    n_columns = X.shape[1]
    last = model.steps[-1][1] if isinstance(model, Pipeline) else model
    worths: FloatArray
    if isinstance(last, KernelMachine):
        worths = kernel_worths(last, model[:-1].transform(X) if isinstance(model, Pipeline) else X)
    elif getattr(last, "coef_", None) is not None:
        worths = (np.atleast_2d(_dense(last.coef_)) ** 2).sum(axis=0)
    elif hasattr(last, "feature_importances_"):
        worths = np.asarray(last.feature_importances_, dtype=np.float64)
    else:
        raise ValueError(
            f"{type(last).__name__} has neither coef_ nor feature_importances_: use a linear model, a tree "
            "model, or a kernel machine of maxmargin."
        )
    if len(worths) != n_columns:
        raise ValueError(
            f"the model has {len(worths)} weights for {n_columns} columns: the steps before it must keep the "
            "columns."
        )
    return worths


def kernel_worths(machine: Any, X: Any) -> FloatArray:
    """|W^2 - W^2_(-j)| of any kernel machine with its expansion held fixed; p Gram matrices."""
    kernel = machine.kernel_
    named = [
        name for name, value in kernel.get_params().items() if name.split("__")[-1] == "features" and value
    ]
    if named or machine.kernel == "precomputed":
        raise ValueError(
            f"{kernel!r} has columns of its own, which elimination cannot take away: use a kernel on "
            "all columns."
        )
    betas = np.zeros((len(machine.machines_), len(X)))
    for k, fitted in enumerate(machine.machines_):
        betas[k, fitted.rows] = fitted.beta
    support = np.flatnonzero(betas.any(axis=0))
    rows, t = np.asarray(_safe_indexing(X, support), dtype=np.float64), betas[:, support]
    full = _squared_norms(t, kernel(rows))
    if rows.shape[1] == 1:
        return np.array([full.sum()])
    changes = [
        np.abs(full - _squared_norms(t, kernel(np.delete(rows, j, 1)))).sum() for j in range(rows.shape[1])
    ]
    return np.array(changes)


def _dense(coef: Any) -> AnyArray:
    return np.asarray(coef.toarray() if hasattr(coef, "toarray") else coef)


class SVCElimination:
    """Our SVC: the kernel matrix loses a column at a time, and every fit starts from the last solution.

    The worth of a column is |W^2 - W^2_(-j)| with the dual solution held fixed, summed over the binary
    problems of several classes; for the linear kernel that is w_j^2.
    """

    def __init__(
        self,
        model: ColumnSVC,
        X: FloatArray,
        classes: Classes,
        train: IntArray,
        test: IntArray,
        n_threads: int = 1,
    ) -> None:
        self._model = model
        self._classes = classes
        self._test = test
        self._n_threads = n_threads
        self._fits = FewerColumns(model.problems(X, classes, [(train, test)]))

    def worths(self) -> FloatArray:
        kernel = self._fits.kernel()
        linear = isinstance(kernel.kernel, Linear)
        K = self._fits.total if linear else kernel.gram(self._fits.total, self._fits.columns[:0])
        self._model.warn_if_open(self._fits.solve(K))
        return self._squared_weights() if linear else self._changes(kernel, K)

    def drop(self, places: IntArray) -> None:
        self._fits.drop(places)

    def error(self) -> float:
        predicted = self._model.predict(self._fits.decisions[:, self._test].T, len(self._classes.labels))
        return float(np.mean(predicted != self._classes.codes[self._test]))

    def _squared_weights(self) -> FloatArray:
        weights = self._fits.columns @ self._fits.t.T
        squares: FloatArray = (weights[self._fits.left] ** 2).sum(axis=1)
        return squares

    def _changes(self, kernel: SubsetKernel, K: FloatArray) -> FloatArray:
        fits = self._fits
        support = np.flatnonzero(np.abs(fits.t).sum(axis=0))
        square = np.ix_(support, support)
        total, t = np.ascontiguousarray(fits.total[square]), fits.t[:, support]
        full = _squared_norms(t, K[square])
        columns = np.ascontiguousarray(fits.columns[:, support])

        def changes_of(part: Sequence[int]) -> list[float]:
            check_stop()
            removed = (kernel.gram(total, columns[j : j + 1], [-1.0]) for j in part)
            return [float(np.abs(full - _squared_norms(t, K_j)).sum()) for K_j in removed]

        places = split(len(fits.left), 4 * self._n_threads, multiple=1)
        parts = [fits.left[place].tolist() for place in places]
        results = run([partial(changes_of, part) for part in parts], self._n_threads)
        return np.concatenate(results)


def _squared_norms(t: FloatArray, K: FloatArray) -> FloatArray:
    """W^2 = t'Kt of every machine."""
    norms: FloatArray = np.einsum("mi,mi->m", t @ K, t)
    return norms
