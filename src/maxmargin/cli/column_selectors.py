"""The selector of columns for every method of ``maxmargin select``, and the model whose error is printed."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import maxmargin as mm
from maxmargin import feature_selection as fs
from maxmargin.cli.command_options import Method, SelectOptions, SubsetCriterion
from maxmargin.cli.options import FoldOptions
from maxmargin.tables.measures_and_rules import TuningMeasure

SEARCHES: dict[Method, Callable[[int], Any]] = {
    Method.CFS: lambda keep: fs.BestFirst(),
    Method.SFS: fs.Forward,
    Method.SBS: fs.Backward,
    Method.FLOATING: fs.Floating,
    Method.FLOATING_BACKWARD: lambda keep: fs.Floating(keep, direction="backward"),
    Method.EXHAUSTIVE: fs.Exhaustive,
    Method.BRANCH_AND_BOUND: fs.BranchAndBound,
    Method.ANNEALING: lambda keep: fs.SimulatedAnnealing(),
    Method.GENETIC: lambda keep: fs.Genetic(population=20, generations=20),
}
PENALTIES = (Method.L0, Method.L1, Method.L1L2, Method.L0L2)
NEIGHBOURS = (Method.RELIEFF, Method.SURF, Method.MULTISURF, Method.TURF)
OF_QUANTITIES = (
    Method.RFE,
    *(m for m in SEARCHES if m not in (Method.CFS, Method.BRANCH_AND_BOUND)),
    Method.RFECV,
    *NEIGHBOURS,
)
OF_COVARIANCES = (SubsetCriterion.MAHALANOBIS, SubsetCriterion.BHATTACHARYYA, SubsetCriterion.DIVERGENCE)
OWN_NUMBER = (Method.CFS, Method.ANNEALING, Method.GENETIC, Method.RFECV)  # choose the number themselves


@dataclass(frozen=True)
class SelectionSettings:
    """The user's choice of a method to select columns."""

    method: Method
    keep: int
    validation: FoldOptions
    criterion: SubsetCriterion | None = None
    shrinkage: float = 0.0
    measure: TuningMeasure = field(default_factory=lambda: TuningMeasure("error"))
    class_weight: str | None = None


def criterion_of(options: SelectOptions | SelectionSettings) -> SubsetCriterion:
    """What a search compares: as asked for, or what fits the method."""
    usual = {Method.CFS: SubsetCriterion.CFS, Method.BRANCH_AND_BOUND: SubsetCriterion.MAHALANOBIS}
    return options.criterion or usual.get(options.method, SubsetCriterion.ERROR)


def selector_of(settings: SelectionSettings, cv: Any, n_columns: int, *, classifies: bool) -> tuple[Any, Any]:
    """The selector, and the model whose error is printed."""
    method, keep, seed = settings.method, settings.keep, settings.validation.seed
    if not classifies:
        model = make_pipeline(StandardScaler(), mm.Ridge())
        return _selector_for_quantity(settings, model, cv), model
    weight: dict[str, Any] = {"class_weight": settings.class_weight}
    linear = make_pipeline(StandardScaler(), mm.SVC(kernel="linear", **weight))
    svm = make_pipeline(StandardScaler(), mm.SVC(**weight))
    # gamma="scale" would grow as columns go, and a narrow kernel gives weight to columns of noise
    one_kernel = make_pipeline(StandardScaler(), mm.SVC(gamma=1 / n_columns, **weight))
    if method in SEARCHES:
        return fs.SubsetSelector(
            SEARCHES[method](keep), criterion_for(settings, svm, cv), random_state=seed
        ), svm
    if method in PENALTIES:
        return fs.SparseSVMSelector(method.value, keep, **weight), linear
    if method in NEIGHBOURS:
        return _neighbour_ranker(method, keep), svm
    made: dict[Method, tuple[Any, Any]] = {
        Method.RFE: (fs.RFE(linear, keep), linear),
        Method.RFE_KERNEL: (fs.RFE(one_kernel, keep), svm),
        Method.RFECV: (fs.RFECV(linear, cv=cv, scoring=settings.measure.scoring), linear),
        Method.RELIEF: (fs.Relief(n_features=keep, random_state=seed), svm),
        Method.FISHER: (fs.FisherScore(n_features=keep), svm),
        Method.IG: (fs.InformationGain(n_features=keep), svm),
        Method.SU: (fs.SymmetricalUncertainty(n_features=keep), svm),
    }
    return made[method]


def _selector_for_quantity(settings: SelectionSettings, model: Any, cv: Any) -> Any:
    method, keep = settings.method, settings.keep
    if method is Method.RFE:
        return fs.RFE(model, keep)
    if method is Method.RFECV:
        return fs.RFECV(model, cv=cv, scoring=settings.measure.scoring)
    if method in NEIGHBOURS:
        return _neighbour_ranker(method, keep, target="numbers")
    criterion = criterion_for(settings, model, cv)
    return fs.SubsetSelector(SEARCHES[method](keep), criterion, random_state=settings.validation.seed)


def _neighbour_ranker(method: Method, keep: int, **target: Any) -> Any:
    """A member of the relief family that takes classes and numbers."""
    if method is Method.TURF:
        return fs.TuRF(fs.MultiSURF(**target), n_features=keep)
    kinds = {Method.RELIEFF: fs.ReliefF, Method.SURF: fs.SURF, Method.MULTISURF: fs.MultiSURF}
    return kinds[method](n_features=keep, **target)


def cross_validated(settings: SelectionSettings, model: Any, cv: Any) -> fs.Criterion:
    return fs.CrossValidatedError(
        model, cv=cv, scoring=settings.measure.scoring, n_jobs=settings.validation.jobs
    )


def criterion_for(settings: SelectionSettings, model: Any, cv: Any) -> fs.Criterion:
    """What the search compares."""
    shrunk = {"shrinkage": settings.shrinkage}
    made: dict[SubsetCriterion, Callable[[], fs.Criterion]] = {
        SubsetCriterion.ERROR: lambda: cross_validated(settings, model, cv),
        SubsetCriterion.LOO_ERROR: lambda: fs.LeaveOneOutError(model),
        SubsetCriterion.CFS: fs.CFSMerit,
        SubsetCriterion.MAHALANOBIS: lambda: fs.Mahalanobis(**shrunk),
        SubsetCriterion.BHATTACHARYYA: lambda: fs.Bhattacharyya(**shrunk),
        SubsetCriterion.DIVERGENCE: lambda: fs.Divergence(**shrunk),
    }
    return made[criterion_of(settings)]()
