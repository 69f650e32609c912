"""All commands under one name."""

from __future__ import annotations

import os
from typing import Annotated

import typer

import maxmargin
from maxmargin.cli import compare, demo, evaluate, fit, info, kernel, predict, scorecard, select, tune

app = typer.Typer(
    name="maxmargin",
    help="Margin-based learning from the command line: from a table to an answer that can be shown.",
    epilog=(
        "Exit codes: 0 done, 1 the work failed, 2 wrong command line, 3 the data cannot be used, "
        "4 the model file cannot be used, 5 a check said no, 130 interrupted."
    ),
    no_args_is_help=True,
    rich_markup_mode="rich",
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"maxmargin {maxmargin.__version__}")
        raise typer.Exit


@app.callback()
def _all(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Say the version and end.")
    ] = False,
) -> None:
    # pictures are written to files here, never shown
    os.environ.setdefault("MPLBACKEND", "Agg")


for command in (demo, fit, tune, select, predict, evaluate, scorecard, compare, kernel, info):
    app.command(name=command.NAME, epilog=command.EXAMPLES)(command.run)
