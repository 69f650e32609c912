"""Ask for memory before it is needed: rows in random order would otherwise be waited for one by one."""

from __future__ import annotations

from typing import Any

from llvmlite import ir
from numba.core import cgutils, types
from numba.extending import intrinsic

_BYTES = ir.IntType(8).as_pointer()
_INT = ir.IntType(32)
_READ, _KEEP, _DATA = _INT(0), _INT(3), _INT(1)  # for reading, into every level of the cache, data


def _prefetch(typing_context: Any, array: Any, at: Any) -> Any:
    """Bring the line of ``array[at]`` into the cache; nothing happens where ``at`` is outside."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        data = context.make_array(signature.args[0])(context, builder, arguments[0]).data
        address = builder.bitcast(builder.gep(data, [arguments[1]]), _BYTES)
        kind = ir.FunctionType(ir.VoidType(), [_BYTES, _INT, _INT, _INT])
        function = cgutils.get_or_insert_function(builder.module, kind, "llvm.prefetch.p0i8")
        builder.call(function, [address, _READ, _KEEP, _DATA])
        return context.get_dummy_value()

    return types.void(array, types.intp), generate


prefetch: Any = intrinsic(_prefetch)
