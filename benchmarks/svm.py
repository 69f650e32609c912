"""Kernel machines beside scikit-learn, scikit-learn-intelex and libsvm-official.

    python -m benchmarks.svm [fit] [predict] [answer] [small] [memory] [WORD OF A CASE ...]

All peers run in the same process on the same data with the same C, gamma and tol = 1e-3, after a warm-up fit;
every fit also runs as the only one of new processes. The certificate check of a fit is inside its time.
"""

from __future__ import annotations

import os
import sys
import threading
import time
import warnings
from collections.abc import Callable
from functools import partial
from importlib.util import find_spec
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn import svm as sk

import maxmargin as mm
from benchmarks._common import best_of, images, load, runs_of, standardised, synthetic, title
from benchmarks._fresh import PACKAGES, fresh_seconds, model, rows_for
from benchmarks._results import Times, begin, record, times
from maxmargin.problems.formulations import Classification

Case = tuple[Any, Any, float, float]
REPEATS = 3
SHORT_REPEATS = 15  # what takes milliseconds varies by a half


def signs(positive: Any) -> Any:
    return np.where(positive, 1, -1)


def real(name: str, C: float, gamma: float) -> Case:
    """Rows, labels, C and gamma on one of the data sets."""
    X, y = load(name)
    if name in ("spambase", "letter"):
        X = standardised(X)
    positive = {"spambase": "spam", "letter": "M"}
    if name == "spambase":
        y = signs(y == positive[name])
    elif name == "letter":
        y = signs(y <= positive[name])
    else:
        y = signs(y < 5 if name == "usps_train" else y > 0)
    return X, y, C, gamma


def generated(n: int, p: int, C: float, gamma: float) -> Case:
    return *synthetic(n, p), C, gamma


def half_of_the_digits(n: int, C: float) -> Case:
    X, label = images(n)
    return X, signs(label < 5), C, 1.0 / (784 * X.var())


CASES: dict[str, Callable[[], Case]] = {
    title("spambase", "spambase 4601 x 57, C = 1"): partial(real, "spambase", 1.0, 0.01),
    title("spambase", "spambase 4601 x 57, C = 100"): partial(real, "spambase", 100.0, 0.01),
    title("letter", "letter 20000 x 16, C = 1"): partial(real, "letter", 1.0, 0.0625),
    title("letter", "letter 20000 x 16, C = 10"): partial(real, "letter", 10.0, 0.25),
    title("usps_train", "usps 7291 x 256, C = 1"): partial(real, "usps_train", 1.0, 0.004),
    title("usps_train", "usps 7291 x 256, C = 10"): partial(real, "usps_train", 10.0, 0.01),
    title("a9a", "a9a 32561 x 123, C = 1"): partial(real, "a9a", 1.0, 1 / 123),
    title("ijcnn1", "ijcnn1 49990 x 22, C = 1"): partial(real, "ijcnn1", 1.0, 1 / 22),
    "generated 6435 x 36, C = 100": partial(generated, 6435, 36, 100.0, 0.03),
    "generated 6000 x 8, C = 1000": partial(generated, 6000, 8, 1000.0, 0.1),
    "generated 5000 x 1000, C = 10": partial(generated, 5000, 1000, 10.0, 0.001),
    "generated 10000 x 50, C = 1": partial(generated, 10_000, 50, 1.0, 0.02),
    "generated 49990 x 22, C = 1": partial(generated, 49_990, 22, 1.0, 1 / 22),
    "generated images 15000 x 784, C = 10": partial(half_of_the_digits, 15_000, 10.0),
}

_PREDICTED = (*list(CASES)[:6], "generated 6435 x 36, C = 100")


def intelex() -> tuple[str, ...]:
    """Both precisions of scikit-learn-intelex, or nothing where it is not installed."""
    if find_spec("sklearnex") is None:
        print("scikit-learn-intelex is not installed: skipped")
        return ()
    return PACKAGES[2:]


def libsvm_time(X: Any, y: Any, C: float, gamma: float) -> float:
    try:
        from libsvm.svmutil import svm_parameter, svm_problem, svm_train
    except ImportError:
        return float("nan")
    problem = svm_problem(y.astype(float), sp.csr_matrix(X))
    parameter = svm_parameter(f"-q -s 0 -t 2 -c {C} -g {gamma} -m 500")
    return best_of(lambda: svm_train(problem, parameter), 1)[0]


def fit_table() -> None:
    begin(table="SVC, fit")
    for name, make in CASES.items():
        X, y, C, gamma = make()
        figures: dict[str, Times] = {}
        answers: dict[str, Any] = {}
        for package in ("maxmargin", "scikit-learn", *intelex()):
            machine, data = model(package, C, gamma), rows_for(package, X)
            if package != "scikit-learn":
                machine.fit(data, y)  # compiled code and pages of memory: "fresh" has them
            runs, answers[package] = runs_of(partial(machine.fit, data, y), REPEATS, at_most=20)
            slow = package == "scikit-learn" and min(runs) > 10  # its fresh fits differ by nothing
            figures[package] = times(runs, min(runs) if slow else fresh_seconds(package, name))
        ours = figures.pop("maxmargin")
        if peers := [figures.pop(package) for package in PACKAGES[2:] if package in figures]:
            figures["faster intelex"] = {kind: min(t[kind] for t in peers) for kind in peers[0]}
        certificate = mm.certify(answers["maxmargin"], X, y)
        worse = relative_loss(answers["maxmargin"], answers["scikit-learn"], X, y, C, gamma, certificate.dual)
        note = f"KKT violation {certificate.kkt:.1e}, dual value above scikit-learn's by {-worse:.1e}"
        if ours["best"] * 20 < 10 and (t_lib := libsvm_time(X, y, C, gamma)) == t_lib:
            figures["libsvm-official"] = {"best": t_lib}
        record(name, ours, figures, note)


def relative_loss(ours: Any, theirs: Any, X: Any, y: Any, C: float, gamma: float, dual: float) -> float:
    """(scikit-learn's dual value - ours) / |ours|, both recomputed in float64."""
    alpha = np.zeros(len(y))
    alpha[theirs.support_] = np.abs(sp.csr_matrix(theirs.dual_coef_).toarray()[0])
    points = ours.kernel_.prepare(X)
    problem = Classification(C=C).build(ours.kernel_, points, np.where(y > 0, 1.0, -1.0), np.ones(len(y)))
    return (problem.certify(alpha, full=True, n_threads=2).dual - dual) / abs(dual)


def hard_table() -> None:
    begin(table="hard cases and other kernel machines, fit")
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
    for name, ours, theirs, X, y in jobs:
        ours.fit(X, y)
        runs, _ = runs_of(partial(ours.fit, X, y), REPEATS, at_most=15)
        t_sk, _ = best_of(partial(theirs.fit, X, y), 1)
        proof = mm.certify(ours, X, y)
        note = f"KKT violation {proof.kkt:.1e}, relative gap {proof.relative_gap:.1e}"
        record(name, times(runs), {"scikit-learn": t_sk}, note)


def predict_table() -> None:
    begin(table="SVC, decision function of all rows")
    for name in [name for name in CASES if name in _PREDICTED]:
        X, y, C, gamma = CASES[name]()
        for dtype in ("float64", "float32"):
            data = (X.toarray() if sp.issparse(X) else X).astype(dtype)
            peers = ("scikit-learn", f"intelex {dtype}") if intelex() else ("scikit-learn",)
            figures: dict[str, Times] = {}
            n_support = 0
            for package in ("maxmargin", *peers):
                machine = model(package, C, gamma).fit(data, y)
                machine.decision_function(data)
                runs, _ = runs_of(partial(machine.decision_function, data), SHORT_REPEATS, at_most=2.0)
                figures[package] = times(runs)
                n_support = len(machine.support_)
            ours = figures.pop("maxmargin")
            named = {package.split()[0]: t for package, t in figures.items()}
            record(f"{name}, {dtype}", ours, named, f"{n_support} support vectors")


def small_table() -> None:
    begin(table="SVC, small fits")
    for n in (50, 100, 200, 500, 900):
        X, y = synthetic(n, 10)
        mm.SVC().fit(X, y)
        runs, _ = runs_of(lambda X=X, y=y: mm.SVC().fit(X, y), SHORT_REPEATS)
        peer, _ = runs_of(lambda X=X, y=y: sk.SVC().fit(X, y), SHORT_REPEATS)
        record(f"{n} rows, 10 columns", times(runs), {"scikit-learn": times(peer)})


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
    begin(table="SVC, memory with cache_size=500")
    mm.SVC().fit(*synthetic(3000, 20))
    last = None
    for n in (12_500, 25_000, 50_000, 100_000):
        X, y = synthetic(n, 20)
        t, peak = peak_while(lambda X=X, y=y: mm.SVC(gamma=0.05, cache_size=500).fit(X, y))
        growth = f", exponent of the time {np.log2(t / last):.2f}" if last else ""
        record(f"generated {n} x 20", t, {}, f"{peak / 2**20:.0f} MB above the data{growth}")
        last = t


TABLES = {
    "fit": fit_table,
    "answer": hard_table,
    "predict": predict_table,
    "small": small_table,
    "memory": memory_table,
}


def main() -> None:
    """Run the tables named on the command line, or all; other words select cases by their names."""
    warnings.simplefilter("ignore")
    words = [word for word in sys.argv[1:] if word not in TABLES]
    for name in [name for name in CASES if words and not any(word in name for word in words)]:
        del CASES[name]
    for name in [name for name in sys.argv[1:] if name in TABLES] or TABLES:
        TABLES[name]()


if __name__ == "__main__":
    main()
