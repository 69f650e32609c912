"""Compilation is announced on a terminal, is left out of times, and can be done ahead."""

from __future__ import annotations

import gc
import json
import os
import subprocess
import sys

import numpy as np
import pytest

import maxmargin as mm
from maxmargin.base import progress, work_clock
from maxmargin.compute import compiling, jit

NEW_PROCESS = """
import json, time
import joblib
import numpy as np
import maxmargin as mm
mm.tune, mm.LogisticRegression  # scikit-learn is imported now: it derives a class of its own
joblib.Parallel = None  # six small fits are not worth processes, however long the first one compiled
from maxmargin.compute.compiling import WATCH
X = np.random.default_rng(0).normal(size=(40, 3))
began = time.perf_counter()
result = mm.tune(mm.LogisticRegression(), X, np.sign(X[:, 0]), {"C": [0.1, 1.0]}, cv=3, n_jobs=2)
passed = time.perf_counter() - began
print(json.dumps([WATCH.seconds, passed, result.seconds, float(result.table["seconds"].sum())]))
"""


def in_a_new_process(code: str, cache: str) -> list[float]:
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", code],
        env={**os.environ, "NUMBA_CACHE_DIR": cache},
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stderr == ""  # no terminal: no notice
    found: list[float] = json.loads(done.stdout)
    return found


READS = """
import importlib.metadata, json
import numba, numpy as np
import maxmargin as mm
from maxmargin.compute.dual.gram_parts import add_rows

def refuse(**_):
    raise AssertionError("all installed packages were listed")

def add(v):
    add_rows(v, np.ones((4, 2), np.float32), np.arange(4), np.ones(4), 0, 2)
    return v.sum()

asked, importlib.metadata.entry_points = importlib.metadata.entry_points, refuse
X = np.random.default_rng(0).normal(size=(40, 3))
mm.SVC().fit(X, X[:, 0] > 0).predict(X)
importlib.metadata.entry_points = asked
plain = add(np.zeros(2))
unread = lambda: ["_get_module_for_linking" in vars(o.library) for o in add_rows.overloads.values()]
before = unread()
same = numba.njit(add)(np.zeros(2)) == plain == 8.0
print(json.dumps([all(before), bool(same), all(unread())]))
"""


@pytest.mark.skipif(os.environ.get("NUMBA_DISABLE_JIT") == "1", reason="nothing is compiled")
def test_reading_compiled_code_leaves_out_what_only_compiling_needs(tmp_path) -> None:
    """The list of installed packages and the LLVM code, which a caller that is compiled later still finds."""
    compiles = READS.replace("entry_points, refuse", "entry_points, importlib.metadata.entry_points")
    assert in_a_new_process(compiles, str(tmp_path)) == [False, True, False]
    assert in_a_new_process(READS, str(tmp_path)) == [True, True, False]


@pytest.mark.skipif(os.environ.get("NUMBA_DISABLE_JIT") == "1", reason="nothing is compiled")
def test_times_leave_compilation_out(tmp_path) -> None:
    compiled, passed, whole, cells = in_a_new_process(NEW_PROCESS, str(tmp_path))
    assert compiled > 0.5
    assert whole <= passed - compiled + 1e-6
    assert cells <= whole
    again, *_ = in_a_new_process(NEW_PROCESS, str(tmp_path))
    assert again == 0.0  # read from the disk


ONLY_READ = """
import json, sys
import numpy as np
import maxmargin as mm
mm.warmup(["svc", "strings"], verbose=-1)
from maxmargin.compute.compiling import WATCH
found = [WATCH.seconds, "numba.typed.typeddict" in sys.modules, "numba.np.arrayobj" in sys.modules]
import numba
@numba.njit
def largest(x):  # what was left out is imported by whoever compiles
    if len(x) == 0:
        raise ValueError("empty", len(x))
    return np.sort(np.concatenate((x, np.empty(0))))[-1]
try:
    largest(np.zeros(0))
except ValueError as error:
    found.append(list(error.args))
print(json.dumps([*found, largest(np.array([1.0, 3.0, 2.0]))]))
"""


@pytest.mark.skipif(os.environ.get("NUMBA_DISABLE_JIT") == "1", reason="nothing is compiled")
def test_reading_compiled_code_does_not_import_the_compiler() -> None:
    """Numba would import its libraries for types that we do not use, before it reads a function."""
    cache = os.environ["NUMBA_CACHE_DIR"]
    in_a_new_process(ONLY_READ, cache)
    assert in_a_new_process(ONLY_READ, cache) == [0.0, False, False, ["empty", 0], 3.0]


AHEAD = """
import json, sys, warnings
import maxmargin as mm
from tests.compute import main_paths

def compiled():
    modules = [m for name, m in list(sys.modules.items()) if name.startswith("maxmargin.compute.")]
    functions = {f for m in modules for f in vars(m).values() if hasattr(f, "signatures")}
    named = [f for f in functions if not f.targetoptions.get("no_cpython_wrapper")]
    return {f"{f.py_func.__module__}.{f.py_func.__name__}{s}" for f in named for s in f.signatures}

warnings.simplefilter("ignore")
mm.warmup(verbose=-1)
ahead = compiled()
for path in main_paths.PATHS.values():
    path()
print(json.dumps(sorted(compiled() - ahead)))
"""


@pytest.mark.skipif(os.environ.get("NUMBA_DISABLE_JIT") == "1", reason="nothing is compiled")
def test_after_warmup_no_main_path_compiles() -> None:
    assert in_a_new_process(AHEAD, os.environ["NUMBA_CACHE_DIR"]) == []


class FakeEvent:
    def __init__(self, module: str) -> None:
        def function() -> None: ...

        function.__module__ = module
        self.data = {"dispatcher": type("Dispatcher", (), {"py_func": staticmethod(function)})()}


@pytest.fixture
def shown(monkeypatch) -> list[str]:
    lines: list[str] = []
    monkeypatch.setattr(progress, "on_terminal", lambda: True)
    monkeypatch.setattr(progress, "find_spec", lambda name: None)  # no rich
    monkeypatch.setattr(progress, "show_line", lines.append)
    monkeypatch.setattr(compiling, "_LONG", 1e-9)
    return lines


def compile_something(module: str) -> None:
    watch = compiling.CompileWatch()
    watch.on_start(FakeEvent(module))
    watch.on_start(FakeEvent("numba.np.arrayobj"))
    watch.on_end(FakeEvent("numba.np.arrayobj"))
    watch.on_end(FakeEvent(module))


def test_a_long_compilation_is_announced_once(shown) -> None:
    compile_something("maxmargin.compute.dual.one_group")
    assert shown == ["[compiling, once on this machine]"]


def test_without_a_terminal_the_logger_announces_it_once(shown, monkeypatch, caplog) -> None:
    monkeypatch.setattr(progress, "on_terminal", lambda: False)
    with caplog.at_level("INFO", logger="maxmargin"):
        compile_something("maxmargin.compute.dual.one_group")
    assert caplog.messages == ["compiling, once on this machine"]
    assert shown == []


def test_compilations_of_others_are_not_ours(shown) -> None:
    before = work_clock.now()
    compile_something("somebody.else")
    assert shown == []
    assert work_clock.now() > before


def test_verbose_minus_one_silences_it(shown) -> None:
    with progress.silenced_by(-1):
        compile_something("maxmargin.compute.jit")
    assert shown == []
    with progress.silenced_by(0):
        compile_something("maxmargin.compute.jit")
    assert len(shown) == 1


def test_the_clock_goes_on_after_a_failed_compilation(shown) -> None:
    compile_something("maxmargin.compute.jit")
    before = work_clock.now()
    assert work_clock.now() >= before
    assert work_clock.resume() == 0.0  # not paused any more


def test_warmup_compiles_so_that_the_next_call_does_not() -> None:
    mm.warmup(["linear_svc"], verbose=-1)
    before = compiling.WATCH.seconds
    X = np.random.default_rng(1).normal(size=(30, 5))
    mm.LinearSVC().fit(X, np.sign(X[:, 0]))
    assert compiling.WATCH.seconds == before
    assert mm.warmup(["linear_svc"], verbose=-1) == {"linear_svc": 0.0}


def test_warmup_refuses_unknown_entries_by_name() -> None:
    with pytest.raises(ValueError, match=r"'trees'.*choose from svc, tuning"):
        mm.warmup(["trees"])


def test_parts_have_no_machine_code_of_their_own() -> None:
    @jit.part_sums
    def product(v, w):
        total = 0.0
        for i in range(len(v)):
            total += v[i] * w[i]
        return total

    @jit.jit
    def squares(v):
        return product(v, v) + product(v[:1], v[:1])

    assert squares(np.array([1.0, 2.0, 3.0])) == 15.0
    for compiled in product.overloads.values():
        assert isinstance(compiled.library, jit.PartLibrary)
        assert not compiled.library._codegen._engine.is_symbol_defined(compiled.fndesc.llvm_func_name)


def test_a_later_numba_compiles_parts_in_full(monkeypatch: pytest.MonkeyPatch) -> None:
    assert jit.as_part()["pipeline_class"] is jit.PartCompiler
    monkeypatch.setattr(jit, "NEWEST_TESTED", (0, 1))
    assert "pipeline_class" not in jit.as_part()


def test_no_garbage_is_searched_after_compiling() -> None:
    """Our objects and Numba's would be looked through at once; a user's frozen objects stay frozen."""

    @jit.jit
    def successor(x):
        return x + 1

    searches: list[str] = []

    def count(phase: str, _: dict[str, int]) -> None:
        searches.append(phase)

    gc.collect()
    gc.callbacks.append(count)
    try:
        successor(1)
        kept = [[] for _ in range(100)]  # new objects start a search where too many are young
    finally:
        gc.callbacks.remove(count)
    assert len(kept) == 100
    assert len(searches) <= 20  # a few before compiling starts, more than a hundred without a rest
    assert gc.get_freeze_count() == 0
    gc.freeze()
    frozen = gc.get_freeze_count()
    try:
        successor(1.0)
        assert gc.get_freeze_count() >= 0.9 * frozen
    finally:
        gc.unfreeze()
