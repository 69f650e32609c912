"""One row of the subsequence recursion, in explicit vector instructions.

The recursion along a string is a chain, so the only room for vectors is across strings. Written as loops over
lanes, the compiler keeps the chain in memory and asks at every step whether arrays overlap, which is several
times slower. Hence a row is given to LLVM as operations on vectors of LANES numbers, which it maps to the
registers of whatever processor it finds.
"""

from __future__ import annotations

from typing import Any

from llvmlite import ir
from numba.core import cgutils, types
from numba.extending import intrinsic

LANES = 16  # strings side by side

_NUMBERS = ir.VectorType(ir.DoubleType(), LANES)
_CODES = ir.VectorType(ir.IntType(32), LANES)
_FUSED = ("contract",)


class _Row:
    """Vectors of arrays of shape (rows, LANES), and numbers spread over all lanes."""

    def __init__(self, context: Any, builder: Any, signature: Any, arguments: Any) -> None:
        self._context, self._builder = context, builder
        self._types, self._values = signature.args, arguments

    def pointer(self, which: int, vector: Any) -> Any:
        array = self._context.make_array(self._types[which])(self._context, self._builder, self._values[which])
        return self._builder.bitcast(array.data, vector.as_pointer())

    def load(self, pointer: Any, at: Any) -> Any:
        size = 4 if pointer.type.pointee == _CODES else 8
        return self._builder.load(self._builder.gep(pointer, [at]), align=size)

    def store(self, value: Any, pointer: Any, at: Any) -> None:
        self._builder.store(value, self._builder.gep(pointer, [at]), align=8)

    def spread(self, number: Any) -> Any:
        empty = ir.Constant(_NUMBERS, ir.Undefined)
        first = self._builder.insert_element(empty, number, ir.Constant(ir.IntType(32), 0))
        order = ir.Constant(ir.VectorType(ir.IntType(32), LANES), [0] * LANES)
        return self._builder.shuffle_vector(first, empty, order)


def _emit(context: Any, builder: Any, signature: Any, arguments: Any, *, keep: bool) -> Any:
    row = _Row(context, builder, signature, arguments)
    lanes, before = row.pointer(1, _CODES), row.pointer(3, _NUMBERS)
    here, total = row.pointer(4, _NUMBERS), row.pointer(5, _NUMBERS)
    zero = cgutils.intp_t(0)
    symbols = row.load(row.pointer(0, _CODES), zero)
    decay, fade, gain = (row.spread(arguments[k]) for k in (6, 7, 8))
    nothing = ir.Constant(_NUMBERS, [0.0] * LANES)
    running, open_ = (cgutils.alloca_once_value(builder, nothing) for _ in range(2))
    with cgutils.for_range(builder, arguments[2]) as loop:
        same = builder.icmp_signed("==", row.load(lanes, loop.index), symbols)
        continued = builder.fmul(row.load(before, loop.index), gain, flags=_FUSED)
        gained = builder.select(same, continued, nothing)
        builder.store(builder.fadd(builder.load(running), gained, flags=_FUSED), running)
        if keep:
            left = builder.fadd(builder.fmul(decay, builder.load(open_), flags=_FUSED), gained, flags=_FUSED)
            builder.store(left, open_)
            after = builder.add(loop.index, cgutils.intp_t(1))
            faded = builder.fmul(fade, row.load(here, after), flags=_FUSED)
            row.store(builder.fadd(faded, left, flags=_FUSED), here, after)
    row.store(builder.fadd(row.load(total, zero), builder.load(running), flags=_FUSED), total, zero)
    return context.get_dummy_value()


@intrinsic
def advance(typing_context, symbols, lanes, width, before, here, total, decay, fade, gain):  # type: ignore[no-untyped-def]  # jitted
    """For every position j: gained = gain before[j] where lanes[j] = symbols, else 0; total += gained;
    open = decay open + gained; here[j + 1] = fade here[j + 1] + open.

    ``before[j]`` and ``here[j + 1]`` are what lies before and after position j.
    """
    signature = types.void(symbols, lanes, width, before, here, total, decay, fade, gain)

    def code(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return _emit(context, builder, signature, arguments, keep=True)

    return signature, code


@intrinsic
def complete(typing_context, symbols, lanes, width, before, here, total, decay, fade, gain):  # type: ignore[no-untyped-def]  # jitted
    """`advance` for the last level, which nothing continues: only ``total`` changes."""
    signature = types.void(symbols, lanes, width, before, here, total, decay, fade, gain)

    def code(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return _emit(context, builder, signature, arguments, keep=False)

    return signature, code
