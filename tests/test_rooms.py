"""A room imports only from rooms to its left; the figures of ``make house`` keep their bounds."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest
from tools import house

SOURCES = Path(__file__).resolve().parents[1] / "src" / "maxmargin"

# from left to right; rooms on one line do not see each other
ORDER = [
    {"base"},
    {"compute"},
    {"pieces"},
    {"kernels"},
    {"problems"},
    {"solvers"},
    {"machines"},
    {"metrics", "discretize", "explanation"},
    {"tuning"},
    {"feature_selection", "scorecards"},
    {"displays"},
    {"tables"},
    {"reports", "io", "warm_up"},
    {"playground"},
    {"cli"},
]
RANK = {room: rank for rank, rooms in enumerate(ORDER) for room in rooms}
PUBLIC = {"io", "warm_up", "playground", "cli"}  # they also use the public names, as a user does
OUTSIDE = {
    "__init__",
    "__main__",
}  # they only use the public names, or no room at all


def room_of(path: Path) -> str:
    return path.relative_to(SOURCES).parts[0].removesuffix(".py")


def rooms_imported(tree: ast.AST) -> Iterator[tuple[int, str]]:
    """Line and room of every import of the package, inside functions too."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            modules = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.module == "maxmargin":
            modules = [f"maxmargin.{alias.name}" for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            modules = [node.module or ""]
        else:
            continue
        for module in modules:
            parts = module.split(".")
            if parts[0] == "maxmargin":
                yield node.lineno, parts[1] if len(parts) > 1 else "maxmargin"


def violations(source: str, room: str) -> list[str]:
    """Imports in ``source`` (a file of ``room``) that do not go to the left."""
    found = []
    for line, target in rooms_imported(ast.parse(source)):
        if target == room or (target == "maxmargin" and room in PUBLIC):
            continue
        if target not in RANK or RANK[target] >= RANK[room]:
            found.append(f"line {line}: {room} imports {target}")
    return found


@pytest.mark.parametrize(
    "path", sorted(SOURCES.rglob("*.py")), ids=lambda path: path.relative_to(SOURCES).as_posix()
)
def test_imports_go_leftward(path: Path) -> None:
    room = room_of(path)
    if room in OUTSIDE:
        return
    assert room in RANK, f"{path.name} does not know its room"
    assert violations(path.read_text(), room) == []


def private_imports(source: str, room: str) -> list[str]:
    """Modules of other rooms whose name says that they are their room's own (_compute is everybody's)."""
    found = []
    for node in ast.walk(ast.parse(source)):
        module = (node.module or "") if isinstance(node, ast.ImportFrom) else ""
        parts = module.split(".")
        if len(parts) > 2 and parts[0] == "maxmargin" and parts[1] != room and parts[2].startswith("_"):
            found.append(f"line {node.lineno}: {module}")
    return found


@pytest.mark.parametrize(
    "path", sorted(SOURCES.rglob("*.py")), ids=lambda path: path.relative_to(SOURCES).as_posix()
)
def test_private_modules_are_used_in_their_room_only(path: Path) -> None:
    assert private_imports(path.read_text(), room_of(path)) == []


def test_no_relative_imports() -> None:
    for path in SOURCES.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            assert not (isinstance(node, ast.ImportFrom) and node.level), f"{path}:{node.lineno}"


def test_the_check_itself_can_fail() -> None:
    assert violations("from maxmargin.machines.svm import SVC", "kernels") == [
        "line 1: kernels imports machines"
    ]
    assert violations("def f():\n    import maxmargin.cli", "machines") == ["line 2: machines imports cli"]
    assert violations("from maxmargin import problems", "kernels") == ["line 1: kernels imports problems"]
    assert violations("from maxmargin.compute.jit import jit", "kernels") == []
    assert private_imports("from maxmargin.machines._base import f", "tuning") == [
        "line 1: maxmargin.machines._base"
    ]
    assert private_imports("from maxmargin.machines._base import f", "machines") == []
    assert private_imports("from maxmargin.compute.jit import jit", "large") == []


def test_few_modules_use_numba() -> None:
    """jit.py has the decorators, compiling.py the clock, choice.py and llvm_code.py vector instructions."""
    allowed = {
        "numba": {"jit.py", "compiling.py", "choice.py", "llvm_code.py"},
        "llvmlite": {"llvm_code.py"},
    }
    for path in SOURCES.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
            names += [node.module or ""] if isinstance(node, ast.ImportFrom) else []
            for package in {name.split(".")[0] for name in names} & set(allowed):
                assert path.name in allowed[package], f"{path} imports {package}"


# -- the figures of make house --------------------------------------------------------------------------


@pytest.fixture(scope="module")
def tree() -> house.Tree:
    return house.Tree.of_folder()


def test_no_private_name_of_another_package_is_used(tree: house.Tree) -> None:
    assert house.private_uses(tree) == []


def test_no_function_outside_compute_is_jitted(tree: house.Tree) -> None:
    assert house.jitted_outside(tree) == []


def test_no_folder_is_crowded(tree: house.Tree) -> None:
    assert house.crowded_folders(tree) == []


def test_private_uses_can_fail() -> None:
    owner = {"kernels/a.py": "class A:\n    def __init__(self):\n        self._rows = 1\n\ndef _help(): ..."}

    def found(source: str, path: str = "tuning/b.py") -> list[str]:
        return house.private_uses(house.Tree({**owner, path: source}))

    assert found("def f(a):\n    return a._rows") == ["tuning/b.py:2 uses _rows of kernels"]
    assert found("getattr(a, '_rows', None)") == ["tuning/b.py:1 uses _rows of kernels"]
    assert found("from maxmargin.kernels.a import _help") == ["tuning/b.py:1 uses _help of kernels"]
    assert found("import maxmargin.kernels.a as k\nk._help()") == ["tuning/b.py:2 uses _help of kernels"]
    assert found("class B(A):\n    def f(self):\n        return self._rows") == [
        "tuning/b.py:3 uses _rows of kernels"
    ]
    own = "class B:\n    def __init__(self, a):\n        self._rows = {}\n"
    assert found(own.format("2")) == []
    # a name of its own does not excuse the use of somebody else's in another folder of the room
    elsewhere = {"tuning/deep/c.py": "def f(a):\n    return a._rows", "tuning/b.py": own.format("2")}
    assert house.private_uses(house.Tree({**owner, **elsewhere})) == [
        "tuning/deep/c.py:2 uses _rows of kernels, tuning"
    ]
    assert found("def f(a):\n    return a._rows", "kernels/b.py") == []
    assert found("def f(scorer):\n    return scorer._sign") == []  # of another library
    hook = {"tuning/a.py": "class A:\n    _parameter_constraints = {}"}
    assert house.private_uses(house.Tree({**hook, "io/b.py": "hasattr(a, '_parameter_constraints')"})) == []


def test_no_jitted_function_lives_outside_compute(tree: house.Tree) -> None:
    assert house.jitted_outside(tree) == []


def test_jitted_outside_can_fail() -> None:
    source = """@jit
def f(): ...
@numba.njit(cache=True)
def g(): ...
h = jit_sums(f)
def plain(): ...
"""
    assert house.jitted_outside(house.Tree({"solvers/a.py": source})) == [
        "solvers/a.py:2 f is jitted",
        "solvers/a.py:4 g is jitted",
        "solvers/a.py:5 calls jit_sums",
    ]
    assert house.jitted_outside(house.Tree({"compute/a.py": source})) == []


def test_repeated_names_can_fail() -> None:
    files = {"a/rows.py": "class A: ...", "b/rows.py": "class A: ...", "a/base.py": "", "b/base.py": ""}
    assert house.repeated_names(house.Tree(files)) == [
        "file rows.py: a/rows.py, b/rows.py",
        "class A: a/rows.py, b/rows.py",
    ]


def test_functions_are_short_and_typed(tree: house.Tree) -> None:
    assert house.long_functions(tree) == []
    assert house.wide_functions(tree) == []
    untyped, parameters = house.any_parameters(tree)
    assert len(untyped) < house.MOST_ANY * parameters


def test_sizes_can_fail() -> None:
    files = {"a/__init__.py": "", "a/x.py": "", "a/y.py": "", "b/z.py": ""}
    assert house.crowded_folders(house.Tree(files), most=1) == ["a/ has 2 modules"]
    assert house.crowded_folders(house.Tree(files), most=2) == []
    source = """class A:
    def f(self, a, b, *, c, **d):
        a = 1
        return a
    def __init__(self, a, b, c, d, e):
        self.a = a
        self.b = b
"""
    small = house.Tree({"a.py": source})
    assert house.long_functions(small, most=2) == ["a.py:2 f has 3 lines"]
    assert house.long_functions(small, most=3) == []
    assert house.wide_functions(small, most=3) == ["a.py:2 f has 4 parameters"]
    assert house.wide_functions(small, most=4) == []
    assert house.count_lines(small) == 7


def test_any_parameters_can_fail() -> None:
    source = (
        "Table = Any\n"
        "def f(a: Any, b: int, c: Any | None, d: Table, e) -> Any: ...\n"
        "def _g(a: Any): ...\n"
        "@jit\ndef h(a): ...\n"
        "class A:\n    def m(self, x: dict[str, Any]): ...\n"
    )
    found, total = house.any_parameters(house.Tree({"a.py": source}))
    assert [line.partition("(")[2] for line in found] == ["a)", "c)", "d)", "e)"]
    assert total == 6


def test_figures_compare_with_their_bounds() -> None:
    assert house.Figure("a", 3, 3).holds
    assert not house.Figure("a", 4, 3).holds
    assert not house.Figure("a", 0.1, 0.1, strict=True).holds


def test_compiled_functions_return_no_named_tuples() -> None:
    """Making one for Python runs Python, and if Ctrl-C was pressed meanwhile Numba crashes the process."""
    trees = [ast.parse(path.read_text(encoding="utf-8")) for path in (SOURCES / "compute").rglob("*.py")]
    nodes = [node for tree in trees for node in ast.walk(tree)]
    named = {
        node.name
        for node in nodes
        if isinstance(node, ast.ClassDef) and "NamedTuple" in [ast.unparse(base) for base in node.bases]
    }
    assert "Totals" in named
    compiled = [
        node
        for node in nodes
        if isinstance(node, ast.FunctionDef)
        and any(ast.unparse(mark).startswith("jit") for mark in node.decorator_list)
    ]
    assert len(compiled) > 50
    made = [
        function.name
        for function in compiled
        for node in ast.walk(function)
        if isinstance(node, ast.Return)
        and isinstance(node.value, ast.Call)
        and ast.unparse(node.value.func) in named
    ]
    assert made == []
