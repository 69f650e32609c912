"""``maxmargin tune``: the cross-validated error of every cell of a grid."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from maxmargin.cli import options as o

NAME = "tune"
EXAMPLES = (
    "Examples:\n\n[cyan]maxmargin tune iris.csv --target species[/cyan]\n\n"
    "[cyan]maxmargin tune iris.csv -t species --grid C=0.1,1,10 --grid gamma=0.01,0.1 "
    "--picture grid.png[/cyan]"
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
    task: o.TaskKind = o.Task.AUTO,
    model: Annotated[str, typer.Option("--model", help="As in fit.", rich_help_panel="Work")] = "svm",
    kernel: o.KernelText = None,
    categories: o.Categories = o.Encoding.ONEHOT,
    grid: o.Grid = None,
    folds: o.Folds = 10,
    positive: o.Positive = None,
    seed: o.Seed = 0,
    jobs: o.Jobs = None,
    top: Annotated[int, typer.Option("--top", min=1, help="Cells to show.", rich_help_panel="Output")] = 10,
    output: Annotated[
        Path | None,
        o.written("--output", "-o", help="All cells as CSV."),
    ] = None,
    picture: Annotated[
        Path | None,
        o.written("--picture", help="Errors as .png or .svg."),
    ] = None,
    json: o.Json = False,
) -> None:
    """Try every cell of a grid on every fold, on all rows."""
    from maxmargin.cli.screen import running

    with running(NAME, as_json=json) as screen:
        from maxmargin.cli import work
        from maxmargin.cli.columns import prepare, wished
        from maxmargin.cli.models import chosen_family, grid_of, pipeline, positive_of, with_kernel
        from maxmargin.cli.refusal import Code, Refusal

        for path in (output, picture):
            work.check_folder(path)
        wish = wished(data, target, guess_target, task, drop, categorical, na, file_format, encoding)
        table = prepare(wish, screen)
        family = with_kernel(chosen_family(table, model), kernel)
        work.check_enough(table)
        cells = grid_of(family, grid)
        if cells is None:
            raise Refusal(
                f"{family.name} has nothing to tune: give --grid NAME=VALUES, or use fit.", Code.USAGE
            )
        estimator = pipeline(table, family, categories, positive_of(table, positive))
        n_folds = work.folds_for(table.y, folds, classifies=table.classifies, screen=screen)
        found = work.search(
            estimator, table.X, table.y, cells, folds=n_folds, seed=seed, jobs=jobs, screen=screen
        )
        cells_found = found.table.rename(columns=lambda name: str(name).removeprefix("model__"))
        best = cells_found.sort_values("error", kind="stable").head(top)
        rows = best.astype(object).to_numpy().tolist()
        screen.table(list(best.columns), rows, title=f"best {len(best)} of {len(cells_found)} cells", mark=0)
        screen.tell(cells=cells_found.to_dict(orient="records"))
        if output is not None:
            cells_found.to_csv(output, index=False)
            screen.line("saved", str(output))
        if picture is not None:
            found.display().figure_.savefig(picture, dpi=130, bbox_inches="tight")
            screen.line("picture", str(picture))
        if found.interrupted:
            raise KeyboardInterrupt("the finished cells are shown")
