"""The search of a command: the whole grid if that takes about a minute, else a smaller one with a note."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd
from sklearn.base import clone

import maxmargin as mm
from maxmargin.cli.options import FoldOptions, ModelOptions, SearchOptions
from maxmargin.cli.screen import Screen, shown
from maxmargin.cli.work import folds_for, plain_names
from maxmargin.tables.columns import Prepared
from maxmargin.tables.measures_and_rules import TuningMeasure, check_scores, weighted
from maxmargin.tables.models import Family, chosen_family, grid_of, pipeline, with_kernel
from maxmargin.tables.table_settings import Note
from maxmargin.tables.time_estimate import SampleSearch, SampleTimes, duration, sample_rows
from maxmargin.tuning import TuneResult

_PATIENCE = 60.0  # seconds beyond which the search is reduced
_BUDGET, _SHORT = 0.7, 0.3  # seconds for an estimate, and for each of several
_SAMPLES = (50_000, 20_000, 10_000, 5_000, 2_000)  # rows on which parameters can be chosen
_FEW_ROWS, _FEW_CLASSES = 300, 4  # tables so small, without text, take seconds: no estimate
_FEW_FOLDS = 5


@dataclass(frozen=True)
class SearchPlan:
    """A model, the cells of its grid (None: nothing to try), the folds, and the number of rows of the search.

    ``rows`` is None for all rows; otherwise parameters are chosen on a sample and the model is fitted to all
    rows.
    """

    family: Family
    estimator: Any
    cells: dict[str, list[Any]] | None
    validation: FoldOptions
    rows: int | None = None

    def sample(self, X: pd.DataFrame, y: pd.Series) -> tuple[pd.DataFrame, pd.Series]:
        """The rows on which the cells are tried."""
        if self.rows is None:
            return X, y
        rows = sample_rows(y, self.rows)
        return X.iloc[rows], y.iloc[rows]

    @property
    def fits(self) -> int:
        """Number of fits of the search."""
        cells = 1 if self.cells is None else int(np.prod([len(values) for values in self.cells.values()]))
        return cells * (1 if self.cells is None else self.validation.folds)


@dataclass(frozen=True)
class TimedPlan:
    """A plan, and its seconds."""

    plan: SearchPlan
    seconds: float


@dataclass(frozen=True)
class Planner:
    """Makes the plan of a search from the options of a command."""

    data: Prepared
    model: ModelOptions
    search: SearchOptions
    measure: TuningMeasure
    positive: Any
    screen: Screen

    def plan(self, X: pd.DataFrame, y: pd.Series, *, rest: float = 0.0) -> SearchPlan:
        """The search for these training rows, with the time of the whole command.

        ``rest`` are the seconds of what comes after the search, such as the report.
        """
        whole = self._of(self.model.model, y)
        if self._is_quick(X):
            return whole
        with self.screen.working("estimating the time"):
            found = TimedPlan(whole, self._times(whole, X, y).seconds(whole.validation.folds))
            if found.seconds > _PATIENCE and not self.search.exact and not self.search.grid:
                self._say_too_long(found.seconds)
                found = self._smaller(found, X, y)
        say_time(found.seconds + rest, found.plan.fits, found.plan.rows or len(X), self.screen)
        self.screen.answer["estimate"]["model"] = found.plan.family.name
        return found.plan

    def repeated(self, X: pd.DataFrame, y: pd.Series, times: int) -> TimedPlan:
        """The small grid, searched ``times`` times for a comparison, and the seconds of all of them.

        Where a model takes more than about a minute, its search becomes smaller.
        """
        plan = self._of(self.model.model, y, small=True)
        if self._is_quick(X):
            return TimedPlan(plan, 0.0)
        seconds = self._times(plan, X, y, budget=_SHORT).seconds(plan.validation.folds)
        if times * seconds <= _PATIENCE or self.search.exact:
            return TimedPlan(plan, times * seconds)
        self._say_too_long(times * seconds)
        found = self._other(plan, X, y, _PATIENCE / times)
        return replace(found, seconds=times * found.seconds)

    def _is_quick(self, X: pd.DataFrame) -> bool:
        """Does a search on these rows take seconds?"""
        few = len(X) <= _FEW_ROWS and len(self.data.classes) <= _FEW_CLASSES
        return few and not (self.data.texts or self.data.strings)

    def _say_too_long(self, seconds: float) -> None:
        self.screen.note(
            f"the whole grid of {self.model.model} would take about {duration(seconds)}: a smaller "
            "search is run (--exact keeps the whole grid)."
        )

    def _of(self, name: str, y: pd.Series, *, small: bool = False) -> SearchPlan:
        """The plan for one model, with its whole grid or the small one."""
        data = self.data
        family = with_kernel(chosen_family(data, name), self.model.kernel, data)
        check_scores(family, self.measure)
        machine = weighted(family, data, self.model.class_weight, self.screen.note)
        estimator = pipeline(data, machine, self.model.categories, self.positive)
        asked = self.search.validation.folds
        folds = folds_for(
            y, min(asked, _FEW_FOLDS) if small else asked, classifies=data.classifies, screen=self.screen
        )
        validation = replace(self.search.validation, folds=folds)
        return SearchPlan(family, estimator, grid_of(family, self.search.grid, small=small), validation)

    def _search(self, plan: SearchPlan, X: pd.DataFrame, y: pd.Series) -> SampleSearch:
        growth, jobs = plan.family.growth, plan.validation.jobs
        words = bool(self.data.texts)
        return SampleSearch(plan.estimator, X, y, plan.cells, growth, self.measure.scoring, jobs, words)

    def _times(
        self, plan: SearchPlan, X: pd.DataFrame, y: pd.Series, *, budget: float = _BUDGET
    ) -> SampleTimes:
        folds = plan.validation.folds
        return self._search(plan, X, y).timed(budget=budget, enough=5 * _PATIENCE, folds=folds)

    def _smaller(self, whole: TimedPlan, X: pd.DataFrame, y: pd.Series) -> TimedPlan:
        """The small grid, or else another model or a sample."""
        small = self._of(self.model.model, y, small=True)
        less = whole.seconds * small.fits / whole.plan.fits  # or longer, because cells share work
        if less <= _PATIENCE:
            less = self._times(small, X, y, budget=_SHORT).seconds(small.validation.folds)
        if less > _PATIENCE:
            return self._other(small, X, y, _PATIENCE)
        self.screen.note(f"a coarser grid with {small.validation.folds} folds takes its place.")
        return TimedPlan(small, less)

    def _other(self, plan: SearchPlan, X: pd.DataFrame, y: pd.Series, patience: float) -> TimedPlan:
        """The model for many rows where there is one; its parameters from a sample where that takes long."""
        large = plan.family.large
        if large is not None and self.model.kernel is None:
            large = "linear-svm" if self.data.texts else large  # words need no kernel
            self.screen.note(f"{large}, which is made for many rows, takes the place of {plan.family.name}.")
            plan = self._of(large, y, small=True)
            plan = replace(plan, validation=replace(plan.validation, folds=min(3, plan.validation.folds)))
        times, folds = self._times(plan, X, y, budget=min(_BUDGET, patience)), plan.validation.folds
        sizes = [size for size in _SAMPLES if size < len(X)]
        if times.seconds(folds) <= patience or not sizes or plan.cells is None:
            return TimedPlan(plan, times.seconds(folds))
        rows = next((size for size in sizes if times.seconds(folds, size) <= patience), sizes[-1])
        self.screen.note(
            f"parameters of {plan.family.name} are chosen on {rows} of the rows, and the model is fitted to "
            "all of them."
        )
        estimator = self._search(plan, X, y).as_for_all_rows()
        return TimedPlan(replace(plan, rows=rows, estimator=estimator), times.seconds(folds, rows))


def say_time(seconds: float, fits: int, rows: int, screen: Screen) -> None:
    """How long the command will take."""
    screen.line("time", f"about {duration(seconds)} for {fits} fit{'s' * (fits > 1)} on up to {rows} rows")
    screen.tell(estimate={"seconds": seconds, "fits": fits, "rows": rows})


# -- the search itself ---------------------------------------------------------------------------------------


def search(
    plan: SearchPlan, X: pd.DataFrame, y: pd.Series, measure: TuningMeasure, screen: Screen, *, refit: bool
) -> Any:
    """`mm.tune` on the rows of the plan with its progress bar; after Ctrl-C the finished cells.

    ``refit`` also fits the best cell, to all rows.
    """
    options = plan.validation
    tried, targets = plan.sample(X, y)
    with screen.heart.during(screen.say("tuning")):
        found = mm.tune(
            plan.estimator,
            tried,
            targets,
            plan.cells,
            cv=options.folds,
            scoring=measure.scoring,
            random_state=options.seed,
            n_jobs=options.jobs,
            refit=False,
            verbose=-1 if screen.as_json else 0,
            callback=lambda progress: screen.heart.reached(progress.n_done, progress.n_total),
        )
    found = replace(found, measure=measure.name)
    if refit and not found.interrupted:
        with screen.working("fitting"):
            found = refitted(plan, X, y, found, screen.note)
    best = ", ".join(
        f"{name}={screen.shown(value) or value}" for name, value in plain_names(found.best_params).items()
    )
    cells = "1 cell" if len(found.table) == 1 else f"{len(found.table)} cells"
    screen.line(
        "tuning", f"{cells} x {found.folds.shape[1]} folds in {float(found.seconds):.1f} s ({found.path})"
    )
    screen.line(
        "best",
        f"{best}; {measure.name} {shown(float(found.best_error))} (± "
        f"{shown(float(found.table['dispersion'].iloc[found.best_index]), 2)} over folds)",
    )
    if found.interrupted:
        screen.note("interrupted: the best of the finished cells is used.")
    edges = list(plain_names(dict.fromkeys(found.edges())))
    screen.tell(
        tuning={
            "best": plain_names(found.best_params),
            "error": found.best_error,
            "measure": measure.name,
            "cells": len(found.table),
            "folds": found.folds.shape[1],
            "rows": len(tried),
            "path": found.path,
            "interrupted": found.interrupted,
            "edges": edges,
        }
    )
    return found


def refitted(plan: SearchPlan, X: pd.DataFrame, y: pd.Series, found: TuneResult, note: Note) -> TuneResult:
    """The result with its best cell fitted to these rows; after Ctrl-C without.

    A cell that was fitted to every fold can be impossible on all rows: then it counts as failed, and the next
    best one is fitted.
    """
    while True:
        try:
            best = clone(plan.estimator).set_params(**found.best_params).fit(X, y)
        except KeyboardInterrupt:
            return replace(found, interrupted=True)
        except ValueError as refused:
            is_best = np.arange(len(found.table)) == found.best_index
            error = found.table["error"].mask(is_best)
            if error.isna().all():
                raise
            table = found.table.assign(error=error, status=found.table["status"].mask(is_best, "failed"))
            cell = ", ".join(f"{name}={shown(v)}" for name, v in plain_names(found.best_params).items())
            note(f"{cell} cannot be fitted to all rows, and the next best combination is used: {refused}")
            found = replace(found, table=table)
        else:
            return replace(found, best_estimator=best)
