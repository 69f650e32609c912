"""How parameters and variables were chosen."""

from __future__ import annotations

import warnings
from typing import Any

from maxmargin.displays.choices.selection_display import SelectionDisplay
from maxmargin.displays.choices.tune_display import TuneDisplay
from maxmargin.reports.blocks import Facts, Grid, Section, Text
from maxmargin.reports.pictures import picture
from maxmargin.reports.study import Study
from maxmargin.tuning import TuneResult

_BEST_CELLS = 8
_LISTED = 60


def grid(study: Study) -> Section | None:
    """The best cell, the simplest cell as good as it, the picture, and the best cells in a table.

    A search of one cell shows it and its error.
    """
    found = study.subject.tuning
    if found is None:
        return None
    one = "_one" if len(found.table) == 1 else ""
    say, words = study.say, study.words
    spread = words.number(float(found.table["dispersion"].iloc[found.best_index]), 2)
    simplest = found.params[found.one_standard_error_index]
    n_folds, seconds = found.folds.shape[1], words.number(found.seconds, 3)
    facts = [
        (say("grid.one" if one else "grid.best"), _cell(study, found.best_params)),
        (
            say("grid.error", measure=words.measure(found.measure)),
            f"{words.number(found.best_error)} ± {spread}",
        ),
        *([] if one else [(say("grid.simplest"), _cell(study, simplest))]),
        (say("grid.work"), say(f"grid.done{one}", cells=len(found.table), folds=n_folds, seconds=seconds)),
    ]
    blocks = [Text(say(f"grid.text{one}", folds=n_folds)), Facts(facts)]
    if not one:
        blocks += [*_picture(study, found), _table(study, found)]
    return Section("grid", say("grid.title"), blocks)


def _cell(study: Study, params: dict[str, Any]) -> str:
    words = study.words
    return "; ".join(
        f"{words.option(name)}\u00a0=\u00a0{words.value(value)}" for name, value in params.items()
    )


def _picture(study: Study, found: TuneResult) -> list[Any]:
    with warnings.catch_warnings():
        # the section of warnings says where the best cell lies
        warnings.filterwarnings("ignore", "the best cell lies on the edge")
        display = TuneDisplay.from_result(found)
    alt = study.say("grid.alt", best=_cell(study, found.best_params))
    return [picture(display, alt, study.words, size=(5.6, 4.4))]


def _table(study: Study, found: TuneResult) -> Grid:
    words = study.words
    best = found.table.sort_values("error", kind="stable").head(_BEST_CELLS)
    names = list(found.params[0])
    rows = [
        [
            *(words.value(best[name].iloc[k]) for name in names),
            words.number(best["error"].iloc[k]),
            words.number(best["dispersion"].iloc[k], 2),
        ]
        for k in range(len(best))
    ]
    measure = words.measure(found.measure)
    heads = [*map(words.option, names), measure[:1].upper() + measure[1:], study.say("grid.dispersion")]
    return Grid(
        columns=heads,
        rows=rows,
        caption=study.say("grid.caption", n=len(best)),
        cards=len(heads) > 4,
        numbers=tuple(range(len(heads))),
    )


def selection(study: Study) -> Section | None:
    """The variables that a selector kept, and the picture of its search; None without a selector."""
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
    drawn = picture(display, say("selection.alt"), study.words, size=(5.6, 4.4))
    return Section("selection", say("selection.title"), [Text(say("selection.text")), Facts(facts), drawn])
