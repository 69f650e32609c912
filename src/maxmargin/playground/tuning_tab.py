"""The analyst's tab: a table, a grid of models, a threshold, an explanation, and downloads."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from sklearn.base import clone
from sklearn.decomposition import PCA
from sklearn.model_selection import train_test_split

import maxmargin as mm
from maxmargin.base.typing import AnyArray
from maxmargin.io.files import model_bytes
from maxmargin.playground import messages
from maxmargin.playground.exports import file_reply
from maxmargin.playground.messages import MAX_CLASSES, MAX_POINTS, Message, MessageError
from maxmargin.playground.wire import Reply
from maxmargin.reports.page import page_text
from maxmargin.reports.sections.reproduce_section import model_lines
from maxmargin.reports.study import ReportOptions, make_study
from maxmargin.tables.columns import Prepared, prepare
from maxmargin.tables.measures_and_rules import TuningMeasure, tuning_measure
from maxmargin.tables.models import chosen_family, pipeline
from maxmargin.tables.reading import read_table
from maxmargin.tables.table_settings import ColumnSettings, Encoding, Reading, Scoring, Task
from maxmargin.tables.translation import Translator
from maxmargin.tuning.errors import ErrorMeasure
from maxmargin.tuning.result import TuneProgress, TuneResult

Say = Callable[[Reply], None]
MAX_ROWS, MAX_COLUMNS, MAX_CELLS, MAX_FOLDS = 200_000, 500, 400, 20
_PREVIEW = 20
_TERMS = 12
_GRID = {
    "C": [0.03125, 0.125, 0.5, 2.0, 8.0, 32.0, 128.0],
    "gamma": [0.0005, 0.002, 0.008, 0.03, 0.125, 0.5],
}


@dataclass
class TableTab:
    """One table, what was decided about its columns, and what was tuned on it."""

    source: Path
    table: pd.DataFrame
    data: Prepared
    notes: list[str]
    found: TuneResult | None = None
    model: Any = None
    parts: tuple[Any, Any, Any, Any] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        y, classifies = self.data.y, self.data.classifies
        if len(y) < 12 or (classifies and y.value_counts().min() < 4):
            raise MessageError("the table needs at least 12 rows, and 4 of every class.")
        parts = train_test_split(
            self.data.X, y, test_size=0.25, random_state=0, stratify=y if classifies else None
        )
        self.parts = tuple(part.reset_index(drop=True) for part in parts)

    @classmethod
    def read(cls, source: Path, target: str | None, content: bytes | None = None) -> TableTab:
        """The table in a file, or in ``content`` under the name of a file."""
        notes: list[str] = []
        table = read_table(source, Reading(), notes.append, content=content)
        return cls.made_of(source, table, target, notes)

    @classmethod
    def made_of(cls, source: Path, table: pd.DataFrame, target: str | None, notes: list[str]) -> TableTab:
        if len(table) > MAX_ROWS or table.shape[1] > MAX_COLUMNS:
            raise MessageError(f"the page takes tables of up to {MAX_ROWS} rows and {MAX_COLUMNS} columns.")
        settings = ColumnSettings(target=target, guess_target=target is None)
        return cls(source, table, prepare(table, source, settings, Task.AUTO, notes.append), notes)

    def described(self) -> dict[str, Any]:
        """Columns with what was done to them, notes, and the first rows."""
        schema = self.data.schema
        columns = [
            {
                "name": column.name,
                "kind": str(column.kind),
                "note": None if column.use == column.kind else _told(column.why or column.use),
                "gaps": int(self.table[column.name].isna().sum()),
            }
            for column in schema.columns
        ]
        preview = self.table.head(_PREVIEW).astype(object).where(self.table.head(_PREVIEW).notna(), "")
        return {
            "name": self.source.name,
            "rows": len(self.data.X),
            "target": schema.target,
            "targets": [str(name) for name in self.table.columns],
            "classes": [str(label) for label in self.data.classes],
            "columns": columns,
            "numbers": self.data.numbers,
            "notes": [_told(note) for note in self.notes[:20]],
            "preview": [[str(value)[:60] for value in row] for row in preview.to_numpy()],
            "grid": _GRID,
            "held_out": len(self.parts[3]),
        }

    def handle(self, message: Message, say: Say, stop: threading.Event) -> Reply:
        """The answer to a message about this table."""
        action = {"tune": self._tune, "model": self._model, "explain": self._explain, "file": self._file}
        return action[message["do"]](message, say, stop)

    @property
    def _measure(self) -> TuningMeasure:
        """What tuning compares: it depends on the target."""
        return tuning_measure(self.data, Scoring.AUTO, None, lambda note: None)

    # -- tuning ------------------------------------------------------------------------------------

    def _tune(self, message: Message, say: Say, stop: threading.Event) -> Reply:
        messages.only(message, "grid", "folds")
        folds = messages.whole(message, "folds", 2, MAX_FOLDS, 10)
        grid = _grid_of(message.get("grid", _GRID))
        X, _, y, _ = self.parts
        rows = X.to_numpy(dtype=np.float64) if set(X.columns) == set(self.data.numbers) else X  # read faster
        if self.data.classifies:
            folds = min(folds, int(y.value_counts().min()))
        estimator = pipeline(self.data, chosen_family(self.data, "svm").make(), Encoding.ONEHOT)

        def told(progress: TuneProgress) -> bool:
            cells = [_cell(cell) for cell in progress.finished]
            say(Reply({"do": "cells", "cells": cells, "done": progress.n_done, "total": progress.n_total}))
            return stop.is_set()

        measure = self._measure
        self.found = mm.tune(
            estimator, rows, y, grid, cv=folds, scoring=measure.scoring, refit=False, verbose=-1,
            callback=told, random_state=0,
        )  # fmt: skip
        self.model = None
        index, simple = self.found.best_index, self.found.one_standard_error_index
        place = [_short(params) for params in self.found.params]
        return Reply(
            {
                "do": "tuned",
                "best": place[index],
                "one_se": place[simple],
                "error": self.found.best_error,
                "measure": _told(measure.name),
                "n_cells": len(place),
                "interrupted": self.found.interrupted,
            }
        )

    def _model(self, message: Message, say: Say, stop: threading.Event) -> Reply:
        """Fit one cell on the training rows; its decisions on the held-out rows, for the threshold."""
        messages.only(message, "params")
        if self.found is None:
            raise MessageError("there is no cell yet: tune first.", key="pick_cell")
        wanted = message.get("params")
        places = [_short(params) for params in self.found.params]
        if wanted not in places:
            raise MessageError("this cell was not tried.", key="pick_cell")
        index = places.index(wanted)
        X, X_test, y, y_test = self.parts
        template = pipeline(self.data, chosen_family(self.data, "svm").make(), Encoding.ONEHOT)
        self.model = clone(template).set_params(**self.found.params[index]).fit(X, y)
        header: dict[str, Any] = {
            "do": "model",
            "params": wanted,
            "error": float(self.found.table["error"].iloc[index]),
            "classes": [str(label) for label in self.data.classes],
        }
        arrays: dict[str, AnyArray] = {}
        error = ErrorMeasure(template, self._measure.scoring)  # the one that tuning compared
        header["test"] = error.of_model(self.model, X_test, y_test.to_numpy())
        if len(self.data.classes) == 2:
            arrays["score"] = self.model.decision_function(X_test)
            arrays["truth"] = (y_test == self.model.classes_[1]).to_numpy(dtype=np.float64)
        header["rows"] = [
            [str(value)[:60] for value in row] for row in X_test.head(_PREVIEW).astype(object).to_numpy()
        ]
        header["names"] = [str(name) for name in X_test.columns]
        return Reply(header, arrays)

    def _explain(self, message: Message, say: Say, stop: threading.Event) -> Reply:
        """One held-out row as a sum over support vectors."""
        messages.only(message, "row")
        if self.model is None:
            raise MessageError("there is no model yet: click a cell.", key="pick_cell")
        X_test, y_test = self.parts[1], self.parts[3]
        k = messages.whole(message, "row", 0, len(X_test) - 1)
        found = mm.explain(self.model, X_test.iloc[[k]])
        terms = found.terms.head(_TERMS)
        return Reply(
            {
                "do": "explained",
                "row": k,
                "prediction": str(found.prediction),
                "truth": str(y_test.iloc[k]),
                "decision": found.decision,
                "intercept": found.intercept,
                "n_terms": len(found.terms),
                "terms": [
                    [int(row), float(term)] for row, term in zip(terms["row"], terms["term"], strict=True)
                ],
            }
        )

    # -- files ------------------------------------------------------------------------------------

    def _file(self, message: Message, say: Say, stop: threading.Event) -> Reply:
        messages.only(message, "what", "language", "x", "y")
        what = messages.choice(message, "what", ("lines", "model", "report", "points"))
        if what == "points":
            return self._points(message)
        if self.model is None:
            raise MessageError("there is no model yet: click a cell.", key="pick_cell")
        X, X_test, y, y_test = self.parts
        if what == "lines":
            return file_reply("model.py", "text/x-python", self._lines().encode())
        if what == "model":
            return file_reply(f"{self.source.stem}.mm", "application/octet-stream", model_bytes(self.model))
        language = messages.choice(message, "language", ("en", "es"), "en")
        options = ReportOptions(language=language, target=self.data.schema.target)
        page = page_text(make_study(self.model, X_test, y_test, (X, y), options))
        return file_reply("report.html", "text/html", page.encode())

    def _table_lines(self) -> list[str]:
        """Lines that read X and y: with pandas if it reads the file as it was read here."""
        schema, name = self.data.schema, repr(self.source.name)
        whole = self.table.attrs.get("separator") == "," and len(self.table) == len(self.data.y)
        text = not self.data.classifies and not pd.api.types.is_numeric_dtype(self.table[schema.target])
        if whole and not text and not any(column.converted for column in schema.used):
            columns = list(self.data.X.columns)
            return [
                "import pandas as pd", "", f"table = pd.read_csv({name})", f"y = table[{schema.target!r}]",
                f"X = table[{columns!r}]",
            ]  # fmt: skip
        settings = f"ColumnSettings(target={schema.target!r})"
        return [
            "from pathlib import Path", "from maxmargin.tables.columns import prepare",
            "from maxmargin.tables.reading import read_table",
            "from maxmargin.tables.table_settings import ColumnSettings, Reading, Task", "",
            f"source = Path({name})", "table = read_table(source, Reading(), print)",
            f"data = prepare(table, source, {settings}, Task.AUTO, print)", "X, y = data.X, data.y",
        ]  # fmt: skip

    def _lines(self) -> str:
        split = "train_test_split(X, y, test_size=0.25, random_state=0" + (
            ", stratify=y)" if self.data.classifies else ")"
        )
        lines = model_lines(clone(self.model))
        return "\n".join(
            [
                *lines[:-2], "from sklearn.model_selection import train_test_split", *self._table_lines(),
                f"X_train, X_test, y_train, y_test = {split}", lines[-1], "model.fit(X_train, y_train)",
                "print(mm.evaluate(model, X_test, y_test))", "",
            ]
        )  # fmt: skip

    def _points(self, message: Message) -> Reply:
        """Two columns, or the first two components, as points of the plane; scaled to its size."""
        rows = self.data.X.reset_index(drop=True)
        sample = np.random.default_rng(0).permutation(len(rows))[:MAX_POINTS]
        names = [messages.text(message, name, 200, "") for name in ("x", "y")]
        if any(names):
            if not all(name in self.data.numbers for name in names):
                raise MessageError("choose two columns of numbers.")
            table = rows.loc[sample, names].to_numpy(dtype=np.float64)
        else:
            front = pipeline(self.data, chosen_family(self.data, "svm").make(), Encoding.ONEHOT)[:-1]
            seen = front.fit_transform(rows.loc[sample])
            dense = np.asarray(seen.todense() if hasattr(seen, "todense") else seen, dtype=np.float64)
            table = PCA(min(2, dense.shape[1]), random_state=0).fit_transform(dense)
            table = np.column_stack([table, np.zeros(len(table))])[:, :2]
        table = np.nan_to_num(table - np.nanmedian(table, axis=0))
        spread = np.quantile(np.abs(table), 0.98, axis=0)
        table = np.clip(table / np.where(spread > 0, spread, 1.0) * [3.2, 2.4], [-3.9, -2.9], [3.9, 2.9])
        codes = np.zeros(len(table), dtype=np.int64)
        if self.data.classifies:
            codes = pd.Categorical(self.data.y, categories=self.data.classes).codes[sample]
            codes = np.minimum(codes, MAX_CLASSES - 1)
        points = [
            [round(float(a), 3), round(float(b), 3), int(c)] for (a, b), c in zip(table, codes, strict=True)
        ]
        return Reply({"do": "points", "points": points})


def opened(message: Message) -> TableTab:
    """A table that the page sends as text: the browser never names a path that is read here."""
    messages.only(message, "name", "content", "target")
    name = Path(messages.text(message, "name", 200)).name or "table.csv"
    target = messages.text(message, "target", 200, "") or None
    content = messages.text(message, "content", messages.MAX_LOAD)
    return TableTab.read(Path(name), target, content.encode())


def _told(text: str) -> dict[str, str]:
    """A sentence by language; a very long one, with a strange header in it, stays in English."""
    return {"en": text, "es": _spanish()(text) if len(text) <= 300 else text}


@cache
def _spanish() -> Translator:
    return Translator("es")


def _grid_of(given: Any) -> dict[str, list[float]]:
    if not isinstance(given, dict) or set(given) != {"C", "gamma"}:
        raise MessageError("grid must have C and gamma.", field="grid")
    grid = {}
    for name, values in given.items():
        if not isinstance(values, list) or not 1 <= len(values) <= MAX_CELLS:
            raise MessageError(f"{name} must be a list of numbers.", field="grid")
        grid[f"model__{name}"] = [messages.number({name: value}, name, 1e-9, 1e9) for value in values]
    if len(grid["model__C"]) * len(grid["model__gamma"]) > MAX_CELLS:
        raise MessageError(f"the grid may have {MAX_CELLS} cells.", field="grid")
    return grid


def _short(params: dict[str, Any]) -> dict[str, Any]:
    return {name.rpartition("__")[2]: value for name, value in params.items()}


def _cell(cell: dict[str, Any]) -> dict[str, Any]:
    return {"params": _short(cell["params"]), "error": cell["error"], "dispersion": cell["dispersion"]}
