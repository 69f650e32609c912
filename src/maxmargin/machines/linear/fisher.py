"""Fisher's linear discriminant."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp
from scipy import linalg
from sklearn.base import BaseEstimator, ClassifierMixin, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from maxmargin.base.interruption import all_or_nothing, of_one_fit
from maxmargin.base.parameters import check_choice, check_count, check_fraction
from maxmargin.base.tables import check_squares, class_codes, example_weights, fitted_table
from maxmargin.base.typing import AnyArray, FloatArray, IntArray, TableLike, TargetLike, WeightLike
from maxmargin.base.user_line import warn_user
from maxmargin.machines.linear.base import SparseInput, check_weight_sizes
from maxmargin.machines.linear.linear_pieces import survey_classes
from maxmargin.pieces.collection import Pieces
from maxmargin.pieces.given import as_pieces
from maxmargin.pieces.moments import scatter_of_pieces
from maxmargin.problems.certificate import Certificate

_SUM_ROUNDING = 1e-13  # of the sum of squares: a smaller scatter is rounding


@dataclass(eq=False, repr=False)
class FisherDiscriminant(
    SparseInput, ClassNamePrefixFeaturesOutMixin, ClassifierMixin, TransformerMixin, BaseEstimator
):
    """Fisher's discriminant axes: the directions along which classes differ most relative to their scatter.

        max over v   v'F v / v'W v

    F is the between-class scatter of the means, W the pooled within-class scatter. The axes are the
    eigenvectors of W^-1 F by decreasing eigenvalue, at most n_classes - 1, scaled to
    v'Wv = n - K so that scores have unit variance within classes. A row belongs to the class of the
    nearest centroid in these scores (with ``priors``: of the largest log share minus half the squared
    distance). Fuentes, section 6.

    Parameters
    ----------
    n_components : number of axes; all by default.
    method : "eigen" (the generalised eigenproblem) or "canonical" (principal components of the means after
        the principal components of W have been scaled to one); both give the same axes.
    shrinkage : 0 to 1, or "auto" (Ledoit & Wolf): W becomes (1 - s) W + s trace(W)/p I, for a singular W.
    priors : shares of the classes among the rows to predict, of shape (n_classes,), or "training" for those
        of the training rows; None for equal shares, which gives the nearest centroid.

    Attributes
    ----------
    axes_ : of shape (n_features, n_components). With two classes axis 1 is oriented so that the first class
        has the smaller mean score; with more, so that its largest entry is positive.
    eigenvalues_ : of W^-1 F, of shape (n_components,); ``explained_ratio_`` is their share of the sum.
    centroids_ : mean scores of shape (n_classes, n_components).
    cut_points_ : with two classes (D_I + D_II)/2, of shape (1,); else the midpoints of neighbouring centroids
        along the first axis, of shape (n_classes - 1,).
    xbar_ : the mean row, subtracted before scores are computed.
    priors_ : of shape (n_classes,), with sum one.
    certificate_ : ``kkt`` is the largest residual of F v = lambda W v, in columns scaled by W and relative to
        the largest eigenvalue; ``infeasibility`` the distance of the axes from v'Wv = n - K.

    Examples
    --------
    >>> import maxmargin as mm
    >>> X = [[1.0, 2.0], [2.0, 1.0], [2.0, 3.0], [6.0, 5.0], [7.0, 8.0], [8.0, 6.0]]
    >>> model = mm.FisherDiscriminant().fit(X, ["a", "a", "a", "b", "b", "b"])
    >>> model.centroids_.round(3).ravel().tolist(), model.predict([[3.0, 3.0]]).tolist()
    ([-3.396, 3.396], ['a'])
    """

    n_components: int | None = None
    _: KW_ONLY
    method: Literal["eigen", "canonical"] = "eigen"
    shrinkage: float | Literal["auto"] | None = None
    priors: npt.ArrayLike | Literal["training"] | None = None

    @all_or_nothing
    def fit(
        self, X: TableLike | Pieces, y: TargetLike | None = None, sample_weight: WeightLike | None = None
    ) -> FisherDiscriminant:
        """Fit to X of shape (n_samples, n_features) and labels y of shape (n_samples,), or to `Pieces`."""
        check_choice("method", self.method, ("eigen", "canonical"))
        if self.shrinkage not in (None, "auto"):
            check_fraction("shrinkage", self.shrinkage)
        pieces = as_pieces(X, y, sample_weight)
        moments = self._moments(X, y, sample_weight) if pieces is None else self._moments_of_pieces(pieces)
        with np.errstate(all="ignore"):
            return self._finish(*moments)

    def _finish(
        self, counts: FloatArray, means: FloatArray, within: FloatArray, fourth: float | None
    ) -> FisherDiscriminant:
        """The axes and what follows from them."""
        K, n = len(self.classes_), float(counts.sum())
        self.priors_ = self._shares(counts)
        self.xbar_ = counts @ means / n
        freedom = max(n - K, 1.0)
        within = self._shrunk(within, fourth, n) / freedom
        spread = np.sqrt(counts)[:, None] * (means - self.xbar_)
        values, axes = self._axes(within, spread)
        keep = self._how_many(K, means.shape[1])
        self.eigenvalues_, self.axes_ = values[:keep] / freedom, axes[:, :keep]
        self.certificate_ = self._certify(within, spread, values[:keep], n)
        if not np.isfinite(self.axes_).all():
            raise ValueError("the axes are too large for floating-point numbers: scale the columns of X.")
        self._orient(means)
        self.explained_ratio_ = values[:keep] / max(float(values.sum()), 1e-300)
        self.centroids_ = (means - self.xbar_) @ self.axes_
        first = np.sort(self.centroids_[:, 0])
        self.cut_points_ = 0.5 * (first[:-1] + first[1:])
        if K == 2 and self.priors is not None:
            gap = float(self.centroids_[1, 0] - self.centroids_[0, 0])
            self.cut_points_ -= np.log(self.priors_[1] / self.priors_[0]) / gap if gap > 0 else 0.0
        self._n_features_out = keep
        return self

    def _shares(self, counts: FloatArray) -> FloatArray:
        """The priors, with sum one."""
        K = len(counts)
        if self.priors is None:
            return np.full(K, 1.0 / K)
        if isinstance(self.priors, str):
            check_choice("priors", self.priors, ("training",))
            return counts / counts.sum()
        shares: Any = np.asarray(self.priors)
        numbers = shares.dtype.kind in "iuf" and shares.shape == (K,)
        if not (numbers and np.isfinite(shares).all() and (shares > 0).all()):
            raise ValueError(
                f"priors={self.priors!r} must hold a positive share for each of the {K} classes "
                f"({', '.join(map(str, self.classes_.tolist()))}), or be 'training' or None."
            )
        return shares / shares.sum()

    def _moments(
        self, X: Any, y: Any, sample_weight: Any
    ) -> tuple[FloatArray, FloatArray, FloatArray, float]:
        """Weights and means of the classes, the scatter inside them, and its fourth moment."""
        X = fitted_table(self, X, dtype=np.float64, accept_sparse="csr")
        check_squares(X)
        self.classes_, codes = class_codes(y, X.shape[0], self)
        weights = example_weights(sample_weight, None, self.classes_, codes)
        check_weight_sizes(weights)
        K = len(self.classes_)
        counts = np.bincount(codes, weights=weights, minlength=K).astype(np.float64, copy=False)
        means = np.array([weights[codes == k] @ X[codes == k] / counts[k] for k in range(K)])
        if sp.issparse(X):
            return counts, means, *_sparse_scatter(X, codes, weights, counts, means)
        inside = X - means[codes]
        fourth = _fourth_moment(weights, np.sum(inside**2, axis=1))
        inside *= np.sqrt(weights)[:, None]
        return counts, means, inside.T @ inside, fourth

    def _moments_of_pieces(self, pieces: Pieces) -> tuple[FloatArray, FloatArray, FloatArray, None]:
        seen = survey_classes(self, pieces)
        if np.any(seen.masses == 0):
            raise ValueError("every class needs a row of positive weight.")
        means, within = scatter_of_pieces(pieces, seen)
        return seen.masses, means, within, None

    def _how_many(self, n_classes: int, n_features: int) -> int:
        most = min(n_classes - 1, n_features)
        if self.n_components is None:
            return most
        return check_count("n_components", self.n_components, most=most)

    def _shrunk(self, within: FloatArray, fourth: float | None, n: float) -> FloatArray:
        if self.shrinkage is None:
            return within
        if self.shrinkage != "auto":
            share = float(self.shrinkage)
        elif fourth is not None:
            share = _ledoit_wolf(within, fourth, n)
        else:
            raise ValueError(
                "shrinkage='auto' needs all rows in memory: give a number between 0 and 1 for data in pieces."
            )
        self.shrinkage_ = share
        p = len(within)
        return np.asarray((1 - share) * within + share * np.trace(within) / p * np.eye(p))

    def _axes(self, within: FloatArray, spread: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Eigenvalues of V^-1 spread'spread in decreasing order, and axes v with v'Vv = 1; V is ``within``.

        Columns are scaled to unit scatter first, so that their units do not matter for the rank of V.
        """
        size = np.sqrt(np.diag(within))
        size[size == 0] = 1.0
        within, spread = within / size / size[:, None], spread / size
        values, axes = self._scaled_axes(within, spread)
        return values, axes / size[:, None]

    def _scaled_axes(self, within: FloatArray, spread: FloatArray) -> tuple[FloatArray, FloatArray]:
        scatter, principal = linalg.eigh(within)
        if scatter[-1] <= 0:
            raise ValueError(
                "the rows of each class are all equal, so the within-class scatter is zero, or the squares "
                "of their differences are too small for floating-point numbers: some class needs "
                "rows that differ, in columns of a usual scale."
            )
        positive = scatter > 1e-10 * max(float(scatter[-1]), 1e-300)
        if not positive.all():
            warn_user(
                f"the scatter inside the classes is singular ({np.count_nonzero(~positive)} directions have "
                "none). These directions are ignored; set shrinkage to use them."
            )
        white = principal[:, positive] / np.sqrt(scatter[positive])
        if self.method == "eigen" and positive.all():
            values, axes = linalg.eigh(spread.T @ spread, within)
            return np.maximum(values[::-1], 0.0), axes[:, ::-1]
        _, singular, right = linalg.svd(spread @ white, full_matrices=False)
        axes = white @ right.T
        missing = min(spread.shape[0] - 1, spread.shape[1]) - axes.shape[1]
        if missing > 0:
            axes = np.column_stack([axes, np.zeros((len(axes), missing))])
            singular = np.append(singular, np.zeros(missing))
        return singular**2, axes

    def _certify(self, within: FloatArray, spread: FloatArray, values: FloatArray, n: float) -> Certificate:
        """The residuals of the eigenproblem that the axes solve."""
        scale = np.sqrt(np.diag(within))
        scale[scale == 0] = 1.0
        images = spread.T @ (spread @ self.axes_) - (within @ self.axes_) * values
        residual = np.linalg.norm(images / scale[:, None], axis=0)
        kept = values > 0  # if the scatter is singular, an axis without eigenvalue may be zero
        lengths = np.sum(self.axes_ * (within @ self.axes_), axis=0)[kept]
        return Certificate(
            kkt=float(np.max(residual, initial=0.0)) / max(float(values.max(initial=0.0)), 1e-300),
            infeasibility=float(np.max(np.abs(lengths - 1.0), initial=0.0)),
            n_checked=int(n),
        )

    def _orient(self, means: FloatArray) -> None:
        if len(self.classes_) == 2:
            signs = np.where((means[0] - means[1]) @ self.axes_ > 0, -1.0, 1.0)
        else:
            largest = np.abs(self.axes_).argmax(axis=0)
            signs = np.where(self.axes_[largest, np.arange(self.axes_.shape[1])] < 0, -1.0, 1.0)
        self.axes_ = self.axes_ * signs

    @of_one_fit
    def transform(self, X: TableLike) -> FloatArray:
        """Scores of shape (n_samples, n_components)."""
        check_is_fitted(self)
        X = fitted_table(self, X, dtype=np.float64, reset=False, accept_sparse="csr")
        if sp.issparse(X):
            return np.asarray(X @ self.axes_ - self.xbar_ @ self.axes_)
        return np.asarray((X - self.xbar_) @ self.axes_)

    @of_one_fit
    def decision_function(self, X: TableLike) -> FloatArray:
        """Two classes: score minus cut point, of shape (n_samples,); else minus half squared distances.

        With ``priors`` the cut point moves away from the more frequent class, and log shares are added to the
        distances.
        """
        scores = self.transform(X)
        if len(self.classes_) == 2:
            return np.asarray(scores[:, 0] - self.cut_points_[0])
        distances = scores[:, None, :] - self.centroids_
        half = 0.5 * np.sum(distances**2, axis=2)
        return np.asarray(-half if self.priors is None else np.log(self.priors_ * len(self.classes_)) - half)

    @of_one_fit
    def predict(self, X: TableLike) -> AnyArray:
        """The class of the nearest centroid, of shape (n_samples,)."""
        decision = self.decision_function(X)
        codes = (decision > 0).astype(int) if decision.ndim == 1 else decision.argmax(axis=1)
        return self.classes_[codes]


def _ledoit_wolf(within: FloatArray, fourth: float, n: float) -> float:
    """The shrinkage of Ledoit & Wolf (2004) for the scatter of n rows.

    ``fourth`` is the sum of the fourth powers of the distances of rows to their class mean. Counts of rows
    are sums of weights, so a weight of two equals two rows (scikit-learn's version takes no weights).
    """
    if not np.isfinite(fourth):
        raise ValueError(
            "the fourth powers of X, which shrinkage='auto' needs, are too large for floating-point numbers: "
            "scale its columns, or give a share such as 0.1."
        )
    p = len(within)
    size = float(np.sum((within / n) ** 2))
    distance = size / p - (float(np.trace(within)) / (n * p)) ** 2
    noise = (fourth / n - size) / (n * p)
    return min(noise, distance) / distance if noise > 0 and distance > 0 else 0.0


def _sparse_scatter(
    X: sp.csr_array, codes: IntArray, weights: FloatArray, counts: FloatArray, means: FloatArray
) -> tuple[FloatArray, float]:
    """The scatter inside the classes and its fourth moment, from sparse rows."""
    weighted = X.multiply(weights[:, None]).tocsr()
    squares = (X.T @ weighted).toarray()
    within = squares - means.T @ (counts[:, None] * means)
    lost = np.diag(within) <= _SUM_ROUNDING * np.diag(squares)  # the column is constant inside the classes
    within[lost] = 0.0
    within[:, lost] = 0.0
    lengths = np.asarray(X.multiply(X).sum(axis=1)).ravel()
    for k, mean in enumerate(means):
        rows = codes == k
        lengths[rows] += mean @ mean - 2.0 * (X[rows] @ mean)
    return 0.5 * (within + within.T), _fourth_moment(weights, lengths)


def _fourth_moment(weights: FloatArray, squares: FloatArray) -> float:
    """From squared distances; not finite where the fourth powers overflow."""
    with np.errstate(over="ignore", invalid="ignore"):
        return float(weights @ squares**2)
