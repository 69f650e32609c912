"""Bit-level tools for jitted code: powers of two from exponents, and floats as integers in the same order."""

from __future__ import annotations

from typing import Any

from llvmlite import ir
from numba import types
from numba.core.errors import TypingError
from numba.extending import intrinsic

# Numba calls these functions with its own typing context, so they are untyped on purpose.


@intrinsic
def power_of_two_f32(typingctx: Any, exponent: Any) -> Any:
    """2.0 ** exponent as float32, for an int32 exponent in [-126, 127]."""
    if exponent != types.int32:
        raise TypingError("power_of_two_f32 takes an int32")

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        biased = builder.add(args[0], ir.Constant(ir.IntType(32), 127))
        field = builder.shl(biased, ir.Constant(ir.IntType(32), 23))
        return builder.bitcast(field, ir.FloatType())

    return types.float32(types.int32), codegen


@intrinsic
def power_of_two_f64(typingctx: Any, exponent: Any) -> Any:
    """2.0 ** exponent as float64, for an int32 exponent in [-1022, 1023]."""
    if exponent != types.int32:
        raise TypingError("power_of_two_f64 takes an int32")

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        wide = builder.sext(args[0], ir.IntType(64))
        biased = builder.add(wide, ir.Constant(ir.IntType(64), 1023))
        field = builder.shl(biased, ir.Constant(ir.IntType(64), 52))
        return builder.bitcast(field, ir.DoubleType())

    return types.float64(types.int32), codegen


@intrinsic
def bits_f64(typingctx: Any, value: Any) -> Any:
    """The bits of a float64 as int64. For values >= 0 integers and floats have the same order."""
    if value != types.float64:
        raise TypingError("bits_f64 takes a float64")

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return builder.bitcast(args[0], ir.IntType(64))

    return types.int64(types.float64), codegen


@intrinsic
def bits_f32(typingctx: Any, value: Any) -> Any:
    """The bits of a float32 as int32. For values >= 0 integers and floats have the same order."""
    if value != types.float32:
        raise TypingError("bits_f32 takes a float32")

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return builder.bitcast(args[0], ir.IntType(32))

    return types.int32(types.float32), codegen
