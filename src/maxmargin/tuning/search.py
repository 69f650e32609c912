"""mm.tune: every cell of a grid on every fold, fast where the cells can share their work."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from concurrent.futures import BrokenExecutor
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import joblib
import numpy as np
from joblib.parallel import get_active_backend
from sklearn.base import BaseEstimator, clone, is_classifier, is_regressor
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import _safe_indexing

from maxmargin.base import work_clock
from maxmargin.base.memory import cache_bytes
from maxmargin.base.parameters import check_flag
from maxmargin.base.progress import ProgressReport, silenced_by
from maxmargin.base.tables import as_rows, as_targets, class_codes, n_rows, row_weights
from maxmargin.base.threads import blas_threads_for, effective_threads, start_workers
from maxmargin.base.typing import (
    AnyArray,
    FloatArray,
    FoldsLike,
    IntArray,
    RandomStateLike,
    TableLike,
    TargetLike,
    WeightLike,
)
from maxmargin.base.user_line import warn_user
from maxmargin.kernels import Kernel
from maxmargin.kernels.points import beyond_float32
from maxmargin.kernels.vectors import about_their_mean
from maxmargin.machines.svm import OneClassSVM
from maxmargin.solvers.dual.gram.shared_gram import Layout, SharedGram
from maxmargin.tuning.errors import ErrorMeasure
from maxmargin.tuning.folds import Fold, is_leave_one_out, make_folds
from maxmargin.tuning.given_matrix import answer_plainly
from maxmargin.tuning.grid import Grid, cells_of, default_grid
from maxmargin.tuning.result import FITTED, CellStatus, TuneProgress, TuneResult, make_table
from maxmargin.tuning.shared_cells import (
    CellAnswer,
    GridCell,
    Targets,
    asks_for_pairs,
    chains_of,
    state_problems,
    state_without_each,
)
from maxmargin.tuning.sharing import DUAL, ROWS, SHARED, configured, make_plan, matrix_bytes, refused_cells

_LOCAL_BACKENDS = ("LokyBackend", "ThreadingBackend", "SequentialBackend", "MultiprocessingBackend")
_WORTH_PROCESSES = 3.0  # seconds of work from which starting processes pays


def tune(
    estimator: BaseEstimator,
    X: TableLike,
    y: TargetLike | None = None,
    grid: Grid | None = None,
    *,
    cv: FoldsLike = 10,
    scoring: Any = None,
    refit: bool = True,
    sample_weight: WeightLike | None = None,
    random_state: RandomStateLike | None = None,
    n_jobs: int | None = None,
    verbose: int = 0,
    callback: Callable[[TuneProgress], object] | None = None,
) -> TuneResult:
    """Cross-validate every cell of a grid, exactly, and find the best one.

    All cells and folds of SVC, NuSVC, SVR, NuSVR and OneClassSVM (also behind scalers, imputers and encoders
    in a Pipeline, fitted inside each fold) share kernel matrices and start from each other's solutions. Other
    estimators are fitted once per cell and fold; ``result.path`` says which. Ctrl-C returns finished cells.

    Parameters
    ----------
    estimator : any scikit-learn estimator.
    grid : dict of lists, or list of such dicts, over any parameter, nested ones (``kernel__gamma``) and the
        kernel included. None takes the default grid of SVC or SVR (docs/tuning.md).
    cv : number of folds, "loo" for leave-one-out, a scikit-learn splitter, or pairs of row numbers.
    scoring : None (share of wrong classes, or mean squared error), or a scikit-learn scorer; the error is
        then 1 - score, or the error itself for "neg_..." scorers.
    refit : fit the best cell on all rows.
    sample_weight : weights of the training rows; errors are not weighted.
    random_state : shuffles the folds when given.
    n_jobs : threads (processes for other estimators); None takes the estimator's n_jobs, else all cores.
    verbose : 1 prints progress where there is no terminal for a live bar; -1 shows no bar either.
    callback : called with a `TuneProgress` as cells and folds are finished. Where it returns True the search
        stops as with Ctrl-C, and the result holds the finished cells.

    Examples
    --------
    >>> import maxmargin as mm
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> result = mm.tune(mm.SVC(), X, y, {"C": [0.1, 1, 10], "gamma": [0.01, 0.1, 1]}, cv=5)
    >>> result.best_params, round(result.best_error, 4)
    ({'C': 1, 'gamma': 0.1}, 0.02)
    """
    began = work_clock.now()
    check_flag("refit", refit)
    if not hasattr(estimator, "get_params"):
        raise TypeError(f"estimator={estimator!r} is not an estimator: give an object such as mm.SVC().")
    rows, measure = as_rows(X), ErrorMeasure(estimator, scoring)
    targets = as_targets(estimator, y, n_rows(rows))
    folds = make_folds(cv, estimator, rows, targets, random_state)
    data = read_data(estimator, rows, targets, sample_weight, folds, measure)
    search = GridRun(estimator, cells_of(default_grid(estimator) if grid is None else grid), data, n_jobs)
    search.run(verbose, callback)
    return search.result(began, refit=refit)


def fit_with_weight(
    model: BaseEstimator, X: TableLike, y: TargetLike, sample_weight: WeightLike | None
) -> Any:
    """Fit; in a Pipeline the weight goes to the last step."""
    if sample_weight is None:
        return model.fit(X, y)
    name = f"{model.steps[-1][0]}__sample_weight" if hasattr(model, "steps") else "sample_weight"
    return model.fit(X, y, **{name: sample_weight})


@dataclass(frozen=True)
class _Data:
    """Rows, targets, weights and folds of a search, and how errors are measured."""

    X: Any
    y: Any
    weight: FloatArray | None
    folds: list[Fold]
    measure: ErrorMeasure

    def targets_of(self, rows: Any) -> Any:
        return None if self.y is None else _safe_indexing(self.y, rows)


def read_data(estimator: Any, X: Any, y: Any, weight: Any, folds: list[Fold], measure: ErrorMeasure) -> _Data:
    """The rows, checked targets and weights of a search over given folds."""
    X = as_rows(X)
    n = n_rows(X)
    return _Data(
        X, as_targets(estimator, y, n), None if weight is None else row_weights(weight, n), folds, measure
    )


@dataclass(frozen=True)
class FoldError:
    """The error of one cell on one fold, and how its problems ended."""

    cell: int
    fold: int
    error: float
    seconds: float
    status: CellStatus = FITTED
    failure: str = ""
    warned: tuple[tuple[type[Warning], str], ...] = ()
    scores: Any = None  # what the measure returned, if that is more than the error


_Job = Callable[[], list[FoldError]]


class GridRun:
    """One run over all cells and folds."""

    def __init__(
        self, estimator: BaseEstimator, cells: list[dict[str, Any]], data: _Data, n_jobs: int | None
    ) -> None:
        self.estimator = estimator
        self.cells = cells
        self.data = data
        models = configured(estimator, cells)
        self.failures = refused_cells(models)
        self.possible = [k for k in range(len(cells)) if k not in self.failures]
        if not self.possible:
            self._refuse()
        n = n_rows(data.X)
        wanted, models = [cells[k] for k in self.possible], [models[k] for k in self.possible]
        self.plan = make_plan(models, wanted, n, data.measure.needs_probabilities())
        inner = getattr(self.plan.models[0], "n_jobs", None)
        self.n_threads = effective_threads(inner if n_jobs is None else n_jobs)
        shape = (len(cells), len(data.folds))
        self.errors, self.seconds = np.full(shape, np.nan), np.zeros(len(cells))
        self.statuses = [FITTED for _ in cells]
        self.scores: dict[tuple[int, int], Any] = {}
        self.interrupted = False
        self._warned: dict[tuple[type[Warning], str], None] = {}

    def _refuse(self) -> None:
        cell, reason = next(iter(self.failures.items()), (0, "its score is not a number"))
        raise ValueError(f"no cell could be evaluated: {self.cells[cell]} failed: {reason}")

    # -- running -------------------------------------------------------------------------------------

    def run(self, verbose: int, callback: Callable[[TuneProgress], object] | None = None) -> None:
        """Fill the tables of errors, seconds and statuses; Ctrl-C or the callback ends with what is there."""
        began, told = work_clock.now(), set(self.failures)
        if verbose >= 0:  # -1 silences the models too
            verbose = max(verbose, *(int(getattr(m, "verbose", 0)) for m in self.plan.models))
        total = len(self.possible) * len(self.data.folds)
        with silenced_by(verbose), ProgressReport("tuning", total, verbose=verbose) as progress:
            try:
                for job in self._shared() if self.plan.path == SHARED else self._one_by_one():
                    batch = job()
                    self._take(batch)
                    progress.advance(len(batch), self._best_so_far)
                    if callback is not None and callback(self._progress(began, told)) is True:
                        self.interrupted = True
                        break
            except KeyboardInterrupt:
                self.interrupted = True

    def _take(self, batch: list[FoldError]) -> None:
        for found in batch:
            cell = self.possible[found.cell]
            self.errors[cell, found.fold] = found.error
            if found.scores is not None:
                self.scores[cell, found.fold] = found.scores
            self.seconds[cell] += found.seconds
            self.statuses[cell] = self.statuses[cell].worse(found.status)
            if found.failure:
                self.failures[cell] = found.failure
            self._warned.update(dict.fromkeys(found.warned))

    def _progress(self, began: float, told: set[int]) -> TuneProgress:
        """The argument of the callback; ``told`` are the cells that were reported before."""
        known = ~np.isnan(self.errors)
        complete = [k for k in self.possible if k not in told and (known[k].all() or k in self.failures)]
        told.update(complete)
        cells = []
        for k in complete:
            errors = self.errors[k]
            dispersion = float(errors.std(ddof=1)) if len(errors) > 1 else 0.0
            cells.append(
                {"index": k, "params": self.cells[k], "error": float(errors.mean()), "dispersion": dispersion}
            )
        total = len(self.possible) * len(self.data.folds)
        return TuneProgress(tuple(cells), int(known.sum()), total, work_clock.now() - began)

    def _best_so_far(self) -> str:
        complete = ~np.isnan(self.errors).any(axis=1)
        if not complete.any():
            return "no cell finished yet"
        means = np.where(complete, self.errors.mean(axis=1), np.inf)
        best = int(means.argmin())
        return f"best {means[best]:.4g} at {self._written(best)}"

    def _written(self, cell: int) -> str:
        named = self.cells[cell].items()
        return ", ".join(f"{k}={v:.4g}" if isinstance(v, float) else f"{k}={v}" for k, v in named)

    # -- one fit per cell and fold -------------------------------------------------------------------

    def _one_by_one(self) -> Iterator[_Job]:
        """One fit per cell and fold. Our models use threads themselves; others run in parallel if it pays.

        The first or second fit shows how long the rest will take; the clock leaves compilation out.
        """
        jobs = [(c, f) for c in range(len(self.possible)) for f in range(len(self.data.folds))]
        done, expected = 0, np.inf
        while done < min(2, len(jobs)) and expected >= _WORTH_PROCESSES:  # the first one also imports
            began = work_clock.now()
            yield partial(fit_some, self.data, self.plan.models, jobs[done : done + 1])
            expected = (work_clock.now() - began) * len(jobs)
            done += 1
        local = type(get_active_backend()[0]).__name__ in _LOCAL_BACKENDS
        if self.plan.path == ROWS or self.n_threads == 1 or (local and expected < _WORTH_PROCESSES):
            for job in jobs[done:]:
                yield partial(fit_some, self.data, self.plan.models, [job])
            return
        width = 4 * self.n_threads
        for start in range(done, len(jobs), width):
            yield partial(self._side_by_side, jobs[start : start + width])

    def _side_by_side(self, jobs: list[tuple[int, int]]) -> list[FoldError]:
        """Fits in processes. If one is killed, its batch runs again fit by fit: only that cell fails."""
        calls = [joblib.delayed(fit_one)(self.data, self.plan.models[c], c, f) for c, f in jobs]
        try:
            start_workers(self.n_threads)
            return list(joblib.Parallel(n_jobs=self.n_threads)(calls))
        except BrokenExecutor:
            if len(jobs) > 1:
                return [found for job in jobs for found in self._side_by_side([job])]
            reason = "its process was killed, perhaps for lack of memory"
            return [FoldError(*jobs[0], np.nan, 0.0, failure=reason)]

    # -- shared kernel matrices ----------------------------------------------------------------------

    def _shared(self) -> Iterator[_Job]:
        tasks = self._tasks()
        if type(get_active_backend()[0]).__name__ not in _LOCAL_BACKENDS:
            with joblib.Parallel(return_as="generator") as parallel:
                found = parallel(joblib.delayed(SharedTask.run)(task, 1) for task in tasks)
                yield from (partial(next, found) for _ in tasks)
            return
        pages: dict[Any, AnyArray] = {}
        yield from (partial(task.run, self.n_threads, pages) for task in tasks)

    def _tasks(self) -> list[SharedTask]:
        """One task per kernel and group of folds; with a scaler, or gamma="scale", every fold is a group.

        Kernel by kernel, so that cells are finished early.
        """
        targets, order = self._encode()
        back = np.argsort(order)
        # sorted: pairs of classes look their rows up by bisection
        folds: list[Fold] = [(np.sort(back[train]), back[test]) for train, test in self.data.folds]
        X = self.data.X
        if not np.array_equal(order, np.arange(len(order))):
            X = _safe_indexing(X, order)
        y = None if self.data.y is None else np.asarray(self.data.y)[order]
        groups: dict[str, list[GridCell]] = {}
        kernels = [model.make_kernel() for model in self.plan.models]
        for index, (model, kernel) in enumerate(zip(self.plan.models, kernels, strict=True)):
            groups.setdefault(repr(kernel), []).append(GridCell(index, model))
        budget = cache_bytes(getattr(self.plan.models[0], "cache_size", None))
        views = FoldViews(X, folds, self.plan.front, kernels, budget)
        shared = SharedData(replace(self.data, X=X, y=y, folds=folds), targets, views, order)
        tasks = []
        for cells in groups.values():
            own = self.plan.front is not None or _depends_on_rows(cells[0].model.make_kernel())
            parts = [[f] for f in range(len(folds))] if own else self._fold_groups()
            chains = chains_of(cells)
            tasks += [SharedTask(shared, cells, chains, part, own=own) for part in parts]
        return tasks

    def _fold_groups(self) -> list[list[int]]:
        """All folds together on this machine; two groups on a cluster, to keep several workers busy."""
        everything = list(range(len(self.data.folds)))
        if type(get_active_backend()[0]).__name__ in _LOCAL_BACKENDS:
            return [everything]
        half = -(-len(everything) // 2)
        return [everything[:half], everything[half:]]

    def _encode(self) -> tuple[Targets, Any]:
        """Targets, with the rows sorted by class where one-versus-one needs that."""
        model, n = self.plan.models[0], n_rows(self.data.X)
        weight = np.ones(n) if self.data.weight is None else self.data.weight
        order = np.arange(n)
        if not is_classifier(model):
            values = np.asarray(self.data.y) if is_regressor(model) else np.zeros(n)
            return Targets(None, np.zeros(n, dtype=np.int64), values, weight), order
        classes, codes = class_codes(self.data.y, n, model)
        if len(classes) > 2 and isinstance(model, DUAL):
            order = np.argsort(codes, kind="stable")
        scores = self.data.measure.scorer is not None
        return Targets(classes, codes[order], np.zeros(n), weight[order], scores), order

    # -- the result ----------------------------------------------------------------------------------

    def result(self, began: float, *, refit: bool) -> TuneResult:
        """The result, with the best cell fitted on all rows if ``refit``."""
        kept = self.kept()
        if not len(kept):
            raise KeyboardInterrupt("no cell was finished")
        if np.isnan(self.errors[kept]).any(axis=1).all():
            self._refuse()
        if self.failures:
            several = len(self.failures)
            count = "1 cell failed and has" if several == 1 else f"{several} cells failed and have"
            warnings.warn(f"{count} no error. {self._failure(next(iter(self.failures)))}", stacklevel=3)
        self.warn(kept)
        params, errors = [self.cells[k] for k in kept], self.errors[kept]
        found = TuneResult(
            table=make_table(params, errors, self.seconds[kept], self.status_names()),
            folds=errors,
            params=params,
            measure=self.data.measure.name,
            path=f"{self.plan.path}: {self.plan.reason}" if self.plan.reason else self.plan.path,
            seconds=work_clock.now() - began,
            interrupted=self.interrupted,
            notes=tuple(dict.fromkeys(self._failure(k) for k in self.failures)),
        )
        return self._refitted(found, began) if refit and not self.interrupted else found

    def kept(self) -> IntArray:
        """Numbers of all cells, or after an interrupt of the finished ones."""
        if self.interrupted:
            return np.flatnonzero(~np.isnan(self.errors).any(axis=1))
        return np.arange(len(self.cells))

    def status_names(self) -> list[str]:
        """How the fits of each kept cell ended, in one word."""
        return ["failed" if k in self.failures else self.statuses[k].name for k in self.kept()]

    def _refitted(self, found: TuneResult, began: float) -> TuneResult:
        best = clone(self.estimator).set_params(**found.best_params)
        try:
            fit_with_weight(best, self.data.X, self.data.y, self.data.weight)
        except KeyboardInterrupt:
            return replace(found, interrupted=True, seconds=work_clock.now() - began)
        return replace(found, best_estimator=best, seconds=work_clock.now() - began)

    def _failure(self, cell: int) -> str:
        return f"{self._written(cell)} failed: {self.failures[cell]}"

    def warn(self, kept: AnyArray) -> None:
        """One warning for cells that did not converge, and those of other estimators."""
        for category, message in self._warned:
            warn_user(message, category)
        open_ = [self.statuses[k] for k in kept if not self.statuses[k].is_fine]
        if open_:
            known = [status.violation for status in open_ if not np.isnan(status.violation)]
            worst = f": the largest KKT violation is {max(known):.3g}" if known else ""
            reasons = ", ".join(sorted({status.name for status in open_}))
            warn_user(
                f"{len(open_)} of {len(kept)} cells did not converge ({reasons}){worst}. Their errors are "
                "not those of the solution: raise max_iter or time_limit, scale the columns, or raise tol. "
                "The status column of the table names the cells.",
                ConvergenceWarning,
            )


def fit_some(data: _Data, models: list[Any], jobs: list[tuple[int, int]]) -> list[FoldError]:
    """Fit some cells on some folds, one after the other."""
    return [fit_one(data, models[c], c, f) for c, f in jobs]


def fit_one(data: _Data, model: BaseEstimator, c: int, f: int) -> FoldError:
    """Fit one cell on one fold; its warnings are returned with the error, so that each is shown once."""
    train, test = data.folds[f]
    began = work_clock.now()
    model = clone(model)
    weight = None if data.weight is None else data.weight[train]
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            fit_with_weight(model, _safe_indexing(data.X, train), data.targets_of(train), weight)
        except ValueError as refused:
            return FoldError(c, f, np.nan, work_clock.now() - began, failure=str(refused))
        spent = work_clock.now() - began
        error = data.measure.of_model(model, _safe_indexing(data.X, test), data.targets_of(test))
    others = [w for w in caught if not issubclass(w.category, ConvergenceWarning)]
    status = CellStatus.of_model(model, warned=len(others) < len(caught))
    return FoldError(c, f, error, spent, status, "", tuple((w.category, str(w.message)) for w in others))


def _depends_on_rows(kernel: Kernel) -> bool:
    """True if a parameter of the kernel depends on the training rows, such as gamma="scale"."""
    params = kernel.get_params().values()
    return any(value in ("scale", "auto") for value in params if isinstance(value, str))


class FoldViews:
    """The transformed rows of each fold as Points, with the matrices that kernels share on them.

    Transformers are fitted once per fold. Matrices of inner products are kept while they fit into ``budget``
    bytes.
    """

    def __init__(self, X: TableLike, folds: list[Fold], front: Any, kernels: list[Any], budget: int) -> None:
        self.X, self.folds, self.front, self.kernels = X, folds, front, kernels
        self._budget = budget
        self._rows: dict[int, Any] = {}
        self._points: dict[int, tuple[Any, Any]] = {}  # by fold: the key of the kernel's view, and its points
        self._layouts: dict[int, Layout] = {}

    def rows(self, f: int) -> Any:
        """All rows, transformed by what was fitted on the training rows of fold f."""
        if self.front is None:
            return self.X
        if f not in self._rows:
            fitted = clone(self.front).fit(_safe_indexing(self.X, self.folds[f][0]))
            self._rows[f] = fitted.transform(self.X)
        return self._rows[f]

    def points(self, f: int, kernel: Any) -> Any:
        """The rows of fold f as Points of a kernel; consecutive kernels often share them."""
        place, key = 0 if self.front is None else f, kernel.view_key()
        if place not in self._points or self._points[place][0] != key:
            self._points[place] = key, kernel.prepare(self.rows(f))
        return self._points[place][1]

    def layout(self, f: int, n_threads: int, pages: dict[Any, AnyArray]) -> Layout:
        """What the kernels share on the rows of fold f."""
        place = 0 if self.front is None else f
        layout = self._layouts.get(place) or Layout(n_threads, self.kernels, pages)
        products = 8 * n_rows(self.X) ** 2
        if (len(self._layouts) + 1) * products + matrix_bytes(n_rows(self.X)) <= self._budget:
            self._layouts[place] = layout
        return layout

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_rows": {}, "_points": {}, "_layouts": {}}  # a worker makes its own


@dataclass(frozen=True)
class SharedData:
    """The data of all tasks; sent to a worker once."""

    data: _Data
    targets: Targets
    views: FoldViews
    order: IntArray  # the user's number of each row


class SharedTask:
    """The cells of one kernel on a group of folds."""

    def __init__(
        self,
        shared: SharedData,
        cells: list[GridCell],
        chains: list[list[GridCell]],
        folds: list[int],
        *,
        own: bool,
    ) -> None:
        self.shared = shared
        self.cells = cells
        self.chains = chains
        self.folds = folds
        self.own = own  # the matrix belongs to one fold: its scaler, or its gamma

    def run(self, n_threads: int, pages: dict[Any, AnyArray] | None = None) -> list[FoldError]:
        """Errors of all cells on all folds of the group."""
        data, targets = self.shared.data, self.shared.targets
        binary = targets.classes is None or len(targets.classes) == 2
        mine = [data.folds[f] for f in self.folds]
        alone = binary and is_leave_one_out(data.folds) and len(self.folds) == len(data.folds)
        state = state_without_each if alone else state_problems
        with blas_threads_for(n_rows(data.X)):
            gram = self._gram(n_threads, {} if pages is None else pages)
            if not isinstance(self.cells[0].model, DUAL):
                answers = answer_plainly(gram.wide(), self.cells, targets, mine, n_threads)
            else:
                answers = [[] for _ in mine]
                for chain in self.chains:
                    statement = state(gram, chain, targets, mine, n_threads)
                    for found, more in zip(answers, statement.read(statement.solve()), strict=True):
                        found += more
        return [
            self._error(f, answer) for f, found in zip(self.folds, answers, strict=True) for answer in found
        ]

    def _gram(self, n_threads: int, pages: dict[Any, AnyArray]) -> SharedGram:
        model, views, f = self.cells[0].model, self.shared.views, self.folds[0]
        rows = views.rows(f)
        kernel = model.make_kernel()
        reads = self.own and _depends_on_rows(kernel)
        kernel = kernel.bind(_safe_indexing(rows, views.folds[f][0]) if reads else rows)
        balanced = isinstance(model, DUAL) and not isinstance(model, OneClassSVM)
        in_parts = asks_for_pairs(self.cells, self.shared.targets)
        layout = views.layout(f, n_threads, pages)
        points = views.points(f, kernel)
        if balanced:
            points = about_their_mean(kernel, points)
        wide = getattr(model, "tol", 0.0) < 1e-5 or kernel.whole  # expensive values are not computed twice
        wide = wide or beyond_float32(points, kernel.diagonal(points))
        return SharedGram(kernel, points, layout, wide=wide, balanced=balanced, in_parts=in_parts)

    def _error(self, fold: int, answer: CellAnswer) -> FoldError:
        data, ending = self.shared.data, answer.ending
        status = FITTED if ending is None else CellStatus(ending.status.short, ending.violation)
        if answer.failure:
            return FoldError(answer.index, fold, np.nan, answer.seconds, failure=answer.failure)
        assert answer.predicted is not None
        test = data.folds[fold][1]
        if data.measure.scorer is None:
            error = scores = data.measure.of_predictions(data.y[test], answer.predicted)
        else:
            model = next(cell.model for cell in self.cells if cell.index == answer.index)
            if self.shared.targets.classes is not None:
                model.classes_ = self.shared.targets.classes
            assert answer.decisions is not None
            X_test = _safe_indexing(data.X, test)
            stored = (data.targets_of(test), answer.predicted, answer.decisions)
            scores = data.measure.of_stored(model, X_test, *stored, self.shared.order[test])
            error = data.measure.leading_error(scores)
        return FoldError(answer.index, fold, error, answer.seconds, status, scores=scores)
