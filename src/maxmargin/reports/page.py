"""The page: the head with its figures, the sections, and the file."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib import resources
from itertools import zip_longest
from pathlib import Path
from typing import Any, Unpack

from sklearn.base import BaseEstimator

from maxmargin.base.interruption import interrupts_kept
from maxmargin.base.typing import TableLike, TargetLike
from maxmargin.base.visible_text import visible
from maxmargin.base.whole_files import whole_file
from maxmargin.reports.blocks import Cautions, Section
from maxmargin.reports.line_breaks import with_breaks
from maxmargin.reports.sections.cautions_section import cautions
from maxmargin.reports.sections.data_section import data
from maxmargin.reports.sections.evaluation_section import evaluation
from maxmargin.reports.sections.machine_section import certified, machine
from maxmargin.reports.sections.margin_section import margin
from maxmargin.reports.sections.question_section import question
from maxmargin.reports.sections.reproduce_section import reproduce
from maxmargin.reports.sections.search_section import grid, selection
from maxmargin.reports.sections.variables_section import variables
from maxmargin.reports.study import ReportOptions, Study, make_study

_OPTION = re.compile(r"(?<!\S)(--[a-z]+(?:-[a-z]+)*)")
_MAKERS = (question, cautions, data, grid, selection, machine, margin, evaluation, variables, reproduce)


def report(
    model: BaseEstimator,
    X: TableLike,
    y: TargetLike | None,
    path: str | Path,
    *,
    training: tuple[TableLike, TargetLike | None] | None = None,
    overwrite: bool = True,
    **options: Unpack[ReportOptions],
) -> Path:
    """Write a report on a fitted model as one self-contained HTML file, for screens, phones and paper.

    Parameters
    ----------
    model : fitted estimator, Pipeline, ``TuneResult``, ``GridSearch`` or selector.
    X, y : the rows on which the model is evaluated, and their targets. ``y`` may be None for outlier
        detectors.
    path : file to write; an error leaves no partial file. Missing folders are created.
    training : (X_train, y_train), the rows the model learned from. The report then describes them, and
        treats ``X`` and ``y`` as held out. Without it ``X`` and ``y`` are taken as the training rows, and
        the report warns that its figures are optimistic.
    overwrite : False raises FileExistsError where the file exists.
    options : held_out, language, title, question, target, positive, names, threshold, n_repeats,
        random_state, command, model_file; see `ReportOptions`.

    Returns
    -------
    The path of the file.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> import maxmargin as mm
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True, as_frame=True)
    >>> model = mm.SVC(C=10, gamma=0.1).fit(X[::2], y[::2])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = mm.report(model, X[1::2], y[1::2], Path(folder) / "iris.html", training=(X[::2], y[::2]))
    ...     path.read_text(encoding="utf-8").startswith("<!doctype html>")
    True
    """
    with interrupts_kept():  # drawing has many finalisers
        study = make_study(model, X, y, training, options)
        return write_page(study, Path(path), overwrite=overwrite)


def write_page(study: Study, path: Path, *, overwrite: bool = True) -> Path:
    """Write the page about a study."""
    page = page_text(study)
    path.parent.mkdir(parents=True, exist_ok=True)
    with whole_file(path, overwrite=overwrite) as file:
        file.write(page)
    return path


def page_text(study: Study) -> str:
    """The page about a study, as HTML."""
    try:
        from jinja2 import Environment, StrictUndefined
    except ImportError as missing:
        raise ImportError("reports need Jinja2: pip install 'maxmargin[report]'.") from missing

    sections = [section for make in _MAKERS if (section := make(study)) is not None]
    folder = resources.files("maxmargin.reports") / "templates"
    environment = Environment(
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        finalize=lambda value: visible(value) if type(value) is str else value,
    )
    environment.filters |= {"breaks": _as_html, "code": _as_code}
    template = environment.from_string((folder / "report.html").read_text(encoding="utf-8"))
    page: str = template.render(
        language=study.words.language,
        title=title_of(study),
        style=(folder / "report.css").read_text(encoding="utf-8"),
        contents=study.say("page.contents"),
        made_with=study.say("page.made_with"),
        glance=glance(study, sections),
        sections=sections,
    )
    return page.strip() + "\n"  # the macros above the first line leave blank lines


def _as_html(value: object) -> str:
    """Text as HTML that breaks between words only: <wbr> where a line may break, options in one piece."""
    from markupsafe import Markup, escape  # they come with Jinja2

    def broken(text: str) -> Markup:
        return Markup("<wbr>").join(escape(part) for part in with_breaks(text).split("\u200b"))

    return _with_options(str(value), broken)


def _as_code(value: object) -> str:
    """Code as it is, with options in one piece."""
    from markupsafe import escape

    return _with_options(visible(str(value)), escape)


def _with_options(text: str, of_text: Callable[[str], Any]) -> str:
    from markupsafe import Markup

    parts = _OPTION.split(text)  # text and options in turn
    made = (Markup('<span class="option">{}</span>').format(part) for part in parts[1::2])
    return Markup("").join(
        part for pair in zip_longest(map(of_text, parts[::2]), made, fillvalue="") for part in pair
    )


# -- the head ------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Card:
    """A figure with its name, a line below it, and a tone ("good", "bad", "plain")."""

    name: str
    value: str
    note: str = ""
    tone: str = "plain"


def title_of(study: Study) -> str:
    """The user's title, or model and target."""
    if study.title:
        return study.title
    model = type(study.subject.final).__name__
    return f"{model}: {study.target}" if study.target else model


def glance(study: Study, sections: Sequence[Section]) -> list[Card]:
    """The figures at the top: quality, size, certificate, number of warnings."""
    cards = [*_quality(study), _size(study)]
    proven = certified(study)
    if proven is not None:
        word = study.say("glance.proven" if proven else "glance.not_proven")
        cards.append(Card(study.say("glance.certificate"), word, tone="good" if proven else "bad"))
    blocks = [block for section in sections for block in section.blocks if isinstance(block, Cautions)]
    found = [item for block in blocks for item in block.items]
    serious = sum(item.serious for item in found)
    tone = "bad" if serious else "plain" if found else "good"
    note = study.say("glance.serious", n=serious) if serious else ""
    cards.append(Card(study.say("glance.cautions"), str(len(found)), note, tone))
    return cards


def _size(study: Study) -> Card:
    p = len(study.variables)
    note = study.say("glance.variables", p=p) if p else ""
    return Card(study.say("glance.rows"), str(len(study.known)), note)


def _quality(study: Study) -> list[Card]:
    say, words, task = study.say, study.words, study.subject.task
    on = say("glance.held_out" if study.held_out else "glance.same_rows")
    if task == "classification":
        measures = study.evaluation.confusion.measures(study.evaluation.confidence)
        value, low, high = measures.loc[["accuracy"]].to_numpy()[0].tolist()
        span = say("evaluation.from_to", low=words.percent(low), high=words.percent(high))
        cards = [Card(words.measure("accuracy"), words.percent(value), f"{span}, {on}")]
        if study.evaluation.ranking is not None:
            area = study.evaluation.ranking.auc
            low, high = (words.number(end, 3) for end in area.interval)
            cards.append(
                Card("AUC", words.number(area.value, 3), say("evaluation.from_to", low=low, high=high))
            )
        return cards
    if task == "regression":
        score = study.subject.model.score(study.evaluated.X, study.evaluated.y)
        return [Card("R²", words.number(score, 3), on)]
    if task == "selection" and study.subject.selector is not None:
        kept = study.subject.selector.support_
        return [Card(say("selection.kept"), say("machine.of", n=int(kept.sum()), all=len(kept)))]
    return []
