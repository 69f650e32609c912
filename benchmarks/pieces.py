"""Data in pieces: peak memory, rows per second, bytes per Newton step, and what more workers would give.

    python -m benchmarks.pieces [--rows 20000000]

writes a memory map of float32 (20 columns, 1.6 GB by default) to a temporary folder and fits LinearSVC to it
in a process of its own. The curve for many workers is simulated from the figures measured here.
"""

from __future__ import annotations

import argparse
import heapq
import json
import pickle
import subprocess
import sys
import tempfile
import time
import warnings
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.linear_model import SGDClassifier

import maxmargin as mm
from benchmarks._common import best_of
from benchmarks._memory import PeakMemory
from benchmarks._results import begin, record
from maxmargin.problems.losses import SquaredHinge
from maxmargin.problems.penalties import Penalty
from maxmargin.problems.rows_in_pieces import BinaryTargets, LossPenaltyPieces

COLUMNS = 20
CHUNK = 500_000


def write(folder: Path, n_rows: int) -> None:
    """X of float32 and labels 0 or 1 that a hyperplane gives right for about 87 % of the rows."""
    rng = np.random.default_rng(0)
    direction = rng.normal(size=COLUMNS).astype(np.float32)
    X = np.lib.format.open_memmap(folder / "X.npy", "w+", np.float32, (n_rows, COLUMNS))
    y = np.lib.format.open_memmap(folder / "y.npy", "w+", np.int8, (n_rows,))
    for start in range(0, n_rows, CHUNK):
        rows = slice(start, min(start + CHUNK, n_rows))
        X[rows] = rng.standard_normal(size=(rows.stop - start, COLUMNS), dtype=np.float32)
        noise = 2.0 * rng.standard_normal(size=rows.stop - start, dtype=np.float32)
        y[rows] = X[rows] @ direction + noise > 0


def load(folder: Path) -> tuple[Any, Any]:
    return np.load(folder / "X.npy", mmap_mode="r"), np.load(folder / "y.npy", mmap_mode="r")


def fit(folder: Path, n_jobs: int | None) -> dict[str, float]:
    """One fit of LinearSVC with its certificate: seconds, iterations and peak memory of this process."""
    X, y = load(folder)
    mm.LinearSVC().fit(mm.pieces.from_array(X[:2000], y[:2000]))  # imports
    began = time.perf_counter()
    with PeakMemory() as peak:
        model = mm.LinearSVC(tol=1e-6).fit(mm.pieces.from_array(X, y, n_jobs=n_jobs))
    return {
        "seconds": time.perf_counter() - began,
        "iterations": int(model.n_iter_[0]),
        "gap": model.certificate_.relative_gap,
        "own": peak.anon,
        "before": peak.before,
        "files": peak.file,
        "high_water": peak.high_water,
    }


def peak_memory(folder: Path) -> None:
    X, _ = load(folder)
    begin(table=f"LinearSVC on {len(X)} x {COLUMNS} float32 ({X.nbytes / 1e9:.2f} GB) in pieces")
    for n_jobs in (1, 2):
        command = [sys.executable, "-m", "benchmarks.pieces", "--child", str(folder), "--jobs", str(n_jobs)]
        r = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
        note = f"{r['iterations']} steps, gap {r['gap']:.1e}, own memory {r['before']:.0f} to "
        note += f"{r['own']:.0f} MB, mapped {r['files']:.0f} MB, in all {r['high_water']:.0f} MB"
        record(f"{n_jobs} threads", r["seconds"], {}, note)


def against_memory(folder: Path, n_rows: int = 2_000_000) -> None:
    X, y = load(folder)
    X, y = X[:n_rows], y[:n_rows]
    begin(table=f"the first {len(X)} rows: pieces beside memory, seconds")
    held, labels = np.array(X), np.array(y)
    memory, whole = best_of(lambda: mm.LinearSVC(tol=1e-6).fit(held, labels), 3)
    pieces, cut = best_of(lambda: mm.LinearSVC(tol=1e-6).fit(mm.pieces.from_array(X, y)), 3)
    apart = float(np.abs(cut.coef_ - whole.coef_).max())
    record("LinearSVC in pieces", pieces, {"in memory": memory}, f"largest difference {apart:.1e}")

    pieces, exact = best_of(lambda: mm.LogisticRegression(1.0, tol=1e-6).fit(mm.pieces.from_array(X, y)), 3)

    def one_pass() -> SGDClassifier:
        model = SGDClassifier("log_loss", alpha=1.0 / len(X), random_state=0)
        for start in range(0, len(X), CHUNK):
            model.partial_fit(X[start : start + CHUNK], y[start : start + CHUNK], classes=[0, 1])
        return model

    seconds, sgd = best_of(one_pass, 1)
    above = _objective(held, labels, sgd) / _objective(held, labels, exact) - 1
    note = f"its objective is {above:.1e} above the optimum"
    record("LogisticRegression in pieces", pieces, {"one pass of SGDClassifier": seconds}, note)


def _objective(X: Any, y: Any, model: Any) -> float:
    """Logistic loss with C = 1 and its penalty."""
    margins = np.where(y > 0, 1.0, -1.0) * (X @ model.coef_[0].astype(np.float32) + model.intercept_[0])
    return float(np.sum(np.logaddexp(0.0, -margins)) + 0.5 * np.sum(model.coef_**2))


def step_of_one_worker(folder: Path, n_rows: int = 4_000_000) -> tuple[float, float]:
    """Rows per second of the pass that a Newton step makes, on one thread; and bytes that travel."""
    X, y = load(folder)
    X, y = X[:n_rows], y[:n_rows]
    problem = LossPenaltyPieces(
        pieces=mm.pieces.from_array(np.array(X), np.array(y), n_jobs=1),
        targets=BinaryTargets(1, None, np.array([0, 1]), 1.0, np.ones(2)),
        n_features=COLUMNS,
        n_rows=len(X),
        loss=SquaredHinge(),
        penalty=Penalty(l2=1.0),
    )
    theta = np.random.default_rng(0).normal(size=COLUMNS + 1) / 10
    seconds, sums = best_of(lambda: problem.sums(theta), 3)
    rate, sent = len(X) / seconds, len(pickle.dumps(theta)) + len(pickle.dumps(sums))
    begin(table="one Newton step on one worker (one thread)")
    print(
        f"{rate / 1e6:.1f} million rows per second; reads {X.itemsize * COLUMNS + y.itemsize} bytes per row"
    )
    print(f"travels per piece and step: {sent} bytes (the point there, value, gradient and Hessian back)")
    return rate, float(sent)


def task_overhead() -> float:
    """Seconds of the scheduler for one task, from a sum of nothing over many pieces on a local cluster."""
    import dask.array as da
    from distributed import Client, LocalCluster

    with (
        LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=":0", silence_logs=50) as cluster,
        Client(cluster),
    ):
        n = 1000
        pieces = mm.pieces.from_dask(da.zeros((n, 1), chunks=(1, 1)))
        pieces.map_reduce(len)
        seconds, total = best_of(lambda: pieces.map_reduce(len), 3)
        assert total == n
    return seconds / (n * 8 / 7)  # a tree of fan-in 8 has n / 7 tasks more


def simulated_step(
    n_rows: float, n_workers: int, rows_per_piece: float, rate: float, overhead: float, sent: float
) -> float:
    """Seconds of one Newton step: pieces are handed out one by one to the worker that is free first.

    A piece takes rows / rate, times a random factor (log-normal, 15 %) for neighbours and disks; the
    scheduler needs ``overhead`` for every task, one after another; results merge in a tree of fan-in 8 over a
    network of 1 GB/s with 1 ms of latency; the p x p solve on the client is added.
    """
    rng = np.random.default_rng(0)
    n_pieces = max(1, int(np.ceil(n_rows / rows_per_piece)))
    lengths = rows_per_piece / rate * rng.lognormal(0.0, 0.15, n_pieces)
    free = [0.0] * n_workers
    for k, length in enumerate(lengths):
        heapq.heappush(free, max(heapq.heappop(free), (k + 1) * overhead) + length)
    levels = int(np.ceil(np.log(max(2, n_pieces)) / np.log(8)))
    reduction = levels * (1e-3 + 8 * sent / 1e9) + n_pieces / 7 * overhead
    return max(free) + reduction + (COLUMNS + 1) ** 3 / 1e9


def curve(rate: float, sent: float, overhead: float) -> None:
    begin(table="simulated: one Newton step for more workers (one thread each), seconds and efficiency")
    print(f"measured {rate / 1e6:.1f} M rows/s, {overhead * 1e3:.2f} ms per task; a fit takes about 7 passes")
    sizes = {"16 MB": 2.0e5, "256 MB": 3.2e6}
    print(f"{'rows':>8s} {'pieces of':>9s} " + "".join(f"{w:>14d}" for w in (1, 2, 5, 10, 20, 50, 100)))
    for n_rows in (2e7, 1e8, 1e9):
        for name, rows in sizes.items():
            alone = simulated_step(n_rows, 1, rows, rate, overhead, sent)
            line = ""
            for w in (1, 2, 5, 10, 20, 50, 100):
                seconds = simulated_step(n_rows, w, rows, rate, overhead, sent)
                line += f"{seconds:9.2f} {alone / seconds / w:4.0%}"
            print(f"{n_rows:8.0e} {name:>9s} {line}", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=20_000_000)
    parser.add_argument("--folder", default="", help="keep the file here, and use it again")
    parser.add_argument("--child", default="")
    parser.add_argument("--jobs", type=int, default=1)
    options, _ = parser.parse_known_args()
    if options.child:
        print(json.dumps(fit(Path(options.child), options.jobs)))
        return
    warnings.simplefilter("ignore")
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(options.folder or temporary)
        if not (folder / "y.npy").exists():
            write(folder, options.rows)
        peak_memory(folder)
        against_memory(folder)
        rate, sent = step_of_one_worker(folder)
    try:
        overhead = task_overhead()
    except ImportError:
        print("Dask is not installed: 0.3 ms per task are assumed.")
        overhead = 3e-4
    curve(rate, sent, overhead)


if __name__ == "__main__":
    main()
