"""One symbol of the subsequence recursion, in explicit vector instructions.

The recursion along a string is a chain, so the only room for vectors is across strings. Written as loops over
lanes, the compiler keeps the chain in memory and asks at every step whether arrays overlap, which is several
times slower. Hence the step is given to LLVM as operations on vectors of LANES numbers, which it maps to the
registers of whatever processor it finds; up to LEVELS levels share one pass over the strings.
"""

from __future__ import annotations

from typing import Any

from llvmlite import ir
from numba.core import cgutils, types
from numba.extending import intrinsic

LANES = 16  # strings side by side
LEVELS = 4  # levels in one pass: their chains fill the registers

_NUMBERS = ir.VectorType(ir.DoubleType(), LANES)
_CODES = ir.VectorType(ir.IntType(32), LANES)
_FUSED = ("contract",)


class _Emitter:
    """Writes the pass: vectors of arrays of shape (..., LANES), and numbers spread over all lanes."""

    def __init__(self, context: Any, builder: Any, signature: Any, arguments: Any) -> None:
        self.context, self.builder = context, builder
        self.types, self.values = signature.args, arguments

    def pointer(self, which: int, vector: Any) -> Any:
        array = self.context.make_array(self.types[which])(self.context, self.builder, self.values[which])
        return self.builder.bitcast(array.data, vector.as_pointer())

    def load(self, pointer: Any, at: Any, align: int = 8) -> Any:
        return self.builder.load(self.builder.gep(pointer, [at]), align=align)

    def store(self, value: Any, pointer: Any, at: Any) -> None:
        self.builder.store(value, self.builder.gep(pointer, [at]), align=8)

    def spread(self, number: Any) -> Any:
        empty = ir.Constant(_NUMBERS, ir.Undefined)
        first = self.builder.insert_element(empty, number, ir.Constant(ir.IntType(32), 0))
        return self.builder.shuffle_vector(first, empty, ir.Constant(_CODES, [0] * LANES))

    def variable(self, value: Any) -> Any:
        return cgutils.alloca_once_value(self.builder, value)

    def times_plus(self, a: Any, b: Any, c: Any) -> Any:
        return self.builder.fadd(self.builder.fmul(a, b, flags=_FUSED), c, flags=_FUSED)

    def add_to(self, variable: Any, value: Any) -> None:
        self.builder.store(self.builder.fadd(self.builder.load(variable), value, flags=_FUSED), variable)


def _emit(write: _Emitter, n_levels: int, *, first: bool, last: bool) -> None:
    builder = write.builder
    bottom, n_rows, width = write.values[4:7]
    decay, fade, unit, gain = (write.spread(number) for number in write.values[7:11])
    lanes, levels, totals = write.pointer(1, _CODES), write.pointer(2, _NUMBERS), write.pointer(3, _NUMBERS)
    zero, one = cgutils.intp_t(0), cgutils.intp_t(1)
    symbols = write.load(write.pointer(0, _CODES), zero, align=4)
    nothing = ir.Constant(_NUMBERS, [0.0] * LANES)
    above = [builder.add(bottom, cgutils.intp_t(k)) for k in range(n_levels + 1)]
    start = [builder.mul(level, n_rows) for level in above]
    total = [write.variable(nothing) for _ in range(n_levels)]
    carry = [write.variable(nothing) for _ in range(n_levels)]
    earlier = [write.variable(nothing) for _ in range(n_levels)]  # what the level below held at position j
    with cgutils.for_range(builder, width) as loop:
        same = builder.icmp_signed("==", write.load(lanes, loop.index, align=4), symbols)
        after = builder.add(loop.index, one)
        for k in reversed(range(n_levels)):  # a level needs the one below as it was before this symbol
            if k:
                continued = builder.fmul(builder.load(earlier[k]), gain, flags=_FUSED)
            elif first:
                continued = unit
            else:
                at = builder.add(start[0], loop.index)
                continued = builder.fmul(write.load(levels, at), gain, flags=_FUSED)
            gained = builder.select(same, continued, nothing)
            write.add_to(total[k], gained)
            if last and k == n_levels - 1:
                continue
            left = write.times_plus(decay, builder.load(carry[k]), gained)
            builder.store(left, carry[k])
            at = builder.add(start[k + 1], after)
            old = write.load(levels, at)
            write.store(write.times_plus(fade, old, left), levels, at)
            if k + 1 < n_levels:
                builder.store(old, earlier[k + 1])
    for k in range(n_levels):
        sum_ = builder.fadd(write.load(totals, above[k]), builder.load(total[k]), flags=_FUSED)
        write.store(sum_, totals, above[k])


def _sweep(
    typing_context: Any, symbols: Any, lanes: Any, levels: Any, totals: Any, bottom: Any, n_rows: Any,
    width: Any, decay: Any, fade: Any, unit: Any, gain: Any, n_levels: Any, first: Any, last: Any,
) -> Any:  # fmt: skip
    """Pass over all positions j for the levels k = bottom, ..., bottom + n_levels - 1.

    gained = gain levels[k, j] where lanes[j] = symbols, else 0; totals[k] += gained;
    open = decay open + gained; levels[k + 1, j + 1] = fade levels[k + 1, j + 1] + open.
    ``levels`` has shape (..., n_rows, LANES). ``first`` (0 or 1): level 0 is among them, for which gained is
    unit. ``last``: nothing continues the highest one, so it only adds up. n_levels, first and last are
    literals: each combination is code of its own.
    """
    arguments = (symbols, lanes, levels, totals, bottom, n_rows, width, decay, fade, unit, gain)
    signature = types.void(*arguments, n_levels, first, last)
    count, lowest, highest = n_levels.literal_value, bool(first.literal_value), bool(last.literal_value)

    def code(context: Any, builder: Any, signature: Any, values: Any) -> Any:
        _emit(_Emitter(context, builder, signature, values), count, first=lowest, last=highest)
        return context.get_dummy_value()

    return signature, code


sweep: Any = intrinsic(prefer_literal=True)(_sweep)
