"""The Typer application: a command for every class of options."""

from __future__ import annotations

import gc
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import MISSING, fields, is_dataclass
from importlib import import_module
from inspect import Parameter, Signature
from typing import Annotated, Any, get_type_hints

import typer

import maxmargin
from maxmargin.cli import expect_interrupts
from maxmargin.cli.command_options import COMMANDS, CommandOptions
from maxmargin.cli.options import PANELS

app = typer.Typer(
    name="maxmargin",
    help="Margin-based learning on the command line: from a table to a model and a report.",
    epilog=(
        "Exit codes: 0 done, 1 failed, 2 wrong command line, 3 unusable data, 4 unusable model file, "
        "5 a check did not hold, 130 interrupted."
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
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    # pictures are written to files here, never shown
    os.environ.setdefault("MPLBACKEND", "Agg")


# -- from classes of options to commands ---------------------------------------------------------------------


def parameters_of(group: type, given: Any = None) -> Iterator[Parameter]:
    """A parameter for every option of a group and of the groups inside it.

    ``given`` is an instance that holds the defaults; without it they are those of the class.
    """
    hints = get_type_hints(group)
    for part in fields(group):
        default = getattr(given, part.name) if given is not None else _default(part)
        kind = hints[part.name]
        if is_dataclass(kind):
            yield from parameters_of(kind, None if default is Parameter.empty else default)  # type: ignore[arg-type]  # a class
        else:
            annotation = Annotated[kind, part.metadata["typer"]]  # type: ignore[valid-type]  # for Typer
            yield Parameter(part.name, Parameter.KEYWORD_ONLY, default=default, annotation=annotation)


def _default(part: Any) -> Any:
    if part.default_factory is not MISSING:
        return part.default_factory()
    return Parameter.empty if part.default is MISSING else part.default


def filled(group: type, values: dict[str, Any]) -> Any:
    """The group with the values that were typed."""
    hints = get_type_hints(group)
    return group(
        **{
            part.name: filled(hints[part.name], values)
            if is_dataclass(hints[part.name])
            else values[part.name]
            for part in fields(group)
        }
    )


def _place(parameter: Parameter) -> int:
    """Options are listed panel by panel, as on the help page."""
    panel = getattr(parameter.annotation.__metadata__[0], "rich_help_panel", None)
    return (None, *PANELS).index(panel)


@contextmanager
def _uncollected() -> Iterator[None]:
    """Without garbage collection: imports make many objects and hardly any garbage."""
    gc.disable()
    try:
        yield
    finally:
        gc.enable()


def command(name: str, options: type[CommandOptions]) -> Callable[..., None]:
    """A function that Typer can read, which runs ``cli.commands.NAME_command.run(options, screen)``."""

    def run(**values: Any) -> None:
        from maxmargin.cli.screen import Screen, running

        given: CommandOptions = filled(options, values)
        screen = Screen(name, as_json=given.screen.json, language=given.screen.language)
        with running(screen):
            expect_interrupts()
            with screen.working("starting"), _uncollected():  # the libraries take seconds to load
                module = import_module(f"maxmargin.cli.commands.{name}_command")
            code = module.run(given, screen)
            screen.close()
        raise typer.Exit(int(code or 0))

    parameters = sorted(parameters_of(options), key=_place)
    run.__signature__ = Signature(parameters)  # type: ignore[attr-defined]  # what Typer reads
    run.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters}
    run.__doc__ = options.__doc__
    return run


for _name, _options in COMMANDS.items():
    _examples = "\n\n".join(f"[cyan]{example}[/cyan]" for example in _options.examples)
    app.command(name=_name, epilog=f"Examples:\n\n{_examples}")(command(_name, _options))
