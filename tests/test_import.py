"""Importing the package is light; the examples in its documentation run."""

from __future__ import annotations

import doctest
import importlib
import pkgutil
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

import maxmargin


def run(code: str) -> str:
    return subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True).stdout


def test_import_loads_no_matplotlib_and_compiles_nothing() -> None:
    code = "import sys, maxmargin; print([m for m in ('matplotlib', 'numba', 'pandas') if m in sys.modules])"
    assert run(code).strip() == "[]"


def test_import_of_the_machines_compiles_nothing() -> None:
    code = (
        "from numba.core import event\n"
        "with event.install_recorder('numba:compile') as seen:\n"
        "    import maxmargin.machines.svm, maxmargin.kernels, sys\n"
        "print(len(seen.buffer), 'matplotlib' in sys.modules)"
    )
    assert run(code).split() == ["0", "False"]


def test_import_takes_less_than_one_and_a_half_of_scikit_learn() -> None:
    timer = "import time; t = time.process_time(); import {}; print(time.process_time() - t)"
    best = {
        module: min(float(run(timer.format(module))) for _ in range(3))
        for module in ("sklearn.svm", "maxmargin")
    }
    assert best["maxmargin"] < 1.5 * best["sklearn.svm"]


def test_public_names() -> None:
    for name in maxmargin.__all__:
        assert getattr(maxmargin, name) is not None
    assert set(maxmargin.__all__) == set(dir(maxmargin))
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        _ = maxmargin.nothing


MODULES = [
    module.name
    for module in pkgutil.walk_packages(maxmargin.__path__, "maxmargin.")
    if not module.name.endswith("__main__") and ".demo" not in module.name
]


@pytest.mark.parametrize("name", MODULES)
def test_examples_in_docstrings(name: str) -> None:
    failed, _ = doctest.testmod(importlib.import_module(name))
    assert failed == 0


def test_the_machines_have_examples() -> None:
    import maxmargin.machines.svm.svc as module

    assert doctest.testmod(module).attempted >= 5


ROOT = Path(__file__).resolve().parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))


def test_the_version_is_written_in_one_place() -> None:
    assert "version" not in PROJECT["project"]
    assert PROJECT["tool"]["setuptools"]["dynamic"]["version"] == {"attr": "maxmargin.__version__"}
    newest = re.search(r"^## (\S+)", (ROOT / "CHANGELOG.md").read_text(encoding="utf-8"), re.MULTILINE)
    assert newest is not None
    assert maxmargin.__version__.removesuffix(".dev0") == newest[1]


def test_every_file_of_the_package_is_shipped() -> None:
    """Files that are not Python, such as templates, are named in package-data."""
    package = ROOT / "src" / "maxmargin"
    patterns = PROJECT["tool"]["setuptools"]["package-data"]["maxmargin"]
    shipped = {path for pattern in patterns for path in package.glob(pattern)}
    others = {
        path
        for path in package.rglob("*")
        if path.is_file() and path.suffix != ".py" and "__pycache__" not in path.parts
    }
    assert others - {path for path in others if path.suffix == ".md"} <= shipped
    assert all(list(package.glob(pattern)) for pattern in patterns)
