"""Low-rank and random feature maps as scikit-learn transformers."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, ClassVar, Literal, Self

import numpy as np
from sklearn.base import ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from maxmargin.base.interruption import all_or_nothing, of_one_fit
from maxmargin.base.parameters import check_count
from maxmargin.base.threads import effective_threads
from maxmargin.base.typing import FloatArray, TableLike, TargetLike
from maxmargin.compute.tables.inner_products import squared_norms
from maxmargin.kernels.feature_maps import NystromMap, measure, transform
from maxmargin.machines.kernel_estimator import TakesKernel
from maxmargin.machines.large.mapped_rows import TableRows, feature_map, generator, opened


@dataclass(eq=False, repr=False, kw_only=True)
class _MapTransformer(ClassNamePrefixFeaturesOutMixin, TransformerMixin, TakesKernel):
    """Fit a map on a sample of the rows, apply it in blocks."""

    kernel: Any = field(default="rbf", kw_only=False)
    n_components: int = field(default=100, kw_only=False)
    sample: int | None = None
    random_state: Any = None

    def _method(self) -> str:
        raise NotImplementedError

    @all_or_nothing
    def fit(self, X: Any, y: Any = None) -> Self:
        """Choose the map from rows X of shape (n_samples, n_features); y is not used."""
        m = check_count("n_components", self.n_components)
        rows = opened(self, X)
        seen = rows.drawn(self.sample, m, generator(self.random_state))
        self._learn(rows, seen, m)
        return self

    def _learn(self, rows: TableRows, seen: TableRows, m: int) -> None:
        rng = generator(self.random_state)
        threads = effective_threads(self.n_jobs)
        self.map_ = feature_map(self.make_kernel(), seen.X, m, self._method(), rng, threads)
        self.kernel_ = self.map_.kernel
        self.n_components_ = self.map_.n_components
        self.error_ = measure(self.map_, seen.X, seen.n, complete=seen.n == rows.n)

    @property
    def _n_features_out(self) -> int:
        return self.n_components_

    @of_one_fit
    def transform(self, X: Any) -> FloatArray:
        """phi(X) of shape (n_samples, n_components_), in the precision of X."""
        check_is_fitted(self)
        rows = opened(self, X, reset=False)
        return transform(self.map_, rows.X, rows.n, rows.dtype, n_threads=effective_threads(self.n_jobs))

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags


@dataclass(eq=False, repr=False, kw_only=True)
class LowRank(_MapTransformer):
    """The Nystrom approximation of any kernel: phi(x) with <phi(x), phi(z)> close to K(x, z).

        phi(x) = S^-1/2 U' k(x),   k(x)_j = K(z_j, x),   K(Z, Z) = U S U'

    over landmarks z_1 ... z_m. The approximation is the projection onto the span of the landmarks in feature
    space: K(x, x) - |phi(x)|^2 is the squared distance that it ignores, and a linear model on phi is the
    kernel model restricted to that span. Components are sorted by decreasing eigenvalue.

    Parameters
    ----------
    kernel, gamma, coef0, degree : as in `SVC`, string kernels included, but not "precomputed".
    n_components : number m of landmarks.
    method : how landmarks are chosen.
        "pivoted_cholesky" : in proportion to the part of a row that the chosen ones do not explain (Chen,
        Epperly, Tropp & Webber 2025; in blocks with rejection, Epperly, Tropp & Webber 2024).
        "leverage" : in proportion to recursive ridge leverage scores (Musco & Musco 2017, algorithm 3).
        "kmeans" : centres of k-means (Zhang, Tsang & Kwok 2008); for rows of numbers.
        "uniform" : at random (Williams & Seeger 2001).
    sample : number of rows among which landmarks are chosen, and from which gamma="scale" is computed; None
        for max(10 000, 20 m). If there are fewer rows, all are used.
    random_state : seed.
    n_jobs : number of threads.

    Attributes
    ----------
    error_ : `MapError`: trace residual (exact when ``error_.complete``) and error of single values.
    n_components_ : components kept; fewer than m if landmarks are equal up to rounding.
    landmark_indices_ : positions of the landmarks among the training rows; None for "kmeans".
    kernel_ : the kernel with its parameters as numbers. map_ : the map alone, which can be pickled.

    Notes
    -----
    Cost of fit s m p + s m^2 for a sample of s rows, of transform m p + m^2 per row, in blocks.

    Examples
    --------
    >>> import numpy as np, maxmargin as mm
    >>> X = np.random.default_rng(0).normal(size=(500, 3))
    >>> low = mm.LowRank(mm.kernels.RBF(gamma=0.1), n_components=60, random_state=0).fit(X)
    >>> phi = low.transform(X)
    >>> bool(np.abs(phi @ phi.T - mm.kernels.RBF(gamma=0.1)(X)).max() < 0.01)
    True
    >>> low.error_.complete, low.error_.relative_trace < 1e-3
    (True, True)
    """

    method: Literal["pivoted_cholesky", "leverage", "kmeans", "uniform"] = "pivoted_cholesky"

    def _method(self) -> str:
        return self.method

    def _learn(self, rows: TableRows, seen: TableRows, m: int) -> None:
        super()._learn(rows, seen, m)
        chosen = self.map_.rows if isinstance(self.map_, NystromMap) else None
        self.landmark_indices_ = None if chosen is None else seen.numbers[chosen]

    def fit_transform(self, X: TableLike, y: TargetLike | None = None, **fit_params: Any) -> FloatArray:
        """fit and transform; the trace residual in ``error_`` is then that of all rows."""
        self.fit(X, y, **fit_params)
        rows = opened(self, X, reset=False)
        missing = np.empty(rows.n)
        threads = effective_threads(self.n_jobs)
        features = transform(self.map_, rows.X, rows.n, rows.dtype, n_threads=threads, missing=missing)
        self.error_ = self.error_.over_all(squared_norms(features), missing)
        return features


@dataclass(eq=False, repr=False, kw_only=True)
class RandomFourier(_MapTransformer):
    """Random Fourier features of kernels of differences: the expectation of <phi(x), phi(z)> is K(x, z).

        phi(x) = sqrt(2 / m) (cos <w_k, x>, sin <w_k, x>)_k,   w_k from the spectral measure of the kernel

    Rahimi & Recht (2007); pairs of cosine and sine as in Sutherland & Schneider (2015). RBF draws normal
    frequencies, Laplacian Cauchy ones, Exponential multivariate Cauchy ones; sums share the components in
    proportion to their weights, products add independent frequencies, so any sum and product of these (with
    their own ``features``) is allowed. Unlike landmarks the frequencies do not depend on the data: the error
    falls like 1 / sqrt(m) for any spectrum, so `LowRank` needs fewer components on most data; this map is
    cheaper per component (m p, without m^2) and keeps no landmarks in memory.

    Parameters
    ----------
    kernel, gamma : as in `SVC`: RBF, Laplacian, Exponential, constants, their sums, products, powers and
        multiples; others are refused.
    n_components : maximum number of columns of phi: pairs for every term, and one for a constant.
    sample : number of rows from which gamma="scale" and ``error_`` are computed; None for 10 000.
    random_state, n_jobs : as in `LowRank`.

    Attributes
    ----------
    error_ : `MapError` with the error of single values on the sample; the trace is exact by construction.
    n_components_, kernel_, map_ : as in `LowRank`.

    Examples
    --------
    >>> import numpy as np, maxmargin as mm
    >>> X = np.random.default_rng(0).normal(size=(500, 3))
    >>> kernel = mm.kernels.RBF(gamma=0.1) * mm.kernels.Laplacian(gamma=0.05)
    >>> fourier = mm.RandomFourier(kernel, n_components=2000, random_state=0).fit(X)
    >>> fourier.transform(X).shape, fourier.error_.rms < 0.05
    ((500, 2000), True)
    """

    # this map does not use these kernel parameters
    coef0: ClassVar[float] = 0.0  # type: ignore[misc]
    degree: ClassVar[int] = 3  # type: ignore[misc]

    def _method(self) -> str:
        return "fourier"
