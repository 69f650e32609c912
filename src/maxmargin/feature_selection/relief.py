"""Relief and ReliefF: good columns differ between neighbouring rows of different classes."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal, Self

import numpy as np
import numpy.typing as npt
from sklearn.utils import check_random_state

from maxmargin.base.interruption import all_or_nothing
from maxmargin.base.parameters import check_choice, check_count, count_or_share
from maxmargin.base.table_columns import Categorical, CodedTable, coded_table
from maxmargin.base.tables import Classes, read_classes
from maxmargin.base.threads import effective_threads, run, split
from maxmargin.base.typing import FloatArray, IntArray, RandomStateLike, TableLike, TargetLike
from maxmargin.compute.columns.nearest_rows import relief_sums
from maxmargin.feature_selection.rankers import Ranker

Distance = Literal["scaled", "raw"]
Instances = int | float | npt.ArrayLike | None


@dataclass(eq=False, repr=False, kw_only=True)
class _ReliefBase(Ranker):
    n_instances: Instances = None
    distance: Distance = "scaled"
    categorical: Categorical = "auto"
    random_state: RandomStateLike | None = None
    n_jobs: int | None = None

    @all_or_nothing
    def fit(self, X: TableLike, y: TargetLike) -> Self:
        """Score the columns of ``X`` for the classes ``y``."""
        table = coded_table(self, X, self.categorical)
        classes = read_classes(y, table.shape[0], self)
        if classes.masses.min() < 2:
            scarce = classes.labels[classes.masses.argmin()]
            raise ValueError(
                f"class {scarce!r} has a single row, which has no nearest hit: drop the class or add rows."
            )
        self.instances_: IntArray = _draw(self.n_instances, table.shape[0], self.random_state)
        self._keep(self._relief(table, classes))
        return self

    def _relief(self, table: CodedTable, classes: Classes) -> FloatArray:
        raise NotImplementedError  # Relief and ReliefF differ in their neighbours

    def _means(
        self, table: CodedTable, classes: Classes, rows: IntArray, n_neighbors: int, weight: FloatArray
    ) -> FloatArray:
        """Mean over ``rows`` of the weighted differences to their hits and misses, of shape (n_features,)."""
        check_choice("distance", self.distance, ("scaled", "raw"))
        if self.distance == "raw" and table.categorical.any():
            raise ValueError("distance='raw' is for numbers only: use distance='scaled' with categories.")
        diffs = _scaled(table)
        measured = np.ascontiguousarray(table.values.T) if self.distance == "raw" else diffs
        n_threads = effective_threads(self.n_jobs)
        codes = classes.codes.astype(np.int64)
        tasks = [
            lambda part=part: relief_sums(
                measured, diffs, table.categorical, codes, rows[part], n_neighbors, weight
            )
            for part in split(len(rows), n_threads, multiple=8)
        ]
        scores: FloatArray = np.sum(run(tasks, n_threads), axis=0) / len(rows)
        return scores


class Relief(_ReliefBase):
    """Rank columns by the nearest hit and the nearest miss of sampled rows (two or more classes).

    J(column) = mean over the rows of diff(row, nearest miss) - diff(row, nearest hit), where diff is
    |a - b| / range for numbers and 0 or 1 for categories; J lies in [-1, 1], and a useless column has J <= 0
    on average. The miss is the nearest row of any other class; equal distances go to the lowest row.

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
    Costs O(m n p), in tiles that stay in cache; memory O(n p).
    Kira and Rendell, A practical approach to feature selection (1992).

    Examples
    --------
    >>> from maxmargin.feature_selection import Relief
    >>> X = [[170, 85], [147, 75], [150, 77], [154, 81], [175, 79], [152, 80], [173, 82], [177, 84]]
    >>> y = [1, 0, 0, 0, 1, 0, 1, 1]
    >>> Relief(n_instances=[0, 5]).fit(X, y).scores_.round(2)
    array([0.5 , 0.15])
    """

    def _relief(self, table: CodedTable, classes: Classes) -> FloatArray:
        weight, drawn = _miss_weights(np.ones(2)), self.instances_
        if len(classes.labels) == 2:
            return self._means(table, classes, drawn, 1, weight)
        # several classes: the class of each instance against all others pooled as misses
        total = np.zeros(table.shape[1])
        for code in np.unique(classes.codes[drawn]):
            rows = drawn[classes.codes[drawn] == code]
            pooled = Classes((classes.codes == code).astype(np.int64), np.arange(2))
            total += len(rows) * self._means(table, pooled, rows, 1, weight)
        return total / len(drawn)


@dataclass(eq=False, repr=False)
class ReliefF(_ReliefBase):
    """Rank columns by k nearest hits and k nearest misses from every other class.

    J(column) = mean over the rows, of class c, of

        sum over classes d != c of  P(d) / (1 - P(c)) mean diff(row, misses in d)  -  mean diff(row, hits),

    with diff as in `Relief` and P the shares of the classes. A class of fewer than k rows
    uses all of them.

    Parameters
    ----------
    n_neighbors : k.
    n_instances, distance, n_features, threshold, categorical, random_state, n_jobs : as `Relief`.

    Notes
    -----
    Costs O(m n p) for distances and O(m k p K) for scores. Kononenko, Estimating attributes (1994);
    Robnik-Sikonja and Kononenko, Theoretical and empirical analysis of ReliefF and RReliefF (2003), figure 2.

    Examples
    --------
    >>> import numpy as np
    >>> from maxmargin.feature_selection import ReliefF
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(60, 5)); y = (X[:, 1] + X[:, 3] > 0).astype(int)
    >>> ReliefF(n_features=2).fit(X, y).get_support(indices=True)
    array([1, 3])
    """

    n_neighbors: int = field(default=10, kw_only=False)

    def _relief(self, table: CodedTable, classes: Classes) -> FloatArray:
        n_neighbors = min(check_count("n_neighbors", self.n_neighbors), table.shape[0])
        return self._means(table, classes, self.instances_, n_neighbors, _miss_weights(classes.masses))


def _miss_weights(masses: FloatArray) -> FloatArray:
    """Weight of the misses in class d for a row of class c: P(d) / (1 - P(c)); -1 for the hits."""
    shares = masses / masses.sum()
    weights: FloatArray = shares[None, :] / (1.0 - shares[:, None])
    np.fill_diagonal(weights, -1.0)
    return weights


def _scaled(table: CodedTable) -> FloatArray:
    """Columns as rows, of shape (n_features, n_samples), numbers divided by their range."""
    ranges = np.ptp(table.values, axis=0)
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
    drawn: IntArray = check_random_state(random_state).choice(n_samples, number, replace=False)
    return drawn
