"""Files that commands write: their names, and protection of existing files."""

from __future__ import annotations

import re
import secrets
import shlex
import sys
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import pandas as pd
from sklearn.base import BaseEstimator

import maxmargin as mm
from maxmargin.base.whole_files import check_writable, whole_file
from maxmargin.cli.options import FileOptions
from maxmargin.cli.screen import Screen
from maxmargin.tables.columns import Prepared
from maxmargin.tables.measures_and_rules import DecisionRule
from maxmargin.tables.refusals import UsageRefusal

_FORMULA = tuple("=+-@\t\r\n＝＋－＠")  # some spreadsheets take the wide signs too
_CELL_ENDS = re.compile(r"([;\t\r\n])")
_PICTURES = (".png", ".svg", ".pdf")
_NUMBER = re.compile(r"[-+]?(\d+([.,]\d*)*|[.,]\d+)([eE][-+]?\d+)?%?|\+[\d ]+")  # or a telephone


def default_path(data: Path, middle: str, suffix: str) -> Path:
    """A file beside the data: DATA.MIDDLE.SUFFIX."""
    name = data.name.removesuffix(".gz")
    return data.with_name(f"{name.removesuffix(Path(name).suffix)}.{middle}{suffix}")


def check_picture(path: Path | None) -> None:
    """Refuse picture formats that cannot be written before the work begins."""
    if path is not None and path.suffix.lower() not in _PICTURES:
        raise UsageRefusal(f"{path}: pictures are written as {', '.join(_PICTURES)}: give such a name.")


def check_outputs(*paths: Path | None, force: bool, read: tuple[Path | None, ...] = ()) -> None:
    """Refuse places that cannot be written, and files that exist, before the work begins.

    The files that a command reads are not overwritten even with ``force``.
    """
    inputs = {path.resolve() for path in read if path is not None}
    for path in paths:
        if path is None:
            continue
        if path.resolve() in inputs:
            raise UsageRefusal(f"{path} is what this command reads: give its output another name.")
        try:
            check_writable(path, overwrite=force)
        except FileExistsError:
            raise UsageRefusal(f"{path} exists: --force overwrites it, or give another name.") from None
        except FileNotFoundError:
            raise UsageRefusal(f"the folder {path.parent} does not exist: create it first.") from None
        except IsADirectoryError:
            raise UsageRefusal(f"{path} is a folder: give the name of a file.") from None
    given = [path.resolve() for path in paths if path is not None]
    if len(set(given)) < len(given):
        raise UsageRefusal(f"two outputs have the same name: {given[-1]}.")


@dataclass(frozen=True)
class Outputs:
    """Writes the files of one run, which all carry the same run number."""

    files: FileOptions
    screen: Screen
    run: str = field(default_factory=lambda: secrets.token_hex(4))

    def csv(self, table: pd.DataFrame, path: Path, *, label: str = "saved", **options: Any) -> None:
        """A table as CSV."""
        with whole_file(path, overwrite=self.files.force) as file:
            file.write(self.csv_text(table, **options))
        self.screen.line(label, str(path))

    def csv_text(self, table: pd.DataFrame, **options: Any) -> str:
        safe = table if self.files.raw_csv else without_formulas(table)
        changed = int((safe.astype(str).to_numpy() != table.astype(str).to_numpy()).sum())
        if changed:
            self.screen.note(
                f"' was put before texts that a spreadsheet would run as formulas ({changed}); --raw-csv "
                "leaves them as they are."
            )
        return str(safe.to_csv(**{"index": False, "lineterminator": "\n", **options}))

    def picture(self, figure: Any, path: Path) -> None:
        """A figure as .png, .svg or .pdf."""
        kind = path.suffix.lower().removeprefix(".")
        with whole_file(path, "wb", overwrite=self.files.force) as file:
            figure.savefig(file, format=kind, dpi=130, bbox_inches="tight")
        self.screen.line("picture", str(path))

    def model(
        self,
        model: BaseEstimator,
        data: Prepared,
        path: Path,
        *,
        report: Path | None,
        rule: DecisionRule | None,
        positive: Any,
    ) -> None:
        """A model file that knows its columns, its data, its command and its report."""
        notes = {
            "schema": data.schema.as_dict(),
            "data": str(data.source),
            "command": command_line(),
            "run": self.run,
            "report": None if report is None else str(report),
            "positive": None if positive is None else str(positive),
            "rule": None if rule is None else asdict(rule),
        }
        check_outputs(path, force=self.files.force)
        mm.save(model, path, notes=notes)
        self.screen.line("saved", str(path))
        self.screen.tell(model=path, run=self.run)


def without_formulas(table: pd.DataFrame) -> pd.DataFrame:
    """The table with ' before text that a spreadsheet would run as a formula; numbers stay as they are."""
    safe = table.rename(columns=_safe, index=_safe)
    for j, kind in enumerate(safe.dtypes):
        if kind.kind == "O" or isinstance(kind, pd.StringDtype | pd.CategoricalDtype):
            safe.isetitem(j, safe.iloc[:, j].astype(object).map(_safe).to_numpy())
    return safe


def _safe(value: Any) -> Any:
    """The value, with ' before a text that starts like a formula and is not a number.

    Parts of a text count too: with decimal commas a spreadsheet begins a new cell at a semicolon.
    """
    if not isinstance(value, str):
        return value
    parts = _CELL_ENDS.split(value)
    parts[::2] = map(_escaped, parts[::2])
    safe = "".join(parts)
    return f"'{safe}" if value[:1] in ("\t", "\r", "\n") else safe


def _escaped(text: str) -> str:
    return f"'{text}" if text.startswith(_FORMULA) and not _NUMBER.fullmatch(text) else text


def command_line() -> str:
    """The command as it was typed."""
    return shlex.join(["maxmargin", *sys.argv[1:]])
