"""Decides whether this process uses an instruction of `llvm_code` or its plain twin."""

from __future__ import annotations

import logging
from collections.abc import Callable
from importlib import import_module
from typing import Any

import numba
import numpy as np

from maxmargin.base.typing import AnyArray
from maxmargin.compute.jit import COMPILES, NEWEST_TESTED, PLAIN, Function, jit_row


def code_for(build: Callable[[Any], Any], plain: Function, trial: Function, *arguments: AnyArray) -> Any:
    """The instruction that ``build`` makes from the module `llvm_code`, or its plain twin.

    The twin is used without compilation (NUMBA_DISABLE_JIT=1), on request (MAXMARGIN_PLAIN=1: give it a
    NUMBA_CACHE_DIR of its own), and if a later Numba or llvmlite refuses the instruction or changes its
    values. ``trial(function)`` returns a function of ``arguments`` that calls it and returns an array.
    """
    if not COMPILES:
        return plain
    if PLAIN:
        return jit_row(plain)
    try:
        clever = build(_llvm_code())
        if numba.version_info.short > NEWEST_TESTED:
            run: Any = numba.njit(trial(clever))
            found = run(*(argument.copy() for argument in arguments))
            if not np.allclose(found, trial(plain)(*arguments), rtol=1e-6):
                raise ValueError("it gives other values")
    except Exception as refused:  # an unknown version may raise anything
        logging.getLogger("maxmargin").warning(
            "Numba %s does not compile the vector instructions of maxmargin (%s: %s), so slower plain code "
            "serves instead of %s. Use Numba %d.%d or earlier for full speed.",
            numba.__version__, type(refused).__name__, str(refused).split("\n")[0], plain.__name__,
            *NEWEST_TESTED,
        )  # fmt: skip
        return jit_row(plain)
    return clever


def vector_bits() -> int:
    """Width of the vector registers that Numba compiles for: 512, 256 or 128."""
    try:
        bits: int = _llvm_code().vector_bits()
    except Exception:  # a version or a processor that we do not know
        return 128
    return bits


def _llvm_code() -> Any:
    return import_module("maxmargin.compute.intrinsics.llvm_code")
