"""``maxmargin fit``: from a table to a tuned, evaluated and saved model with its report."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from sklearn.base import clone

from maxmargin.cli.columns import Prepared, prepare
from maxmargin.cli.command_options import FitOptions
from maxmargin.cli.measures_and_rules import (
    DecisionRule,
    TuningMeasure,
    cheapest_rule,
    check_scores,
    check_two_classes,
    parse_costs,
    tuning_measure,
    weighted,
)
from maxmargin.cli.models import chosen_family, grid_of, pipeline, positive_of, with_kernel
from maxmargin.cli.options import FoldOptions
from maxmargin.cli.outputs import Outputs, check_outputs, default_path
from maxmargin.cli.screen import ExitCode, Screen, UsageRefusal
from maxmargin.cli.work import Finish, Split, folds_for, say_model, search, split


def run(options: FitOptions, screen: Screen) -> ExitCode:
    """Split, tune, refit, evaluate on held-out rows, save the model and a report."""
    source, name = options.table.data, options.model.model
    model_path = options.output or default_path(source, name, ".mm")
    report_path = None if options.no_report else options.report or default_path(source, name, ".html")
    check_outputs(model_path, report_path, force=options.files.force)
    data = prepare(options.table, options.task, screen)
    family = with_kernel(chosen_family(data, name), options.model.kernel, data)
    positive = positive_of(data, options.model.positive)
    measure = tuning_measure(data, options.search.validation.scoring, positive, screen)
    check_scores(family, measure)
    _check_decision(options, data)
    estimator = pipeline(
        data, weighted(family, data, options.model.class_weight, screen), options.model.categories, positive
    )
    cells = grid_of(family, options.search.grid)
    parts = split(data, options.test_share, options.search.validation.seed, screen)
    folds = folds_for(parts.y, options.search.validation.folds, classifies=data.classifies, screen=screen)
    validation = replace(options.search.validation, folds=folds)
    subject = fitted_model(estimator, parts, cells, measure, validation, screen)
    fitted = getattr(subject, "best_estimator", subject)
    say_model(fitted, screen)
    rule = _decision(options, data, parts, fitted, positive, validation, screen)
    finish = Finish(data, parts, positive, validation.seed, rule)
    finish.write(fitted, subject, model_path, report_path, Outputs(options.files, screen))
    return ExitCode.INTERRUPTED if getattr(subject, "interrupted", False) else ExitCode.DONE


def fitted_model(
    estimator: Any, parts: Split, cells: Any, measure: TuningMeasure, options: FoldOptions, screen: Screen
) -> Any:
    """The tuning result with its refitted model, or the model if there is nothing to tune."""
    if cells is None:
        with screen.working("fitting"):
            return clone(estimator).fit(parts.X, parts.y)
    found = search(estimator, parts.X, parts.y, cells, measure, options, screen)
    if found.best_estimator is not None:
        return found
    best = clone(estimator).set_params(**found.best_params).fit(parts.X, parts.y)
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
    positive = data.classes[-1] if positive is None else positive
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
