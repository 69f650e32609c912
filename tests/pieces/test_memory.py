"""A fit in pieces needs memory for a few pieces, not for the file."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from benchmarks.pieces import write

ROWS = 1_000_000  # 80 MB of float32


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="memory is read from /proc")
def test_own_and_mapped_memory_stay_below_the_size_of_the_file(tmp_path):
    """One thread holds one piece and vectors of its length: RssAnon grows by less than the file.

    The pieces are read, so the map of the file adds nothing either (RssFile holds libraries only).
    """
    write(tmp_path, ROWS)
    size = (tmp_path / "X.npy").stat().st_size / 2**20
    command = [sys.executable, "-m", "benchmarks.pieces", "--child", str(tmp_path), "--jobs", "1"]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    seen = json.loads(done.stdout)
    assert seen["own"] - seen["before"] < 0.75 * size
    assert seen["high_water"] < seen["before"] + 0.75 * size + 250  # MB of libraries, mapped from files
    assert np.isfinite(seen["gap"])
    assert abs(seen["gap"]) < 1e-6
