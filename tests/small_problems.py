"""Seeded kernel machines on at most 1000 rows, whatever their scales: none may take more than two seconds.

    python -m tests.small_problems --problems 500 --seed 0
    python -m tests.small_problems --only NuSVR --problems 100
    python -m tests.small_problems --only NuSVR --case 17        # one problem again, with its certificate

Columns have different scales, heavy tails, a low rank, repeated rows and offsets; C is between 1e-3 and 1e12.
Prints the problems above two seconds of processor time, and those that did not converge.
"""

from __future__ import annotations

import argparse
import sys
import time
import warnings
import zlib
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

import maxmargin as mm
from maxmargin.problems.certificate import Certificate
from tests.random_fits import is_our_refusal, log_uniform

SLOW_SECONDS = 2.0
MACHINES = ("SVC", "SVR", "NuSVC", "NuSVR", "OneClassSVM")
_ROWS = (20, 60, 150, 300, 600, 1000)
_COLUMNS = (1, 2, 5, 12, 40)
_KERNELS = ("linear", "rbf", "poly", "sigmoid")


@dataclass(frozen=True)
class Result:
    """How a problem ended; ``seconds`` of processor time."""

    name: str
    number: int
    text: str
    status: str
    seconds: float
    gap: float  # relative
    rounding: float  # the gap in units of what rounding explains


def _table(rng: np.random.Generator) -> tuple[Any, str]:
    """A table and how it was made."""
    n, p = int(rng.choice(_ROWS)), int(rng.choice(_COLUMNS))
    X, traits = rng.normal(size=(n, p)), []
    if rng.random() < 0.25:
        X, traits = rng.standard_t(1.5, size=(n, p)), ["heavy tails"]
    if p > 2 and rng.random() < 0.2:
        X, traits = X[:, :2] @ rng.normal(size=(2, p)), [*traits, "rank 2"]
    if rng.random() < 0.2:
        X, traits = X[rng.integers(0, max(2, n // 4), n)], [*traits, "repeated rows"]
    if rng.random() < 0.4:
        spread = float(rng.choice([2.0, 6.0, 12.0]))
        X, traits = X * 10.0 ** rng.uniform(-spread, spread, p), [*traits, f"scales 1e+-{spread:g}"]
    if rng.random() < 0.2:
        offset = log_uniform(rng, 0, 8)
        X, traits = X + offset, [*traits, f"offset {offset:.1e}"]
    return X, f"{n} x {p} " + ", ".join(traits)


def _target(rng: np.random.Generator, X: Any, name: str) -> Any:
    """Labels or numbers: of a noisy plane, of noise alone, or of the first column."""
    unit = X / np.maximum(np.abs(X).max(axis=0), 1e-300)
    noise = float(rng.choice([0.0, 0.1, 1.0, 100.0]))
    values = unit @ rng.normal(size=X.shape[1]) + noise * rng.normal(size=len(X))
    if name in ("SVR", "NuSVR"):
        return values * log_uniform(rng, -3, 6) if rng.random() < 0.5 else values
    labels = (values > np.median(values)).astype(int)
    labels[:2] = 0, 1
    return labels


def _machine(rng: np.random.Generator, name: str) -> Any:
    kernel = str(rng.choice(_KERNELS))
    options: dict[str, Any] = {"kernel": kernel}
    if kernel != "linear" and rng.random() < 0.5:
        options["gamma"] = log_uniform(rng, -3, 2)
    if kernel in ("poly", "sigmoid"):
        options["coef0"] = float(rng.choice([0.0, 1.0]))
    if name in ("SVC", "SVR", "NuSVR"):
        options["C"] = log_uniform(rng, -3, 12)
    if name in ("NuSVC", "NuSVR", "OneClassSVM"):
        options["nu"] = float(rng.uniform(0.05, 0.8))
    return getattr(mm, name)(**options)


def make_problem(name: str, seed: int, number: int) -> tuple[Any, tuple[Any, ...], str]:
    """A machine, the arguments of its fit, and a description."""
    rng = np.random.default_rng([seed, number, zlib.crc32(name.encode())])
    X, text = _table(rng)
    y = () if name == "OneClassSVM" else (_target(rng, X, name),)
    return _machine(rng, name), (X, *y), text


def solve(name: str, seed: int, number: int) -> Result:
    model, arguments, text = make_problem(name, seed, number)
    began = time.process_time()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        warnings.simplefilter("error", RuntimeWarning)
        try:
            model.fit(*arguments)
            status, found = model.solution_.status.short, model.certificate_
        except ValueError as error:  # an infeasible nu, a kernel that is not finite
            if not is_our_refusal(error):
                raise
            status, found = "refused", Certificate()
    seconds = time.process_time() - began
    units = found.gap / max(found.rounding, 1e-300)
    text = f"{model} on {text}".replace("\n", " ")
    return Result(name, number, text, status, seconds, found.relative_gap, units)


def run(names: list[str], problems: int, seed: int) -> Iterator[Result]:
    """The machines in turn; a slow one again, because the first of its kind may have been compiled."""
    for k in range(problems):
        name, number = names[k % len(names)], k // len(names)
        result = solve(name, seed, number)
        yield solve(name, seed, number) if result.seconds > SLOW_SECONDS else result


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--problems", type=int, default=200)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--only", nargs="+", choices=MACHINES, default=MACHINES)
    parser.add_argument("--case", type=int, help="one problem again")
    options = parser.parse_args(arguments)
    if options.case is not None:
        results = [solve(name, options.seed, options.case) for name in options.only]
    else:
        results = list(run(options.only, options.problems, options.seed))
    slow = [one for one in results if one.seconds > SLOW_SECONDS]
    for one in results:
        if one in slow or one.status not in ("converged", "refused") or options.case is not None:
            line = f"{one.name} --case {one.number}: {one.status}, {one.seconds:.2f} s"
            print(f"{line}, relative gap {one.gap:.2g}, {one.rounding:.2g} roundings: {one.text}")
    counts = Counter(one.status for one in results)
    print(f"{len(results)} problems, {len(slow)} above {SLOW_SECONDS:g} s, {dict(counts)}")
    print(f"the slowest: {max(one.seconds for one in results):.2f} s")
    return int(bool(slow))


if __name__ == "__main__":
    sys.exit(main())
