"""Inner products of a few points with a panel of many, kept in registers: explicit vector instructions.

Written as loops, the compiler keeps the sums in memory. Hence the step is given to LLVM as operations on
vectors, as many as fill the registers of the processor it finds.
"""

from __future__ import annotations

from typing import Any

from llvmlite import binding, ir
from numba.core import cgutils, types
from numba.extending import intrinsic

ROWS = 6
_LANES, _VECTORS = (16, 4) if binding.get_host_cpu_features().get("avx512f") else (8, 2)  # fill the registers
WIDTH = _LANES * _VECTORS

_NUMBERS = ir.VectorType(ir.FloatType(), _LANES)
_CODES = ir.VectorType(ir.IntType(32), _LANES)
_FUSED = ("contract",)


def _products(
    typing_context: Any, A: Any, a_at: Any, p: Any, panel: Any, at: Any, out: Any, out_at: Any, step: Any
) -> Any:
    """out[r, c] = <row r of A, column c of the panel>, ROWS by WIDTH of them; all arrays are flat."""
    signature = types.void(A, a_at, p, panel, at, out, out_at, step)

    def code(context: Any, builder: Any, signature: Any, values: Any) -> Any:
        def places(which: int, start: Any, step: Any) -> list[Any]:
            array = context.make_array(signature.args[which])(context, builder, values[which])
            found = [builder.gep(array.data, [start])]
            while len(found) < ROWS:
                found.append(builder.gep(found[-1], [step]))
            return found

        def vector(pointer: Any, offset: Any) -> Any:
            return builder.bitcast(builder.gep(pointer, [offset]), _NUMBERS.as_pointer())

        def spread(number: Any) -> Any:
            first = builder.insert_element(ir.Constant(_NUMBERS, ir.Undefined), number, at_zero)
            return builder.shuffle_vector(first, first, ir.Constant(_CODES, [0] * _LANES))

        length = values[2]
        at_zero = ir.Constant(ir.IntType(32), 0)
        rows, targets = places(0, values[1], length), places(5, values[6], values[7])
        columns = places(3, values[4], length)[0]
        nothing = ir.Constant(_NUMBERS, [0.0] * _LANES)
        sums = [[cgutils.alloca_once_value(builder, nothing) for _ in range(_VECTORS)] for _ in rows]
        offsets = [cgutils.intp_t(k * _LANES) for k in range(_VECTORS)]
        with cgutils.for_range(builder, length) as loop:
            base = builder.mul(loop.index, cgutils.intp_t(WIDTH))
            theirs = [builder.load(vector(columns, builder.add(base, k)), align=4) for k in offsets]
            for row, row_sums in zip(rows, sums, strict=True):
                mine = spread(builder.load(builder.gep(row, [loop.index])))
                for other, total in zip(theirs, row_sums, strict=True):
                    product = builder.fmul(mine, other, flags=_FUSED)
                    builder.store(builder.fadd(product, builder.load(total), flags=_FUSED), total)
        for target, row_sums in zip(targets, sums, strict=True):
            for offset, total in zip(offsets, row_sums, strict=True):
                builder.store(builder.load(total), vector(target, offset), align=4)
        return context.get_dummy_value()

    return signature, code


products: Any = intrinsic(_products)
