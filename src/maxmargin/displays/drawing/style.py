"""Colours that people with colour blindness can tell apart, markers, figures and legends."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Self

from maxmargin.base.typing import AnyArray, FloatArray

if TYPE_CHECKING:
    from matplotlib.axes import Axes


OKABE_ITO = ["#0072B2", "#E69F00", "#009E73", "#CC79A7", "#56B4E9", "#D55E00", "#F0E442", "#000000"]
GREY = "#999999"
NEGATIVE, POSITIVE, NEUTRAL = OKABE_ITO[0], OKABE_ITO[5], GREY  # colours of two classes
MARKERS = "o^sDvP*Xph"  # classes differ in shape too, for prints without colour
_CLASSES = [OKABE_ITO[k] for k in (0, 5, 2, 1, 3, 4, 6, 7)]
_POINTS_BELOW = 42  # distance from the axes down to a legend, below ticks and axis label


def pyplot() -> Any:
    """matplotlib.pyplot, or an error that tells how to install it."""
    try:
        import matplotlib.pyplot as plt
    except ImportError as missing:
        raise ImportError("plots need matplotlib: pip install 'maxmargin[plot]'.") from missing
    return plt


def axes(ax: Axes | None = None) -> Any:
    """``ax``, or the axes of a new figure, without the lines above and on the right."""
    if ax is None:
        ax = pyplot().subplots(layout="constrained")[1]
    ax.spines[["top", "right"]].set_visible(False)
    return ax


class Display:
    """Base class of displays on one Axes; a subclass implements `_draw`."""

    def plot(self, ax: Axes | None = None) -> Self:
        """Draw on ``ax``, or on a new figure; the Axes are then in ``ax_``, the figure in ``figure_``."""
        self.ax_: Any = axes(ax)
        self.figure_: Any = self.ax_.figure
        self._draw(self.ax_)
        return self

    def _draw(self, ax: Any) -> None:
        raise NotImplementedError(f"{type(self).__name__} does not say how it is drawn")


def class_colour(k: int) -> str:
    """The colour of the k-th class."""
    return _CLASSES[k % len(_CLASSES)]


def class_marker(k: int) -> str:
    """The marker of the k-th class."""
    return MARKERS[k % len(MARKERS)]


def scatter_classes(
    ax: Axes, positions: FloatArray, codes: AnyArray, classes: Sequence[str], **look: Any
) -> list[Any]:
    """The rows as points, in the colour and shape of their class."""
    return [
        ax.scatter(
            *positions[codes == k].T, color=class_colour(k), marker=class_marker(k), label=name, **look
        )
        for k, name in enumerate(classes)
    ]


def shortened(text: str, length: int = 32) -> str:
    """A long name, cut in the middle, because names often differ at their ends."""
    if len(text) <= length:
        return text
    head = (length - 1) // 2
    return f"{text[:head]}…{text[len(text) - (length - 1 - head) :]}"


def tint(colour: str, share: float = 0.22) -> tuple[float, float, float]:
    """A colour mixed with white, for regions behind points."""
    from matplotlib.colors import to_rgb

    red, green, blue = (1.0 - share * (1.0 - part) for part in to_rgb(colour))
    return red, green, blue


def legend_below(ax: Axes, *, ncols: int = 2, handles: Sequence[Any] | None = None) -> Any:
    """A legend below the axes, where it covers no points."""
    from matplotlib.transforms import ScaledTranslation

    down = ScaledTranslation(0.0, -_POINTS_BELOW / 72.0, ax.figure.dpi_scale_trans)
    options = {} if handles is None else {"handles": handles}
    return ax.legend(
        loc="upper center",
        bbox_to_anchor=(0.5, 0.0),
        bbox_transform=ax.transAxes + down,
        ncols=ncols,
        frameon=False,
        fontsize="small",
        **options,
    )
