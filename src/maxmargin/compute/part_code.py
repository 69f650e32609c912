"""How parts of compiled functions are compiled: only as far as their callers need.

Numba optimises every function in full and translates it to machine code, even if only other compiled
functions call it. Those callers contain its LLVM code and do both again. So a part stops before, which saves
a quarter of the time of a first call. Its environment, which serves code in object mode, is not announced.
"""

from __future__ import annotations

from typing import Any

import numba
from numba.core import codegen, compiler, cpu

NEWEST_TESTED = (0, 68)  # of Numba; a later version compiles parts in full
_internals: Any = codegen
_functions: Any = cpu


class PartLibrary(_internals.JITCodeLibrary):
    """LLVM code of a part and of the parts that it calls, for its callers."""

    def finalize(self) -> None:
        self._raise_if_finalized()
        for library in dict.fromkeys(self._linking_libraries):
            self._reload_init.update(library._reload_init)
            self._final_module.link_in(library._get_module_for_linking(), preserve=True)
        self._finalize_dynamic_globals()
        self._finalized = True


class PartCompiler(compiler.Compiler):
    """Numba's compiler, with a library that needs no machine code."""

    def _compile_bytecode(self) -> Any:
        context = self.state.targetctx  # a copy for this function
        self.state.library = PartLibrary(context.codegen(), self.state.func_id.func_qualname)
        in_full = context.get_executable

        def executable(library: Any, description: Any, environment: Any) -> Any:
            if not isinstance(library, PartLibrary):
                return in_full(library, description, environment)
            library._ensure_finalized()
            name = description.qualname.split(".")[-1]
            return _functions._dynfunc.make_function(
                description.lookup_module(), name, "a part", 0, environment, (library,)
            )

        context.get_executable = executable
        return super()._compile_bytecode()


def as_part() -> dict[str, Any]:
    """The options of ``njit`` for a function that only compiled code calls."""
    options: dict[str, Any] = {"nogil": True, "no_cpython_wrapper": True, "no_cfunc_wrapper": True}
    if numba.version_info.short <= NEWEST_TESTED:
        options["pipeline_class"] = PartCompiler
    return options
