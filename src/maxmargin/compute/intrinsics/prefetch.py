"""Load memory into the cache before it is needed, because rows in random order are slow to read."""

from __future__ import annotations

from typing import Any

import numpy as np

from maxmargin.base.typing import AnyArray
from maxmargin.compute.intrinsics.choice import code_for


def prefetch_plain(array: AnyArray, at: int) -> None:
    """Nothing: prefetching changes no value."""


def _trial(function: Any) -> Any:
    def asked(array: AnyArray) -> AnyArray:
        function(array, np.intp(1))
        return array

    return asked


prefetch = code_for(lambda llvm_code: llvm_code.prefetch(), prefetch_plain, _trial, np.ones(2))
