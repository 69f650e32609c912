"""Ctrl-C at random moments of long calls.

    python -m tests.interrupts --times 12                    # every workload and the command line
    python -m tests.interrupts --times 3 --only "tune" "SFS"

A workload runs in a process of its own; this one sends it SIGINT. After each interrupt the call must have
raised KeyboardInterrupt and left its object as it was, or returned the part that is finished. At the end the
workload runs once more without an interrupt, and must give what it gave at first. The process must then end
by itself with nothing on standard error.

The time is that from the signal to the end of the call. On a busy machine it says little, so the processor
time of the process in between is printed beside it: a call that is late works (or waits for a worker).
"""

from __future__ import annotations

import tests.conftest  # noqa: F401  # chooses Numba's cache folder, before anything imports Numba

# isort: split
import argparse
import os
import queue
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
import warnings
from collections.abc import Callable
from contextlib import chdir
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

SECONDS = 1.0
_TICK = os.sysconf("SC_CLK_TCK") if hasattr(os, "sysconf") else 100


# -- workloads: each returns the call, and a check of what an interrupted call returned ----------------------


@dataclass(frozen=True)
class Workload:
    """A long call, how to compare a whole result with a whole one, and a finished part with a whole one.

    ``part`` is None where an interrupted call must raise KeyboardInterrupt.
    """

    call: Callable[[], Any]
    whole: Callable[[Any, Any], bool]
    part: Callable[[Any, Any], bool] | None = None
    kept: Callable[[], Any] = lambda: None  # state that an interrupted call must not change


def _classes(n: int, p: int, **options: Any) -> tuple[Any, Any]:
    from sklearn.datasets import make_classification

    return make_classification(n, p, n_informative=p // 2, flip_y=0.2, random_state=0, **options)


def _tuning(model: Any, grid: Any, X: Any, y: Any, **options: Any) -> Workload:
    import numpy as np

    import maxmargin as mm

    def part(found: Any, full: Any) -> bool:
        """Finished cells have the errors of the whole run, in its order."""
        where = [full.params.index(cell) for cell in found.params]
        same = np.allclose(found.folds, full.folds[where], equal_nan=True)
        return bool(found.interrupted and len(where) and same and len(found.table) == len(where))

    return Workload(
        lambda: mm.tune(model, X, y, grid, **options),
        lambda again, first: not again.interrupted and np.allclose(again.folds, first.folds, equal_nan=True),
        part,
    )


def tune() -> Workload:
    import maxmargin as mm

    X, y = _classes(2500, 20)
    return _tuning(
        mm.SVC(),
        {"gamma": [0.003, 0.01, 0.02, 0.03, 0.05, 0.1, 0.2, 0.3], "C": [1.0, 10.0, 100.0]},
        X,
        y,
        cv=5,
    )


def tune_with_a_scaler() -> Workload:
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    import maxmargin as mm

    X, y = _classes(2500, 20)
    grid = {"svc__gamma": [0.003, 0.01, 0.02, 0.03, 0.05, 0.1, 0.2, 0.3], "svc__C": [1.0, 10.0]}
    return _tuning(make_pipeline(StandardScaler(), mm.SVC()), grid, X, y, cv=5)


def tune_three_classes() -> Workload:
    import maxmargin as mm

    X, y = _classes(1200, 20, n_classes=3)
    return _tuning(mm.SVC(), {"gamma": [0.003, 0.03], "C": [1.0, 10.0, 100.0]}, X, y, cv=10)


def tune_in_processes() -> Workload:
    from sklearn.ensemble import RandomForestClassifier

    X, y = _classes(400, 20)
    forest = RandomForestClassifier(30, random_state=0, n_jobs=1)
    return _tuning(forest, {"max_depth": [2, 4, 6, 8, 10, 12]}, X, y, cv=5, n_jobs=2)


def _estimator(model: Any, X: Any, y: Any, answer: Callable[[Any], Any]) -> Workload:
    """A fit that keeps the model it had where it is interrupted."""
    import numpy as np

    expected = answer(model.fit(X, y))

    def state() -> Any:
        return {name: id(value) for name, value in vars(model).items()}

    return Workload(
        lambda: model.fit(X, y),
        lambda again, first: bool(np.allclose(answer(again), expected, rtol=1e-6, atol=1e-8)),
        kept=state,
    )


def _selector(selector: Any, X: Any, y: Any) -> Workload:
    """A search that returns the best subset so far."""
    import numpy as np

    def part(found: Any, full: Any) -> bool:
        n = len(found.history_)
        return bool(found.interrupted_ and n and (found.history_.value == full.history_.value[:n]).all())

    def call() -> Any:
        from sklearn.base import clone

        return clone(selector).fit(X, y)

    return Workload(call, lambda again, first: np.array_equal(again.support_, first.support_), part)


def sfs() -> Workload:
    import maxmargin as mm
    from maxmargin.feature_selection import SFS

    return _selector(SFS(mm.SVC(), 8, cv=5), *_classes(1000, 40))


def sfs_in_processes() -> Workload:
    from sklearn.ensemble import RandomForestClassifier

    from maxmargin.feature_selection import CrossValidatedError, Forward, SubsetSelector

    forest = RandomForestClassifier(20, random_state=0)
    criterion = CrossValidatedError(forest, cv=3, n_jobs=2)
    return _selector(SubsetSelector(Forward(3), criterion), *_classes(200, 10))


def rfe() -> Workload:
    import maxmargin as mm
    from maxmargin.feature_selection import RFE

    return _estimator(RFE(mm.SVC(), 2), *_classes(1500, 40), lambda s: s.support_)


def rfe_on_wild_scales() -> Workload:
    import numpy as np

    import maxmargin as mm
    from maxmargin.feature_selection import RFE

    rng = np.random.default_rng(0)
    X = rng.normal(size=(30, 5)) * 10.0 ** np.array([-9, -3, 0, 5, 10.5])
    return _estimator(
        RFE(mm.SVC(C=1390, kernel="linear"), 1), X, rng.permutation(30) % 2, lambda s: s.support_
    )


def compare() -> Workload:
    import maxmargin as mm
    from maxmargin import feature_selection as fs

    X, y = _classes(250, 12)

    def part(found: Any, full: Any) -> bool:
        names = list(found.methods.index)
        return bool(
            found.interrupted
            and 0 < len(names) < len(full.methods)
            and found.ranks.equals(full.ranks[names])
            and found.chosen.equals(full.chosen[names])
        )

    return Workload(
        lambda: fs.compare(X, y, n_features=4, cv=3, n_resamples=2, estimator=mm.SVC()),
        lambda again, first: not again.interrupted and again.ranks.equals(first.ranks),
        part,
    )


def report() -> Workload:
    import maxmargin as mm

    X, y = _classes(400, 10)
    model = mm.SVC().fit(X[::2], y[::2])
    path = Path(tempfile.mkdtemp()) / "page.html"

    def call() -> int:
        return mm.report(model, X[1::2], y[1::2], path, training=(X[::2], y[::2])).stat().st_size

    def kept() -> Any:
        """Whether the page is whole (an interrupt at the very end finds the new one), and all files."""
        whole = not path.exists() or path.read_text().rstrip().endswith("</html>")
        return whole, [p.name for p in path.parent.iterdir()]

    return Workload(call, lambda again, first: abs(again - first) < 0.01 * first, kept=kept)


def large() -> Workload:
    import maxmargin as mm

    X, y = _classes(20_000, 30)
    return _estimator(
        mm.LargeSVC(n_components=200, random_state=0), X, y, lambda m: m.decision_function(X[:50])
    )


def kernel_ridge_path() -> Workload:
    import numpy as np

    import maxmargin as mm

    X, y = _classes(2000, 20)
    return _estimator(mm.KernelRidge(alphas=np.logspace(-4, 2, 50)), X, y, lambda m: m.predict(X[:50]))


def svc() -> Workload:
    import maxmargin as mm

    X, y = _classes(9000, 40)
    return _estimator(mm.SVC(C=10.0), X, y, lambda m: m.decision_function(X[:50]).round(2))


def svr_with_a_linear_kernel() -> Workload:
    import maxmargin as mm

    X, y = _classes(1500, 40)
    return _estimator(
        mm.SVR(kernel="linear", C=1000.0), X, y.astype(float), lambda m: m.predict(X[:50]).round(1)
    )


def svc_on_strings() -> Workload:
    import numpy as np

    import maxmargin as mm
    from maxmargin import kernels as k

    rng = np.random.default_rng(0)
    texts = ["".join(rng.choice(list("acgt "), size=120)) for _ in range(160)]
    model = mm.SVC(kernel=k.Subsequence(4))
    return _estimator(model, texts, np.arange(160) % 2, lambda m: m.decision_function(texts[:9]).round(3))


def linear_machines() -> Workload:
    import maxmargin as mm

    X, y = _classes(60_000, 60)

    def call() -> Any:
        machines = [mm.LinearSVC(), mm.LogisticRegression(C=1.0), mm.LinearSVC(penalty="l1", C=0.1)]
        return [m.fit(X, y).coef_.round(2).tolist() for m in machines]

    return Workload(call, lambda again, first: again == first)


def online_machines() -> Workload:
    import maxmargin as mm

    X, y = _classes(60_000, 60)

    def call() -> Any:
        machines: list[Any] = [
            mm.Pegasos(random_state=0, max_iter=40),
            mm.Perceptron(random_state=0, max_iter=40),
        ]
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return [m.fit(X, y).coef_.tolist() for m in machines]

    return Workload(call, lambda again, first: again == first)


def least_squares() -> Workload:
    import maxmargin as mm

    X, y = _classes(40_000, 300)

    def call() -> Any:
        return [m.fit(X, y).coef_.round(6).tolist() for m in (mm.LeastSquares(), mm.Ridge(alphas=[0.1, 1.0]))]

    return Workload(call, lambda again, first: again == first)


def cells() -> Workload:
    import maxmargin as mm

    X, y = _classes(8000, 20)
    return _estimator(
        mm.CellSVC(cell_size=1000, random_state=0), X, y, lambda m: m.decision_function(X[:50]).round(2)
    )


def scorecard() -> Workload:
    import maxmargin as mm

    X, y = _classes(20_000, 30)
    return _estimator(mm.Scorecard(), X, y, lambda m: m.decision_function(X[:50]))


def kernel_perceptron() -> Workload:
    import maxmargin as mm

    X, y = _classes(4000, 20)
    model = mm.KernelPerceptron(max_iter=20, random_state=0)
    return _estimator(model, X, y, lambda m: m.decision_function(X[:50]))


def leave_one_out() -> Workload:
    import maxmargin as mm

    X, y = _classes(300, 10)
    return _tuning(mm.SVC(), {"gamma": [0.01, 0.1, 1.0], "C": [1.0, 100.0]}, X, y, cv="loo")


def predictions() -> Workload:
    import maxmargin as mm

    X, y = _classes(6000, 60)
    model = mm.SVC().fit(X, y)
    return Workload(
        lambda: [model.decision_function(X).sum() for _ in range(8)], lambda again, first: again == first
    )


def hard_margin() -> Workload:
    import numpy as np

    import maxmargin as mm

    X, y = np.random.default_rng(0).normal(size=(1500, 900)), np.arange(1500) % 2
    return _estimator(mm.HardMarginSVC(), X, y, lambda m: m.decision_function(X[:50]).round(2))


def l0_penalty() -> Workload:
    import maxmargin as mm

    X, y = _classes(300, 40)
    model = mm.LinearSVC(penalty="l0", loss="hinge")
    return _estimator(model, X, y, lambda m: m.coef_.round(3))


def sparse_path() -> Workload:
    from maxmargin.feature_selection import SparseSVMSelector

    return _estimator(SparseSVMSelector("l0", 4), *_classes(300, 30), lambda s: s.support_)


def _subsets(search: Any, n: int, p: int) -> Workload:
    """A search over subsets that raises, or returns the best so far."""
    import numpy as np
    from sklearn.base import clone

    import maxmargin as mm
    from maxmargin.feature_selection import CrossValidatedError, SubsetSelector

    X, y = _classes(n, p)
    selector = SubsetSelector(search, CrossValidatedError(mm.SVC(), cv=3), random_state=0)
    return Workload(
        lambda: clone(selector).fit(X, y),
        lambda again, first: np.array_equal(again.support_, first.support_) and not again.interrupted_,
        lambda found, full: bool(found.interrupted_ and found.support_.any()),
    )


def genetic() -> Workload:
    from maxmargin.feature_selection import Genetic

    return _subsets(Genetic(30, 20), 200, 14)


def annealing() -> Workload:
    from maxmargin.feature_selection import SimulatedAnnealing

    return _subsets(SimulatedAnnealing(), 150, 12)


def relief() -> Workload:
    from maxmargin.feature_selection import ReliefF

    return _estimator(ReliefF(n_features=3), *_classes(20_000, 20), lambda s: s.scores_)


def nested() -> Workload:
    import maxmargin as mm

    X, y = _classes(400, 20)
    grid = {"gamma": [0.01, 0.1], "C": [1.0, 10.0]}
    return Workload(
        lambda: mm.nested_error(mm.SVC(), X, y, grid, random_state=0).tolist(),
        lambda again, first: again == first,
    )


def explained() -> Workload:
    import maxmargin as mm

    X, y = _classes(3000, 30)
    model = mm.SVC().fit(X, y)

    def call() -> list[str]:
        traced = mm.SVC(C=100.0, trace=True).fit(X[:300], y[:300])
        steps = sum(1 for _ in mm.steps(traced, X[:300], y[:300]))
        return [str(steps), *(str(mm.explain(model, X[k : k + 1])) for k in range(40))]

    return Workload(call, lambda again, first: again == first)


def csv_in_pieces() -> Workload:
    """Reading a large table: with pandas for the command line, and piece by piece for a fit."""
    import pandas as pd

    import maxmargin as mm
    from maxmargin.tables.reading import Reading, read_table

    X, y = _classes(60_000, 20)
    path = Path(tempfile.mkdtemp()) / "large.csv"
    pd.DataFrame(X.round(4)).add_prefix("x").assign(outcome=y).to_csv(path, index=False)

    def call() -> Any:
        fitted = mm.LinearSVC().fit(mm.pieces.from_csv(path, target="outcome"))
        return len(read_table(path, Reading(), lambda text: None)), fitted.coef_.tolist()

    return Workload(call, lambda again, first: again == first)


WORKLOADS: dict[str, Callable[[], Workload]] = {
    "hard margin": hard_margin,
    "l0 penalty": l0_penalty,
    "sparse path": sparse_path,
    "genetic": genetic,
    "annealing": annealing,
    "ReliefF": relief,
    "nested error": nested,
    "explanations": explained,
    "large table": csv_in_pieces,
    "tune": tune,
    "tune with a scaler": tune_with_a_scaler,
    "tune three classes": tune_three_classes,
    "tune in processes": tune_in_processes,
    "SFS": sfs,
    "SFS in processes": sfs_in_processes,
    "RFE": rfe,
    "RFE on wild scales": rfe_on_wild_scales,
    "compare": compare,
    "report": report,
    "LargeSVC": large,
    "KernelRidge path": kernel_ridge_path,
    "SVC": svc,
    "SVR linear": svr_with_a_linear_kernel,
    "strings": svc_on_strings,
    "linear": linear_machines,
    "online": online_machines,
    "least squares": least_squares,
    "cells": cells,
    "scorecard": scorecard,
    "kernel perceptron": kernel_perceptron,
    "leave one out": leave_one_out,
    "predictions": predictions,
}
COMMAND = "command line"
_DATA = ("data.csv", "--target", "outcome")
COMMANDS: dict[str, tuple[str, ...]] = {
    COMMAND: ("fit", *_DATA, "--force"),
    "maxmargin tune": ("tune", *_DATA, "-o", "cells.csv", "--picture", "cells.svg", "--force"),
    "maxmargin select": ("select", *_DATA, "--method", "sfs", "-o", "ranks.csv", "--force"),
    "maxmargin compare": ("compare", *_DATA, "-o", "models.csv", "--force"),
    "maxmargin scorecard": ("scorecard", *_DATA, "--report", "card.html", "--points", "card.csv", "--force"),
    "maxmargin warmup": ("warmup",),  # with an empty cache each time, as on a new machine
    "a first fit": ("fit", *_DATA, "--force"),
}
COLD = ("maxmargin warmup", "a first fit")


# -- in the process of a workload ----------------------------------------------------------------------------


def serve(name: str) -> None:
    """Run the call whenever a line comes in, and say how it ended."""
    warnings.simplefilter("ignore")  # of small data, and of interrupted searches
    work = WORKLOADS[name]()
    work.call()  # compiles
    began = time.monotonic()
    first = work.call()
    length = time.monotonic() - began

    def tell(line: str) -> None:
        sys.stdout.write(line)  # in one call: Ctrl-C must not come between a line and its end
        sys.stdout.flush()

    def trial() -> str:
        before = work.kept()
        print("start", flush=True)
        try:
            found = work.call()
        except KeyboardInterrupt:
            tell(f"end {time.monotonic()}\n")
            return "raised" if (after := work.kept()) == before else f"changed: {before} became {after}"
        tell(f"end {time.monotonic()}\n")
        if work.whole(found, first):
            return "whole"
        return "part" if work.part is not None and work.part(found, first) else "wrong part"

    print("ready", length, flush=True)
    while True:
        begun = False
        try:
            if not sys.stdin.readline():
                break
            begun = True
            said = trial()
        except KeyboardInterrupt:  # it came before or after the call
            said = "whole"
        if begun:
            print("result", said, flush=True)
    print("result", "whole" if work.whole(work.call(), first) else "another answer afterwards", flush=True)


# -- in the process that interrupts --------------------------------------------------------------------------


@dataclass
class Delays:
    """What became of the interrupts of one workload."""

    name: str
    length: float = 0.0
    seconds: list[float] = field(default_factory=list)
    cpu: list[float] = field(default_factory=list)
    results: list[str] = field(default_factory=list)
    failures: list[str] = field(default_factory=list)

    def line(self) -> str:
        parts = self.results.count("part")
        text = f"{self.name:20} {self.length:6.1f} s  {len(self.results):3} interrupts, {parts:2} parts"
        if self.seconds:
            text += f"  latest {max(self.seconds):5.2f} s ({max(self.cpu):4.2f} s of processor time)"
        return text + "".join(f"\n    {failure}" for failure in self.failures)


def _cpu(pid: int) -> float:
    """Processor time of a process so far, its threads included; zero where the system does not say."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return 0.0
    return (int(fields[11]) + int(fields[12])) / _TICK


class Served:
    """The process of a workload."""

    def __init__(self, name: str) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-m", "tests.interrupts", "--serve", name],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )
        self._lines: queue.Queue[str] = queue.Queue()
        self._errors: list[str] = []
        threading.Thread(target=self._read, daemon=True).start()
        threading.Thread(target=self._listen, daemon=True).start()

    def _read(self) -> None:
        assert self.process.stdout is not None
        for line in self.process.stdout:
            self._lines.put(line.strip())
        self._lines.put("")
        self._lines.put("")  # for `finish`

    def _listen(self) -> None:
        assert self.process.stderr is not None
        self._errors.extend(self.process.stderr)

    def next(self, timeout: float = 300.0) -> str:
        """The next line; nothing where the process ended."""
        return self._lines.get(timeout=timeout)

    def begin(self) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write("\n")
        self.process.stdin.flush()

    def finish(self) -> list[str]:
        """What went wrong at the end."""
        assert self.process.stdin is not None
        self.process.stdin.close()
        last = self.next()
        code = self.process.wait(timeout=60)
        time.sleep(0.1)
        wrong = [] if last == "result whole" else [last or "it ended without a last result"]
        wrong += [f"exit code {code}"] if code else []
        return wrong + (["".join(self._errors)[-1500:]] if self._errors else [])


def interrupt(name: str, times: int, seed: int, *, most_seconds: float = SECONDS) -> Delays:
    """Interrupt one workload so many times."""
    rng, found, served = random.Random(seed), Delays(name), Served(name)
    ready, _, length = served.next().partition(" ")
    if ready != "ready":
        found.failures = [f"did not start: {''.join(served._errors)[-1500:]}"]
        return found
    found.length = float(length)
    while len(found.results) < times:
        served.begin()
        if served.next() != "start":
            break
        began, wait = time.monotonic(), rng.uniform(0.0, found.length)
        try:
            line = served.next(timeout=wait)
        except queue.Empty:
            cpu, sent = _cpu(served.process.pid), time.monotonic()
            os.killpg(served.process.pid, signal.SIGINT)  # as a terminal does: to its workers too
            line = served.next()
            spent = _cpu(served.process.pid) - cpu
        else:
            sent, spent = 0.0, 0.0
        if not line:
            break
        if not line.startswith("end"):  # the signal came before the call
            continue
        ended = float(line.split()[1])
        result = served.next().removeprefix("result ")
        if result == "whole":  # it was ready before the signal
            found.length = 0.9 * min(found.length, ended - began)
            continue
        found.results.append(result)
        found.seconds.append(ended - sent)
        found.cpu.append(spent)
        if result not in ("raised", "part"):
            found.failures.append(result)
        if min(ended - sent, max(spent, 0.01)) > most_seconds:
            found.failures.append(
                f"{ended - sent:.2f} s ({spent:.2f} s of processor time) after {wait:.2f} s"
            )
    if len(found.results) < times:
        found.failures.append("the process no longer answered")
    found.failures += served.finish()
    return found


# -- the command line: a new process for every interrupt -----------------------------------------------------


def _csv(folder: Path) -> Path:
    import pandas as pd

    X, y = _classes(400, 8)
    path = folder / "data.csv"
    pd.DataFrame(X).add_prefix("x").assign(outcome=y).to_csv(path, index=False)
    return path


def check_files(folder: Path) -> str:
    """What is wrong with the files that an interrupted command left; nothing if all are whole."""
    import maxmargin as mm

    for path in folder.iterdir():
        if path.suffix == ".mm":
            mm.load(path)
        elif path.suffix == ".html" and not path.read_text().rstrip().endswith("</html>"):
            return f"{path.name} is not whole"
        elif path.suffix not in (".csv", ".mm", ".html", ".svg", ".cache"):
            return f"{path.name} was left behind"
    return ""


@dataclass(frozen=True)
class Interrupted:
    """How a process ended that was sent Ctrl-C: seconds and processor time since then."""

    returncode: int
    stdout: str
    stderr: str
    seconds: float = 0.0
    spent: float = 0.0


def interrupt_once(command: list[str], wait: float, *, go: str = "") -> Interrupted:
    """Run a command and interrupt it after a while; the while begins when it prints the line ``go``."""
    process = subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True
    )
    assert process.stdout is not None
    if go and process.stdout.readline().strip() != go:
        return Interrupted(process.wait(), *process.communicate())
    try:
        out, err = process.communicate(timeout=wait)
        return Interrupted(process.returncode, out, err)
    except subprocess.TimeoutExpired:
        pass
    seconds, spent = end_by(signal.SIGINT, process)
    return Interrupted(process.returncode, *process.communicate(), seconds, spent)


def end_by(number: int, process: subprocess.Popen[str]) -> tuple[float, float]:
    """Seconds and processor time from a signal to the end of a process that leads its group."""
    cpu, sent, spent = _cpu(process.pid), time.monotonic(), 0.0
    os.killpg(process.pid, number)
    while process.poll() is None:  # the processor time is gone with the process
        spent = max(spent, _cpu(process.pid) - cpu)
        time.sleep(0.01)
    return time.monotonic() - sent, spent


def _command(name: str) -> list[str]:
    return [sys.executable, "-m", "maxmargin", *COMMANDS[name]]


def interrupt_command(name: str, times: int, seed: int, *, most_seconds: float = SECONDS) -> Delays:
    """Interrupt a command so many times, anywhere between its start and its end."""
    rng, found, command = random.Random(seed), Delays(name), _command(name)
    with tempfile.TemporaryDirectory() as place, chdir(place):
        folder = Path(place)
        _csv(folder)
        cache = folder / "compiled.cache"
        if name in COLD:
            os.environ["NUMBA_CACHE_DIR"] = str(cache)
        start = time.monotonic()
        done = interrupt_once(command, 600.0)
        found.length = time.monotonic() - start
        if done.returncode:
            found.failures.append(f"exit code {done.returncode}: {done.stderr[-500:]}")
        while len(found.results) < times and len(found.failures) < 5:
            shutil.rmtree(cache, ignore_errors=True)
            for path in folder.iterdir():
                if path.name != "data.csv":
                    path.unlink()
            wait = rng.uniform(0.05, found.length)
            done = interrupt_once(command, wait)
            if done.returncode == 0:
                found.length *= 0.9
                continue
            found.results.append("part" if len(list(folder.glob("*.*"))) > 1 else "raised")
            found.seconds.append(done.seconds)
            found.cpu.append(done.spent)
            found.failures += [
                f"{wrong} after {wait:.2f} s" for wrong in [_wrong(done, most_seconds)] if wrong
            ]
            found.failures += [wrong for wrong in [check_files(folder)] if wrong]
    return found


def _wrong(done: Interrupted, most_seconds: float) -> str:
    """What is wrong with the end of an interrupted command."""
    # `python -m` may end by the signal itself, where Ctrl-C left a library's exec() of text
    known = done.returncode in (130, -signal.SIGINT)
    if not known or "Traceback" in done.stderr or "leaked" in done.stderr:
        return f"exit code {done.returncode}: {done.stderr[-800:]}"
    if min(done.seconds, max(done.spent, 0.01)) > most_seconds:
        return f"{done.seconds:.2f} s ({done.spent:.2f} s of processor time)"
    return ""


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--times", type=int, default=12)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--only", nargs="*", default=[*WORKLOADS, *COMMANDS])
    parser.add_argument("--serve", help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.serve:
        serve(given.serve)
        return 0
    failed = False
    for name in given.only:
        found = (interrupt_command if name in COMMANDS else interrupt)(name, given.times, given.seed)
        print(found.line(), flush=True)
        failed |= bool(found.failures)
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
