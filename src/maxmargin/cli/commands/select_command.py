"""``maxmargin select``: which columns matter."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import pandas as pd
from sklearn.model_selection import KFold, StratifiedKFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import maxmargin as mm
from maxmargin import feature_selection as fs
from maxmargin.cli.command_options import Method, SelectOptions, SubsetCriterion
from maxmargin.cli.options import FoldOptions
from maxmargin.cli.outputs import Outputs, check_outputs
from maxmargin.cli.screen import ExitCode, Screen
from maxmargin.cli.table_input import prepared
from maxmargin.cli.work import check_enough, folds_for
from maxmargin.feature_selection.comparison import default_methods, variable_ranks
from maxmargin.tables.columns import Prepared
from maxmargin.tables.measures_and_rules import NEEDS_PROBABILITIES, TuningMeasure, tuning_measure, weighted
from maxmargin.tables.models import chosen_family, positive_of
from maxmargin.tables.refusals import UsageRefusal, listed
from maxmargin.tables.wishes import ClassWeight
from maxmargin.tuning.errors import ErrorMeasure

_SEARCHES: dict[Method, Callable[[int], Any]] = {
    Method.CFS: lambda keep: fs.BestFirst(),
    Method.SFS: fs.Forward,
    Method.SBS: fs.Backward,
    Method.FLOATING: fs.Floating,
    Method.FLOATING_BACKWARD: lambda keep: fs.Floating(keep, direction="backward"),
    Method.EXHAUSTIVE: fs.Exhaustive,
    Method.BRANCH_AND_BOUND: fs.BranchAndBound,
    Method.ANNEALING: lambda keep: fs.SimulatedAnnealing(),
    Method.GENETIC: lambda keep: fs.Genetic(population=20, generations=20),
}
_PENALTIES = (Method.L0, Method.L1, Method.L1L2, Method.L0L2)
_OF_QUANTITIES = (Method.RFE, *(m for m in _SEARCHES if m not in (Method.CFS, Method.BRANCH_AND_BOUND)))
_OF_COVARIANCES = (SubsetCriterion.MAHALANOBIS, SubsetCriterion.BHATTACHARYYA, SubsetCriterion.DIVERGENCE)
_SHRINKAGE = 0.1  # of covariances that the columns of a category make singular, as they add up to one
_OWN_NUMBER = (Method.CFS, Method.ANNEALING, Method.GENETIC)  # they choose how many columns to keep


@dataclass(frozen=True)
class SelectionWish:
    """How columns are selected."""

    method: Method
    keep: int
    validation: FoldOptions
    criterion: SubsetCriterion | None = None
    shrinkage: float = 0.0
    measure: TuningMeasure = field(default_factory=lambda: TuningMeasure("error"))
    class_weight: str | None = None


_GAPS = "numbers are filled with their median, categories get a value of their own"


def run(options: SelectOptions, screen: Screen) -> ExitCode:
    """Rank the columns and choose some."""
    check_outputs(options.output, force=options.files.force or options.table.dry_run)
    _check_criterion(options)
    data = prepared(options.table, options.task, screen, _GAPS)
    check_enough(data)
    if not data.classifies:
        _check_quantity(options)
    if data.texts:
        screen.note(f"left out {listed(data.texts)}: text has no columns to select from.")
    p = encoded(data).shape[1]
    if options.keep is not None and options.keep > p:
        raise UsageRefusal(f"--keep {options.keep} is more than the {p} columns.")
    keep = options.keep or max(1, p // 2)
    folds = folds_for(data.y, options.validation.folds, classifies=data.classifies, screen=screen)
    wish = SelectionWish(
        options.method,
        keep,
        replace(options.validation, folds=folds),
        options.criterion,
        _shrinkage(data, options, screen),
        _measure(data, options, screen),
        _class_weight(data, options, screen),
    )
    run_method = _compared if options.method is Method.COMPARE else selected
    ranks, interrupted = run_method(data, wish, screen)
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


def selected(data: Prepared, wish: SelectionWish, screen: Screen) -> tuple[pd.DataFrame, bool]:
    """Run one method; print ranks, choice, and the error with and without the other columns.

    Ctrl-C ends a search with its best columns so far, and skips the errors; the second value says so.
    """
    X, y = encoded(data), data.y.to_numpy()
    folds = wish.validation.folds
    kind = StratifiedKFold if data.classifies else KFold
    cv = kind(folds, shuffle=True, random_state=wish.validation.seed)
    selector, estimator = _selector(wish, cv, X.shape[1], classifies=data.classifies)
    errors: list[float] = []
    with screen.working("selecting"):
        selector.fit(X, y)
        found = pd.DataFrame(
            {"rank": variable_ranks(selector), "chosen": selector.support_}, index=list(X.columns)
        )
        if hasattr(selector, "scores_"):
            found["score"] = selector.scores_
        if not getattr(selector, "interrupted_", False):
            errors = _errors_of(selector.support_, X, y, wish, estimator, cv)
    found = found.sort_values("rank", kind="stable")
    _say_ranks(found, wish.method, screen)
    if not errors:
        screen.note("interrupted: the columns chosen so far are shown, without their error.")
        return found, True
    name = wish.measure.name
    screen.line(
        "error",
        f"{errors[0]:.4g} with all columns, {errors[1]:.4g} with the chosen ones ({name}, {folds} folds)",
    )
    screen.note("the columns were chosen on the same rows, so the second error is optimistic.")
    screen.tell(error={"measure": name, "all": errors[0], "chosen": errors[1], "folds": folds})
    return found, False


def _errors_of(
    chosen: Any, X: pd.DataFrame, y: Any, wish: SelectionWish, estimator: Any, cv: Any
) -> list[float]:
    """The errors with all columns and with the chosen ones; none after Ctrl-C."""
    subsets = [tuple(range(X.shape[1])), tuple(np.flatnonzero(chosen).tolist())]
    try:
        errors = [float(value) for value in _cross_validated(wish, estimator, cv).prepare(X, y)(subsets)]
    except KeyboardInterrupt:
        return []
    scoring = wish.measure.scoring
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
    if options.criterion is not None and options.method not in _SEARCHES:
        raise UsageRefusal(f"--criterion is for searches over subsets ({', '.join(_SEARCHES)}).")
    if options.keep is not None and options.method in _OWN_NUMBER:
        raise UsageRefusal(f"{options.method} chooses the number of columns itself: leave out --keep.")
    if options.method is Method.BRANCH_AND_BOUND and _criterion_of(options) not in _OF_COVARIANCES:
        raise UsageRefusal(
            "branch-and-bound needs a criterion that never falls when a column is added: use --criterion "
            f"{', '.join(_OF_COVARIANCES)}, or --method exhaustive."
        )


def _check_quantity(options: SelectOptions) -> None:
    if options.method not in _OF_QUANTITIES:
        raise UsageRefusal(
            f"--method {options.method} is for classes, and the target is a quantity: use one of "
            f"{', '.join(_OF_QUANTITIES)}."
        )
    if _criterion_of(options) is not SubsetCriterion.ERROR:
        raise UsageRefusal(
            f"--criterion {options.criterion} is for classes, and the target is a quantity: leave it out."
        )


def _criterion_of(options: SelectOptions | SelectionWish) -> SubsetCriterion:
    """What a search compares: as asked for, or what fits the method."""
    usual = {Method.CFS: SubsetCriterion.CFS, Method.BRANCH_AND_BOUND: SubsetCriterion.MAHALANOBIS}
    return options.criterion or usual.get(options.method, SubsetCriterion.ERROR)


def _shrinkage(data: Prepared, options: SelectOptions, screen: Screen) -> float:
    if not data.categories or _criterion_of(options) not in _OF_COVARIANCES:
        return 0.0
    screen.note(
        f"covariances are shrunk by {_SHRINKAGE}: the columns of a category add up to one, which makes them "
        "singular."
    )
    return _SHRINKAGE


def _selector(wish: SelectionWish, cv: Any, n_columns: int, *, classifies: bool) -> tuple[Any, Any]:
    """The selector, and the model whose error is printed."""
    method, keep, seed = wish.method, wish.keep, wish.validation.seed
    if not classifies:
        model = make_pipeline(StandardScaler(), mm.Ridge())
        if method is Method.RFE:
            return fs.RFE(model, keep), model
        return fs.SubsetSelector(
            _SEARCHES[method](keep), _criterion(wish, model, cv), random_state=seed
        ), model
    weight: dict[str, Any] = {"class_weight": wish.class_weight}
    linear = make_pipeline(StandardScaler(), mm.SVC(kernel="linear", **weight))
    svm = make_pipeline(StandardScaler(), mm.SVC(**weight))
    # gamma="scale" would grow as columns go, and a narrow kernel gives weight to columns of noise
    one_kernel = make_pipeline(StandardScaler(), mm.SVC(gamma=1 / n_columns, **weight))
    if method in _SEARCHES:
        return fs.SubsetSelector(_SEARCHES[method](keep), _criterion(wish, svm, cv), random_state=seed), svm
    if method in _PENALTIES:
        return fs.SparseSVMSelector(method.value, keep, **weight), linear
    made: dict[Method, tuple[Any, Any]] = {
        Method.RFE: (fs.RFE(linear, keep), linear),
        Method.RFE_KERNEL: (fs.RFE(one_kernel, keep), svm),
        Method.RELIEF: (fs.Relief(n_features=keep, random_state=seed), svm),
        Method.RELIEFF: (fs.ReliefF(n_features=keep), svm),
        Method.FISHER: (fs.FisherScore(n_features=keep), svm),
        Method.IG: (fs.InformationGain(n_features=keep), svm),
        Method.SU: (fs.SymmetricalUncertainty(n_features=keep), svm),
    }
    return made[method]


def _cross_validated(wish: SelectionWish, model: Any, cv: Any) -> fs.Criterion:
    return fs.CrossValidatedError(model, cv=cv, scoring=wish.measure.scoring, n_jobs=wish.validation.jobs)


def _criterion(wish: SelectionWish, model: Any, cv: Any) -> fs.Criterion:
    """What the search compares."""
    shrunk = {"shrinkage": wish.shrinkage}
    made: dict[SubsetCriterion, Callable[[], fs.Criterion]] = {
        SubsetCriterion.ERROR: lambda: _cross_validated(wish, model, cv),
        SubsetCriterion.LOO_ERROR: lambda: fs.LeaveOneOutError(model),
        SubsetCriterion.CFS: fs.CFSMerit,
        SubsetCriterion.MAHALANOBIS: lambda: fs.Mahalanobis(**shrunk),
        SubsetCriterion.BHATTACHARYYA: lambda: fs.Bhattacharyya(**shrunk),
        SubsetCriterion.DIVERGENCE: lambda: fs.Divergence(**shrunk),
    }
    return made[_criterion_of(wish)]()


def _compared(data: Prepared, wish: SelectionWish, screen: Screen) -> tuple[pd.DataFrame, bool]:
    """Ranks by all methods, and whether Ctrl-C ended the run: finished methods are kept."""
    options, scoring = wish.validation, wish.measure.scoring
    estimator = make_pipeline(StandardScaler(), mm.SVC(class_weight=wish.class_weight))
    methods = default_methods(estimator, wish.keep, options.folds, scoring)
    X, y = encoded(data), data.y.to_numpy()
    found: dict[str, fs.Comparison] = {}
    interrupted = False
    with screen.working("comparing", len(methods)) as step:
        try:
            for name, method in methods.items():
                step(name)
                found[name] = fs.compare(
                    X,
                    y,
                    {name: method},
                    estimator=estimator,
                    cv=options.folds,
                    scoring=scoring,
                    n_resamples=5,
                    random_state=options.seed,
                )
        except KeyboardInterrupt:
            interrupted = True
            screen.note("interrupted: the finished methods are shown.")
    if not found:
        raise KeyboardInterrupt("interrupted before a method was finished")
    return _say_comparison(found, wish.measure, screen), interrupted


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
