"""``maxmargin compare``: all models side by side."""

from __future__ import annotations

import warnings
from collections import Counter
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from sklearn.base import clone

import maxmargin as mm
from maxmargin.base import work_clock
from maxmargin.cli.command_options import CompareOptions
from maxmargin.cli.outputs import Outputs, check_outputs
from maxmargin.cli.screen import ExitCode, Screen, shown
from maxmargin.cli.table_input import prepared
from maxmargin.cli.work import check_enough, folds_for, plain_names
from maxmargin.tables.columns import Prepared
from maxmargin.tables.measures_and_rules import TuningMeasure, tuning_measure, weighted
from maxmargin.tables.models import Family, chosen_family, families, grid_of, pipeline
from maxmargin.tuning.errors import ErrorMeasure
from maxmargin.tuning.folds import make_folds


def run(options: CompareOptions, screen: Screen) -> ExitCode:
    """The nested cross-validation error of every model, the best first."""
    check_outputs(options.output, force=options.files.force)
    data = prepared(options.table, options.task, screen)
    check_enough(data)
    known = families(data)
    chosen = [chosen_family(data, name) for name in options.only] if options.only else _usual(known)
    validation = options.validation
    folds = folds_for(data.y, validation.folds, classifies=data.classifies, screen=screen)
    splits = make_folds(folds, chosen[0].make(), data.X, data.y.to_numpy(), validation.seed)
    measure = tuning_measure(data, validation.scoring, None, screen.note)
    contest = Contest(data, options, measure, splits, screen)
    found, interrupted = contest.all(chosen)
    if not found:
        raise KeyboardInterrupt("interrupted before a model was finished")
    found.sort(key=lambda row: row["error"] if row["error"] == row["error"] else float("inf"))
    screen.table(
        ["model", measure.name, "± over folds", "seconds", "settings in most folds"],
        [[r["family"], r["error"], r["deviation"], r["seconds"], r["settings"]] for r in found],
        f"{folds} outer folds, tuned inside each",
        mark=0,
    )
    screen.tell(folds=folds, measure=measure.name, families=found, interrupted=interrupted)
    if options.output is not None:
        Outputs(options.files, screen).csv(pd.DataFrame(found), options.output)
    return ExitCode.INTERRUPTED if interrupted else ExitCode.DONE


def _usual(known: dict[str, Family]) -> list[Family]:
    return [family for family in known.values() if family.usual]


@dataclass(frozen=True)
class Contest:
    """Models on the same outer folds, each tuned inside every fold."""

    data: Prepared
    options: CompareOptions
    measure: TuningMeasure
    splits: Any
    screen: Screen

    def all(self, chosen: list[Family]) -> tuple[list[dict[str, Any]], bool]:
        """A row for each finished model, and whether Ctrl-C ended the run."""
        found: list[dict[str, Any]] = []
        with self.screen.working("comparing", len(chosen) * len(self.splits)) as step:
            try:
                for family in chosen:
                    with warnings.catch_warnings(record=True) as said:
                        found.append(self.one(family, step))
                    if said:
                        self.screen.note(f"{family.name}: {said[0].message} (warnings: {len(said)})")
            except KeyboardInterrupt:
                self.screen.note("interrupted: the finished models are shown.")
                return found, True
        return found, False

    def one(self, family: Family, step: Any) -> dict[str, Any]:
        """The errors of one model on rows that neither tuning nor fitting has seen."""
        data, options = self.data, self.options
        machine = weighted(family, data, options.class_weight, self.screen.note)
        estimator = pipeline(data, machine, options.categories)
        grid, error = grid_of(family, small=True), ErrorMeasure(estimator, self.measure.scoring)
        errors, settings = [], Counter[str]()
        began = work_clock.now()
        for train, test in self.splits:
            step(family.name)
            try:
                model, chosen = self._tuned(estimator, grid, data.X.iloc[train], data.y.iloc[train])
                errors.append(error.of_model(model, data.X.iloc[test], data.y.iloc[test].to_numpy()))
            except (ValueError, AttributeError) as refused:
                self.screen.note(f"{family.name} cannot be used: {refused}")
                errors.append(float("nan"))
                break
            settings[chosen] += 1
        return {
            "family": family.name,
            "error": float(np.mean(errors)),
            "deviation": float(np.std(errors, ddof=1)) if len(errors) > 1 else float("nan"),
            "seconds": work_clock.now() - began,
            "settings": settings.most_common(1)[0][0] if settings else "",
            "folds": errors,
        }

    def _tuned(self, estimator: Any, grid: Any, X: pd.DataFrame, y: pd.Series) -> tuple[Any, str]:
        """The best model of a grid on these rows, and its settings as text."""
        if grid is None:
            return clone(estimator).fit(X, y), ""
        validation = self.options.validation
        result = mm.tune(
            estimator,
            X,
            y,
            grid,
            cv=5,
            scoring=self.measure.scoring,
            random_state=validation.seed,
            n_jobs=validation.jobs,
            verbose=-1,
        )
        if result.interrupted:
            raise KeyboardInterrupt
        chosen = (f"{name}={shown(value)}" for name, value in plain_names(result.best_params).items())
        return result.best_estimator, ", ".join(chosen)
