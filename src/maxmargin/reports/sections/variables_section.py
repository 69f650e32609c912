"""Which variables matter."""

from __future__ import annotations

from typing import Any

from maxmargin.displays.evaluation.importance_display import ImportanceDisplay
from maxmargin.reports.blocks import Grid, Heading, Section, Text
from maxmargin.reports.numbers import number
from maxmargin.reports.pictures import picture
from maxmargin.reports.study import Study

_DRAWN = 15
_SHOWN = 15


def variables(study: Study) -> Section | None:
    """Permutation importance with its picture, and the rank by recursive elimination."""
    if study.subject.task == "selection":
        return None
    table, ranks, say = study.importance, study.elimination, study.say
    if table is None and ranks is None:
        return Section("variables", say("variables.title"), [Text(say("variables.none"))])
    blocks: list[Any] = []
    if table is not None:
        of = "variables.accuracy" if study.subject.task == "classification" else "variables.r2"
        blocks.append(Text(say("variables.text", of=say(of), n=table.attrs["n_rows"], k=study.n_repeats)))
        display = ImportanceDisplay.from_result(table, measure=say(of), most=_DRAWN)
        height = 1.2 + 0.3 * min(_DRAWN, len(table))
        blocks.append(picture(display, say("variables.alt"), study.words, size=(5.6, height)))
    if ranks is not None:
        blocks += [Heading(say("variables.elimination")), Text(say("variables.elimination_text"))]
    return Section("variables", say("variables.title"), [*blocks, _grid(study)])


def _grid(study: Study) -> Grid:
    table, ranks, say = study.importance, study.elimination, study.say
    order = list(table["variable"]) if table is not None else sorted(ranks, key=lambda name: ranks[name])
    by_name = {} if table is None else table.set_index("variable").to_dict("index")
    heads = [say("data.variable")]
    heads += [say("variables.importance")] if table is not None else []
    heads += [say("variables.rank")] if ranks is not None else []
    rows = []
    for name in order:
        row = [name]
        if table is not None:
            found = by_name[name]
            row.append(f"{number(found['importance'], 3)} ± {number(found['deviation'], 2)}")
        if ranks is not None:
            row.append(str(ranks[name]))
        rows.append(row)
    return Grid(
        columns=heads,
        rows=rows[:_SHOWN],
        numbers=tuple(range(1, len(heads))),
        more=rows[_SHOWN:300],
        more_label=say("data.more", n=len(rows) - _SHOWN),
    )
