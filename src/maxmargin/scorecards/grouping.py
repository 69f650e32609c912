"""Find the bins of one variable under the settings of a Binning."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd
from sklearn.base import BaseEstimator

from maxmargin.base.table_columns import Column
from maxmargin.base.tables import class_codes, example_weights, positive_index
from maxmargin.base.typing import AnyArray, BoolArray, FloatArray, IntArray, LabelLike, TargetLike, WeightLike
from maxmargin.compute.columns.column_bins import assign_numbers, count_codes
from maxmargin.scorecards.bins import Bins, CategoryBins, NumberBins, missing_rows, special_rows
from maxmargin.scorecards.cuts import cut_points
from maxmargin.scorecards.partition import PartitionProblem, optimal_partition


@dataclass(frozen=True)
class EventRows:
    """Events and weights of the rows. ``given`` is None if every weight is 1 (faster sorts)."""

    event: BoolArray
    weight: FloatArray
    given: FloatArray | None

    @cached_property
    def counted(self) -> BoolArray | None:
        """Mask of the rows of positive weight, None for all: a row of weight 0 does not count."""
        return None if self.weight.all() else self.weight > 0

    @cached_property
    def only_counted(self) -> EventRows:
        keep = self.counted
        if keep is None:
            return self
        return EventRows(
            self.event[keep], self.weight[keep], None if self.given is None else self.given[keep]
        )

    @cached_property
    def totals(self) -> tuple[float, float]:
        return float(self.weight[self.event].sum()), float(self.weight[~self.event].sum())


@dataclass(frozen=True)
class EventLabels:
    """The two class labels, and which of them is the event."""

    classes: AnyArray
    index: int

    @property
    def event(self) -> Any:
        return self.classes[self.index]


def read_events(
    estimator: BaseEstimator,
    y: TargetLike | None,
    n_rows: int,
    positive: LabelLike | None,
    sample_weight: WeightLike | None,
) -> tuple[EventLabels, EventRows]:
    """A target of two classes; ``positive`` is the event, the second of the sorted labels by default."""
    classes, codes = class_codes(y, n_rows, estimator)
    if len(classes) > 2:
        raise ValueError(
            "Only binary classification is supported. "
            f"The type of the target is multiclass: y has {len(classes)} classes."
        )
    given = None if sample_weight is None else example_weights(sample_weight, None, classes, codes)
    labels = EventLabels(classes, positive_index(classes, positive))
    weight = np.ones(n_rows) if given is None else given
    return labels, EventRows(codes == labels.index, weight, given)


@dataclass(frozen=True, kw_only=True)
class BinSettings:
    """Settings for one variable; see `Binning` for their meaning."""

    method: str
    max_bins: int
    min_share: float
    trend: str
    prebinning: str
    n_prebins: int
    categories: str
    rare_share: float
    min_events: float
    smoothing: float
    specials: tuple[Any, ...] = ()
    edges: Any = None


def find_bins(column: Column, rows: EventRows, settings: BinSettings, cuts: FloatArray | None = None) -> Bins:
    """Bins of a column: manual bins, intervals of numbers, or groups of categories.

    ``cuts`` are the pre-bins of a number if they are already known.
    """
    if settings.edges is not None:
        return bins_by_hand(column, settings)
    if column.is_number:
        return _number_bins(column, rows, settings, cuts)
    return _category_bins(column, rows, settings)


def bins_by_hand(column: Column, settings: BinSettings) -> Bins:
    """Bins from ``edges``: ascending numbers for a number, lists of categories for categories."""
    if not column.is_number:
        return _groups_by_hand(column, settings)
    edges = np.asarray(settings.edges, dtype=np.float64)
    if edges.ndim != 1 or not np.isfinite(edges).all() or (np.diff(edges) <= 0).any():
        raise ValueError(
            f"edges of {column.name!r} must be finite ascending numbers (the outer bins are open), "
            f"got {settings.edges!r}."
        )
    return NumberBins(name=column.name, edges=edges, specials=settings.specials)


def _groups_by_hand(column: Column, settings: BinSettings) -> CategoryBins:
    groups = tuple(tuple(group) for group in settings.edges if not isinstance(group, str))
    named = [value for group in groups for value in group]
    if len(groups) < len(settings.edges) or len(set(named)) < len(named):
        raise ValueError(
            f"edges of the categories {column.name!r} must be lists of categories, each category once, "
            f"for example [['a', 'b'], ['c']]; got {settings.edges!r}."
        )
    present = pd.unique(column.values[~missing_rows(column.values)])
    left = [str(v) for v in present if v not in named and v not in settings.specials]
    if left:
        raise ValueError(f"edges of {column.name!r} leave out {', '.join(left)}: put them in a group.")
    return CategoryBins(name=column.name, groups=groups, specials=settings.specials)


def _number_bins(
    column: Column, rows: EventRows, settings: BinSettings, cuts: FloatArray | None
) -> NumberBins:
    x = column.values
    regular = ~np.isnan(x)
    if settings.specials:
        regular &= ~special_rows(column, settings.specials)
    if cuts is None:
        cuts = _cuts(x, regular & np.isfinite(x), rows, settings)
    # special and missing rows fall after the last interval and are not counted
    codes = assign_numbers(np.where(regular, x, np.nan), cuts, len(cuts) + 1)
    counts = count_codes(codes, rows.event, rows.weight, len(cuts) + 2)[:, :-1]
    ends = _choose(counts, rows, settings)
    return NumberBins(name=column.name, edges=cuts[ends[:-1] - 1], specials=settings.specials)


def _cuts(x: FloatArray, use: BoolArray, rows: EventRows, settings: BinSettings) -> FloatArray:
    """Intervals of the finite values; infinite values fall into the outer ones."""
    given = None if rows.given is None else rows.given[use]
    optimal = settings.method == "optimal"
    method = settings.prebinning if optimal else settings.method
    n_bins = settings.n_prebins if optimal else settings.max_bins
    return cut_points(method, x[use], rows.event[use], given, n_bins, settings.min_share)


def _choose(counts: FloatArray, rows: EventRows, settings: BinSettings) -> IntArray:
    """Ends of the bins: the best partition, or all intervals if nothing has to be merged."""
    optimal = settings.method == "optimal"
    problem = _problem(counts, rows, settings)
    enough = counts.sum(axis=0).min() >= problem.min_weight and counts.min() >= settings.min_events
    if not optimal and counts.shape[1] <= settings.max_bins and enough:
        return np.arange(1, counts.shape[1] + 1)
    return optimal_partition(problem, settings.trend if optimal else "none")


def _problem(counts: FloatArray, rows: EventRows, settings: BinSettings) -> PartitionProblem:
    """The partition problem for ordered pre-bins with these counts of events and non-events."""
    all_events, all_nonevents = rows.totals
    return PartitionProblem(
        events=counts[0],
        nonevents=counts[1],
        all_events=all_events,
        all_nonevents=all_nonevents,
        min_weight=settings.min_share * (all_events + all_nonevents),
        max_bins=settings.max_bins,
        min_events=settings.min_events,
        smoothing=settings.smoothing,
    )


def _category_bins(column: Column, rows: EventRows, settings: BinSettings) -> CategoryBins:
    if settings.specials:
        ordinary = column.values.copy()
        ordinary[special_rows(column, settings.specials)] = None
        column = Column(column.name, ordinary, False)
    codes, values = pd.factorize(column.values)
    counts = count_codes(codes, rows.event, rows.weight, len(values))
    by_name = sorted(range(len(values)), key=lambda k: (type(values[k]).__name__, values[k]))
    atoms = _merge_rare([[k] for k in by_name], counts, rows, settings)
    if settings.categories != "each":
        atoms.sort(key=lambda atom: _event_rate(counts[:, atom]))
    if settings.categories == "group" and len(atoms) > 1:
        atoms = _merge_neighbours(atoms, counts, rows, settings)
    groups = tuple(tuple(values[k] for k in atom) for atom in atoms)
    return CategoryBins(name=column.name, groups=groups, specials=settings.specials)


def _event_rate(counts: FloatArray) -> float:
    events, nonevents = counts.sum(axis=1)
    return float(events / (events + nonevents))


def _merge_rare(
    atoms: list[list[int]], counts: FloatArray, rows: EventRows, settings: BinSettings
) -> list[list[int]]:
    """Merge the categories with too few rows into one atom at the end."""
    total = sum(rows.totals)
    grouped = settings.categories == "group"
    share = settings.rare_share if grouped else max(settings.rare_share, settings.min_share)
    weight = {atom[0]: float(counts[:, atom].sum()) for atom in atoms}
    least = 0.0 if grouped else settings.min_events
    rare = {k for k, w in weight.items() if w < share * total or counts[:, k].min() < least}
    if not grouped and len(atoms) - len(rare) + bool(rare) > settings.max_bins:
        kept = sorted(weight, key=lambda k: -weight[k])[: settings.max_bins - 1]
        rare = set(weight) - set(kept)
    if len(rare) < 2:
        return atoms
    return [a for a in atoms if a[0] not in rare] + [[a[0] for a in atoms if a[0] in rare]]


def _merge_neighbours(
    atoms: list[list[int]], counts: FloatArray, rows: EventRows, settings: BinSettings
) -> list[list[int]]:
    """Exact grouping of categories ordered by event rate, so the bins are always monotone."""
    cells = np.array([counts[:, atom].sum(axis=1) for atom in atoms]).T
    if len(atoms) > settings.n_prebins:
        atoms, cells = _even_prebins(atoms, cells, settings.n_prebins)
    ends = optimal_partition(_problem(cells, rows, settings), "none")
    starts = np.r_[0, ends[:-1]]
    return [[k for atom in atoms[i:j] for k in atom] for i, j in zip(starts, ends, strict=True)]


def _even_prebins(
    atoms: list[list[int]], cells: FloatArray, n_prebins: int
) -> tuple[list[list[int]], FloatArray]:
    """Join consecutive atoms into at most ``n_prebins`` of about equal weight."""
    cumulative = np.cumsum(cells.sum(axis=0))
    home = np.minimum((cumulative * n_prebins / cumulative[-1]).astype(np.int64), n_prebins - 1)
    parts = [np.flatnonzero(home == k) for k in np.unique(home)]
    joined = [[k for a in part for k in atoms[a]] for part in parts]
    return joined, np.array([cells[:, part].sum(axis=1) for part in parts]).T
