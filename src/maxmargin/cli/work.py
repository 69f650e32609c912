"""Steps that several commands share: split, tune, evaluate, and say what was found."""

from __future__ import annotations

import shlex
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from maxmargin.cli.columns import Prepared
from maxmargin.cli.refusal import Code, Refusal
from maxmargin.cli.screen import Screen, shown

_LEAST_ROWS = 10


@dataclass(frozen=True)
class Split:
    """Rows to learn from and rows held out."""

    X: pd.DataFrame
    X_test: pd.DataFrame
    y: pd.Series
    y_test: pd.Series


def split(data: Prepared, share: float, seed: int, screen: Screen) -> Split:
    """Hold out a share of the rows, of every class the same."""
    from sklearn.model_selection import train_test_split

    check_enough(data)
    stratify = data.y if data.classifies else None
    if data.classifies:
        n_test = round(share * len(data.y))
        if n_test < len(data.classes):
            raise Refusal(f"--test-share {share:g} holds out fewer rows than there are classes.", Code.USAGE)
    parts = train_test_split(data.X, data.y, test_size=share, random_state=seed, stratify=stratify)
    X, X_test, y, y_test = (part.reset_index(drop=True) for part in parts)
    screen.line("split", f"{len(X)} rows to learn from, {len(X_test)} held out (seed {seed})")
    screen.tell(split={"training": len(X), "held_out": len(X_test), "seed": seed})
    return Split(X, X_test, y, y_test)


def check_enough(data: Prepared) -> None:
    """Refuse tables that are too small to be cut."""
    n = len(data.X)
    if n < _LEAST_ROWS:
        raise Refusal(f"{data.source} has {n} row{'s' if n != 1 else ''}: {_LEAST_ROWS} or more are needed.")
    if data.classifies:
        counts = data.y.value_counts()
        if counts.min() < 4:
            rows = "1 row" if counts.min() == 1 else f"{counts.min()} rows"
            raise Refusal(
                f"class {counts.idxmin()!r} has {rows} only: every class needs 4 or more. Leave it out, or "
                "give --task regression if the target is a quantity."
            )


def folds_for(y: pd.Series, folds: int, *, classifies: bool, screen: Screen) -> int:
    """As many folds as were asked for, or as the smallest class allows; says so."""
    most = int(y.value_counts().min()) if classifies else len(y)
    if folds <= most:
        return folds
    screen.note(f"{most} folds in place of {folds}: the smallest class has {most} rows to learn from.")
    return most


def search(
    model: Any, X: Any, y: Any, grid: Any, *, folds: int, seed: int, jobs: int | None, screen: Screen
) -> Any:
    """mm.tune with its bar; Ctrl-C keeps the finished cells."""
    import maxmargin as mm

    found = mm.tune(
        model, X, y, grid, cv=folds, random_state=seed, n_jobs=jobs, verbose=-1 if screen.as_json else 0
    )
    best = found.best_params
    text = ", ".join(f"{name.removeprefix('model__')}={shown(value)}" for name, value in best.items())
    spread = float(found.table["dispersion"].iloc[found.best_index])
    screen.line(
        "tuning",
        f"{len(found.table)} cells x {found.folds.shape[1]} folds in {found.seconds:.1f} s ({found.path})",
    )
    screen.line("best", f"{text}; {found.measure} {found.best_error:.4g} (± {spread:.2g} over folds)")
    if found.interrupted:
        screen.note("interrupted: the best of the finished cells is used.")
    if edges := found.edges():
        names = ", ".join(name.removeprefix("model__") for name in edges)
        screen.note(f"the best cell lies on the edge of the grid in {names}: try more values with --grid.")
    screen.tell(tuning=tuning_facts(found))
    return found


def tuning_facts(found: Any) -> dict[str, Any]:
    """A search for machines."""
    return {
        "best": {name.removeprefix("model__"): value for name, value in found.best_params.items()},
        "error": found.best_error,
        "measure": found.measure,
        "cells": len(found.table),
        "folds": found.folds.shape[1],
        "path": found.path,
        "interrupted": found.interrupted,
        "edges": [name.removeprefix("model__") for name in found.edges()],
    }


def say_model(model: Any, screen: Screen) -> None:
    """The machine and its proof."""
    machine = model.steps[-1][1] if hasattr(model, "steps") else model
    parts = [type(machine).__name__]
    if hasattr(machine, "support_"):
        parts.append(f"{len(machine.support_)} support vectors")
    screen.line("model", ", ".join(parts))
    certificate = getattr(machine, "certificate_", None)
    if certificate is not None:
        screen.line("proof", str(certificate).removeprefix("Certificate: "))
    screen.tell(
        machine=type(machine).__name__, certificate=None if certificate is None else dict(vars(certificate))
    )


def evaluated(
    model: Any,
    X: Any,
    y: Any,
    *,
    classifies: bool,
    positive: Any,
    seed: int,
    screen: Screen,
    where: str,
    threshold: float | None = None,
) -> None:
    """Measures with intervals, and the confusion table."""
    if not classifies:
        from maxmargin.reports.regression_measures import regression_measures

        found = regression_measures(np.asarray(y, dtype=float), np.asarray(model.predict(X)), seed=seed)
        rows = [[name, *values] for name, values in found.items()]
        screen.table(["measure", "value", "low", "high"], rows, title=where)
        screen.tell(
            evaluation={
                name: dict(zip(("value", "low", "high"), v, strict=True)) for name, v in found.items()
            }
        )
        return
    import maxmargin as mm

    result = mm.evaluate(model, X, y, positive=positive, threshold=threshold)
    table = result.table()
    rows = [[str(name), *map(float, row)] for name, row in zip(table.index, table.to_numpy(), strict=True)]
    screen.table(
        ["measure", "value", "low", "high"], rows, title=f"{where} (intervals of {result.confidence:.0%})"
    )
    counts = result.confusion.frame()
    body = [
        [str(name), *(int(v) for v in row)] for name, row in zip(counts.index, counts.to_numpy(), strict=True)
    ]
    screen.table(["predicted \\ true", *map(str, counts.columns)], body)
    screen.tell(
        evaluation={name: dict(zip(("value", "low", "high"), values, strict=True)) for name, *values in rows},
        confusion={"labels": [str(c) for c in counts.columns], "counts": counts.to_numpy()},
    )


def write_report(
    subject: Any, X: Any, y: Any, path: Path, screen: Screen, *, seed: int, **options: Any
) -> None:
    """mm.report with the command above it; ``options`` are those of mm.report."""
    import maxmargin as mm

    with screen.working("writing the report"):
        mm.report(subject, X, y, path, random_state=seed, command=command_line(), **options)
    screen.line("report", str(path))
    screen.tell(report=path)


@dataclass(frozen=True)
class HeldOut:
    """What is done with a fitted model: evaluate it on the rows held out, save it, report on it."""

    data: Prepared
    parts: Split
    positive: Any
    seed: int
    screen: Screen

    def evaluate(self, model: Any) -> None:
        evaluated(
            model,
            self.parts.X_test,
            self.parts.y_test,
            classifies=self.data.classifies,
            positive=self.positive,
            seed=self.seed,
            screen=self.screen,
            where="held-out rows",
        )

    def write(self, model: Any, subject: Any, path: Path, report: Path | None, language: str) -> None:
        """The model file and, where one is wanted, the report on ``subject``: the model or its tuning."""
        save(model, self.data, path)
        self.screen.line("saved", str(path))
        self.screen.tell(model=path, report=report)
        if report is None:
            return
        write_report(
            subject,
            self.parts.X_test,
            self.parts.y_test,
            report,
            self.screen,
            seed=self.seed,
            training=(self.parts.X, self.parts.y),
            language=language,
            target=self.data.schema.target,
            positive=self.positive,
        )


def save(model: Any, data: Prepared, path: Path) -> None:
    """A model file that knows its columns, its data and its command."""
    import maxmargin as mm

    notes = {"schema": data.schema.as_dict(), "data": data.source, "command": command_line()}
    mm.save(model, path, notes=notes)


def command_line() -> str:
    """The command as it was typed."""
    return shlex.join(["maxmargin", *sys.argv[1:]])


def default_path(path: Path, suffix: str) -> Path:
    """The name of the data with another ending, in the current folder."""
    name = path.name
    for ending in (".gz", path.suffix if path.suffix.lower() != ".gz" else Path(path.stem).suffix):
        name = name.removesuffix(ending) if ending else name
    return Path(f"{name}{suffix}")


def check_folder(path: Path | None) -> None:
    """Refuse a place that cannot be written to before the work begins."""
    if path is not None and not path.parent.is_dir():
        raise Refusal(f"the folder {path.parent} does not exist: make it first.", Code.USAGE)
    if path is not None and path.is_dir():
        raise Refusal(f"{path} is a folder: give the name of a file.", Code.USAGE)


def check_language(language: str) -> None:
    from maxmargin.reports.words import LANGUAGES

    if language not in LANGUAGES:
        raise Refusal(f"--language {language}: there are {' and '.join(LANGUAGES)}.", Code.USAGE)
