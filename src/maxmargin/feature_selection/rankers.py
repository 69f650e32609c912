"""Filters that score one column at a time: Fisher's score, information gain, symmetrical uncertainty."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Any, Literal, Self, get_args

import numpy as np
import pandas as pd
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.utils.multiclass import check_classification_targets

from maxmargin.base.interruption import all_or_nothing
from maxmargin.base.parameters import check_choice
from maxmargin.base.table_columns import Categorical, CodedTable, coded_table, feature_names
from maxmargin.base.tables import Classes, fitted_table, read_classes, row_weights
from maxmargin.base.threads import effective_threads, portions, run
from maxmargin.base.typing import FloatArray, IntArray, TableLike, TargetLike, WeightLike
from maxmargin.compute.columns.column_entropy import information_with_classes
from maxmargin.discretize import discretize_column
from maxmargin.feature_selection.base import Selector, how_many, rank
from maxmargin.machines.linear.base import SparseInput
from maxmargin.pieces.collection import Pieces
from maxmargin.pieces.given import as_pieces
from maxmargin.pieces.moments import variances_of_pieces
from maxmargin.pieces.survey import learn_columns, survey

_BLOCK = 256  # columns of a sparse table that are dense at a time
_AT_ONCE = 1 << 18  # values that one compiled call sorts and cuts, so that Ctrl-C is not delayed
FisherKind = Literal["generalized", "difference_over_variance", "signal_to_noise"]


@dataclass(eq=False, repr=False, kw_only=True)
class Ranker(SparseInput, Selector):
    """Base class of the selectors that score one column at a time and keep the best.

    Parameters shared by all rankers
    --------------------------------
    n_features : number of columns to keep, or a share in (0, 1); half of them when None and no threshold.
    threshold : keep the columns whose score is above it, instead of a number.

    Attributes
    ----------
    scores_ : of shape (n_features_in_,); larger is better.
    ranking_ : 1 for the best column, of shape (n_features_in_,); equal scores rank by the lowest column.
    support_ : mask of the columns kept.
    history_ : DataFrame with variable, score, rank and selected, best first.
    """

    n_features: int | float | None = None
    threshold: float | None = None

    def _keep(self, scores: FloatArray, ranking: IntArray | None = None) -> None:
        if self.n_features is not None and self.threshold is not None:
            raise ValueError("n_features and threshold exclude each other: give one of them.")
        self.scores_ = scores
        self.ranking_: IntArray = rank(scores) if ranking is None else ranking
        if self.threshold is None:
            self.support_ = self.ranking_ <= how_many(len(scores), self.n_features)
        else:
            self.support_ = scores > self.threshold
        columns = {
            "variable": feature_names(self),
            "score": scores,
            "rank": self.ranking_,
            "selected": self.support_,
        }
        self.history_ = pd.DataFrame(columns).sort_values("rank", ignore_index=True)


class WeightedRanker(Ranker):
    """Base class of the rankers that take ``sample_weight``."""

    @all_or_nothing
    def fit(self, X: TableLike, y: TargetLike | None = None, sample_weight: WeightLike | None = None) -> Self:
        """Score the columns of ``X`` for the classes ``y``; ``sample_weight`` counts rows.

        `FisherScore` also takes `Pieces`; the other rankers sort their columns and need them in memory.
        """
        pieces = as_pieces(X, y, sample_weight)
        if pieces is not None:
            self._fit_pieces(pieces)
            return self
        if sp.issparse(X):
            self._keep(self._sparse_scores(X, y, sample_weight))
            return self
        table = coded_table(self, X, getattr(self, "categorical", "auto"))
        classes = read_classes(y, table.shape[0], self)
        weights = row_weights(sample_weight, table.shape[0])
        self._keep(self._scores(table, classes, weights))
        return self

    def _sparse_scores(self, X: Any, y: Any, sample_weight: Any) -> FloatArray:
        """Scores of sparse columns, a block of them at a time."""
        categorical = getattr(self, "categorical", "auto")
        if not isinstance(categorical, str):
            raise ValueError(f"categorical={categorical!r}: columns of a sparse table are numbers.")
        X = fitted_table(self, X, dtype=np.float64, accept_sparse="csc")
        classes, weights = read_classes(y, X.shape[0], self), row_weights(sample_weight, X.shape[0])
        scores = []
        for start in range(0, X.shape[1], _BLOCK):
            part = clone(self)  # learns the columns of the block
            table = coded_table(part, X[:, start : start + _BLOCK].toarray(), categorical)
            scores.append(part._scores(table, classes, weights))
        return np.concatenate(scores)

    def _scores(self, table: CodedTable, classes: Classes, weights: FloatArray) -> FloatArray:
        raise NotImplementedError  # implemented by every ranker

    def _fit_pieces(self, pieces: Pieces) -> None:
        raise TypeError(
            f"{type(self).__name__} cannot be computed in pieces: use FisherScore or "
            "scorecards.information_value, or take a sample (pieces.sample(100_000))."
        )


@dataclass(eq=False, repr=False, kw_only=True)
class FisherScore(WeightedRanker):
    """Rank numeric columns by the distance of the class means relative to the spread inside the classes.

    With class sizes n_k, means m_k and standard deviations s_k (of the population, divided by n_k):

    - ``"generalized"`` (any number of classes): sum n_k (m_k - m)^2 / sum n_k s_k^2;
    - ``"difference_over_variance"`` (two classes): |m1 - m2| / (s1^2 + s2^2), depends on the units;
    - ``"signal_to_noise"`` (two classes, Golub et al. 1999): |m1 - m2| / (s1 + s2).

    A column that is constant inside every class scores infinity when the means differ and 0 otherwise.

    Notes
    -----
    Costs O(n p). Duda, Hart and Stork, Pattern Classification, section 3.8.

    Examples
    --------
    >>> from maxmargin.feature_selection import FisherScore
    >>> X = [[170, 85], [147, 75], [150, 77], [154, 81], [175, 79], [152, 80], [173, 82], [177, 84]]
    >>> y = [1, 0, 0, 0, 1, 0, 1, 1]
    >>> FisherScore(kind="signal_to_noise").fit(X, y).scores_.round(3)
    array([4.447, 0.909])
    """

    kind: FisherKind = "generalized"

    def _scores(self, table: CodedTable, classes: Classes, weights: FloatArray) -> FloatArray:
        if table.categorical.any():
            names = [
                name for name, is_cat in zip(feature_names(self), table.categorical, strict=True) if is_cat
            ]
            raise ValueError(
                f"FisherScore needs numbers, and {names} hold categories: encode them (OneHotEncoder), or "
                "use SymmetricalUncertainty, InformationGain or ReliefF, which take both."
            )
        self._check_kind()
        units = column_units(table.values)
        return self._from_moments(units, *class_moments(table.values / units, classes, weights))

    def _fit_pieces(self, pieces: Pieces) -> None:
        self._check_kind()
        learn_columns(self, pieces)
        seen = survey(pieces, classes=True)
        check_classification_targets(seen.labels)
        _check_masses(seen.masses)
        if len(seen.labels) < 2:
            only = seen.labels.tolist()[0]
            raise ValueError(f"y holds 1 class ({only!r}): a selection needs at least two classes.")
        units, means, variances = variances_of_pieces(pieces, seen)
        self._keep(self._from_moments(units, seen.masses, means, variances))

    def _check_kind(self) -> None:
        check_choice("kind", self.kind, get_args(FisherKind))

    def _from_moments(
        self, units: FloatArray, masses: FloatArray, means: FloatArray, variances: FloatArray
    ) -> FloatArray:
        """Scores from moments of columns that were divided by ``units``."""
        if self.kind == "generalized":
            centre = masses @ means / masses.sum()
            return _ratio(masses @ (means - centre) ** 2, masses @ variances)
        if len(masses) != 2:
            raise ValueError(
                f"kind={self.kind!r} is for two classes and y has {len(masses)}: use kind='generalized'."
            )
        differences = np.abs(means[0] - means[1])
        if self.kind == "signal_to_noise":
            return _ratio(differences, np.sqrt(variances).sum(axis=0))
        with np.errstate(over="ignore"):
            return np.asarray(_ratio(differences, variances.sum(axis=0)) / units)


@dataclass(eq=False, repr=False, kw_only=True)
class _EntropyRanker(WeightedRanker):
    categorical: Categorical = "auto"

    def _scores(self, table: CodedTable, classes: Classes, weights: FloatArray) -> FloatArray:
        counted = weights > 0  # a row of weight 0 does not count
        columns = np.ascontiguousarray(table.values[counted].T)
        codes, n_classes = classes.codes[counted].astype(np.int64), len(classes.labels)
        n_threads = effective_threads(None)
        size = min(_AT_ONCE // max(1, columns.shape[1]), max(16, len(columns) // n_threads // 4))
        tasks = [
            partial(
                information_with_classes,
                columns[part],
                table.categorical[part],
                codes,
                n_classes,
                weights[counted],
            )
            for part in portions(slice(0, len(columns)), size)
        ]
        return self._measure(*np.concatenate(run(tasks, n_threads), axis=1))

    @staticmethod
    def _measure(gain: FloatArray, entropies: FloatArray) -> FloatArray:
        """The score from the information gain and the sum of both entropies."""
        raise NotImplementedError


class InformationGain(_EntropyRanker):
    """Rank columns by IG(class, column) in bits; numbers are first cut by Fayyad and Irani's MDL rule.

    A numeric column without an acceptable cut scores 0. Categories (text, booleans and category columns of a
    dataframe, or those named in ``categorical``) are taken as they are.

    Notes
    -----
    Costs O(n log n) for every column. Quinlan, Induction of decision trees (1986).

    Examples
    --------
    >>> import numpy as np
    >>> from maxmargin.feature_selection import InformationGain
    >>> X = np.c_[np.arange(40.0), np.tile([0.0, 1.0], 20)]
    >>> InformationGain().fit(X, X[:, 0] > 19).scores_
    array([1., 0.])
    """

    @staticmethod
    def _measure(gain: FloatArray, entropies: FloatArray) -> FloatArray:
        return gain


class SymmetricalUncertainty(_EntropyRanker):
    """Rank columns by SU = 2 IG / (E(class) + E(column)), between 0 and 1.

    As `InformationGain`, without its preference for columns of many categories.

    Notes
    -----
    Costs O(n log n) for every column. Press et al., Numerical Recipes in C, section 14.4.

    Examples
    --------
    >>> import pandas as pd
    >>> from maxmargin.feature_selection import SymmetricalUncertainty
    >>> X = pd.DataFrame({"colour": ["red", "blue"] * 10, "code": list("abcdefghij") * 2})
    >>> SymmetricalUncertainty(n_features=1).fit(X, X["colour"]).selected_
    ['colour']
    """

    @staticmethod
    def _measure(gain: FloatArray, entropies: FloatArray) -> FloatArray:
        return np.divide(2.0 * gain, entropies, out=np.zeros(len(gain)), where=entropies > 0)


def column_units(values: FloatArray) -> FloatArray:
    """Powers of two near the largest numbers of the columns, in which squares neither overflow nor vanish."""
    return np.asarray(np.ldexp(1.0, np.frexp(np.abs(values).max(axis=0))[1] - 1))


def class_moments(
    values: FloatArray, classes: Classes, weights: FloatArray
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Masses (n_classes,), means and population variances (n_classes, n_features) of the classes."""
    members = np.zeros((len(classes.labels), len(values)))
    members[classes.codes, np.arange(len(values))] = weights
    masses = members.sum(axis=1)
    _check_masses(masses)
    means = members @ values / masses[:, None]
    # from the deviations, not from sums of squares, which cancel for columns far from 0
    variances = members @ (values - means[classes.codes]) ** 2 / masses[:, None]
    return masses, means, variances


def _check_masses(masses: FloatArray) -> None:
    if (masses <= 0).any():
        raise ValueError("a class has no weight: give every class a row of positive sample_weight.")


def discrete_codes(table: CodedTable, classes: Classes) -> IntArray:
    """Every column as bin or category numbers, of shape (n_samples, n_features)."""
    columns = [
        values.astype(np.int64) if is_category else discretize_column(values, classes.codes)
        for values, is_category in zip(table.values.T, table.categorical, strict=True)
    ]
    return np.column_stack(columns)


def _ratio(numerator: FloatArray, denominator: FloatArray) -> FloatArray:
    """Quotient with 0 / 0 = 0 and a / 0 = infinity."""
    ratio = np.where(numerator > 0, np.inf, 0.0)
    np.divide(numerator, denominator, out=ratio, where=denominator > 0)
    return ratio
