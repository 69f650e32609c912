"""The examples of the guide to model files run as they are printed."""

from __future__ import annotations

import doctest
from pathlib import Path

import pytest

pytest.importorskip("skops")


def test_user_guide() -> None:
    guide = Path(__file__).parents[2] / "docs" / "model_files.md"
    result = doctest.testfile(str(guide), module_relative=False)
    assert result.attempted > 0
    assert result.failed == 0
