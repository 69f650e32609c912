"""Low-rank kernel machines beside scikit-learn's Nystroem + LinearSVC, and the low-rank start of SVC.

    python -m benchmarks.large [large] [peer] [methods] [images] [growth] [start] [ridge]

"large" fits LargeSVC, "peer" scikit-learn's pipeline on the same rows with the same number of components;
with both, the ratio is printed. "methods" has the ways to choose a map beside the exact machine, "images" the
exact machine and the map on ten classes of images beside scikit-learn-intelex, "growth" both on two classes
of more and more rows, "start" the exact SVC on 50 000 rows with and without a low-rank start, "ridge" the
products with the kernel that the exact finish of kernel ridge regression needs.
"""

from __future__ import annotations

import sys
import time
import warnings
from functools import partial
from typing import Any

import numpy as np
from sklearn.kernel_approximation import Nystroem
from sklearn.pipeline import make_pipeline
from sklearn.svm import LinearSVC

import maxmargin as mm
from benchmarks._common import images, synthetic
from benchmarks._fresh import model as svc
from benchmarks._fresh import rows_for
from benchmarks._results import begin, record
from benchmarks.svm import intelex, peak_while

ROWS, COLUMNS, COMPONENTS = 500_000, 50, 300
GAMMA, C = 0.02, 1.0


def curved(n: int, p: int, seed: int = 0) -> tuple[Any, Any]:
    """Float32 rows made of six factors and noise, classes divided by a curved surface, 2 % wrong labels."""
    rng = np.random.default_rng(seed)
    factors = rng.standard_normal((n, 6), dtype=np.float32)
    mixing = rng.standard_normal((6, p), dtype=np.float32) / np.sqrt(np.float32(6))
    X = factors @ mixing + np.float32(0.3) * rng.standard_normal((n, p), dtype=np.float32)
    a, b, c, d, e, g = factors.T
    f = a * b + c**2 - 1.0 + np.sin(2.0 * d) + 0.5 * e * g
    wrong = rng.random(n) < 0.02
    return X, np.where((f > 0) ^ wrong, 1, -1)


def split() -> tuple[Any, Any, Any, Any]:
    X, y = curved(ROWS + 50_000, COLUMNS)
    return X[:ROWS], y[:ROWS], X[ROWS:], y[ROWS:]


def timed(task: Any) -> tuple[float, Any]:
    began = time.perf_counter()
    answer = task()
    return time.perf_counter() - began, answer


def ours() -> tuple[float, float]:
    X, y, Z, z = split()
    small = mm.LargeSVC(C=C, gamma=GAMMA, n_components=50, random_state=0)
    small.fit(X[:2000], y[:2000])  # compile
    model = mm.LargeSVC(C=C, gamma=GAMMA, n_components=COMPONENTS, random_state=0)
    seconds, model = timed(lambda: model.fit(X, y))
    score = model.score(Z, z)
    print(model.certificate_)
    print(model.approximation_, flush=True)
    return seconds, score


def peer() -> tuple[float, float]:
    X, y, Z, z = split()
    pipeline = make_pipeline(
        Nystroem(gamma=GAMMA, n_components=COMPONENTS, random_state=0), LinearSVC(C=C, dual="auto")
    )
    with warnings.catch_warnings():
        warnings.simplefilter("default")
        seconds, pipeline = timed(lambda: pipeline.fit(X, y))
    score = pipeline.score(Z, z)
    return seconds, score


def large(parts: set[str]) -> None:
    begin(
        table=f"LargeSVC, {ROWS} x {COLUMNS} float32, {COMPONENTS} components, C = {C:g}, gamma = {GAMMA:g}"
    )
    mine = ours() if "large" in parts else None
    theirs = peer() if "peer" in parts else None
    if mine:
        note = f"accuracy {mine[1]:.4f}" + (f", peer {theirs[1]:.4f}" if theirs else "")
        record("LargeSVC", mine[0], {"Nystroem + LinearSVC": theirs[0]} if theirs else {}, note)


def methods() -> None:
    begin(table=f"50 000 x {COLUMNS} float32, C = {C:g}, gamma = {GAMMA:g}: maps beside the exact kernel")
    X, y = curved(70_000, COLUMNS)
    Z, z, X, y = X[50_000:], y[50_000:], X[:50_000], y[:50_000]
    mm.LargeSVC(n_components=50).fit(X[:2000], y[:2000])  # compile
    mm.SVC().fit(X[:3000], y[:3000])
    for m in (300, 1000):
        for method in ("pivoted_cholesky", "leverage", "kmeans", "uniform", "fourier"):
            model = mm.LargeSVC(C=C, gamma=GAMMA, n_components=m, method=method, random_state=0)
            seconds, model = timed(lambda model=model: model.fit(X, y))
            missed = model.approximation_.map.relative_trace if method != "fourier" else float("nan")
            note = f"accuracy {model.score(Z, z):.4f}, trace missed {missed:.3f}"
            record(f"LargeSVC, {method}, {m} components", seconds, {}, note)
    seconds, model = timed(lambda: mm.SVC(C=C, gamma=GAMMA, loss="squared_hinge").fit(X, y))
    record("SVC, squared hinge", seconds, {}, f"accuracy {model.score(Z, z):.4f}")


def digits() -> None:
    begin(table="generated images 60000 x 784, ten classes, C = 10: exact and with a map")
    X, y = images(70_000)
    gamma = 1.0 / (784 * X.var())
    Z, z, X, y = X[60_000:], y[60_000:], X[:60_000], y[:60_000]
    peers = {}
    for package in intelex():
        rows, others = rows_for(package, X), rows_for(package, Z)
        peers[package], model = timed(lambda p=package, r=rows: svc(p, 10.0, gamma).fit(r, y))
        print(f"{package}: accuracy {model.score(others, z):.4f}", flush=True)
    mm.SVC().fit(X[:3000], y[:3000])  # compile
    mm.LargeSVC(n_components=50).fit(X[:2000], y[:2000])
    exact, model = timed(lambda: mm.SVC(C=10.0, gamma=gamma).fit(X, y))
    record("SVC", exact, peers, f"accuracy {model.score(Z, z):.4f}")
    mapped = mm.LargeSVC(C=10.0, gamma=gamma, n_components=1000, random_state=0)
    seconds, mapped = timed(lambda: mapped.fit(X, y))
    same = float(np.mean(mapped.predict(Z) == model.predict(Z)))
    note = f"accuracy {mapped.score(Z, z):.4f}, {same:.2%} of the predictions as the exact SVC's"
    record("LargeSVC, 1000 components", seconds, {"exact SVC": exact}, note)


def halves_of_images(n: int, p: int) -> tuple[Any, Any]:
    X, digit = images(n)
    return X[:, :p], digit < 5


# name, rows, the most of them, columns, C: the sizes of well-known tables
SHAPES = (
    ("ijcnn1-like", synthetic, 100_000, 22, 1.0),
    ("covtype-like", synthetic, 100_000, 54, 1.0),
    ("MNIST-like halves", halves_of_images, 60_000, 784, 10.0),
)


def growth() -> None:
    begin(table="two classes of more and more rows: exact SVC, and LargeSVC with 500 components")
    mm.LargeSVC(n_components=50).fit(*synthetic(2000, 22))  # compile
    for name, rows, most, p, penalty in SHAPES:
        X, y = rows(most, p)
        settings = {"C": penalty, "gamma": 1.0 / (p * X.var())}
        mm.SVC(**settings).fit(X[:3000], y[:3000])
        seconds: dict[str, float] = {}
        for n in (most // 4, most // 2, most):
            seconds = one_size(f"{name} {n} x {p}", X[:n], y[:n], settings, seconds)


def one_size(
    case: str, X: Any, y: Any, settings: dict[str, float], half: dict[str, float]
) -> dict[str, float]:
    """Seconds by package; ``half`` are those of half of the rows."""
    seconds, notes, exact = {}, [], mm.SVC(**settings)
    for package in ("maxmargin", *intelex()[-1:]):
        machine = exact if package == "maxmargin" else svc(package, **settings)
        seconds[package], peak = peak_while(
            partial(machine.fit, rows_for(package, X), np.ascontiguousarray(y))
        )
        growing = f", exponent {np.log2(seconds[package] / half[package]):.2f}" if half else ""
        notes.append(f"{package} {peak / 2**20:.0f} MB{growing}")
    mine, *_ = seconds.values()
    peers = {package: t for package, t in seconds.items() if package != "maxmargin"}
    record(f"{case}, SVC", mine, peers, "; ".join(notes))
    mapped = mm.LargeSVC(**settings, loss="hinge", n_components=500, random_state=0)
    t, _ = timed(lambda: mapped.fit(X, y))
    above = mapped.certificate_.primal / mm.certify(exact, X, y).primal - 1.0
    record(f"{case}, LargeSVC", t, {"exact SVC": mine}, f"objective {above:.2%} above that of the exact SVC")
    return seconds


def start() -> None:
    begin(table="exact SVC on 50 000 rows, with and without the low-rank start: seconds")
    for p in (22, 50):
        X, y = synthetic(50_000, p)
        for penalty in (1.0, 10.0):
            settings = {"gamma": 1.0 / p, "random_state": 0, "loss": "hinge"}
            mm.SVC(C=penalty, gamma=1.0 / p).fit(X[:3000], y[:3000])
            plain, _ = timed(lambda c=penalty, g=1.0 / p: mm.SVC(C=c, gamma=g).fit(X, y))  # noqa: B023 - at once
            model = mm.LargeSVC(C=penalty, n_components=200, tol=1e-2, **settings)
            low, _ = timed(lambda m=model: m.fit(X, y))  # noqa: B023 - called at once
            model.set_params(polish=True)
            both, _ = timed(lambda m=model: m.fit(X, y))  # noqa: B023 - called at once
            note = f"of it the start {low:.2f} s"
            record(f"generated 50000 x {p}, C = {penalty:g}", both, {"without the start": plain}, note)


def ridge() -> None:
    begin(table="exact kernel ridge on 20 000 rows by preconditioned conjugate gradients")
    X, y = curved(20_000, 10)
    for m in (50, 200, 800):
        model = mm.LargeKernelRidge(1.0, gamma=0.05, n_components=m, polish=True, random_state=0)
        seconds, model = timed(lambda model=model: model.fit(X.astype(np.float64), y.astype(float)))
        record(f"{m} components", seconds, {}, f"{model.n_iter_} products")


def main() -> None:
    """Run the parts named on the command line, or all."""
    parts = set(sys.argv[1:] or ["large", "peer", "methods", "images", "growth", "start", "ridge"])
    if parts & {"large", "peer"}:
        large(parts)
    if "methods" in parts:
        methods()
    if "images" in parts:
        digits()
    if "growth" in parts:
        growth()
    if "start" in parts:
        start()
    if "ridge" in parts:
        ridge()


if __name__ == "__main__":
    main()
