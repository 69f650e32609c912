"""``maxmargin select``: which columns matter."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import typer

from maxmargin.cli import options as o

NAME = "select"
EXAMPLES = (
    "Examples:\n\n[cyan]maxmargin select genes.csv --target tumour --method rfe --keep 10[/cyan]\n\n"
    "[cyan]maxmargin select credit.csv -t default --method compare[/cyan]"
)


class Method(StrEnum):
    """Ways to select columns."""

    RFE = "rfe"
    RFE_KERNEL = "rfe-kernel"
    RELIEFF = "relieff"
    FISHER = "fisher"
    SU = "su"
    CFS = "cfs"
    SFS = "sfs"
    SBS = "sbs"
    L1 = "l1"
    COMPARE = "compare"


def run(
    data: o.Data,
    target: o.Target = None,
    guess_target: o.Guess = False,
    drop: o.Drop = None,
    categorical: o.Categorical = None,
    na: o.Missing = None,
    file_format: o.FileFormat = o.Format.AUTO,
    encoding: o.TextEncoding = "utf-8",
    task: o.TaskKind = o.Task.AUTO,
    method: Annotated[
        Method,
        typer.Option(
            "--method",
            help="rfe removes the column of least weight again and again; sfs and sbs add or remove by the "
            "error; relieff, fisher and su rank; cfs and l1 choose a set; compare runs all side by side.",
            rich_help_panel="Work",
        ),
    ] = Method.RFE,
    keep: Annotated[
        int | None,
        typer.Option(
            "--keep",
            min=1,
            help="Columns to keep; half of them by default.",
            rich_help_panel="Work",
            show_default=False,
        ),
    ] = None,
    folds: o.Folds = 10,
    seed: o.Seed = 0,
    output: Annotated[
        Path | None,
        o.written("--output", "-o", help="Ranks as CSV."),
    ] = None,
    json: o.Json = False,
) -> None:
    """Rank the columns and choose some; text is split into one column for each value first."""
    from maxmargin.cli.screen import running

    with running(NAME, as_json=json) as screen:
        from maxmargin.cli import work
        from maxmargin.cli.columns import prepare, wished
        from maxmargin.cli.refusal import Code, Refusal

        work.check_folder(output)
        wish = wished(data, target, guess_target, task, drop, categorical, na, file_format, encoding)
        table = prepare(wish, screen, "numbers get their median, categories one of their own")
        work.check_enough(table)
        if not table.classifies and method is not Method.RFE:
            raise Refusal("the target is a quantity: only --method rfe selects for it.", Code.USAGE)
        X = encoded(table)
        if keep is not None and keep > X.shape[1]:
            raise Refusal(f"--keep {keep} is more than the {X.shape[1]} columns.", Code.USAGE)
        n_keep = keep or max(1, X.shape[1] // 2)
        n_folds = work.folds_for(table.y, folds, classifies=table.classifies, screen=screen)
        interrupted = False
        if method is Method.COMPARE:
            ranks, interrupted = _compared(X, table.y, n_keep, n_folds, seed, screen)
        else:
            ranks = selected(
                X, table.y, method, n_keep, n_folds, seed, classifies=table.classifies, screen=screen
            )
        if output is not None:
            ranks.to_csv(output, index_label="column")
            screen.line("saved", str(output))
        if interrupted:
            raise KeyboardInterrupt("the finished methods are shown")


def encoded(table: Any) -> Any:
    """All columns as numbers: medians for missing ones, one column for each value of a category."""
    import pandas as pd

    X = table.X[table.schema.numbers]
    X = X.fillna(X.median())
    parts = [X]
    for name in table.schema.categories:
        column = table.X[name].where(table.X[name].notna(), "(missing)")
        parts.append(pd.get_dummies(column, prefix=name, prefix_sep="=", dtype=float))
    return pd.concat(parts, axis=1)


def selected(
    X: Any, y: Any, method: Method, keep: int, folds: int, seed: int, *, classifies: bool, screen: Any
) -> Any:
    """Run one method and show ranks, choice, and the error with and without the rest."""
    import numpy as np
    import pandas as pd
    from sklearn.model_selection import StratifiedKFold

    from maxmargin.feature_selection import CrossValidatedError
    from maxmargin.feature_selection.comparison import variable_ranks

    cv = StratifiedKFold(folds, shuffle=True, random_state=seed)
    selector, estimator = _selector(method, keep, cv, classifies=classifies)
    with screen.working(f"selecting by {method.value}"):
        selector.fit(X, np.asarray(y))
        found = pd.DataFrame(
            {"rank": variable_ranks(selector), "chosen": selector.support_}, index=list(X.columns)
        )
        if hasattr(selector, "scores_"):
            found["score"] = selector.scores_
        errors = None
        if classifies:
            subsets = [tuple(range(X.shape[1])), tuple(np.flatnonzero(selector.support_).tolist())]
            errors = CrossValidatedError(estimator, cv=cv).prepare(X, np.asarray(y))(subsets)
    found = found.sort_values("rank", kind="stable")
    shown = found.head(max(20, int(found["chosen"].sum())))
    marks = ["yes" if chosen else "" for chosen in shown["chosen"]]
    scores = [shown["score"].to_numpy().tolist()] if "score" in shown else []
    rows = [
        list(row) for row in zip(map(str, shown.index), shown["rank"].tolist(), marks, *scores, strict=True)
    ]
    names = ["column", "rank", "chosen", *(["score"] if "score" in found else [])]
    chosen = [str(name) for name in found.index[found["chosen"]]]
    more = f" (first {len(shown)})" if len(shown) < len(found) else ""
    screen.table(names, rows, title=f"{method.value}: {len(chosen)} of {X.shape[1]} columns{more}")
    screen.line("chosen", ", ".join(chosen))
    screen.tell(
        method=method.value, selected=chosen, ranks={str(k): int(v) for k, v in found["rank"].items()}
    )
    if errors is not None:
        screen.line(
            "error", f"{errors[0]:.4g} with all columns, {errors[1]:.4g} with the chosen ones ({folds} folds)"
        )
        screen.note("the columns were chosen on the same rows, so the second error is too good.")
        screen.tell(error={"all": float(errors[0]), "chosen": float(errors[1]), "folds": folds})
    return found


def _selector(method: Method, keep: int, cv: Any, *, classifies: bool) -> tuple[Any, Any]:
    """The selector, and the model whose error is told."""
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    import maxmargin as mm
    from maxmargin import feature_selection as fs

    if not classifies:
        model = make_pipeline(StandardScaler(), mm.Ridge())
        return fs.RFE(model, keep), model
    linear = make_pipeline(StandardScaler(), mm.SVC(kernel="linear"))
    machine = make_pipeline(StandardScaler(), mm.SVC())
    made: dict[Method, tuple[Any, Any]] = {
        Method.RFE: (fs.RFE(linear, keep), linear),
        Method.RFE_KERNEL: (fs.RFE(machine, keep), machine),
        Method.RELIEFF: (fs.ReliefF(n_features=keep), machine),
        Method.FISHER: (fs.FisherScore(n_features=keep), machine),
        Method.SU: (fs.SymmetricalUncertainty(n_features=keep), machine),
        Method.CFS: (fs.SubsetSelector(fs.BestFirst(), fs.CFSMerit()), machine),
        Method.SFS: (fs.SFS(machine, keep, cv=cv), machine),
        Method.SBS: (fs.SBS(machine, keep, cv=cv), machine),
        Method.L1: (fs.SparseSVMSelector("l1", keep), linear),
    }
    return made[method]


def _compared(X: Any, y: Any, keep: int, folds: int, seed: int, screen: Any) -> tuple[Any, bool]:
    """Ranks by all methods, one after the other, and whether Ctrl-C ended it: finished ones are kept."""
    import numpy as np
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    import maxmargin as mm
    from maxmargin.feature_selection import compare
    from maxmargin.feature_selection.comparison import default_methods

    estimator = make_pipeline(StandardScaler(), mm.SVC())
    methods = default_methods(estimator, keep, folds)
    found: dict[str, Any] = {}
    interrupted = False
    with screen.working("comparing", len(methods)) as step:
        try:
            for name, method in methods.items():
                step(f"comparing: {name}")
                found[name] = compare(
                    X,
                    np.asarray(y),
                    {name: method},
                    estimator=estimator,
                    cv=folds,
                    n_resamples=5,
                    random_state=seed,
                )
        except KeyboardInterrupt:
            interrupted = True
    if not found:
        raise KeyboardInterrupt("no method was finished")
    return _say_comparison(found, screen), interrupted


def _say_comparison(found: dict[str, Any], screen: Any) -> Any:
    """Ranks of the columns and figures of the methods; returns the ranks."""
    import pandas as pd

    ranks = pd.concat([result.ranks for result in found.values()], axis=1)
    chosen = pd.concat([result.chosen for result in found.values()], axis=1)
    figures = pd.concat([result.methods for result in found.values()])
    order = ranks.mean(axis=1).sort_values(kind="stable").index
    body = [
        [str(v), *(f"{ranks.loc[v, m]}{'*' if chosen.loc[v, m] else ''}" for m in ranks)] for v in order[:30]
    ]
    screen.table(["column", *ranks.columns], body, title="ranks, * chosen (best mean rank first)")
    rows = [
        [str(name), int(row[0]), *map(float, row[1:])]
        for name, row in zip(figures.index, figures.to_numpy(), strict=True)
    ]
    screen.table(["method", "columns", "error", "nested error", "stability", "seconds"], rows)
    screen.note(
        "error: columns chosen on the same rows; nested error: chosen again inside every fold, the honest "
        "one."
    )
    screen.tell(
        method="compare",
        ranks=ranks.to_dict(),
        chosen={name: [str(v) for v in chosen.index[chosen[name]]] for name in chosen},
        methods=figures.to_dict(orient="index"),
    )
    return ranks
