"""``maxmargin predict``: a saved model on a new table."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import typer

from maxmargin.base.typing import FloatArray
from maxmargin.cli.command_options import PredictOptions
from maxmargin.cli.outputs import Outputs, check_outputs
from maxmargin.cli.saved_model import SavedModel
from maxmargin.cli.screen import Screen
from maxmargin.tables.columns import known_column
from maxmargin.tables.refusals import UsageRefusal


def run(options: PredictOptions, screen: Screen) -> None:
    """Predictions as CSV on standard output, or in a file."""
    check_outputs(options.output, force=options.files.force, read=(options.model, options.data))
    saved = SavedModel.of(options.model)
    table, rows = saved.rows(options.data, options.reading, screen)
    for name in options.keep:
        known_column(name, table, options.data)
    kept = list(dict.fromkeys([*_identifiers(saved, table), *options.keep]))
    name, rule = f"predicted {saved.schema.target or 'target'}", saved.rule
    made = {name: saved.model.predict(rows) if rule is None else rule.predict(saved.model, rows)}
    if rule is not None:
        screen.note(
            f"predicted as {rule.positive} where the score is at least {rule.threshold:.4g}, as chosen "
            "when fitting."
        )
    if options.scores:
        made |= _scores(saved.model, rows)
    for name in made:
        if name in kept:
            raise UsageRefusal(f"--keep {name!r}: the predictions get that name: rename the column first.")
    found = pd.DataFrame({name: table[name] for name in kept}, index=table.index).assign(**made)
    screen.tell(
        model=options.model,
        data=options.data,
        rows=len(found),
        predictions=found.to_dict(orient="records") if screen.as_json else None,
    )
    outputs = Outputs(options.files, screen)
    if options.output is not None:
        outputs.csv(found, options.output)
    elif not screen.as_json:
        typer.echo(outputs.csv_text(found), nl=False)


def _identifiers(saved: SavedModel, table: pd.DataFrame) -> list[str]:
    """Columns that told the rows apart when the model was fitted: every prediction keeps them."""
    names = [column.name for column in saved.schema.columns if column.is_identifier]
    return [name for name in names if name in table.columns]


def _scores(model: Any, rows: pd.DataFrame) -> dict[str, FloatArray]:
    """Probabilities or else decision values; nothing for a regression."""
    classes = [str(label) for label in getattr(model, "classes_", [])]
    method = next((name for name in ("predict_proba", "decision_function") if hasattr(model, name)), None)
    if method is None:
        return {}
    values = np.asarray(getattr(model, method)(rows))
    label = "probability" if method == "predict_proba" else "decision"
    if values.ndim == 1:
        return {f"{label} {classes[-1]}" if classes else label: values}
    return {f"{label} {name}": values[:, k] for k, name in enumerate(classes)}
