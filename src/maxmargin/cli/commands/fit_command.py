"""``maxmargin fit``: from a table to a tuned, evaluated and saved model with its report."""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext
from dataclasses import replace
from typing import Any

from sklearn.base import clone

from maxmargin.base.interruption import interrupted_after
from maxmargin.cli.command_options import FitOptions
from maxmargin.cli.options import FoldOptions
from maxmargin.cli.outputs import Outputs, check_outputs, default_path
from maxmargin.cli.planning import Planner, SearchPlan, search
from maxmargin.cli.screen import ExitCode, Screen
from maxmargin.cli.table_input import prepared
from maxmargin.cli.work import Split, plain_names, say_model, split
from maxmargin.tables.columns import Prepared
from maxmargin.tables.measures_and_rules import (
    DecisionRule,
    TuningMeasure,
    cheapest_constant,
    cheapest_rule,
    check_two_classes,
    parse_costs,
    tuning_measure,
)
from maxmargin.tables.models import positive_of
from maxmargin.tables.refusals import UsageRefusal
from maxmargin.tables.table_settings import Scoring

_AFTER, _REPORT = 1.0, 8.0  # seconds of evaluation and cautions, and of the report: their work is bounded
_LITTLE = 0.35  # seconds that each step may take after Ctrl-C, so that the command ends within one


def run(options: FitOptions, screen: Screen) -> ExitCode:
    """Split, tune, refit, evaluate on held-out rows, save the model and a report."""
    source, name = options.table.data, options.model.model
    model_path = options.output or default_path(source, name, ".mm")
    report_path = None if options.no_report else options.report or default_path(source, name, ".html")
    if not options.table.dry_run:
        check_outputs(model_path, report_path, force=options.files.force, read=(options.table.data,))
    data = prepared(options.table, options.task, screen, kernel=options.model.kernel)
    positive = positive_of(data, options.model.positive)
    own_threshold = _check_decision(options, data)
    scoring = options.search.validation.scoring
    measure = tuning_measure(data, scoring, positive, screen.note, own_threshold=own_threshold)
    parts = split(data, options.test_share, options.search.validation.seed, screen)
    planner = Planner(data, options.model, options.search, measure, positive, screen)
    plan = planner.plan(parts.X, parts.y, rest=_AFTER + (0.0 if options.no_report else _REPORT))
    _say_nothing_to_tune(plan, options, screen)
    validation = plan.validation
    subject = fitted_model(plan, parts, measure, screen)
    fitted = getattr(subject, "best_estimator", subject)
    say_model(fitted, screen)
    interrupted = getattr(subject, "interrupted", False)
    with _short(interrupted):
        rule = _decision(options, parts, fitted, positive, validation, screen)
    outputs = Outputs(options.files, screen)
    if interrupted:
        report_path = None
    outputs.model(fitted, data, model_path, report=report_path, rule=rule, positive=positive)
    if interrupted:
        screen.note("interrupted: the model is saved without an evaluation and a report.")
        return ExitCode.INTERRUPTED
    from maxmargin.cli.finishing import Finish  # late: it imports what draws the report

    Finish(data, parts, positive, validation.seed, rule).write(subject, model_path, report_path, outputs)
    return ExitCode.DONE


def _short(interrupted: bool) -> AbstractContextManager[None]:
    """After Ctrl-C, interrupt a step that takes long, as a second Ctrl-C would."""
    return interrupted_after(_LITTLE) if interrupted else nullcontext()


def fitted_model(plan: SearchPlan, parts: Split, measure: TuningMeasure, screen: Screen) -> Any:
    """The tuning result with its refitted model, or the model if there is nothing to tune."""
    if plan.cells is None:
        with screen.working("fitting"):
            return clone(plan.estimator).fit(parts.X, parts.y)
    found = search(plan, parts.X, parts.y, measure, screen, refit=True)
    if found.best_estimator is not None:
        return found
    try:
        with screen.working("fitting"), _short(found.interrupted):
            best = clone(plan.estimator).set_params(**found.best_params).fit(parts.X, parts.y)
    except KeyboardInterrupt:
        cell = " ".join(f"--grid {name}={value}" for name, value in plain_names(found.best_params).items())
        raise KeyboardInterrupt(
            f"interrupted: the best of the finished cells is not fitted to all rows; --model "
            f"{plan.family.name} {cell} fits it."
        ) from None
    return replace(found, best_estimator=best)


def _say_nothing_to_tune(plan: SearchPlan, options: FitOptions, screen: Screen) -> None:
    asked = options.search.validation
    unused = asked.scoring is not Scoring.AUTO or asked.folds != FoldOptions().folds
    if plan.cells is None and unused and options.decision.cost is None:
        screen.note(f"{plan.family.name} has nothing to tune: --scoring and --folds have no effect.")


def _check_decision(options: FitOptions, data: Prepared) -> bool:
    """Is a threshold given or to be chosen?"""
    given = {"--threshold": options.decision.threshold, "--cost": options.decision.cost}
    named = [option for option, value in given.items() if value is not None]
    if named:
        check_two_classes(data.classes, named[0])
    if len(named) > 1:
        raise UsageRefusal("--threshold and --cost exclude each other: give one of them.")
    if options.decision.cost is not None:
        parse_costs(options.decision.cost)
    return bool(named)


def _decision(
    options: FitOptions, parts: Split, model: Any, positive: Any, validation: FoldOptions, screen: Screen
) -> DecisionRule | None:
    """The threshold that was given, or the cheapest one."""
    if options.decision.threshold is None and options.decision.cost is None:
        return None
    if options.decision.threshold is not None:
        screen.line("threshold", f"{options.decision.threshold:.4g} for {str(positive)!r}, as given")
        screen.tell(threshold={"positive": positive, "value": options.decision.threshold})
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
    name, constant = cheapest_constant(parts.y, rule)
    if cost >= constant:
        screen.note(f"at these costs no threshold is cheaper than always predicting {name!r}.")
    screen.tell(threshold={"positive": positive, "value": rule.threshold, "cost_per_row": cost})
    return rule
