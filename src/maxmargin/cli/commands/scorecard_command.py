"""``maxmargin scorecard``: points per bin that add up to a score."""

from __future__ import annotations

from math import isnan
from pathlib import Path
from typing import Annotated, Any

import typer

from maxmargin.cli import options as o

NAME = "scorecard"
EXAMPLES = (
    "Examples:\n\n[cyan]maxmargin scorecard credit.csv --target default --positive yes[/cyan]\n\n"
    "[cyan]maxmargin scorecard credit.csv -t default --min-iv 0.02 --round --points points.csv[/cyan]"
)


def run(
    data: o.Data,
    target: o.Target = None,
    guess_target: o.Guess = False,
    drop: o.Drop = None,
    categorical: o.Categorical = None,
    na: o.Missing = None,
    file_format: o.FileFormat = o.Format.AUTO,
    encoding: o.TextEncoding = "utf-8",
    positive: Annotated[
        str | None,
        o.optional(
            "--positive",
            help="The event, such as a default; the second of the sorted labels by default.",
            panel=o.WORK,
        ),
    ] = None,
    base_score: Annotated[
        float, typer.Option("--base-score", help="Score at the base odds.", rich_help_panel="Work")
    ] = 600.0,
    base_odds: Annotated[
        float, typer.Option("--base-odds", help="Odds of no event there.", rich_help_panel="Work")
    ] = 50.0,
    pdo: Annotated[
        float, typer.Option("--pdo", help="Points that double the odds.", rich_help_panel="Work")
    ] = 20.0,
    min_iv: Annotated[
        float,
        typer.Option(
            "--min-iv", min=0.0, help="Least information value of a column.", rich_help_panel="Work"
        ),
    ] = 0.02,
    round_points: Annotated[
        bool, typer.Option("--round", help="Whole points.", rich_help_panel="Work")
    ] = False,
    test_share: o.TestShare = 0.25,
    seed: o.Seed = 0,
    output: Annotated[
        Path | None,
        o.written("--output", "-o", help="Model file; DATA.mm by default."),
    ] = None,
    points: Annotated[
        Path | None,
        o.written("--points", help="The card as CSV."),
    ] = None,
    report: Annotated[
        Path | None,
        o.written("--report", help="Write a report here."),
    ] = None,
    language: o.Language = "en",
    json: o.Json = False,
) -> None:
    """Make a scorecard for two classes: bins, weight of evidence, logistic regression, points."""
    from maxmargin.cli.screen import running

    with running(NAME, as_json=json) as screen:
        import maxmargin as mm
        from maxmargin.cli import work
        from maxmargin.cli.columns import prepare, wished
        from maxmargin.cli.models import positive_of
        from maxmargin.cli.refusal import Refusal

        model_path = output or work.default_path(data, ".mm")
        for path in (model_path, points, report):
            work.check_folder(path)
        work.check_language(language)
        kind = o.Task.CLASSIFICATION
        wish = wished(data, target, guess_target, kind, drop, categorical, na, file_format, encoding)
        table = prepare(wish, screen, "they get a bin of their own")
        if len(table.classes) != 2:
            raise Refusal(
                f"a scorecard needs two classes, and {table.schema.target!r} has {len(table.classes)}."
            )
        event = positive_of(table, positive)
        parts = work.split(table, test_share, seed, screen)
        card = mm.Scorecard(
            base_score,
            base_odds,
            pdo,
            min_iv=min_iv,
            round_points=round_points,
            positive=event,
            handle_unknown="neutral",
        )
        with screen.working("making bins and points"):
            card.fit(parts.X, parts.y)
        _say(card, screen)
        held_out = work.HeldOut(table, parts, card.binning_.event_, seed, screen)
        held_out.evaluate(card)
        if points is not None:
            card.points_.to_csv(points, index=False)
            screen.line("points", str(points))
        held_out.write(card, card, model_path, report, language)


def _say(card: Any, screen: Any) -> None:
    """What was left out, what the variables are worth, and the points."""
    screen.line("event", f"{card.binning_.event_}; more points mean fewer events")
    if len(card.dropped_):
        names = ", ".join(f"{r.variable} (IV {r.iv:.3f})" for r in card.dropped_.itertuples())
        screen.note(f"left out: {names}.")
    summary = card.summary()
    summary = summary[summary["used"]].sort_values("iv", ascending=False)
    rows = [
        [str(n), float(r.iv), str(r.reading), int(r.bins), float(r.coefficient), str(r.sign)]
        for n, r in zip(summary.index, summary.itertuples(), strict=True)
    ]
    screen.table(["variable", "IV", "reading", "bins", "coefficient", "sign"], rows, title="variables")
    body = [
        [r.variable, r.bin, "" if isnan(r.rows) else int(r.rows), float(r.event_rate), float(r.points)]
        for r in card.points_.rename(columns={"count": "rows"}).itertuples()
    ]
    screen.table(["variable", "bin", "rows", "event rate", "points"], body, title="the card")
    screen.tell(
        card=card.points_.to_dict(orient="records"),
        variables=summary.reset_index().to_dict(orient="records"),
    )
