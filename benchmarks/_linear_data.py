"""Data of the linear benchmarks: real files where the folder is given, generated sets always."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse


def _zipf_rows(rng: Any, n: int, p: int, mean: float, power: float) -> sparse.csr_matrix:
    """Rows with about ``mean`` distinct columns, drawn with probability falling as rank^-power."""
    weights = np.arange(1, p + 1, dtype=float) ** -power
    counts = np.maximum(1, rng.poisson(mean, size=n))
    indptr = np.concatenate([[0], np.cumsum(counts)])
    columns = np.searchsorted(np.cumsum(weights / weights.sum()), rng.random(indptr[-1])).clip(max=p - 1)
    X = sparse.csr_matrix((np.ones(len(columns)), columns.astype(np.int32), indptr), shape=(n, p))
    X.sum_duplicates()
    X.data[:] = 1.0
    return X


def _labels(rng: Any, X: Any, positive: float, noise: float) -> np.ndarray:
    """Signs of a random direction, cut at a quantile, with a share of them drawn at random."""
    score = np.asarray(X @ rng.normal(size=X.shape[1])).ravel()
    y = np.where(score > np.quantile(score, 1 - positive), 1.0, -1.0)
    flipped = rng.random(len(y)) < noise
    y[flipped] = np.where(rng.random(flipped.sum()) < positive, 1.0, -1.0)
    return y


def w8a_like(n: int = 49_749, p: int = 300) -> tuple[Any, np.ndarray]:
    """Binary, 12 columns a row, 3 % positive, as Platt's web data."""
    rng = np.random.default_rng(8)
    X = _zipf_rows(rng, n, p, 12.0, 0.7)
    return X, _labels(rng, X, 0.03, 0.02)


def rcv1_like(n: int = 20_242, p: int = 47_236) -> tuple[Any, np.ndarray]:
    """tf-idf rows of unit length, 74 columns a row, as the Reuters training set."""
    rng = np.random.default_rng(1)
    X = _zipf_rows(rng, n, p, 90.0, 0.9)
    X.data *= 1.0 + rng.random(X.nnz)
    idf = np.log(n / np.maximum(1, np.bincount(X.indices, minlength=p)))
    X = X @ sparse.diags(idf)
    X = sparse.diags(1.0 / np.maximum(1e-12, np.sqrt(X.multiply(X).sum(axis=1).A1))) @ X
    X = sparse.csr_matrix(X)
    return X, _labels(rng, X, 0.5, 0.05)


def dense(n: int = 200_000, p: int = 100) -> tuple[Any, np.ndarray]:
    """Normal columns, a noisy hyperplane."""
    rng = np.random.default_rng(2)
    X = rng.normal(size=(n, p))
    y = np.where(X @ rng.normal(size=p) / np.sqrt(p) + 0.5 * rng.normal(size=n) > 0.2, 1.0, -1.0)
    return X, y


def _standardised(X: np.ndarray) -> np.ndarray:
    return np.asarray((X - X.mean(axis=0)) / np.maximum(X.std(axis=0), 1e-12))


def _real(folder: Path) -> dict[str, Any]:
    found: dict[str, Any] = {}
    if (folder / "a9a.npz").exists():
        parts = np.load(folder / "a9a.npz", allow_pickle=False)
        indptr = parts["indptr"].astype(np.int32)
        X = sparse.csr_matrix((parts["data"], parts["indices"], indptr), shape=tuple(parts["shape"]))
        found["a9a"] = (X.astype(np.float64), np.where(parts["y"] > 0, 1.0, -1.0))
    if (folder / "spambase.npz").exists():
        parts = np.load(folder / "spambase.npz", allow_pickle=False)
        found["spambase"] = (
            _standardised(parts["X"].astype(float)),
            np.where(parts["y"] == "spam", 1.0, -1.0),
        )
    if (folder / "usps_train.npz").exists():
        parts = np.load(folder / "usps_train.npz", allow_pickle=False)
        found["usps 5-9"] = (parts["X"].astype(float), np.where(parts["y"].astype(int) >= 5, 1.0, -1.0))
    return found


def load(folder: str, only: str = "") -> dict[str, tuple[Any, np.ndarray]]:
    """Name -> (X, y) for the names that hold ``only``; real sets that the folder lacks are left out aloud."""
    sets = _real(Path(folder))
    for name in {"a9a", "spambase", "usps 5-9"} - set(sets):
        print(f"{name}: not found under --data {folder}, skipped")
    makers = {"w8a-like": w8a_like, "rcv1-like": rcv1_like, "dense 200000x100": dense}
    sets.update({name: make() for name, make in makers.items() if only in name})
    return {name: data for name, data in sets.items() if only in name}
