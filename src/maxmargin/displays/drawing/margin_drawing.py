"""The parts of a margin plot."""

from __future__ import annotations

from typing import Any

import numpy as np

from maxmargin.base.typing import AnyArray, BoolArray, FloatArray, IntArray
from maxmargin.displays.drawing.style import (
    GREY,
    OKABE_ITO,
    class_colour,
    class_marker,
    legend_below,
    shortened,
    tint,
)
from maxmargin.displays.machines.support_display import crossings

_LABELS = {
    "two classes": {
        "free": "support vector on the margin",
        "inside": "inside the margin",
        "misclassified": "misclassified",
    },
    "classes": {"free": "support vector"},
    "outliers": {"free": "support vector on the contour", "misclassified": "support vector outside"},
    "regression": {"free": "support vector on the tube", "inside": "support vector outside"},
}
_RINGS = {"free": "o", "inside": "s", "misclassified": "D"}
_POINT = 26
_MOST_RINGS = 60
_MOST_ROWS = 1000  # of a class
_MANY = 500
_SLACK: dict[str, Any] = {"colors": "black", "linewidths": 0.7, "linestyles": "-", "alpha": 0.55}


def draw_plane(ax: Any, d: Any) -> None:
    """Two variables: regions, boundary, margins, rows."""
    _regions(ax, d)
    _segments(ax, d.slacks)
    _rows(ax, d, d.positions[:, 0], d.positions[:, 1])
    _rings(ax, d, d.positions[:, 0], d.positions[:, 1])
    ax.set(xlabel=shortened(d.names[0], 48), ylabel=shortened(d.names[1], 48))
    ax.set(xlim=d.lattice[0][[0, -1]], ylim=d.lattice[1][[0, -1]])
    legend_below(ax, handles=[*_handles(ax), *_line_handles(d)])


def draw_line(ax: Any, d: Any) -> None:
    """One variable: a line for every class, with the boundary and the margins as vertical lines."""
    x, f = d.lattice[0], d.surface
    levels = {0.0: "-", -1.0: "--", 1.0: "--"} if d.margins else {0.0: "-"}
    codes = f if d.task == "classes" else (f > 0).astype(np.float64)
    _strips(ax, d, x, codes)
    if d.task != "classes":
        for level, style in levels.items():
            for root in crossings(d.lattice, f - level)[:, 0]:
                ax.axvline(root, color="black", linestyle=style, linewidth=1.6 if level == 0 else 1.0)
    heights = _heights(d)
    _segments(ax, np.insert(d.slacks, 1, _segment_heights(d, heights)[:, None], axis=2))
    _rows(ax, d, d.positions[:, 0], heights)
    _rings(ax, d, d.positions[:, 0], heights)
    ax.set(xlabel=shortened(d.names[0], 48), xlim=x[[0, -1]])
    n = max(1, len(d.classes))
    ax.set_yticks(range(len(d.classes)), [shortened(name, 24) for name in d.classes])
    ax.set_ylim(-0.6, n - 0.4)
    legend_below(ax, handles=[*_handles(ax), *_line_handles(d)])


def draw_tube(ax: Any, d: Any) -> None:
    """A regression on one variable: the function, its tube, and the rows outside."""
    x, f = d.lattice[0], d.surface
    if d.epsilon is not None:
        label = f"tube of half width {d.epsilon:.3g}"
        ax.fill_between(x, f - d.epsilon, f + d.epsilon, color=tint(OKABE_ITO[4], 0.4), label=label, lw=0)
    ax.plot(x, f, color=OKABE_ITO[0], label="f")
    _segments(ax, d.slacks)
    y = d.target
    ax.scatter(d.positions[:, 0], y, s=_POINT, color=GREY, linewidths=0, label="rows", zorder=3)
    _rings(ax, d, d.positions[:, 0], y)
    ax.set(xlabel=shortened(d.names[0], 48), ylabel=shortened(d.target_name, 48), xlim=x[[0, -1]])
    legend_below(ax)


def draw_surface(ax: Any, d: Any) -> None:
    """A regression on two variables: the function as a heat map, the rows coloured by their target."""
    low, high = np.nanmin([d.surface.min(), d.target.min()]), np.nanmax([d.surface.max(), d.target.max()])
    image = ax.contourf(*d.lattice, d.surface, levels=np.linspace(low, high, 15), cmap="cividis", alpha=0.8)
    ax.figure.colorbar(image, ax=ax, label=d.target_name)
    ax.scatter(
        *d.positions.T, c=d.target, cmap="cividis", vmin=low, vmax=high, s=_POINT, edgecolors="white",
        linewidths=0.6, label="rows (true value)",
    )  # fmt: skip
    _rings(ax, d, d.positions[:, 0], d.positions[:, 1])
    ax.set(xlabel=shortened(d.names[0], 48), ylabel=shortened(d.names[1], 48))
    legend_below(ax)


# -- parts ---------------------------------------------------------------------------------------


def _side_colours(d: Any) -> list[Any]:
    if d.task == "outliers":
        return [tint(GREY, 0.18), tint(OKABE_ITO[0])]
    return [tint(class_colour(k)) for k in range(len(d.classes))]


def _regions(ax: Any, d: Any) -> None:
    x, y = d.lattice
    if d.task == "classes":
        n = len(d.classes)
        ax.contourf(x, y, d.surface, levels=np.arange(n + 1) - 0.5, colors=_side_colours(d))
        # a contour for every class: contours of the codes would merge between classes that are not neighbours
        for k in range(n):
            ax.contour(x, y, d.surface == k, levels=[0.5], colors="black", linewidths=1.0)
        return
    ax.contourf(x, y, d.surface, levels=[-np.inf, 0.0, np.inf], colors=_side_colours(d))
    _contour(ax, d, 0.0, "-", 1.8)
    if d.margins:
        _contour(ax, d, -1.0, "--", 1.1)
        _contour(ax, d, 1.0, "--", 1.1)


def _contour(ax: Any, d: Any, level: float, style: str, width: float) -> None:
    if d.surface.min() < level < d.surface.max():
        ax.contour(*d.lattice, d.surface, levels=[level], colors="black", linestyles=style, linewidths=width)


def _strips(ax: Any, d: Any, x: FloatArray, codes: FloatArray) -> None:
    """Intervals in the colour of the predicted class."""
    colours = _side_colours(d)
    edges = np.flatnonzero(np.diff(codes)) + 1
    for part in np.split(np.arange(len(x)), edges):
        end = min(part[-1] + 1, len(x) - 1)
        ax.axvspan(x[part[0]], x[end], color=colours[int(codes[part[0]])], linewidth=0)


def _heights(d: Any) -> FloatArray:
    """Heights of the rows: the class, plus a small fixed offset that separates equal values."""
    level = np.zeros(len(d.positions)) if d.target is None else d.target.astype(np.float64)
    return level + np.random.default_rng(0).uniform(-0.25, 0.25, len(level))


def _segment_heights(d: Any, heights: FloatArray) -> FloatArray:
    """The height of the row where a segment starts; rows at the same place share the first height."""
    if not len(d.slacks):
        return np.empty(0)
    order = np.argsort(d.positions[:, 0], kind="stable")
    place = np.searchsorted(d.positions[order, 0], d.slacks[:, 0, 0])
    return heights[order[np.minimum(place, len(order) - 1)]]


def _segments(ax: Any, segments: FloatArray) -> None:
    from matplotlib.collections import LineCollection

    if len(segments):
        shown = segments[_thinned(np.ones(len(segments), dtype=bool), 2 * _MOST_RINGS)]
        ax.add_collection(LineCollection(list(shown), **_SLACK))


def _rows(ax: Any, d: Any, x: FloatArray, y: FloatArray) -> None:
    """A mark for every row, at most 1000 per class; smaller marks if there are many."""
    size = _POINT if len(x) <= _MANY else 0.4 * _POINT
    if d.target is None:
        mine = _thinned(np.ones(len(x), dtype=bool), _MOST_ROWS)
        ax.scatter(x[mine], y[mine], s=size, color=OKABE_ITO[0], linewidths=0, label="rows", zorder=3)
        return
    for k, name in enumerate(d.classes):
        mine = _thinned(d.target == k, _MOST_ROWS)
        ax.scatter(
            x[mine], y[mine], s=size, color=class_colour(k), marker=class_marker(k), linewidths=0.4,
            edgecolors="white", label=shortened(name), zorder=3,
        )  # fmt: skip


def _rings(ax: Any, d: Any, x: FloatArray, y: FloatArray) -> None:
    """An open mark around every support vector; its shape shows the kind. At most 60 of each kind."""
    if d.kinds is None:
        return
    kinds: AnyArray = d.kinds
    for kind, label in _LABELS[d.task].items():
        mine = _thinned(kinds == kind, _MOST_RINGS)
        if len(mine):
            ax.scatter(
                x[mine], y[mine], s=3.2 * _POINT, facecolors="none", edgecolors="black", linewidths=0.9,
                marker=_RINGS[kind], label=label, zorder=4,
            )  # fmt: skip


def _thinned(mask: BoolArray, most: int) -> IntArray:
    """The positions of a mask, thinned out evenly if there are more than ``most``."""
    places = np.flatnonzero(mask)
    if len(places) <= most:
        return places
    return places[np.linspace(0, len(places) - 1, most).round().astype(np.int64)]


def _handles(ax: Any) -> list[Any]:
    return list(ax.get_legend_handles_labels()[0])


def _line_handles(d: Any) -> list[Any]:
    from matplotlib.lines import Line2D

    handles = [Line2D([], [], color="black", linewidth=1.8, label="boundary")]
    if d.margins:
        handles.append(Line2D([], [], color="black", linewidth=1.1, linestyle="--", label="margins"))
    if len(d.slacks):
        handles.append(Line2D([], [], color="black", linewidth=0.7, alpha=0.55, label="slack"))
    return handles
