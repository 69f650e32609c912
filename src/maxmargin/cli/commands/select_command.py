"""``maxmargin select``: which columns matter."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
from sklearn.model_selection import KFold, StratifiedKFold

from maxmargin import feature_selection as fs
from maxmargin.cli.column_selectors import (
    OF_COVARIANCES,
    OF_QUANTITIES,
    OWN_NUMBER,
    SEARCHES,
    SelectionSettings,
    criterion_of,
    cross_validated,
    selector_of,
)
from maxmargin.cli.command_options import Method, SelectOptions, SubsetCriterion
from maxmargin.cli.outputs import Outputs, check_outputs
from maxmargin.cli.screen import ExitCode, Screen
from maxmargin.cli.selection_time import selection_seconds
from maxmargin.cli.table_input import prepared
from maxmargin.cli.work import check_enough, folds_for
from maxmargin.feature_selection.comparison import variable_ranks
from maxmargin.tables.columns import Prepared
from maxmargin.tables.measures_and_rules import NEEDS_PROBABILITIES, TuningMeasure, tuning_measure, weighted
from maxmargin.tables.models import chosen_family, positive_of
from maxmargin.tables.refusals import UsageRefusal
from maxmargin.tables.table_settings import ClassWeight
from maxmargin.tables.time_estimate import duration
from maxmargin.tuning.errors import ErrorMeasure

_SHRINKAGE = 0.1  # of covariances that are singular because the columns of a category add up to one
_FEW_ROWS, _FEW_COLUMNS = 300, 10  # tables so small take seconds: no estimate
_RESAMPLES = 5  # of the rows, for the stability of a choice
_USUAL = {
    "Fisher": Method.FISHER,
    "ReliefF": Method.RELIEFF,
    "SU": Method.SU,
    "CFS": Method.CFS,
    "SFS": Method.SFS,
    "SBS": Method.SBS,
    "RFE linear": Method.RFE,
    "RFE kernel": Method.RFE_KERNEL,
    "l1-SVM": Method.L1,
}
_GAPS = "numbers are filled with their median, categories get a value of their own"


def run(options: SelectOptions, screen: Screen) -> ExitCode:
    """Rank the columns and choose some."""
    check_outputs(
        options.output, force=options.files.force or options.table.dry_run, read=(options.table.data,)
    )
    _check_criterion(options)
    data = prepared(options.table, options.task, screen, _GAPS, no_text="text has no columns to select from")
    check_enough(data)
    if not data.classifies:
        _check_quantity(options)
    p = encoded(data).shape[1]
    if options.keep is not None and options.keep > p:
        raise UsageRefusal(f"--keep {options.keep} is more than the {p} columns.")
    keep = options.keep or max(1, p // 2)
    folds = folds_for(data.y, options.validation.folds, classifies=data.classifies, screen=screen)
    settings = SelectionSettings(
        options.method,
        keep,
        replace(options.validation, folds=folds),
        options.criterion,
        _shrinkage(data, options, screen),
        _measure(data, options, screen),
        _class_weight(data, options, screen),
    )
    run_method = _compared if options.method is Method.COMPARE else selected
    ranks, interrupted = run_method(data, settings, screen)
    if options.output is not None:
        Outputs(options.files, screen).csv(ranks, options.output, index=True, index_label="column")
    return ExitCode.INTERRUPTED if interrupted else ExitCode.DONE


def _measure(data: Prepared, options: SelectOptions, screen: Screen) -> TuningMeasure:
    """What is printed, and what searches over subsets compare."""
    measure = tuning_measure(data, options.validation.scoring, positive_of(data, None), screen.note)
    if measure.scoring in NEEDS_PROBABILITIES:
        raise UsageRefusal(
            f"select uses an SVM, which gives no probabilities, and {measure.name} needs them here: give "
            "another --scoring."
        )
    return measure


def _class_weight(data: Prepared, options: SelectOptions, screen: Screen) -> str | None:
    """Balanced weights where the user or very unequal classes ask for them."""
    if not data.classifies and options.class_weight is not ClassWeight.BALANCED:
        return None
    model: Any = weighted(chosen_family(data, "svm"), data, options.class_weight, screen.note)
    return None if model.class_weight is None else str(model.class_weight)


def encoded(data: Prepared) -> pd.DataFrame:
    """All columns as numbers: missing ones filled with the median, a column for each category."""
    X = data.X[data.numbers]
    parts = [X.fillna(X.median())]
    for name in data.categories:
        column = data.X[name].where(data.X[name].notna(), "(missing)")
        parts.append(pd.get_dummies(column, prefix=name, prefix_sep="=", dtype=float))
    return pd.concat(parts, axis=1)


def selected(data: Prepared, settings: SelectionSettings, screen: Screen) -> tuple[pd.DataFrame, bool]:
    """Run one method; print ranks, choice, and the error with and without the other columns.

    Ctrl-C ends a search with its best columns so far, and skips the errors; the second value says so.
    """
    X, y, cv = encoded(data), data.y.to_numpy(), _folds(data, settings)
    folds = settings.validation.folds
    selector, estimator = selector_of(settings, cv, X.shape[1], classifies=data.classifies)
    say_time([settings], [selector], X, data.y, 1, screen)
    errors: list[float] = []
    with screen.working("selecting"):
        selector.fit(X, y)
        found = pd.DataFrame(
            {"rank": variable_ranks(selector), "chosen": selector.support_}, index=list(X.columns)
        )
        if hasattr(selector, "scores_"):
            found["score"] = selector.scores_
        if not getattr(selector, "interrupted_", False):
            errors = _errors_of(selector.support_, X, y, settings, estimator, cv)
    found = found.sort_values("rank", kind="stable")
    _say_ranks(found, settings.method, screen)
    if not errors:
        screen.note("interrupted: the columns chosen so far are shown, without their error.")
        return found, True
    name = settings.measure.name
    screen.line(
        "error",
        f"{errors[0]:.4g} with all columns, {errors[1]:.4g} with the chosen ones ({name}, {folds} folds)",
    )
    screen.note("the columns were chosen on the same rows, so the second error is optimistic.")
    screen.tell(error={"measure": name, "all": errors[0], "chosen": errors[1], "folds": folds})
    return found, False


def _folds(data: Prepared, settings: SelectionSettings) -> Any:
    kind = StratifiedKFold if data.classifies else KFold
    return kind(settings.validation.folds, shuffle=True, random_state=settings.validation.seed)


def say_time(
    several: list[SelectionSettings],
    selectors: list[Any],
    X: pd.DataFrame,
    y: pd.Series,
    times: int,
    screen: Screen,
) -> list[int]:
    """Print how long selectors take that are fitted so many ``times``; returns the seconds of each."""
    unknown = any(
        settings.method is Method.BRANCH_AND_BOUND for settings in several
    )  # prunes an unknown share
    if unknown or (len(X) <= _FEW_ROWS and X.shape[1] <= _FEW_COLUMNS):
        return [1] * len(several)
    with screen.working("estimating the time", len(several)) as step:
        seconds = []
        for settings, selector in zip(several, selectors, strict=True):
            seconds.append(times * selection_seconds(settings.method, selector, settings.keep, X, y))
            step(settings.method.value)
    total = sum(seconds)
    screen.line("time", f"about {duration(total)} on {len(X)} rows and {X.shape[1]} columns")
    screen.tell(estimate={"seconds": total, "rows": len(X)})
    return [max(1, round(one)) for one in seconds]


def _errors_of(
    chosen: Any, X: pd.DataFrame, y: Any, settings: SelectionSettings, estimator: Any, cv: Any
) -> list[float]:
    """The errors with all columns and with the chosen ones; none after Ctrl-C."""
    subsets = [tuple(range(X.shape[1])), tuple(np.flatnonzero(chosen).tolist())]
    try:
        errors = [float(value) for value in cross_validated(settings, estimator, cv).prepare(X, y)(subsets)]
    except KeyboardInterrupt:
        return []
    scoring = settings.measure.scoring
    if scoring is None:
        return errors
    return [ErrorMeasure(estimator, scoring).to_error(score) for score in errors]


def _say_ranks(found: pd.DataFrame, method: Method, screen: Screen) -> None:
    chosen = [str(name) for name in found.index[found["chosen"]]]
    shown = found.head(max(20, len(chosen)))
    marks = ["*" if chosen else "" for chosen in shown["chosen"]]
    scores = [shown["score"].to_numpy().tolist()] if "score" in shown else []
    rows = zip(map(str, shown.index), shown["rank"].tolist(), marks, *scores, strict=True)
    screen.table(
        ["column", "rank", "chosen", *(["score"] if scores else [])],
        [list(row) for row in rows],
        f"{method.value}: {len(chosen)} of {len(found)} columns",
    )
    screen.line("chosen", ", ".join(chosen))
    ranks = {str(k): int(v) for k, v in found["rank"].items()}
    screen.tell(method=method.value, selected=chosen, ranks=ranks)


def _check_criterion(options: SelectOptions) -> None:
    if options.criterion is not None and options.method not in SEARCHES:
        raise UsageRefusal(f"--criterion is for searches over subsets ({', '.join(SEARCHES)}).")
    if options.keep is not None and options.method in OWN_NUMBER:
        raise UsageRefusal(f"{options.method} chooses the number of columns itself: leave out --keep.")
    if options.method is Method.BRANCH_AND_BOUND and criterion_of(options) not in OF_COVARIANCES:
        raise UsageRefusal(
            "branch-and-bound needs a criterion that never falls when a column is added: use --criterion "
            f"{', '.join(OF_COVARIANCES)}, or --method exhaustive."
        )


def _check_quantity(options: SelectOptions) -> None:
    if options.method not in OF_QUANTITIES:
        raise UsageRefusal(
            f"--method {options.method} is for classes, and the target is a quantity: use one of "
            f"{', '.join(OF_QUANTITIES)}."
        )
    if criterion_of(options) is not SubsetCriterion.ERROR:
        raise UsageRefusal(
            f"--criterion {options.criterion} is for classes, and the target is a quantity: leave it out."
        )


def _shrinkage(data: Prepared, options: SelectOptions, screen: Screen) -> float:
    if not data.categories or criterion_of(options) not in OF_COVARIANCES:
        return 0.0
    screen.note(
        f"covariances are shrunk by {_SHRINKAGE}: the columns of a category add up to one, which makes them "
        "singular."
    )
    return _SHRINKAGE


def _compared(data: Prepared, settings: SelectionSettings, screen: Screen) -> tuple[pd.DataFrame, bool]:
    """Ranks by all methods, and whether Ctrl-C ended the run: finished methods are kept."""
    X, y, cv = encoded(data), data.y.to_numpy(), _folds(data, settings)
    several = {name: replace(settings, method=method) for name, method in _USUAL.items()}
    made = {name: selector_of(one, cv, X.shape[1], classifies=True)[0] for name, one in several.items()}
    estimator = made["SFS"].criterion.estimator
    times = 1 + settings.validation.folds + _RESAMPLES
    shares = say_time(list(several.values()), list(made.values()), X, data.y, times, screen)
    found: dict[str, fs.Comparison] = {}
    interrupted = False
    with screen.working("comparing", sum(shares)) as step:
        try:
            for (name, method), share in zip(made.items(), shares, strict=True):
                found[name] = fs.compare(
                    X,
                    y,
                    {name: method},
                    estimator=estimator,
                    cv=cv,
                    scoring=settings.measure.scoring,
                    n_resamples=_RESAMPLES,
                    random_state=settings.validation.seed,
                )
                step(name, share)
        except KeyboardInterrupt:
            interrupted = True
            screen.note("interrupted: the finished methods are shown.")
    if not found:
        raise KeyboardInterrupt("interrupted before a method was finished")
    return _say_comparison(found, settings.measure, screen), interrupted


def _say_comparison(found: dict[str, fs.Comparison], measure: TuningMeasure, screen: Screen) -> pd.DataFrame:
    """Ranks of the columns and figures of the methods; returns the ranks."""
    ranks = pd.concat([result.ranks for result in found.values()], axis=1)
    chosen = pd.concat([result.chosen for result in found.values()], axis=1)
    figures = pd.concat([result.methods for result in found.values()])
    order = ranks.mean(axis=1).sort_values(kind="stable").index
    body = [[str(v), *(f"{ranks[m][v]}{'*' if chosen[m][v] else ''}" for m in ranks)] for v in order[:30]]
    screen.table(["column", *ranks.columns], body, "ranks, * chosen (best mean rank first)")
    rows = [
        [str(name), int(row[0]), *map(float, row[1:])]
        for name, row in zip(figures.index, figures.to_numpy(), strict=True)
    ]
    heads = ["method", "columns", "error", "nested error", "stability", "seconds"]
    screen.table(heads, rows, "" if measure.scoring is None else f"errors: {measure.name}")
    screen.note(
        "error: columns chosen on the same rows (optimistic); nested error: columns chosen again inside "
        "every fold."
    )
    screen.tell(
        method="compare",
        measure=measure.name,
        ranks=ranks.to_dict(),
        chosen={name: [str(v) for v in chosen.index[chosen[name]]] for name in chosen},
        methods=figures.to_dict(orient="index"),
    )
    return ranks
