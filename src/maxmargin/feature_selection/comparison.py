"""Feature selection methods side by side: ranks, errors and stability in one table."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from sklearn.base import BaseEstimator, clone
from sklearn.model_selection import StratifiedShuffleSplit
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils import _safe_indexing

from maxmargin.base import work_clock
from maxmargin.base.parameters import check_count
from maxmargin.base.shown import ShownTable, short_repr, shown
from maxmargin.base.table_columns import feature_names
from maxmargin.base.typing import AnyArray, FloatArray, FoldsLike, RandomStateLike, TableLike, TargetLike
from maxmargin.feature_selection.base import Selector, how_many
from maxmargin.feature_selection.criteria import CFSMerit
from maxmargin.feature_selection.rankers import FisherScore, SymmetricalUncertainty
from maxmargin.feature_selection.relief import ReliefF
from maxmargin.feature_selection.rfe import RFE
from maxmargin.feature_selection.sequential import BestFirst
from maxmargin.feature_selection.sparse import SparseSVMSelector
from maxmargin.feature_selection.subset import SBS, SFS, SubsetSelector
from maxmargin.feature_selection.wrappers import CrossValidatedError
from maxmargin.machines.svm import SVC
from maxmargin.solvers.dual.gram.column_subsets import Splits
from maxmargin.tuning.errors import ErrorMeasure
from maxmargin.tuning.folds import make_folds


@dataclass(frozen=True)
class Comparison:
    """Feature selection methods on one table.

    Attributes
    ----------
    ranks : DataFrame, variables by methods, 1 is best; a method that only chooses ranks what it kept 1, the
        rest 2. Forward and backward searches rank by the order of their path.
    chosen : DataFrame of booleans, the same shape.
    frequency : DataFrame, how often each variable was chosen over the resamples.
    methods : DataFrame, one row for each method: number of variables, error of the chosen variables over the
        folds, error when the selection itself is repeated inside every fold (nested_error, the unbiased one),
        stability over the resamples (1 always the same choice, 0 as good as chance) and seconds.
    interrupted : True when Ctrl-C ended the comparison; it then has the methods that were finished.

    >>> import maxmargin as mm
    >>> from maxmargin.feature_selection import FisherScore, compare
    >>> X = [[0.0, 1.0], [0.1, 0.0], [0.2, 1.0], [2.0, 0.0], [2.1, 1.0], [2.2, 0.0]]
    >>> methods = {"Fisher": FisherScore(n_features=1)}
    >>> found = compare(X, [0, 0, 0, 1, 1, 1], methods, estimator=mm.SVC(), cv=3, n_resamples=0)
    >>> found.chosen["Fisher"].tolist()
    [True, False]
    """

    ranks: pd.DataFrame
    chosen: pd.DataFrame
    frequency: pd.DataFrame
    methods: pd.DataFrame
    interrupted: bool = False

    __repr__ = short_repr

    @property
    def table(self) -> pd.DataFrame:
        """One table: ranks and frequencies of the variables, then the figures of the methods."""
        parts = {
            "rank": self.ranks,
            "chosen": self.chosen.astype(int),
            "frequency": self.frequency,
            "method": self.methods.T,
        }
        return pd.concat(parts)

    def __str__(self) -> str:
        marked = self.ranks.astype(str) + np.where(self.chosen, "*", "")
        return f"{shown(marked)}\n(* chosen)\n\n{shown(self.methods)}"


def compare(
    X: TableLike,
    y: TargetLike,
    methods: Mapping[str, Selector] | None = None,
    *,
    estimator: BaseEstimator | None = None,
    n_features: int | float | None = None,
    cv: FoldsLike = 10,
    scoring: Any = None,
    n_resamples: int = 10,
    random_state: RandomStateLike | None = 0,
) -> Comparison:
    """Run selection methods on one table: ranks, errors and stability. Ctrl-C returns the finished methods.

    Parameters
    ----------
    X, y : table of shape (n_samples, n_features) and classes of shape (n_samples,).
    methods : names and selectors; None takes `default_methods`.
    estimator : classifier whose error is reported; None is mm.SVC on standardised columns.
    n_features, cv : number (or share) that the default methods keep (None: half), and folds of the errors.
    scoring : None for the share of wrong classes, or a scikit-learn scorer as in `mm.tune`.
    n_resamples : stratified draws of 80 % of the rows over which stability is measured; 0 leaves it out.
    random_state : seed of these draws.

    Notes
    -----
    Every method is fitted 1 + (number of folds) + n_resamples times. The stability is that of Nogueira,
    Sechidis and Brown, On the stability of feature selection algorithms (2018), equation 4.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from maxmargin.feature_selection import CFSMerit, FisherScore, Forward, SubsetSelector, compare
    >>> X, y = load_iris(return_X_y=True, as_frame=True)
    >>> methods = {"Fisher": FisherScore(n_features=2), "CFS": SubsetSelector(Forward(), CFSMerit())}
    >>> result = compare(X, y, methods, cv=5, n_resamples=5)
    >>> result.ranks["Fisher"].to_list()
    [3, 4, 1, 2]
    """
    estimator = make_pipeline(StandardScaler(), SVC()) if estimator is None else estimator
    X, labels = np.asarray(X) if isinstance(X, list) else X, np.asarray(y)
    if methods is None:
        methods = default_methods(estimator, how_many(np.shape(X)[1], n_features), cv, scoring)
    splits = make_folds(cv, estimator, X, labels, random_state=None)
    draws, measure = _draws(labels, n_resamples, random_state), ErrorMeasure(estimator, scoring)
    found: dict[str, _Findings] = {}
    try:
        for name, method in methods.items():
            found[name] = _examine(method, X, labels, estimator, measure, splits, draws)
    except KeyboardInterrupt:
        if not found:
            raise
    names = found[next(iter(found))].names
    return Comparison(
        ranks=ShownTable({name: f.ranks for name, f in found.items()}, index=names),
        chosen=ShownTable({name: f.chosen for name, f in found.items()}, index=names),
        frequency=ShownTable({name: f.frequency for name, f in found.items()}, index=names),
        methods=ShownTable({name: f.figures for name, f in found.items()}).T,
        interrupted=len(found) < len(methods),
    )


def default_methods(
    estimator: BaseEstimator, n_features: int, cv: FoldsLike = 10, scoring: Any = None
) -> dict[str, Selector]:
    """Filters, wrappers and elimination that keep ``n_features`` columns (CFS keeps what it finds best)."""
    linear = make_pipeline(StandardScaler(), SVC(kernel="linear"))
    return {
        "Fisher": FisherScore(n_features=n_features),
        "ReliefF": ReliefF(n_features=n_features),
        "SU": SymmetricalUncertainty(n_features=n_features),
        "CFS": SubsetSelector(BestFirst(), CFSMerit()),
        "SFS": SFS(estimator, n_features, cv=cv, scoring=scoring),
        "SBS": SBS(estimator, n_features, cv=cv, scoring=scoring),
        "RFE linear": RFE(linear, n_features),
        "RFE kernel": RFE(make_pipeline(StandardScaler(), SVC()), n_features),
        "l1-SVM": SparseSVMSelector("l1", n_features),
    }


@dataclass(frozen=True)
class _Findings:
    names: list[str]
    ranks: AnyArray
    chosen: AnyArray
    frequency: FloatArray
    figures: dict[str, float]


def _examine(
    method: Selector,
    X: Any,
    y: AnyArray,
    estimator: Any,
    measure: ErrorMeasure,
    splits: Splits,
    draws: list[AnyArray],
) -> _Findings:
    start = work_clock.now()
    fitted = _refit(method, X, y)
    seconds = work_clock.now() - start
    subset = tuple(np.flatnonzero(fitted.support_).tolist())
    error = np.nan
    if subset:
        found = CrossValidatedError(estimator, cv=splits, scoring=measure.scoring).prepare(X, y)([subset])[0]
        error = found if measure.scoring is None else measure.to_error(float(found))
    masks = np.array([_refit(method, X, y, rows).support_ for rows in draws], dtype=float)
    figures = {
        "n_features": len(subset),
        "error": float(error),
        "nested_error": _nested_error(method, X, y, estimator, measure, splits),
        "stability": stability(masks),
        "seconds": seconds,
    }
    frequency = masks.mean(axis=0) if len(masks) else np.full(len(fitted.support_), np.nan)
    return _Findings(feature_names(fitted), variable_ranks(fitted), fitted.support_, frequency, figures)


def _refit(method: Selector, X: Any, y: AnyArray, rows: AnyArray | None = None) -> Any:
    """Run the method on some rows; a search that Ctrl-C stopped early does not count as finished."""
    refitted: Any = clone(method)
    refitted.fit(X, y) if rows is None else refitted.fit(_safe_indexing(X, rows), y[rows])
    if getattr(refitted, "interrupted_", False):
        raise KeyboardInterrupt
    return refitted


def _nested_error(
    method: Selector, X: Any, y: AnyArray, estimator: Any, measure: ErrorMeasure, splits: Splits
) -> float:
    """Mean error over the folds with the selection repeated on every training set."""
    errors = []
    for train, test in splits:
        kept = np.flatnonzero(_refit(method, X, y, train).support_)
        if len(kept) == 0:
            return float("nan")
        columns = _safe_indexing(X, kept, axis=1)
        model = clone(estimator).fit(_safe_indexing(columns, train), y[train])
        errors.append(measure.of_model(model, _safe_indexing(columns, test), y[test]))
    return float(np.mean(errors))


def stability(masks: FloatArray) -> float:
    """Agreement of choices beyond chance, from masks of shape (n_resamples, n_features)."""
    if len(masks) < 2:
        return float("nan")
    shares = masks.mean(axis=0)
    mean_share = shares.mean()
    by_chance = mean_share * (1 - mean_share)
    if by_chance == 0:
        return 1.0  # everything or nothing was chosen every time
    variance = len(masks) / (len(masks) - 1) * (shares * (1 - shares)).mean()
    return float(1.0 - variance / by_chance)


def variable_ranks(selector: Any) -> AnyArray:
    """Ranks of the variables under a fitted selector, 1 is best."""
    if hasattr(selector, "ranking_"):
        return selector.ranking_
    ranks = np.where(selector.support_, 1, 2)
    path = getattr(selector, "path_", None)
    position = {name: j for j, name in enumerate(feature_names(selector))}
    if path is None or len(position) != selector.n_features_in_:
        return ranks
    moved = [position[name] for name in path["variable"].dropna()]
    actions = set(path["action"])
    if len(set(moved)) != len(moved) or not moved:
        return ranks
    if actions == {"add"}:  # in the order of addition; columns that were never added come last
        ranks[:] = len(moved) + 1
        ranks[moved] = np.arange(1, len(moved) + 1)
    elif actions == {"start", "remove"}:  # the column that was removed first is the worst
        ranks[:] = 1
        ranks[moved] = np.arange(len(moved) + 1, 1, -1)
    return ranks


def _draws(y: AnyArray, n_resamples: int, random_state: RandomStateLike | None) -> list[AnyArray]:
    check_count("n_resamples", n_resamples, least=0)
    if n_resamples == 0:
        return []
    splitter = StratifiedShuffleSplit(n_resamples, train_size=0.8, random_state=random_state)
    return [train for train, _ in splitter.split(np.zeros(len(y)), y)]
