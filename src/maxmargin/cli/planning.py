"""What a search will try: the whole grid where it takes about a minute, else less, and says so."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd

from maxmargin.cli.options import FoldOptions, ModelOptions, SearchOptions
from maxmargin.cli.screen import Screen
from maxmargin.cli.work import folds_for
from maxmargin.tables.columns import Prepared
from maxmargin.tables.measures_and_rules import TuningMeasure, check_scores, weighted
from maxmargin.tables.models import Family, chosen_family, grid_of, pipeline, with_kernel
from maxmargin.tables.time_estimate import SampleSearch, duration

_PATIENCE = 60.0  # seconds beyond which less is tried
_FEW_ROWS = 300  # tables so small take seconds: no estimate
_FEW_FOLDS = 5


@dataclass(frozen=True)
class SearchPlan:
    """A model, the cells of its grid (None: nothing to try) and the folds."""

    family: Family
    estimator: Any
    cells: dict[str, list[Any]] | None
    validation: FoldOptions

    @property
    def fits(self) -> int:
        """Number of fits of the search."""
        cells = 1 if self.cells is None else int(np.prod([len(values) for values in self.cells.values()]))
        return cells * (1 if self.cells is None else self.validation.folds)


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
        if len(X) <= _FEW_ROWS:
            return whole
        with self.screen.working("estimating the time"):
            seconds = self._seconds(whole, X, y)
            chosen, less = whole, ""
            if seconds > _PATIENCE and not self.search.exact and not self.search.grid:
                chosen, seconds, less = self._smaller(whole, seconds, X, y)
        if less:
            self.screen.note(f"{less} (--exact tries the whole grid of {whole.family.name}).")
        seconds += rest
        self.screen.line("time", f"about {duration(seconds)} for {chosen.fits} fits on up to {len(X)} rows")
        self.screen.tell(estimate={"seconds": seconds, "fits": chosen.fits, "model": chosen.family.name})
        return chosen

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

    def _seconds(self, plan: SearchPlan, X: pd.DataFrame, y: pd.Series) -> float:
        search = SampleSearch(
            plan.estimator,
            X,
            y,
            plan.cells,
            growth=plan.family.growth,
            scoring=self.measure.scoring,
            n_jobs=plan.validation.jobs,
        )
        return search.seconds(plan.validation.folds, budget=1.2, enough=5 * _PATIENCE)

    def _smaller(
        self, whole: SearchPlan, seconds: float, X: pd.DataFrame, y: pd.Series
    ) -> tuple[SearchPlan, float, str]:
        """Less work: the small grid, or the model for many rows; its seconds, and why."""
        why = f"the whole grid would take about {duration(seconds)}"
        small = self._of(self.model.model, y, small=True)
        less = seconds * small.fits / whole.fits
        large = "linear-svm" if self.data.texts else whole.family.large  # words need no kernel
        if less <= _PATIENCE or large is None or self.model.kernel is not None:
            if small.fits == whole.fits:
                return whole, seconds, ""
            return small, less, f"{why}: a coarser grid with {small.validation.folds} folds is tried"
        plan = self._of(large, y, small=True)
        plan = replace(plan, validation=replace(plan.validation, folds=min(3, plan.validation.folds)))
        machine = type(plan.family.make()).__name__
        return plan, self._seconds(plan, X, y), f"{why}: {machine}, which is made for this, takes its place"
