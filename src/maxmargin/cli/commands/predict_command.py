"""``maxmargin predict``: a saved model on a new table."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from maxmargin.cli import options as o

NAME = "predict"
EXAMPLES = (
    "Examples:\n\n[cyan]maxmargin predict credit.mm new.csv[/cyan]\n\n"
    "[cyan]maxmargin predict credit.mm new.csv --scores --keep id --output predictions.csv[/cyan]"
)


def run(
    model: o.Model,
    data: o.Data,
    file_format: o.FileFormat = o.Format.AUTO,
    encoding: o.TextEncoding = "utf-8",
    scores: Annotated[
        bool,
        typer.Option("--scores", help="Probabilities or decisions too.", rich_help_panel="Output"),
    ] = False,
    keep: Annotated[
        list[str] | None,
        o.optional("--keep", help="Column of DATA to repeat (repeat for more).", panel=o.OUTPUT),
    ] = None,
    output: Annotated[
        Path | None,
        o.written("--output", "-o", help="CSV file; standard output by default."),
    ] = None,
    json: o.Json = False,
) -> None:
    """Predict the rows of a table with a saved model; CSV on standard output."""
    from maxmargin.cli.screen import running

    with running(NAME, as_json=json) as screen:
        import pandas as pd

        from maxmargin.cli import work
        from maxmargin.cli.columns import known_column
        from maxmargin.cli.saved import open_model

        work.check_folder(output)
        saved = open_model(model)
        table, rows = saved.rows(data, file_format, encoding, screen)
        for name in keep or []:
            known_column(name, table, data)
        found = pd.DataFrame({name: table[name] for name in keep or []})
        name = saved.schema.target or "target"
        found[f"predicted {name}"] = saved.model.predict(rows)
        if scores:
            for label, values in _scores(saved.model, rows).items():
                found[label] = values
        screen.tell(model=model, data=data, rows=len(found), predictions=found.to_dict(orient="records"))
        if output is not None:
            found.to_csv(output, index=False)
            screen.line("saved", f"{output}: {len(found)} rows")
        elif not json:
            typer.echo(found.to_csv(index=False), nl=False)


def _scores(model: Any, rows: Any) -> dict[str, Any]:
    """Probabilities where the model has them, decisions where not, nothing for a regression."""
    classes = [str(label) for label in getattr(model, "classes_", [])]
    method = next((name for name in ("predict_proba", "decision_function") if hasattr(model, name)), None)
    if method is None:
        return {}
    values = getattr(model, method)(rows)
    label = "probability" if method == "predict_proba" else "decision"
    if values.ndim == 1:
        return {f"{label} {classes[-1]}" if classes else label: values}
    return {f"{label} {name}": values[:, k] for k, name in enumerate(classes)}
