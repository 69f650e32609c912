"""The python blocks of every page run, in their order, in one namespace per page.

Blocks with ``>>>`` are doctests, others are executed. What follows ``<!-- not run -->`` only shows something.
"""

from __future__ import annotations

import doctest
import re
from pathlib import Path

import pytest

DOCS = Path(__file__).resolve().parents[1] / "docs"
BLOCK = re.compile(r"(?P<before>[^\n]*)\n+```python\n(?P<code>.*?)```", re.DOTALL)
PAGES = [
    path
    for folder in (".", "start", "reference", "reproduce")
    for path in sorted((DOCS / folder).glob("*.md"))
    if "```python" in path.read_text(encoding="utf-8")
]


def blocks(path: Path) -> list[tuple[str, int]]:
    """Code and line number of the blocks that are to run."""
    text = path.read_text(encoding="utf-8")
    return [
        (match["code"], text.count("\n", 0, match.start("code")))
        for match in BLOCK.finditer(text)
        if "<!-- not run -->" not in match["before"]
    ]


def run_doctest(code: str, line: int, names: dict, page: str) -> None:
    test = doctest.DocTestParser().get_doctest(code, names, page, page, line)
    runner = doctest.DocTestRunner(optionflags=doctest.ELLIPSIS)
    report: list[str] = []
    runner.run(test, out=report.append, clear_globs=False)
    names.update(test.globs)
    assert not report, "".join(report)


@pytest.mark.parametrize("path", PAGES, ids=lambda path: path.relative_to(DOCS).as_posix())
def test_page_runs(path, tmp_path, monkeypatch, capsys):
    import matplotlib.pyplot as plt

    plt.switch_backend("Agg")
    monkeypatch.chdir(tmp_path)
    names: dict = {}
    try:
        for code, line in blocks(path):
            if ">>>" in code:
                run_doctest(code, line, names, path.name)
            else:
                exec(compile("\n" * line + code, str(path), "exec"), names)
    finally:
        plt.close("all")


def test_most_blocks_run():
    assert sum(len(blocks(path)) for path in PAGES) > 60
