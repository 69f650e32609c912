"""What a selector kept, and how it came to that."""

from __future__ import annotations

from typing import Any

from maxmargin.displays.choices.selection_display import SelectionDisplay
from maxmargin.reports.blocks import Facts, Section, Text
from maxmargin.reports.pictures import picture
from maxmargin.reports.study import Study

_LISTED = 60


def selection(study: Study) -> Section | None:
    """The kept variables and the picture of the search; None where no selector took part."""
    selector, say = study.subject.selector, study.say
    if selector is None:
        return None
    kept, p = selector.selected_, len(selector.support_)
    listed = ", ".join(kept[:_LISTED]) + (", …" if len(kept) > _LISTED else "")
    facts = [
        (say("selection.method"), type(selector).__name__),
        (say("selection.kept"), say("machine.of", n=len(kept), all=p)),
        (say("selection.names"), listed),
    ]
    display = SelectionDisplay.from_estimator(selector)
    blocks: list[Any] = [Text(say("selection.text")), Facts(facts)]
    blocks.append(picture(display, say("selection.alt"), study.words, size=(5.6, 4.4)))
    return Section("selection", say("selection.title"), blocks)
