"""Vector instructions, written for LLVM as operations on vectors.

LLVM maps a vector of any length to the registers of the processor it finds. What an instruction computes is
written in its plain twin: `panel_tile.plain_tile` and `gaussians_plain`, `lanes.sweep_plain`,
`prefetch.prefetch_plain`.
Numba calls these functions with its own typing context, so most of their types are Any.
"""

from __future__ import annotations

from typing import Any

import numba
from llvmlite import binding, ir
from numba.core import cgutils, types
from numba.extending import intrinsic

_FUSED = ("contract",)
_INT = ir.IntType(32)


def vector_bits() -> int:
    """Width of the vector registers that Numba compiles for: 512, 256 or 128."""
    config: Any = numba.config
    features = config.CPU_FEATURES
    if features is None:
        features = binding.get_host_cpu_features().flatten()
    present = set(features.split(","))
    return 512 if "+avx512f" in present else 256 if "+avx" in present else 128


# -- inner products ------------------------------------------------------------------------------------


class _Tile:
    """Writes the sums of products of ``n_rows`` points with a panel, in vectors of ``n_lanes``."""

    def __init__(self, shape: tuple[int, int, int, int], context: Any, builder: Any, types_: Any) -> None:
        self.n_bits, self.n_rows, self.n_lanes, self.n_vectors = shape
        self.context, self.builder, self.types = context, builder, types_
        number: Any = ir.FloatType() if self.n_bits == 32 else ir.DoubleType()
        self.numbers, self.codes = ir.VectorType(number, self.n_lanes), ir.VectorType(_INT, self.n_lanes)
        self.align = number.get_abi_size(context.target_data)
        self.offsets = [cgutils.intp_t(k * self.n_lanes) for k in range(self.n_vectors)]

    def place(self, which: int, values: Any, start: Any) -> Any:
        array = self.context.make_array(self.types[which])(self.context, self.builder, values[which])
        return self.builder.gep(array.data, [start])

    def places(self, first: Any, step: Any) -> list[Any]:
        found = [first]
        while len(found) < self.n_rows:
            found.append(self.builder.gep(found[-1], [step]))
        return found

    def vector(self, pointer: Any, offset: Any) -> Any:
        return self.builder.bitcast(self.builder.gep(pointer, [offset]), self.numbers.as_pointer())

    def load(self, pointer: Any, offset: Any) -> Any:
        return self.builder.load(self.vector(pointer, offset), align=self.align)

    def spread(self, one: Any) -> Any:
        first = self.builder.insert_element(ir.Constant(self.numbers, ir.Undefined), one, _INT(0))
        return self.builder.shuffle_vector(first, first, ir.Constant(self.codes, [0] * self.n_lanes))

    def same(self, value: float) -> Any:
        return ir.Constant(self.numbers, [value] * self.n_lanes)

    def times_plus(self, a: Any, b: Any, c: Any) -> Any:
        return self.builder.fadd(self.builder.fmul(a, b, flags=_FUSED), c, flags=_FUSED)

    def sums(self, rows: list[Any], a_step: Any, columns: Any, panel_step: Any, length: Any) -> list[Any]:
        """For every row its sums, one vector after the other."""
        builder, nothing = self.builder, self.same(0.0)
        sums = [[cgutils.alloca_once_value(builder, nothing) for _ in self.offsets] for _ in rows]
        with cgutils.for_range(builder, length) as loop:
            along, base = builder.mul(loop.index, a_step), builder.mul(loop.index, panel_step)
            theirs = [self.load(columns, builder.add(base, k)) for k in self.offsets]
            for row, row_sums in zip(rows, sums, strict=True):
                mine = self.spread(builder.load(builder.gep(row, [along])))
                for other, total in zip(theirs, row_sums, strict=True):
                    builder.store(self.times_plus(mine, other, builder.load(total)), total)
        return [[builder.load(total) for total in row_sums] for row_sums in sums]

    def store(self, targets: list[Any], tile: list[Any]) -> None:
        for target, vectors in zip(targets, tile, strict=True):
            for offset, value in zip(self.offsets, vectors, strict=True):
                self.builder.store(value, self.vector(target, offset), align=self.align)

    def powers(self, x: Any, coefficients: Any) -> Any:
        """2 ** x for x <= 0, at least the smallest normal number. See `elementwise`."""
        builder, bits = self.builder, ir.IntType(self.n_bits)
        bias, n_digits = (127, 23) if self.n_bits == 32 else (1023, 52)
        lowest = self.same(1.0 - bias)
        x = builder.select(builder.fcmp_ordered("<", x, self.same(0.0)), x, self.same(0.0))
        x = builder.select(builder.fcmp_ordered(">", x, lowest), x, lowest)
        whole = builder.fptosi(builder.fsub(x, self.same(0.5)), self.codes)
        rest = builder.fsub(x, builder.sitofp(whole, self.numbers))
        value = self.same(float(coefficients[-1]))
        for coefficient in (*coefficients[-2::-1], 1.0):
            value = self.times_plus(rest, value, self.same(float(coefficient)))
        exponent = builder.add(whole, ir.Constant(self.codes, [bias] * self.n_lanes))
        places = ir.VectorType(bits, self.n_lanes)
        exponent = exponent if self.n_bits == 32 else builder.zext(exponent, places)
        power = builder.shl(exponent, ir.Constant(places, [n_digits] * self.n_lanes))
        return builder.fmul(value, builder.bitcast(power, self.numbers))


def tile(n_rows: int, n_lanes: int, n_vectors: int) -> Any:
    """Sums of products of ``n_rows`` points with a panel of n_lanes * n_vectors, in float64."""

    def products(
        typing_context: Any, A: Any, a_at: Any, a_row: Any, a_step: Any, length: Any, panel: Any, at: Any,
        panel_step: Any, out: Any, out_at: Any, out_row: Any,
    ) -> Any:  # fmt: skip
        signature = types.void(A, a_at, a_row, a_step, length, panel, at, panel_step, out, out_at, out_row)

        def code(context: Any, builder: Any, signature: Any, values: Any) -> Any:
            write = _Tile((64, n_rows, n_lanes, n_vectors), context, builder, signature.args)
            rows = write.places(write.place(0, values, values[1]), values[2])
            targets = write.places(write.place(8, values, values[9]), values[10])
            columns = write.place(5, values, values[6])
            write.store(targets, write.sums(rows, values[3], columns, values[7], values[4]))
            return context.get_dummy_value()

        return signature, code

    return intrinsic(products)


def gaussian_tile(n_rows: int, n_lanes: int, n_vectors: int, narrow: Any, wide: Any) -> Any:
    """Gaussian kernel values of ``n_rows`` points and a panel.

    Vectors have ``n_lanes`` numbers of float32, or half as many of float64; ``narrow`` and ``wide`` are the
    coefficients of 2 ** x in the two precisions.
    """

    def gaussians(
        typing_context: Any, A: Any, a_at: Any, length: Any, panel: Any, at: Any, norms: Any, norm_at: Any,
        factors: Any, out: Any, out_at: Any, out_row: Any,
    ) -> Any:  # fmt: skip
        signature = types.void(A, a_at, length, panel, at, norms, norm_at, factors, out, out_at, out_row)

        def code(context: Any, builder: Any, signature: Any, values: Any) -> Any:
            n_bits = signature.args[0].dtype.bitwidth
            lanes, coefficients = (n_lanes, narrow) if n_bits == 32 else (n_lanes // 2, wide)
            write = _Tile((n_bits, n_rows, lanes, n_vectors), context, builder, signature.args)
            one, width, length = cgutils.intp_t(1), cgutils.intp_t(lanes * n_vectors), values[2]
            rows = write.places(write.place(0, values, values[1]), length)
            columns = write.place(3, values, values[4])
            norms = write.places(write.place(5, values, values[6]), one)
            sums = write.sums(rows, one, columns, width, length)
            last = builder.gep(columns, [builder.mul(length, width)])
            theirs = [write.load(last, k) for k in write.offsets]
            scale, variance = (write.spread(builder.extract_value(values[7], k)) for k in range(2))
            minus_two = write.same(-2.0)
            tile = []
            for norm, products in zip(norms, sums, strict=True):
                mine, row = write.spread(builder.load(norm)), []
                for other, product in zip(theirs, products, strict=True):
                    squared = write.times_plus(product, minus_two, builder.fadd(mine, other))
                    power = write.powers(builder.fmul(squared, scale), coefficients)
                    row.append(builder.fmul(power, variance))
                tile.append(row)
            write.store(write.places(write.place(8, values, values[9]), values[10]), tile)
            return context.get_dummy_value()

        return signature, code

    return intrinsic(gaussians)


# -- the subsequence recursion -------------------------------------------------------------------------


class _Emitter:
    """Writes the pass: vectors of arrays of shape (..., n_lanes), and numbers spread over all lanes."""

    def __init__(self, n_lanes: int, context: Any, builder: Any, signature: Any, arguments: Any) -> None:
        self.n_lanes, self.context, self.builder = n_lanes, context, builder
        self.types, self.values = signature.args, arguments
        self.numbers, self.codes = ir.VectorType(ir.DoubleType(), n_lanes), ir.VectorType(_INT, n_lanes)

    def pointer(self, which: int, vector: Any) -> Any:
        array = self.context.make_array(self.types[which])(self.context, self.builder, self.values[which])
        return self.builder.bitcast(array.data, vector.as_pointer())

    def load(self, pointer: Any, at: Any, align: int = 8) -> Any:
        return self.builder.load(self.builder.gep(pointer, [at]), align=align)

    def store(self, value: Any, pointer: Any, at: Any) -> None:
        self.builder.store(value, self.builder.gep(pointer, [at]), align=8)

    def spread(self, number: Any) -> Any:
        empty = ir.Constant(self.numbers, ir.Undefined)
        first = self.builder.insert_element(empty, number, _INT(0))
        return self.builder.shuffle_vector(first, empty, ir.Constant(self.codes, [0] * self.n_lanes))

    def variable(self, value: Any) -> Any:
        return cgutils.alloca_once_value(self.builder, value)

    def times_plus(self, a: Any, b: Any, c: Any) -> Any:
        return self.builder.fadd(self.builder.fmul(a, b, flags=_FUSED), c, flags=_FUSED)

    def add_to(self, variable: Any, value: Any) -> None:
        self.builder.store(self.builder.fadd(self.builder.load(variable), value, flags=_FUSED), variable)


def _emit(write: _Emitter, n_levels: int, *, first: bool, last: bool) -> None:
    builder = write.builder
    bottom, n_rows, width = write.values[4:7]
    decay, fade, unit, gain = (write.spread(builder.extract_value(write.values[7], i)) for i in range(4))
    lanes = write.pointer(1, write.codes)
    levels, totals = write.pointer(2, write.numbers), write.pointer(3, write.numbers)
    zero, one = cgutils.intp_t(0), cgutils.intp_t(1)
    symbols = write.load(write.pointer(0, write.codes), zero, align=4)
    nothing = ir.Constant(write.numbers, [0.0] * write.n_lanes)
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


def sweep(n_lanes: int) -> Any:
    """One symbol of the recursion for ``n_lanes`` strings; n_levels, first and last are literals."""

    def pass_(
        typing_context: Any, symbols: Any, lanes: Any, levels: Any, totals: Any, bottom: Any, n_rows: Any,
        width: Any, factors: Any, n_levels: Any, first: Any, last: Any,
    ) -> Any:  # fmt: skip
        arguments = (symbols, lanes, levels, totals, bottom, n_rows, width, factors)
        signature = types.void(*arguments, n_levels, first, last)
        count, lowest, highest = n_levels.literal_value, bool(first.literal_value), bool(last.literal_value)

        def code(context: Any, builder: Any, signature: Any, values: Any) -> Any:
            _emit(_Emitter(n_lanes, context, builder, signature, values), count, first=lowest, last=highest)
            return context.get_dummy_value()

        return signature, code

    return intrinsic(prefer_literal=True)(pass_)


# -- memory --------------------------------------------------------------------------------------------


def prefetch() -> Any:
    """Bring the line of ``array[at]`` into the cache; nothing happens where ``at`` is outside."""

    def line(typing_context: Any, array: Any, at: Any) -> Any:
        def code(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            some_bytes = ir.IntType(8).as_pointer()
            data = context.make_array(signature.args[0])(context, builder, arguments[0]).data
            address = builder.bitcast(builder.gep(data, [arguments[1]]), some_bytes)
            kind = ir.FunctionType(ir.VoidType(), [some_bytes, _INT, _INT, _INT])
            function = cgutils.get_or_insert_function(builder.module, kind, "llvm.prefetch.p0i8")
            builder.call(function, [address, _INT(0), _INT(3), _INT(1)])  # for reading, all levels, data
            return context.get_dummy_value()

        return types.void(array, types.intp), code

    return intrinsic(line)
