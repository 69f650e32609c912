"""One round of recursive elimination: fit on the remaining columns, and compute what each is worth."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Protocol

import numpy as np
from sklearn.base import clone
from sklearn.feature_selection._base import _get_feature_importances
from sklearn.pipeline import Pipeline
from sklearn.utils import _safe_indexing
from sklearn.utils.validation import _check_method_params

from maxmargin.base.tables import Classes, as_dense
from maxmargin.base.threads import check_stop, run, split
from maxmargin.base.typing import AnyArray, FloatArray, IntArray, Matrix
from maxmargin.feature_selection.column_svc import ColumnSVC
from maxmargin.kernels import Linear
from maxmargin.machines.svm.base import KernelMachine
from maxmargin.solvers.dual.gram.column_subsets import FewerColumns
from maxmargin.solvers.dual.gram.subset_kernels import SubsetKernel


class Elimination(Protocol):
    """A model that is fitted on fewer and fewer columns."""

    def worths(self) -> FloatArray:
        """Fit on the remaining columns and return what each is worth, of shape (n_left,)."""

    def drop(self, places: IntArray) -> None:
        """Remove the columns at these positions among the remaining ones."""

    def error(self) -> float:
        """Error of the last fit on the held-out rows."""


@dataclass(frozen=True)
class Fits:
    """The input of every fit of an elimination: the data, the parameters of fits and scores, the scorer."""

    estimator: Any
    X: Any
    y: AnyArray
    fit_params: dict[str, Any]
    score_params: dict[str, Any]
    importance_getter: Any = "auto"
    scorer: Any = None

    def of_rows(self, params: dict[str, Any], rows: IntArray) -> dict[str, Any]:
        """Parameters that have a value for each row, at these rows; the others unchanged."""
        return _check_method_params(self.X, params, indices=rows)


class AnyElimination:
    """Any estimator with weights or importances (see `model_worths`), fitted again in each round."""

    def __init__(self, fits: Fits, train: IntArray, test: IntArray) -> None:
        self._fits, self._train, self._test = fits, train, test
        self._columns = np.arange(fits.X.shape[1])
        self._params = fits.of_rows(fits.fit_params, train)

    def worths(self) -> FloatArray:
        X, fits = self._rows(self._train), self._fits
        self._model = clone(fits.estimator).fit(X, fits.y[self._train], **self._params)
        if fits.importance_getter == "auto":
            return model_worths(self._model, X)
        worths = _get_feature_importances(self._model, fits.importance_getter, "square")
        return as_dense(worths).ravel()

    def drop(self, places: IntArray) -> None:
        self._columns = np.delete(self._columns, places)

    def error(self) -> float:
        fits, truth = self._fits, self._fits.y[self._test]
        params = fits.of_rows(fits.score_params, self._test)
        return 1.0 - float(fits.scorer(self._model, self._rows(self._test), truth, **params))

    def _rows(self, rows: IntArray) -> Any:
        return _safe_indexing(_safe_indexing(self._fits.X, self._columns, axis=1), rows)


def model_worths(model: Any, X: Any) -> FloatArray:
    """What the columns of the training rows ``X`` are worth to a fitted model.

    Squared weights of a linear model (summed over its machines), |W^2 - W^2_(-j)| of one of our kernel
    machines, else ``feature_importances_``. For a pipeline, those of the last step.
    """
    n_columns = X.shape[1]
    last = model.steps[-1][1] if isinstance(model, Pipeline) else model
    worths: FloatArray
    if isinstance(last, KernelMachine):
        worths = kernel_worths(last, model[:-1].transform(X) if isinstance(model, Pipeline) else X)
    elif getattr(last, "coef_", None) is not None:
        worths = (np.atleast_2d(as_dense(last.coef_)) ** 2).sum(axis=0)
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


def kernel_worths(machine: Any, X: Matrix) -> FloatArray:
    """|W^2 - W^2_(-j)| of any kernel machine with its expansion held fixed; p Gram matrices."""
    kernel = machine.kernel_
    named = [
        name for name, value in kernel.get_params().items() if name.split("__")[-1] == "features" and value
    ]
    if named or machine.kernel == "precomputed":
        raise ValueError(
            f"{kernel!r} chooses its own columns, which elimination cannot remove: use a kernel on "
            "all columns."
        )
    betas = np.zeros((len(machine.machines_), X.shape[0]))
    for k, fitted in enumerate(machine.machines_):
        betas[k, fitted.rows] = fitted.beta
    support = np.flatnonzero(betas.any(axis=0))
    rows, t = as_dense(_safe_indexing(X, support)).astype(np.float64), betas[:, support]
    full = _squared_norms(t, kernel(rows))
    if rows.shape[1] == 1:
        return np.array([full.sum()])
    changes = [
        np.abs(full - _squared_norms(t, kernel(np.delete(rows, j, 1)))).sum() for j in range(rows.shape[1])
    ]
    return np.array(changes)


class SVCElimination:
    """Our SVC: columns are subtracted from the kernel matrix, and every fit starts from the last solution.

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
        return (weights[self._fits.left] ** 2).sum(axis=1)

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
    return np.einsum("mi,mi->m", t @ K, t)
