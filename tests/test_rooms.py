"""A room imports only from rooms to its left (DESIGN.md)."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

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
    {"reports", "io"},
    {"cli"},
]
RANK = {room: rank for rank, rooms in enumerate(ORDER) for room in rooms}
PUBLIC = {"io", "cli"}  # they also use the public names, as a user does
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


def test_numba_is_used_through_one_module_only() -> None:
    """jit.py has the decorators, four files have intrinsics: no other file may name numba."""
    allowed = {"jit.py", "bits.py", "lanes.py", "panel_tile.py", "prefetch.py"}
    for path in SOURCES.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
            names += [node.module or ""] if isinstance(node, ast.ImportFrom) else []
            if any(name.split(".")[0] == "numba" for name in names):
                assert path.name in allowed, f"{path} imports numba"
