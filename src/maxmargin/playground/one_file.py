"""The page in one file: its modules joined, for notebooks and for lessons that need no Python."""

from __future__ import annotations

import base64
import hashlib
import json
import re
from importlib import resources
from typing import Any

import numpy as np

from maxmargin.playground.messages import Message, MessageError
from maxmargin.playground.session import Session
from maxmargin.playground.wire import Reply, packed

_MODULES = (
    "words", "wire", "contour", "datasets", "plane", "chart", "controls", "kkt", "stepping", "lesson",
    "tabletab", "app",
)  # fmt: skip
_GRID = {"nx": 60, "ny": 45}
_MOST_STATES = 120
_IMPORT = re.compile(r"^import .*;\n", re.MULTILINE)
_EXPORT = re.compile(r"^export ", re.MULTILINE)
_PAGE = """<!doctype html>
<html lang="{language}"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; script-src 'sha256-{digest}'; style-src 'unsafe-inline'; img-src blob: data:">
<title>{title}</title><link rel="icon" href="data:,"><style>{style}</style></head>
<body><div id="page" class="mm-page"></div>
<script type="application/json" id="recording">{recording}</script>
<script type="module">{script}</script></body></html>
"""  # noqa: E501  # a page


def page_file(name: str) -> str:
    """A file of the page."""
    return (resources.files("maxmargin.playground") / "page" / name).read_text(encoding="utf-8")


def joined_modules(last: str) -> str:
    """All modules as one, ending with ``last``, without imports and exports: top-level names are unique."""
    parts = [page_file(f"{name}.js") for name in (*_MODULES, last)]
    return "\n".join(_EXPORT.sub("", _IMPORT.sub("", part)) for part in parts)


def lesson_page(lesson: Message, language: str = "en") -> str:
    """A lesson as one HTML page with its recorded states."""
    recording = _coded(recorded(lesson, language))
    script = joined_modules("recorded") + (
        '\nwindow.mmPage = playRecording(document.getElementById("page"), '
        'JSON.parse(document.getElementById("recording").textContent)).page;\n'
    )
    title = lesson["title"] if isinstance(lesson["title"], str) else lesson["title"].get(language, "")
    return _PAGE.format(
        language=language,
        digest=base64.b64encode(hashlib.sha256(script.encode()).digest()).decode(),
        title=title.replace("&", "&amp;").replace("<", "&lt;"),
        style=page_file("page.css"),
        recording=json.dumps(recording).replace("<", "\\u003c"),
        script=script,
    )


def recorded(lesson: Message, language: str) -> dict[str, Any]:
    """The replies that the page would have asked for: the fit, and what it watches."""
    fixed = {"data", "machine", "lessons", "export"} | (set() if lesson.get("rival") else {"solver"})
    hidden = sorted({*lesson["hidden"], *fixed})  # the panel of the solver also compares two
    session = Session(lesson={**lesson, "hidden": hidden, "watch": True}, language=language)
    view = {**(lesson.get("view") or _around(lesson["points"])), **_GRID}
    request = {"points": lesson["points"], "settings": lesson["settings"], "view": view}
    ready = _asked(session, "hello")
    ready.header["recorded"] = True
    ready.header["lesson"]["view"] = {name: view[name] for name in ("x0", "x1", "y0", "y1")}
    fitted = _asked(session, "fit", **request, patient=True)
    found = {"ready": ready, "fitted": fitted, **_states(session, request)}
    if lesson.get("rival"):
        request["settings"] = {**lesson["settings"], "solver": lesson["rival"]}
        found["rival"] = _states(session, request, slot=1)
    return found


def _asked(session: Session, do: str, **more: Any) -> Reply:
    reply = session.handle({"do": do, **more}, lambda reply: None)
    if reply.header["do"] == "error":
        raise MessageError(reply.header["sentence"])
    return reply


def _states(session: Session, request: Message, slot: int = 0) -> dict[str, Any]:
    """A solver's curves and up to 120 of its states."""
    watched = _asked(session, "watch", **request, slot=slot)
    n = watched.header["steps"]
    chosen = np.unique(np.linspace(0, n - 1, min(_MOST_STATES, n)).round().astype(int)).tolist()
    states = [_asked(session, "step", k=k, view=request["view"], slot=slot) for k in chosen]
    watched.header |= {"steps": len(states), "all_steps": n}
    names = ("primal", "dual", "gap", "loss")
    curves = {name: np.array([state.header.get(name) or 0.0 for state in states]) for name in names}
    watched.arrays = {name: values for name, values in curves.items() if values.any()}
    watched.arrays["at"] = np.arange(len(states))
    return {"watched": watched, "steps": states}


def _coded(value: Any) -> Any:
    if isinstance(value, list):
        return [_coded(one) for one in value]
    if isinstance(value, dict):
        return {name: _coded(one) for name, one in value.items()}
    return base64.b64encode(packed(value)).decode()


def _around(points: list[list[float]]) -> dict[str, float]:
    """The usual part of the plane, or more where points lie outside of it; the page shows this part."""
    x = max([4.0, *(1.1 * abs(point[0]) for point in points)])
    y = max([3.0, *(1.1 * abs(point[1]) for point in points)])
    return {"x0": -x, "x1": x, "y0": -y, "y1": y}
