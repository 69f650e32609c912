"""Mutated model files: ``python -m tests.io.fuzz --files 100000 --seed 0``.

Each file is a good one with a few changes of bytes, of the header or of arrays, under a checksum that is
right again. `load` must refuse it with a ModelFileError of one line, or give a model whose predictions follow
from its coefficients, support vectors and parameters by the formula of the model. Anything else (another
exception, a crash, a slow refusal) is reported and ends with status 1; ``--keep DIR`` keeps these files.
"""

from __future__ import annotations

import tests.conftest  # noqa: F401  # it chooses the folder of Numba's cache, so it comes first

# isort: split

import argparse
import copy
import hashlib
import json
import os
import sys
import tempfile
import time
import traceback
import warnings
from collections import Counter
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

import maxmargin as mm
from maxmargin.base.tables import as_dense
from maxmargin.discretize import MDLDiscretizer
from maxmargin.io.container import read_container
from maxmargin.kernels.feature_maps import NystromMap
from tests.io.crafted_changes import LENGTHS, crafted
from tests.io.models import CASES, answers, fitted

SLOW = 2.0  # seconds of processor time for one file
NUMBERS = [
    -1,
    0,
    1,
    2,
    3,
    7,
    2**31 - 1,
    2**31,
    2**63 - 1,
    2**63,
    -(2**63),
    10**30,
    0.0,
    -0.0,
    0.5,
    1e-320,
    1e308,
    -1.0,
]
OTHERS = [
    None,
    True,
    False,
    "",
    "rbf",
    "linear",
    "ovo",
    "ovr",
    "os.system",
    "__class__",
    "\x1b[2J",
    [0],
    [5],
    [-1],
    [],
    {},
]
DTYPES = [
    "<f8",
    "<f4",
    "<i8",
    "<i4",
    "<u8",
    "<u4",
    "|u1",
    "|b1",
    "|i1",
    "<U1",
    "<U2",
    "|O",
    "<f2",
    "<M8[s]",
    ">f8",
    "<U0",
]
POISON = [np.nan, np.inf, -np.inf, 0.0, -1.0, 1e308, 5e-324, 1e9, -(2.0**40)]


TEXTS = [
    *("NaN", "Infinity", "-Infinity", "-0", "-0.0", "1e999", "1" * 390, "-" + "9" * 30, "1E-400", "0.1e1"),
    *(
        '"\\ud800"',
        '"\\udfff\\ud800"',
        '"\\u202e"',
        '"\\u0000"',
        '"\\u2028"',
        '"\\uff21"',
        '"ﬁ"',
        '"' + "x" * 9999 + '"',
    ),
    *("[" * 60 + "VALUE" + "]" * 60, "[" * 5000 + "VALUE" + "]" * 5000, '{"a":' * 900 + "VALUE" + "}" * 900),
    *("VALUE,VALUE", '{"a":VALUE,"a":VALUE}', "[VALUE]", "[[VALUE],[VALUE]]", "", "VALUE ", "\tVALUE", "'a'"),
]


class Seed:
    """A good file, taken apart."""

    def __init__(self, name: str, folder: Path) -> None:
        self.name = name
        model, self.rows = fitted(name)
        path = mm.save(model, folder / "seed.mm")
        self.body = path.read_bytes().partition(b"\n")[2]
        self.header, self.arrays = read_container(path)


def sealed(body: bytes) -> bytes:
    """A body below a first line that is right about it, as an attacker would write it."""
    return b"maxmargin-model 2 %d %s\n" % (len(body), hashlib.sha256(body).hexdigest().encode()) + body


def packed(header: dict[str, Any], arrays: list[bytes]) -> bytes:
    text = json.dumps(header, separators=(",", ":")).encode()
    return sealed(len(text).to_bytes(8, "little") + text + b"".join(arrays))


# -- changes -------------------------------------------------------------------------------------------------


def change_bytes(seed: Seed, rng: Any) -> bytes:
    body = bytearray(seed.body)
    for _ in range(rng.integers(1, 4)):
        at, kind = int(rng.integers(len(body))), rng.integers(4)
        noise = rng.bytes(int(rng.integers(1, 9)))
        if kind == 0:
            body[at] ^= 1 << int(rng.integers(8))
        elif kind == 1:
            body[at : at + len(noise)] = noise
        elif kind == 2:
            body[at:at] = noise
        else:
            del body[at : at + int(rng.integers(1, 40))]
    return sealed(bytes(body))


def _anything(rng: Any, header: dict[str, Any]) -> Any:
    choice = rng.integers(5)
    if choice == 0:
        return [int(rng.integers(len(header["nodes"])))]
    if choice == 1:
        return NUMBERS[rng.integers(len(NUMBERS))]
    if choice == 2:
        return float(rng.normal())
    if choice == 3:
        return int(rng.integers(-5, 200))
    return copy.deepcopy(OTHERS[rng.integers(len(OTHERS))])


def change_nodes(header: dict[str, Any], rng: Any) -> None:
    nodes = header["nodes"]
    node = nodes[rng.integers(len(nodes))]
    if not node:
        return
    kind = rng.integers(8)
    at = int(rng.integers(len(node)))
    if kind <= 2:
        node[at] = _anything(rng, header)
    elif kind == 3:
        other = nodes[rng.integers(len(nodes))] or [None]
        node[at] = copy.deepcopy(other[rng.integers(len(other))])
    elif kind == 4:
        del node[at : at + int(rng.integers(1, 3))]
    elif kind == 5:
        node[at:at] = [_anything(rng, header) for _ in range(rng.integers(1, 3))]
    elif kind == 6:
        nodes[rng.integers(len(nodes))] = copy.deepcopy(node)
    else:
        a, b = rng.integers(len(node), size=2)
        node[a], node[b] = node[b], node[a]


def change_about(header: dict[str, Any], rng: Any) -> None:
    names = list(header["about"])
    header["about"][names[rng.integers(len(names))]] = _anything(rng, header)


def change_array(header: dict[str, Any], arrays: list[bytes], rng: Any) -> None:
    """Other values, another length, another dtype, or another shape of one array."""
    if not arrays:
        return
    k, kind = int(rng.integers(len(arrays))), rng.integers(7)
    entry = header["arrays"][k]
    if entry[0] not in DTYPES[:9] or len(arrays[k]) % np.dtype(entry[0]).itemsize:
        return  # changed before
    values = np.frombuffer(arrays[k], dtype=entry[0]).copy()
    if kind <= 1 and values.size and values.dtype.kind in "fiub":
        at = rng.integers(values.size, size=int(rng.integers(1, 4)))
        poison = POISON[rng.integers(len(POISON))] if kind else rng.normal() * 10.0 ** rng.integers(-3, 4)
        with np.errstate(all="ignore"), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            values[at] = np.asarray(poison).astype(values.dtype)
    elif kind == 2 and values.size:
        rng.shuffle(values)
    elif kind == 3 and values.size:
        lost = int(rng.integers(1, min(4, values.size) + 1))
        values = values[:-lost]
        entry[1] = (
            [values.size] if len(entry[1]) == 1 else [int(s) for s in rng.integers(0, 5, size=len(entry[1]))]
        )
    elif kind == 4:
        entry[0] = DTYPES[rng.integers(len(DTYPES))]
    elif kind == 5:
        entry[1] = (
            entry[1][::-1] if rng.integers(2) else [int(s) for s in rng.integers(-1, 9, size=rng.integers(5))]
        )
    else:
        other = int(rng.integers(len(arrays)))
        arrays[k], arrays[other] = arrays[other], arrays[k]
        header["arrays"][k], header["arrays"][other] = header["arrays"][other], header["arrays"][k]
        return
    arrays[k] = values.tobytes()


def change_text(seed: Seed, rng: Any) -> bytes:
    """Values of JSON that Python's writer does not write: in place of one value, or nested around it."""
    header = copy.deepcopy(seed.header)
    node = [node for node in header["nodes"] if node][rng.integers(sum(map(bool, header["nodes"])))]
    part = [node, header["about"]["model"], header["arrays"] or node][rng.integers(3)]
    at = int(rng.integers(len(part)))
    kept, part[at] = json.dumps(part[at]), "@here@"
    odd = TEXTS[rng.integers(len(TEXTS))].replace("VALUE", kept)
    text = json.dumps(header, separators=(",", ":")).replace('"@here@"', odd).encode()
    arrays = b"".join(array.tobytes(order="A") for array in seed.arrays)
    return sealed(len(text).to_bytes(8, "little") + text + arrays)


def change_layout(header: dict[str, Any], arrays: list[bytes], rng: Any) -> None:
    """Columns first, another byte order, no dimensions, more of them, or the bytes of another array."""
    if not arrays:
        return
    k, kind = int(rng.integers(len(arrays))), rng.integers(6)
    entry = header["arrays"][k]
    if kind == 0:
        header["arrays"][k] = entry[:2] if len(entry) > 2 else [*entry, "F"]
    elif kind == 1:
        header["arrays"][k] = [*entry[:2], ["C", "A", "f", None, "FF", ["F"]][rng.integers(6)]]
    elif kind == 2:
        entry[0] = entry[0].replace("<", ">=|"[rng.integers(3)])
    elif kind == 3:
        entry[1] = [[], [1], [1, *entry[1]], [*entry[1], 1], [0, *entry[1]]][rng.integers(5)]
    elif kind == 4 and type(entry[0]) is str and entry[0] in DTYPES[:9]:
        entry[1], arrays[k] = [], arrays[k][: np.dtype(entry[0]).itemsize]
    else:
        other = int(rng.integers(len(arrays)))
        if len(arrays[k]) == len(arrays[other]):  # bytes, but not their description
            arrays[k], arrays[other] = arrays[other], arrays[k]


def mutated(seed: Seed, rng: Any) -> bytes:
    if rng.random() < 0.15:
        return change_bytes(seed, rng)
    if rng.random() < 0.15:
        return change_text(seed, rng)
    header = copy.deepcopy(seed.header)
    arrays = [array.tobytes(order="A") for array in seed.arrays]
    for _ in range(rng.integers(1, 4)):
        choice = rng.random()
        if choice < 0.15:
            change_layout(header, arrays, rng)
        elif choice < 0.5:
            change_array(header, arrays, rng)
        elif choice < 0.95:
            change_nodes(header, rng)
        else:
            change_about(header, rng)
    return packed(header, arrays)


# -- what an accepted model must do --------------------------------------------------------------------------


def spread_coefficients(model: Any) -> Any:
    """One row of coefficients for each binary problem."""
    given = model.dual_coef_.toarray() if sp.issparse(model.dual_coef_) else model.dual_coef_
    if not hasattr(model, "classes_") or len(model.classes_) == 2 or model.multiclass == "ovr":
        return given
    owners = np.repeat(np.arange(len(model.classes_)), model.n_support_)
    pairs = list(combinations(range(len(model.classes_)), 2))
    full = np.zeros((len(pairs), len(owners)))
    for row, (i, j) in enumerate(pairs):
        full[row, owners == i] = given[j - 1, owners == i]
        full[row, owners == j] = given[i, owners == j]
    return full


def raw_rows(points: Any) -> Any:
    """The rows behind prepared ones."""
    return points.X if points.shift is None else points.X + points.shift


def kernel_values(model: Any, rows: Any, others: Any) -> Any:
    """K(rows, others) from the rows themselves: nothing that was prepared in the file is used."""
    if model.kernel == "precomputed":
        return np.asarray(rows)[:, model.support_]
    if hasattr(model, "feature_names_in_") and isinstance(others, np.ndarray):
        others = type(rows)(others, columns=rows.columns)
    return model.kernel_(rows, others)


def map_features(model: Any, rows: Any) -> Any:
    """phi(x) of a low-rank or random map; None for strings."""
    map_ = model.map_
    if isinstance(map_, NystromMap):
        if not hasattr(map_.landmarks, "shift"):
            return None
        return kernel_values(model, rows, raw_rows(map_.landmarks)) @ map_.root
    columns = []
    for part in map_.parts:
        shifts = [map_.like[j].shift for j in part.atoms]  # none where sparse rows were fitted
        angles = sum(
            (np.asarray(rows) - (0.0 if shift is None else shift)) @ W
            for shift, W in zip(shifts, part.W, strict=True)
        )
        columns += [part.scale * np.cos(angles), part.scale * np.sin(angles)]
    return np.hstack(columns)


def scorecard_decisions(model: Any, rows: Any) -> Any:
    codes = model.binning_.codes(rows)
    names = [bins.name for bins in model.binning_.bins_]
    used = [names.index(name) for name in model.variables_]
    sums = sum(b * model.binning_.woe(j)[codes[j]] for b, j in zip(model.coef_, used, strict=True))
    sign = 1.0 if model.binning_.event_ == model.classes_[1] else -1.0
    return (sign * (model.intercept_ + sums))[:, None]


def expected_decisions(model: Any, rows: Any) -> Any:
    """Decisions by the formula of the model, from its numbers; None where there is no short formula."""
    if hasattr(model, "support_points_"):
        K = kernel_values(model, rows, model.support_vectors_)
        values = K @ spread_coefficients(model).T + model.intercept_
        return values - model.kernel_.diag(rows)[:, None] if isinstance(model, mm.SVDD) else values
    if isinstance(model, (mm.KernelRidge, mm.KernelPerceptron)):
        past = getattr(model, "_past", None)
        K = kernel_values(model, rows, raw_rows(model._points) if past is None else past.rows)
        coef = model.dual_coef_ if isinstance(model, mm.KernelRidge) else model.dual_coef_.T
        return K @ coef.reshape(len(coef), -1) + getattr(model, "intercept_", 0.0)
    if isinstance(model, (mm.LargeSVC, mm.LargeSVR, mm.LargeKernelRidge)):
        if getattr(model, "exact_", None) is not None:
            return expected_decisions(model.exact_, rows)
        features = map_features(model, rows) if getattr(model, "dual_coef_", None) is None else None
        return None if features is None else features @ np.atleast_2d(model.coef_).T + model.intercept_
    if isinstance(model, mm.Scorecard):
        return scorecard_decisions(model, rows)
    if isinstance(model, mm.FisherDiscriminant):
        scores = (np.asarray(rows) - model.xbar_) @ model.axes_
        if len(model.classes_) == 2:
            return scores[:, :1] - model.cut_points_
        return -0.5 * ((scores[:, None, :] - model.centroids_) ** 2).sum(axis=2)
    if hasattr(model, "coef_") and not hasattr(model, "support_"):
        return as_dense(rows) @ np.atleast_2d(model.coef_).T + model.intercept_
    return None


def expected_features(model: Any, rows: Any) -> Any:
    """What a transformer must give, by its formula."""
    if isinstance(model, (mm.LowRank, mm.RandomFourier)):
        return map_features(model, rows)
    if isinstance(model, mm.WOEEncoder):
        codes, sign = model.binning_.codes(rows), 1.0 if model.numerator == "nonevent" else -1.0
        return np.column_stack([sign * model.binning_.woe(j)[code] for j, code in enumerate(codes)])
    if isinstance(model, MDLDiscretizer):
        table = np.asarray(rows)
        return np.array(
            [[(cuts < value).sum() for cuts, value in zip(model.cuts_, row, strict=True)] for row in table]
        )
    if hasattr(model, "support_") and model.support_.dtype == bool:
        return np.asarray(rows)[:, model.support_]
    return None


def given_decisions(model: Any, rows: Any) -> Any:
    if hasattr(model, "binary_decisions"):
        return model.binary_decisions(rows)
    values = model.decision_function(rows) if hasattr(model, "decision_function") else model.predict(rows)
    return values.reshape(len(values), -1)


def inner_models(model: Any, rows: Any) -> list[tuple[Any, Any]]:
    """The model, and what is inside a search or a pipeline, with the rows that it sees."""
    found = [(model, rows)]
    best = getattr(model, "best_estimator_", None)
    if best is not None:
        found += inner_models(best, rows)
    if hasattr(model, "steps") and len(model.steps) > 1:
        found += inner_models(model.steps[-1][1], model[:-1].transform(rows))
    return found


def check_accepted(model: Any, rows: Any) -> None:
    """An error where predictions do not follow from the numbers in the model."""
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        n = rows.shape[0] if hasattr(rows, "shape") else len(rows)
        for values in answers(model, rows):
            assert len(values) == n, "another number of predictions"
        for inner, seen in inner_models(model, rows):
            expected = expected_decisions(inner, seen)
            if expected is not None:
                compare(given_decisions(inner, seen), expected)
            expected = expected_features(inner, seen)
            if expected is not None:
                compare(inner.transform(seen), expected)


def compare(given: Any, expected: Any) -> None:
    """Equal up to rounding; where coefficients of 1e300 lead beyond 1e290, any order of sums may overflow."""
    usable = np.abs(expected) < 1e290
    scale = np.abs(expected[usable]).max(initial=1.0)
    np.testing.assert_allclose(
        np.where(usable, given, 0), np.where(usable, expected, 0), rtol=1e-6, atol=1e-6 * scale
    )


def run_one(content: bytes, seed: Seed, path: Path) -> str:
    """What became of a file: refused, accepted, unfitted, or a failure in words."""
    path.write_bytes(content)
    start = time.process_time()
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            model = mm.load(path)
    except mm.io.ModelFileError as refused:
        seconds = time.process_time() - start
        if not str(refused).isprintable():
            return "failure: the message has control characters"
        return "refused" if seconds < SLOW else f"failure: {seconds:.2f} s to refuse"
    except BaseException:
        return "failure: " + traceback.format_exc()
    try:
        check_accepted(model, seed.rows)
    except Exception as error:
        if type(error).__name__ == "NotFittedError":
            return "unfitted"
        return "failure: " + traceback.format_exc()
    seconds = time.process_time() - start
    return "accepted" if seconds < 3 * SLOW else f"failure: {seconds:.2f} s"


def _content(seeds: list[Seed], good: Seed, rng: Any, *, with_care: bool) -> bytes:
    if not with_care:
        return mutated(good, rng)
    if rng.random() < 0.02:
        length = LENGTHS[rng.integers(len(LENGTHS))] % 2**64
        return sealed(length.to_bytes(8, "little") + good.body[8:])
    return packed(*crafted(good, seeds[rng.integers(len(seeds))], rng))


def fuzz(
    n_files: int,
    seed: int,
    *,
    keep: Path | None = None,
    names: list[str] | None = None,
    with_care: bool = False,
) -> Counter[str]:
    """Counts of what became of ``n_files`` mutated files; failures are printed."""
    rng = np.random.default_rng(seed)
    counts: Counter[str] = Counter()
    with tempfile.TemporaryDirectory() as folder:
        seeds = [Seed(name, Path(folder)) for name in names or CASES]
        for good in seeds:
            check_accepted(mm.load(_write(Path(folder) / "good.mm", sealed(good.body))), good.rows)
        for number in range(n_files):
            good = seeds[rng.integers(len(seeds))]
            content = _content(seeds, good, rng, with_care=with_care)
            result = run_one(content, good, Path(folder) / "mutated.mm")
            counts[result.partition(":")[0]] += 1
            if result.startswith("failure"):
                print(f"--- file {number} of seed {seed}, from {good.name!r}\n{result}", flush=True)
                if keep is not None:
                    _write(keep / f"{seed}-{number}.mm", content)
    return counts


def _write(path: Path, content: bytes) -> Path:
    path.write_bytes(content)
    return path


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--files", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--keep", type=Path)
    parser.add_argument("--models", nargs="*", help="names of tests.io.models.CASES")
    parser.add_argument("--crafted", action="store_true", help="changes of tests.io.crafted_changes only")
    given = parser.parse_args()
    if given.keep is not None:
        os.makedirs(given.keep, exist_ok=True)
    start = time.perf_counter()
    counts = fuzz(given.files, given.seed, keep=given.keep, names=given.models, with_care=given.crafted)
    print(f"seed {given.seed}: {given.files} files in {time.perf_counter() - start:.0f} s: {dict(counts)}")
    return int(counts["failure"] > 0)


if __name__ == "__main__":
    sys.exit(main())
