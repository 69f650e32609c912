"""The search for parameters, with its picture."""

from __future__ import annotations

import warnings
from typing import Any

from maxmargin.displays.choices.tune_display import TuneDisplay
from maxmargin.reports.blocks import Facts, Grid, Section, Text
from maxmargin.reports.numbers import number, value_text
from maxmargin.reports.pictures import picture
from maxmargin.reports.study import Study
from maxmargin.tuning import TuneResult

_BEST_CELLS = 8


def grid(study: Study) -> Section | None:
    """Best cell, the simplest cell as good as it, the picture, and the best cells in a table."""
    found = study.subject.tuning
    if found is None:
        return None
    say = study.say
    measure = study.words.measure(found.measure)
    facts = [
        (say("grid.best"), _cell(found.best_params)),
        (say("grid.error", measure=measure), f"{number(found.best_error)} ± {_spread(found)}"),
        (say("grid.simplest"), _cell(found.params[found.one_standard_error_index])),
        (say("grid.work"), say("grid.done", cells=len(found.table), folds=found.folds.shape[1],
                               seconds=number(found.seconds, 3))),
    ]  # fmt: skip
    blocks = [Text(say("grid.text", folds=found.folds.shape[1])), Facts(facts), *_picture(study, found)]
    return Section("grid", say("grid.title"), [*blocks, _table(study, found)])


def _cell(params: dict[str, Any]) -> str:
    return ", ".join(f"{name} = {value_text(value)}" for name, value in params.items())


def _spread(found: TuneResult) -> str:
    return number(float(found.table["dispersion"].iloc[found.best_index]), 2)


def _picture(study: Study, found: TuneResult) -> list[Any]:
    if len(found.table) < 2:
        return []
    with warnings.catch_warnings():
        # the section of warnings says where the best cell lies
        warnings.filterwarnings("ignore", "the best cell lies on the edge")
        display = TuneDisplay.from_result(found)
    alt = study.say("grid.alt", best=_cell(found.best_params))
    return [picture(display, alt, study.words, size=(5.6, 4.4))]


def _table(study: Study, found: TuneResult) -> Grid:
    best = found.table.sort_values("error", kind="stable").head(_BEST_CELLS)
    names = list(found.params[0])
    rows = [
        [*(value_text(best[name].iloc[k]) for name in names),
         number(best["error"].iloc[k]), number(best["dispersion"].iloc[k], 2)]
        for k in range(len(best))
    ]  # fmt: skip
    heads = [*names, study.say("grid.error_head"), study.say("grid.dispersion")]
    return Grid(
        columns=heads,
        rows=rows,
        caption=study.say("grid.caption", n=len(best)),
        cards=len(heads) > 4,
        numbers=tuple(range(len(heads))),
    )
