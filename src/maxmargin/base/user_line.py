"""Warnings that point to the user's line, whatever the depth of the call stack."""

from __future__ import annotations

import sys
import warnings

_INSIDE = (__name__.partition(".")[0], "sklearn")  # scikit-learn wraps transform


def warn_user(message: str, category: type[Warning] = UserWarning) -> None:
    """Warn at the innermost line outside the libraries, which is the call that the user wrote."""
    frame, level = sys._getframe(), 1
    while frame.f_back is not None and frame.f_globals.get("__name__", "").partition(".")[0] in _INSIDE:
        frame, level = frame.f_back, level + 1
    warnings.warn(message, category, stacklevel=level)
