"""Pictures are drawn without a window, and no figure outlives its test."""

from __future__ import annotations

from collections.abc import Iterator

import matplotlib as mpl
import pytest

mpl.use("Agg")


@pytest.fixture(autouse=True)
def _close_figures() -> Iterator[None]:
    import matplotlib.pyplot as plt

    yield
    plt.close("all")
