"""Training on a local Dask cluster with two worker processes.

    python examples/dask_cluster.py --rows 2000000

On a real cluster only the client changes: ``Client("scheduler:8786")``. The table never leaves the workers; a
Newton step sends the weights to them and a small matrix back.
"""

from __future__ import annotations

import argparse
from time import perf_counter

import dask.array as da
import numpy as np
from distributed import Client, LocalCluster

import maxmargin as mm

COLUMNS = 20


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=400_000)
    options = parser.parse_args()
    with (
        LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=":0") as cluster,
        Client(cluster),
    ):
        rng = da.random.default_rng(0)
        X = rng.normal(size=(options.rows, COLUMNS), chunks=(50_000, COLUMNS)).astype(np.float32)
        direction = np.random.default_rng(1).normal(size=COLUMNS)
        noise = rng.normal(size=options.rows, chunks=50_000)
        y = (X @ direction + 2.0 * noise > 0).astype(int)
        pieces = mm.pieces.from_dask(X, y)  # drawn once, kept in the memory of the workers

        began = perf_counter()
        model = mm.LinearSVC().fit(pieces)  # LinearSVC().fit(X, y) does the same
        print(f"{options.rows} rows in {len(pieces.blocks)} pieces: {perf_counter() - began:.2f} s")
        print(f"{int(model.n_iter_[0])} Newton steps; {model.certificate_}")

        labels = mm.pieces.predict(model, X)  # lazy: a Dask array
        print(f"predictions: {labels}")
        print(f"share of the second class {float(labels.mean().compute()):.3f}")


if __name__ == "__main__":
    main()
