"""``maxmargin kernel``: Mercer's condition for a kernel expression on the rows of a table."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from maxmargin.cli import options as o

NAME = "kernel"
EXAMPLES = (
    'Examples:\n\n[cyan]maxmargin kernel "2*RBF(gamma=0.1)+Linear()" iris.csv --drop species[/cyan]\n\n'
    "[cyan]maxmargin kernel \"Spectrum(3, features='text')\" messages.tsv[/cyan]. "
    "Exit code 5: not a kernel here."
)


def run(
    expression: Annotated[
        str,
        typer.Argument(
            metavar="EXPRESSION", help='Kernel, such as "2*RBF(gamma=0.1)+Linear()".', show_default=False
        ),
    ],
    data: o.Data,
    drop: o.Drop = None,
    na: o.Missing = None,
    file_format: o.FileFormat = o.Format.AUTO,
    encoding: o.TextEncoding = "utf-8",
    raw: Annotated[
        bool, typer.Option("--raw", help="Do not standardise the columns first.", rich_help_panel="Work")
    ] = False,
    rows: Annotated[
        int, typer.Option("--rows", min=2, max=5000, help="Rows to check at most.", rich_help_panel="Work")
    ] = 1000,
    seed: o.Seed = 0,
    picture: Annotated[
        Path | None,
        o.written("--picture", help="Gram matrix and spectrum as .png or .svg."),
    ] = None,
    json: o.Json = False,
) -> None:
    """Check a kernel: is its Gram matrix on these rows symmetric without negative eigenvalues?"""
    from maxmargin.cli.screen import running

    with running(NAME, as_json=json) as screen:
        import numpy as np

        import maxmargin as mm
        from maxmargin.cli import work
        from maxmargin.cli.reading import Reading, read_table
        from maxmargin.cli.refusal import Code
        from maxmargin.kernels import mercer_check, parse

        work.check_folder(picture)
        kernel = parse(expression)
        table = read_table(data, Reading(file_format, encoding, tuple(na or ())), screen.note)
        points = _points(kernel, table, tuple(drop or ()), raw=raw, path=data, screen=screen)
        if len(points) > rows:
            chosen = np.sort(np.random.default_rng(seed).choice(len(points), rows, replace=False))
            screen.note(f"a sample of {rows} of the {len(points)} rows is checked (--rows, --seed).")
            points = points.iloc[chosen]
        with screen.working("computing the spectrum"):
            bound = kernel.bind(points)
            check = mercer_check(bound, points)
        _say(kernel, bound, check, points, screen)
        if picture is not None:
            display = mm.displays.KernelDisplay.from_estimator(bound, points).plot()
            display.figure_.savefig(picture, dpi=130)
            screen.line("picture", str(picture))
        if not check.holds:
            screen.close()
            raise typer.Exit(int(Code.NO))


def _points(kernel: Any, table: Any, drop: tuple[str, ...], *, raw: bool, path: Path, screen: Any) -> Any:
    """The columns the kernel looks at: those it names, or all numbers."""
    from maxmargin.cli.columns import known_column, listed
    from maxmargin.cli.models import named_columns
    from maxmargin.cli.reading import as_numbers
    from maxmargin.cli.refusal import Refusal

    named = named_columns(kernel)
    for name in (*drop, *named):
        known_column(name, table, path)
    table = table.drop(columns=list(drop))
    numbers = {}
    for name in table.columns:
        if table[name].isna().all() or (named and name not in named):
            continue
        values = as_numbers(table[name])
        if values is not None:
            numbers[name] = values
    texts = [name for name in table.columns if name in named and name not in numbers]
    if not numbers and not texts:
        raise Refusal(f"{path} has no column of numbers; a string kernel needs features='its column'.")
    left = [str(name) for name in table.columns if name not in numbers and name not in texts]
    if left and not named:
        screen.note(f"text is left out: {listed(left)}.")
    found = table[[name for name in table.columns if name in numbers or name in texts]].copy()
    for name, values in numbers.items():
        if values.isna().any():
            screen.note(f"{int(values.isna().sum())} missing values of {name!r} are filled with the median.")
            values = values.fillna(values.median())
        spread = float(values.std(ddof=0))
        found[name] = values if raw else (values - values.mean()) / (spread or 1.0)
    for name in texts:
        found[name] = table[name].astype(object).where(table[name].notna(), "").map(str)
    return found


def _say(kernel: Any, bound: Any, check: Any, points: Any, screen: Any) -> None:
    import numpy as np

    known = {True: "yes, for all data", False: "no, it may fail", None: "not known"}[kernel.psd]
    spectrum = check.spectrum[::-1]
    total = float(np.clip(spectrum, 0, None).sum())
    needed = int(np.searchsorted(np.cumsum(np.clip(spectrum, 0, None)), 0.99 * total) + 1) if total > 0 else 0
    screen.line("kernel", repr(bound))
    screen.line("rows", f"{len(points)}, {points.shape[1]} columns")
    screen.line("by form", f"positive semidefinite: {known}")
    screen.line("here", str(check))
    screen.line(
        "spectrum",
        f"largest eigenvalue {spectrum[0]:.4g}; {needed} of {len(spectrum)} hold 99 % of the trace",
    )
    screen.tell(
        kernel=repr(bound),
        rows=len(points),
        psd_by_form=kernel.psd,
        holds=check.holds,
        smallest=check.smallest,
        largest=float(spectrum[0]),
        asymmetry=check.asymmetry,
        tolerance=check.tolerance,
        eigenvalues_for_99_percent=needed,
    )
