"""``maxmargin evaluate``: a saved model on rows with known targets."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from maxmargin.base.typing import AnyArray
from maxmargin.cli.command_options import EvaluateOptions
from maxmargin.cli.finishing import say_cautions, say_cost, say_evaluation, write_report
from maxmargin.cli.outputs import Outputs, check_outputs, command_line
from maxmargin.cli.saved_model import SavedModel
from maxmargin.cli.screen import Screen
from maxmargin.reports.study import ReportOptions, make_study
from maxmargin.tables.columns import known_column, target_for
from maxmargin.tables.models import match_class
from maxmargin.tables.refusals import Refusal, UsageRefusal


def run(options: EvaluateOptions, screen: Screen) -> None:
    """Measures with intervals, warnings, and a report if one is wanted."""
    check_outputs(options.report, force=options.files.force, read=(options.model, options.data))
    saved = SavedModel.of(options.model)
    name = options.target or saved.schema.target
    if name is None:
        raise UsageRefusal("the model file does not name its target: give --target.")
    table, rows = saved.rows(options.data, options.reading, screen)
    y = target_for(saved.schema, name, table, options.data, saved.classes)
    positive, threshold = _decision(options, saved)
    screen.line("model", f"{options.model}: {' > '.join(saved.about['model'])}")
    screen.line("data", f"{options.data}: {len(rows)} rows, target {name}")
    if threshold is not None:
        how = "as given" if options.threshold is not None else "as chosen when fitting"
        screen.line("threshold", f"{threshold:.4g} for {str(positive)!r}, {how}")
    if _is_training_file(options.data, saved):
        screen.note(f"the model was fitted to rows of {options.data.name}: expect worse on new rows.")
    screen.tell(model=options.model, data=options.data, rows=len(rows), target=name, threshold_used=threshold)
    report_options: ReportOptions = {
        "held_out": True,
        "language": screen.say.language,
        "target": name,
        "positive": positive,
        "threshold": threshold,
        "random_state": options.seed,
        "command": command_line(),
        "model_file": options.model.name,
    }
    study = make_study(saved.model, rows, y, None, report_options)
    if options.weights is not None:
        study = replace(study, weights=_weights(options, saved, table))
    say_evaluation(study, screen, "these rows")
    say_cost(study, saved.rule if options.threshold is None else None, screen)
    say_cautions(study, screen)
    if options.report is not None:
        write_report(study, options.report, Outputs(options.files, screen))


def _is_training_file(data: Path, saved: SavedModel) -> bool:
    """True if this is the file that the model was fitted to, judged by its name."""
    return Path(str(saved.about["notes"].get("data"))).resolve() == data.resolve()


def _weights(options: EvaluateOptions, saved: SavedModel, table: pd.DataFrame) -> AnyArray:
    """The weights of the rows, from their column."""
    if not saved.classes or options.report is not None:
        raise UsageRefusal("--weights needs classes and cannot be combined with --report, which counts rows.")
    assert options.weights is not None
    known_column(options.weights, table, options.data)
    column = pd.to_numeric(table[options.weights], errors="coerce").to_numpy(dtype=float)
    if not (np.isfinite(column) & (column >= 0)).all():
        row = int(np.argmin(np.isfinite(column) & (column >= 0))) + 1
        raise Refusal(
            f"{options.data}: the weight in row {row} of {options.weights!r} is missing, negative or not "
            "a number: weights must be numbers >= 0."
        )
    return column


def _decision(options: EvaluateOptions, saved: SavedModel) -> tuple[Any, float | None]:
    """The positive class and the threshold: as given, or as chosen when fitting."""
    given, rule = options.positive, saved.rule
    if not saved.classes and (given is not None or options.threshold is not None):
        raise UsageRefusal("--positive and --threshold are for classes; this model predicts a quantity.")
    positive = saved.positive if given is None else match_class(saved.classes, given)
    if options.threshold is not None or rule is None:
        return positive, options.threshold
    if given is not None and positive != rule.positive:
        raise UsageRefusal(
            f"the model file has a threshold for {str(rule.positive)!r}: give --threshold for {given!r}."
        )
    return rule.positive, rule.threshold
