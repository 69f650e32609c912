"""Binning: a table of numbers and categories becomes a table of bins."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import KW_ONLY, dataclass
from functools import partial
from typing import Any

import numpy as np
import pandas as pd
from sklearn.base import BaseEstimator, OneToOneFeatureMixin, TransformerMixin, clone
from sklearn.utils import ClassifierTags
from sklearn.utils.validation import check_is_fitted

from maxmargin.base.interruption import all_or_nothing, of_one_fit
from maxmargin.base.parameters import check_choice, check_count, check_not_negative
from maxmargin.base.shown import ShownTable
from maxmargin.base.table_columns import Column, feature_names, position, read_columns
from maxmargin.base.threads import effective_threads, run
from maxmargin.base.typing import FloatArray, IntArray, TableLike, TargetLike, WeightLike
from maxmargin.compute.columns.column_bins import count_codes, evidence_of_bins
from maxmargin.pieces.collection import Pieces
from maxmargin.pieces.given import as_pieces
from maxmargin.pieces.prediction import predict
from maxmargin.pieces.survey import learn_columns
from maxmargin.scorecards.bins import Bins, NumberBins
from maxmargin.scorecards.compress import PieceReader, compress, event_of_pieces
from maxmargin.scorecards.cuts import METHODS
from maxmargin.scorecards.evidence import check_smoothing, js_of_bins
from maxmargin.scorecards.grouping import BinSettings, EventLabels, EventRows, find_bins, read_events
from maxmargin.scorecards.partition import TRENDS

_CATEGORIES = ("group", "ordered", "each")


@dataclass(eq=False, repr=False)
class Binning(OneToOneFeatureMixin, TransformerMixin, BaseEstimator):
    """Cut numbers into intervals and group categories, for a target with two classes.

    Numbers become intervals (edge, next edge]; the outer ones extend to infinity. Missing values have their
    own bin, and so does each special value. Categories are grouped by event rate.

    Parameters
    ----------
    method : how numbers are cut.
        "optimal": pre-bins (see ``prebinning``) are merged into the bins that maximise the information value,
        exactly, by dynamic programming, under ``min_share``, ``min_events``, ``max_bins`` and ``trend``.
        "quantile": equal shares of rows. "width": equal width. "mdl": Fayyad and Irani's rule. "tree": a
        decision tree. Intervals of these four that violate ``min_share``, ``min_events`` or ``max_bins`` are
        merged so that the IV stays as large as possible.
    max_bins : maximum number of intervals or groups, special and missing bins not counted.
    min_share : minimum share of all rows in an interval or group.
    min_events : minimum number of events, and of non-events, in an interval or group; 0 allows bins of one
        class only, whose evidence follows from ``smoothing``.
    trend : order of event rates for "optimal": "ascending", "descending", "auto" (the better of the two),
        "peak" (up, then down), "valley" (down, then up), "concave" (steps never grow), "convex" (steps never
        fall), "none"; or a mapping from variable to one of these (others: "auto"). The other methods accept
        only "auto", and fix no order.
    prebinning : how "optimal" makes its pre-bins: "quantile", "width", "mdl" or "tree".
    n_prebins : number of pre-bins; all distinct values are used when there are fewer (quantile).
    categories : "group" merges categories that are neighbours in event rate, for the largest IV, under
        ``min_share`` and ``max_bins``; "ordered" keeps one bin each, ordered by event rate; "each" the same
        in order of name. In the last two the rarest are merged if ``min_share``, ``min_events`` or
        ``max_bins`` requires it.
    rare_share : categories with a smaller share of the rows are merged first.
    categorical_features : names or positions of columns whose numbers are codes of categories. Columns of
        strings are categories anyway.
    special_values : list of values that get a bin each, in all columns; or a mapping from variable to such
        a list.
    edges : manual bins, a mapping from variable to ascending numbers or, for categories, to lists of
        categories.
    positive : label of the event; by default the second of the two sorted labels.
    smoothing : rows that an empty cell counts as, see `weight_of_evidence`.
    n_jobs : threads, over the columns; None for all free cores.

    Attributes
    ----------
    bins_ : list of `Bins`, one per column.
    counts_ : list of arrays of shape (2, n_bins): events and non-events by bin.
    classes_ : the two labels.
    event_ : label of the event.

    Notes
    -----
    Cost: one sort per numeric column, O(n log n), and O(max_bins n_prebins^3) for the optimum.
    The optimum without a trend equals the best of all partitions; see `optimal_partition`.

    Examples
    --------
    >>> import pandas as pd
    >>> from maxmargin.scorecards import Binning
    >>> X = pd.DataFrame({"age": [20, 22, 25, 30, 41, 45, 52, 60], "home": list("rrorrooo")})
    >>> y = [1, 1, 0, 1, 0, 0, 1, 0]
    >>> binning = Binning(min_share=0.25).fit(X, y)
    >>> binning.table("age")[["bin", "count", "event_rate"]].to_numpy().tolist()
    [['(-inf, 35.5]', 4.0, 0.75], ['(35.5, inf)', 4.0, 0.25], ['missing', 0.0, nan]]
    >>> binning.transform(X)[:3]
    array([[0, 1],
           [0, 1],
           [0, 0]])
    """

    method: str = "optimal"
    _: KW_ONLY
    max_bins: int = 10
    min_share: float = 0.05
    min_events: float = 0
    trend: str | Mapping[str, str] = "auto"
    prebinning: str = "quantile"
    n_prebins: int = 100
    categories: str = "group"
    rare_share: float = 0.01
    categorical_features: Any = ()
    special_values: Any = None
    edges: Mapping[str, Any] | None = None
    positive: Any = None
    smoothing: float = 0.5
    n_jobs: int | None = None

    @all_or_nothing
    def fit(
        self, X: TableLike | Pieces, y: TargetLike | None = None, sample_weight: WeightLike | None = None
    ) -> Binning:
        """Find the bins of every column of a table, or of `Pieces` of one: the same bins."""
        pieces = as_pieces(X, y, sample_weight)
        if pieces is None:
            self.fit_codes(X, y, sample_weight)
        else:
            self._fit_pieces(pieces)
        return self

    def _fit_pieces(self, pieces: Pieces) -> None:
        """Bins from columns compressed to weighted rows; see `compress` for what is exact."""
        self._check_settings()
        learn_columns(self, pieces)
        names = feature_names(self)
        labels = event_of_pieces(self, pieces, self.positive)
        reader = PieceReader(tuple(names), self.categorical_features, labels.event)
        settings = self._settings(names)
        compressed = compress(pieces, reader, settings)
        tasks = [
            partial(_bin_column, c.column, c.rows, s, c.cuts)
            for c, s in zip(compressed, settings, strict=True)
        ]
        found = run(tasks, effective_threads(self.n_jobs))
        self._store(found, labels, compressed[0].rows.totals)

    def fit_transform(
        self, X: TableLike | Pieces, y: TargetLike | None = None, sample_weight: WeightLike | None = None
    ) -> Any:
        """Find the bins and return the bin number of every cell: ``fit(X, y).transform(X)`` in one pass.

        Of Dask data and `Pieces` the result is that of `pieces.predict`.
        """
        if as_pieces(X, y, sample_weight) is not None:
            return predict(self.fit(X, y, sample_weight), X, method="transform")
        return np.column_stack(self.fit_codes(X, y, sample_weight))

    @of_one_fit
    def transform(self, X: TableLike) -> IntArray:
        """Bin numbers of shape (n_samples, n_features); -1 for a category not seen in fit."""
        return np.column_stack(self.codes(X))

    def codes(self, X: TableLike) -> list[IntArray]:
        """As `transform`, as a list of columns without a copy."""
        check_is_fitted(self)
        columns = read_columns(self, X, reset=False, categorical=self.categorical_features)
        tasks = [partial(bins.assign, column) for bins, column in zip(self.bins_, columns, strict=True)]
        return run(tasks, effective_threads(self.n_jobs))

    def labels(self, X: TableLike) -> pd.DataFrame:
        """Names of the bins of the rows ("unseen" for a category not seen in fit)."""
        named = {
            bins.name: np.array([*bins.labels(), "unseen"], dtype=object)[codes]
            for bins, codes in zip(self.bins_, self.codes(X), strict=True)
        }
        return ShownTable(named)

    def table(self, variable: str | int | None = None) -> pd.DataFrame:
        """The bin table of one variable, or of all.

        Columns: variable, bin, count, share, events, nonevents, event_rate, woe (log of the share of
        non-events over the share of events), iv and js (contributions of the bin to the information value
        and to the Jensen-Shannon divergence). Counts are sums of weights.
        """
        check_is_fitted(self)
        if variable is None:
            return pd.concat([self._table(j) for j in range(len(self.bins_))], ignore_index=True)
        return self._table(position(variable, feature_names(self)))

    def edit(
        self, edges: Mapping[str, Any], X: TableLike, y: TargetLike, sample_weight: WeightLike | None = None
    ) -> Binning:
        """A new Binning, fitted on the same rows, with the bins of some variables set by hand.

        >>> import pandas as pd
        >>> from maxmargin.scorecards import Binning
        >>> X, y = pd.DataFrame({"age": [20, 30, 40, 50]}), [1, 0, 1, 0]
        >>> Binning().fit(X, y).edit({"age": [25, 45]}, X, y).table("age")["bin"].tolist()
        ['(-inf, 25]', '(25, 45]', '(45, inf)', 'missing']
        """
        edited: Binning = clone(self).set_params(edges={**(self.edges or {}), **edges})
        return edited.fit(X, y, sample_weight)

    @all_or_nothing
    def fit_codes(
        self, X: TableLike, y: TargetLike | None, sample_weight: WeightLike | None
    ) -> list[IntArray]:
        """Fit, and return the bin numbers column by column."""
        self._check_settings()
        columns = read_columns(self, X, categorical=self.categorical_features)
        labels, rows = read_events(self, y, len(columns[0].values), self.positive, sample_weight)
        settings = self._settings([column.name for column in columns])
        tasks = [partial(_bin_column, column, rows, s) for column, s in zip(columns, settings, strict=True)]
        found = run(tasks, effective_threads(self.n_jobs))
        self._store(found, labels, rows.totals)
        return [codes for _, _, codes in found]

    def _store(self, found: list[Any], labels: EventLabels, totals: tuple[float, float]) -> None:
        self.bins_: list[Bins] = [bins for bins, _, _ in found]
        self.counts_: list[FloatArray] = [counts for _, counts, _ in found]
        self.classes_ = labels.classes
        self.event_ = labels.event
        self.totals_ = totals

    def _check_settings(self) -> None:
        check_choice("method", self.method, ("optimal", *METHODS))
        check_choice("prebinning", self.prebinning, METHODS)
        check_choice("categories", self.categories, _CATEGORIES)
        for trend in self.trend.values() if isinstance(self.trend, Mapping) else [self.trend]:
            check_choice("trend", trend, TRENDS)
        if self.method != "optimal" and self.trend != "auto":
            raise ValueError(f"trend={self.trend!r} needs method='optimal'; method is {self.method!r}.")
        if self.edges is not None and not isinstance(self.edges, Mapping):
            raise ValueError(f"edges={self.edges!r} must be a dict from columns to lists of edges, or None.")
        check_count("max_bins", self.max_bins)
        if check_count("n_prebins", self.n_prebins) < 2:
            raise ValueError(f"n_prebins={self.n_prebins} must be at least 2.")
        for name in ("min_share", "rare_share"):
            check_not_negative(name, getattr(self, name))
            if not getattr(self, name) < 1.0:
                raise ValueError(f"{name}={getattr(self, name)!r} must lie in [0, 1), for example 0.05.")
        check_not_negative("min_events", self.min_events)
        check_smoothing(self.smoothing)

    def _settings(self, names: list[str]) -> list[BinSettings]:
        """One BinSettings per column, including settings given per variable."""
        trends = _by_column(self.trend if isinstance(self.trend, Mapping) else {}, names)
        edges = _by_column(self.edges or {}, names)
        by_name = isinstance(self.special_values, Mapping)
        specials = _by_column(self.special_values if by_name else {}, names)
        common = () if by_name or self.special_values is None else self.special_values
        default = "auto" if isinstance(self.trend, Mapping) else self.trend
        return [
            BinSettings(
                method=self.method,
                max_bins=self.max_bins,
                min_share=self.min_share,
                trend=trends.get(j, default),
                prebinning=self.prebinning,
                n_prebins=self.n_prebins,
                categories=self.categories,
                rare_share=self.rare_share,
                min_events=float(self.min_events),
                smoothing=self.smoothing,
                specials=tuple(specials.get(j, common)),
                edges=edges.get(j),
            )
            for j in range(len(names))
        ]

    def _table(self, j: int) -> pd.DataFrame:
        events, nonevents = self.counts_[j]
        all_events, all_nonevents = self.totals_
        woe, iv = evidence_of_bins(events, nonevents, all_events, all_nonevents, float(self.smoothing))
        count = events + nonevents
        rate = np.divide(events, count, out=np.full(len(count), np.nan), where=count > 0)
        return ShownTable(
            {
                "variable": self.bins_[j].name,
                "bin": self.bins_[j].labels(),
                "count": count,
                "share": count / (all_events + all_nonevents),
                "events": events,
                "nonevents": nonevents,
                "event_rate": rate,
                "woe": woe,
                "iv": iv,
                "js": js_of_bins(events, nonevents, all_events, all_nonevents),
            }
        )

    def woe(self, j: int) -> FloatArray:
        """WoE by bin number of column ``j``; the last entry, 0, is for bin number -1 (unseen)."""
        all_events, all_nonevents = self.totals_
        events, nonevents = self.counts_[j]
        found = evidence_of_bins(events, nonevents, all_events, all_nonevents, float(self.smoothing))
        return np.append(found[0], 0.0)

    def trend_of(self, variable: str | int) -> str:
        """The trend of the event rate over the regular bins.

        "ascending", "descending", "peak", "valley", "flat", or "none" if it turns more than once.
        """
        j = position(variable, feature_names(self))
        bins = self.bins_[j]
        events, nonevents = self.counts_[j][:, : bins.n_regular]
        some = events + nonevents > 0
        steps = np.diff(events[some] / (events + nonevents)[some])
        signs = np.sign(steps[steps != 0])
        if not len(signs):
            return "flat"
        turns = np.count_nonzero(np.diff(signs))
        names = ("descending", "ascending") if turns == 0 else ("valley", "peak")
        return "none" if turns > 1 else names[int(signs[0] > 0)]

    def trend_asked(self, variable: str | int) -> str:
        """The trend that `trend` requires for a variable."""
        names = feature_names(self)
        return self._settings(names)[position(variable, names)].trend

    def is_number(self, variable: str | int) -> bool:
        """True if a variable was binned as a number."""
        return isinstance(self.bins_[position(variable, feature_names(self))], NumberBins)

    def __sklearn_tags__(self) -> Any:
        return binary_table_tags(super().__sklearn_tags__())


def binning_of(model: BaseEstimator) -> Binning:
    """The bins behind a model: a `Binning` itself, or that of a WOEEncoder, IVSelector or Scorecard."""
    binning = model if isinstance(model, Binning) else getattr(model, "binning_", None)
    if not isinstance(binning, Binning):
        raise TypeError(
            f"{type(model).__name__} has no bins: pass a fitted Binning, WOEEncoder, IVSelector or Scorecard."
        )
    check_is_fitted(binning)
    return binning


def binary_table_tags(tags: Any) -> Any:
    """Tags of estimators that take any table and a target with two classes."""
    tags.target_tags.required = True
    tags.input_tags.allow_nan = True
    tags.input_tags.string = True
    tags.input_tags.categorical = True
    tags.classifier_tags = ClassifierTags(multi_class=False)
    if tags.transformer_tags is not None:
        tags.transformer_tags.preserves_dtype = []
    return tags


def fresh_binning(given: Any) -> Binning:
    """A copy of the binning that was given to another estimator, the default one for None."""
    if given is None:
        return Binning()
    if not isinstance(given, Binning):
        raise ValueError(f"binning={given!r} must be a Binning, or None for the default one.")
    return clone(given)


def _bin_column(
    column: Column, rows: EventRows, settings: BinSettings, cuts: FloatArray | None = None
) -> tuple[Bins, FloatArray, IntArray]:
    bins = find_bins(column.take(rows.counted), rows.only_counted, settings, cuts)
    codes = bins.assign(column)
    return bins, count_codes(codes, rows.event, rows.weight, bins.n_bins), codes


def _by_column(given: Mapping[str, Any], names: list[str]) -> dict[int, Any]:
    return {position(name, names): value for name, value in given.items()}
