"""The code of the user guide runs."""

from __future__ import annotations

import re
from pathlib import Path

import matplotlib as mpl
import pytest

GUIDES = Path(__file__).parents[2] / "docs"


@pytest.mark.parametrize("name", ["metrics.md", "scorecards.md"])
def test_guide_runs(name, capsys):
    import matplotlib.pyplot as plt

    mpl.use("Agg")
    blocks = re.findall(r"```python\n(.*?)```", (GUIDES / name).read_text(), flags=re.S)
    assert blocks
    exec(compile("\n".join(blocks), name, "exec"), {})
    plt.close("all")
