"""``maxmargin compare``: all families side by side."""

from __future__ import annotations

import time
import warnings
from pathlib import Path
from typing import Annotated, Any

from maxmargin.cli import options as o

NAME = "compare"
EXAMPLES = (
    "Examples:\n\n[cyan]maxmargin compare iris.csv --target species[/cyan]\n\n"
    "[cyan]maxmargin compare houses.csv -t price --only svm --only ridge --folds 10[/cyan]"
)


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
    only: Annotated[
        list[str] | None,
        o.optional("--only", help="Family to run (repeat for more); all by default.", panel=o.WORK),
    ] = None,
    categories: o.Categories = o.Encoding.ONEHOT,
    folds: o.Folds = 5,
    seed: o.Seed = 0,
    jobs: o.Jobs = None,
    output: Annotated[
        Path | None,
        o.written("--output", "-o", help="Table as CSV."),
    ] = None,
    json: o.Json = False,
) -> None:
    """Compare all families: each is tuned inside every fold, so the errors are honest (nested validation)."""
    from maxmargin.cli.screen import running

    with running(NAME, as_json=json) as screen:
        import pandas as pd

        from maxmargin.cli import work
        from maxmargin.cli.columns import prepare, wished
        from maxmargin.cli.models import chosen_family, families

        work.check_folder(output)
        wish = wished(data, target, guess_target, task, drop, categorical, na, file_format, encoding)
        table = prepare(wish, screen)
        work.check_enough(table)
        known = families(table)
        chosen = [chosen_family(table, name) for name in only] if only else list(known.values())
        n_folds = work.folds_for(table.y, folds, classifies=table.classifies, screen=screen)
        found, interrupted = _all(table, chosen, categories, n_folds, seed, jobs, screen)
        if not found:
            raise KeyboardInterrupt("no family was finished")
        found.sort(key=lambda row: row["error"] if row["error"] == row["error"] else float("inf"))
        measure = "error" if table.classifies else "mean squared error"
        rows = [[r["family"], r["error"], r["deviation"], r["seconds"], r["settings"]] for r in found]
        names = ["family", measure, "± over folds", "seconds", "settings in most folds"]
        screen.table(names, rows, title=f"{n_folds} outer folds, tuned inside each", mark=0)
        screen.tell(folds=n_folds, measure=measure, families=found)
        if output is not None:
            pd.DataFrame(found).to_csv(output, index=False)
            screen.line("saved", str(output))
        if interrupted:
            raise KeyboardInterrupt("the finished families are shown")


def _all(
    table: Any, chosen: list[Any], encoding: o.Encoding, folds: int, seed: int, jobs: int | None, screen: Any
) -> tuple[list[dict[str, Any]], bool]:
    """One row for each family that was finished."""
    from maxmargin.tuning.folds import make_folds

    found: list[dict[str, Any]] = []
    splits = make_folds(folds, chosen[0].make(), table.X, table.y.to_numpy(), seed)
    with screen.working("comparing", len(chosen) * folds) as step:
        try:
            for family in chosen:
                with warnings.catch_warnings(record=True) as said:
                    found.append(_one(table, family, encoding, splits, seed, jobs, screen, step))
                if said:
                    screen.note(f"{family.name}: {said[0].message} ({len(said)} warnings)")
        except KeyboardInterrupt:
            return found, True
    return found, False


def _one(
    table: Any,
    family: Any,
    encoding: o.Encoding,
    splits: Any,
    seed: int,
    jobs: int | None,
    screen: Any,
    step: Any,
) -> dict[str, Any]:
    """The errors of one family on rows that neither tuning nor fitting has seen."""
    from collections import Counter

    import numpy as np

    from maxmargin.cli.models import grid_of, pipeline

    estimator, grid = pipeline(table, family, encoding), grid_of(family, None, small=True)
    errors, settings = [], Counter[str]()
    began = time.perf_counter()
    for train, test in splits:
        step(f"comparing: {family.name}")
        X, y = table.X.iloc[train], table.y.iloc[train]
        try:
            model, chosen = _tuned(estimator, grid, X, y, seed, jobs)
        except ValueError as refused:
            screen.note(f"{family.name} cannot be fitted: {refused}")
            errors.append(float("nan"))
            break
        settings[chosen] += 1
        truth, predicted = table.y.iloc[test].to_numpy(), model.predict(table.X.iloc[test])
        wrong = predicted != truth if table.classifies else (predicted - truth) ** 2
        errors.append(float(np.mean(wrong)))
    return {
        "family": family.name,
        "error": float(np.mean(errors)),
        "deviation": float(np.std(errors, ddof=1)) if len(errors) > 1 else float("nan"),
        "seconds": time.perf_counter() - began,
        "settings": settings.most_common(1)[0][0] if settings else "",
        "folds": errors,
    }


def _tuned(estimator: Any, grid: Any, X: Any, y: Any, seed: int, jobs: int | None) -> tuple[Any, str]:
    """The best model of a grid on these rows, and its settings in words; "" where nothing is tuned."""
    from sklearn.base import clone

    import maxmargin as mm
    from maxmargin.cli.screen import shown

    if grid is None:
        return clone(estimator).fit(X, y), ""
    result = mm.tune(estimator, X, y, grid, cv=5, random_state=seed, n_jobs=jobs, verbose=-1)
    if result.interrupted:
        raise KeyboardInterrupt
    chosen = (f"{k.removeprefix('model__')}={shown(v)}" for k, v in result.best_params.items())
    return result.best_estimator, ", ".join(chosen)
