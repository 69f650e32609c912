"""Colours and axes that all displays share."""

from __future__ import annotations

from typing import Any

# Okabe & Ito (2008), told apart with any colour vision:
# black, orange, sky blue, green, yellow, blue, vermilion, purple
OKABE_ITO = ["#000000", "#E69F00", "#56B4E9", "#009E73", "#F0E442", "#0072B2", "#D55E00", "#CC79A7"]
POSITIVE, NEGATIVE, NEUTRAL = OKABE_ITO[6], OKABE_ITO[5], "#999999"


def axes(ax: Any = None) -> Any:
    """The given Axes, or those of a new figure."""
    if ax is not None:
        return ax
    import matplotlib.pyplot as plt

    return plt.subplots()[1]
