"""A model file together with what it says about its columns."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pandas as pd
from sklearn.base import BaseEstimator
from sklearn.impute import SimpleImputer
from sklearn.preprocessing import OneHotEncoder

import maxmargin as mm
from maxmargin.cli.options import ReadingOptions
from maxmargin.cli.screen import Screen
from maxmargin.io import ModelFileError
from maxmargin.io import about as read_about
from maxmargin.tables.column_kinds import ColumnKind
from maxmargin.tables.columns import Schema, rows_for
from maxmargin.tables.measures_and_rules import DecisionRule
from maxmargin.tables.reading import read_table
from maxmargin.tables.refusals import Refusal


@dataclass(frozen=True)
class SavedModel:
    """A loaded model, its columns, and the description in its file."""

    path: Path
    model: Any
    schema: Schema
    about: dict[str, Any]

    @classmethod
    def of(cls, path: Path) -> SavedModel:
        """Load a model file of the command line; the error says why it cannot be used."""
        said = about(path)
        try:
            schema = Schema.of(said["notes"]["schema"])
        except (AttributeError, KeyError, TypeError, ValueError):
            raise ModelFileError(
                f"{path} was not written by this version of the command line and does not describe its "
                "columns: use it in Python, mm.load(...).predict(table)."
            ) from None
        saved = cls(path, mm.load(path), schema, said)
        if said["feature_names"] != schema.order or not saved._knows_categories():
            raise ModelFileError(
                f"{path} describes other columns than its model has: fit and save the model again."
            )
        return saved

    def _knows_categories(self) -> bool:
        """True if every encoder of categories has as many columns as the description."""
        n, encoders = len(self.schema.made(ColumnKind.CATEGORY)), steps_of(self.model)
        return all(len(step.categories_) == n for step in encoders if hasattr(step, "categories_"))

    @property
    def classes(self) -> list[Any]:
        return list(getattr(self.model, "classes_", []))

    @property
    def positive(self) -> Any:
        """The class of interest when the model was fitted; None if the file names none."""
        given = self.about["notes"].get("positive")
        return next((label for label in self.classes if str(label) == given), None)

    @property
    def rule(self) -> DecisionRule | None:
        """The threshold that was chosen when the model was fitted."""
        given = self.about["notes"].get("rule")
        if given is None:
            return None
        try:
            return DecisionRule.of(given, self.classes)
        except (AttributeError, KeyError, IndexError, TypeError, ValueError, StopIteration):
            raise ModelFileError(f"{self.path} has a threshold that cannot be read.") from None

    def rows(self, data: Path, reading: ReadingOptions, screen: Screen) -> tuple[pd.DataFrame, pd.DataFrame]:
        """A new table, and the model's columns from it."""
        reading = replace(reading, missing=[*self.schema.missing, *reading.missing])
        as_text = [column.name for column in self.schema.used if column.decimal]
        table = read_table(data, reading, screen.note, as_text=as_text)
        rows = rows_for(self.path.name, self.schema, table, data, screen.note)
        if not self._fills_gaps():
            self._check_gaps(rows, data)
        self._say_unseen(rows, screen)
        return table, rows

    def _fills_gaps(self) -> bool:
        return isinstance(self.model, mm.Scorecard) or any(
            isinstance(step, SimpleImputer) for step in steps_of(self.model)
        )

    def _check_gaps(self, rows: pd.DataFrame, data: Path) -> None:
        gaps = rows[self.schema.made(ColumnKind.NUMBER)].isna()
        if gaps.any().any():
            name = gaps.any().idxmax()
            raise Refusal(
                f"{data}: {name!r} is missing in row {int(gaps[name].to_numpy().argmax()) + 1}, and the "
                "model was fitted on a table without missing values: fill it in."
            )

    def _say_unseen(self, rows: pd.DataFrame, screen: Screen) -> None:
        names = self.schema.made(ColumnKind.CATEGORY)
        for step in steps_of(self.model):
            if not isinstance(step, OneHotEncoder) or not hasattr(step, "categories_"):
                continue
            for name, known in zip(names, step.categories_, strict=True):
                unseen = rows[name].notna() & ~rows[name].isin(list(known))
                if unseen.any():
                    screen.note(
                        f"rows with a value of {name!r} that the model has not seen, such as "
                        f"{rows.loc[unseen, name].iloc[0]!r}: {int(unseen.sum())}."
                    )


def about(path: Path) -> dict[str, Any]:
    """What a model file says, or one line about why it cannot be read."""
    if not path.exists():
        raise ModelFileError(f"{path}: there is no such file.")
    if path.is_dir():
        raise ModelFileError(f"{path} is a folder: give a model file.")
    return read_about(path)


def steps_of(model: BaseEstimator) -> Iterator[Any]:
    """A model and all its steps, also inside others."""
    yield model
    for _, step in getattr(model, "steps", []):
        yield from steps_of(step)
    for _, step, _ in getattr(model, "transformers_", []):
        yield from steps_of(step)
