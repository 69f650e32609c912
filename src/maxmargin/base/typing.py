"""Names for the types that appear everywhere.

The names say what an array holds; the checker only knows that it is an array, because the precision (float32
or float64) is decided at run time.
"""

from __future__ import annotations

from typing import Any

import numpy.typing as npt

FloatArray = npt.NDArray[Any]
IntArray = npt.NDArray[Any]
BoolArray = npt.NDArray[Any]
AnyArray = npt.NDArray[Any]

__all__ = ["AnyArray", "BoolArray", "FloatArray", "IntArray"]
