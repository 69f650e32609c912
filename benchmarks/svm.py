"""Kernel machines beside scikit-learn, scikit-learn-intelex and libsvm-official.

    python -m benchmarks.svm [fit] [predict] [answer] [small] [memory] [start]

All peers run in the same process on the same data with the same C, gamma and tol = 1e-3; best of 3 after a
warm-up fit. The certificate check that a fit makes is inside its time.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import threading
import time
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn import svm as sk

import maxmargin as mm
from benchmarks._common import best_of, geometric_mean, heading, load, standardised, synthetic
from maxmargin.problems.formulations import Classification

Case = tuple[str, Any, Any, float, float]
REPEATS = 3
SHORT_REPEATS = 15  # what takes milliseconds varies by a half


def signs(positive: Any) -> Any:
    return np.where(positive, 1, -1)


def cases() -> list[Case]:
    """Name, rows, labels, C, gamma."""
    X, y = load("spambase")
    spam, spam_y = standardised(X), signs(y == "spam")
    X, y = load("letter")
    half = y <= "M"
    letter, letter_y = standardised(X), signs(half)
    a9a, y = load("a9a")
    a9a_y = signs(y > 0)
    usps, y = load("usps_train")
    usps_y = signs(y < 5)
    ijcnn, ijcnn_y = synthetic(49_990, 22)
    small, small_y = synthetic(10_000, 50)
    return [
        ("spambase 4601x57", spam, spam_y, 1.0, 0.01),
        ("spambase 4601x57", spam, spam_y, 100.0, 0.01),
        ("letter 20000x16", letter, letter_y, 1.0, 0.0625),
        ("letter 20000x16", letter, letter_y, 10.0, 0.25),
        ("usps 7291x256", usps, usps_y, 1.0, 0.004),
        ("usps 7291x256", usps, usps_y, 10.0, 0.01),
        ("a9a 32561x123", a9a, a9a_y, 1.0, 1 / 123),
        ("synthetic 10000x50", small, small_y, 1.0, 0.02),
        ("synthetic 49990x22", ijcnn, ijcnn_y, 1.0, 1 / 22),
    ]


def sklearnex_svc() -> Any:
    try:
        from sklearnex.svm import SVC
    except ImportError:
        print("scikit-learn-intelex is not installed: skipped")
        return None
    return SVC


def libsvm_time(X: Any, y: Any, C: float, gamma: float) -> float:
    try:
        from libsvm.svmutil import svm_parameter, svm_problem, svm_train
    except ImportError:
        return float("nan")
    problem = svm_problem(y.astype(float), sp.csr_matrix(X))
    parameter = svm_parameter(f"-q -s 0 -t 2 -c {C} -g {gamma} -m 500")
    return best_of(lambda: svm_train(problem, parameter), 1)[0]


def dense(X: Any) -> Any:
    return X.toarray() if sp.issparse(X) else X


def fit_table() -> None:
    heading("fit: seconds, best of 3; ratios are peer / ours")
    header = (
        f"{'data':22}{'C':>7}{'gamma':>8}{'ours':>8}{'sklearn':>9}{'libsvm':>8}{'ex f64':>8}{'ex f32':>8}"
    )
    print(header + f"{'x sklearn':>11}{'x sklearnex':>12}{'kkt':>9}{'objective':>11}")
    peer = sklearnex_svc()
    over_sk, over_ex = [], []
    for name, X, y, C, gamma in cases():
        ours = mm.SVC(C=C, gamma=gamma)
        ours.fit(X, y)
        t, model = best_of(lambda m=ours: m.fit(X, y), REPEATS)  # noqa: B023 - called at once
        plain = sk.SVC(C=C, gamma=gamma, cache_size=500)
        t_sk, reference = best_of(lambda m=plain: m.fit(X, y), REPEATS, at_most=20)  # noqa: B023 - as above
        t_lib = libsvm_time(X, y, C, gamma) if t_sk < 10 else float("nan")  # the same algorithm
        t_ex = []
        for dtype in (np.float64, np.float32):
            if peer is None:
                t_ex.append(float("nan"))
                continue
            data = dense(X).astype(dtype)
            other = peer(C=C, gamma=gamma, cache_size=500)
            other.fit(data, y)
            t_ex.append(best_of(lambda m=other, d=data: m.fit(d, y), REPEATS, at_most=20)[0])  # noqa: B023 - as above
        certificate = mm.certify(model, X, y)
        worse = relative_loss(model, reference, X, y, C, gamma, certificate.dual)
        over_sk.append(t_sk / t)
        over_ex.append(min(t_ex) / t)
        print(
            f"{name:22}{C:7g}{gamma:8.3g}{t:8.3f}{t_sk:9.3f}{t_lib:8.2f}{t_ex[0]:8.3f}{t_ex[1]:8.3f}"
            f"{over_sk[-1]:11.1f}{over_ex[-1]:12.2f}{certificate.kkt:9.1e}{worse:11.1e}",
            flush=True,
        )
    print(
        f"geometric mean: {geometric_mean(over_sk):.1f} x scikit-learn (least {min(over_sk):.1f}), "
        f"{geometric_mean(over_ex):.2f} x the faster sklearnex (least {min(over_ex):.2f})"
    )
    print("objective: how far ours is below scikit-learn's dual value, relative (negative: above it)")


def relative_loss(ours: Any, theirs: Any, X: Any, y: Any, C: float, gamma: float, dual: float) -> float:
    """(scikit-learn's dual value - ours) / |ours|, both recomputed in float64."""
    alpha = np.zeros(len(y))
    alpha[theirs.support_] = np.abs(np.asarray(dense(theirs.dual_coef_))[0])
    points = ours.kernel_.prepare(X)
    problem = Classification(C=C).build(ours.kernel_, points, np.where(y > 0, 1.0, -1.0), np.ones(len(y)))
    return (problem.certify(alpha, full=True, n_threads=2).dual - dual) / abs(dual)


def hard_table() -> None:
    heading("hard cases and other machines: seconds, full certificate (tol 1e-3)")
    X, y = load("spambase")
    raw, labels, spam = X, signs(y == "spam"), standardised(X)
    X, y = load("letter")
    letter, letter_y = standardised(X), signs(y <= "M")
    houses, prices = load("california_housing")
    houses, prices = standardised(houses)[:5000], (prices[:5000] - prices.mean()) / prices.std()
    jobs: list[tuple[str, Any, Any, Any, Any]] = [
        ("SVC raw spambase C=1", mm.SVC(gamma=1 / 57), sk.SVC(gamma=1 / 57), raw, labels),
        ("SVC spambase C=1e4", mm.SVC(C=1e4, gamma=0.01), sk.SVC(C=1e4, gamma=0.01), spam, labels),
        ("SVC letter C=1e4", mm.SVC(C=1e4, gamma=0.0625), sk.SVC(C=1e4, gamma=0.0625), letter, letter_y),
        ("NuSVC spambase nu=0.2", mm.NuSVC(0.2, gamma=0.01), sk.NuSVC(nu=0.2, gamma=0.01), spam, labels),
        ("SVR houses", mm.SVR(gamma=0.1), sk.SVR(gamma=0.1), houses, prices),
        ("NuSVR houses", mm.NuSVR(gamma=0.1), sk.NuSVR(gamma=0.1), houses, prices),
        (
            "OneClassSVM letter",
            mm.OneClassSVM(0.1, gamma=0.05),
            sk.OneClassSVM(nu=0.1, gamma=0.05),
            letter,
            None,
        ),
    ]
    for _, _, theirs, _, _ in jobs:
        theirs.set_params(cache_size=500)
    print(f"{'case':24}{'ours':>8}{'sklearn':>9}{'ratio':>8}{'kkt':>9}{'gap':>9}")
    for name, ours, theirs, X, y in jobs:
        ours.fit(X, y)
        t, _ = best_of(lambda m=ours, X=X, y=y: m.fit(X, y), REPEATS, at_most=15)
        t_sk, _ = best_of(lambda m=theirs, X=X, y=y: m.fit(X, y), 1)
        proof = mm.certify(ours, X, y)
        print(
            f"{name:24}{t:8.2f}{t_sk:9.2f}{t_sk / t:8.1f}{proof.kkt:9.1e}{proof.relative_gap:9.1e}",
            flush=True,
        )


def predict_table() -> None:
    heading("predict: seconds for decision_function of all rows, best of 15; ratios are peer / ours")
    peer = sklearnex_svc()
    header = f"{'data':22}{'dtype':>9}{'n_SV':>7}{'ours':>8}{'sklearn':>9}{'sklearnex':>10}"
    print(header + f"{'x sklearn':>11}{'x sklearnex':>12}")
    for name, X, y, C, gamma in cases()[:6]:
        for dtype in (np.float64, np.float32):
            data = dense(X).astype(dtype)
            ours = mm.SVC(C=C, gamma=gamma).fit(data, y)
            theirs = sk.SVC(C=C, gamma=gamma, cache_size=500).fit(data, y)
            ours.decision_function(data[:10])
            t, _ = best_of(lambda m=ours, d=data: m.decision_function(d), SHORT_REPEATS, at_most=2.0)
            t_sk, _ = best_of(lambda m=theirs, d=data: m.decision_function(d), SHORT_REPEATS, at_most=2.0)
            t_ex = float("nan")
            if peer is not None:
                other = peer(C=C, gamma=gamma, cache_size=500).fit(data, y)
                t_ex, _ = best_of(lambda m=other, d=data: m.decision_function(d), SHORT_REPEATS, at_most=2.0)
            print(
                f"{name:22}{np.dtype(dtype).name:>9}{len(ours.support_):7d}{t:8.3f}{t_sk:9.3f}{t_ex:10.3f}"
                f"{t_sk / t:11.1f}{t_ex / t:12.2f}",
                flush=True,
            )


def small_table() -> None:
    heading("small n: milliseconds, best of 15")
    print(f"{'n':>6}{'ours':>8}{'sklearn':>9}{'difference':>12}")
    for n in (50, 100, 200, 500, 900):
        X, y = synthetic(n, 10)
        mm.SVC().fit(X, y)
        t, _ = best_of(lambda X=X, y=y: mm.SVC().fit(X, y), 15)
        t_sk, _ = best_of(lambda X=X, y=y: sk.SVC().fit(X, y), 15)
        print(f"{n:6d}{1e3 * t:8.2f}{1e3 * t_sk:9.2f}{1e3 * (t - t_sk):12.2f}", flush=True)


def resident() -> int:
    with open("/proc/self/statm") as line:
        return int(line.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def peak_while(task: Callable[[], Any]) -> tuple[float, int]:
    """Seconds, and the largest resident memory above the start while the task ran."""
    start, peak, running = resident(), [0], [True]

    def watch() -> None:
        while running[0]:
            peak[0] = max(peak[0], resident() - start)
            time.sleep(0.005)

    watcher = threading.Thread(target=watch)
    watcher.start()
    began = time.perf_counter()
    task()
    seconds = time.perf_counter() - began
    running[0] = False
    watcher.join()
    return seconds, peak[0]


def memory_table() -> None:
    heading("memory: cache_size=500, p = 20; seconds, MB above the data, growth of time with n")
    mm.SVC().fit(*synthetic(3000, 20))
    last = None
    for n in (12_500, 25_000, 50_000, 100_000):
        X, y = synthetic(n, 20)
        t, peak = peak_while(lambda X=X, y=y: mm.SVC(gamma=0.05, cache_size=500).fit(X, y))
        growth = f"   exponent {np.log2(t / last):.2f}" if last else ""
        print(f"n = {n:7d}: {t:7.2f} s, {peak / 2**20:6.0f} MB{growth}", flush=True)
        last = t


_FIRST_FIT = """
import time, numpy as np, maxmargin as mm
from maxmargin import SVC
rng = np.random.default_rng(0)
X = rng.normal(size=(3000, 20)); y = (X[:, 0] * X[:, 1] > 0).astype(int)
began = time.perf_counter(); SVC().fit(X, y); first = time.perf_counter() - began
began = time.perf_counter(); SVC().fit(X, y); print(first - (time.perf_counter() - began))
"""


def start_table() -> None:
    heading("first fit in a new process: seconds more than a warm fit")
    with tempfile.TemporaryDirectory() as cache:
        environment = {**os.environ, "NUMBA_CACHE_DIR": cache}
        for label in ("no compiled code on disk", "compiled code on disk", "compiled code on disk"):
            done = subprocess.run(
                [sys.executable, "-c", _FIRST_FIT],
                env=environment,
                capture_output=True,
                text=True,
                check=True,
            )
            print(f"{label:26}{float(done.stdout):8.2f}")


TABLES = {
    "fit": fit_table,
    "answer": hard_table,
    "predict": predict_table,
    "small": small_table,
    "memory": memory_table,
    "start": start_table,
}


def main(chosen: list[str] | None = None) -> None:
    warnings.simplefilter("ignore")
    for name in chosen or TABLES:
        TABLES[name]()


if __name__ == "__main__":
    main(sys.argv[1:])
