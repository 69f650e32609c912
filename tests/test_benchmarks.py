"""Benchmark results: the file, the tables made from it, and the list of what got slower."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from benchmarks import _results


def content(ours: float, peer: float, *, case: str = "rows", fresh: float = 2.0) -> dict[str, Any]:
    times = {"best": ours, "median": 1.5 * ours, "fresh": fresh}
    row = {"part": "svm", "table": "fit", "case": case, "ours": times, "peers": {"other": {"best": peer}}}
    machine = {
        "processor": "P",
        "vectors": "V",
        "cores": 2,
        "python": "3",
        "versions": {"numpy": "2"},
        "date": "D",
    }
    return {"parts": {"svm": {"machine": machine, "results": [{**row, "note": "note"}]}}}


def test_times_are_the_best_and_the_median() -> None:
    assert _results.times([3.0, 1.0, 8.0]) == {"best": 1.0, "median": 3.0}
    assert _results.times([2.0], fresh=5.0) == {"best": 2.0, "median": 2.0, "fresh": 5.0}


def test_a_run_of_one_part_keeps_the_others(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_results, "results", [])
    file = tmp_path / "new" / "results.json"
    for part in ("one", "two", "one"):
        _results.begin(part)
        _results.begin(table="fit")
        _results.record("case", {"best": 1.0}, {"peer": 4.0})
        _results.write(file, [part])
    parts = _results.read(file)["parts"]
    assert set(parts) == {"one", "two"}
    assert parts["two"]["results"][0]["peers"] == {"peer": {"best": 4.0}}
    assert parts["one"]["machine"]["date"]


def test_the_table_has_every_figure_and_the_machine() -> None:
    text = _results.table(content(0.5, 2.0))
    assert "| rows | 0.5 / 0.75 / 2 | other | 2 | 4.00 | note |" in text
    assert "P (V, 2 cores), D; Python 3, numpy 2." in text


def test_settings_that_leave_out_instructions_are_in_the_tables(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NUMBA_CPU_NAME", "haswell")
    here = content(0.5, 2.0)
    here["parts"]["svm"]["machine"] |= {"settings": _results.machine()["settings"]}
    assert ", NUMBA_CPU_NAME=haswell" in _results.table(here)
    assert "Measured on P (V, NUMBA_CPU_NAME=haswell" in _results.summary(here)


def test_the_summary_has_range_and_geometric_mean() -> None:
    two = content(1.0, 2.0)
    two["parts"]["svm"]["results"] += content(1.0, 8.0, case="more")["parts"]["svm"]["results"]
    assert "| fit | other | 2 | 2 to 8, geometric mean 4 |  | `svm` |" in _results.summary(two)


def test_cases_in_which_a_peer_is_faster_are_named() -> None:
    assert "rows (fit): other in 1 s" in _results.slower_peers(content(2.0, 1.0))
    assert _results.slower_peers(content(1.0, 2.0)) == "In no case of this run."


def test_what_got_slower_is_listed() -> None:
    lines = _results.compare(content(1.0, 4.0), content(2.0, 4.0)).splitlines()
    assert lines[0] == "1 cases in both files; 2 figures at least 5 % slower."
    assert "svm rows, best: 1 -> 2 s, other 4.00 -> 2.00 x" in lines
    assert _results.compare(content(1.0, 4.0), content(1.04, 4.0)).endswith("0 figures at least 5 % slower.")
    assert "not run again: svm / fit / old" in _results.compare(
        content(1.0, 4.0, case="old"), content(1.0, 4.0)
    )


def test_pages_change_between_the_marks_only(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text(f"before\n{_results._BEGIN}\nold\n{_results._END}\nafter\n")
    for _ in range(2):
        _results.put_between_marks(page, "new")
    assert page.read_text() == f"before\n{_results._BEGIN}\n\nnew\n\n{_results._END}\nafter\n"
    page.write_text("no marks")
    with pytest.raises(SystemExit, match="must contain"):
        _results.put_between_marks(page, "new")


@pytest.mark.parametrize("name", ["README.md", "docs/reference/benchmarks.md"])
def test_the_pages_have_their_marks(name: str) -> None:
    page = (Path(__file__).parents[1] / name).read_text()
    assert page.count(_results._BEGIN) == page.count(_results._END) == 1
