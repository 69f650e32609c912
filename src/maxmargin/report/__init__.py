"""The report: one HTML file about a fitted model, to show to somebody. ``mm.report(...)`` writes it.

The room has the name of its only function, and an import puts the room, not the function, into the package:
so the room itself can be called.
"""

import sys
from inspect import signature
from types import ModuleType
from typing import Any

from maxmargin.report.page import report


class _CallableRoom(ModuleType):
    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return report(*args, **kwargs)


__signature__ = signature(report)
sys.modules[__name__].__class__ = _CallableRoom

__all__ = ["report"]
