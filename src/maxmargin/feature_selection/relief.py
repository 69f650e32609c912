"""The Relief family: good columns differ between neighbouring rows of different classes or targets."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Literal, Self

import numpy as np
import numpy.typing as npt
import pandas as pd
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.utils import check_random_state
from sklearn.utils.multiclass import type_of_target

from maxmargin.base.interruption import all_or_nothing
from maxmargin.base.parameters import check_choice, count_or_share
from maxmargin.base.table_columns import Categorical, CodedTable, coded_table, feature_names
from maxmargin.base.tables import Classes, as_dense, checked_numbers, read_classes
from maxmargin.base.threads import effective_threads, run, split
from maxmargin.base.typing import FloatArray, IntArray, RandomStateLike, TableLike, TargetLike
from maxmargin.compute.columns.nearest_rows import distance_moments, number_sums, relief_sums
from maxmargin.feature_selection.base import how_many, rank
from maxmargin.feature_selection.rankers import Ranker

Distance = Literal["scaled", "raw"]
Target = Literal["auto", "classes", "numbers"]
Instances = int | float | npt.ArrayLike | None
_AT_ONCE = 1 << 26  # differences in one compiled call, so that Ctrl-C is not delayed


@dataclass(frozen=True)
class _Rows:
    """Columns as rows, of shape (n_features, n_samples): values for distances, and values to compare."""

    measured: FloatArray
    diffs: FloatArray
    categorical: npt.NDArray[np.bool_]
    missing: bool


class _GappyRanker(Ranker):
    """A ranker that accepts missing values."""

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        return tags


@dataclass(eq=False, repr=False, kw_only=True)
class _ReliefBase(_GappyRanker):
    n_instances: Instances = None
    distance: Distance = "scaled"
    categorical: Categorical = "auto"
    random_state: RandomStateLike | None = None
    n_jobs: int | None = None

    @all_or_nothing
    def fit(self, X: TableLike, y: TargetLike) -> Self:
        """Score the columns of ``X`` for the target ``y``. Sparse rows are made dense."""
        table, target = self.read(X, y)
        self._keep(self.score_columns(table, target))
        return self

    def read(self, X: TableLike, y: TargetLike) -> tuple[CodedTable, Classes | FloatArray]:
        """Validated table and target; learns the columns and draws the instances."""
        if sp.issparse(X):
            X = as_dense(X)
        table = coded_table(self, X, self.categorical, missing=True)
        n_samples = table.shape[0]
        self.instances_: IntArray = _draw(self.n_instances, n_samples, self.random_state)
        if self._takes_numbers(y):
            target = checked_numbers(y, n_samples, self)
            return table, target / (np.ptp(target) or 1.0)
        classes = read_classes(y, n_samples, self)
        if classes.masses.min() < 2:
            scarce = classes.labels.tolist()[classes.masses.argmin()]
            raise ValueError(
                f"class {scarce!r} has a single row, which has no nearest hit: drop the class or add rows."
            )
        return table, classes

    def score_columns(self, table: CodedTable, target: Classes | FloatArray) -> FloatArray:
        """Scores of the columns of a table, of shape (n_features,)."""
        rows, drawn = self._rows(table), self.instances_
        n_neighbors, radius = self._neighbourhood(rows, target)
        if isinstance(target, Classes):
            return self._class_scores(rows, target, drawn, n_neighbors, radius) / len(drawn)
        sums = self._summed(rows, number_sums, target, drawn, n_neighbors, radius)
        known, apart, differs, both = sums
        # P(differs | targets differ) - P(differs | targets agree), with 0 where a condition never holds
        return _quotient(both, apart) - _quotient(differs - both, known - apart)

    def neighbour_table(self, X: TableLike, y: TargetLike, row: int) -> pd.DataFrame:
        """Differences and distances from one row to all others, and which of them are hit and miss.

        One line per other row: its class, diff() of every column, the distance that finds neighbours
        (``distance``), and "hit" or "miss" for the nearest row of the same and of any other class.

        >>> from maxmargin.feature_selection import Relief
        >>> X = [[170, 85], [147, 75], [150, 77], [154, 81], [175, 79], [152, 80], [173, 82], [177, 84]]
        >>> table = Relief(distance="raw").neighbour_table(X, [1, 0, 0, 0, 1, 0, 1, 1], 0)
        >>> table.loc[[3, 6], ["distance", "role"]].values.tolist()
        [[20.0, 'miss'], [6.0, 'hit']]
        """
        like = clone(self)
        table = coded_table(like, X, self.categorical, missing=True)
        classes = read_classes(y, table.shape[0], like)
        row = int(_draw([row], table.shape[0], None)[0])
        rows = self._rows(table)
        diffs, apart = (np.abs(values - values[:, [row]]) for values in (rows.diffs, rows.measured))
        for values in (diffs, apart):
            values[table.categorical] = np.sign(values[table.categorical])
        known = (~np.isnan(apart)).sum(axis=0)
        found = pd.DataFrame(diffs.T, columns=feature_names(like))
        found.insert(0, "class", classes.labels[classes.codes])
        found["distance"] = np.nansum(apart, axis=0) * _quotient(float(len(apart)), known, empty=np.nan)
        found["role"] = ""
        same = classes.codes == classes.codes[row]
        for role, others in (("hit", same & (np.arange(len(same)) != row)), ("miss", ~same)):
            distances = found["distance"][others].dropna()
            if len(distances):
                found.loc[distances.idxmin(), "role"] = role
        return found.drop(index=row)

    def _takes_numbers(self, y: TargetLike) -> bool:
        return False  # Relief itself only takes classes

    def _neighbourhood(self, rows: _Rows, target: Classes | FloatArray) -> tuple[int, FloatArray]:
        """Number of neighbours, or 0 and the radius of every instance, of shape (n_instances,)."""
        raise NotImplementedError  # implemented by every member of the family

    def _rows(self, table: CodedTable) -> _Rows:
        check_choice("distance", self.distance, ("scaled", "raw"))
        if self.distance == "raw" and table.categorical.any():
            raise ValueError("distance='raw' is for numbers only: use distance='scaled' with categories.")
        diffs = _scaled(table)
        measured = np.ascontiguousarray(table.values.T) if self.distance == "raw" else diffs
        return _Rows(measured, diffs, table.categorical, bool(np.isnan(table.values).any()))

    def _class_scores(
        self, rows: _Rows, classes: Classes, drawn: IntArray, n_neighbors: int, radius: FloatArray
    ) -> FloatArray:
        """Sum over the instances of differences to misses less differences to hits."""
        weight = _miss_weights(classes.masses)
        codes = classes.codes.astype(np.int64)
        return self._summed(rows, relief_sums, codes, drawn, n_neighbors, radius, weight)

    def _summed(
        self,
        rows: _Rows,
        sums: Callable[..., FloatArray],
        target: FloatArray | IntArray,
        drawn: IntArray,
        n_neighbors: int,
        radius: FloatArray,
        *more: FloatArray,
    ) -> FloatArray:
        """Compiled ``sums`` over the instances."""
        table = rows.measured, rows.diffs, rows.categorical, rows.missing, target
        return np.sum(
            self._on_threads(
                lambda part: sums(*table, drawn[part], n_neighbors, radius[part], *more), rows, len(drawn)
            ),
            axis=0,
        )

    def _on_threads(
        self, work: Callable[[slice], FloatArray], rows: _Rows, n_instances: int
    ) -> list[FloatArray]:
        """``work`` on parts of the instances, each far below a second."""
        n_threads = effective_threads(self.n_jobs)
        p, n_samples = rows.measured.shape
        n_calls = n_instances * n_samples * (p + 8) // _AT_ONCE + 1
        parts = split(n_instances, max(n_threads, n_calls), multiple=8)
        return run([partial(work, part) for part in parts], n_threads)


class Relief(_ReliefBase):
    """Rank columns by the nearest hit and the nearest miss of sampled rows (two or more classes).

    J(column) = mean over the rows of diff(row, nearest miss) - diff(row, nearest hit), where diff is
    |a - b| / range for numbers and 0 or 1 for categories; J lies in [-1, 1], and a useless column has J <= 0
    on average. The miss is the nearest row of any other class; equal distances go to the lowest row.

    Missing values are left out: distances are means over the columns known in both rows, times the number of
    columns, and a row without a value adds 0 to the sum of its column.

    Parameters
    ----------
    n_instances : number of rows drawn without replacement, a share in (0, 1), an array of row numbers, or
        None for all rows (then nothing is random).
    distance : "scaled" finds neighbours by the sum of diff; "raw" by the Manhattan distance of the numbers as
        they are (the worked example of Gómez 2024, section 2.2.2; columns of large numbers dominate).
    n_features, threshold : as every ranker.
    categorical : "auto" (by the dtypes of a dataframe), or a list of columns.
    random_state : seed of the draw.
    n_jobs : threads over rows; None uses the free cores.

    Notes
    -----
    Costs O(m n p), in tiles that stay in cache; memory O(n p), also for sparse rows.
    Kira and Rendell, A practical approach to feature selection (1992).

    Examples
    --------
    >>> from maxmargin.feature_selection import Relief
    >>> X = [[170, 85], [147, 75], [150, 77], [154, 81], [175, 79], [152, 80], [173, 82], [177, 84]]
    >>> y = [1, 0, 0, 0, 1, 0, 1, 1]
    >>> Relief(n_instances=[0, 5]).fit(X, y).scores_.round(2)
    array([0.5 , 0.15])
    """

    def _neighbourhood(self, rows: _Rows, target: Classes | FloatArray) -> tuple[int, FloatArray]:
        return 1, np.full(len(self.instances_), np.inf)

    def _class_scores(
        self, rows: _Rows, classes: Classes, drawn: IntArray, n_neighbors: int, radius: FloatArray
    ) -> FloatArray:
        """The class of each instance against all others, pooled as misses."""
        total = np.zeros(len(rows.diffs))
        for code in np.unique(classes.codes[drawn]):
            own = drawn[classes.codes[drawn] == code]
            pooled = Classes((classes.codes == code).astype(np.int64), np.arange(2))
            total += super()._class_scores(rows, pooled, own, n_neighbors, radius[: len(own)])
        return total


@dataclass(eq=False, repr=False, kw_only=True)
class _NumbersToo(_ReliefBase):
    """Base class of the members of the family that also take numbers as targets."""

    target: Target = "auto"

    def _takes_numbers(self, y: TargetLike) -> bool:
        check_choice("target", self.target, ("auto", "classes", "numbers"))
        return self.target == "numbers" or (
            self.target == "auto" and y is not None and type_of_target(y) == "continuous"
        )


@dataclass(eq=False, repr=False)
class ReliefF(_NumbersToo):
    """Rank columns by k nearest hits and k nearest misses from every other class, or for a numeric target.

    J(column) = mean over the rows, of class c, of

        sum over classes d != c of  P(d) / (1 - P(c)) mean diff(row, misses in d)  -  mean diff(row, hits),

    with diff as in `Relief` and P the shares of the classes. A class of fewer than k rows
    uses all of them. For numbers y (RReliefF), with the k nearest rows whatever their targets,

        J(column) = E[d_y d] / E[d_y]  -  E[(1 - d_y) d] / E[1 - d_y],

    where d is the diff of the column and d_y = |y - y'| / range of a row and its neighbour.

    Parameters
    ----------
    n_neighbors : k; or a share in (0, 1) of the rows, half of them hits and half misses of every class, all
        of them for numbers.
    target : "classes", "numbers", or "auto": numbers where y holds fractions.
    n_instances, distance, n_features, threshold, categorical, random_state, n_jobs : as in `Relief`.

    Notes
    -----
    Costs O(m n p) for distances and O(m k p K) for scores. Missing values as in `Relief`.
    Kononenko, Estimating attributes (1994); Robnik-Sikonja and Kononenko, Theoretical and empirical analysis
    of ReliefF and RReliefF (2003), figures 2 and 3, with neighbours of equal influence.

    Examples
    --------
    >>> import numpy as np
    >>> from maxmargin.feature_selection import ReliefF
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(60, 5)); y = (X[:, 1] + X[:, 3] > 0).astype(int)
    >>> ReliefF(n_features=2).fit(X, y).get_support(indices=True)
    array([1, 3])
    >>> ReliefF(0.2, n_features=2).fit(X, X[:, 1] + X[:, 3]).get_support(indices=True)
    array([1, 3])
    """

    n_neighbors: int | float = field(default=10, kw_only=False)

    def _neighbourhood(self, rows: _Rows, target: Classes | FloatArray) -> tuple[int, FloatArray]:
        n_samples = rows.diffs.shape[1]
        number = count_or_share(self.n_neighbors, n_samples)
        if number is None:
            raise ValueError(
                f"n_neighbors={self.n_neighbors!r} must be a whole number >= 1, or a share in (0, 1)."
            )
        if self.n_neighbors < 1 and isinstance(target, Classes):
            number = max(1, int(self.n_neighbors * n_samples / 2))
        return min(number, n_samples), np.full(len(self.instances_), np.inf)


class SURF(_NumbersToo):
    """Rank columns by all neighbours nearer than the mean distance of the rows.

    As `ReliefF`, without a number of neighbours: hits and misses of a row are all rows nearer than the mean
    distance from the instances to the other rows.

    Parameters
    ----------
    target : as in `ReliefF`.
    n_instances, distance, n_features, threshold, categorical, random_state, n_jobs : as in `Relief`.

    Notes
    -----
    Costs O(m n p), about three times `ReliefF`. Greene et al., Spatially uniform ReliefF (SURF) for
    computationally-efficient filtering of gene-gene interactions (2009).

    Examples
    --------
    >>> import numpy as np
    >>> from maxmargin.feature_selection import SURF
    >>> X = np.random.default_rng(0).normal(size=(80, 5))
    >>> SURF(n_features=2).fit(X, X[:, 1] * X[:, 3] > 0).get_support(indices=True)
    array([1, 3])
    """

    def _neighbourhood(self, rows: _Rows, target: Classes | FloatArray) -> tuple[int, FloatArray]:
        count, mean, _ = self._distances(rows).T
        return 0, np.full(len(self.instances_), _quotient(count @ mean, count.sum()))

    def _distances(self, rows: _Rows) -> FloatArray:
        """Number, mean and standard deviation of the distances from every instance, of shape (m, 3)."""
        table = rows.measured, rows.categorical, rows.missing
        drawn = self.instances_
        return np.concatenate(
            self._on_threads(lambda part: distance_moments(*table, drawn[part]), rows, len(drawn))
        )


class MultiSURF(SURF):
    """Rank columns by all neighbours well inside the mean distance from each row.

    As `SURF`, with a radius for every row: the mean of its distances less half of their standard deviation.

    Parameters
    ----------
    target : as in `ReliefF`.
    n_instances, distance, n_features, threshold, categorical, random_state, n_jobs : as in `Relief`.

    Notes
    -----
    Costs as `SURF`. Urbanowicz et al., Benchmarking relief-based feature selection methods for bioinformatics
    data mining (2018).

    Examples
    --------
    >>> import numpy as np
    >>> from maxmargin.feature_selection import MultiSURF
    >>> X = np.random.default_rng(0).normal(size=(80, 5))
    >>> MultiSURF(n_features=2).fit(X, X[:, 1] * X[:, 3] > 0).get_support(indices=True)
    array([1, 3])
    """

    def _neighbourhood(self, rows: _Rows, target: Classes | FloatArray) -> tuple[int, FloatArray]:
        _, mean, deviation = self._distances(rows).T
        return 0, mean - deviation / 2


@dataclass(eq=False, repr=False)
class TuRF(_GappyRanker):
    """Score, drop the worst columns, and score the rest again: neighbours are found without the noise.

    Parameters
    ----------
    ranker : `Relief`, `ReliefF`, `SURF` or `MultiSURF` (the default), which keeps its other options.
    step : columns dropped in each round: a number, or a share of those that are left.
    n_features : number of columns to end with, or a share in (0, 1); half of them by default.
    threshold : instead of a number, remove columns until all that remain score above it.

    Attributes
    ----------
    scores_ : score of each column in the last round that it took part in.
    ranking_ : 1 for the best column of the last round; columns dropped earlier rank behind.
    history_ : DataFrame with variable, score, rank, selected and round (the last one of the column).

    Notes
    -----
    Costs a ranking for every round. Moore and White, Tuning ReliefF for genome-wide genetic analysis (2007).

    Examples
    --------
    >>> import numpy as np
    >>> from maxmargin.feature_selection import TuRF
    >>> X = np.random.default_rng(0).normal(size=(80, 20))
    >>> TuRF(n_features=2, step=0.2).fit(X, X[:, 1] * X[:, 3] > 0).get_support(indices=True)
    array([1, 3])
    """

    ranker: Relief | _NumbersToo | None = field(default=None, kw_only=False)
    step: int | float = 0.1

    @all_or_nothing
    def fit(self, X: TableLike, y: TargetLike) -> Self:
        """Score and drop columns of ``X`` in rounds."""
        ranker = self._fresh_ranker()
        table, target = ranker.read(X, y)
        self.n_features_in_ = ranker.n_features_in_
        if hasattr(ranker, "feature_names_in_"):
            self.feature_names_in_ = ranker.feature_names_in_
        left = np.arange(table.shape[1])
        scores, rounds = np.zeros(len(left)), np.zeros(len(left), dtype=np.int64)
        fewest = how_many(len(left), self.n_features) if self.threshold is None else 1
        while True:
            part = CodedTable(np.ascontiguousarray(table.values[:, left]), table.categorical[left])
            scores[left] = ranker.score_columns(part, target)
            rounds[left] += 1
            n_drop = self._n_drop(scores[left], fewest)
            if n_drop == 0:
                break
            left = np.sort(left[rank(scores[left]) <= len(left) - n_drop])
        order = np.lexsort((-scores, -rounds))  # stable: equal scores rank by the lowest column
        ranking = np.empty(len(order), dtype=np.int64)
        ranking[order] = np.arange(1, len(order) + 1)
        self._keep(scores, ranking)
        self.history_["selected"] = self.support_[order]
        self.history_["round"] = rounds[order]
        return self

    def _fresh_ranker(self) -> _ReliefBase:
        ranker = MultiSURF() if self.ranker is None else clone(self.ranker)
        if not isinstance(ranker, _ReliefBase):
            raise TypeError(f"ranker={self.ranker!r} must be a Relief, ReliefF, SURF or MultiSURF.")
        if ranker.n_features is not None or ranker.threshold is not None:
            raise ValueError("give n_features or threshold to TuRF, not to its ranker.")
        return ranker

    def _n_drop(self, scores: FloatArray, fewest: int) -> int:
        """Columns to drop after a round; 0 ends the rounds."""
        number = count_or_share(self.step, len(scores))
        if number is None:
            raise ValueError(f"step={self.step!r} must be a whole number >= 1, or a share in (0, 1).")
        if self.threshold is not None:
            number = min(number, int((scores <= self.threshold).sum()))
        return min(number, len(scores) - fewest)


def _miss_weights(masses: FloatArray) -> FloatArray:
    """Weight of the misses in class d for a row of class c: P(d) / (1 - P(c))."""
    shares = masses / masses.sum()
    return shares[None, :] / (1.0 - shares[:, None])


def _quotient(above: Any, below: Any, empty: float = 0.0) -> Any:
    """above / below, and ``empty`` where below is 0."""
    below = np.asarray(below, dtype=np.float64)
    return np.divide(above, below, out=np.full(below.shape, empty), where=below > 0)


def _scaled(table: CodedTable) -> FloatArray:
    """Columns as rows, of shape (n_features, n_samples), numbers divided by their range."""
    ranges = np.ptp(table.values, axis=0)
    if np.isnan(ranges).any():
        missing = np.isnan(table.values)
        highest = np.where(missing, -np.inf, table.values).max(axis=0)
        lowest = np.where(missing, np.inf, table.values).min(axis=0)
        ranges = np.maximum(highest - lowest, 0.0)  # a column without any value has range 0
    scale = np.where(table.categorical | (ranges == 0), 1.0, ranges)
    return np.ascontiguousarray((table.values / scale).T)


def _draw(n_instances: Instances, n_samples: int, random_state: RandomStateLike | None) -> IntArray:
    if n_instances is None:
        return np.arange(n_samples)
    if np.ndim(n_instances) == 1:
        rows = np.asarray(n_instances)
        if rows.dtype.kind not in "iu" or len(rows) == 0 or rows.min() < 0 or rows.max() >= n_samples:
            raise ValueError(f"n_instances as an array must hold row numbers 0 ... {n_samples - 1}.")
        return rows.astype(np.int64)
    number = count_or_share(n_instances, n_samples)
    if number is None or number > n_samples:
        raise ValueError(
            f"n_instances={n_instances!r}: use 1 ... {n_samples}, a share between 0 and 1, row numbers, "
            "or None."
        )
    return check_random_state(random_state).choice(n_samples, number, replace=False)
