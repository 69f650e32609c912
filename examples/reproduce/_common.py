"""Data, the scaling of e1071, and tables side by side, for all scripts in this folder."""

from __future__ import annotations

import argparse
import os
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd
from sklearn.datasets import fetch_openml

# name -> OpenML number, for users without the data folder (scikit-learn keeps a copy of each download)
OPENML = {"spambase": 44, "usps": 41082, "vertebral": 1524}


def arguments(description: str | None) -> argparse.ArgumentParser:
    """The options --data DIR and --pictures DIR."""
    parser = argparse.ArgumentParser(
        description=description, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    default = os.environ.get("MAXMARGIN_DATA", "../shared/data")
    parser.add_argument(
        "--data", default=default, help=f"folder with the .npz files, or 'openml' (default: {default})"
    )
    parser.add_argument("--pictures", type=Path, help="folder for the figures (default: none are drawn)")
    return parser


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


def heading(text: str) -> None:
    print(f"\n{text}\n{'-' * len(text)}")


def side_by_side(rows: dict[str, dict[str, object]], index: str, digits: int = 4) -> pd.DataFrame:
    """Print a table with one row per item, in full."""
    frame = pd.DataFrame.from_dict(rows, orient="index").rename_axis(index)
    print(frame.to_string(float_format=lambda v: f"{v:.{digits}f}"))
    return frame


def save(figure: object, folder: Path | None, name: str) -> None:
    """Save a plot if a folder was given."""
    if folder is not None:
        folder.mkdir(parents=True, exist_ok=True)
        figure.savefig(folder / f"{name}.png", dpi=120)  # type: ignore[attr-defined]  # a matplotlib Figure
        print(f"picture: {folder / name}.png")
