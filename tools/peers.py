"""scikit-learn's own tests with our classes behind its imports. Run ``make peers``.

The tests of the installed scikit-learn run as they are; only the names that they import are ours. A test is
counted when it makes an object of ours. It passes, differs by design (an entry of designed_differences.toml
names the line of the differences page it falls under), or fails. The exit status is 1 when a test failed, or
too many differ by design.
"""

from __future__ import annotations

import argparse
import contextlib
import fnmatch
import io
import os
import sys
import tomllib
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest
import sklearn

ROOT = Path(__file__).resolve().parents[1]
DIFFERENCES = ROOT / "docs" / "start" / "differences.md"
DESIGNED = Path(__file__).with_name("designed_differences.toml")
MOST_BY_DESIGN = 0.15

# module of scikit-learn -> its name -> our name and where it lives
SWAPS: dict[str, dict[str, str]] = {
    "sklearn.svm": dict.fromkeys(("SVC", "NuSVC", "SVR", "NuSVR", "OneClassSVM"), "maxmargin")
    | {"LinearSVC": "maxmargin", "LinearSVR": "maxmargin"},
    "sklearn.kernel_ridge": {"KernelRidge": "maxmargin"},
    "sklearn.linear_model": {
        "Ridge": "maxmargin",
        "Perceptron": "maxmargin",
        "PassiveAggressiveClassifier": "maxmargin:PassiveAggressive",
    },
    "sklearn.feature_selection": {
        "RFE": "maxmargin.feature_selection",
        "RFECV": "maxmargin.feature_selection",
        "SequentialFeatureSelector": "maxmargin.feature_selection",
    },
    "sklearn.model_selection": {"GridSearchCV": "maxmargin:GridSearch"},
}
TESTS = (
    "sklearn.svm.tests.test_svm",
    "sklearn.svm.tests.test_sparse",
    "sklearn.tests.test_kernel_ridge",
    "sklearn.linear_model.tests.test_ridge",
    "sklearn.linear_model.tests.test_perceptron",
    "sklearn.linear_model.tests.test_passive_aggressive",
    "sklearn.feature_selection.tests.test_rfe",
    "sklearn.feature_selection.tests.test_sequential",
    "sklearn.model_selection.tests.test_search",
)


@dataclass(frozen=True)
class Difference:
    """Tests that differ by design: a pattern of their names, and the line of the page that says why."""

    tests: str
    line: str

    def covers(self, name: str) -> bool:
        return fnmatch.fnmatchcase(name, self.tests)


def designed_differences() -> list[Difference]:
    return [Difference(**entry) for entry in tomllib.loads(DESIGNED.read_text())["difference"]]


def lines_of_page() -> list[str]:
    """The lines of the differences page that a difference may name: the first column of its tables."""
    rows = [line for line in DIFFERENCES.read_text().splitlines() if line.startswith("| ")]
    return [row.split(" | ")[0].removeprefix("| ").strip() for row in rows]


# -- our classes behind scikit-learn's names ---------------------------------------------------------------


def ours(name: str, home: str) -> type:
    module, _, other = home.partition(":")
    found: type = getattr(import_module(module), other or name)
    return found


def swap(made: Callable[[], None]) -> None:
    """Put our classes in scikit-learn's modules; ``made`` is called whenever one of them makes an object."""
    for module, names in SWAPS.items():
        for name, home in names.items():
            cls = ours(name, home)
            setattr(import_module(module), name, cls)
            type.__setattr__(cls, "__new__", staticmethod(_noticed(made)))


def _noticed(made: Callable[[], None]) -> Callable[..., Any]:
    def new(kind: type, *args: Any, **kwargs: Any) -> Any:
        made()
        return object.__new__(kind)

    return new


@dataclass
class Tally:
    """A pytest plugin that sorts the tests."""

    verbose: bool = False
    touched: set[str] = field(default_factory=set)
    running: str = ""
    outcomes: dict[str, str] = field(default_factory=dict)
    reasons: dict[str, str] = field(default_factory=dict)

    def made(self) -> None:
        self.touched.add(self.running)

    def pytest_runtest_logstart(self, nodeid: str) -> None:
        self.running = short_name(nodeid)
        if self.verbose:
            print(self.running, file=sys.stderr, flush=True)

    @pytest.hookimpl(wrapper=True)
    def pytest_collection_modifyitems(self, items: list[Any]) -> Iterator[None]:
        yield
        for item in items:  # an object made in a decorator
            for value in getattr(getattr(item, "callspec", None), "params", {}).values():
                if type(value).__module__.startswith("maxmargin") or (
                    isinstance(value, type) and value.__module__.startswith("maxmargin")
                ):
                    self.touched.add(short_name(item.nodeid))

    def pytest_runtest_logreport(self, report: Any) -> None:
        name = short_name(report.nodeid)
        if report.failed:
            self.outcomes[name] = "failed"
            self.reasons[name] = report.longreprtext
        elif report.when == "call" or report.skipped:
            self.outcomes.setdefault(name, "skipped" if report.skipped else "passed")

    def sorted_tests(self) -> dict[str, dict[str, list[str]]]:
        """Names of the counted tests by module and outcome."""
        known = designed_differences()
        table: dict[str, dict[str, list[str]]] = defaultdict(lambda: defaultdict(list))
        for name, outcome in self.outcomes.items():
            if name not in self.touched or outcome == "skipped":
                continue
            if outcome == "failed" and any(entry.covers(name) for entry in known):
                outcome = "by design"
            table[name.partition("::")[0]][outcome].append(name)
        return table


def short_name(nodeid: str) -> str:
    """test_svm::test_name[parameters]"""
    path, _, test = nodeid.partition("::")
    return f"{Path(path).stem}::{test}"


def first_error(traceback: str) -> str:
    """The line of a traceback that says what went wrong."""
    lines = traceback.strip().splitlines()
    return next((line for line in lines if line.startswith("E ")), lines[-1] if lines else "")


def unused(tally: Tally) -> list[Difference]:
    """Entries that no failed test falls under: the page promises too little."""
    failed = [name for name, outcome in tally.outcomes.items() if outcome == "failed"]
    return [entry for entry in designed_differences() if not any(entry.covers(name) for name in failed)]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("only", nargs="*", help="parts of module names, such as svm or rfe")
    parser.add_argument("-k", default="", help="run only the tests whose names match, as in pytest")
    parser.add_argument("--details", action="store_true", help="print the traceback of every failure")
    parser.add_argument(
        "-v", "--verbose", action="store_true", help="print the name of every test as it starts"
    )
    options = parser.parse_args()
    os.environ.setdefault("SKLEARN_SKIP_NETWORK_TESTS", "1")
    tests = [name for name in TESTS if not options.only or any(part in name for part in options.only)]
    sys.path.insert(0, str(ROOT))
    import_module("tests.conftest")  # chooses the folder of compiled code
    tally = Tally(verbose=options.verbose)
    swap(tally.made)
    home = Path(sklearn.__file__).parent
    files = [str(home.parent / f"{name.replace('.', '/')}.py") for name in tests]
    os.chdir(home)  # its conftest.py, not ours
    args = [*files, "-q", "--no-header", "-p", "no:cacheprovider", "-p", "no:xdist"]
    args += ["--tb=short", "--show-capture=no", "-c", os.devnull, "--rootdir", str(home), "-k", options.k]
    with contextlib.redirect_stdout(io.StringIO()) as output:  # the report below says it in fewer lines
        pytest.main(args, plugins=[tally])
    if not tally.outcomes:
        print(output.getvalue())
    return report(tally, details=options.details, whole=not options.only and not options.k)


def report(tally: Tally, *, details: bool, whole: bool) -> int:
    total: Counter[str] = Counter()
    table = tally.sorted_tests()
    known = designed_differences()
    print(f"{'':30}{'passed':>8}{'by design':>11}{'failed':>8}")
    for module, outcomes in table.items():
        counts = {kind: len(outcomes[kind]) for kind in ("passed", "by design", "failed")}
        total.update(counts)
        print(f"{module:30}{counts['passed']:8}{counts['by design']:11}{counts['failed']:8}")
    print(f"{'all':30}{total['passed']:8}{total['by design']:11}{total['failed']:8}")
    for outcomes in table.values():
        for name in outcomes["by design"]:
            print(f"by design  {name}: {next(entry.line for entry in known if entry.covers(name))}")
    for outcomes in table.values():
        for name in outcomes["failed"]:
            print(f"FAILED  {name}")
            print(tally.reasons[name] if details else f"        {first_error(tally.reasons[name])}")
    if whole:
        for entry in unused(tally):
            print(f"not needed: {entry.tests} ({entry.line})")
    counted = sum(total.values())
    share = total["by design"] / max(counted, 1)
    print(f"{counted} tests use our classes; {share:.1%} differ by design (bound {MOST_BY_DESIGN:.0%})")
    return int(total["failed"] > 0 or share >= MOST_BY_DESIGN)


if __name__ == "__main__":
    sys.exit(main())
