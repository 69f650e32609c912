"""A model file together with what it says about its columns."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd

from maxmargin.cli.columns import Schema, rows_for
from maxmargin.cli.options import Format
from maxmargin.cli.reading import Reading, read_table
from maxmargin.cli.refusal import Code, Refusal
from maxmargin.cli.screen import Screen


@dataclass(frozen=True)
class Saved:
    """A loaded model, its columns, and what its file says."""

    path: Path
    model: Any
    schema: Schema
    said: dict[str, Any]

    def rows(
        self, data: Path, form: Format, encoding: str, screen: Screen
    ) -> tuple[pd.DataFrame, pd.DataFrame]:
        """A new table, and its columns that the model needs."""
        table = read_table(data, Reading(form, encoding, tuple(self.schema.missing)), screen.note)
        rows = rows_for(self.path, self.schema, table, data, screen)
        if not _fills_gaps(self.model):
            _check_gaps(rows[self.schema.numbers], data)
        _say_unseen(self.model, rows, self.schema, screen)
        return table, rows


def open_model(path: Path) -> Saved:
    """Load a model file of the command line, or say why not."""
    import maxmargin as mm

    said = about(path)
    schema = Schema.of(said.get("notes", {}), path)
    return Saved(path, mm.load(path), schema, said)


def about(path: Path) -> dict[str, Any]:
    """What a model file says, or one line about why it does not."""
    from maxmargin.io import about as read

    if not path.exists():
        raise Refusal(f"{path}: there is no such file.", Code.MODEL)
    if path.is_dir():
        raise Refusal(f"{path} is a folder: give a model file.", Code.MODEL)
    return read(path)


def _fills_gaps(model: Any) -> bool:
    from sklearn.impute import SimpleImputer

    from maxmargin.scorecards import Scorecard

    return isinstance(model, Scorecard) or any(isinstance(step, SimpleImputer) for step in _steps(model))


def _steps(model: Any) -> list[Any]:
    """All steps of a pipeline, also inside others."""
    found = [model]
    for _, step in getattr(model, "steps", []):
        found += _steps(step)
    for _, step, _ in getattr(model, "transformers_", []):
        found += _steps(step)
    return found


def _check_gaps(numbers: pd.DataFrame, data: Path) -> None:
    gaps = numbers.isna()
    if gaps.any().any():
        name = gaps.any().idxmax()
        row = int(gaps[name].to_numpy().argmax()) + 1
        raise Refusal(
            f"{data}: {name!r} is missing in row {row}, and the model was fitted on a table without "
            "gaps: fill it."
        )


def _say_unseen(model: Any, rows: pd.DataFrame, schema: Schema, screen: Screen) -> None:
    from sklearn.preprocessing import OneHotEncoder

    for step in _steps(model):
        if not isinstance(step, OneHotEncoder) or not hasattr(step, "categories_"):
            continue
        for name, known in zip(schema.categories, step.categories_, strict=True):
            unseen = rows[name].notna() & ~rows[name].isin(list(known))
            if unseen.any():
                label = rows.loc[unseen, name].iloc[0]
                screen.note(
                    f"{int(unseen.sum())} rows have a {name!r} that the model never saw, such as {label!r}."
                )
