"""Mutation testing: change one thing in a source file, and some test must fail. Run ``make mutants``.

For each group of sources pytest collects the tests once and runs them once, noting which lines each test
executes. Then every mutant gets a forked child, which replaces the code of the changed function in place and
runs the tests that execute the changed line until one fails: first those that are fast and have killed other
mutants of the file. Survivors must be listed with a reason in tools/surviving_mutants.toml. The exit status
is 1 when less than 90 % of the mutants are killed, or when a survivor is not explained.
"""

from __future__ import annotations

import argparse
import ast
import gc
import mmap
import os
import signal
import sys
import threading
import time
import tomllib
from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from types import FunctionType, ModuleType
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
SOURCES = ROOT / "src" / "maxmargin"
REASONS = ROOT / "tools" / "surviving_mutants.toml"
LEAST_KILLED = 0.90
LEFT_OUT = "not (scikit_learn_conventions or stopped_fits)"  # slow tests of whole fits
PATIENCE = 10.0  # seconds of CPU time that a test of a mutant may take on top of ten times its usual ones

GROUPS: dict[str, tuple[list[str], list[str]]] = {
    "metrics": (["metrics/*.py"], ["tests/metrics"]),
    "scorecards": (["scorecards/*.py"], ["tests/scorecards", "tests/pieces/test_binning.py"]),
    "criteria": (
        [f"feature_selection/{name}.py" for name in ("base", "criteria", "rankers", "relief")],
        [f"tests/feature_selection/test_{name}.py" for name in ("criteria", "rankers", "relief", "base")],
    ),
    "tuning_result": (["tuning/result.py"], ["tests/tuning/test_result.py"]),
    "problems": (["problems/*.py"], ["tests/problems"]),
}

COMPARISONS: dict[type[ast.cmpop], type[ast.cmpop]] = {
    ast.Lt: ast.LtE,
    ast.LtE: ast.Lt,
    ast.Gt: ast.GtE,
    ast.GtE: ast.Gt,
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
    ast.Is: ast.IsNot,
    ast.IsNot: ast.Is,
    ast.In: ast.NotIn,
    ast.NotIn: ast.In,
}
OPERATORS: dict[type[ast.operator], type[ast.operator]] = {
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.Mult: ast.Div,
    ast.Div: ast.Mult,
    ast.FloorDiv: ast.Mult,
    ast.Mod: ast.Mult,
    ast.Pow: ast.Mult,
    ast.BitOr: ast.BitAnd,
    ast.BitAnd: ast.BitOr,
}
PAIRS = "min max, any all, minimum maximum, argmin argmax, floor ceil, left right"
NAMES = dict(pair.split() for pair in PAIRS.split(", "))
NAMES |= {other: name for name, other in NAMES.items()}
DROPPED_CALLS = {"sqrt", "abs"}


@dataclass
class Mutant:
    """One changed field of one node of a parsed file."""

    path: Path
    node: ast.AST
    field: str
    new: Any
    lines: range | None  # of the statement around the node; None for what runs at import
    function: str  # with its class, "" for what runs at import
    shown: ast.AST  # the expression around a number or a name, else the node

    @property
    def key(self) -> tuple[str, str, str]:
        """File, function and change, as in the list of survivors; the tree is left as it was."""
        before, old = _text(self.shown), getattr(self.node, self.field)
        setattr(self.node, self.field, self.new)
        after = _text(self.shown)
        setattr(self.node, self.field, old)
        if isinstance(self.shown, ast.arguments):  # the changed default only
            pairs = zip(before.split(", "), after.split(", "), strict=True)
            before, after = next((old, new) for old, new in pairs if old != new)
        return self.path.relative_to(SOURCES).as_posix(), self.function, f"{before} -> {after}"

    def __str__(self) -> str:
        name, function, change = self.key
        return f"{name}:{self.node.lineno}  {function}: {change}"  # type: ignore[attr-defined]


def _text(node: ast.AST) -> str:
    """A node in one line; a statement with a condition is its condition."""
    return ast.unparse(node.test if isinstance(node, (ast.If, ast.While)) else node).replace("\n", " ")


def mutants_of(path: Path, tree: ast.Module) -> Iterator[Mutant]:
    """All mutants of a file, in the order of its nodes. Annotations, texts and assertions are left alone."""

    def visit(node: ast.AST, parent: ast.AST, lines: range | None, names: list[str]) -> Iterator[Mutant]:
        if isinstance(node, (ast.Raise, ast.Assert, ast.JoinedStr)):
            return
        if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING":
            return
        if isinstance(node, ast.stmt) and lines is not None:
            header = getattr(node, "test", getattr(node, "iter", None))
            lines = range(node.lineno, ((header or node).end_lineno or node.lineno) + 1)
        small = isinstance(node, (ast.Constant, ast.Name, ast.Attribute))
        small &= not isinstance(getattr(parent, "body", None), list)
        for field, new in _changes(node):
            yield Mutant(path, node, field, new, lines, ".".join(names), parent if small else node)
        if isinstance(node, ast.keyword) and node.arg == "strict":  # zip's own assertion
            return
        if isinstance(node, (ast.FunctionDef, ast.ClassDef)):
            names = [*names, node.name]
        if isinstance(node, ast.FunctionDef):  # its defaults matter to the tests that call it
            lines = range(node.body[0].lineno, (node.end_lineno or node.lineno) + 1)
        for name, value in ast.iter_fields(node):
            if name in ("annotation", "returns", "decorator_list", "type_comment"):
                continue
            for child in value if isinstance(value, list) else [value]:
                if isinstance(child, ast.AST):
                    yield from visit(child, node, lines, names)

    yield from visit(tree, tree, None, [])


def _changes(node: ast.AST) -> Iterator[tuple[str, Any]]:
    """Fields of a node and their new values."""
    if isinstance(node, ast.Compare):
        for place, op in enumerate(node.ops):
            ops = list(node.ops)
            ops[place] = COMPARISONS[type(op)]()
            yield "ops", ops
    elif isinstance(node, (ast.BinOp, ast.AugAssign)) and type(node.op) in OPERATORS:
        yield "op", OPERATORS[type(node.op)]()
    elif isinstance(node, ast.BoolOp):
        yield "op", ast.Or() if isinstance(node.op, ast.And) else ast.And()
    elif isinstance(node, ast.UnaryOp):
        yield "operand", ast.UnaryOp(node.op, node.operand)  # twice the same sign is none
    elif isinstance(node, ast.Constant):
        if isinstance(node.value, bool):
            yield "value", not node.value
        elif isinstance(node.value, (int, float)):
            yield "value", node.value + 1
        elif node.value in NAMES:
            yield "value", NAMES[node.value]
    elif isinstance(node, ast.Attribute) and node.attr in NAMES:
        yield "attr", NAMES[node.attr]
    elif isinstance(node, ast.Name) and node.id in NAMES and isinstance(node.ctx, ast.Load):
        yield "id", NAMES[node.id]
    elif isinstance(node, ast.Expr) and isinstance(node.value, ast.Call):
        yield "value", ast.Constant(None)  # the call is left out
    elif hasattr(node, "test") and isinstance(node.test, (ast.Name, ast.Attribute, ast.Call)):
        yield "test", ast.UnaryOp(ast.Not(), node.test)
    if isinstance(node, ast.Call) and len(node.args) == 1 and not node.keywords:
        called = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
        if called in DROPPED_CALLS:
            yield "func", ast.Name("_same", ast.Load())


# -- putting a mutant in place -------------------------------------------------------------------------------


def install(mutant: Mutant, tree: ast.Module, module: ModuleType) -> None:
    """Change the tree, run it as a new module, and copy its code into the functions of the old one."""
    setattr(mutant.node, mutant.field, mutant.new)
    ast.fix_missing_locations(tree)
    fresh = {"__name__": module.__name__, "__file__": str(mutant.path), "_same": _same}
    exec(compile(tree, str(mutant.path), "exec"), fresh)
    vars(module)["_same"] = _same
    _copy(vars(module), fresh, module)


def _same(value: Any) -> Any:
    return value


def _copy(old: Any, new: Any, owner: Any) -> None:
    for name, value in new.items():
        if name not in old:
            continue
        before = old[name]
        for part in ("__func__", "func", "fget", "__wrapped__"):
            if not isinstance(value, (FunctionType, type)) and hasattr(value, part) and hasattr(before, part):
                before, value = getattr(before, part), getattr(value, part)
        while isinstance(value, FunctionType) and hasattr(value, "__wrapped__"):
            _copy_function(before, value)
            before, value = before.__wrapped__, value.__wrapped__
        if isinstance(value, FunctionType) and isinstance(before, FunctionType):
            _copy_function(before, value)
        elif isinstance(value, type) and value.__module__ == new.get("__name__", value.__module__):
            if isinstance(before, type) and before is not value and before.__name__ == value.__name__:
                _copy(dict(vars(before)), dict(vars(value)), before)
        elif name.startswith("_") and name.endswith("_"):
            continue  # names, documentation, members of an Enum
        elif isinstance(value, (bool, int, float, str, tuple, dict, set, frozenset)):
            value = _with_old(value, old)
            if value != before:
                _replace(name, before, value, owner)


def _with_old(value: Any, old: Any) -> Any:
    """A value with the old functions and classes in place of the new ones."""
    if type(value) is dict:
        return {key: _with_old(part, old) for key, part in value.items()}
    if type(value) is tuple:
        return tuple(_with_old(part, old) for part in value)
    return old.get(value.__name__, value) if isinstance(value, (FunctionType, type)) else value


def _copy_function(old: FunctionType, new: FunctionType) -> None:
    old.__code__, old.__defaults__, old.__kwdefaults__ = new.__code__, new.__defaults__, new.__kwdefaults__


def _replace(name: str, before: Any, value: Any, owner: Any) -> None:
    if not isinstance(owner, ModuleType):
        setattr(owner, name, value)
        return
    for module in list(sys.modules.values()):
        if module is not None and vars(module).get(name) is before:
            setattr(module, name, value)


# -- running -------------------------------------------------------------------------------------------------


class Judge:
    """A pytest plugin: runs the tests once with a tracer, then every mutant in a child of its own."""

    def __init__(self, paths: list[Path], jobs: int) -> None:
        self.paths, self.jobs = paths, jobs
        self.covered: dict[tuple[str, int], set[int]] = defaultdict(set)
        self.seconds: list[float] = []  # of CPU time
        self.results: list[tuple[Mutant, str]] = []

    def pytest_runtestloop(self, session: Any) -> bool:
        self.items = session.items
        self.kills = memoryview(mmap.mmap(-1, 4 * len(self.items))).cast("i")  # shared with the children
        with Silence():
            failed = self._baseline()
        if failed:
            raise SystemExit(f"tests fail without a mutant: {failed}")
        print(f"{len(self.items)} tests, {sum(self.seconds):.0f} s of CPU time", flush=True)
        for path in self.paths:
            tree = ast.parse(path.read_text(encoding="utf-8"), str(path))
            self._run([Mutant(path, tree, "body", tree.body, None, "", tree)], tree)
            if self.results.pop()[1] != "survived":
                raise SystemExit(f"{path}: tests fail when its code is replaced by itself")
            before = len(self.results)
            self.kills[:] = memoryview(bytes(4 * len(self.items))).cast("i")
            self._run(list(mutants_of(path, tree)), tree)
            _show(path, self.results[before:])  # a run that is cut short leaves what it found
        return True

    def _baseline(self) -> list[str]:
        names = {str(path) for path in self.paths}
        failed = []
        for number, item in enumerate(self.items):

            def local(frame: Any, event: str, arg: Any, number: int = number) -> Any:
                self.covered[frame.f_code.co_filename, frame.f_lineno].add(number)
                return local

            def trace(frame: Any, event: str, arg: Any) -> Any:
                return local(frame, event, arg) if frame.f_code.co_filename in names else None

            start = time.process_time()
            threading.settrace(trace)
            sys.settrace(trace)
            if self._fails(item, None):
                failed.append(item.nodeid)
            sys.settrace(None)
            threading.settrace(None)
            self.seconds.append(time.process_time() - start)
        gc.collect()
        gc.freeze()
        return failed

    def _fails(self, item: Any, following: Any) -> bool:
        self.failed = False
        item.ihook.pytest_runtest_protocol(item=item, nextitem=following)
        return self.failed

    def pytest_runtest_logreport(self, report: Any) -> None:
        self.failed |= report.failed

    def _tests(self, mutant: Mutant) -> list[int]:
        if mutant.lines is None:
            found = set(range(len(self.items)))
        else:
            found = set().union(*(self.covered.get((str(mutant.path), n), set()) for n in mutant.lines))
        return sorted(found, key=lambda k: self.seconds[k] / (1 + self.kills[k]))

    def _run(self, mutants: list[Mutant], tree: ast.Module) -> None:
        running: dict[int, Mutant] = {}
        for mutant in mutants:
            tests = self._tests(mutant)
            if not tests:
                self.results.append((mutant, "no test runs this line"))
                continue
            if len(running) >= self.jobs:
                self._reap(running)
            pid = os.fork()
            if pid == 0:
                self._child(mutant, tree, tests)
            running[pid] = mutant
        while running:
            self._reap(running)

    def _reap(self, running: dict[int, Mutant]) -> None:
        pid, status = os.wait()
        mutant = running.pop(pid)
        self.results.append((mutant, "survived" if status == 0 else "killed"))

    def _child(self, mutant: Mutant, tree: ast.Module, tests: list[int]) -> None:
        killed = True
        try:
            with Silence():
                name = "maxmargin." + ".".join(mutant.path.relative_to(SOURCES).with_suffix("").parts)
                install(mutant, tree, sys.modules[name.removesuffix(".__init__")])
                pairs = zip(tests, [*tests[1:], None], strict=True)
                killed = any(self._kills(k, following) for k, following in pairs)
        finally:
            os._exit(int(killed))

    def _kills(self, number: int, following: int | None) -> bool:
        """Whether a test fails. An endless loop ends the child; so does waiting, which takes no CPU time."""
        limit = PATIENCE + 10 * self.seconds[number]
        signal.setitimer(signal.ITIMER_PROF, limit)
        signal.setitimer(signal.ITIMER_REAL, 20 * limit)
        fails = self._fails(self.items[number], None if following is None else self.items[following])
        self.kills[number] += int(fails)
        return fails


def _show(path: Path, results: list[tuple[Mutant, str]]) -> None:
    killed = sum(outcome == "killed" for _, outcome in results)
    print(f"{path.name}: {killed} of {len(results)} killed", flush=True)
    for mutant, outcome in results:
        if outcome != "killed":
            print(f"  {mutant} ({outcome})", flush=True)


class Silence:
    """Send what the tests print to nowhere."""

    def __enter__(self) -> None:
        self.kept = [os.dup(1), os.dup(2)]
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, 1)
        os.dup2(nowhere, 2)

    def __exit__(self, *error: object) -> None:
        for number, kept in enumerate(self.kept, start=1):
            os.dup2(kept, number)


def judge(group: str, jobs: int, only: list[str]) -> list[tuple[Mutant, str]]:
    import pytest

    patterns, tests = GROUPS[group]
    paths = sorted(path for pattern in patterns for path in SOURCES.glob(pattern))
    chosen = [
        path
        for path in paths
        if path.name != "__init__.py" and (not only or any(text in path.name for text in only))
    ]
    if not chosen:
        return []
    plugin = Judge(chosen, jobs)
    options = [
        "-q",
        "-s",
        "-o",
        "addopts=",
        "-p",
        "no:cacheprovider",
        "-p",
        "no:xdist",
        "--no-header",
        "-k",
        LEFT_OUT,
    ]
    if pytest.main([*options, *(str(ROOT / test) for test in tests)], plugins=[plugin]):
        raise SystemExit(f"{group}: the run was cut short")
    return plugin.results


def report(results: list[tuple[Mutant, str]]) -> bool:
    """Print the figures and the survivors without a reason; whether the bounds hold."""
    reasons = tomllib.loads(REASONS.read_text(encoding="utf-8"))["survivor"]
    explained = Counter((entry["file"], entry["function"], entry["change"]) for entry in reasons)
    by_file: dict[str, list[int]] = defaultdict(lambda: [0, 0, 0])
    unexplained = []
    for mutant, outcome in results:
        name = mutant.path.relative_to(SOURCES).as_posix()
        row = by_file[name]
        row[0] += 1
        row[1] += int(outcome == "killed")
        if outcome != "killed":
            known = explained[mutant.key] > 0  # one reason explains one survivor
            explained[mutant.key] -= int(known)
            row[2] += int(known)
            if not known:
                unexplained.append(f"{mutant} ({outcome})")
    for line in unexplained:
        print(line)
    print(f"{'file':40}{'mutants':>9}{'killed':>9}{'explained':>11}")
    for name, (n, killed, n_known) in sorted(by_file.items()):
        print(f"{name:40}{n:9}{killed / n:9.1%}{n_known:11}")
    total, n_killed = len(results), sum(outcome == "killed" for _, outcome in results)
    share = n_killed / max(total, 1)
    print(f"{n_killed} of {total} mutants killed ({share:.1%}), {len(unexplained)} survivors unexplained")
    return n_killed >= LEAST_KILLED * total and not unexplained


def main(argv: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("groups", nargs="*", help=f"some of {', '.join(GROUPS)}; all by default")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--only", nargs="+", default=[], help="only files with one of these in their name")
    options = parser.parse_args(argv)
    holds = True
    for group in options.groups or GROUPS:
        print(f"\n{group}", flush=True)
        holds = report(judge(group, options.jobs, options.only)) and holds
    return 0 if holds else 1


if __name__ == "__main__":
    os.environ["OMP_NUM_THREADS"] = "1"
    sys.exit(main())
