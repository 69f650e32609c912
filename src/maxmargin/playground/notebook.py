"""The page in a notebook (Jupyter, marimo, VS Code): the only module that knows anywidget."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
from sklearn.base import is_classifier, is_regressor

from maxmargin.base.typing import TableLike, TargetLike
from maxmargin.playground.messages import KERNELS, MACHINES, MAX_CLASSES, MAX_POINTS, SOLVERS
from maxmargin.playground.one_file import joined_modules, page_file
from maxmargin.playground.session import Session
from maxmargin.playground.wire import packed


def play(model: Any = None, X: TableLike | None = None, y: TargetLike | None = None) -> Any:
    """The live page in a notebook cell: points, boundary, steps of the solver and conditions.

    Parameters
    ----------
    model : SVC, NuSVC, HardMarginSVC, SVR, NuSVR, OneClassSVM, SVDD, Perceptron or Pegasos, whose settings
        the page starts from; or None.
    X, y : points to start from: two columns and a label; for regression one column and the target.

    Returns
    -------
    A widget; needs ``pip install 'maxmargin[widget]'``.

    Examples
    --------
    In a notebook:

    >>> import maxmargin as mm
    >>> X, y = [[0.0, 0.0], [1.0, 2.0], [3.0, 3.0]], [0, 0, 1]
    >>> widget = mm.play(mm.SVC(C=10), X, y)  # doctest: +SKIP
    """
    try:
        import anywidget
        import traitlets
    except ImportError as missing:
        raise ImportError("mm.play needs anywidget: pip install 'maxmargin[widget]'.") from missing

    class PlayWidget(anywidget.AnyWidget):
        _esm = traitlets.Unicode(widget_module()).tag(sync=True)
        _css = traitlets.Unicode(page_file("page.css")).tag(sync=True)

        def __init__(self) -> None:
            super().__init__()
            self.session = Session(start=start_of(model, X, y))
            self.on_msg(self._heard)

        def _heard(self, widget: Any, message: Any, buffers: Any) -> None:
            def say(reply: Any) -> None:
                self.send({"kind": "reply"}, buffers=[packed(reply)])

            if isinstance(message, dict):
                say(self.session.handle(message, say))

    return PlayWidget()


def widget_module() -> str:
    """The modules of the page as the one module that anywidget takes."""
    return joined_modules("notebook") + "\nexport default { render: renderWidget };\n"


def start_of(model: Any, X: Any, y: Any) -> dict[str, Any]:
    """The state that the page begins with, from a model and its rows."""
    start: dict[str, Any] = {}
    if model is not None:
        start["settings"] = _settings(model)
    if X is not None:
        start["points"] = _points(model, np.asarray(X, dtype=np.float64), y)
    return start


def _settings(model: Any) -> dict[str, Any]:
    name = type(model).__name__
    if name not in MACHINES:
        raise TypeError(f"mm.play shows {', '.join(MACHINES)}, not {name}.")
    given = model.get_params(deep=False)
    found: dict[str, Any] = {"machine": name, "expression": "2*RBF(gamma=1) + Linear()", "solver": "smo"}
    found |= {"gamma": 1.0, "degree": 3, "coef0": 1.0, "C": 1.0, "nu": 0.3, "epsilon": 0.3, "kernel": "rbf"}
    for key in ("C", "nu", "epsilon", "degree", "coef0"):
        if isinstance(given.get(key), (int, float)) and np.isfinite(given[key]):
            found[key] = given[key]
    if given.get("solver") in SOLVERS[1:]:
        found["solver"] = given["solver"]
    kernel = given.get("kernel", "linear")
    if kernel in KERNELS[:-1]:
        found["kernel"] = kernel
        fitted = getattr(getattr(model, "kernel_", None), "gamma", given.get("gamma"))
        found["gamma"] = float(fitted) if isinstance(fitted, (int, float)) else 1.0
    else:
        found |= {"kernel": "expression", "expression": kernel if isinstance(kernel, str) else repr(kernel)}
    return found


def _points(model: Any, X: Any, y: Any) -> list[list[float]]:
    if X.ndim == 2 and X.shape[1] == 1 and is_regressor(model) and y is not None:
        X, y = np.column_stack([X, np.asarray(y, dtype=np.float64)]), None
    if X.ndim != 2 or X.shape[1] != 2 or len(X) > MAX_POINTS:
        raise ValueError(f"mm.play shows up to {MAX_POINTS} rows of two columns, X has shape {X.shape}.")
    codes = np.zeros(len(X), dtype=np.int64)
    if y is not None and (model is None or is_classifier(model)):
        codes = pd.factorize(np.asarray(y), sort=True)[0]
        if codes.max() >= MAX_CLASSES:
            raise ValueError(f"mm.play shows up to {MAX_CLASSES} classes, y has {codes.max() + 1}.")
    return [[float(a), float(b), int(code)] for (a, b), code in zip(X, codes, strict=True)]
