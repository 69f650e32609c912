"""Figures as images inside the page."""

from __future__ import annotations

import base64
import io
import re
from typing import Any

from maxmargin.displays.drawing.style import pyplot
from maxmargin.reports.blocks import Picture
from maxmargin.reports.words import Words

_FIGURE = re.compile(r"(?<=\d)\.(?=\d)")  # the decimal point
_LARGEST_SVG = 250_000  # bytes: a picture of many points is smaller, and quicker to show, as PNG
_STYLE: dict[Any, Any] = {
    "font.size": 10,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.titlesize": 10,
    "svg.fonttype": "path",
    "svg.hashsalt": "maxmargin",  # the same figure gives the same file
    "savefig.facecolor": "white",
}


def picture(
    display: Any, alt: str, words: Words, *, caption: str = "", size: tuple[float, float] = (5.6, 4.2)
) -> Picture:
    """Draw a display on a figure of its own, in the language of the page."""
    pyplot()  # or an error that says how to install it
    import matplotlib as mpl
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    with mpl.rc_context(_STYLE):
        # not through pyplot: nothing is left open, and no window appears
        figure = Figure(figsize=size, layout="constrained")
        FigureCanvasAgg(figure)
        display.plot(figure.subplots())
        _translate(figure, words)
        return Picture(source=_embedded(figure), alt=alt, caption=caption)


def _embedded(figure: Any) -> str:
    svg = _saved(figure, "svg")
    if len(svg) <= _LARGEST_SVG:
        return _data_uri("image/svg+xml", svg)
    return _data_uri("image/png", _saved(figure, "png"))


def _saved(figure: Any, kind: str) -> bytes:
    buffer = io.BytesIO()
    metadata = {"Date": None} if kind == "svg" else {}
    figure.savefig(buffer, format=kind, dpi=160, metadata=metadata)
    return buffer.getvalue()


def _data_uri(kind: str, content: bytes) -> str:
    return f"data:{kind};base64,{base64.b64encode(content).decode()}"


def _translate(figure: Any, words: Words) -> None:
    """Replace the English words of the displays by those of the page, and use its decimal mark."""
    from matplotlib.text import Text
    from matplotlib.ticker import FixedLocator, ScalarFormatter

    class Marked(ScalarFormatter):
        def __call__(self, x: float, pos: int | None = None) -> str:
            return str(super().__call__(x, pos)).replace(".", words.decimal)

    if not words.in_pictures:
        return
    for ax in figure.axes:
        for axis in (ax.xaxis, ax.yaxis):
            if type(axis.get_major_formatter()) is ScalarFormatter:
                axis.set_major_formatter(Marked())
            elif isinstance(axis.get_major_locator(), FixedLocator):  # fixed labels, such as values of C
                labels = [label.get_text() for label in axis.get_ticklabels()]
                axis.set_ticklabels([_FIGURE.sub(words.decimal, label) for label in labels])
    for artist in figure.findobj(Text):
        artist.set_text(translated(artist.get_text(), words))


def translated(text: str, words: Words) -> str:
    """``text`` with its phrases and decimal marks in the language of the page."""
    for phrase, other in words.in_pictures.items():
        text = re.sub(phrase, other, text)
    return _FIGURE.sub(words.decimal, text)
