"""The python blocks of every page run, in their order, in one namespace per page.

Blocks with ``>>>`` are doctests, others are executed. What follows ``<!-- not run -->`` only shows something.
"""

from __future__ import annotations

import doctest
import re
from importlib import import_module
from pathlib import Path

import pytest

import maxmargin as mm

DOCS = Path(__file__).resolve().parents[1] / "docs"
BLOCK = re.compile(r"(?P<before>[^\n]*)\n+```python\n(?P<code>.*?)```", re.DOTALL)
PAGES = [
    path
    for folder in (".", "start", "reference", "reproduce", "texts")
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


# -- the reference -----------------------------------------------------------------------------------------

PUBLIC = {f"mm.{name}": getattr(mm, name) for name in mm._HOMES}
for _module in sorted(mm._MODULES):
    _home = import_module(f"maxmargin.{_module}")
    PUBLIC |= {f"mm.{_module}.{name}": getattr(_home, name) for name in getattr(_home, "__all__", ())}


def has_example(thing: object) -> bool:
    return ">>>" in (thing.__doc__ or "")


def test_pages_of_the_reference_have_an_example():
    without = {
        name.removeprefix("mm.")
        for name, thing in PUBLIC.items()
        if callable(thing) and not has_example(thing)
    }
    assert not without


@pytest.mark.parametrize(
    "name", [name for name in PUBLIC if name.startswith("mm.kernels.") and has_example(PUBLIC[name])]
)
def test_examples_of_kernels(name):
    run_doctest(PUBLIC[name].__doc__, 0, {}, name)


@pytest.mark.parametrize(
    "name",
    ["mm.HardMarginSVC", "mm.NuSVR", "mm.SVDD", "mm.NotSeparableError", "mm.slack_budget", "mm.certify"],
)
def test_examples_of_machines(name):
    run_doctest(PUBLIC[name].__doc__, 0, {}, name)
