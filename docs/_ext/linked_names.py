"""`mm.SVC` in a text or table links to the page of that name."""

from __future__ import annotations

import re
from typing import Any

from docutils import nodes

_NAME = re.compile(r"mm((?:\.\w+)+)")


def link_names(app: Any, doctree: nodes.document, docname: str) -> None:
    """Wrap every literal that begins with a documented name in a link, also `mm.SVC(solver="smo")`.

    A name without a page of its own, such as the attribute `mm.SVC.slack_`, links to its class.
    """
    documented = app.env.get_domain("py").objects
    for literal in list(doctree.findall(nodes.literal)):
        match = _NAME.match(literal.astext())
        name, entry = f"maxmargin{match[1]}" if match else "", None
        while entry is None and "." in name:
            entry, name = documented.get(name), name.rpartition(".")[0]
        if entry is None or isinstance(literal.parent, nodes.reference) or entry.docname == docname:
            continue
        target = f"{app.builder.get_relative_uri(docname, entry.docname)}#{entry.node_id}"
        link = nodes.reference("", "", internal=True, refuri=target)
        literal.replace_self(link)
        link += literal


def setup(app: Any) -> dict[str, bool]:
    app.connect("doctree-resolved", link_names)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
