"""All commands under one name."""

from __future__ import annotations

import os
from typing import Annotated

import typer

import maxmargin
from maxmargin.cli.commands import compare_command as compare
from maxmargin.cli.commands import demo_command as demo
from maxmargin.cli.commands import evaluate_command as evaluate
from maxmargin.cli.commands import fit_command as fit
from maxmargin.cli.commands import info_command as info
from maxmargin.cli.commands import kernel_command as kernel
from maxmargin.cli.commands import predict_command as predict
from maxmargin.cli.commands import scorecard_command as scorecard
from maxmargin.cli.commands import select_command as select
from maxmargin.cli.commands import tune_command as tune

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
