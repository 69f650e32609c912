"""Seeded random fits of every estimator on hostile tables.

    python -m tests.random_fits --fits 20000 --seed 0
    python -m tests.random_fits --only Ridge SVC --fits 500
    python -m tests.random_fits --only Ridge --case 17        # one fit again, with its traceback

Tables have from one row, more columns than rows, entries from 1e-300 to 1e300, columns of different scales,
offsets, constant and repeated columns and rows, any dtype and memory layout; weights are zero, tiny or huge.
A fit passes when it ends in one of two ways:

* fitted: all predictions are finite (labels are known labels);
* refused: an error that maxmargin (or scikit-learn's validation) raises itself and that names the remedy.

Everything else is a defect: an error out of NumPy, SciPy or Python, a RuntimeWarning, a prediction that is
not finite, more than 20 seconds.

A package adds its estimators to `SUBJECTS` as `Subject(name, maker, task)`; ``maker`` draws the parameters.
"""

from __future__ import annotations

import tests.conftest  # noqa: F401  # chooses Numba's cache folder, before anything imports Numba

# isort: split
import argparse
import inspect
import re
import signal
import sys
import time
import traceback
import warnings
import zlib
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pandas as pd
from scipy import sparse

import maxmargin as mm
from maxmargin import feature_selection as fs

Task = Literal["classification", "regression", "outliers"]
SLOW_SECONDS = 20.0
_ROWS = (1, 2, 3, 4, 6, 10, 20, 40, 80)
_COLUMNS = (1, 2, 3, 5, 12, 50)
_DTYPES = ("float64", "float64", "float64", "float32", "float16", "int64", "int8", "uint8", "bool", "object")
_LAYOUTS = ("C", "C", "F", "strided", "reversed", "read-only", "list", "frame", "csr", "csc")


@dataclass(frozen=True)
class Subject:
    """An estimator to try: ``maker`` returns a fresh one with parameters drawn from its generator."""

    name: str
    maker: Callable[[np.random.Generator], Any]
    task: Task


@dataclass(frozen=True)
class Case:
    """A table, its target and weights, and where they came from."""

    X: Any
    y: Any
    weights: Any
    description: str


@dataclass(frozen=True)
class Outcome:
    """How a fit ended: "fitted", "refused", or the kind of defect, with the detail."""

    kind: str
    detail: str
    seconds: float

    @property
    def passed(self) -> bool:
        return self.kind in ("fitted", "refused")


def log_uniform(rng: np.random.Generator, low: float, high: float) -> float:
    """10 ** u with u uniform between ``low`` and ``high``."""
    return float(10.0 ** rng.uniform(low, high))


def _exponents(rng: np.random.Generator, size: int) -> Any:
    """Exponents of the scales of columns: mostly mild, sometimes from -300 to 300."""
    kind = rng.choice(["one", "mild", "wide", "extreme", "extreme column"], p=[0.35, 0.25, 0.2, 0.15, 0.05])
    if kind == "one":
        return np.zeros(size)
    if kind == "mild":
        return np.full(size, rng.uniform(-6, 6))
    if kind == "wide":
        return rng.uniform(-12, 12, size)
    if kind == "extreme":
        return np.full(size, rng.uniform(-300, 300))
    exponents = np.zeros(size)
    exponents[rng.integers(size)] = rng.uniform(-300, 300)
    return exponents


def _numbers(rng: np.random.Generator, n: int, p: int) -> Any:
    """A table of float64 with every kind of degeneracy."""
    X = rng.normal(size=(n, p)) if rng.random() < 0.7 else rng.integers(-2, 3, (n, p)).astype(float)
    if rng.random() < 0.2:
        X = X[rng.integers(0, max(1, n // 2), n)]
    if rng.random() < 0.15:
        X[:, rng.integers(p)] = rng.choice([0.0, 1.0, 3.0])
    if rng.random() < 0.15:
        X[:, rng.integers(p)] = X[:, rng.integers(p)]
    if rng.random() < 0.15:
        X = X + log_uniform(rng, 0, 8) * rng.choice([-1.0, 1.0])
    if rng.random() < 0.05:
        X = np.zeros((n, p))
    with np.errstate(over="ignore", under="ignore"):
        return X * 10.0 ** _exponents(rng, p)


def _as_dtype(X: Any, dtype: str) -> Any:
    """The table in another type, clipped to what it can hold."""
    if dtype == "bool":
        return np.median(X) < X
    if dtype in ("int64", "int8", "uint8"):
        limits = np.iinfo(dtype)
        return np.clip(np.rint(X), max(limits.min, -(2.0**62)), min(limits.max, 2.0**62)).astype(dtype)
    if dtype in ("float16", "float32"):
        top = float(np.finfo(dtype).max)
        with np.errstate(under="ignore"):
            return np.clip(X, -top, top).astype(dtype)
    return X.astype(dtype)


def _as_layout(X: Any, layout: str) -> Any:
    """The same numbers in another place in memory."""
    n, p = X.shape
    if layout == "F":
        return np.asfortranarray(X)
    if layout == "strided":
        wide = np.zeros((2 * n, 3 * p), dtype=X.dtype)
        wide[::2, ::3] = X
        return wide[::2, ::3]
    if layout == "reversed":
        return np.ascontiguousarray(X[::-1, ::-1])[::-1, ::-1]
    if layout == "read-only":
        X = np.ascontiguousarray(X)
        X.setflags(write=False)
        return X
    if layout == "list":
        return X.tolist()
    if layout == "frame":
        return pd.DataFrame(X, columns=[f"column {j}" for j in range(p)])
    if layout in ("csr", "csc") and X.dtype not in (np.float16, object):
        return sparse.csr_matrix(X) if layout == "csr" else sparse.csc_array(X)
    return np.ascontiguousarray(X)


def _labels(rng: np.random.Generator, n: int, first: Any) -> Any:
    """Labels, of two classes or more in nine cases of ten where there are two rows."""
    labels = _some_labels(rng, n, first)
    if n > 1 and len(np.unique(labels)) == 1 and rng.random() < 0.9:
        others = {"U": ["no", "yes"], "b": [False, True]}.get(labels.dtype.kind, [0, 1])
        labels[:2] = others
    return labels


def _some_labels(rng: np.random.Generator, n: int, first: Any) -> Any:
    kind = rng.choice(["two", "separable", "three", "words", "one odd", "bool"])
    if kind == "separable":
        return (first > np.median(first)).astype(int)
    if kind == "three":
        return rng.integers(0, 3, n)
    if kind == "one odd":
        return (np.arange(n) == rng.integers(n)).astype(int)
    codes = rng.integers(0, 2, n)
    if kind == "words":
        return np.array(["no", "yes"])[codes]
    return codes.astype(bool) if kind == "bool" else codes


def _targets(rng: np.random.Generator, n: int, first: Any) -> Any:
    kind = rng.choice(["noise", "line", "constant", "extreme", "whole"])
    if kind == "line":
        return first * 2.0 if np.abs(first).max() < 1e150 else first
    if kind == "constant":
        return np.full(n, rng.choice([0.0, 5.0, -1e6]))
    if kind == "extreme":
        return rng.normal(size=n) * log_uniform(rng, -300, 300)
    return rng.integers(-3, 4, n) if kind == "whole" else rng.normal(size=n)


def _weights(rng: np.random.Generator, n: int) -> Any:
    kind = rng.choice(
        ["none", "ones", "some zero", "tiny", "huge", "mixed", "whole"],
        p=[0.5, 0.05, 0.15, 0.05, 0.05, 0.1, 0.1],
    )
    if kind == "none":
        return None
    if kind == "ones":
        return np.ones(n)
    if kind == "some zero":
        return (rng.random(n) < 0.7).astype(float)
    if kind == "tiny":
        return rng.random(n) * log_uniform(rng, -300, -3)
    if kind == "huge":
        return rng.random(n) * log_uniform(rng, 3, 300)
    if kind == "mixed":
        return 10.0 ** rng.uniform(-20, 20, n)
    return rng.integers(0, 4, n)


def make_case(rng: np.random.Generator, task: Task) -> Case:
    """A random table with a target for ``task``."""
    n, p = int(rng.choice(_ROWS)), int(rng.choice(_COLUMNS))
    dtype, layout = str(rng.choice(_DTYPES)), str(rng.choice(_LAYOUTS))
    numbers = _numbers(rng, n, p)
    y = None
    if task != "outliers":
        y = (_labels if task == "classification" else _targets)(rng, n, numbers[:, 0])
    weights = _weights(rng, n)
    X = _as_layout(_as_dtype(numbers, dtype), layout)
    biggest = float(np.abs(numbers).max())
    return Case(X, y, weights, f"{n} x {p} {dtype} {layout}, largest entry {biggest:.1e}")


@contextmanager
def _deadline(seconds: float) -> Iterator[None]:
    """A TimeoutError after so much processor time, as soon as Python is back from compiled code."""

    def ring(*_: Any) -> None:
        raise TimeoutError(f"no answer after {seconds:g} s of processor time")

    if not hasattr(signal, "setitimer"):
        yield
        return
    before = signal.signal(signal.SIGPROF, ring)
    signal.setitimer(signal.ITIMER_PROF, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, before)


def is_our_refusal(error: BaseException) -> bool:
    """Whether the library raised it on purpose: not NumPy, SciPy or Python in the middle of a computation."""
    if not isinstance(error, (ValueError, TypeError)) or isinstance(error, np.linalg.LinAlgError):
        return False
    last = traceback.extract_tb(error.__traceback__)[-1]
    place = Path(last.filename).as_posix()
    ours = any(part in place for part in ("/maxmargin/", "/sklearn/utils/", "/sklearn/model_selection/"))
    return ours and (last.line or "raise").lstrip().startswith("raise") and len(str(error)) > 20


def _check_predictions(model: Any, case: Case, task: Task) -> str:
    """What is wrong with the predictions for the training rows, or nothing."""
    for name in ("predict", "decision_function", "predict_proba", "score_samples", "transform"):
        method = getattr(model, name, None)
        if method is None:
            continue
        values = method(case.X)
        values = values.toarray() if sparse.issparse(values) else np.asarray(values)
        if name == "predict" and task == "classification":
            if not np.isin(values, model.classes_).all():
                return "predict returned unknown labels"
        elif not np.isfinite(values.astype(float)).all():
            return f"{name} returned values that are not finite"
    return ""


def try_fit(subject: Subject, seed: int, number: int, *, raising: bool = False) -> Outcome:
    """Fit number ``number`` of a subject; ``raising`` lets errors and RuntimeWarnings through."""
    rng = np.random.default_rng([seed, number, zlib.crc32(subject.name.encode())])
    case, model = make_case(rng, subject.task), subject.maker(rng)
    arguments = (case.X,) if case.y is None else (case.X, case.y)
    began, worked = time.perf_counter(), time.process_time()
    kind, detail = "fitted", ""
    try:
        with warnings.catch_warnings(record=True) as seen, _deadline(4.0 * SLOW_SECONDS):
            warnings.simplefilter("always")
            if raising:
                warnings.simplefilter("error", RuntimeWarning)
            if case.weights is None or "sample_weight" not in inspect.signature(model.fit).parameters:
                model.fit(*arguments)
            else:
                model.fit(*arguments, sample_weight=case.weights)
            detail = _check_predictions(model, case, subject.task)
        noisy = [w for w in seen if issubclass(w.category, (RuntimeWarning, DeprecationWarning))]
        if detail:
            kind = "not finite"
        elif noisy:
            place = f"{Path(noisy[0].filename).name}:{noisy[0].lineno}"
            kind, detail = "RuntimeWarning", f"{noisy[0].message} ({place})"
    except TimeoutError as late:
        kind, detail = "slow", str(late)
    except Exception as error:
        if raising and not is_our_refusal(error):
            raise
        kind = "refused" if is_our_refusal(error) else "error"
        last = traceback.extract_tb(error.__traceback__)[-1]
        detail = f"{type(error).__name__}: {error} ({Path(last.filename).name}:{last.lineno})"
    # on a busy machine the clock runs on; several threads make processor time run faster than the clock
    seconds = min(time.perf_counter() - began, time.process_time() - worked)
    if seconds > SLOW_SECONDS and kind in ("fitted", "refused"):
        kind, detail = "slow", f"{seconds:.1f} s"
    return Outcome(kind, f"{model} on {case.description}: {detail}".replace("\n", " "), seconds)


def _linear_svc(rng: np.random.Generator) -> Any:
    penalty = str(rng.choice(["l2", "l2", "l1", "l0", "l1l2", "l0l2", "none"]))
    loss = "hinge" if penalty == "none" else str(rng.choice(["hinge", "squared_hinge", "logistic"]))
    C = 10.0 ** rng.integers(-3, 4)
    return mm.LinearSVC(C, loss=loss, penalty=penalty, fit_intercept=_flag(rng), **_classes(rng))


def _linear_svr(rng: np.random.Generator) -> Any:
    loss = str(rng.choice(["epsilon_insensitive", "squared_epsilon_insensitive"]))
    return mm.LinearSVR(
        10.0 ** rng.integers(-3, 4),
        loss=loss,
        penalty=str(rng.choice(["l2", "l1", "l1l2", "none"])),
        epsilon=float(rng.choice([0.0, 0.1])),
        fit_intercept=_flag(rng),
    )


def _ridge(rng: np.random.Generator) -> Any:
    if rng.random() < 0.3:
        alpha = float(rng.choice([0.0, 1.0]))
        return mm.Ridge(alpha, solver="sgd", fit_intercept=_flag(rng), random_state=0)
    if rng.random() < 0.3:
        return mm.Ridge(alphas=[1e-3, 1.0, 1e3], fit_intercept=_flag(rng))
    return mm.Ridge(log_uniform(rng, -6, 6), fit_intercept=_flag(rng))


def _kernel(rng: np.random.Generator) -> str:
    return str(rng.choice(["rbf", "linear", "poly"]))


def _flag(rng: np.random.Generator) -> bool:
    return bool(rng.random() < 0.5)


def _classes(rng: np.random.Generator, *others: str) -> dict[str, Any]:
    """How classes are compared and weighed."""
    weight = None if _flag(rng) else "balanced"
    return {"multiclass": str(rng.choice(["ovr", "ovo", *others])), "class_weight": weight}


def _online(rng: np.random.Generator) -> dict[str, Any]:
    shuffle = [True, False, "replacement"][rng.integers(3)]
    return {"fit_intercept": _flag(rng), "shuffle": shuffle, "random_state": 0, **_classes(rng)}


def _large(rng: np.random.Generator) -> dict[str, Any]:
    methods = ["pivoted_cholesky", "leverage", "kmeans", "uniform", "fourier"]
    method = str(rng.choice(methods))
    kernel = "rbf" if method == "fourier" else _kernel(rng)
    return {"kernel": kernel, "method": method, "random_state": 0}


def _binning(rng: np.random.Generator) -> mm.Binning:
    return mm.Binning(str(rng.choice(["optimal", "quantile", "width", "tree", "mdl"])))


SUBJECTS: list[Subject] = [
    Subject(
        "LogisticRegression",
        lambda rng: mm.LogisticRegression(
            float(rng.choice([np.inf, 1.0, 1e-3, 1e6])),
            fit_intercept=_flag(rng),
            **_classes(rng, "multinomial"),
        ),
        "classification",
    ),
    Subject("LinearSVC", _linear_svc, "classification"),
    Subject("LinearSVR", _linear_svr, "regression"),
    Subject("LeastSquares", lambda rng: mm.LeastSquares(fit_intercept=_flag(rng)), "regression"),
    Subject("Ridge", _ridge, "regression"),
    Subject(
        "FisherDiscriminant",
        lambda rng: mm.FisherDiscriminant(
            method=str(rng.choice(["eigen", "canonical"])), shrinkage=rng.choice([None, "auto", 0.1])
        ),
        "classification",
    ),
    Subject("Perceptron", lambda rng: mm.Perceptron(average=_flag(rng), **_online(rng)), "classification"),
    Subject(
        "PassiveAggressive",
        lambda rng: mm.PassiveAggressive(variant=str(rng.choice(["pa1", "pa2"])), **_online(rng)),
        "classification",
    ),
    Subject(
        "Pegasos",
        lambda rng: mm.Pegasos(log_uniform(rng, -4, 1), project=_flag(rng), **_online(rng)),
        "classification",
    ),
    Subject(
        "SubgradientDescent",
        lambda rng: mm.SubgradientDescent(
            mode=str(rng.choice(["batch", "stochastic"])),
            step=str(rng.choice(["constant", "strongly_convex", "soft_svm"])),
            **_online(rng),
        ),
        "classification",
    ),
    Subject(
        "KernelPerceptron",
        lambda rng: mm.KernelPerceptron(_kernel(rng), average=_flag(rng), random_state=0),
        "classification",
    ),
    Subject("KernelRidge", lambda rng: mm.KernelRidge(kernel=_kernel(rng)), "regression"),
    Subject("SVC", lambda rng: mm.SVC(10.0 ** rng.integers(-3, 5), kernel=_kernel(rng)), "classification"),
    Subject("NuSVC", lambda rng: mm.NuSVC(rng.uniform(0.05, 0.6), kernel=_kernel(rng)), "classification"),
    Subject("HardMarginSVC", lambda rng: mm.HardMarginSVC(kernel=_kernel(rng)), "classification"),
    Subject("SVR", lambda rng: mm.SVR(10.0 ** rng.integers(-3, 5), kernel=_kernel(rng)), "regression"),
    Subject("NuSVR", lambda rng: mm.NuSVR(kernel=_kernel(rng)), "regression"),
    Subject("OneClassSVM", lambda rng: mm.OneClassSVM(rng.uniform(0.05, 0.9)), "outliers"),
    Subject("SVDD", lambda rng: mm.SVDD(10.0 ** rng.integers(-2, 2)), "outliers"),
    Subject(
        "LargeSVC", lambda rng: mm.LargeSVC(10.0 ** rng.integers(-3, 4), **_large(rng)), "classification"
    ),
    Subject("LargeSVR", lambda rng: mm.LargeSVR(10.0 ** rng.integers(-3, 4), **_large(rng)), "regression"),
    Subject(
        "LargeKernelRidge",
        lambda rng: mm.LargeKernelRidge(10.0 ** rng.integers(-3, 4), **_large(rng)),
        "regression",
    ),
    Subject(
        "CellSVC",
        lambda rng: mm.CellSVC(10.0 ** rng.integers(-3, 4), cell_size=20, random_state=0),
        "classification",
    ),
    Subject("LowRank", lambda rng: mm.LowRank(_kernel(rng), 10, random_state=0), "outliers"),
    Subject("RandomFourier", lambda rng: mm.RandomFourier("rbf", 10, random_state=0), "outliers"),
    Subject("WOEEncoder", lambda rng: mm.WOEEncoder(_binning(rng)), "classification"),
    Subject("Scorecard", lambda rng: mm.Scorecard(binning=_binning(rng)), "classification"),
    Subject(
        "GridSearch",
        lambda rng: mm.GridSearch(mm.SVC(kernel=_kernel(rng)), {"C": [1, 1e3]}, cv=2, error_score="raise"),
        "classification",
    ),
    Subject("FisherScore", lambda rng: fs.FisherScore(n_features=1), "classification"),
    Subject("InformationGain", lambda rng: fs.InformationGain(n_features=1), "classification"),
    Subject("SymmetricalUncertainty", lambda rng: fs.SymmetricalUncertainty(n_features=1), "classification"),
    Subject("ReliefF", lambda rng: fs.ReliefF(3, n_features=1, random_state=0), "classification"),
    Subject("MultiSURF", lambda rng: fs.MultiSURF(n_features=1, random_state=0), "classification"),
    Subject("RFE", lambda rng: fs.RFE(mm.LinearSVC(), 1), "classification"),
    Subject("SFS", lambda rng: fs.SFS(mm.FisherDiscriminant(), 1, cv=2), "classification"),
    Subject("SparseSVMSelector", lambda rng: fs.SparseSVMSelector(cv=2, n_lambdas=5), "classification"),
    Subject(
        "SubsetSelector", lambda rng: fs.SubsetSelector(fs.Forward(1), fs.Mahalanobis()), "classification"
    ),
]


def run(subjects: list[Subject], fits: int, seed: int) -> Iterator[tuple[Subject, int, Outcome]]:
    """``fits`` fits in all, the subjects in turn."""
    for k in range(fits):
        subject, number = subjects[k % len(subjects)], k // len(subjects)
        outcome = try_fit(subject, seed, number)
        if outcome.kind == "slow":  # the first fit of its kind may have compiled for as long
            outcome = try_fit(subject, seed, number)
        yield subject, number, outcome


def summary(results: list[tuple[Subject, int, Outcome]]) -> str:
    """A line for every subject, and the defects below."""
    lines = [f"{'estimator':20} {'fits':>6} {'fitted':>7} {'refused':>8} {'defects':>8} {'slowest':>9}"]
    for name in dict.fromkeys(subject.name for subject, _, _ in results):
        mine = [outcome for subject, _, outcome in results if subject.name == name]
        kinds = Counter(outcome.kind for outcome in mine)
        defects = sum(not outcome.passed for outcome in mine)
        slowest = max(outcome.seconds for outcome in mine)
        lines.append(
            f"{name:20} {len(mine):6} {kinds['fitted']:7} {kinds['refused']:8} {defects:8} {slowest:8.2f}s"
        )
    bad = [(subject, number, outcome) for subject, number, outcome in results if not outcome.passed]
    lines.append(f"{len(results)} fits, {len(bad)} defects")
    lines += [f"  {s.name} --case {number}: {o.kind}: {o.detail}" for s, number, o in bad[:200]]
    return "\n".join(lines)


def refusals(results: list[tuple[Subject, int, Outcome]]) -> str:
    """How often each estimator refused for each reason, figures left out."""
    counts: Counter[str] = Counter()
    for subject, _, outcome in results:
        if outcome.kind == "refused":
            reason = re.sub(r"[-+.\de]*\d[-+.\de]*", "#", outcome.detail.rsplit("Error: ", 1)[-1])
            counts[f"{subject.name}: {reason}"] += 1
    return "\n".join(f"{count:6} {reason}" for reason, count in sorted(counts.items()))


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--fits", type=int, default=1000, help="number of fits over all estimators")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--only", nargs="+", metavar="NAME", help="these estimators only")
    parser.add_argument("--refusals", action="store_true", help="also count the refusals by their message")
    parser.add_argument("--case", type=int, help="one fit again; errors and warnings are raised")
    options = parser.parse_args(arguments)
    subjects = [s for s in SUBJECTS if not options.only or s.name in options.only]
    if not subjects:
        parser.error(f"unknown estimator: use some of {', '.join(s.name for s in SUBJECTS)}.")
    if options.case is not None:
        results = [(s, options.case, try_fit(s, options.seed, options.case, raising=True)) for s in subjects]
    else:
        results = list(run(subjects, options.fits, options.seed))
    print(summary(results))
    if options.refusals or options.case is not None:
        print(refusals(results))
    return int(any(not outcome.passed for _, _, outcome in results))


if __name__ == "__main__":
    sys.exit(main())
