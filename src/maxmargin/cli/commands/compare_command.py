"""``maxmargin compare``: all models side by side."""

from __future__ import annotations

import warnings
from collections import Counter
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd
from sklearn.base import clone

import maxmargin as mm
from maxmargin.base import work_clock
from maxmargin.cli.command_options import CompareOptions
from maxmargin.cli.options import ModelOptions, SearchOptions
from maxmargin.cli.outputs import Outputs, check_outputs
from maxmargin.cli.planning import Planner, SearchPlan, refitted, say_time
from maxmargin.cli.screen import ExitCode, Screen, shown
from maxmargin.cli.table_input import prepared
from maxmargin.cli.work import check_enough, folds_for, plain_names
from maxmargin.tables.columns import Prepared
from maxmargin.tables.measures_and_rules import TuningMeasure, tuning_measure
from maxmargin.tables.models import Family, chosen_family, families, positive_of
from maxmargin.tables.refusals import UsageRefusal
from maxmargin.tuning.errors import ErrorMeasure
from maxmargin.tuning.folds import make_folds


def run(options: CompareOptions, screen: Screen) -> ExitCode:
    """The nested cross-validation error of every model, the best first."""
    check_outputs(
        options.output, force=options.files.force or options.table.dry_run, read=(options.table.data,)
    )
    data = prepared(options.table, options.task, screen)
    check_enough(data)
    known = families(data)
    chosen = [chosen_family(data, name) for name in options.only] or [f for f in known.values() if f.usual]
    validation = options.validation
    folds = folds_for(data.y, validation.folds, classifies=data.classifies, screen=screen)
    splits = make_folds(folds, chosen[0].make(), data.X, data.y.to_numpy(), validation.seed)
    measure = tuning_measure(data, validation.scoring, positive_of(data, None), screen.note)
    contest = Contest(data, options, measure, splits, screen)
    found, interrupted = contest.all(contest.entries(chosen))
    if not found:
        raise KeyboardInterrupt("interrupted before a model was finished")
    found.sort(key=lambda row: row["error"] if row["error"] == row["error"] else float("inf"))
    screen.table(
        ["model", measure.name, "± over folds", "seconds", "settings in most folds"],
        [
            [*(r[key] for key in ("family", "error", "deviation", "seconds")), screen.figures(r["settings"])]
            for r in found
        ],
        f"{folds} outer folds, tuned inside each",
        mark=0,
    )
    screen.tell(folds=folds, measure=measure.name, families=found, interrupted=interrupted)
    if options.output is not None:
        Outputs(options.files, screen).csv(pd.DataFrame(found), options.output)
    return ExitCode.INTERRUPTED if interrupted else ExitCode.DONE


@dataclass(frozen=True)
class Contest:
    """Models on the same outer folds, each tuned inside every fold."""

    data: Prepared
    options: CompareOptions
    measure: TuningMeasure
    splits: Any
    screen: Screen

    def entries(self, chosen: list[Family]) -> dict[str, SearchPlan]:
        """The grid of each model inside every fold; prints how long all of them will take."""
        data, options, times = self.data, self.options, len(self.splits)
        rows = self.splits[0][0]
        X, y = data.X.iloc[rows], data.y.iloc[rows]
        search = SearchOptions(exact=options.exact, validation=replace(options.validation, folds=5))
        plans: dict[str, SearchPlan] = {}
        seconds = 0.0
        with self.screen.working("estimating the time", len(chosen)) as step:
            for family in chosen:
                model = ModelOptions(
                    model=family.name, categories=options.categories, class_weight=options.class_weight
                )
                planner = Planner(data, model, search, self.measure, None, self.screen)
                try:
                    found = planner.repeated(X, y, times)
                except UsageRefusal as refused:  # such as a measure of probabilities
                    self.screen.note(f"{family.name} cannot be used: {refused}")
                else:
                    plans[family.name] = found.plan
                    seconds += found.seconds
                step(family.name)
        if not plans:
            raise UsageRefusal("no model can be used.")
        if seconds:
            fits = times * sum(plan.fits for plan in plans.values())
            say_time(seconds, fits, len(X), self.screen)
        return plans

    def all(self, chosen: dict[str, SearchPlan]) -> tuple[list[dict[str, Any]], bool]:
        """A row for each finished model, and whether Ctrl-C ended the run."""
        found: list[dict[str, Any]] = []
        with self.screen.working("comparing", len(chosen) * len(self.splits)) as step:
            try:
                for name, plan in chosen.items():
                    with warnings.catch_warnings(record=True) as said:
                        found.append(self.one(name, plan, step))
                    if said:
                        self.screen.note(f"{name}: {said[0].message} (warnings: {len(said)})")
            except KeyboardInterrupt:
                self.screen.note("interrupted: the finished models are shown.")
                return found, True
        return found, False

    def one(self, name: str, plan: SearchPlan, step: Any) -> dict[str, Any]:
        """The errors of one model on rows that neither tuning nor fitting has seen."""
        data, error = self.data, ErrorMeasure(plan.estimator, self.measure.scoring)
        errors, settings = [], Counter[str]()
        began = work_clock.now()
        for train, test in self.splits:
            try:
                model, chosen = self._tuned(plan, data.X.iloc[train], data.y.iloc[train])
                errors.append(error.of_model(model, data.X.iloc[test], data.y.iloc[test].to_numpy()))
            except (ValueError, AttributeError) as refused:
                self.screen.note(f"{name} cannot be used: {refused}")
                errors.append(float("nan"))
                break
            settings[chosen] += 1
            step(name)
        return {
            "family": name,
            "error": float(np.mean(errors)),
            "deviation": float(np.std(errors, ddof=1)) if len(errors) > 1 else float("nan"),
            "seconds": work_clock.now() - began,
            "settings": settings.most_common(1)[0][0] if settings else "",
            "folds": errors,
        }

    def _tuned(self, plan: SearchPlan, X: pd.DataFrame, y: pd.Series) -> tuple[Any, str]:
        """The best model of a grid on these rows, and its settings as text."""
        if plan.cells is None:
            return clone(plan.estimator).fit(X, y), ""
        validation = self.options.validation
        result = mm.tune(
            plan.estimator,
            *plan.sample(X, y),
            plan.cells,
            cv=plan.validation.folds,
            scoring=self.measure.scoring,
            random_state=validation.seed,
            n_jobs=validation.jobs,
            refit=False,
            verbose=-1,
        )
        if not result.interrupted:
            result = refitted(plan, X, y, result, self.screen.note)
        if result.interrupted:
            raise KeyboardInterrupt
        chosen = (
            f"{name}={shown(value) or value}" for name, value in plain_names(result.best_params).items()
        )
        return result.best_estimator, ", ".join(chosen)
