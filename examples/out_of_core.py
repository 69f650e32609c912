"""Learning from a large file with constant memory, in one pass or exactly.

    python examples/out_of_core.py --gigabytes 2

writes a table of the size asked for, makes one pass over it with partial_fit, then solves the same kind of
problem exactly with data in pieces (about seven passes), and prints the peak memory of the process, which
does not depend on the size of the file.
"""

from __future__ import annotations

import argparse
import resource
import tempfile
from collections.abc import Iterator
from pathlib import Path
from time import perf_counter

import numpy as np

import maxmargin as mm

COLUMNS = 100
CHUNK = 20_000


def write(path: Path, n_rows: int) -> None:
    """Rows of float32: 100 columns and the label (0 or 1) in the last."""
    rng = np.random.default_rng(0)
    direction = rng.normal(size=COLUMNS).astype(np.float32)
    with path.open("wb") as file:
        for start in range(0, n_rows, CHUNK):
            n = min(CHUNK, n_rows - start)
            X = rng.standard_normal(size=(n, COLUMNS), dtype=np.float32)
            label = (X @ direction + rng.standard_normal(size=n, dtype=np.float32) > 0).astype(np.float32)
            file.write(np.column_stack([X, label]).tobytes())


def chunks(path: Path) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """(X, y) of 20 000 rows at a time; each chunk is read, used and released."""
    width = (COLUMNS + 1) * 4
    with path.open("rb") as file:
        while block := file.read(CHUNK * width):
            rows = np.frombuffer(block, dtype=np.float32).reshape(-1, COLUMNS + 1)
            yield np.ascontiguousarray(rows[:, :-1]), rows[:, -1].astype(int)


def peak_megabytes() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024.0


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--gigabytes", type=float, default=0.1)
    options = parser.parse_args()
    n_rows = int(options.gigabytes * 1e9 / ((COLUMNS + 1) * 4))
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "table.bin"
        write(path, n_rows)
        model = mm.Pegasos(1e-3, random_state=0)
        first = next(chunks(path))
        model.partial_fit(*first, classes=[0, 1])
        after_one_chunk = peak_megabytes()
        began = perf_counter()
        for X, y in chunks(path):
            model.partial_fit(X, y)
        seconds = perf_counter() - began
        print(f"file {path.stat().st_size / 1e9:.2f} GB, {n_rows} rows, one pass in {seconds:.1f} s")
        print(f"peak memory {after_one_chunk:.0f} MB after one chunk, {peak_megabytes():.0f} MB after all")
        print(f"accuracy on the first chunk {model.score(*first):.3f}")
        began = perf_counter()
        exact = mm.LinearSVC(C=1.0).fit(mm.pieces.from_iterable(lambda: chunks(path)))
        print(f"LinearSVC in pieces {perf_counter() - began:.1f} s, peak memory {peak_megabytes():.0f} MB")
        print(f"{exact.certificate_}; accuracy on the first chunk {exact.score(*first):.3f}")


if __name__ == "__main__":
    main()
