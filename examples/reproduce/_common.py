"""Data, the scaling of e1071, tables with a verdict, progress and the HTML page, for all scripts here."""

from __future__ import annotations

import argparse
import base64
import html
import io
import os
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Sized
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
import pandas as pd
from sklearn.datasets import fetch_openml

WIDTH = 100  # of what is printed
Item = TypeVar("Item")
# name -> OpenML number, for users without the data folder (scikit-learn keeps a copy of each download)
OPENML = {"spambase": 44, "usps": 41082, "vertebral": 1524}


def arguments(description: str | None) -> argparse.ArgumentParser:
    """The options --data DIR, --pictures DIR and --html FILE."""
    _PAGE.clear()
    parser = argparse.ArgumentParser(
        description=description, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    default = os.environ.get("MAXMARGIN_DATA", "data")
    parser.add_argument(
        "--data", default=default, help=f"folder with the .npz files, or 'openml' (default: {default})"
    )
    parser.add_argument("--pictures", type=Path, help="folder for the figures (default: none are drawn)")
    parser.add_argument("--html", type=Path, help="write tables, verdicts and figures to one HTML page")
    return parser


def draws(options: argparse.Namespace) -> bool:
    """Whether figures are wanted, as files or on the page."""
    return bool(options.pictures or options.html)


def load(name: str, source: str) -> tuple[np.ndarray, np.ndarray]:
    """Rows and labels of 'spambase' (labels 0, 1), 'usps' (digits, training part) or 'vertebral' (AB, NO)."""
    from_folder, from_openml = _READERS[name]
    if source != "openml":
        path = Path(source) / from_folder
        if path.exists():
            parts = np.load(path, allow_pickle=False)
            return parts["X"].astype(float), parts["y"]
        raise SystemExit(f"{path} does not exist: say where the data are (--data DIR), or use --data openml.")
    return from_openml()


def _openml(name: str) -> tuple[np.ndarray, np.ndarray]:
    """Rows and labels, these as text; the pandas parser fails on labels that look like numbers."""
    bunch = fetch_openml(data_id=OPENML[name], as_frame=False, parser="liac-arff")
    return np.asarray(bunch.data, dtype=float), np.asarray(bunch.target).astype(str)


def _openml_spambase() -> tuple[np.ndarray, np.ndarray]:
    X, y = _openml("spambase")
    y = np.where(y == "1", "spam", "nonspam")
    published = np.repeat(["spam", "nonspam"], [1813, 2788])  # the split draws row numbers of this file
    _expect(len(y) == len(published) and bool((y == published).all()), "spambase")
    return X, y


def _openml_usps() -> tuple[np.ndarray, np.ndarray]:
    X, y = _openml("usps")  # the 7291 training rows first; digit d has the label d + 1
    digits = y[:7291].astype(float).astype(int) - 1
    _expect(np.sum(digits == 5) == 556 and np.sum(digits == 8) == 542, "usps")
    return X[:7291], digits


def _openml_vertebral() -> tuple[np.ndarray, np.ndarray]:
    X, y = _openml("vertebral")
    labels, counts = np.unique(y, return_counts=True)
    _expect(sorted(counts) == [100, 210], "vertebral")  # 1523 is the same with three classes
    return X, np.where(y == labels[np.argmax(counts)], "AB", "NO")


def _expect(right: bool, name: str) -> None:
    if not right:
        raise SystemExit(
            f"OpenML's data set {OPENML[name]} does not have the rows of the published {name} file in their "
            "order, so it cannot repeat the published experiment: use --data DIR."
        )


_READERS: dict[str, tuple[str, Callable[[], tuple[np.ndarray, np.ndarray]]]] = {
    "spambase": ("spambase.npz", _openml_spambase),
    "usps": ("usps_train.npz", _openml_usps),
    "vertebral": ("vertebral_2c.npz", _openml_vertebral),
}


def e1071_scale(X_train: np.ndarray, *others: np.ndarray) -> tuple[np.ndarray, ...]:
    """Standardise by mean and sample standard deviation of the training rows, except constant columns."""
    mean, spread = X_train.mean(axis=0), X_train.std(axis=0, ddof=1)
    constant = spread == 0
    mean, spread = np.where(constant, 0.0, mean), np.where(constant, 1.0, spread)
    return tuple((X - mean) / spread for X in (X_train, *others))


# -- what is printed, and kept for the page ----------------------------------------------------------------

_PAGE: list[str] = []


def heading(text: str) -> None:
    print(f"\n{text}\n{'-' * len(text)}")
    _PAGE.append(f"<h2>{html.escape(text)}</h2>")


def say(text: str, kind: str = "") -> None:
    """A paragraph, in lines of at most 100 characters."""
    lines, line = [], ""
    for word in text.split():
        if len(line) + 1 + len(word) > WIDTH and line:
            lines, line = [*lines, line], word
        else:
            line = f"{line} {word}".strip()
    print("\n".join([*lines, line]))
    _PAGE.append(f'<p class="{kind}">{html.escape(text)}</p>')


def verdict(same: bool, why: str = "") -> None:
    """The verdict on the last table: the same as the text's (``why`` adds to it), or why not."""
    if same:
        say(f"Verdict: same ({why})." if why else "Verdict: same.", "same")
    else:
        say(f"Verdict: differs, because {why}.", "differs")


def side_by_side(rows: dict[str, dict[str, object]], index: str, digits: int = 4) -> pd.DataFrame:
    """Print a table with one row per item, in blocks of columns where it is wide."""
    frame = pd.DataFrame.from_dict(rows, orient="index").rename_axis(index or None, axis=1)
    shown = {"float_format": lambda v: f"{v:.{digits}f}", "na_rep": ""}
    print(frame.to_string(line_width=WIDTH, **shown))
    _PAGE.append(frame.to_html(border=0, **shown))
    return frame


def steps(items: Iterable[Item], name: str) -> Iterator[Item]:
    """The items, with a line of progress on standard error every few seconds."""
    total = len(items) if isinstance(items, Sized) else None
    begun = shown = time.monotonic()
    for k, item in enumerate(items, start=1):
        if time.monotonic() - shown > 5:
            shown = time.monotonic()
            print(f"{name}: {k} of {total}, {shown - begun:.0f} s", file=sys.stderr, flush=True)
        yield item


def save(figure: Any, options: argparse.Namespace, name: str) -> None:
    """Save a figure in the folder of pictures and on the page."""
    figure = getattr(figure, "figure_", figure)
    if options.pictures is not None:
        options.pictures.mkdir(parents=True, exist_ok=True)
        figure.savefig(options.pictures / f"{name}.png", dpi=120)
        print(f"picture: {options.pictures / name}.png")
    if options.html is not None:
        image = io.BytesIO()
        figure.savefig(image, dpi=110, format="png")
        data = base64.b64encode(image.getvalue()).decode()
        _PAGE.append(f'<p><img alt="{html.escape(name)}" src="data:image/png;base64,{data}"></p>')


_STYLE = (
    "body{font:16px/1.5 sans-serif;max-width:80em;margin:2em auto;padding:0 1em}"
    "table{border-collapse:collapse;font-size:14px;margin:1em 0;display:block;overflow-x:auto}"
    "td,th{padding:.2em .7em;text-align:right;white-space:nowrap}"
    "th:first-child{text-align:left}tr:nth-child(even){background:#f4f4f4}img{max-width:100%}"
    ".same,.differs{border-left:.4em solid #0a7d3c;padding-left:.6em}.differs{border-color:#b35c00}"
)


def finish(options: argparse.Namespace, source: str) -> None:
    """Write the page, if it was asked for."""
    if options.html is None:
        return
    body = "\n".join(_PAGE)
    text = (
        f'<!doctype html><html lang="en"><meta charset="utf-8"><title>{html.escape(source)}</title>'
        f"<style>{_STYLE}</style><h1>{html.escape(source)}</h1>\n{body}</html>\n"
    )
    options.html.parent.mkdir(parents=True, exist_ok=True)
    options.html.write_text(text, encoding="utf-8")
    print(f"page: {options.html}")
