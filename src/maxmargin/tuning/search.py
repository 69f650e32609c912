"""mm.tune: every cell of a grid on every fold, fast where the cells can share their work."""

from __future__ import annotations

import time
import warnings
from collections.abc import Iterator
from typing import Any

import joblib
import numpy as np
from joblib.parallel import get_active_backend
from sklearn.base import clone, is_classifier, is_regressor
from sklearn.utils import _safe_indexing

from maxmargin.base.parameters import check_flag
from maxmargin.base.tables import as_rows, as_targets, class_codes, row_weights
from maxmargin.base.threads import effective_threads
from maxmargin.base.typing import FloatArray
from maxmargin.machines.svm import OneClassSVM
from maxmargin.solvers.dual.gram.chains import answer_folds, asks_for_pairs
from maxmargin.solvers.dual.gram.leave_one_out import answer_without_each
from maxmargin.solvers.dual.gram.shared_gram import Layout, SharedGram
from maxmargin.tuning.cells import Answer, FastCell, Targets
from maxmargin.tuning.errors import ErrorMeasure
from maxmargin.tuning.folds import (
    Fold,
    is_leave_one_out,
    make_folds,
    n_rows,
)
from maxmargin.tuning.given_matrix import answer_plainly
from maxmargin.tuning.grid import Grid, cells_of, default_grid
from maxmargin.tuning.plan import DUAL, ROWS, SCIKIT, SHARED, Plan, make_plan
from maxmargin.tuning.progress import Progress
from maxmargin.tuning.result import TuneResult, make_table

_LOCAL_BACKENDS = ("LokyBackend", "ThreadingBackend", "SequentialBackend", "MultiprocessingBackend")

Entry = tuple[int, int, float, float, str]  # cell, fold, error, seconds, failure


def tune(
    estimator: Any,
    X: Any,
    y: Any = None,
    grid: Grid | None = None,
    *,
    cv: Any = 10,
    scoring: Any = None,
    refit: bool = True,
    sample_weight: Any = None,
    random_state: Any = None,
    n_jobs: int | None = None,
    verbose: int = 0,
) -> TuneResult:
    """The cross-validated error of every cell of a grid, exact, and the best cell.

    All cells and folds of SVC, NuSVC, SVR, NuSVR and OneClassSVM (also behind scalers, imputers and encoders
    of categories in a Pipeline, which are fitted inside each fold) share one matrix of inner products; each
    answer starts the next along C, epsilon and nu. Everything else goes through one fit per cell and fold;
    ``result.path`` says which.

    Parameters
    ----------
    estimator : any scikit-learn estimator.
    X, y : rows and targets.
    grid : dict of lists, or list of such dicts, over any parameter, also nested (``kernel__gamma``) and the
        kernel itself. None takes the default grid of SVC or SVR: C = 2^-5 ... 2^15, gamma = 2^-15 ... 2^3,
        epsilon = 2^-8 ... 2^-1.
    cv : number of folds, "loo" for leave-one-out, a scikit-learn splitter, or pairs of row numbers.
    scoring : None (share of wrong classes, or mean squared error), or a scikit-learn scorer; the error is
        then 1 - score, or the error itself for "neg_..." scorers.
    refit : fit the best cell on all rows.
    sample_weight : weights of the training rows; errors are not weighted.
    random_state : shuffles the folds when given.
    n_jobs : threads; None for all cores. Under ``joblib.parallel_config(backend="dask")`` or another
        distributed backend the work goes there, one task per kernel and group of folds.
    verbose : 1 prints progress where there is no terminal for a live bar; -1 shows no bar either.

    Examples
    --------
    >>> import maxmargin as mm
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> result = mm.tune(mm.SVC(), X, y, {"C": [0.1, 1, 10], "gamma": [0.01, 0.1, 1]}, cv=5)
    >>> result.best_params
    {'C': 1, 'gamma': 0.1}
    >>> round(result.best_error, 4)
    0.02
    """
    began = time.perf_counter()
    check_flag("refit", refit)
    if not hasattr(estimator, "get_params"):
        raise TypeError(f"estimator={estimator!r} is no estimator: give an object such as mm.SVC().")
    cells = cells_of(default_grid(estimator) if grid is None else grid)
    measure = ErrorMeasure(estimator, scoring)
    X = as_rows(X)
    y = as_targets(estimator, y, n_rows(X))
    folds = make_folds(cv, estimator, X, y, random_state)
    work = Search(estimator, cells, measure, folds, X, y, sample_weight, n_jobs, verbose)
    errors, seconds, interrupted = work.run()
    params, errors, seconds = _finished(cells, errors, seconds, interrupted)
    if np.isnan(errors).all():
        raise ValueError(
            f"no cell could be evaluated: {work.notes[0] if work.notes else 'all errors are NaN'}"
        )
    if work.notes:
        warnings.warn(f"{len(work.notes)} cells failed and have no error. {work.notes[0]}", stacklevel=2)
    result = TuneResult(
        table=make_table(params, errors, seconds),
        folds=errors,
        params=params,
        measure=measure.name,
        path=work.path_taken,
        seconds=time.perf_counter() - began,
        interrupted=interrupted,
        notes=tuple(dict.fromkeys(work.notes)),
    )
    if not refit or interrupted:
        return result
    best = clone(estimator).set_params(**result.best_params)
    fit_with_weight(best, X, y, sample_weight)
    return TuneResult(**{**result.__dict__, "best_estimator": best, "seconds": time.perf_counter() - began})


def _finished(
    cells: list[dict[str, Any]], errors: FloatArray, seconds: FloatArray, interrupted: bool
) -> tuple[list[dict[str, Any]], FloatArray, FloatArray]:
    """After Ctrl-C only the cells that have all their folds."""
    if not interrupted:
        return cells, errors, seconds
    done = np.asarray(~np.isnan(errors).any(axis=1))
    if not done.any():
        raise KeyboardInterrupt("no cell was finished")
    return [cell for cell, ok in zip(cells, done, strict=True) if ok], errors[done], seconds[done]


def fit_with_weight(model: Any, X: Any, y: Any, sample_weight: Any) -> Any:
    """Fit; in a Pipeline the weight goes to the last step."""
    if sample_weight is None:
        return model.fit(X, y)
    name = f"{model.steps[-1][0]}__sample_weight" if hasattr(model, "steps") else "sample_weight"
    return model.fit(X, y, **{name: sample_weight})


class Search:
    """One run over all cells and folds."""

    def __init__(
        self,
        estimator: Any,
        cells: list[dict[str, Any]],
        measure: ErrorMeasure,
        folds: list[Fold],
        X: Any,
        y: Any,
        sample_weight: Any,
        n_jobs: int | None,
        verbose: int,
    ) -> None:
        self.cells = cells
        self.measure = measure
        self.folds = folds
        self.X = X
        self.y = y
        self.n = n_rows(self.X)
        self.weight = None if sample_weight is None else row_weights(sample_weight, self.n)
        self.n_threads = effective_threads(n_jobs)
        self.verbose = verbose
        self.notes: list[str] = []
        self.plan: Plan = make_plan(estimator, cells, self.n, measure.needs_probabilities())

    @property
    def path_taken(self) -> str:
        return f"{self.plan.path}: {self.plan.reason}" if self.plan.reason else self.plan.path

    def run(self) -> tuple[FloatArray, FloatArray, bool]:
        """Errors of shape (n_cells, n_folds), seconds of shape (n_cells,), and whether Ctrl-C ended it."""
        shape = (len(self.cells), len(self.folds))
        errors, seconds = np.full(shape, np.nan), np.zeros(len(self.cells))
        failures: dict[int, str] = {}
        interrupted = False
        with Progress(shape[0] * shape[1], self.cells, self.verbose) as progress:
            try:
                for batch in self._batches():
                    for cell, fold, error, spent, failure in batch:
                        errors[cell, fold] = error
                        seconds[cell] += spent
                        if failure:
                            failures[cell] = failure
                    progress.advance(len(batch), errors)
            except KeyboardInterrupt:
                interrupted = True
        for cell, failure in failures.items():
            self.notes.append(f"{self.cells[cell]} failed: {failure}")
        return errors, seconds, interrupted

    def _batches(self) -> Iterator[list[Entry]]:
        if self.plan.path == SHARED:
            return self._shared()
        return self._one_by_one()

    # -- one fit per cell and fold -------------------------------------------------------------------

    def _one_by_one(self) -> Iterator[list[Entry]]:
        """Plain fits. Our own machines use the threads themselves; others run side by side."""
        jobs = [(c, f) for c in range(len(self.cells)) for f in range(len(self.folds))]
        if self.plan.path == ROWS:
            for c, f in jobs:
                yield [self._fit_one(c, f)]
            return
        width = 4 * self.n_threads
        with joblib.Parallel(n_jobs=self.n_threads) as parallel:
            for start in range(0, len(jobs), width):
                yield parallel(joblib.delayed(self._fit_one)(c, f) for c, f in jobs[start : start + width])

    def _fit_one(self, c: int, f: int) -> Entry:
        train, test = self.folds[f]
        began = time.perf_counter()
        model = clone(self.plan.machines[c])
        weight = None if self.weight is None else self.weight[train]
        try:
            fit_with_weight(model, _safe_indexing(self.X, train), self._targets_of(train), weight)
        except ValueError as refused:
            return c, f, np.nan, time.perf_counter() - began, str(refused)
        spent = time.perf_counter() - began
        error = self.measure.of_model(model, _safe_indexing(self.X, test), self._targets_of(test))
        return c, f, error, spent, ""

    def _targets_of(self, rows: Any) -> Any:
        return None if self.y is None else _safe_indexing(self.y, rows)

    # -- shared Gram matrices ------------------------------------------------------------------------

    def _shared(self) -> Iterator[list[Entry]]:
        tasks = self._tasks()
        if type(get_active_backend()[0]).__name__ not in _LOCAL_BACKENDS:
            with joblib.Parallel(return_as="generator") as parallel:
                yield from parallel(joblib.delayed(SharedTask.run)(task, 1) for task in tasks)
            return
        layouts: dict[Any, Layout] = {}
        kernels = [machine.make_kernel() for machine in self.plan.machines]
        for task in tasks:
            layout = layouts.setdefault(task.layout_key, Layout(self.n_threads, kernels))
            yield task.run(self.n_threads, layout)
            if task.last_of_layout:
                del layouts[task.layout_key]

    def _tasks(self) -> list[SharedTask]:
        """One task per kernel and group of folds; with a scaler, or gamma="scale", every fold is a group."""
        targets, order = self._encode()
        back = np.argsort(order)
        folds: list[Fold] = [(back[train], back[test]) for train, test in self.folds]
        X = self.X if np.array_equal(order, np.arange(self.n)) else _safe_indexing(self.X, order)
        groups: dict[str, list[FastCell]] = {}
        for index, machine in enumerate(self.plan.machines):
            groups.setdefault(repr(machine.make_kernel()), []).append(FastCell(index, machine))
        data = SharedData(X, self._targets_in(order), targets, folds, self.plan.scaler, self.measure)
        tasks = []
        own = self.plan.scaler is not None
        if own:  # fold by fold, so that the products of a fold serve all kernels and are then let go
            for f in range(len(folds)):
                tasks += [SharedTask(data, cells, [f], own=True) for cells in groups.values()]
                tasks[-1].last_of_layout = True
            return tasks
        for cells in groups.values():
            own = _depends_on_rows(cells[0].machine)
            for part in [[f] for f in range(len(folds))] if own else self._fold_groups():
                tasks.append(SharedTask(data, cells, part, own=own))
        return tasks

    def _fold_groups(self) -> list[list[int]]:
        """All folds together here; two groups for a cluster, so that there is work for several workers."""
        everything = list(range(len(self.folds)))
        if type(get_active_backend()[0]).__name__ in _LOCAL_BACKENDS:
            return [everything]
        half = -(-len(everything) // 2)
        return [everything[:half], everything[half:]]

    def _targets_in(self, order: Any) -> Any:
        return None if self.y is None else np.asarray(self.y)[order]

    def _encode(self) -> tuple[Targets, Any]:
        """Targets, with the rows sorted by class where one-versus-one needs that."""
        machine = self.plan.machines[0]
        weight = np.ones(self.n) if self.weight is None else self.weight
        order = np.arange(self.n)
        if not is_classifier(machine):
            values = np.asarray(self.y) if is_regressor(machine) else np.zeros(self.n)
            return Targets(None, np.zeros(self.n, dtype=np.int64), values, weight), order
        classes, codes = class_codes(self.y, self.n, machine)
        if len(classes) > 2 and isinstance(machine, DUAL):
            order = np.argsort(codes, kind="stable")
        scores = self.measure.scorer is not None
        return Targets(classes, codes[order], np.zeros(self.n), weight[order], scores), order


def _depends_on_rows(machine: Any) -> bool:
    """True when the kernel takes a number from the training rows, such as gamma="scale"."""
    return any(
        value in ("scale", "auto")
        for value in machine.make_kernel().get_params().values()
        if isinstance(value, str)
    )


class SharedData:
    """What all tasks read; sent to a worker once."""

    def __init__(
        self, X: Any, y: Any, targets: Targets, folds: list[Fold], scaler: Any, measure: ErrorMeasure
    ) -> None:
        self.X = X
        self.y = y
        self.targets = targets
        self.folds = folds
        self.scaler = scaler
        self.measure = measure


class SharedTask:
    """The cells of one kernel on a group of folds."""

    def __init__(self, data: SharedData, cells: list[FastCell], folds: list[int], *, own: bool) -> None:
        self.data = data
        self.cells = cells
        self.folds = folds
        self.own = own  # the matrix belongs to one fold: its scaler, or its gamma
        self.last_of_layout = False

    @property
    def layout_key(self) -> Any:
        return self.folds[0] if self.data.scaler is not None else "all"

    def run(self, n_threads: int, layout: Layout | None = None) -> list[Entry]:
        """Errors of all cells on all folds of the group."""
        data = self.data
        gram = self._gram(layout or Layout(n_threads))
        classes = data.targets.classes
        binary = classes is None or len(classes) == 2
        mine = [data.folds[f] for f in self.folds]
        if not isinstance(self.cells[0].machine, DUAL):
            answers = answer_plainly(gram.wide(), self.cells, data.targets, mine, n_threads)
        elif binary and is_leave_one_out(data.folds) and len(self.folds) == len(data.folds):
            answers = answer_without_each(gram, self.cells, data.targets, n_threads)
        else:
            answers = answer_folds(gram, self.cells, data.targets, mine, n_threads)
        return [
            self._entry(f, answer) for f, found in zip(self.folds, answers, strict=True) for answer in found
        ]

    def _gram(self, layout: Layout) -> SharedGram:
        data, machine = self.data, self.cells[0].machine
        kernel, rows = machine.make_kernel(), data.X
        if self.own:
            train = data.folds[self.folds[0]][0]
            if data.scaler is not None:
                fitted = clone(data.scaler).fit(_safe_indexing(data.X, train))
                rows = fitted.transform(data.X)
            kernel = kernel.bind(_safe_indexing(rows, train))
        else:
            kernel = kernel.bind(rows)
        wide = getattr(machine, "tol", 0.0) < 1e-5 or kernel.whole  # costly values are not computed twice
        balanced = isinstance(machine, DUAL) and not isinstance(machine, OneClassSVM)
        points, in_parts = kernel.prepare(rows), asks_for_pairs(self.cells, data.targets)
        return SharedGram(kernel, points, layout, wide=wide, balanced=balanced, in_parts=in_parts)

    def _entry(self, fold: int, answer: Answer) -> Entry:
        data = self.data
        if answer.failure:
            return answer.index, fold, np.nan, answer.seconds, answer.failure
        assert answer.predicted is not None
        test = data.folds[fold][1]
        if data.measure.scorer is None:
            error = data.measure.of_predictions(data.y[test], answer.predicted)
        else:
            model = next(cell.machine for cell in self.cells if cell.index == answer.index)
            if data.targets.classes is not None:
                model.classes_ = data.targets.classes
            X_test, y_test = _safe_indexing(data.X, test), None if data.y is None else data.y[test]
            assert answer.decisions is not None
            error = data.measure.of_stored(model, X_test, y_test, answer.predicted, answer.decisions)
        return answer.index, fold, error, answer.seconds, ""


__all__ = ["ROWS", "SCIKIT", "SHARED", "Search", "tune"]
