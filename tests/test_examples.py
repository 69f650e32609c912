"""Every example of the gallery runs without a warning that it does not expect."""

from __future__ import annotations

import runpy
from pathlib import Path

import pytest

from maxmargin import displays

FOLDER = Path(__file__).resolve().parents[1] / "examples"
EXAMPLES = sorted(FOLDER.glob("*/plot_*.py"))


def test_there_are_enough_and_they_ask():
    titles = [path.read_text(encoding="utf-8").split("\n")[1] for path in EXAMPLES]
    assert len(titles) >= 25
    assert all(title.endswith("?") for title in titles)
    assert len(set(titles)) == len(titles)


def test_every_display_is_in_the_gallery():
    """By its name, or through the ``display()`` of a result."""
    shown = "".join(path.read_text(encoding="utf-8") for path in EXAMPLES)
    through_a_result = {"TuneDisplay", "EvaluationDisplay"}
    named = {name for name in displays.__all__ if name.endswith("Display")}
    assert through_a_result <= named
    assert {name for name in named if name not in shown} <= through_a_result
    assert shown.count(".display()") >= len(through_a_result)


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: f"{path.parent.name}/{path.stem}")
def test_example_runs(path, capsys):
    import matplotlib.pyplot as plt

    plt.switch_backend("Agg")
    try:
        runpy.run_path(str(path))
    finally:
        plt.close("all")
