"""Binning, weight of evidence and scorecards beside optbinning.

    python -m benchmarks.scorecards [--data DIR] [--rows 300000] [--columns 50]

Every peer runs in the same process on the same table; one that is not installed is skipped with a message.
"""

from __future__ import annotations

import argparse
import os
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from benchmarks._results import begin, record
from maxmargin.scorecards import Binning, Scorecard, WOEEncoder, iv_table

DATA = Path(__file__).resolve().parents[1] / ".." / "shared" / "data"


def seconds(task: Callable[[], Any], repeats: int) -> float:
    """Best time of several runs."""
    times = []
    for _ in range(repeats):
        start = time.perf_counter()
        task()
        times.append(time.perf_counter() - start)
    return min(times)


def credit_like(n_rows: int, n_columns: int) -> tuple[pd.DataFrame, np.ndarray]:
    """Numbers with 2 % missing values; a fifth of the columns bear on the target (about 15 % events)."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n_rows, n_columns))
    used = max(1, n_columns // 5)
    logit = 0.4 * X[:, :used] @ rng.normal(size=used) - 2
    y = (rng.random(n_rows) < 1 / (1 + np.exp(-logit))).astype(int)
    X[rng.random(X.shape) < 0.02] = np.nan
    return pd.DataFrame(X, columns=[f"v{j}" for j in range(n_columns)]), y


def ours(X: pd.DataFrame, y: np.ndarray, binning: Binning) -> tuple[float, np.ndarray]:
    """Sum of information values and the encoded table."""
    encoder = WOEEncoder(binning)
    encoded = encoder.fit_transform(X, y)
    return float(iv_table(encoder.binning_)["iv"].sum()), encoded


def theirs(X: pd.DataFrame, y: np.ndarray, n_jobs: int) -> tuple[float, np.ndarray]:
    from optbinning import BinningProcess

    fit_params = {name: {"monotonic_trend": "auto_asc_desc"} for name in X}
    process = BinningProcess(list(X), binning_fit_params=fit_params, n_jobs=n_jobs)
    encoded = process.fit_transform(X, y, metric_missing="empirical")
    return float(process.summary()["iv"].astype(float).sum()), np.asarray(encoded)


def has_optbinning() -> bool:
    try:
        import optbinning  # noqa: F401 - only asks whether it is there
    except ImportError:
        print("optbinning is not installed: skipped (pip install optbinning)")
        return False
    return True


def report(rows: list[tuple[str, float, float]]) -> None:
    """Name, seconds, IV; those of other packages stand beside the first row."""
    peers = {name: t for name, t, _ in rows if not name.startswith("maxmargin")}
    for k, (name, t, iv) in enumerate(rows):
        if name not in peers:
            record(name, t, peers if k == 0 else {}, f"sum of IV {iv:.4f}")


def table_of_numbers(n_rows: int, n_columns: int, peer: bool) -> None:
    X, y = credit_like(n_rows, n_columns)
    begin(table=f"binning, weight of evidence and IV, {n_rows} x {n_columns}")
    ours(X.head(2000), y[:2000], Binning())
    rows = []
    for name, binning in {
        "maxmargin, optimal, 100 quantile pre-bins": Binning(max_bins=20),
        "maxmargin, optimal, 20 tree pre-bins": Binning(max_bins=20, prebinning="tree", n_prebins=20),
        "maxmargin, quantile": Binning("quantile", max_bins=20),
        "maxmargin, MDL": Binning("mdl", max_bins=20),
    }.items():
        rows.append((name, seconds(lambda b=binning: ours(X, y, b), 3), ours(X, y, binning)[0]))
    if peer:
        for n_jobs in (1, 2):
            start = time.perf_counter()
            iv, _ = theirs(X, y, n_jobs)
            rows.append((f"optbinning BinningProcess, n_jobs={n_jobs}", time.perf_counter() - start, iv))
    report(rows)


def german_credit(folder: Path, peer: bool) -> None:
    path = folder / "german_credit.csv"
    if not path.exists():
        print(f"\nGerman credit: {path.name} is not in the data folder, skipped (--data DIR)")
        return
    X = pd.read_csv(path)
    y = (X.pop("class") == 2).astype(int)
    begin(table="scorecard on German credit, 1000 x 20")
    Scorecard().fit(X, y)
    rows = [("maxmargin Scorecard", seconds(lambda: Scorecard().fit(X, y), 5), _card_iv(X, y))]
    if peer:
        rows.append(("optbinning Scorecard", seconds(lambda: their_card(X, y), 2), np.nan))
    report(rows)


def _card_iv(X: pd.DataFrame, y: pd.Series) -> float:
    return float(Scorecard().fit(X, y).summary()["iv"].sum())


def their_card(X: pd.DataFrame, y: pd.Series) -> Any:
    from optbinning import BinningProcess
    from optbinning import Scorecard as TheirScorecard
    from sklearn.linear_model import LogisticRegression

    words = [name for name in X if X[name].dtype.kind not in "if"]
    process = BinningProcess(list(X), categorical_variables=words)
    scale = {"pdo": 20, "odds": 50, "scorecard_points": 600}
    card = TheirScorecard(
        binning_process=process,
        estimator=LogisticRegression(C=np.inf, max_iter=1000),
        scaling_method="pdo_odds",
        scaling_method_params=scale,
    )
    return card.fit(X, y)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, default=Path(os.environ.get("MAXMARGIN_DATA", DATA)))
    parser.add_argument("--rows", type=int, default=300_000)
    parser.add_argument("--columns", type=int, default=50)
    arguments, _ = parser.parse_known_args()
    warnings.simplefilter("ignore")
    peer = has_optbinning()
    german_credit(arguments.data, peer)
    table_of_numbers(arguments.rows, arguments.columns, peer)


if __name__ == "__main__":
    main()
