"""The one place where Numba decorators are defined.

``cache=True, nogil=True`` on every function, so that compiled code is kept on disk and runs in threads.
Never ``fastmath=True``: it would assume that no NaN exists and break ``isnan``.

Numba keeps compiled code in NUMBA_CACHE_DIR, beside the sources, or in the user's cache folder. Where it can
write to none of them, we keep it in a private folder of the temporary directory; failing that, every process
compiles again. A line of the logger "maxmargin" says so once. A full disk and damaged files are handled in
the same way, because no fit may fail only because compiled code cannot be kept.
"""

from __future__ import annotations

import logging
import os
import sys
import tempfile
from collections.abc import Callable
from contextlib import suppress
from functools import cache, partial
from typing import Any

import numba
import numpy as np
from numba.core import codegen, compiler, cpu, environment
from numba.core.runtime import nrt
from numba.extending import register_jitable

from maxmargin.base.interruption import interrupts_afterwards
from maxmargin.compute.compiling import start_watch

Function = Callable[..., Any]

NEWEST_TESTED = (0, 68)  # of Numba: others compile parts in full, and later ones try every instruction
_config: Any = numba.config
_codegen: Any = codegen
_cpu: Any = cpu
_runtime: Any = nrt  # its ``ll`` is LLVM
COMPILES: bool = not _config.DISABLE_JIT  # NUMBA_DISABLE_JIT=1 runs everything as plain Python
PLAIN = os.environ.get("MAXMARGIN_PLAIN", "0") not in ("", "0")  # no vector instructions, no pointers
if COMPILES:
    start_watch()
_said: set[str] = set()  # reasons that were logged already
_SUMS = {"reassoc", "contract"}
_FINITE = {"reassoc", "contract", "nnan", "nsz"}


def jit(function: Function) -> Any:
    """Compile with strict IEEE arithmetic."""
    return _compiled(function)


def jit_sums(function: Function) -> Any:
    """Compile with sums that may be reordered and contracted, so that they vectorise."""
    return _compiled(function, fastmath=_SUMS)


def jit_row(function: Function) -> Any:
    """As `jit_sums`, expanded into its caller: a call with three arrays passes thirty arguments."""
    return _compiled(function, fastmath=_SUMS, forceinline=True)


def jit_finite(function: Function) -> Any:
    """As `jit_sums`, for element-wise minima and selections over data known to be finite."""
    return _compiled(function, fastmath=_FINITE)


def part(function: Function) -> Any:
    """A part of other compiled functions that Python never calls: no wrapper, and kept with its callers."""
    return _part(function)


def part_sums(function: Function) -> Any:
    """As `part`, with the arithmetic of `jit_sums`."""
    return _part(function, fastmath=_SUMS)


def part_row(function: Function) -> Any:
    """As `part_sums`, expanded into its caller."""
    return _part(function, fastmath=_SUMS, forceinline=True)


def part_finite(function: Function) -> Any:
    """As `part`, with the arithmetic of `jit_finite` and expanded into its caller."""
    return _part(function, fastmath=_FINITE, forceinline=True)


def also_plain(function: Function) -> Any:
    """A few scalar operations: Python runs them as they are, compiled callers compile them."""
    return register_jitable(**as_part())(function)


def inline(function: Function) -> Any:
    """A small function that is always expanded into its jitted caller."""
    return numba.njit(inline="always")(function)


class PartLibrary(_codegen.JITCodeLibrary):
    """LLVM code of a part and of the parts that it calls, for its callers, without machine code of its own.

    Numba optimises every function in full and translates it to machine code, even if only other compiled
    functions call it. Those callers contain its LLVM code and do both again. So a part stops before, which
    saves a quarter of the time of a first call. Its environment, which serves code in object mode, is not
    announced.
    """

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
            return _cpu._dynfunc.make_function(
                description.lookup_module(), name, "a part", 0, environment, (library,)
            )

        context.get_executable = executable
        return super()._compile_bytecode()


def as_part() -> dict[str, Any]:
    """The options of ``njit`` for a function that only compiled code calls."""
    options: dict[str, Any] = {"nogil": True, "no_cpython_wrapper": True, "no_cfunc_wrapper": True}
    if numba.version_info.short == NEWEST_TESTED:  # earlier ones keep other records in a library
        options["pipeline_class"] = PartCompiler
    return options


def _part(function: Function, **options: Any) -> Any:
    if not COMPILES:
        return np.errstate(all="ignore")(function)
    njit: Any = numba.njit  # its type does not know these options
    return njit(**as_part(), **options)(function)


def _compiled(function: Function, **options: Any) -> Any:
    if not COMPILES:
        return np.errstate(all="ignore")(function)  # compiled code gives no floating-point warnings either
    njit: Any = numba.njit  # its type does not know all options
    options |= {"nogil": True, "no_cfunc_wrapper": True}  # nothing in C calls us: a wrapper less to compile
    try:
        return _guarded(njit(cache=True, **options)(function))
    except RuntimeError:  # Numba found no folder to write to
        folder = _temporary_cache()
    if folder is None:
        return njit(**options)(function)
    before, _config.CACHE_DIR = _config.CACHE_DIR, folder
    try:
        return _guarded(njit(cache=True, **options)(function))
    finally:
        _config.CACHE_DIR = before


def _guarded(function: Any) -> Any:
    """A compiled function that compiles again where its files cannot be read, and continues if they cannot be
    written.

    Two processes that save at the same moment can take the same file for two signatures (the index of the
    later one wins), so a signature is compared with the one that was asked for.
    """
    files = function._cache
    save = files.save_overload
    files._impl.rebuild = partial(_rebuilt, files._impl.rebuild)
    function._compilation_chain_init_hook = lambda: None  # lists all packages for extensions: we use none

    def load_if_right(signature: Any, context: Any) -> Any:
        try:
            found = _read(files, signature, context)
            if found is None or tuple(found.signature.args) == tuple(signature):
                return found
        except Exception as broken:  # unpickling a damaged file can raise anything
            _say_once(files.cache_path, f"damaged: {type(broken).__name__}")
            with suppress(OSError):
                files.flush()
        return None

    def save_if_possible(signature: Any, code: Any) -> None:
        try:
            save(signature, code)
        except OSError as refused:
            _say_once(files.cache_path, refused.strerror or str(refused))

    files.load_overload, files.save_overload = load_if_right, save_if_possible
    return function


def _read(files: Any, signature: Any, context: Any) -> Any:
    """Compiled code from the disk, or None.

    Numba's own function first imports everything that compiling needs. That takes 0.3 s, longer than most
    first fits, and machine code only needs the addresses of the runtime: Numba imports the rest when it does
    compile. LLVM takes the code from a Python function, and crashes if Ctrl-C cuts that off.
    """
    _prepare_to_read()
    with interrupts_afterwards(), files._guard_against_spurious_io_errors():
        return files._load_overload(signature, context)


def _rebuilt(rebuild: Function, context: Any, payload: Any) -> Any:
    """Compiled code without its LLVM code, half of the time: only callers compiled later need it."""
    try:
        (name, kind, (machine_code, llvm_code)), descriptor, *rest = payload
        engine, llvm = context.codegen()._engine, _runtime.ll
        engine._defined_symbols.add(descriptor.llvm_cpython_wrapper_name)
        short = name, kind, (machine_code, llvm.parse_assembly("").as_bitcode())
        found = rebuild(context, (short, descriptor, *rest))
    except (AttributeError, TypeError, ValueError):  # another form of Numba's
        return rebuild(context, payload)
    library = found.library

    def for_callers() -> Any:
        del library._get_module_for_linking
        library._shared_module = llvm.parse_bitcode(llvm_code)
        engine._load_defined_symbols(library._shared_module)
        return library._shared_module

    library._get_module_for_linking = for_callers
    return found


@cache
def _prepare_to_read() -> None:
    """Announce the functions of Numba's runtime to LLVM, and read environments without what they came from.

    An environment holds the globals of a module for code in Python's object mode. Ours has none, so the
    modules of Numba that its parts came from (unicode, random numbers) need not be imported for them.
    """
    for name, address in _runtime._nrt.c_helpers.items():
        _runtime.ll.add_symbol(name if name.startswith("_") else f"NRT_{name}", address)
    internals: Any = environment
    rebuild = internals._rebuild_env

    def rebuild_alone(module: str, consts: Any, name: str) -> Any:
        if not module.startswith("numba.") or module in sys.modules or name in internals.Environment._memo:
            return rebuild(module, consts, name)
        found = internals.Environment._memo[name] = internals.Environment({})
        found.consts[:], found.env_name = consts, name
        return found

    internals._rebuild_env = rebuild_alone


def _say_once(folder: str, reason: str) -> None:
    if reason in _said:
        return
    _said.add(reason)
    logging.getLogger("maxmargin").warning(
        "compiled code in %s is of no use (%s), so this process compiles again. Free some space, delete the "
        "folder, or set NUMBA_CACHE_DIR to another one.",
        folder,
        reason,
    )


@cache
def _temporary_cache() -> str | None:
    """A folder for compiled code in the temporary directory, or None where that is not writable either.

    Loading compiled code runs it, so the folder must belong to this user and be closed to others.
    """
    log = logging.getLogger("maxmargin")
    reason = "Numba can keep compiled code neither beside maxmargin nor in the user's cache folder"
    remedy = "Set NUMBA_CACHE_DIR to a writable folder to choose another place."
    try:
        folder = os.path.join(tempfile.gettempdir(), f"maxmargin-cache-{_user()}")
        os.makedirs(folder, mode=0o700, exist_ok=True)
        if not _is_private(folder):
            folder = tempfile.mkdtemp(prefix="maxmargin-cache-")
        with tempfile.TemporaryFile(dir=folder):
            pass
    except OSError:
        log.warning("%s, so every process compiles again. %s", reason, remedy)
        return None
    log.warning("%s, so it is kept in %s. %s", reason, folder, remedy)
    return folder


def _user() -> str:
    return str(os.getuid()) if hasattr(os, "getuid") else "user"  # Windows: the folder is the user's own


def _is_private(folder: str) -> bool:
    if not hasattr(os, "getuid"):
        return True
    status = os.lstat(folder)
    return status.st_uid == os.getuid() and status.st_mode & 0o170077 == 0o040000  # a folder, only ours
