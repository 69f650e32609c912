"""``maxmargin fit``: from a table to a tuned, evaluated and saved model with its report."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from sklearn.base import clone

from maxmargin.cli.command_options import FitOptions
from maxmargin.cli.options import FoldOptions
from maxmargin.cli.outputs import Outputs, check_outputs, default_path
from maxmargin.cli.planning import Planner, SearchPlan, search
from maxmargin.cli.screen import ExitCode, Screen
from maxmargin.cli.table_input import prepared
from maxmargin.cli.work import Split, say_model, split
from maxmargin.tables.columns import Prepared
from maxmargin.tables.measures_and_rules import (
    DecisionRule,
    TuningMeasure,
    cheapest_rule,
    check_two_classes,
    parse_costs,
    tuning_measure,
)
from maxmargin.tables.models import positive_of
from maxmargin.tables.refusals import UsageRefusal

_AFTER, _REPORT = 1.0, 8.0  # seconds of evaluation and cautions, and of the report: their work is bounded


def run(options: FitOptions, screen: Screen) -> ExitCode:
    """Split, tune, refit, evaluate on held-out rows, save the model and a report."""
    source, name = options.table.data, options.model.model
    model_path = options.output or default_path(source, name, ".mm")
    report_path = None if options.no_report else options.report or default_path(source, name, ".html")
    if not options.table.dry_run:
        check_outputs(model_path, report_path, force=options.files.force)
    data = prepared(options.table, options.task, screen, kernel=options.model.kernel)
    positive = positive_of(data, options.model.positive)
    measure = tuning_measure(data, options.search.validation.scoring, positive, screen.note)
    _check_decision(options, data)
    parts = split(data, options.test_share, options.search.validation.seed, screen)
    planner = Planner(data, options.model, options.search, measure, positive, screen)
    plan = planner.plan(parts.X, parts.y, rest=_AFTER + (0.0 if options.no_report else _REPORT))
    validation = plan.validation
    subject = fitted_model(plan, parts, measure, screen)
    fitted = getattr(subject, "best_estimator", subject)
    say_model(fitted, screen)
    rule = _decision(options, data, parts, fitted, positive, validation, screen)
    interrupted = getattr(subject, "interrupted", False)
    if interrupted and report_path is not None:
        screen.note("interrupted: no report is written; maxmargin evaluate makes one.")
        report_path = None
    from maxmargin.cli.finishing import Finish  # loads what draws the report: not before the estimate

    finish = Finish(data, parts, positive, validation.seed, rule)
    finish.write(fitted, subject, model_path, report_path, Outputs(options.files, screen))
    return ExitCode.INTERRUPTED if interrupted else ExitCode.DONE


def fitted_model(plan: SearchPlan, parts: Split, measure: TuningMeasure, screen: Screen) -> Any:
    """The tuning result with its refitted model, or the model if there is nothing to tune."""
    if plan.cells is None:
        with screen.working("fitting"):
            return clone(plan.estimator).fit(parts.X, parts.y)
    found = search(plan, parts.X, parts.y, measure, screen, refit=True)
    if found.best_estimator is not None:
        return found
    with screen.working("fitting"):
        best = clone(plan.estimator).set_params(**found.best_params).fit(parts.X, parts.y)
    return replace(found, best_estimator=best)


def _check_decision(options: FitOptions, data: Prepared) -> None:
    given = {"--threshold": options.decision.threshold, "--cost": options.decision.cost}
    named = [option for option, value in given.items() if value is not None]
    if named:
        check_two_classes(data.classes, named[0])
    if len(named) > 1:
        raise UsageRefusal("--threshold and --cost exclude each other: give one of them.")
    if options.decision.cost is not None:
        parse_costs(options.decision.cost)


def _decision(
    options: FitOptions,
    data: Prepared,
    parts: Split,
    model: Any,
    positive: Any,
    validation: FoldOptions,
    screen: Screen,
) -> DecisionRule | None:
    """The threshold that was given, or the cheapest one."""
    if options.decision.threshold is None and options.decision.cost is None:
        return None
    if options.decision.threshold is not None:
        return DecisionRule(positive, options.decision.threshold)
    assert options.decision.cost is not None  # the other of the two
    costs = parse_costs(options.decision.cost)
    with screen.working("choosing the threshold"):
        rule, cost = cheapest_rule(
            model, parts.X, parts.y, positive, costs, folds=validation.folds, seed=validation.seed
        )
    screen.line(
        "threshold",
        f"{rule.threshold:.4g} for {str(positive)!r}: cost {cost:.4g} per row in cross-validation",
    )
    screen.tell(threshold={"positive": positive, "value": rule.threshold, "cost_per_row": cost})
    return rule
