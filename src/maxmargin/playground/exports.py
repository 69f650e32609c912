"""Downloads of the page. The server sends bytes and writes no files."""

from __future__ import annotations

import numpy as np
import pandas as pd

from maxmargin.base.typing import AnyArray
from maxmargin.playground.messages import Message, PlaneMessage, choice, plane_message
from maxmargin.playground.plane import estimator_of, training_data
from maxmargin.playground.wire import Reply
from maxmargin.reports.sections.reproduce_section import model_lines


def plane_file(message: Message) -> Reply:
    """The points as CSV, or the Python lines that fit the same machine to them."""
    what = choice(message, "what", ("lines", "points"))
    wanted = plane_message({name: value for name, value in message.items() if name != "what"})
    if what == "points":
        table = pd.DataFrame(wanted.points, columns=["x", "y"]).assign(label=wanted.classes)
        return file_reply("points.csv", "text/csv", table.to_csv(index=False).encode())
    return file_reply("fit.py", "text/x-python", python_text(wanted).encode())


def python_text(wanted: PlaneMessage) -> str:
    """A program that fits the machine to the points and prints its certificate."""
    X, y = training_data(wanted)
    model = estimator_of(wanted.settings, len(X))
    lines = [*model_lines(model)[:-1], "import numpy as np", "", f"X = np.array({_rounded(X)})"]
    if y is not None:
        lines.append(f"y = np.array({_rounded(y)})")
    lines += [
        model_lines(model)[-1],
        f"model.fit({'X' if y is None else 'X, y'})",
        "print(model.certificate_)",
    ]
    if y is not None and hasattr(model, "kernel"):
        lines.append("print(mm.kkt_table(model))")
    return "\n".join(lines) + "\n"


def _rounded(values: AnyArray) -> str:
    return str(np.round(values, 6).tolist())


def file_reply(name: str, kind: str, body: bytes) -> Reply:
    """A file for the browser to keep."""
    return Reply({"do": "file", "name": name, "type": kind}, body=body)
