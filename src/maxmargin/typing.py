"""Names for the types that appear everywhere."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

FloatArray = npt.NDArray[np.floating[Any]]
IntArray = npt.NDArray[np.integer[Any]]
BoolArray = npt.NDArray[np.bool_]
AnyArray = npt.NDArray[Any]

__all__ = ["AnyArray", "BoolArray", "FloatArray", "IntArray"]
