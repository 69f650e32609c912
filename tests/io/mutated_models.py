"""Models whose attributes were changed in memory: ``NUMBA_BOUNDSCHECK=1 python -m tests.io.mutated_models``.

Each model comes out of a kept file; then a few of its arrays, anywhere inside it, get other values, lengths,
dtypes or layouts, and it predicts. It may refuse or predict nonsense, but compiled code must never read
outside an array: under NUMBA_BOUNDSCHECK=1 Numba raises an IndexError of its own there, which counts as a
failure, and so does a crash.
"""

from __future__ import annotations

import tests.conftest  # noqa: F401  # it chooses the folder of Numba's cache, so it comes first

# isort: split

import argparse
import json
import os
import sys
import traceback
import warnings
from collections import Counter
from collections.abc import Iterator
from typing import Any

import numpy as np
import scipy.sparse as sp

import maxmargin as mm
from tests.io.kept_models import FOLDER, METHODS, read_rows

FROM_NUMBA = "index is out of bounds"  # NumPy also says which index and which axis
POISON = [np.nan, np.inf, -1.0, -7.0, 0.0, 1.0, 3.0, 99.0, 1e6, -1e6, 2.0**31 - 1, -(2.0**31), 1e300]


def places(value: Any, depth: int = 0) -> Iterator[tuple[Any, Any, Any]]:
    """(owner, name, array) of every array and sparse matrix inside a model."""
    if depth > 8:
        return
    if isinstance(value, (list, tuple)):
        for item in value:
            yield from places(item, depth + 1)
    elif isinstance(value, dict):
        for item in value.values():
            yield from places(item, depth + 1)
    elif type(value).__module__.partition(".")[0] in ("maxmargin", "sklearn") and hasattr(value, "__dict__"):
        for name, item in vars(value).items():
            if isinstance(item, np.ndarray) or sp.issparse(item):
                yield value, name, item
            else:
                yield from places(item, depth + 1)


def changed_array(array: Any, rng: Any) -> Any:
    """Another array of the same kind, or nearly so."""
    kind = rng.integers(7)
    if kind <= 2 and array.size and array.dtype.kind in "biuf":
        array = array.copy()
        at = rng.integers(array.size, size=int(rng.integers(1, 4)))
        with np.errstate(all="ignore"), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            array.reshape(-1)[at] = np.asarray(POISON[rng.integers(len(POISON))]).astype(array.dtype)
        return array
    if kind == 3:
        return array[: int(rng.integers(0, len(array) + 1))] if array.ndim else array
    if kind == 4:
        return np.concatenate([array, array[: int(rng.integers(1, 4))]]) if array.ndim else array
    if kind == 5 and array.dtype.kind in "biuf":
        with np.errstate(all="ignore"), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return array.astype(["f4", "f8", "i4", "i8", "u1", "?"][rng.integers(6)])
    return array.T if array.ndim > 1 else array[::-1]


def change(owner: Any, name: str, value: Any, rng: Any) -> None:
    if sp.issparse(value):
        value = value.copy()
        part = ("data", "indices", "indptr")[rng.integers(3)]
        setattr(value, part, changed_array(getattr(value, part), rng))
        for known in ("_has_sorted_indices", "_has_canonical_format"):
            value.__dict__.pop(known, None)
    else:
        value = changed_array(value, rng)
    vars(owner)[name] = value  # also in frozen objects, and behind a property that is read only


def try_one(name: str, kind: str, rows: Any, rng: Any) -> str:
    """What became of one model: predicted, refused, or a failure in words."""
    model = mm.load(FOLDER / f"{name}.mm")
    found = list(places(model))
    for _ in range(int(rng.integers(1, 3))):
        change(*found[rng.integers(len(found))], rng)
    result = "predicted"
    for method in METHODS:
        if not hasattr(model, method):
            continue
        try:
            getattr(model, method)(read_rows(rows, kind))
        except Exception as error:
            if isinstance(error, IndexError) and FROM_NUMBA in str(error) and "axis" not in str(error):
                return "failure: " + traceback.format_exc()
            result = "refused"
    return result


def mutate(n_models: int, seed: int, names: list[str] | None = None) -> Counter[str]:
    """Counts of what became of ``n_models`` changed models; failures are printed."""
    said = json.loads((FOLDER / "predictions.json").read_text())
    rng, counts = np.random.default_rng(seed), Counter[str]()
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        for number in range(n_models):
            name = list(names or said)[rng.integers(len(names or said))]
            result = try_one(name, said[name]["kind"], said[name]["rows"], rng)
            counts[result.partition(":")[0]] += 1
            if result.startswith("failure"):
                print(f"--- model {number} of seed {seed}, {name}\n{result}", flush=True)
    return counts


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--times", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--only", nargs="*", help="names of kept files")
    given = parser.parse_args()
    if os.environ.get("NUMBA_BOUNDSCHECK") != "1":
        parser.error("set NUMBA_BOUNDSCHECK=1, or nothing is checked")
    counts = mutate(given.times, given.seed, given.only)
    print(f"seed {given.seed}: {given.times} models: {dict(counts)}")
    return int(counts["failure"] > 0)


if __name__ == "__main__":
    sys.exit(main())
