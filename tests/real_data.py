"""Real tables that are not in the repository: tests that need one are skipped where it is missing."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest

DATA = Path(os.environ.get("MAXMARGIN_DATA", Path(__file__).parents[2] / "shared" / "data"))


def standardised(name: str) -> tuple[Any, Any]:
    """The table ``name`` with columns of mean 0 and standard deviation 1, and its target."""
    if not (DATA / f"{name}.npz").exists():
        pytest.skip(f"needs {name}.npz in the folder MAXMARGIN_DATA")
    data = np.load(DATA / f"{name}.npz")
    X = data["X"].astype(np.float64)
    return (X - X.mean(axis=0)) / X.std(axis=0), data["y"]
