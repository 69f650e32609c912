"""``maxmargin select``: which columns matter."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
from sklearn.model_selection import StratifiedKFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import maxmargin as mm
from maxmargin import feature_selection as fs
from maxmargin.cli.columns import Prepared, prepare
from maxmargin.cli.command_options import Method, SelectOptions
from maxmargin.cli.options import FoldOptions, Scoring
from maxmargin.cli.outputs import Outputs, check_outputs
from maxmargin.cli.screen import ExitCode, Screen, UsageRefusal
from maxmargin.cli.work import check_enough, folds_for
from maxmargin.feature_selection.comparison import default_methods, variable_ranks

_GAPS = "numbers are filled with their median, categories get a value of their own"


def run(options: SelectOptions, screen: Screen) -> ExitCode:
    """Rank the columns and choose some."""
    check_outputs(options.output, force=options.files.force)
    if options.validation.scoring is not Scoring.AUTO:
        raise UsageRefusal("select compares columns by the error only: leave out --scoring.")
    data = prepare(options.table, options.task, screen, _GAPS)
    check_enough(data)
    if not data.classifies and options.method is not Method.RFE:
        raise UsageRefusal("the target is a quantity: only --method rfe selects for it.")
    p = encoded(data).shape[1]
    if options.keep is not None and options.keep > p:
        raise UsageRefusal(f"--keep {options.keep} is more than the {p} columns.")
    keep = options.keep or max(1, p // 2)
    folds = folds_for(data.y, options.validation.folds, classifies=data.classifies, screen=screen)
    validation = replace(options.validation, folds=folds)
    interrupted = False
    if options.method is Method.COMPARE:
        ranks, interrupted = _compared(data, keep, validation, screen)
    else:
        ranks = selected(data, options.method, keep, validation, screen)
    if options.output is not None:
        Outputs(options.files, screen).csv(ranks, options.output, index=True, index_label="column")
    return ExitCode.INTERRUPTED if interrupted else ExitCode.DONE


def encoded(data: Prepared) -> pd.DataFrame:
    """All columns as numbers: missing ones filled with the median, a column for each category."""
    X = data.X[data.numbers]
    parts = [X.fillna(X.median())]
    for name in data.categories:
        column = data.X[name].where(data.X[name].notna(), "(missing)")
        parts.append(pd.get_dummies(column, prefix=name, prefix_sep="=", dtype=float))
    return pd.concat(parts, axis=1)


def selected(data: Prepared, method: Method, keep: int, options: FoldOptions, screen: Screen) -> pd.DataFrame:
    """Run one method; print ranks, choice, and the error with and without the other columns."""
    X, y = encoded(data), data.y.to_numpy()
    cv = StratifiedKFold(options.folds, shuffle=True, random_state=options.seed)
    selector, estimator = _selector(method, keep, cv, classifies=data.classifies)
    with screen.working("selecting"):
        selector.fit(X, y)
        found = pd.DataFrame(
            {"rank": variable_ranks(selector), "chosen": selector.support_}, index=list(X.columns)
        )
        if hasattr(selector, "scores_"):
            found["score"] = selector.scores_
        errors = None
        if data.classifies:
            subsets = [tuple(range(X.shape[1])), tuple(np.flatnonzero(selector.support_).tolist())]
            errors = fs.CrossValidatedError(estimator, cv=cv).prepare(X, y)(subsets)
    found = found.sort_values("rank", kind="stable")
    _say_ranks(found, method, screen)
    if errors is not None:
        screen.line(
            "error",
            f"{float(errors[0]):.4g} with all columns, {float(errors[1]):.4g} with the chosen ones "
            f"({options.folds} folds)",
        )
        screen.note("the columns were chosen on the same rows, so the second error is optimistic.")
        error = {"all": float(errors[0]), "chosen": float(errors[1]), "folds": options.folds}
        screen.tell(error=error)
    return found


def _say_ranks(found: pd.DataFrame, method: Method, screen: Screen) -> None:
    chosen = [str(name) for name in found.index[found["chosen"]]]
    listed = found.head(max(20, len(chosen)))
    marks = ["*" if chosen else "" for chosen in listed["chosen"]]
    scores = [listed["score"].to_numpy().tolist()] if "score" in listed else []
    rows = zip(map(str, listed.index), listed["rank"].tolist(), marks, *scores, strict=True)
    screen.table(
        ["column", "rank", "chosen", *(["score"] if scores else [])],
        [list(row) for row in rows],
        f"{method.value}: {len(chosen)} of {len(found)} columns",
    )
    screen.line("chosen", ", ".join(chosen))
    ranks = {str(k): int(v) for k, v in found["rank"].items()}
    screen.tell(method=method.value, selected=chosen, ranks=ranks)


def _selector(method: Method, keep: int, cv: Any, *, classifies: bool) -> tuple[Any, Any]:
    """The selector, and the model whose error is printed."""
    if not classifies:
        model = make_pipeline(StandardScaler(), mm.Ridge())
        return fs.RFE(model, keep), model
    linear = make_pipeline(StandardScaler(), mm.SVC(kernel="linear"))
    svm = make_pipeline(StandardScaler(), mm.SVC())
    made: dict[Method, tuple[Any, Any]] = {
        Method.RFE: (fs.RFE(linear, keep), linear),
        Method.RFE_KERNEL: (fs.RFE(svm, keep), svm),
        Method.RELIEFF: (fs.ReliefF(n_features=keep), svm),
        Method.FISHER: (fs.FisherScore(n_features=keep), svm),
        Method.SU: (fs.SymmetricalUncertainty(n_features=keep), svm),
        Method.CFS: (fs.SubsetSelector(fs.BestFirst(), fs.CFSMerit()), svm),
        Method.SFS: (fs.SFS(svm, keep, cv=cv), svm),
        Method.SBS: (fs.SBS(svm, keep, cv=cv), svm),
        Method.L1: (fs.SparseSVMSelector("l1", keep), linear),
    }
    return made[method]


def _compared(data: Prepared, keep: int, options: FoldOptions, screen: Screen) -> tuple[pd.DataFrame, bool]:
    """Ranks by all methods, and whether Ctrl-C ended the run: finished methods are kept."""
    estimator = make_pipeline(StandardScaler(), mm.SVC())
    methods = default_methods(estimator, keep, options.folds)
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
                    n_resamples=5,
                    random_state=options.seed,
                )
        except KeyboardInterrupt:
            interrupted = True
            screen.note("interrupted: the finished methods are shown.")
    if not found:
        raise KeyboardInterrupt("interrupted before a method was finished")
    return _say_comparison(found, screen), interrupted


def _say_comparison(found: dict[str, fs.Comparison], screen: Screen) -> pd.DataFrame:
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
    screen.table(["method", "columns", "error", "nested error", "stability", "seconds"], rows)
    screen.note(
        "error: columns chosen on the same rows (optimistic); nested error: columns chosen again inside "
        "every fold."
    )
    screen.tell(
        method="compare",
        ranks=ranks.to_dict(),
        chosen={name: [str(v) for v in chosen.index[chosen[name]]] for name in chosen},
        methods=figures.to_dict(orient="index"),
    )
    return ranks
