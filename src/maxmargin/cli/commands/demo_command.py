"""``maxmargin demo``: the main job on bundled data."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from maxmargin.cli import options as o

NAME = "demo"
EXAMPLES = "Example:\n\n[cyan]maxmargin demo[/cyan], then open the report that it names."

_TARGET = "diagnosis"


def run(
    folder: Annotated[Path, typer.Argument(help="Where to write.")] = Path("results/demo"),
    seed: o.Seed = 0,
    language: o.Language = "en",
    json: o.Json = False,
) -> None:
    """Tune, fit, evaluate, select and report on 569 tumours, in under a minute."""
    from maxmargin.cli.screen import running

    with running(NAME, as_json=json) as screen:
        from maxmargin.cli import work
        from maxmargin.cli.columns import Wish, prepare
        from maxmargin.cli.commands import fit_command as fit
        from maxmargin.cli.commands import select_command as select
        from maxmargin.cli.models import chosen_family, grid_of, pipeline

        work.check_language(language)
        folder.mkdir(parents=True, exist_ok=True)
        path = folder / "breast_cancer.csv"
        _bundled().to_csv(path, index=False)
        table = prepare(Wish(path, _TARGET), screen)
        parts = work.split(table, 0.25, seed, screen)
        family = chosen_family(table, "svm")
        estimator = pipeline(table, family, o.Encoding.ONEHOT)
        subject, interrupted = fit.fitted_model(
            estimator, parts, grid_of(family, None), 10, seed, None, screen
        )
        fitted = subject.best_estimator
        work.say_model(fitted, screen)
        held_out = work.HeldOut(table, parts, "malignant", seed, screen)
        held_out.evaluate(fitted)
        select.selected(parts.X, parts.y, select.Method.RFE, 10, 10, seed, classifies=True, screen=screen)
        model_path, report_path = folder / "breast_cancer.mm", folder / "report.html"
        held_out.write(fitted, subject, model_path, report_path, language)
        screen.text(f"\nThe report is in {report_path.resolve()}")
        screen.text(f"Next: maxmargin fit {path} --target {_TARGET}")
        if interrupted:
            raise KeyboardInterrupt("what was finished is written")


def _bundled() -> Any:
    """Wisconsin's breast cancer table with the diagnosis in words, as scikit-learn brings it."""
    from sklearn.datasets import load_breast_cancer

    data = load_breast_cancer(as_frame=True)
    table = data.data.copy()
    table[_TARGET] = [str(data.target_names[code]) for code in data.target]
    return table
