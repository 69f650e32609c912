"""What the pages say about the source tree is true, and every citation is in the bibliography."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest
from tools import house

from tests.test_rooms import ORDER

# -- what the pages say about the source tree ------------------------------------------------------------

ROOT = Path(__file__).resolve().parents[1]
PACKAGE = ROOT / "src" / "maxmargin"
DOCS = ROOT / "docs"
MADE = {"_build", "auto_examples", "generated", "backreferences", "api.md"}  # by sphinx
PAGES = [
    ROOT / "README.md",
    ROOT / "CONTRIBUTING.md",
    ROOT / "SECURITY.md",
    *(path for path in sorted(DOCS.rglob("*.md")) if not MADE & set(path.parts)),
]
FOLDERS = "|".join(path.name for home in (ROOT, PACKAGE) for path in home.iterdir() if path.is_dir())
PATH = re.compile(rf"`((?:{FOLDERS})/[\w./*-]*)`")


def missing_paths(text: str) -> list[str]:
    """Paths in backticks that exist neither in the repository nor in the package."""
    return [
        found
        for found in PATH.findall(text)
        if not any(list(home.glob(found.rstrip("/"))) for home in (ROOT, PACKAGE))
    ]


def defined_names(path: Path) -> set[str]:
    """Functions, classes and methods (``Class.method``) of a file."""
    names = set()
    for node in ast.parse(path.read_text(encoding="utf-8")).body:
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            names.add(node.name)
        if isinstance(node, ast.ClassDef):
            names |= {f"{node.name}.{part.name}" for part in node.body if isinstance(part, ast.FunctionDef)}
    return names


def wrong_steps(text: str) -> list[str]:
    """Rows of a table "| step | file | functions |" whose file does not define the functions."""
    wrong = []
    for line in text.splitlines():
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        if len(cells) == 3 and re.fullmatch(r"`[\w/]+\.py`", cells[1]):
            path = PACKAGE / cells[1].strip("`")
            names = re.findall(r"`([\w.]+)`", cells[2])
            if not names or not path.exists() or not set(names) <= defined_names(path):
                wrong.append(line)
    return wrong


@pytest.mark.parametrize("path", PAGES, ids=lambda path: path.relative_to(ROOT).as_posix())
def test_paths_on_the_page_exist(path):
    assert missing_paths(path.read_text(encoding="utf-8")) == []


def test_architecture_names_functions_that_exist():
    text = (DOCS / "architecture.md").read_text(encoding="utf-8")
    assert wrong_steps(text) == []
    assert len(re.findall(r"^\|[^|]+\| `[\w/]+\.py` \|", text, re.MULTILINE)) >= 25


def test_architecture_follows_tune_to_the_solver():
    """The calls of a real run are at most seven, and the page names the functions among them."""
    hops = house.hops_to_solver()
    assert len(hops) <= house.MOST_HOPS, hops
    text = (DOCS / "architecture.md").read_text(encoding="utf-8")
    missing = [hop for hop in hops if not all(f"`{part}`" in text for part in hop.split())]
    assert [hop for hop in missing if "._" not in hop and " _" not in hop] == []


def test_architecture_lists_the_rooms_in_their_order():
    text = (DOCS / "architecture.md").read_text(encoding="utf-8")
    table = text[text.index("| room |") : text.index("Some more rules")]
    rows = [set(re.findall(r"`(\w+)`", line.split("|")[1])) for line in table.splitlines()[2:] if line]
    assert rows == ORDER


def test_the_checks_of_names_can_fail():
    assert missing_paths("`solvers/dual/nothing.py`, `docs/nothing.md`, `src/maxmargin/nothing/`") == [
        "solvers/dual/nothing.py",
        "docs/nothing.md",
        "src/maxmargin/nothing/",
    ]
    assert missing_paths("`problems/box_qp.py`, `src/maxmargin/problems/`, `tests/test_docs.py`") == []
    good = "| certify | `problems/box_qp.py` | `BoxQP.certify` |"
    bad = good.replace("certify`", "nothing`")
    assert wrong_steps(f"{good}\n{bad}") == [bad]


# -- citations -------------------------------------------------------------------------------------------

WRITTEN = [
    path
    for folder in ("src", "docs", "examples", "tests", "benchmarks", "tools")
    for kind in ("*.py", "*.md", "*.toml", "*.txt")
    for path in sorted((ROOT / folder).rglob(kind))
    if not MADE & set(path.parts)
]
# labels of sources without author, and documents that are not in the repository
LABEL = re.compile(
    r"(?<=[\s(])\[[0-4](?:, (?:section|chapter|theorem|algorithm)|,? \(\d)"
    r"|\b(?:of|in) \[[0-4]\]|\b(?:SPEC|DESIGN|PAGE)\b(?:\.md)?"
)
CITED = re.compile(r"([A-Z][\w'-]+)(?: et al\.)?,? \(?((?:19|20)\d\d)\b")


def labels(text: str) -> list[str]:
    return [match[0] for match in LABEL.finditer(text)]


def test_sources_are_cited_by_author():
    found = {path.relative_to(ROOT).as_posix(): labels(path.read_text(encoding="utf-8")) for path in WRITTEN}
    found.pop("tests/test_pages.py")
    assert {path: hits for path, hits in found.items() if hits} == {}


def docstrings(path: Path) -> str:
    """Docstrings and comments of a file."""
    text = path.read_text(encoding="utf-8")
    documented = (ast.Module, ast.ClassDef, ast.FunctionDef)
    nodes = [node for node in ast.walk(ast.parse(text)) if isinstance(node, documented)]
    return "\n".join([*filter(None, map(ast.get_docstring, nodes)), *re.findall(r"#[^\n]*", text)])


def uncited(text: str, sources: list[str]) -> list[str]:
    """Citations "Name 1999" or "Name (1999)" that no line of the bibliography matches."""
    return [
        f"{name} {year}"
        for name, year in CITED.findall(text)
        if not any(year in line and name.removesuffix("'s") in line for line in sources)
    ]


def test_every_citation_is_in_the_bibliography():
    lines = (DOCS / "reference" / "bibliography.md").read_text(encoding="utf-8").splitlines()
    sources = [line for line in lines if line.startswith("| ")]
    found = {path.name: uncited(docstrings(path), sources) for path in sorted(PACKAGE.rglob("*.py"))}
    assert {name: hits for name, hits in found.items() if hits} == {}


def test_the_checks_of_citations_can_fail():
    assert labels("see [1, section 5.1] and SPEC.md, [2 (2.14)]") == ["[1, section", "SPEC.md", "[2 (2"]
    assert labels("the interval [0, 1], x[0] and [0, 2]") == []
    sources = ["| Platt 1998 | Sequential minimal optimization |"]
    assert uncited("Platt (1998), Joachims (1999)", sources) == ["Joachims 1999"]
