"""The options of every command. The docstring of a class is the help text of its command."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import Annotated, ClassVar

from maxmargin.cli.options import (
    DATA,
    MODEL,
    OUTPUT,
    SEARCH,
    Categories,
    ClassWeight,
    DataPath,
    DecisionOptions,
    Encoding,
    FileOptions,
    FoldOptions,
    ModelOptions,
    ModelPath,
    Output,
    Picture,
    Positive,
    ReadingOptions,
    ScreenOptions,
    SearchOptions,
    Seed,
    TableOptions,
    Task,
    TaskKind,
    TestShare,
    Weights,
    argument,
    option,
    written,
)


class Method(StrEnum):
    """Ways to select columns."""

    RFE = "rfe"
    RFE_KERNEL = "rfe-kernel"
    RELIEFF = "relieff"
    FISHER = "fisher"
    SU = "su"
    CFS = "cfs"
    SFS = "sfs"
    SBS = "sbs"
    L1 = "l1"
    COMPARE = "compare"


@dataclass(frozen=True, kw_only=True)
class CommandOptions:
    """Options of all commands."""

    examples: ClassVar[tuple[str, ...]] = ()

    screen: ScreenOptions = field(default_factory=ScreenOptions)


@dataclass(frozen=True, kw_only=True)
class DemoOptions(CommandOptions):
    """Tune, fit, evaluate, select and report on 569 tumours, in under a minute."""

    examples = ("maxmargin demo",)

    folder: Annotated[Path, argument("FOLDER", "Where to write.")] = Path("results/demo")
    seed: Seed = 0


@dataclass(frozen=True, kw_only=True)
class FitOptions(CommandOptions):
    """Fit a model: split, tune, refit, evaluate on held-out rows, save the model and a report."""

    examples = (
        "maxmargin fit credit.csv --target default",
        "maxmargin fit houses.parquet -t price --model ridge --no-report",
        'maxmargin fit a.csv -t y --kernel "RBF(gamma=0.1)+Linear()" --grid C=1,10,100 --json',
    )

    table: TableOptions
    task: TaskKind = Task.AUTO
    model: ModelOptions = field(default_factory=ModelOptions)
    decision: DecisionOptions = field(default_factory=DecisionOptions)
    search: SearchOptions = field(default_factory=SearchOptions)
    test_share: TestShare = 0.25
    output: Annotated[
        Path | None, written("--output", "-o", help="Model file; DATA.MODEL.mm by default.")
    ] = None
    report: Annotated[Path | None, written("--report", help="Report; DATA.MODEL.html by default.")] = None
    no_report: Annotated[bool, option(OUTPUT, "--no-report", help="Write no report.")] = False
    files: FileOptions = field(default_factory=FileOptions)


@dataclass(frozen=True, kw_only=True)
class TuneOptions(CommandOptions):
    """Compute the cross-validated error of every cell of a grid, on all rows."""

    examples = (
        "maxmargin tune iris.csv --target species",
        "maxmargin tune iris.csv -t species --grid C=0.1,1,10 --grid gamma=0.01,0.1 --picture grid.png",
    )

    table: TableOptions
    task: TaskKind = Task.AUTO
    model: ModelOptions = field(default_factory=ModelOptions)
    search: SearchOptions = field(default_factory=SearchOptions)
    top: Annotated[int, option(OUTPUT, "--top", metavar="N", min=1, help="Cells to print.")] = 10
    output: Output = None
    picture: Picture = None
    files: FileOptions = field(default_factory=FileOptions)


@dataclass(frozen=True, kw_only=True)
class SelectOptions(CommandOptions):
    """Rank the columns and choose some; each category becomes a column of its own first."""

    examples = (
        "maxmargin select genes.csv --target tumour --method rfe --keep 10",
        "maxmargin select credit.csv -t default --method compare",
    )

    table: TableOptions
    task: TaskKind = Task.AUTO
    method: Annotated[
        Method,
        option(
            SEARCH,
            "--method",
            help="rfe removes the column with the smallest weight, again and again; sfs and sbs add or "
            "remove by the error; relieff, fisher and su rank; cfs and l1 choose a set; compare runs all.",
        ),
    ] = Method.RFE
    keep: Annotated[
        int | None, option(SEARCH, "--keep", metavar="N", min=1, help="Columns to keep; half by default.")
    ] = None
    validation: FoldOptions = field(default_factory=FoldOptions)
    output: Output = None
    files: FileOptions = field(default_factory=FileOptions)


@dataclass(frozen=True, kw_only=True)
class PredictOptions(CommandOptions):
    """Predict the rows of a table with a saved model; CSV on standard output."""

    examples = (
        "maxmargin predict credit.svm.mm new.csv",
        "maxmargin predict credit.svm.mm new.csv --scores --keep id --output predictions.csv",
    )

    model: ModelPath
    data: DataPath
    reading: ReadingOptions = field(default_factory=ReadingOptions)
    scores: Annotated[bool, option(OUTPUT, "--scores", help="Add probabilities or decision values.")] = False
    keep: Annotated[
        list[str],
        option(OUTPUT, "--keep", metavar="COLUMN", help="Column of DATA to repeat (repeat for more)."),
    ] = field(default_factory=list)
    output: Annotated[
        Path | None, written("--output", "-o", help="CSV file; standard output by default.")
    ] = None
    files: FileOptions = field(default_factory=FileOptions)


@dataclass(frozen=True, kw_only=True)
class EvaluateOptions(CommandOptions):
    """Evaluate a saved model on a table with known targets, which should be new to the model."""

    examples = (
        "maxmargin evaluate credit.svm.mm test.csv",
        "maxmargin evaluate credit.svm.mm test.csv --positive bad --threshold 0.3 --report test.html",
    )

    model: ModelPath
    data: DataPath
    target: Annotated[
        str | None,
        option(
            DATA, "--target", "-t", metavar="COLUMN", help="Column with the known target; the model knows it."
        ),
    ] = None
    reading: ReadingOptions = field(default_factory=ReadingOptions)
    positive: Positive = None
    threshold: Annotated[
        float | None,
        option(
            MODEL, "--threshold", metavar="SCORE", help="Score from which a row is predicted as positive."
        ),
    ] = None
    seed: Seed = 0
    report: Annotated[Path | None, written("--report", help="Report.")] = None
    files: FileOptions = field(default_factory=FileOptions)


@dataclass(frozen=True, kw_only=True)
class ScorecardOptions(CommandOptions):
    """Fit a scorecard for two classes: bins, weight of evidence, logistic regression, points."""

    examples = (
        "maxmargin scorecard credit.csv --target default --positive yes",
        "maxmargin scorecard credit.csv -t default --min-iv 0.02 --round --points points.csv",
    )

    table: TableOptions
    positive: Positive = None
    base_score: Annotated[float, option(MODEL, "--base-score", help="Score at the base odds.")] = 600.0
    base_odds: Annotated[float, option(MODEL, "--base-odds", help="Odds of no event at that score.")] = 50.0
    pdo: Annotated[float, option(MODEL, "--pdo", help="Points that double the odds.")] = 20.0
    min_iv: Annotated[
        float, option(MODEL, "--min-iv", min=0.0, help="Smallest information value of a column.")
    ] = 0.02
    round_points: Annotated[bool, option(MODEL, "--round", help="Whole points.")] = False
    test_share: TestShare = 0.25
    seed: Seed = 0
    output: Annotated[
        Path | None, written("--output", "-o", help="Model file; DATA.scorecard.mm by default.")
    ] = None
    points: Annotated[Path | None, written("--points", help="The points as CSV.")] = None
    report: Annotated[Path | None, written("--report", help="Report.")] = None
    files: FileOptions = field(default_factory=FileOptions)


@dataclass(frozen=True, kw_only=True)
class CompareOptions(CommandOptions):
    """Compare all models: each is tuned inside every fold, so its error is not optimistic (nested)."""

    examples = (
        "maxmargin compare iris.csv --target species",
        "maxmargin compare houses.csv -t price --only svm --only ridge --folds 10",
    )

    table: TableOptions
    task: TaskKind = Task.AUTO
    only: Annotated[
        list[str],
        option(MODEL, "--only", metavar="NAME", help="Model to run (repeat for more); all by default."),
    ] = field(default_factory=list)
    categories: Categories = Encoding.ONEHOT
    class_weight: Weights = ClassWeight.AUTO
    validation: FoldOptions = field(default_factory=lambda: FoldOptions(folds=5))
    output: Output = None
    files: FileOptions = field(default_factory=FileOptions)


@dataclass(frozen=True, kw_only=True)
class KernelOptions(CommandOptions):
    """Check a kernel: is its matrix on these rows symmetric, without negative eigenvalues?

    Exit code 5 means that it is not a kernel on these rows.
    """

    examples = (
        'maxmargin kernel "2*RBF(gamma=0.1)+Linear()" iris.csv --drop species',
        "maxmargin kernel \"Spectrum(3, features='text')\" messages.tsv",
    )

    expression: Annotated[str, argument("EXPRESSION", 'Kernel, such as "2*RBF(gamma=0.1)+Linear()".')]
    data: DataPath
    drop: Annotated[
        list[str], option(DATA, "--drop", metavar="COLUMN", help="Leave this column out (repeat for more).")
    ] = field(default_factory=list)
    reading: ReadingOptions = field(default_factory=ReadingOptions)
    raw: Annotated[bool, option(MODEL, "--raw", help="Do not standardise the columns first.")] = False
    rows: Annotated[
        int, option(SEARCH, "--rows", metavar="N", min=2, max=5000, help="Most rows to check.")
    ] = 1000
    seed: Seed = 0
    picture: Picture = None
    files: FileOptions = field(default_factory=FileOptions)


@dataclass(frozen=True, kw_only=True)
class InfoOptions(CommandOptions):
    """Print what a model file holds: model, columns, classes, certificate, versions."""

    examples = ("maxmargin info credit.svm.mm",)

    model: ModelPath


COMMANDS: dict[str, type[CommandOptions]] = {
    "demo": DemoOptions,
    "fit": FitOptions,
    "tune": TuneOptions,
    "select": SelectOptions,
    "predict": PredictOptions,
    "evaluate": EvaluateOptions,
    "scorecard": ScorecardOptions,
    "compare": CompareOptions,
    "kernel": KernelOptions,
    "info": InfoOptions,
}
