"""Figures that keep the source tree in order. Run ``make house`` or ``python tools/house.py``.

Each rule returns its offenders as lines of text, so that a test can show what broke. The exit status is 1
when a bound is broken.
"""

from __future__ import annotations

import argparse
import ast
import re
import sys
from collections import defaultdict
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from types import FrameType, ModuleType, SimpleNamespace
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
SOURCES = ROOT / "src" / "maxmargin"

MOST_LINES = 39_000
MOST_MODULES = 16
MOST_FUNCTION_LINES = 60
MOST_PARAMETERS = 12
MOST_ANY = 0.10
MOST_HOPS = 7

SHARED_FILE_NAMES = {"__init__.py", "base.py", "typing.py"}
DECORATORS = re.compile(
    r"^(n?jit(_\w+)?|part(_\w+)?|also_plain|inline|intrinsic|vectorize|guvectorize|cfunc|stencil|overload\w*)$"
)
STRING_ACCESS = {"getattr", "setattr", "hasattr", "delattr", "attrgetter", "methodcaller"}
PRIVATE = re.compile(r"^_[A-Za-z]\w*$")
HOOKS = {"_parameter_constraints"}  # scikit-learn's own names, which subclasses of its classes set

Function = ast.FunctionDef | ast.AsyncFunctionDef


@dataclass(frozen=True)
class Figure:
    """One measured number, its bound, and what to look at when the bound is broken."""

    name: str
    value: float
    bound: float
    offenders: list[str] = field(default_factory=list)
    percent: bool = False
    strict: bool = False

    @property
    def holds(self) -> bool:
        return self.value < self.bound if self.strict else self.value <= self.bound

    def __str__(self) -> str:
        shape = "{:.1%}" if self.percent else "{:.0f}"
        value, bound = shape.format(self.value), shape.format(self.bound)
        sign = "<" if self.strict else "<="
        return f"{'ok' if self.holds else 'BROKEN':7}{value:>8}  {sign} {bound:<7} {self.name}"


class Tree:
    """The parsed source files of one package; paths are relative to its folder."""

    def __init__(self, files: dict[str, str]) -> None:
        self.texts = dict(sorted(files.items()))
        self.parsed = {path: ast.parse(text, path) for path, text in self.texts.items()}

    @classmethod
    def of_folder(cls, folder: Path = SOURCES) -> Tree:
        paths = folder.rglob("*.py")
        return cls({p.relative_to(folder).as_posix(): p.read_text(encoding="utf-8") for p in paths})

    def nodes(self) -> Iterator[tuple[str, ast.AST]]:
        for path, tree in self.parsed.items():
            for node in ast.walk(tree):
                yield path, node


def room_of(path: str) -> str:
    """The top folder of a file, or the name of a top-level module."""
    return path.split("/")[0].removesuffix(".py")


def folder_of(path: str) -> str:
    """The folder of a file, or the name of a top-level module."""
    return path.rpartition("/")[0] or room_of(path)


# -- size ------------------------------------------------------------------------------------------------


def count_lines(tree: Tree) -> int:
    return sum(text.count("\n") for text in tree.texts.values())


def crowded_folders(tree: Tree, most: int = MOST_MODULES) -> list[str]:
    """Folders with too many modules; ``__init__.py`` does not count."""
    found: dict[str, int] = defaultdict(int)
    for path in tree.texts:
        folder, _, name = path.rpartition("/")
        found[folder] += name != "__init__.py"
    return [f"{folder}/ has {n} modules" for folder, n in found.items() if n > most]


def largest_folder(tree: Tree) -> int:
    folders = [path.rpartition("/")[0] for path in tree.texts if not path.endswith("__init__.py")]
    return max(map(folders.count, set(folders)))


def long_functions(tree: Tree, most: int = MOST_FUNCTION_LINES) -> list[str]:
    """Functions with too many lines, docstring included; constructors aside."""
    found = []
    for path, node in tree.nodes():
        if isinstance(node, Function) and node.name != "__init__":
            length = (node.end_lineno or node.lineno) - node.lineno + 1
            if length > most:
                found.append(f"{path}:{node.lineno} {node.name} has {length} lines")
    return found


def parameters_of(function: Function) -> list[ast.arg]:
    """All parameters except self and cls."""
    a = function.args
    names = [*a.posonlyargs, *a.args]
    if names and names[0].arg in ("self", "cls", "mcs"):
        names = names[1:]
    return [*names, *filter(None, [a.vararg]), *a.kwonlyargs, *filter(None, [a.kwarg])]


def wide_functions(tree: Tree, most: int = MOST_PARAMETERS) -> list[str]:
    """Functions with too many parameters; constructors aside."""
    return [
        f"{path}:{node.lineno} {node.name} has {len(parameters_of(node))} parameters"
        for path, node in tree.nodes()
        if isinstance(node, Function) and node.name != "__init__" and len(parameters_of(node)) > most
    ]


# -- names -----------------------------------------------------------------------------------------------


def repeated_names(tree: Tree) -> list[str]:
    """File names and class names that occur more than once."""
    files, classes = defaultdict(list), defaultdict(list)
    for path, parsed in tree.parsed.items():
        name = path.rpartition("/")[2]
        if name not in SHARED_FILE_NAMES:
            files[name].append(path)
        for node in parsed.body:
            if isinstance(node, ast.ClassDef):
                classes[node.name].append(path)
    return [
        f"{kind} {name}: {', '.join(paths)}"
        for kind, homes in (("file", files), ("class", classes))
        for name, paths in homes.items()
        if len(paths) > 1
    ]


def private_definitions(tree: Tree) -> dict[str, set[str]]:
    """Private name -> files that define it: functions, classes, attributes, module and class variables."""
    homes: dict[str, set[str]] = defaultdict(set)
    for path, node in tree.nodes():
        if isinstance(node, Function | ast.ClassDef):
            name = node.name
        elif isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store) and _is_own(node):
            name = node.attr
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            name = node.id
        else:
            continue
        if PRIVATE.match(name) and name not in HOOKS:
            homes[name].add(path)
    for path in tree.texts:
        for part in path.removesuffix(".py").split("/")[1:]:
            if PRIVATE.match(part):
                homes[part].add(path)
    return homes


def _is_own(node: ast.AST) -> bool:
    """True for self._name, cls._name and super()._name."""
    if not isinstance(node, ast.Attribute):
        return False
    value = node.value
    if isinstance(value, ast.Call):
        return _called(value) == "super"
    return isinstance(value, ast.Name) and value.id in ("self", "cls")


def private_uses(tree: Tree) -> list[str]:
    """Private names that belong to another room.

    Attributes, imports, and strings given to getattr and its kind. ``self._x`` must be defined in the room;
    ``other._x`` in the same folder, because many rooms may have an ``_x`` of their own. Names that nothing in
    the tree defines belong to other libraries and do not count.
    """
    homes = private_definitions(tree)
    found = []
    for path, node in tree.nodes():
        for name in _private_names_used(node):
            files = homes.get(name, set())
            near = room_of if _is_own(node) else folder_of
            if files and near(path) not in map(near, files):
                line = getattr(node, "lineno", 0)
                found.append(f"{path}:{line} uses {name} of {', '.join(sorted(set(map(folder_of, files))))}")
    return found


def _private_names_used(node: ast.AST) -> list[str]:
    if isinstance(node, ast.Attribute):
        names = [node.attr]
    elif isinstance(node, ast.ImportFrom) and (node.module or "").startswith("maxmargin"):
        names = [*(node.module or "").split("."), *(alias.name for alias in node.names)]
    elif isinstance(node, ast.Import):
        names = [part for a in node.names if a.name.startswith("maxmargin") for part in a.name.split(".")]
    elif isinstance(node, ast.Call) and _called(node) in STRING_ACCESS:
        names = [a.value for a in node.args if isinstance(a, ast.Constant) and isinstance(a.value, str)]
    else:
        names = []
    return [name for name in names if PRIVATE.match(name)]


def _called(node: ast.Call) -> str:
    if isinstance(node.func, ast.Name):
        return node.func.id
    return node.func.attr if isinstance(node.func, ast.Attribute) else ""


# -- jitted code -----------------------------------------------------------------------------------------


def jitted_outside(tree: Tree, room: str = "compute") -> list[str]:
    """Functions compiled by Numba that do not live in the compute package."""
    found, decorators = [], set()
    for path, node in tree.nodes():
        if room_of(path) == room:
            continue
        if isinstance(node, Function) and any(map(_compiles, node.decorator_list)):
            decorators.update(node.decorator_list)
            found.append(f"{path}:{node.lineno} {node.name} is jitted")
        elif isinstance(node, ast.Call) and _compiles(node) and node not in decorators:
            found.append(f"{path}:{node.lineno} calls {_called(node)}")
    return found


def _compiles(node: ast.expr) -> bool:
    if isinstance(node, ast.Call):
        return bool(DECORATORS.match(_called(node))) or _compiles(node.func)
    if isinstance(node, ast.Name) and node.id == "overload":  # of typing: Numba's takes an argument
        return False
    name = node.id if isinstance(node, ast.Name) else node.attr if isinstance(node, ast.Attribute) else ""
    return bool(DECORATORS.match(name))


# -- types -----------------------------------------------------------------------------------------------


def any_parameters(tree: Tree) -> tuple[list[str], int]:
    """Parameters of public functions annotated Any (or Any | ...), and the number of all of them.

    Jitted functions take no part: Numba types them. An alias that stands for Any counts as Any.
    """
    aliases = {
        target.id
        for _, node in tree.nodes()
        if isinstance(node, ast.Assign | ast.AnnAssign) and _is_any(node.value, {"Any"})
        for target in (node.targets if isinstance(node, ast.Assign) else [node.target])
        if isinstance(target, ast.Name)
    } | {"Any"}
    found, total = [], 0
    for path, parsed in tree.parsed.items():
        for function in _public_functions(parsed):
            for parameter in parameters_of(function):
                total += 1
                if parameter.annotation is None or _is_any(parameter.annotation, aliases):
                    found.append(f"{path}:{function.lineno} {function.name}({parameter.arg})")
    return found, total


def _public_functions(node: ast.Module | ast.ClassDef) -> Iterator[Function]:
    """Functions and methods without a leading underscore, ``__init__`` and ``__call__`` included."""
    for child in node.body:
        if isinstance(child, ast.ClassDef) and not child.name.startswith("_"):
            yield from _public_functions(child)
        elif isinstance(child, Function) and _is_public(child):
            yield child


def _is_public(function: Function) -> bool:
    named = not function.name.startswith("_") or function.name in ("__init__", "__call__")
    return named and not any(map(_compiles, function.decorator_list))


def _is_any(annotation: ast.expr | None, aliases: set[str]) -> bool:
    if isinstance(annotation, ast.Name):
        return annotation.id in aliases
    if isinstance(annotation, ast.BinOp):
        return _is_any(annotation.left, aliases) or _is_any(annotation.right, aliases)
    if isinstance(annotation, ast.Constant) and isinstance(annotation.value, str):
        return annotation.value in aliases
    return False


# -- hops ------------------------------------------------------------------------------------------------


def hops_to_solver() -> list[str]:
    """The calls from mm.tune to the jitted dual solver, as file and function, measured on a tiny table.

    Python functions of the package are counted once each, from ``tune`` (not counted) to the function of
    ``solvers/`` that first calls a jitted function of ``compute/dual`` named ``solve...``.
    """
    import maxmargin as mm

    X = [[float(i % 7), float(i % 5)] for i in range(40)]
    y = [int(row[0] + row[1] > 5) for row in X]
    arguments = (mm.SVC(gamma=0.1), X, y, {"C": [1.0, 10.0]})
    options = {"cv": 3, "refit": False, "n_jobs": 1, "verbose": -1}
    mm.tune(*arguments, **options)  # imports and compiles
    stacks: list[list[str]] = []
    undo = _watch_dual_code(stacks)
    try:
        mm.tune(*arguments, **options)
    finally:
        undo()
    if not stacks:
        raise RuntimeError("mm.tune called no solve... of compute/dual: update hops_to_solver")
    return stacks[0]


def _watch_dual_code(stacks: list[list[str]]) -> Callable[[], None]:
    """Replace the jitted functions of compute/dual, wherever solvers/ imported them, by recorders."""
    replaced = []
    for name, module in list(sys.modules.items()):
        if not name.startswith("maxmargin.solvers"):
            continue
        for key, value in list(vars(module).items()):
            watched = _watched(value, stacks)
            if watched is not None:
                replaced.append((module, key, value))
                setattr(module, key, watched)

    def undo() -> None:
        for module, key, value in replaced:
            setattr(module, key, value)

    return undo


def _watched(value: Any, stacks: list[list[str]]) -> Any:
    """A recorder for a jitted function, or for the functions of a module; None for anything else."""
    if isinstance(value, ModuleType) and value.__name__.startswith("maxmargin.compute.dual"):
        names = vars(value).items()
        return SimpleNamespace(**{key: _watched(inner, stacks) or inner for key, inner in names})
    home = getattr(value, "__module__", None) or ""
    name = getattr(value, "__name__", "")
    if not home.startswith("maxmargin.compute.dual") or not name.startswith("solve"):
        return None

    def record(*args: Any, **kwargs: Any) -> Any:
        stacks.append(_package_stack(sys._getframe(1)))
        return value(*args, **kwargs)

    return record


def _package_stack(frame: FrameType | None) -> list[str]:
    """Functions of the package between ``tune`` and ``frame``, outermost first."""
    found: list[str] = []
    while frame is not None:
        code = frame.f_code
        path = Path(code.co_filename)
        if path.is_relative_to(SOURCES):
            if code.co_name == "tune":
                break
            hop = f"{path.relative_to(SOURCES).as_posix()} {code.co_qualname}"
            if "<" not in code.co_name and hop not in found:  # comprehensions and lambdas do not count
                found.append(hop)
        frame = frame.f_back
    return found[::-1]


# -- all figures -----------------------------------------------------------------------------------------


def figures(tree: Tree, *, hops: bool = True) -> list[Figure]:
    repeated, private, jitted = repeated_names(tree), private_uses(tree), jitted_outside(tree)
    long, wide = long_functions(tree), wide_functions(tree)
    untyped, parameters = any_parameters(tree)
    found = [
        Figure("lines of src", count_lines(tree), MOST_LINES),
        Figure("modules in the largest folder", largest_folder(tree), MOST_MODULES, crowded_folders(tree)),
        Figure("file and class names that occur twice", len(repeated), 0, repeated),
        Figure("private names used across packages", len(private), 0, private),
        Figure("jitted functions outside compute/", len(jitted), 0, jitted),
        Figure(f"functions over {MOST_FUNCTION_LINES} lines", len(long), 0, long),
        Figure(f"functions over {MOST_PARAMETERS} parameters", len(wide), 0, wide),
        Figure(
            "parameters of public functions that are Any",
            len(untyped) / parameters,
            MOST_ANY,
            untyped,
            percent=True,
            strict=True,
        ),
    ]
    if hops:
        stack = hops_to_solver()
        found.append(Figure("hops from mm.tune to the jitted solver", len(stack), MOST_HOPS, stack))
    return found


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--no-hops", action="store_true", help="skip the measurement that runs mm.tune")
    parser.add_argument("--all", action="store_true", help="list every offender, also where the bound holds")
    options = parser.parse_args(arguments)
    found = figures(Tree.of_folder(), hops=not options.no_hops)
    for figure in found:
        print(figure)
    for figure in found:
        if figure.offenders and (options.all or not figure.holds):
            print(f"\n{figure.name}:")
            shown = figure.offenders if options.all else figure.offenders[:40]
            print("\n".join(f"  {line}" for line in shown))
            if len(shown) < len(figure.offenders):
                print(f"  ... and {len(figure.offenders) - len(shown)} more (--all lists them)")
    broken = [figure for figure in found if not figure.holds]
    print(f"\n{len(broken)} of {len(found)} bounds are broken." if broken else "\nEvery bound holds.")
    return 1 if broken else 0


if __name__ == "__main__":
    sys.exit(main())
