"""Text classification with string kernels: SMS spam, and splice junctions in DNA.

    python examples/text_classification.py [--data DIR]

Each table compares string kernels with a common linear or RBF baseline: time to fit, time to predict, and
error on held-out rows.
"""

from __future__ import annotations

import argparse
import os
import time
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.model_selection import train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder
from sklearn.svm import SVC as sklearn_SVC  # noqa: N811  # told apart from ours
from sklearn.svm import LinearSVC

import maxmargin as mm
from maxmargin.kernels import Spectrum, Subsequence


def letters_in_place(sequence: str) -> list[tuple[int, str]]:
    """Substrings of three letters with their position, because positions matter at a junction."""
    return [(i, sequence[i : i + 3]) for i in range(len(sequence) - 2)]


def read(path: Path, *, header: bool) -> tuple[list[str], np.ndarray]:
    rows = [line.split("\t", 1) for line in path.read_text(encoding="utf-8").splitlines()[header:]]
    return [text for _, text in rows], np.array([label for label, _ in rows])


def table(title: str, models: dict[str, Any], texts: list[str], y: np.ndarray, n_train: int) -> None:
    train, test, y_train, y_test = train_test_split(texts, y, train_size=n_train, stratify=y, random_state=0)
    print(f"\n{title}: {len(train)} to train on, {len(test)} to test on")
    print(f"{'model':48} {'fit s':>8} {'predict s':>10} {'error %':>8} {'SVs':>6}")
    for name, model in models.items():
        start = time.perf_counter()
        model.fit(train, y_train)
        fitted = time.perf_counter()
        error = 100 * np.mean(model.predict(test) != y_test)
        predicted = time.perf_counter()
        n_support = len(model.support_) if hasattr(model, "support_") else ""
        print(f"{name:48} {fitted - start:8.2f} {predicted - fitted:10.2f} {error:8.2f} {n_support:>6}")


def spam(folder: Path) -> None:
    texts, y = read(folder / "sms_spam.tsv", header=False)
    models = {
        "characters: Subsequence(4, 0.5)": mm.SVC(C=10, kernel=Subsequence(4, 0.5)),
        "characters: Subsequence(4, 0.5, up_to=True)": mm.SVC(C=10, kernel=Subsequence(4, 0.5, up_to=True)),
        "words: Subsequence(2, 0.5, up_to=True)": mm.SVC(
            C=10, kernel=Subsequence(2, 0.5, up_to=True, tokens="words")
        ),
        "characters: Spectrum(4)": mm.SVC(C=10, kernel=Spectrum(4)),
        "tf-idf of words + LinearSVC": make_pipeline(TfidfVectorizer(), LinearSVC()),
        "tf-idf of 1 to 4 characters + LinearSVC": make_pipeline(
            TfidfVectorizer(analyzer="char", ngram_range=(1, 4), lowercase=False), LinearSVC()
        ),
    }
    table("SMS spam", models, texts, y, 2000)


def junctions(folder: Path) -> None:
    texts, y = read(folder / "splice_junction.tsv", header=True)
    letters = OneHotEncoder(handle_unknown="ignore")
    models = {
        "Subsequence(4, 0.5)": mm.SVC(C=10, kernel=Subsequence(4, 0.5)),
        "Spectrum(5)": mm.SVC(C=10, kernel=Spectrum(5)),
        "Spectrum(5, mismatches=1)": mm.SVC(C=10, kernel=Spectrum(5, mismatches=1)),
        "Subsequence(1, tokens=letters_in_place)": mm.SVC(
            C=10, kernel=Subsequence(1, tokens=letters_in_place)
        ),
        "one column a place + RBF (scikit-learn)": make_pipeline(_Places(), letters, sklearn_SVC(C=10)),
    }
    table("Splice junctions", models, texts, y, 1000)


class _Places:
    """Strings of equal length as a table with one column per position."""

    def fit(self, X: list[str], y: Any = None) -> _Places:
        return self

    def transform(self, X: list[str]) -> np.ndarray:
        return np.array([list(text) for text in X])

    def fit_transform(self, X: list[str], y: Any = None) -> np.ndarray:
        return self.transform(X)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    default = Path(os.environ.get("MAXMARGIN_DATA", "data"))
    parser.add_argument(
        "--data", type=Path, default=default, help=f"folder with the two tables (default: {default})"
    )
    folder = parser.parse_args().data
    mm.SVC(kernel=Subsequence(2)).fit(["aab", "bba"], [0, 1]).predict(["ab"])  # compile first
    spam(folder)
    junctions(folder)


if __name__ == "__main__":
    main()
