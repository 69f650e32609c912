"""Attributes that were changed after a fit never lead compiled code outside an array."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def test_no_index_error_from_inside() -> None:
    """A sample, in a process with bounds checks; the long run has the same command with --times 10000."""
    done = subprocess.run(
        [sys.executable, "-m", "tests.io.mutated_models", "--times", "120", "--only", *NAMES],
        env=os.environ | {"NUMBA_BOUNDSCHECK": "1"},
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]
    assert "'refused'" in done.stdout


NAMES = ("svc_sparse", "svc_words", "svc_pieces", "large")
