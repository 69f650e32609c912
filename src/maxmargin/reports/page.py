"""The page: collect the study, make its sections, write one file."""

from __future__ import annotations

from collections.abc import Sequence
from importlib import resources
from pathlib import Path
from typing import Any

from maxmargin.reports.glance import glance, title_of
from maxmargin.reports.sections.asked_section import asked
from maxmargin.reports.sections.cautions_section import cautions
from maxmargin.reports.sections.data_section import data
from maxmargin.reports.sections.evaluation_section import evaluation
from maxmargin.reports.sections.grid_section import grid
from maxmargin.reports.sections.machine_section import machine
from maxmargin.reports.sections.margin_section import margin
from maxmargin.reports.sections.reproduce_section import reproduce
from maxmargin.reports.sections.selection_section import selection
from maxmargin.reports.sections.variables_section import variables
from maxmargin.reports.study import Study
from maxmargin.reports.study_rows import Rows
from maxmargin.reports.subject import Subject
from maxmargin.reports.words import words_in

_MAKERS = (
    asked,
    cautions,
    data,
    grid,
    selection,
    machine,
    margin,
    evaluation,
    variables,
    reproduce,
)


def report(
    model: Any,
    X: Any,
    y: Any,
    path: str | Path,
    *,
    training: tuple[Any, Any] | None = None,
    held_out: bool | None = None,
    language: str = "en",
    title: str | None = None,
    question: str | None = None,
    target: str | None = None,
    positive: Any = None,
    names: Sequence[str] | None = None,
    n_repeats: int = 5,
    random_state: int = 0,
    command: str | None = None,
) -> Path:
    """Write one HTML file about a fitted model: nothing else is needed to read it, on a phone or on paper.

    Parameters
    ----------
    model : fitted estimator, Pipeline, ``TuneResult``, ``GridSearch`` or selector.
    X, y : the rows the model is evaluated on and their targets. ``y`` may be None for outlier detectors.
    path : where to write; folders are made.
    training : (X_train, y_train), the rows the model learned from. The report then describes them, and calls
        ``X`` and ``y`` held out.
    held_out : True says that the model has not seen ``X`` although the training rows are not given. By
        default it is true exactly when ``training`` is given; else ``X`` and ``y`` are taken for the training
        rows, and the report warns that its figures are too good.
    language : "en" or "es".
    title, question : the heading, and what was asked in a sentence of your own.
    target : name of ``y``; by default that of the Series.
    positive, names : the positive class, and what to call the classes in the order of ``model.classes_``.
    n_repeats : shuffles per variable for the permutation importance.
    random_state : seed of shuffles, samples and bootstrap.
    command : the command that made the model, shown above the Python lines.

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
    words = words_in(language)
    subject = Subject.of(model)
    evaluated = Rows.of(X, y, target)
    if y is None and subject.task != "outliers":
        raise ValueError(f"y is None: a report about {type(subject.final).__name__} needs the targets of X.")
    unseen = training is not None if held_out is None else held_out
    learned = Rows.of(*training, target) if training is not None else None
    if names is not None and len(names) != len(getattr(subject.model, "classes_", [])):
        raise ValueError(f"names={list(names)!r} must name the classes of the model, one for each.")
    study = Study(
        subject=subject,
        evaluated=evaluated,
        training=learned if unseen or learned is not None else evaluated,
        held_out=unseen,
        words=words,
        title=title,
        question=question,
        positive=positive,
        class_names=None if names is None else [str(name) for name in names],
        seed=int(random_state),
        n_repeats=n_repeats,
        command=command,
    )
    page = _render(study)
    file = Path(path)
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(page, encoding="utf-8")
    return file


def _render(study: Study) -> str:
    from jinja2 import Environment, StrictUndefined

    sections = [section for make in _MAKERS if (section := make(study)) is not None]
    folder = resources.files("maxmargin.reports") / "templates"
    environment = Environment(
        autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
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
