"""Warnings that point to the user's line, whatever the depth of the call stack."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager

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
    """Show the warnings of many fits at the end, each text once, and one for all that did not converge."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        yield
    unfinished = [str(w.message) for w in caught if issubclass(w.category, ConvergenceWarning)]
    others = [w for w in caught if not issubclass(w.category, ConvergenceWarning)]
    for w in {(w.category, str(w.message)): w for w in others}.values():
        warnings.warn_explicit(w.message, w.category, w.filename, w.lineno)
    if unfinished:
        several = f"{len(unfinished)} fits did not converge. The first: {unfinished[0]}"
        warn_user(several if len(unfinished) > 1 else unfinished[0], ConvergenceWarning)
