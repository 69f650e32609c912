"""``maxmargin demo``: the main job on bundled data."""

from __future__ import annotations

from dataclasses import replace

import pandas as pd
from sklearn.datasets import load_breast_cancer

from maxmargin.cli.column_selectors import SelectionSettings
from maxmargin.cli.command_options import DemoOptions, Method
from maxmargin.cli.commands.fit_command import fitted_model
from maxmargin.cli.commands.select_command import selected
from maxmargin.cli.finishing import Finish
from maxmargin.cli.options import FileOptions, FoldOptions, TableOptions
from maxmargin.cli.outputs import Outputs
from maxmargin.cli.planning import SearchPlan
from maxmargin.cli.screen import Screen
from maxmargin.cli.table_input import prepared
from maxmargin.cli.work import say_model, split
from maxmargin.tables.measures_and_rules import TuningMeasure
from maxmargin.tables.models import chosen_family, grid_of, pipeline
from maxmargin.tables.table_settings import Encoding, Task

_TARGET = "diagnosis"


def run(options: DemoOptions, screen: Screen) -> None:
    """Write the table, fit, select and report; files of an earlier demo are replaced."""
    outputs = Outputs(FileOptions(force=True), screen)
    options.folder.mkdir(parents=True, exist_ok=True)
    path = options.folder / "breast_cancer.csv"
    outputs.csv(_bundled(), path, label="table")
    data = prepared(TableOptions(data=path, target=_TARGET), Task.AUTO, screen)
    parts = split(data, 0.25, options.seed, screen)
    family = chosen_family(data, "svm")
    validation = FoldOptions(seed=options.seed)
    estimator = pipeline(data, family.make(), Encoding.ONEHOT)
    plan = SearchPlan(family, estimator, grid_of(family), validation)
    subject = fitted_model(plan, parts, TuningMeasure("error"), screen)
    if subject.interrupted:
        raise KeyboardInterrupt
    fitted = subject.best_estimator
    say_model(fitted, screen)
    training = replace(data, X=parts.X, y=parts.y)
    selected(training, SelectionSettings(Method.RFE, 10, validation), screen)
    model, report = options.folder / "breast_cancer.svm.mm", options.folder / "report.html"
    outputs.model(fitted, data, model, report=report, rule=None, positive="malignant")
    Finish(data, parts, "malignant", options.seed).write(subject, model, report, outputs)
    screen.text(f"The report is in {report.resolve()}")
    screen.text(f"Next: maxmargin fit {path} --target {_TARGET}")


def _bundled() -> pd.DataFrame:
    """Wisconsin's breast cancer table from scikit-learn, with the diagnosis in words."""
    data = load_breast_cancer(as_frame=True)
    table: pd.DataFrame = data.data.copy()
    table[_TARGET] = [str(data.target_names[code]) for code in data.target]
    return table
