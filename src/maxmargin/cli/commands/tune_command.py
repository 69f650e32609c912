"""``maxmargin tune``: the cross-validated error of every cell of a grid."""

from __future__ import annotations

from maxmargin.cli.command_options import TuneOptions
from maxmargin.cli.outputs import Outputs, check_outputs, check_picture
from maxmargin.cli.planning import Planner, search
from maxmargin.cli.screen import ExitCode, Screen
from maxmargin.cli.table_input import prepared
from maxmargin.cli.work import check_enough, plain_names, say_edges
from maxmargin.tables.measures_and_rules import tuning_measure
from maxmargin.tables.models import positive_of
from maxmargin.tables.refusals import UsageRefusal


def run(options: TuneOptions, screen: Screen) -> ExitCode:
    """Compute the error of every cell on every fold, on all rows."""
    check_outputs(
        options.output,
        options.picture,
        force=options.files.force or options.table.dry_run,
        read=(options.table.data,),
    )
    check_picture(options.picture)
    data = prepared(options.table, options.task, screen, kernel=options.model.kernel)
    check_enough(data)
    positive = positive_of(data, options.model.positive)
    measure = tuning_measure(data, options.search.validation.scoring, positive, screen.note)
    plan = Planner(data, options.model, options.search, measure, positive, screen).plan(data.X, data.y)
    if plan.cells is None:
        raise UsageRefusal(f"{plan.family.name} has nothing to tune: give --grid NAME=VALUES, or use fit.")
    found = search(plan, data.X, data.y, measure, screen, refit=False)
    say_edges(found, screen)
    table = found.table.rename(columns=lambda name: next(iter(plain_names({str(name): None}))))
    best = table.sort_values("error", kind="stable").head(options.top)
    screen.table(
        [measure.name if name == "error" else name for name in best.columns],
        best.assign(status=best["status"].map(screen.say)).astype(object).to_numpy().tolist(),
        f"best {len(best)} of {len(table)} cells",
        mark=0,
    )
    screen.tell(cells=table.to_dict(orient="records"))
    outputs = Outputs(options.files, screen)
    if options.output is not None:
        outputs.csv(table, options.output)
    if options.picture is not None and found.interrupted:  # the library that draws takes a second to load
        screen.note("interrupted: the table is written without its picture.")
    elif options.picture is not None:
        outputs.picture(found.display().figure_, options.picture)
    return ExitCode.INTERRUPTED if found.interrupted else ExitCode.DONE
