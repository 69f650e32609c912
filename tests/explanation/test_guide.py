"""The examples of the classroom page run as they are printed."""

from __future__ import annotations

import doctest
from pathlib import Path


def test_classroom_page() -> None:
    page = Path(__file__).parents[2] / "docs" / "classroom.md"
    result = doctest.testfile(str(page), module_relative=False)
    assert result.attempted > 10
    assert result.failed == 0
