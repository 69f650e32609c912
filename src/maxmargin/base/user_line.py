"""Warnings that point to the user's line, whatever the depth of the call stack."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from sklearn.exceptions import ConvergenceWarning

_INSIDE = (__name__.partition(".")[0], "sklearn", "contextlib", "joblib")  # what wraps and runs our calls


def warn_user(message: str, category: type[Warning] = UserWarning) -> None:
    """Warn at the innermost line outside the libraries, which is the call that the user wrote."""
    frame, level = sys._getframe(), 1
    while frame.f_back is not None and frame.f_globals.get("__name__", "").partition(".")[0] in _INSIDE:
        frame, level = frame.f_back, level + 1
    warnings.warn(message, category, stacklevel=level)


@contextmanager
def warnings_once() -> Iterator[None]:
    """One warning at the end for all fits inside that did not converge; other warnings come at once."""
    unfinished: list[str] = []
    with warnings.catch_warnings():
        warnings.filterwarnings("always", category=ConvergenceWarning)
        show = warnings.showwarning

        def collect(message: Warning | str, category: type[Warning], *place: Any, **more: Any) -> None:
            if issubclass(category, ConvergenceWarning):
                unfinished.append(str(message))
            else:
                show(message, category, *place, **more)

        warnings.showwarning = collect
        yield
    if unfinished:
        several = f"{len(unfinished)} fits did not converge. The first: {unfinished[0]}"
        warn_user(several if len(unfinished) > 1 else unfinished[0], ConvergenceWarning)
