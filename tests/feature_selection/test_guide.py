"""The page of the user guide runs."""

from __future__ import annotations

import doctest
from pathlib import Path


def test_guide_runs():
    page = Path(__file__).resolve().parents[2] / "docs" / "feature_selection.md"
    result = doctest.testfile(str(page), module_relative=False)
    assert result.attempted > 10
    assert result.failed == 0
