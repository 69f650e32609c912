"""``maxmargin evaluate``: a saved model on rows with known answers."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from maxmargin.cli import options as o

NAME = "evaluate"
EXAMPLES = (
    "Examples:\n\n[cyan]maxmargin evaluate credit.mm test.csv[/cyan]\n\n"
    "[cyan]maxmargin evaluate credit.mm test.csv --positive bad --threshold 0.3 --report test.html[/cyan]"
)


def run(
    model: o.Model,
    data: o.Data,
    target: o.Target = None,
    file_format: o.FileFormat = o.Format.AUTO,
    encoding: o.TextEncoding = "utf-8",
    positive: o.Positive = None,
    threshold: Annotated[
        float | None,
        o.optional("--threshold", help="Score from which a row is called positive.", panel=o.WORK),
    ] = None,
    seed: o.Seed = 0,
    report: Annotated[
        Path | None,
        o.written("--report", help="Write a report here."),
    ] = None,
    language: o.Language = "en",
    json: o.Json = False,
) -> None:
    """Evaluate a saved model on a table that holds its target; the rows are taken as unseen by the model."""
    from maxmargin.cli.screen import running

    with running(NAME, as_json=json) as screen:
        from maxmargin.cli import work
        from maxmargin.cli.columns import target_for
        from maxmargin.cli.models import match_class
        from maxmargin.cli.refusal import Code, Refusal
        from maxmargin.cli.saved import open_model

        work.check_folder(report)
        work.check_language(language)
        saved = open_model(model)
        name = target or saved.schema.target
        if name is None:
            raise Refusal("the model file does not name its target: give --target.", Code.USAGE)
        table, rows = saved.rows(data, file_format, encoding, screen)
        classes = list(getattr(saved.model, "classes_", []))
        y = target_for(saved.schema, name, table, data, classes)
        classifies = bool(classes)
        if not classifies and (positive is not None or threshold is not None):
            raise Refusal(
                "--positive and --threshold belong to classes; this model predicts a quantity.", Code.USAGE
            )
        wanted = None if positive is None else match_class(classes, positive)
        screen.line("model", f"{model}: {' > '.join(saved.said['model'])}")
        screen.line("data", f"{data}: {len(rows)} rows, target {name}")
        screen.tell(model=model, data=data, rows=len(rows), target=name)
        work.evaluated(
            saved.model,
            rows,
            y,
            classifies=classifies,
            positive=wanted,
            seed=seed,
            screen=screen,
            where="these rows",
            threshold=threshold,
        )
        if report is not None:
            options = {"held_out": True, "language": language, "target": name, "positive": wanted}
            work.write_report(saved.model, rows, y, report, screen, seed=seed, **options)
