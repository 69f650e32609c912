"""What all pictures share: colours that everybody can tell apart, and a figure when none is given."""

from __future__ import annotations

from typing import Any

OKABE_ITO = ["#0072B2", "#E69F00", "#009E73", "#CC79A7", "#56B4E9", "#D55E00", "#F0E442", "#000000"]
GREY = "#999999"


def axes(ax: Any = None) -> Any:
    """``ax`` itself, or the axes of a new figure."""
    if ax is not None:
        return ax
    import matplotlib.pyplot as plt

    return plt.subplots(layout="constrained")[1]
