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
_WIDE = bool(binding.get_host_cpu_features().get("avx512f"))
_FUSED = ("contract",)


def _tile(number: Any, lanes: int, vectors: int) -> Any:
    """A function that finds ROWS by ``lanes * vectors`` sums of products of such numbers."""
    numbers = ir.VectorType(number, lanes)
    codes = ir.VectorType(ir.IntType(32), lanes)
    at_zero = ir.Constant(ir.IntType(32), 0)
    nothing = ir.Constant(numbers, [0.0] * lanes)

    def products(
        typing_context: Any, A: Any, a_at: Any, a_row: Any, a_step: Any, length: Any, panel: Any, at: Any,
        panel_step: Any, out: Any, out_at: Any, out_row: Any,
    ) -> Any:  # fmt: skip
        """out[r, c] = sum over k < length of A[r, k] panel[k, c]; all arrays are flat.

        A[r, k] is at a_at + r a_row + k a_step, panel[k, c] at at + k panel_step + c, out[r, c] at
        out_at + r out_row + c.
        """
        signature = types.void(A, a_at, a_row, a_step, length, panel, at, panel_step, out, out_at, out_row)

        def code(context: Any, builder: Any, signature: Any, values: Any) -> Any:
            def place(which: int, start: Any) -> Any:
                array = context.make_array(signature.args[which])(context, builder, values[which])
                return builder.gep(array.data, [start])

            def places(which: int, start: Any, step: Any) -> list[Any]:
                found = [place(which, start)]
                while len(found) < ROWS:
                    found.append(builder.gep(found[-1], [step]))
                return found

            def vector(pointer: Any, offset: Any) -> Any:
                return builder.bitcast(builder.gep(pointer, [offset]), numbers.as_pointer())

            def spread(one: Any) -> Any:
                first = builder.insert_element(ir.Constant(numbers, ir.Undefined), one, at_zero)
                return builder.shuffle_vector(first, first, ir.Constant(codes, [0] * lanes))

            rows, targets = places(0, values[1], values[2]), places(8, values[9], values[10])
            columns = place(5, values[6])
            align = number.get_abi_size(context.target_data)
            sums = [[cgutils.alloca_once_value(builder, nothing) for _ in range(vectors)] for _ in rows]
            offsets = [cgutils.intp_t(k * lanes) for k in range(vectors)]
            with cgutils.for_range(builder, values[4]) as loop:
                along, base = builder.mul(loop.index, values[3]), builder.mul(loop.index, values[7])
                theirs = [builder.load(vector(columns, builder.add(base, k)), align=align) for k in offsets]
                for row, row_sums in zip(rows, sums, strict=True):
                    mine = spread(builder.load(builder.gep(row, [along])))
                    for other, total in zip(theirs, row_sums, strict=True):
                        product = builder.fmul(mine, other, flags=_FUSED)
                        builder.store(builder.fadd(product, builder.load(total), flags=_FUSED), total)
            for target, row_sums in zip(targets, sums, strict=True):
                for offset, total in zip(offsets, row_sums, strict=True):
                    builder.store(builder.load(total), vector(target, offset), align=align)
            return context.get_dummy_value()

        return signature, code

    return intrinsic(products)


WIDTH = 64 if _WIDE else 16  # single numbers
products: Any = _tile(ir.FloatType(), 16, 4) if _WIDE else _tile(ir.FloatType(), 8, 2)
DOUBLE_WIDTH = 16 if _WIDE else 8
double_products: Any = _tile(ir.DoubleType(), 8 if _WIDE else 4, 2)
