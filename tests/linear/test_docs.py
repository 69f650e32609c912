"""The examples of the user guide run as they are printed."""

from __future__ import annotations

import doctest
from pathlib import Path

import pytest

DOCS = Path(__file__).parents[2] / "docs"


@pytest.mark.parametrize("name", ["linear.md", "online.md"])
def test_user_guide(name):
    result = doctest.testfile(str(DOCS / name), module_relative=False)
    assert result.attempted > 0
    assert result.failed == 0
