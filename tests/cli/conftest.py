"""Tables and a command line in a process of its own."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

Run = Callable[..., Any]


@pytest.fixture
def run(tmp_path: Path) -> Run:
    """Run ``maxmargin`` in a folder of its own; the finished process."""

    def process(*words: Any, code: int = 0) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-m", "maxmargin", *map(str, words)]
        done = subprocess.run(command, capture_output=True, text=True, timeout=600, check=False, cwd=tmp_path)
        assert done.returncode == code, f"{done.stdout}\n{done.stderr}"
        assert "Traceback" not in done.stderr
        return done

    return process


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
