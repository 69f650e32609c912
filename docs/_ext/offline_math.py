"""Formulas as MathML, made by docutils: browsers show it by themselves, so the pages need no network."""

from __future__ import annotations

import re
from typing import Any

from docutils import nodes
from docutils.utils.math.latex2mathml import tex2mathml

_UNKNOWN = {r"\Big": "", r"\texttt": r"\mathtt"}  # commands that docutils does not know


def _mathml(tex: str, *, as_block: bool) -> str:
    for command, known in _UNKNOWN.items():
        tex = tex.replace(command, known)
    tex = re.sub(r"frac(\d)(\d)", r"frac{\1}{\2}", tex)  # docutils takes two digits for one number
    tex = re.sub(r"\\lVert(.*?)\\rVert", r"{\\Vert\1\\Vert}", tex)  # an exponent is the bar's alone
    return str(tex2mathml(tex.strip(), as_block=as_block))


def _inline(self: Any, node: Any) -> None:
    self.body.append(_mathml(node.astext(), as_block=False))
    raise nodes.SkipNode


def _block(self: Any, node: Any) -> None:
    self.body.append(f'<div class="formula">{_mathml(node.astext(), as_block=True)}</div>')
    raise nodes.SkipNode


def setup(app: Any) -> dict[str, Any]:
    app.add_html_math_renderer("mathml", inline_renderers=(_inline, None), block_renderers=(_block, None))
    return {"parallel_read_safe": True}
