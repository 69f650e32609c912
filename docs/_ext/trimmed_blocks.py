"""Code blocks without the empty lines at their end, which doctests in Markdown need."""

from __future__ import annotations

from typing import Any

from docutils import nodes


def trim_blocks(app: Any, doctree: nodes.document) -> None:
    for block in doctree.findall(nodes.literal_block):
        if block.rawsource == block.astext():
            block.rawsource = block.rawsource.rstrip()
            block.children = [nodes.Text(block.rawsource)]


def setup(app: Any) -> dict[str, bool]:
    app.connect("doctree-read", trim_blocks)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
