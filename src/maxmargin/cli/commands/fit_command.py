"""``maxmargin fit``: from a table to a tuned, evaluated and saved model with its report."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from maxmargin.cli import options as o

NAME = "fit"
EXAMPLES = (
    "Examples:\n\n[cyan]maxmargin fit credit.csv --target default[/cyan]\n\n"
    "[cyan]maxmargin fit houses.parquet -t price --model ridge --no-report[/cyan]\n\n"
    '[cyan]maxmargin fit a.csv -t y --kernel "RBF(gamma=0.1)+Linear()" --grid C=1,10,100 --json[/cyan]'
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
    model: Annotated[
        str,
        typer.Option(
            "--model",
            help="svm, nu-svm, linear-svm, logistic, fisher, perceptron; for quantities svm, nu-svm, "
            "kernel-ridge, linear-svm, ridge, least-squares.",
            rich_help_panel="Work",
        ),
    ] = "svm",
    kernel: o.KernelText = None,
    categories: o.Categories = o.Encoding.ONEHOT,
    grid: o.Grid = None,
    folds: o.Folds = 10,
    test_share: o.TestShare = 0.25,
    positive: o.Positive = None,
    seed: o.Seed = 0,
    jobs: o.Jobs = None,
    output: Annotated[
        Path | None,
        o.written("--output", "-o", help="Model file; DATA.mm by default."),
    ] = None,
    report: Annotated[
        Path | None,
        o.written("--report", help="Report; DATA.html by default."),
    ] = None,
    no_report: Annotated[
        bool, typer.Option("--no-report", help="Write no report.", rich_help_panel="Output")
    ] = False,
    language: o.Language = "en",
    json: o.Json = False,
) -> None:
    """Fit a model: split, tune, refit, evaluate on held-out rows, save the model and a report."""
    from maxmargin.cli.screen import running

    with running(NAME, as_json=json) as screen:
        from maxmargin.cli import work
        from maxmargin.cli.columns import prepare, wished
        from maxmargin.cli.models import chosen_family, grid_of, pipeline, positive_of, with_kernel

        model_path = output or work.default_path(data, ".mm")
        report_path = None if no_report else report or work.default_path(data, ".html")
        for path in (model_path, report_path):
            work.check_folder(path)
        work.check_language(language)
        wish = wished(data, target, guess_target, task, drop, categorical, na, file_format, encoding)
        table = prepare(wish, screen)
        family = with_kernel(chosen_family(table, model), kernel)
        wanted = positive_of(table, positive)
        parts = work.split(table, test_share, seed, screen)
        estimator = pipeline(table, family, categories, wanted)
        cells = grid_of(family, grid)
        n_folds = work.folds_for(parts.y, folds, classifies=table.classifies, screen=screen)
        subject, interrupted = fitted_model(estimator, parts, cells, n_folds, seed, jobs, screen)
        fitted = getattr(subject, "best_estimator", subject)
        work.say_model(fitted, screen)
        held_out = work.HeldOut(table, parts, wanted, seed, screen)
        held_out.evaluate(fitted)
        held_out.write(fitted, subject, model_path, report_path, language)
        if interrupted:
            raise KeyboardInterrupt("what was finished is written")


def fitted_model(
    estimator: Any, parts: Any, cells: Any, folds: int, seed: int, jobs: int | None, screen: Any
) -> tuple[Any, bool]:
    """The tuning result with its refitted model, or the model where there is nothing to tune."""
    from dataclasses import replace

    from sklearn.base import clone

    from maxmargin.cli import work

    if cells is None:
        with screen.working("fitting"):
            return clone(estimator).fit(parts.X, parts.y), False
    found = work.search(estimator, parts.X, parts.y, cells, folds=folds, seed=seed, jobs=jobs, screen=screen)
    if not found.interrupted:
        return found, False
    best = clone(estimator).set_params(**found.best_params).fit(parts.X, parts.y)
    return replace(found, best_estimator=best), True
