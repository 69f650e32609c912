"""The options of every command. The docstring of a class is the help text of its command."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import ClassVar

from maxmargin.cli import options as o
from maxmargin.cli.options import DATA, MODEL, OUTPUT, SEARCH, argument, group, option, written
from maxmargin.tables.table_settings import ClassWeight, Encoding, Task


class Method(StrEnum):
    """Ways to select columns."""

    RFE = "rfe"
    RFE_KERNEL = "rfe-kernel"
    RFECV = "rfecv"
    RELIEF = "relief"
    RELIEFF = "relieff"
    SURF = "surf"
    MULTISURF = "multisurf"
    TURF = "turf"
    FISHER = "fisher"
    IG = "ig"
    SU = "su"
    CFS = "cfs"
    SFS = "sfs"
    SBS = "sbs"
    FLOATING = "floating"
    FLOATING_BACKWARD = "floating-backward"
    EXHAUSTIVE = "exhaustive"
    BRANCH_AND_BOUND = "branch-and-bound"
    ANNEALING = "annealing"
    GENETIC = "genetic"
    L0 = "l0"
    L1 = "l1"
    L1L2 = "l1l2"
    L0L2 = "l0l2"
    COMPARE = "compare"


class SubsetCriterion(StrEnum):
    """What a search over subsets of columns compares."""

    ERROR = "error"
    LOO_ERROR = "loo-error"
    CFS = "cfs"
    MAHALANOBIS = "mahalanobis"
    BHATTACHARYYA = "bhattacharyya"
    DIVERGENCE = "divergence"


@dataclass(frozen=True, kw_only=True)
class CommandOptions:
    """Options of all commands."""

    examples: ClassVar[tuple[str, ...]] = ()

    screen: o.ScreenOptions = group(o.ScreenOptions)


@dataclass(frozen=True, kw_only=True)
class DemoOptions(CommandOptions):
    """Tune, fit, evaluate, select and report on 569 tumours, in under a minute."""

    examples = ("maxmargin demo",)

    folder: Path = argument("FOLDER", "Where to write.", Path("results/demo"))
    seed: int = o.seed_option()


@dataclass(frozen=True, kw_only=True)
class FitOptions(CommandOptions):
    """Fit a model: split, tune, refit, evaluate on held-out rows, save the model and a report."""

    examples = (
        "maxmargin fit credit.csv --target default",
        "maxmargin fit houses.parquet -t price --model ridge --no-report",
        'maxmargin fit a.csv -t y --kernel "RBF(gamma=0.1)+Linear()" --grid C=1,10,100 --json',
    )

    table: o.TableOptions
    task: Task = o.task_option()
    model: o.ModelOptions = group(o.ModelOptions)
    decision: o.DecisionOptions = group(o.DecisionOptions)
    search: o.SearchOptions = group(o.SearchOptions)
    test_share: float = o.share_option()
    output: Path | None = written("--output -o", "Model file; DATA.MODEL.mm by default.")
    report: Path | None = written("--report", "Report; DATA.MODEL.html by default.")
    no_report: bool = option(OUTPUT, "--no-report", "Write no report.", False)
    files: o.FileOptions = group(o.FileOptions)


@dataclass(frozen=True, kw_only=True)
class TuneOptions(CommandOptions):
    """Compute the cross-validated error of every cell of a grid, on all rows."""

    examples = (
        "maxmargin tune iris.csv --target species",
        "maxmargin tune iris.csv -t species --grid C=0.1,1,10 --grid gamma=0.01,0.1 --picture grid.png",
    )

    table: o.TableOptions
    task: Task = o.task_option()
    model: o.ModelOptions = group(o.ModelOptions)
    search: o.SearchOptions = group(o.SearchOptions)
    top: int = option(OUTPUT, "--top N", "Cells to print.", 10, min=1)
    output: Path | None = written("--output -o", "All cells as CSV.")
    picture: Path | None = written("--picture", "Errors as .png or .svg.")
    files: o.FileOptions = group(o.FileOptions)


@dataclass(frozen=True, kw_only=True)
class SelectOptions(CommandOptions):
    """Rank the columns and choose some; each category becomes a column of its own first."""

    examples = (
        "maxmargin select genes.csv --target tumour --method rfe --keep 10",
        "maxmargin select credit.csv -t default --method compare",
    )

    table: o.TableOptions
    task: Task = o.task_option()
    method: Method = option(
        SEARCH,
        "--method",
        "rfe and rfe-kernel remove the column with the smallest weight, again and again; rfecv lets the "
        "folds say how many stay. relief, relieff, surf, multisurf, turf, fisher, ig (information gain) and "
        "su (symmetrical uncertainty) rank. sfs, sbs, floating, "
        "floating-backward, exhaustive, branch-and-bound, annealing, genetic and cfs search subsets. l0, l1, "
        "l1l2 and l0l2 are penalties of a linear SVM. compare runs the usual ones side by side.",
        Method.RFE,
    )
    criterion: SubsetCriterion | None = option(
        SEARCH,
        "--criterion",
        "What searches over subsets compare; by default the cross-validated error (branch-and-bound: "
        "mahalanobis).",
    )
    keep: int | None = option(SEARCH, "--keep N", "Columns to keep; half by default.", min=1)
    class_weight: ClassWeight = o.weight_option()
    validation: o.FoldOptions = group(o.FoldOptions)
    output: Path | None = written("--output -o", "Ranks as CSV.")
    files: o.FileOptions = group(o.FileOptions)


@dataclass(frozen=True, kw_only=True)
class PredictOptions(CommandOptions):
    """Predict the rows of a table with a saved model; CSV on standard output."""

    examples = (
        "maxmargin predict credit.svm.mm new.csv",
        "maxmargin predict credit.svm.mm new.csv --scores --keep id --output predictions.csv",
    )

    model: Path = o.model_argument()
    data: Path = o.data_argument()
    reading: o.ReadingOptions = group(o.ReadingOptions)
    scores: bool = option(OUTPUT, "--scores", "Add probabilities or decision values.", False)
    keep: list[str] = option(OUTPUT, "--keep COLUMN", "Column of DATA to keep (can be repeated).", [])
    output: Path | None = written("--output -o", "CSV file; standard output by default.")
    files: o.FileOptions = group(o.FileOptions)


@dataclass(frozen=True, kw_only=True)
class EvaluateOptions(CommandOptions):
    """Evaluate a saved model on a table with known targets, which should be new to the model."""

    examples = (
        "maxmargin evaluate credit.svm.mm test.csv",
        "maxmargin evaluate credit.svm.mm test.csv --positive bad --threshold 0.3 --report test.html",
    )

    model: Path = o.model_argument()
    data: Path = o.data_argument()
    target: str | None = option(DATA, "--target -t COLUMN", "Column of the target, if its name changed.")
    reading: o.ReadingOptions = group(o.ReadingOptions)
    positive: str | None = o.positive_option()
    threshold: float | None = option(MODEL, "--threshold SCORE", "Smallest score of the positive class.")
    weights: str | None = option(
        DATA, "--weights COLUMN", "Weights of the rows; figures have no intervals then."
    )
    seed: int = o.seed_option()
    report: Path | None = written("--report", "Report.")
    files: o.FileOptions = group(o.FileOptions)


@dataclass(frozen=True, kw_only=True)
class ScorecardOptions(CommandOptions):
    """Fit a scorecard for two classes: bins, weight of evidence, logistic regression, points."""

    examples = (
        "maxmargin scorecard credit.csv --target default --positive yes",
        "maxmargin scorecard credit.csv -t default --min-iv 0.05 --points points.csv",
    )

    table: o.TableOptions
    positive: str | None = o.positive_option()
    base_score: float = option(MODEL, "--base-score", "Score at the base odds.", 600.0)
    base_odds: float = option(MODEL, "--base-odds", "Odds of no event at that score.", 50.0)
    pdo: float = option(MODEL, "--pdo", "Points that double the odds.", 20.0)
    min_iv: float = option(MODEL, "--min-iv", "Smallest information value of a column.", 0.02, min=0.0)
    exact_points: bool = option(MODEL, "--exact-points", "Points with decimals.", False)
    test_share: float = o.share_option()
    seed: int = o.seed_option()
    output: Path | None = written("--output -o", "Model file; DATA.scorecard.mm by default.")
    points: Path | None = written("--points", "The points as CSV.")
    report: Path | None = written("--report", "Report.")
    files: o.FileOptions = group(o.FileOptions)


@dataclass(frozen=True, kw_only=True)
class CompareOptions(CommandOptions):
    """Compare all models: each is tuned inside every fold, so its error is not optimistic (nested)."""

    examples = (
        "maxmargin compare iris.csv --target species",
        "maxmargin compare houses.csv -t price --only svm --only ridge --folds 10",
    )

    table: o.TableOptions
    task: Task = o.task_option()
    only: list[str] = option(MODEL, "--only NAME", "Model to run (can be repeated); all by default.", [])
    categories: Encoding = o.categories_option()
    class_weight: ClassWeight = o.weight_option()
    exact: bool = o.exact_option()
    validation: o.FoldOptions = group(o.FoldOptions, folds=5)
    output: Path | None = written("--output -o", "Table as CSV.")
    files: o.FileOptions = group(o.FileOptions)


@dataclass(frozen=True, kw_only=True)
class KernelOptions(CommandOptions):
    """Check a kernel: is its matrix on these rows symmetric, without negative eigenvalues?

    Exit code 5 means that it is not a kernel on these rows.
    """

    examples = (
        'maxmargin kernel "2*RBF(gamma=0.1)+Linear()" iris.csv --drop species',
        "maxmargin kernel \"Spectrum(3, features='text')\" messages.tsv",
    )

    expression: str = argument("EXPRESSION", 'Kernel, such as "2*RBF(gamma=0.1)+Linear()".')
    data: Path = o.data_argument()
    drop: list[str] = option(DATA, "--drop COLUMN", "Leave this column out (can be repeated).", [])
    reading: o.ReadingOptions = group(o.ReadingOptions)
    raw: bool = option(MODEL, "--raw", "Do not standardise the columns first.", False)
    rows: int = option(SEARCH, "--rows N", "Largest number of rows to check.", 1000, min=2, max=5000)
    seed: int = o.seed_option()
    picture: Path | None = written("--picture", "Kernel matrix and spectrum as .png or .svg.")
    files: o.FileOptions = group(o.FileOptions)


@dataclass(frozen=True, kw_only=True)
class InfoOptions(CommandOptions):
    """Print what a model file holds: model, columns, classes, certificate, versions."""

    examples = ("maxmargin info credit.svm.mm",)

    model: Path = o.model_argument()


@dataclass(frozen=True, kw_only=True)
class PlayOptions(CommandOptions):
    """Open the live page: the solvers in a browser, on points, lessons and tables of your own."""

    examples = (
        "maxmargin play",
        "maxmargin play credit.csv --target default",
        "maxmargin play --lesson 05-smo --language es",
        "maxmargin play --lesson mine.json --export lesson.html",
    )

    data: Path | None = argument("DATA", "Your table, for the tab Table.", None)
    target: str | None = option(DATA, "--target -t COLUMN", "Column to predict; the last one by default.")
    port: int = option(OUTPUT, "--port N", "Port on 127.0.0.1; 0 picks a free one.", 0, min=0, max=65535)
    no_browser: bool = option(OUTPUT, "--no-browser", "Print the address and open no browser.", False)
    lesson: str | None = option(DATA, "--lesson NAME", "A ready lesson, or a lesson file (.json).")
    export: Path | None = written("--export", "Write the lesson as one HTML page that needs no Python.")
    files: o.FileOptions = group(o.FileOptions)


@dataclass(frozen=True, kw_only=True)
class WarmupOptions(CommandOptions):
    """Compile ahead, so that later commands and fits on this machine start at once."""

    examples = ("maxmargin warmup", "maxmargin warmup --only svc --only tuning")

    only: list[str] = option(
        MODEL, "--only NAME", "Compile this only: svc, tuning, linear_svc, ... (can be repeated).", []
    )


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
    "play": PlayOptions,
    "warmup": WarmupOptions,
}
