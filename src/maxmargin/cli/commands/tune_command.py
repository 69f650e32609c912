"""``maxmargin tune``: the cross-validated error of every cell of a grid."""

from __future__ import annotations

from dataclasses import replace

from maxmargin.cli.columns import prepare
from maxmargin.cli.command_options import TuneOptions
from maxmargin.cli.measures_and_rules import check_scores, tuning_measure, weighted
from maxmargin.cli.models import chosen_family, grid_of, pipeline, positive_of, with_kernel
from maxmargin.cli.outputs import Outputs, check_outputs
from maxmargin.cli.screen import ExitCode, Screen, UsageRefusal
from maxmargin.cli.work import check_enough, folds_for, plain_names, say_edges, search


def run(options: TuneOptions, screen: Screen) -> ExitCode:
    """Compute the error of every cell on every fold, on all rows."""
    check_outputs(options.output, options.picture, force=options.files.force)
    data = prepare(options.table, options.task, screen)
    family = with_kernel(chosen_family(data, options.model.model), options.model.kernel, data)
    check_enough(data)
    cells = grid_of(family, options.search.grid)
    if cells is None:
        raise UsageRefusal(f"{family.name} has nothing to tune: give --grid NAME=VALUES, or use fit.")
    positive = positive_of(data, options.model.positive)
    measure = tuning_measure(data, options.search.validation.scoring, positive, screen)
    check_scores(family, measure)
    machine = weighted(family, data, options.model.class_weight, screen)
    estimator = pipeline(data, machine, options.model.categories, positive)
    folds = folds_for(data.y, options.search.validation.folds, classifies=data.classifies, screen=screen)
    validation = replace(options.search.validation, folds=folds)
    found = search(estimator, data.X, data.y, cells, measure, validation, screen)
    say_edges(found, screen)
    table = found.table.rename(columns=lambda name: next(iter(plain_names({str(name): None}))))
    best = table.sort_values("error", kind="stable").head(options.top)
    screen.table(
        list(best.columns),
        best.astype(object).to_numpy().tolist(),
        f"best {len(best)} of {len(table)} cells",
        mark=0,
    )
    screen.tell(cells=table.to_dict(orient="records"))
    outputs = Outputs(options.files, screen)
    if options.output is not None:
        outputs.csv(table, options.output)
    if options.picture is not None:
        outputs.picture(found.display().figure_, options.picture)
    return ExitCode.INTERRUPTED if found.interrupted else ExitCode.DONE
