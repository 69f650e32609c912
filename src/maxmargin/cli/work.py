"""Steps that several commands share: split, tune, evaluate, save and report."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from sklearn.model_selection import train_test_split

import maxmargin as mm
from maxmargin.cli.options import FoldOptions
from maxmargin.cli.outputs import Outputs, command_line
from maxmargin.cli.screen import Screen, shown
from maxmargin.machines.linear.logistic_summary import LogisticSummary
from maxmargin.metrics import Evaluation
from maxmargin.reports.page import write_page
from maxmargin.reports.sections.cautions_section import found_cautions
from maxmargin.reports.sections.evaluation_section import regression_measures
from maxmargin.reports.study import ReportOptions, Study, make_study
from maxmargin.tables.coefficients import estimate_names
from maxmargin.tables.columns import Prepared
from maxmargin.tables.measures_and_rules import DecisionRule, TuningMeasure
from maxmargin.tables.refusals import Refusal, UsageRefusal

_LEAST_ROWS = 10
_SHOWN_COEFFICIENTS = 40
_COEFFICIENT_HEADS = {
    "coef": "estimate",
    "std_err": "std. error",
    "p_value": "p",
    "odds_ratio": "odds ratio",
    "odds_low": "odds low",
    "odds_high": "odds high",
}


@dataclass(frozen=True)
class Split:
    """Training rows and held-out rows."""

    X: pd.DataFrame
    X_test: pd.DataFrame
    y: pd.Series
    y_test: pd.Series


def split(data: Prepared, share: float, seed: int, screen: Screen) -> Split:
    """Hold out a share of the rows, the same share of every class."""
    check_enough(data)
    if data.classifies and round(share * len(data.y)) < len(data.classes):
        raise UsageRefusal(f"--test-share {share:g} holds out fewer rows than there are classes.")
    stratify = data.y if data.classifies else None
    parts = train_test_split(data.X, data.y, test_size=share, random_state=seed, stratify=stratify)
    X, X_test, y, y_test = (part.reset_index(drop=True) for part in parts)
    screen.line("split", f"{len(X)} training rows, {len(X_test)} held out (seed {seed})")
    screen.tell(split={"training": len(X), "held_out": len(X_test), "seed": seed})
    return Split(X, X_test, y, y_test)


def check_enough(data: Prepared) -> None:
    """Refuse tables that are too small to be split."""
    n = len(data.X)
    if n < _LEAST_ROWS:
        raise Refusal(f"{data.source}: {n} rows are too few; at least {_LEAST_ROWS} are needed.")
    if data.classifies:
        sizes = data.y.value_counts()
        if sizes.min() < 4:
            raise Refusal(
                f"class {sizes.idxmin()!r} is too rare (rows: {int(sizes.min())}): every class needs at "
                "least 4. Leave it out, or use --task regression if the target is a quantity."
            )


def folds_for(y: pd.Series, folds: int, *, classifies: bool, screen: Screen) -> int:
    """The number of folds, or fewer if the smallest class has fewer rows; says so."""
    most = int(y.value_counts().min()) if classifies else len(y)
    if folds > most:
        screen.note(f"{most} folds instead of {folds}: the smallest class has {most} training rows.")
    return min(folds, most)


def search(
    model: Any, X: Any, y: Any, grid: Any, measure: TuningMeasure, options: FoldOptions, screen: Screen
) -> Any:
    """`mm.tune` with its progress bar; after Ctrl-C the finished cells."""
    found = mm.tune(
        model,
        X,
        y,
        grid,
        cv=options.folds,
        scoring=measure.scoring,
        random_state=options.seed,
        n_jobs=options.jobs,
        verbose=-1 if screen.as_json else 0,
    )
    found = replace(found, measure=measure.name)
    best = ", ".join(
        f"{name}={screen.shown(value)}" for name, value in plain_names(found.best_params).items()
    )
    screen.line(
        "tuning",
        f"{len(found.table)} cells x {found.folds.shape[1]} folds in {float(found.seconds):.1f} s "
        f"({found.path})",
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
            "path": found.path,
            "interrupted": found.interrupted,
            "edges": edges,
        }
    )
    return found


def plain_names(params: dict[str, Any]) -> dict[str, Any]:
    """Parameters without the name of the pipeline's step."""
    return {name.removeprefix("model__"): value for name, value in params.items()}


def say_edges(found: Any, screen: Screen) -> None:
    """A note if the best cell lies on the edge of the grid."""
    names = ", ".join(plain_names(dict.fromkeys(found.edges())))
    if names:
        screen.note(f"the best cell lies on the edge of the grid in {names}: try more values with --grid.")


def say_model(model: Any, screen: Screen) -> None:
    """The model and its certificate."""
    machine = model.steps[-1][1] if hasattr(model, "steps") else model
    name = type(machine).__name__
    if hasattr(machine, "support_"):
        screen.line("model", f"{name}, {len(machine.support_)} support vectors")
    else:
        screen.line("model", name)
    certificate = getattr(machine, "certificate_", None)
    if certificate is not None:
        screen.line("proof", f"{str(certificate).removeprefix('Certificate: ')}")
    screen.tell(machine=name, certificate=None if certificate is None else dict(vars(certificate)))


def say_coefficients(study: Study, screen: Screen) -> None:
    """The coefficient table of a logistic regression or least squares."""
    with screen.working("computing standard errors"):
        found = study.coefficients
    if found is None:
        return
    table = found.table.rename(columns=_COEFFICIENT_HEADS)
    names = estimate_names(found)
    values = table.drop(columns=["low", "high"], errors="ignore") if "odds ratio" in table else table
    rows = [[name, *map(float, row)] for name, row in zip(names, values.to_numpy(), strict=True)]
    screen.table(
        ["variable", *map(str, values.columns)],
        rows[:_SHOWN_COEFFICIENTS],
        "coefficients without a penalty, in the units of the table",
    )
    if len(rows) > _SHOWN_COEFFICIENTS:
        screen.note(f"{len(rows) - _SHOWN_COEFFICIENTS} more coefficients are in the report and in --json.")
    fit = f"log-likelihood {found.log_likelihood:.6g}, AIC {found.aic:.6g}"
    if isinstance(found, LogisticSummary):
        screen.line("fit", f"{fit}; log odds of {found.odds}")
        for note in found.notes:
            screen.note(note)
    else:
        screen.line("fit", f"{fit}; R2 {found.r2:.4g}, residual deviation {found.sigma:.4g}")
    screen.tell(
        coefficients=dict(zip(names, found.table.to_dict("records"), strict=True)),
        fit={"log_likelihood": found.log_likelihood, "aic": found.aic},
    )


# -- evaluation ----------------------------------------------------------------------------------------------

_MEASURES = ("value", "low", "high")


def say_evaluation(study: Study, screen: Screen, where: str) -> None:
    """Measures with intervals, the baseline, and the confusion table."""
    if study.subject.task == "regression":
        _say_regression(study, screen, where)
        return
    with screen.working("evaluating"):
        result: Evaluation = study.evaluation
    table = result.table()
    rows: list[list[Any]] = [
        [str(name), *map(float, row)] for name, row in zip(table.index, table.to_numpy(), strict=True)
    ]
    screen.table(
        ["measure", *_MEASURES],
        [[_measure_name(screen, row[0]), *row[1:]] for row in rows],
        f"{screen.say(where)} (intervals of {round(100 * result.confidence)} %)",
    )
    name, share = study.baseline
    screen.line("baseline", f"accuracy {share:.4g} by always predicting {name!r}, the largest class")
    counts = result.confusion.frame()
    body = [
        [str(name), *(int(v) for v in row)] for name, row in zip(counts.index, counts.to_numpy(), strict=True)
    ]
    screen.table(["predicted \\ true", *map(str, counts.columns)], body)
    screen.tell(
        evaluation={name: dict(zip(_MEASURES, values, strict=True)) for name, *values in rows},
        baseline={"class": name, "accuracy": share},
        confusion={"labels": [str(c) for c in counts.columns], "counts": counts.to_numpy()},
    )


def _measure_name(screen: Screen, name: str) -> str:
    """A measure, translated: a known one, or "recall of CLASS"."""
    head, of, rest = name.partition(" of ")
    return f"{screen.say((head + of).rstrip())} {rest}" if of else screen.say(name)


def _say_regression(study: Study, screen: Screen, where: str) -> None:
    truth = np.asarray(study.evaluated.y, dtype=float)
    predicted = np.asarray(study.subject.model.predict(study.evaluated.X))
    found = regression_measures(truth, predicted, seed=study.seed)
    rows = [[_measure_name(screen, name), *values] for name, values in found.items()]
    screen.table(["measure", *_MEASURES], rows, f"{screen.say(where)} (intervals of 95 %)")
    spread = float(np.std(truth))
    screen.line("baseline", f"root mean square error {shown(spread)} by always predicting the mean")
    screen.tell(
        evaluation={name: dict(zip(_MEASURES, values, strict=True)) for name, values in found.items()},
        baseline={"root mean square error": spread},
    )


def say_cautions(study: Study, screen: Screen) -> None:
    """What the reader must know before trusting the figures."""
    with screen.working("looking for problems"):
        found = found_cautions(study)
    for caution in found:
        screen.line("caution", f"{caution.what} {caution.remedy}")
    screen.tell(
        cautions=[{"kind": c.key, "serious": c.serious, "what": c.what, "remedy": c.remedy} for c in found]
    )


@dataclass(frozen=True)
class Finish:
    """The end of a run: evaluate on the held-out rows, warn, save the model and write the report."""

    data: Prepared
    parts: Split
    positive: Any
    seed: int
    rule: DecisionRule | None = None

    def study(self, subject: Any, model_file: Path, outputs: Outputs) -> Study:
        """What is evaluated; ``subject`` is the model or its tuning."""
        options: ReportOptions = {
            "language": outputs.screen.say.language,
            "target": self.data.schema.target,
            "positive": self.positive if self.rule is None else self.rule.positive,
            "threshold": None if self.rule is None else self.rule.threshold,
            "random_state": self.seed,
            "command": command_line(),
            "model_file": f"{model_file.name} ({outputs.run})",
        }
        return make_study(
            subject, self.parts.X_test, self.parts.y_test, (self.parts.X, self.parts.y), options
        )

    def write(self, model: Any, subject: Any, path: Path, report: Path | None, outputs: Outputs) -> None:
        """Print the evaluation, and write the model file and the report."""
        screen = outputs.screen
        study = self.study(subject, path, outputs)
        say_coefficients(study, screen)
        say_evaluation(study, screen, "held-out rows")
        say_cautions(study, screen)
        outputs.model(model, self.data, path, report=report, rule=self.rule)
        screen.tell(report=report)
        if report is not None:
            write_report(study, report, outputs)


def write_report(study: Study, path: Path, outputs: Outputs) -> None:
    """The report on a study."""
    with outputs.screen.working("writing the report"):
        write_page(study, path, overwrite=outputs.files.force)
    outputs.screen.line("report", str(path))
    outputs.screen.tell(report=path)
