"""The widget's Python end: messages in, the same bytes out as on the socket."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import maxmargin as mm
from tests.playground.test_session import POINTS, VIEW, unpacked

pytest.importorskip("anywidget", reason="pip install anywidget")


@pytest.mark.filterwarnings("ignore")  # of the notebook's own libraries
def test_the_widget_answers(monkeypatch: pytest.MonkeyPatch) -> None:
    X, y = np.array(POINTS)[:, :2], np.array(POINTS)[:, 2]
    widget = mm.play(mm.SVC(kernel="linear", C=3.0), X, y)
    sent: list[bytes] = []
    monkeypatch.setattr(widget, "send", lambda content, buffers: sent.extend(buffers))

    def ask(message: Any) -> Any:
        widget._handle_custom_msg(message, [])
        return unpacked(sent[-1])

    header, _ = ask({"do": "hello", "id": 1})
    assert header["start"]["settings"]["C"] == 3.0
    assert len(header["start"]["points"]) == 6
    header, arrays = ask(
        {"do": "fit", "id": 2, "points": POINTS, "view": VIEW, "settings": {"kernel": "linear"}}
    )
    assert (header["do"], header["id"], len(arrays["f"])) == ("fitted", 2, 48)
    assert ask({"do": "fit", "id": 3})[0]["do"] == "error"
    assert "export default { render: renderWidget };" in widget._esm
    assert mm.play is not None
    assert callable(mm.play)
