"""Every numbered item of the five texts has its place on both pages of the text, the same in the list."""

from __future__ import annotations

import re
import tomllib
from functools import reduce
from pathlib import Path

import pytest

import maxmargin as mm

FOLDER = Path(__file__).resolve().parents[1] / "docs" / "texts"
TEXTS = tomllib.loads((FOLDER / "places.toml").read_text(encoding="utf-8"))
ENGLISH = {
    "definición": "definition",
    "propiedades": "properties",
    "teorema": "theorem",
    "lema": "lemma",
    "corolario": "corollary",
    "proposición": "proposition",
    "ejemplo": "example",
    "figura": "figure",
    "tabla": "table",
    "algoritmo": "algorithm",
    "sección": "section",
}
HEADS = ("| in the text |", "| en el texto |")
OUTSIDE = ("out of scope: ", "fuera de alcance: ")
# the last equation of every chapter, and how many of each kind the text counts without chapters
LAST = {
    "valera": {
        "equation": ["2.47", "3.25", "4.18", "5.16", "7.13", "A.4"],
        "figure": ["2.2", "3.2", "4.1", "5.1", "6.2"],
        "table": ["6.3"],
    },
    "fuentes": {
        "equation": ["5"],
        "algorithm": ["7"],
        "figure": ["3.6", "5.1"],
        "definition": ["3.3"],
        "theorem": ["3.1"],
    },
    "gomez": {
        "equation": ["1.48", "2.20"],
        "algorithm": ["6"],
        "figure": ["1.4", "2.3", "3.4"],
        "table": ["1", "2.6", "3.4"],
        "example": ["0.1", "2.13"],
    },
}


def numbers(first: str, last: str | None) -> list[str]:
    """ "2.8" to "2.10" as 2.8, 2.9, 2.10."""
    if last is None:
        return [first]
    chapter, _, start = first.rpartition(".")
    stop = last.rpartition(".")[2]
    return [f"{chapter}.{n}" if chapter else str(n) for n in range(int(start), int(stop) + 1)]


def keys(cell: str) -> list[str]:
    """The items of a first cell: "(2.1)-(2.3), lemma 2.8, *a slide*"."""
    found = []
    for part in (part.strip() for part in cell.split(",")):
        if part.startswith("*"):
            found.append(f"slide {part.strip('*')}")
            continue
        match = re.fullmatch(r"\(([\w.]+)\)(?:-\(([\w.]+)\))?", part)
        kind = "equation"
        if match is None:
            match = re.fullmatch(r"(\w+) ([\w.]+)(?:-([\w.]+))?", part)
            assert match is not None, f"cannot read {part!r}"
            kind = ENGLISH.get(match[1], match[1])
            match = re.fullmatch(r"([\w.]+)(?:-([\w.]+))?", part.split(" ", 1)[1])
            assert match is not None
        found += [f"{kind} {n}" for n in numbers(match[1], match[2])]
    return found


def places_on(page: str) -> dict[str, set[str]]:
    """Names in backticks beside every item of a page; an empty set where it is out of scope."""
    found: dict[str, set[str]] = {}
    inside = False
    for line in page.splitlines():
        inside = line.startswith(HEADS) or (inside and line.startswith("|"))
        if not inside or line.startswith((*HEADS, "|---")):
            continue
        cell, _, place = (part.strip() for part in line.strip("|").split(" | "))
        names = set(re.findall(r"`(mm[\w.]+)`", place))
        assert bool(names) != place.startswith(OUTSIDE), line
        for key in keys(cell):
            assert key not in found, f"{key} is on the page twice"
            found[key] = names
    return found


def in_list(text: str) -> dict[str, set[str]]:
    return {
        key: set() if place.startswith(OUTSIDE[0]) else set(place.split(", "))
        for key, place in TEXTS[text]["places"].items()
    }


@pytest.mark.parametrize("language", ["md", "es.md"])
@pytest.mark.parametrize("text", TEXTS)
def test_page_and_list_agree(text, language):
    page = (FOLDER / f"{text}.{language}").read_text(encoding="utf-8")
    assert places_on(page) == in_list(text)
    assert TEXTS[text]["title"] in page
    assert TEXTS[text].get("author", "") in page


@pytest.mark.parametrize("text", TEXTS)
def test_every_place_exists(text):
    for names in in_list(text).values():
        for name in names:
            reduce(getattr, name.split(".")[1:], mm)


@pytest.mark.parametrize("text", TEXTS)
def test_reasons_are_given(text):
    reasons = [p.removeprefix(OUTSIDE[0]) for p in TEXTS[text]["places"].values() if p.startswith(OUTSIDE[0])]
    assert all(len(reason) > 8 for reason in reasons)


@pytest.mark.parametrize("text", LAST)
def test_no_number_is_left_out(text):
    """Numbers run from 1 (per chapter) to the last one without a gap."""
    for kind, lasts in LAST[text].items():
        expected = [f"{kind} {n}" for last in lasts for n in numbers(re.sub(r"\d+$", "1", last), last)]
        assert sorted(expected) == sorted(key for key in TEXTS[text]["places"] if key.startswith(f"{kind} "))


def test_both_languages_run_the_same_lines():
    block = re.compile(r"```python\n(.*?)```", re.DOTALL)
    for text in TEXTS:
        pages = [(FOLDER / f"{text}.{end}").read_text(encoding="utf-8") for end in ("md", "es.md")]
        assert block.findall(pages[0]) == block.findall(pages[1])
        assert [page.count("\n## ") for page in pages] == [pages[0].count("\n## ")] * 2


def cells(line: str) -> int:
    """Cells of a table's line; a vertical bar inside of one is escaped."""
    return len(re.findall(r"(?<!\\)\|", line)) - 1


@pytest.mark.parametrize("page", sorted(FOLDER.glob("*.md")), ids=lambda page: page.name)
def test_rows_of_tables_have_all_their_cells(page):
    head = None
    for line in page.read_text(encoding="utf-8").splitlines():
        head = (head or cells(line)) if line.startswith("|") else None
        assert head is None or cells(line) == head, line


@pytest.mark.parametrize("text", TEXTS)
def test_both_languages_list_the_same_slips(text):
    """The same number of rows, with the same equation numbers in the same order."""
    tables = []
    for end, head in (("md", "## Slips and corrections"), ("es.md", "## Erratas y correcciones")):
        slips = (FOLDER / f"{text}.{end}").read_text(encoding="utf-8").split(head)[1]
        first = [row.split(" | ")[0] for row in slips.splitlines() if row.startswith("| ")][1:]
        tables.append([re.findall(r"[\dA]+\.[\d.]+", cell) for cell in first])
    assert len(tables[0]) > 4
    assert tables[0] == tables[1]


def test_the_comparison_can_fail():
    head = "| in the text | what it says | here |\n|---|---|---|\n"
    row = "| (2.1)-(2.3), lemma 2.8-2.10, *Kernel* | words | `mm.SVC`, `mm.certify` |"
    found = places_on(head + row)
    assert found["equation 2.2"] == found["lemma 2.9"] == found["slide Kernel"] == {"mm.SVC", "mm.certify"}
    assert len(found) == 7
    with pytest.raises(AssertionError):
        places_on(head + "| (2.1) | words | nowhere |")
    with pytest.raises(AssertionError):
        places_on(f"{head}{row}\n| (2.3) | words | `mm.SVC` |")
