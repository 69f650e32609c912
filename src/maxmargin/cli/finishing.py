"""The end of a run: coefficients, evaluation on held-out rows, cautions and the report.

Imported when the model is saved: it loads what draws the report.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from maxmargin.cli.outputs import Outputs, command_line
from maxmargin.cli.screen import Screen, shown
from maxmargin.cli.work import Split
from maxmargin.machines.linear.logistic_summary import LogisticSummary
from maxmargin.metrics import Evaluation
from maxmargin.reports.page import write_page
from maxmargin.reports.sections.evaluation_section import regression_measures
from maxmargin.reports.study import ReportOptions, Study, make_study
from maxmargin.tables.coefficients import estimate_names
from maxmargin.tables.columns import Prepared
from maxmargin.tables.measures_and_rules import DecisionRule, cheapest_constant

_SHOWN_COEFFICIENTS = 40
_CONFUSION_WIDTH, _SHOWN_CONFUSIONS = 60, 10  # letters beside the first column; rows
_COEFFICIENT_HEADS = {
    "coef": "estimate",
    "std_err": "std. error",
    "p_value": "p",
    "odds_ratio": "odds ratio",
    "odds_low": "odds low",
    "odds_high": "odds high",
}


def say_coefficients(study: Study, screen: Screen) -> None:
    """The coefficient table of a logistic regression or least squares."""
    with screen.working("computing standard errors"):
        found = study.coefficients
    if found is None:
        return
    table = found.table.rename(columns=_COEFFICIENT_HEADS)
    names = estimate_names(found)
    values = table.drop(columns=["low", "high"], errors="ignore") if "odds ratio" in table else table
    spaced = [name.replace("=", " = ", 1) for name in names]  # long names can be broken there
    rows = [[name, *map(float, row)] for name, row in zip(spaced, values.to_numpy(), strict=True)]
    plain = "a penalty or class weights" if isinstance(found, LogisticSummary) else "a penalty"
    screen.table(
        ["variable", *map(str, values.columns)],
        rows[:_SHOWN_COEFFICIENTS],
        f"coefficients without {plain}, in the units of the table",
    )
    if len(rows) > _SHOWN_COEFFICIENTS:
        screen.note(f"{len(rows) - _SHOWN_COEFFICIENTS} more coefficients are in the report and in --json.")
    fit = f"log-likelihood {found.log_likelihood:.6g}, AIC {found.aic:.6g}"
    if isinstance(found, LogisticSummary):
        screen.line("fit", f"{fit}; log odds of {found.odds}")
        for note in found.notes:
            screen.note(note)
    else:
        screen.line("fit", f"{fit}; R2 {found.r2:.4g}, residual deviation {shown(float(found.sigma))}")
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
    intervals = f" (intervals of {round(100 * result.confidence)} %)" if study.weights is None else ""
    screen.table(
        ["measure", *_MEASURES],
        [[_measure_name(screen, row[0]), *row[1:]] for row in rows],
        f"{screen.say(where)}{_of_class(result, screen)}{intervals}",
    )
    name, share = study.baseline
    screen.line("baseline", f"accuracy {share:.4g} by always predicting {name!r}, the largest class")
    counts = result.confusion.frame()
    _say_confusion(counts, int if study.weights is None else float, screen)
    screen.tell(
        evaluation={name: dict(zip(_MEASURES, values, strict=True)) for name, *values in rows},
        positive=result.confusion.positive,
        baseline={"class": name, "accuracy": share},
        confusion={"labels": [str(c) for c in counts.columns], "counts": counts.to_numpy()},
    )


def say_cost(study: Study, rule: DecisionRule | None, screen: Screen) -> None:
    """The cost per row of a rule that was chosen by its costs."""
    if rule is None or rule.costs is None:
        return
    confusion = study.evaluation.confusion
    k = confusion.names.index(str(rule.positive))
    fp, fn = confusion.counts[k, 1 - k], confusion.counts[1 - k, k]
    cost = float(rule.costs[0] * fp + rule.costs[1] * fn) / confusion.total
    name, constant = cheapest_constant(pd.Series(study.evaluated.y), rule, study.weights)
    screen.line("cost", f"{cost:.4g} per row; {constant:.4g} by always predicting {name!r}")
    screen.tell(cost={"per_row": cost, "baseline": constant})


def _say_confusion(counts: pd.DataFrame, kind: type, screen: Screen) -> None:
    """The table of confusions, or the most frequent ones where it would be too wide."""
    names, values = [str(name) for name in counts.index], counts.to_numpy()
    if sum(len(name) + 2 for name in names) <= _CONFUSION_WIDTH:
        body = [[name, *map(kind, row)] for name, row in zip(names, values, strict=True)]
        screen.table(["predicted \\ true", *names], body)
        return
    wrong = values * (1 - np.eye(len(names)))
    order = np.argsort(-wrong, axis=None, kind="stable")[:_SHOWN_CONFUSIONS]
    places = [divmod(int(k), len(names)) for k in order if wrong.flat[k] > 0]
    rows = [[names[j], names[i], kind(values[i, j])] for i, j in places]
    if rows:
        screen.table(["true", "predicted", "rows"], rows, "most frequent confusions (all are in --json)")


def _of_class(result: Evaluation, screen: Screen) -> str:
    """The positive class, whose sensitivity and precision the table shows."""
    label = result.confusion.positive
    return "" if label is None else f", {screen.say('positive class')} {label}"


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
        found = study.cautions
    for caution in found:
        screen.line("caution", f"{caution.what} {caution.remedy}")
    screen.tell(
        cautions=[{"kind": c.key, "serious": c.serious, "what": c.what, "remedy": c.remedy} for c in found]
    )


@dataclass(frozen=True)
class Finish:
    """The end of a run: evaluate on the held-out rows, warn and write the report."""

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

    def write(self, subject: Any, path: Path, report: Path | None, outputs: Outputs) -> None:
        """Print the evaluation of the model in ``path``, and write the report."""
        screen = outputs.screen
        study = self.study(subject, path, outputs)
        say_coefficients(study, screen)
        say_evaluation(study, screen, "held-out rows")
        say_cost(study, self.rule, screen)
        say_cautions(study, screen)
        screen.tell(report=report)
        if report is not None:
            write_report(study, report, outputs)


def write_report(study: Study, path: Path, outputs: Outputs) -> None:
    """The report on a study."""
    with outputs.screen.working("writing the report"):
        write_page(study, path, overwrite=outputs.files.force)
    outputs.screen.line("report", str(path))
    outputs.screen.tell(report=path)
