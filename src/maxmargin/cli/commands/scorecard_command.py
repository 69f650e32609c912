"""``maxmargin scorecard``: points per bin that add up to a score."""

from __future__ import annotations

import warnings
from math import isnan
from typing import Any

import maxmargin as mm
from maxmargin.cli.command_options import ScorecardOptions
from maxmargin.cli.finishing import Finish
from maxmargin.cli.outputs import Outputs, check_outputs, default_path
from maxmargin.cli.screen import Screen
from maxmargin.cli.table_input import prepared
from maxmargin.cli.work import split
from maxmargin.scorecards import ScorecardWarning
from maxmargin.tables.models import positive_of
from maxmargin.tables.refusals import Refusal
from maxmargin.tables.table_settings import Task


def run(options: ScorecardOptions, screen: Screen) -> None:
    """Bins, weight of evidence, logistic regression, points."""
    path = options.output or default_path(options.table.data, "scorecard", ".mm")
    if not options.table.dry_run:
        check_outputs(
            path, options.points, options.report, force=options.files.force, read=(options.table.data,)
        )
    gaps, no_text = "missing values get a bin of their own", "text has no bins"
    data = prepared(options.table, Task.CLASSIFICATION, screen, gaps, no_text=no_text)
    if len(data.classes) != 2:
        raise Refusal(
            f"a scorecard needs two classes, and {data.schema.target!r} has {len(data.classes)}: choose "
            "another --target, or use maxmargin fit."
        )
    event = positive_of(data, options.positive)
    parts = split(data, options.test_share, options.seed, screen)
    card = mm.Scorecard(
        options.base_score,
        options.base_odds,
        options.pdo,
        min_iv=options.min_iv,
        round_points=not options.exact_points,
        positive=event,
        handle_unknown="neutral",
    )
    with screen.working("computing bins and points"), warnings.catch_warnings():
        warnings.simplefilter("ignore", ScorecardWarning)  # its parts are printed one by one
        try:
            card.fit(parts.X, parts.y)
        except ValueError as wrong:
            raise Refusal(str(wrong)) from None
    for note in card.notes_:
        screen.note(note)
    _say(card, screen)
    outputs = Outputs(options.files, screen)
    if options.points is not None:
        outputs.csv(card.points_, options.points, label="points")
    event = card.binning_.event_
    outputs.model(card, data, path, report=options.report, rule=None, positive=event)
    Finish(data, parts, event, options.seed).write(card, path, options.report, outputs)


def _say(card: Any, screen: Screen) -> None:
    """The information values and the points."""
    screen.line("event", f"{card.binning_.event_}; more points mean fewer events")
    summary = card.summary()
    summary = summary[summary["used"]].sort_values("iv", ascending=False)
    rows = [
        [str(n), float(r.iv), screen.say(r.reading), int(r.bins), float(r.coefficient), screen.say(r.sign)]
        for n, r in zip(summary.index, summary.itertuples(), strict=True)
    ]
    screen.table(["variable", "IV", "reading", "bins", "coefficient", "sign"], rows, "variables")
    body = [
        [
            r.variable,
            screen.say(str(r.bin)),
            "" if isnan(r.rows) else int(r.rows),
            float(r.event_rate),
            float(r.points),
        ]
        for r in card.points_.rename(columns={"count": "rows"}).itertuples()
    ]
    screen.table(["variable", "bin", "rows", "event rate", "points"], body, "points")
    screen.tell(
        card=card.points_.to_dict(orient="records"), variables=summary.reset_index().to_dict(orient="records")
    )
