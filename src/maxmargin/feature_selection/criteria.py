"""Criteria that need no model: CFS merit, class distances, your own function."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import KW_ONLY, dataclass, field
from itertools import combinations
from typing import Literal, get_args

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils import _safe_indexing

from maxmargin.base.parameters import check_choice, check_fraction
from maxmargin.base.table_columns import Categorical, coded_table
from maxmargin.base.tables import read_classes
from maxmargin.base.threads import portions
from maxmargin.base.typing import FloatArray, IntArray, TableLike, TargetLike
from maxmargin.compute.columns.column_entropy import uncertainty_with_all
from maxmargin.feature_selection.rankers import column_units, discrete_codes

_AT_ONCE = 1 << 26  # codes that one compiled call counts, so that Ctrl-C is not delayed

Subset = tuple[int, ...]
Scorer = Callable[[Sequence[Subset]], FloatArray]
MeritKind = Literal["hall", "per_column"]


class Criterion(BaseEstimator):
    """The value J(S) of a subset S of the columns.

    A subclass gives `prepare`, which looks at the data once and returns the function that scores subsets.

    Attributes
    ----------
    maximize : True when larger values are better (filters), False for errors.
    monotone : True when another column never makes J worse, which `BranchAndBound` needs.

    Examples
    --------
    >>> import numpy as np
    >>> from maxmargin.feature_selection import Criterion, Exhaustive, SubsetSelector
    >>> class Spread(Criterion):  # the sum of the columns' variances, less one for each column
    ...     def prepare(self, X, y):
    ...         variance = np.var(X, axis=0)
    ...         return lambda subsets: [sum(variance[j] - 1 for j in subset) for subset in subsets]
    >>> X, y = np.array([[0.0, 1, 0], [4, 1, 5], [8, 2, 10]]), [0, 0, 1]
    >>> SubsetSelector(Exhaustive(), Spread()).fit(X, y).selected_
    ['x0', 'x2']
    """

    maximize: bool = True
    monotone: bool = False

    def prepare(self, X: TableLike, y: TargetLike) -> Scorer:
        """Return the function from a sequence of subsets (ascending column numbers) to their values."""
        raise NotImplementedError


@dataclass(eq=False, repr=False)
class Custom(Criterion):
    """Your own criterion: ``function(X_subset, y)`` returns a number.

    Parameters
    ----------
    function : called with the columns of the subset (the same kind of table that was given) and y.
    maximize : the direction; there is no default, since a wrong guess would choose the worst subset.
    monotone : declare that another column never makes the value worse.

    Examples
    --------
    >>> import numpy as np
    >>> from maxmargin.feature_selection import Custom, Forward, SubsetSelector
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(50, 4)); y = X[:, 2] > 0
    >>> gap = Custom(lambda X, y: abs(X[y].mean() - X[~y].mean()), maximize=True)
    >>> SubsetSelector(Forward(), gap).fit(X, y).selected_
    ['x2']
    """

    function: Callable[..., float]
    _: KW_ONLY
    maximize: bool = field()
    monotone: bool = False

    def prepare(self, X: TableLike, y: TargetLike) -> Scorer:
        def score(subsets: Sequence[Subset]) -> FloatArray:
            return np.array(
                [self.function(_safe_indexing(X, list(s), axis=1), y) for s in subsets], dtype=float
            )

        return score


def cfs_merit(r_cf: FloatArray, r_ff: FloatArray, *, kind: MeritKind = "hall") -> float:
    """Merit of a subset of k columns from its correlations with the class and among themselves.

    ``"hall"``: k mean(r_cf) / sqrt(k + k (k - 1) mean(r_ff)), Hall (1999), equation 4.2, where every ordered
    pair of columns adds its correlation; ``"per_column"`` has (k - 1) in place of k (k - 1), one mean
    correlation for each further column, which penalises redundancy less.

    Parameters
    ----------
    r_cf : correlation of every column of the subset with the class, of shape (k,).
    r_ff : correlations among the columns, symmetric, of shape (k, k); the diagonal is not read.

    Examples
    --------
    >>> import numpy as np
    >>> from maxmargin.feature_selection import cfs_merit
    >>> round(cfs_merit(np.array([0.95, 0.7]), np.array([[1, 0.33], [0.33, 1]])), 3)
    1.012
    """
    check_choice("kind", kind, get_args(MeritKind))
    k = len(r_cf)
    if k == 1:
        return float(r_cf[0])
    mean_ff = r_ff[np.triu_indices(k, 1)].mean()
    pairs = k * (k - 1) if kind == "hall" else k - 1
    return float(k * np.mean(r_cf) / np.sqrt(k + pairs * mean_ff))


@dataclass(eq=False, repr=False, kw_only=True)
class CFSMerit(Criterion):
    """Correlation-based merit of a subset: close to the class, far from each other.

    Correlations are symmetrical uncertainties; numbers are first cut by the MDL rule (`mdl_discretize`).

    Parameters
    ----------
    kind : "hall" or "per_column", see `cfs_merit`.
    categorical : "auto" (by the dtypes of a dataframe), or a list of columns.

    Notes
    -----
    Correlations with the class cost O(n p); those of a column with all others are computed when a subset
    first needs them, O(n p) each. Hall, Correlation-based feature selection (1999), chapter 4.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from maxmargin.feature_selection import BestFirst, CFSMerit, SubsetSelector
    >>> X, y = load_iris(return_X_y=True, as_frame=True)
    >>> SubsetSelector(BestFirst(), CFSMerit()).fit(X, y).selected_
    ['petal length (cm)', 'petal width (cm)']
    """

    kind: MeritKind = "hall"
    categorical: Categorical = "auto"

    def prepare(self, X: TableLike, y: TargetLike) -> Scorer:
        table = coded_table(self, X, self.categorical)
        classes = read_classes(y, table.shape[0], self)
        codes = np.ascontiguousarray(discrete_codes(table, classes).T)
        levels = codes.max(axis=1) + 1
        r_cf = _uncertainties(codes, levels, classes.codes.astype(np.int64), len(classes.labels))
        rows: dict[int, FloatArray] = {}

        def row(j: int) -> FloatArray:
            if j not in rows:
                rows[j] = _uncertainties(codes, levels, codes[j], int(levels[j]))
            return rows[j]

        def merit(subset: Subset) -> float:
            chosen = np.array(subset)
            r_ff = np.stack([row(j)[chosen] for j in subset])
            return cfs_merit(r_cf[chosen], r_ff, kind=self.kind)

        return lambda subsets: np.array([merit(subset) for subset in subsets])


@dataclass(eq=False, repr=False, kw_only=True)
class _ClassDistance(Criterion):
    """Distance of Gaussian classes, the mean over pairs of classes; monotone in the subset."""

    monotone = True
    shrinkage: float = 0.0

    def prepare(self, X: TableLike, y: TargetLike) -> Scorer:
        check_fraction("shrinkage", self.shrinkage)
        table = coded_table(self, X, None)
        classes = read_classes(y, table.shape[0], self)
        values = table.values / column_units(table.values)  # the distances do not depend on units
        groups = [values[classes.codes == k] for k in range(len(classes.labels))]
        means = np.stack([group.mean(axis=0) for group in groups])
        covariances = self._covariances(groups)
        shrunk = (1 - self.shrinkage) * covariances
        diagonal = np.arange(table.shape[1])
        shrunk[:, diagonal, diagonal] = covariances[:, diagonal, diagonal]
        _check_definite(shrunk)
        pairs = list(combinations(range(len(groups)), 2))

        def score(subsets: Sequence[Subset]) -> FloatArray:
            values = np.empty(len(subsets))
            sizes = np.array([len(subset) for subset in subsets])
            for size in np.unique(sizes):  # subsets of one size go through linear algebra together
                which = np.flatnonzero(sizes == size)
                chosen = np.array([subsets[int(i)] for i in which])
                grid = (slice(None), chosen[:, :, None], chosen[:, None, :])
                m, S = means[:, chosen], shrunk[grid]
                values[which] = np.mean([self._distance(m[a] - m[b], S[a], S[b]) for a, b in pairs], axis=0)
            return values

        return score

    def _covariances(self, groups: list[FloatArray]) -> FloatArray:
        if min(len(group) for group in groups) < 2:
            raise ValueError("a class with 1 row has no covariance: drop the class or add rows.")
        # relative to the first row: a constant column then has the variance 0, not that of rounding
        return np.stack([np.atleast_2d(np.cov(group - group[0], rowvar=False)) for group in groups])

    def _distance(self, d: FloatArray, S1: FloatArray, S2: FloatArray) -> FloatArray:
        raise NotImplementedError  # implemented by every distance


class Mahalanobis(_ClassDistance):
    """Squared Mahalanobis distance d' S^-1 d of the class means, S being the pooled covariance.

    With several classes the mean over pairs. ``shrinkage`` in [0, 1] moves the covariances towards their
    diagonal, (1 - s) S + s diag(S), which keeps the criterion monotone and helps when n is small.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from maxmargin.feature_selection import BranchAndBound, Mahalanobis, SubsetSelector
    >>> X, y = load_iris(return_X_y=True)
    >>> SubsetSelector(BranchAndBound(2), Mahalanobis()).fit(X, y).get_support(indices=True)
    array([0, 2])
    """

    def _covariances(self, groups: list[FloatArray]) -> FloatArray:
        each = super()._covariances(groups)
        free = np.array([len(group) - 1.0 for group in groups])
        pooled = np.tensordot(free, each, axes=1) / free.sum()
        return np.repeat(pooled[None], len(groups), axis=0)

    def _distance(self, d: FloatArray, S1: FloatArray, S2: FloatArray) -> FloatArray:
        return _quadratic(d, S1)


class Bhattacharyya(_ClassDistance):
    """Bhattacharyya distance of Gaussian classes.

    1/8 d' S^-1 d + 1/2 log(|S| / sqrt(|S1| |S2|)) with S = (S1 + S2) / 2. Monotone: it is an
    f-divergence of the marginal laws, so removing a column never increases it.
    With several classes the mean over pairs; ``shrinkage`` as in `Mahalanobis`.
    Narendra and Fukunaga, A branch and bound algorithm for feature subset selection (1977).

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from maxmargin.feature_selection import Bhattacharyya, BranchAndBound, SubsetSelector
    >>> X, y = load_iris(return_X_y=True)
    >>> SubsetSelector(BranchAndBound(2), Bhattacharyya()).fit(X, y).get_support(indices=True)
    array([0, 2])
    """

    def _distance(self, d: FloatArray, S1: FloatArray, S2: FloatArray) -> FloatArray:
        S = (S1 + S2) / 2
        logs = [np.linalg.slogdet(part)[1] for part in (S, S1, S2)]
        return _quadratic(d, S) / 8 + (logs[0] - (logs[1] + logs[2]) / 2) / 2


class Divergence(_ClassDistance):
    """Divergence (both Kullback-Leibler directions) of Gaussian classes.

    1/2 tr(S1^-1 S2 + S2^-1 S1 - 2 I) + 1/2 d'(S1^-1 + S2^-1) d. Monotone as `Bhattacharyya`. With several
    classes the mean over pairs; ``shrinkage`` as in `Mahalanobis`. Kullback, Information theory and
    statistics (1959), chapter 9.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from maxmargin.feature_selection import Divergence, Exhaustive, SubsetSelector
    >>> X, y = load_iris(return_X_y=True)
    >>> SubsetSelector(Exhaustive(1), Divergence()).fit(X, y).get_support(indices=True)
    array([2])
    """

    def _distance(self, d: FloatArray, S1: FloatArray, S2: FloatArray) -> FloatArray:
        traces = np.trace(np.linalg.solve(S1, S2), axis1=1, axis2=2)
        traces = traces + np.trace(np.linalg.solve(S2, S1), axis1=1, axis2=2) - 2 * d.shape[1]
        return (traces + _quadratic(d, S1) + _quadratic(d, S2)) / 2


def _uncertainties(codes: IntArray, levels: IntArray, column: IntArray, n_levels: int) -> FloatArray:
    """`uncertainty_with_all` of a column, in calls far below a second."""
    some = portions(slice(0, len(codes)), _AT_ONCE // max(1, codes.shape[1]))
    return np.concatenate(
        [uncertainty_with_all(codes[part], levels[part], column, n_levels) for part in some]
    )


def _quadratic(d: FloatArray, S: FloatArray) -> FloatArray:
    """d' S^-1 d for stacks of shape (m, k) and (m, k, k)."""
    solved = np.linalg.solve(S, d[:, :, None])[:, :, 0]
    return np.einsum("ij,ij->i", d, solved)


def _check_definite(covariances: FloatArray) -> None:
    for covariance in covariances:
        scale = np.sqrt(np.maximum(np.diag(covariance), np.finfo(float).tiny))
        smallest = np.linalg.eigvalsh(covariance / np.outer(scale, scale))[0]
        if smallest < 1e-10:
            raise ValueError(
                f"a class covariance is singular (smallest eigenvalue of its correlations {smallest:.1e}): "
                "drop constant or repeated columns, or use shrinkage=0.1."
            )
