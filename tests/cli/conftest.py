"""Tables and the command line, in this process or in one of its own."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

Run = Callable[..., Any]


@dataclass(frozen=True)
class Done:
    """A finished command; what it said on its way, such as "[tuning] 3 s", is no part of ``stderr``."""

    stdout: str
    said: str

    @property
    def stderr(self) -> str:
        return "".join(line for line in self.said.splitlines(keepends=True) if not line.startswith("["))


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Run:
    """Run ``maxmargin`` in this process, in a folder of its own."""
    from typer.testing import CliRunner

    from maxmargin.cli.app import app

    monkeypatch.chdir(tmp_path)

    def invoke(*words: Any, code: int = 0) -> Done:
        done = CliRunner().invoke(app, list(map(str, words)))
        said = f"{done.stdout}\n{done.stderr}\n{done.exception!r}"
        assert done.exit_code == code, said
        assert "Traceback" not in said
        return Done(done.stdout, done.stderr)

    return invoke


@pytest.fixture
def interrupted_search(monkeypatch: pytest.MonkeyPatch) -> None:
    """Ctrl-C comes as soon as a cell of a search is finished."""
    from maxmargin.tuning.search import GridRun

    plain = GridRun._take

    def interrupted_after_a_cell(self: GridRun, batch: Any) -> None:
        plain(self, batch)
        if not np.isnan(self.errors).any(axis=1).all():
            raise KeyboardInterrupt

    monkeypatch.setattr(GridRun, "_take", interrupted_after_a_cell)


@pytest.fixture
def process(tmp_path: Path) -> Run:
    """Run ``maxmargin`` in a process and a folder of its own."""

    def start(*words: Any, code: int = 0) -> Done:
        command = [sys.executable, "-m", "maxmargin", *map(str, words)]
        done = subprocess.run(command, capture_output=True, text=True, timeout=600, check=False, cwd=tmp_path)
        assert done.returncode == code, f"{done.stdout}\n{done.stderr}"
        assert "Traceback" not in done.stderr
        return Done(done.stdout, done.stderr)

    return start


@pytest.fixture
def ask(run: Run) -> Run:
    """The JSON answer of a command."""
    return lambda *words, code=0: json.loads(run(*words, "--json", code=code).stdout)


@pytest.fixture
def rare(tmp_path: Path) -> Path:
    """An insurance table with 6 % positive rows that two columns explain in part."""
    rng = np.random.default_rng(0)
    n = 500
    table = pd.DataFrame(rng.normal(size=(n, 3)), columns=["income", "age", "cars"])
    score = 1.6 * table["income"] + 1.2 * table["age"] + 0.7 * rng.normal(size=n)
    table["policy"] = np.where(score >= np.quantile(score, 0.94), "yes", "no")
    table.to_csv(tmp_path / "insurance.csv", index=False)
    return tmp_path / "insurance.csv"
