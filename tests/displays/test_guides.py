"""The pages of the user guide run."""

from __future__ import annotations

import doctest
from pathlib import Path

import matplotlib as mpl
import pytest

mpl.use("Agg")
DOCS = Path(__file__).resolve().parents[2] / "docs"


@pytest.mark.parametrize("page", ["pictures.md", "report.md"])
def test_guide_runs(page, tmp_path, monkeypatch):
    import matplotlib.pyplot as plt

    monkeypatch.chdir(tmp_path)
    result = doctest.testfile(str(DOCS / page), module_relative=False)
    plt.close("all")
    assert result.attempted > 8
    assert result.failed == 0
