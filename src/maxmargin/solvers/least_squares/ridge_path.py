"""Ridge regression for many penalties at the price of one factorisation, with leave-one-out residuals."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial

import numpy as np
from scipy import linalg

from maxmargin.base.threads import run, single_threaded_blas
from maxmargin.base.typing import FloatArray, IntArray
from maxmargin.compute.tables.design import Design
from maxmargin.solvers.least_squares.resolvents import resolvents, solutions_and_diagonals

_TINY = 1e-12
_ROWS = 1024  # whose leave-one-out residuals are computed at once, out of the cache


@dataclass(frozen=True, kw_only=True)
class RidgePath:
    """The models of a path of penalties.

    Attributes
    ----------
    alphas : of shape (n_alphas,).
    coef : weights of shape (n_alphas, n_features), or dual weights of shape (n_alphas, n_samples).
    intercept : of shape (n_alphas,).
    loo_residuals : y_i minus the prediction of the model without row i, of shape (n_samples, n_alphas); NaN
        for rows of weight zero, where the other rows do not determine a prediction, and where alpha is lost
        in rounding beside the largest eigenvalue; of shape (0, n_alphas) for data in pieces, where they are
        added up but not kept.
    loo_mse : their weighted mean squares, of shape (n_alphas,).
    """

    alphas: FloatArray
    coef: FloatArray
    intercept: FloatArray
    loo_residuals: FloatArray
    loo_mse: FloatArray

    @property
    def best(self) -> int:
        """The position of the smallest leave-one-out error; the largest penalty wins a tie.

        An error that is not known counts as the largest.
        """
        errors = np.where(np.isnan(self.loo_mse), np.inf, self.loo_mse)
        smallest = errors <= errors.min() * (1 + 1e-12)
        return int(np.flatnonzero(smallest)[np.argmax(self.alphas[smallest])])


def linear_path(
    X: Design,
    y: FloatArray,
    weights: FloatArray,
    alphas: FloatArray,
    fit_intercept: bool,
    n_threads: int = 1,
) -> RidgePath:
    """min over w, b   sum_i s_i (y_i - <w, x_i> - b)^2 + alpha ||w||^2   for every alpha.

    One reduction of the centred Gram matrix (of columns, or of rows when there are fewer):
    cost n p min(n, p) and then n min(n, p) for each alpha. Leaving row i out divides its residual by
    1 - h_ii, the diagonal of the smoothing matrix (Cook & Weisberg 1982; Hastie et al. 2009, (7.64)).
    """
    n, p = X.shape
    kept = np.flatnonzero(weights)
    if len(kept) < n:
        part = linear_path(X.take(kept), y[kept], weights[kept], alphas, fit_intercept, n_threads)
        return replace(part, loo_residuals=_spread(part.loo_residuals, kept, n, np.nan))
    total = float(weights.sum())
    mean_x = X.adjoint(weights) / total if fit_intercept else np.zeros(p)
    mean_y = float(weights @ y) / total if fit_intercept else 0.0
    root = np.sqrt(weights) if np.any(weights != 1.0) else None
    table = _Centred(X, mean_x, root)
    target = y - mean_y if root is None else root * (y - mean_y)
    if n - fit_intercept > p:  # the columns cannot follow all rows
        rest = 1.0 - weights / total if fit_intercept else np.ones(n)
        coef, residuals, squares = _by_columns(table, target, rest, alphas, n_threads)
    else:
        mean = np.sqrt(weights / total) if fit_intercept else np.zeros(n)
        coef, residuals, squares = _by_rows(table, target, mean, alphas, n_threads)
    return RidgePath(
        alphas=alphas,
        coef=coef,
        intercept=mean_y - coef @ mean_x,
        loo_residuals=residuals.T if root is None else (residuals / root).T,
        loo_mse=squares / total,
    )


@dataclass(frozen=True)
class _Centred:
    """The rows of a table minus their mean, times the roots of the weights (None: all are 1)."""

    X: Design
    mean: FloatArray
    root: FloatArray | None

    def rows(self, part: slice) -> FloatArray:
        rows = self.X.X[part]
        rows = np.asarray(rows if isinstance(rows, np.ndarray) else rows.toarray()) - self.mean
        if self.root is not None:
            rows *= self.root[part, None]
        return rows

    def gram(self) -> FloatArray:
        """X'X of the rows, without making them."""
        weights = np.ones(self.X.shape[0]) if self.root is None else self.root**2
        with np.errstate(over="ignore", invalid="ignore"):
            scaled = np.sqrt(weights.sum()) * self.mean
            gram = np.multiply.outer(scaled, scaled)
            np.subtract(self.X.gram(weights), gram, out=gram)
        if not np.isfinite(gram).all():
            raise ValueError("the squares of X are too large for floating-point numbers: scale its columns.")
        return gram

    def adjoint(self, u: FloatArray) -> FloatArray:
        """X'u of the rows, without making them."""
        scaled = u if self.root is None else self.root * u
        return np.asarray(self.X.adjoint(scaled) - scaled.sum() * self.mean)


def _by_columns(
    table: _Centred, target: FloatArray, rest: FloatArray, alphas: FloatArray, n_threads: int
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Weights, leave-one-out residuals and their sums of squares, one row for each alpha; n >= p.

    ``rest`` is 1, or what the intercept leaves of it: leaving row i out divides by rest_i - h_ii.
    """
    inverse = resolvents(table.gram(), alphas, len(target))
    with single_threaded_blas():
        inner = inverse.inner(inverse.Q.T @ table.adjoint(target))
        coef = inner @ inverse.Q.T
    residuals = np.empty((len(alphas), len(target)))

    def leave_out(part: slice) -> FloatArray:
        Z = inverse.Q.T @ table.rows(part).T
        residuals[:, part] = _divided(target[part] - inner @ Z, rest[part] - inverse.forms(Z))
        return _squares(residuals[:, part])

    parts = [slice(start, start + _ROWS) for start in range(0, len(target), _ROWS)]
    squares = sum(run([partial(leave_out, part) for part in parts], n_threads))
    return coef, residuals, np.asarray(squares)


def _by_rows(
    table: _Centred, target: FloatArray, mean: FloatArray, alphas: FloatArray, n_threads: int
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """As `_by_columns` from the Gram matrix A of the rows: I minus the smoother is alpha (A + alpha I)^-1.

    With an intercept A maps ``mean``, the unit vector of the roots of the weights, to 0, and what it adds to
    the diagonal is not part of the smoother. Taking it away from A's own inverse, where it is mean^2 / alpha,
    would leave no digit with a small alpha: A + c mean mean' has it as mean^2 / (c + alpha).
    """
    rows = table.rows(slice(None))
    A = rows @ rows.T
    c = float(np.trace(A)) / len(A)
    A += c * np.multiply.outer(mean, mean)
    dual, diagonal = _inverted(A, alphas, target, n_threads)
    left = diagonal - mean**2 / np.maximum(c + alphas, 1e-300)[:, None]
    left[left <= _TINY * diagonal] = np.nan
    residuals = dual / left
    with single_threaded_blas():
        return dual @ rows, residuals, _squares(residuals)


def _inverted(
    A: FloatArray, alphas: FloatArray, target: FloatArray, n_threads: int
) -> tuple[FloatArray, FloatArray]:
    """(A + alpha I)^-1 target and the diagonal of (A + alpha I)^-1, NaN where there is no inverse."""
    inverse = resolvents(A, alphas, len(A))
    solved, diagonal = solutions_and_diagonals(inverse, target, n_threads)
    diagonal[inverse.cut] = np.nan
    return solved, diagonal


def _divided(residuals: FloatArray, left: FloatArray) -> FloatArray:
    """residuals / left; NaN where a row left out leaves nothing to predict it from."""
    left[left <= _TINY] = np.nan
    return np.divide(residuals, left, out=residuals)


def _squares(residuals: FloatArray) -> FloatArray:
    return np.asarray(np.einsum("ij,ij->i", residuals, residuals))


def kernel_ridge(K: FloatArray, y: FloatArray, weights: FloatArray, alphas: FloatArray) -> RidgePath:
    """As `kernel_path` for one alpha and positive weights, by Cholesky: about a tenth of the cost.

    Memory: one matrix beside K, in which the factor and then its inverse replace the copy. Raises LinAlgError
    where K + alpha S^-1 is not positive definite.
    """
    shifted = K.copy(order="C").T  # symmetric, and in Fortran's order LAPACK works in place
    shifted[np.diag_indices_from(shifted)] += alphas[0] / weights
    factor, failed = linalg.lapack.dpotrf(shifted, lower=1, clean=0, overwrite_a=1)
    if failed:
        raise linalg.LinAlgError("the kernel matrix with its ridge is not positive definite")
    coef, _ = linalg.lapack.dpotrs(factor, y, lower=1)
    inverse, _ = linalg.lapack.dpotri(factor, lower=1, overwrite_c=1)
    residuals = coef / np.diag(inverse)
    return RidgePath(
        alphas=alphas,
        coef=coef[None, :],
        intercept=np.zeros(1),
        loo_residuals=residuals[:, None],
        loo_mse=np.array([float(weights @ residuals**2) / float(weights.sum())]),
    )


def kernel_path(
    K: FloatArray,
    y: FloatArray,
    weights: FloatArray,
    alphas: FloatArray,
    *,
    overwrite: bool = False,
    n_threads: int = 1,
) -> RidgePath:
    """min over a   sum_i s_i (y_i - (K a)_i)^2 + alpha a'K a   for every alpha: a = (K + alpha S^-1)^-1 y.

    One tridiagonal reduction of S^1/2 K S^1/2 (8/3 n^3), then n^2 for each alpha. Leaving row i out gives the
    residual a_i / [(K + alpha S^-1)^-1]_ii. ``overwrite``: K may be destroyed.
    """
    kept = np.flatnonzero(weights)
    if len(kept) < len(weights):
        some = K[np.ix_(kept, kept)]
        part = kernel_path(some, y[kept], weights[kept], alphas, overwrite=True, n_threads=n_threads)
        coef = _spread(part.coef.T, kept, len(weights), 0.0).T
        return replace(part, coef=coef, loo_residuals=_spread(part.loo_residuals, kept, len(weights), np.nan))
    root = np.sqrt(weights) if np.any(weights != 1.0) else None
    if root is not None:
        K = np.multiply(K, root[:, None], out=K if overwrite else None)
        K *= root
    elif not (overwrite and K.flags.c_contiguous):
        K = K.copy(order="C")
    target = y if root is None else root * y
    scaled, diagonal = _inverted(K, alphas, target, n_threads)
    residuals = scaled / diagonal
    return RidgePath(
        alphas=alphas,
        coef=scaled if root is None else scaled * root,
        intercept=np.zeros(len(alphas)),
        loo_residuals=residuals.T if root is None else (residuals / root).T,
        loo_mse=_squares(residuals) / float(weights.sum()),
    )


def _spread(part: FloatArray, kept: IntArray, n: int, other: float) -> FloatArray:
    """The rows of ``part`` at their places among n rows, which are ``other`` elsewhere."""
    whole = np.full((n, part.shape[1]), other)
    whole[kept] = part
    return whole
