"""Ridge regression for many penalties from one factorisation, with leave-one-out residuals."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial

import numpy as np
import numpy.typing as npt
from scipy import linalg

from maxmargin.base.parameters import check_not_negative, check_positives
from maxmargin.base.shown import short_repr
from maxmargin.base.threads import interruptible, run_short, single_threaded_blas
from maxmargin.base.typing import FloatArray, IntArray
from maxmargin.compute.lapack.cholesky import Cholesky
from maxmargin.compute.tables.design import Design
from maxmargin.solvers.least_squares.resolvents import resolvents, solutions_and_diagonals

_TINY = 1e-12
_ROWS = 1024  # whose leave-one-out residuals are computed at once, so that they stay in the cache


@dataclass(frozen=True, kw_only=True)
class RidgePath:
    """The models of a path of penalties.

    Attributes
    ----------
    alphas : of shape (n_alphas,).
    coef : weights of shape (n_alphas, n_features), or dual weights of shape (n_alphas, n_samples).
    intercept : of shape (n_alphas,).
    loo_residuals : y_i minus the prediction of the model without row i, of shape (n_samples, n_alphas); NaN
        for rows of weight zero, if the other rows do not determine a prediction, and if alpha is lost in
        rounding against the largest eigenvalue; of shape (0, n_alphas) for data in pieces, where only their
        sums are kept.
    loo_mse : their weighted mean squares, of shape (n_alphas,).
    """

    alphas: FloatArray
    coef: FloatArray
    intercept: FloatArray
    loo_residuals: FloatArray
    loo_mse: FloatArray

    __repr__ = short_repr

    @property
    def best(self) -> int:
        """The position of the smallest leave-one-out error; in a tie, that of the largest penalty.

        An unknown error counts as the largest.
        """
        errors = np.where(np.isnan(self.loo_mse), np.inf, self.loo_mse)
        smallest = errors <= errors.min() * (1 + 1e-12)
        return int(np.flatnonzero(smallest)[np.argmax(self.alphas[smallest])])


def linear_paths(
    X: Design, Y: FloatArray, weights: FloatArray, alphas: FloatArray, fit_intercept: bool, n_threads: int = 1
) -> list[RidgePath]:
    """min over w, b   sum_i s_i (y_i - <w, x_i> - b)^2 + alpha ||w||^2   for every alpha and column y of Y.

    One reduction of the centred Gram matrix (of columns, or of rows when there are fewer) for all columns of
    Y: cost n p min(n, p) and then n min(n, p) for each alpha. Leaving row i out divides its residual by 1 -
    h_ii, the diagonal of the smoothing matrix (Cook & Weisberg 1982; Hastie et al. 2009, (7.64)).
    """
    n, p = X.shape
    kept = np.flatnonzero(weights)
    if len(kept) < n:
        parts = linear_paths(X.take(kept), Y[kept], weights[kept], alphas, fit_intercept, n_threads)
        return [replace(part, loo_residuals=_spread(part.loo_residuals, kept, n, np.nan)) for part in parts]
    total = float(weights.sum())
    mean_x = X.adjoint(weights) / total if fit_intercept else np.zeros(p)
    mean_y = weights @ Y / total if fit_intercept else np.zeros(Y.shape[1])
    root = np.sqrt(weights) if np.any(weights != 1.0) else None
    table = _Centred(X, mean_x, root)
    centred = Y - mean_y if root is None else root[:, None] * (Y - mean_y)
    targets = list(np.ascontiguousarray(centred.T))
    if n - fit_intercept > p:  # the columns cannot interpolate all rows
        rest = 1.0 - weights / total if fit_intercept else np.ones(n)
        found = _by_columns(table, targets, rest, alphas, n_threads)
    else:
        mean = np.sqrt(weights / total) if fit_intercept else np.zeros(n)
        found = _by_rows(table, targets, mean, alphas, n_threads)
    return [
        RidgePath(
            alphas=alphas,
            coef=coef,
            intercept=float(middle) - coef @ mean_x,
            loo_residuals=residuals.T if root is None else (residuals / root).T,
            loo_mse=squares / total,
        )
        for middle, (coef, residuals, squares) in zip(mean_y, found, strict=True)
    ]


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
        """X'X of the rows, without forming them."""
        weights = np.ones(self.X.shape[0]) if self.root is None else self.root**2
        with np.errstate(over="ignore", invalid="ignore"):
            scaled = np.sqrt(weights.sum()) * self.mean
            gram = np.multiply.outer(scaled, scaled)
            np.subtract(self.X.gram(weights), gram, out=gram)
        if not np.isfinite(gram).all():
            raise ValueError("the squares of X are too large for floating-point numbers: scale its columns.")
        return gram

    def adjoint(self, u: FloatArray) -> FloatArray:
        """X'u of the rows, without forming them."""
        scaled = u if self.root is None else self.root * u
        return np.asarray(self.X.adjoint(scaled) - scaled.sum() * self.mean)


_Answer = tuple[FloatArray, FloatArray, FloatArray]


def _by_columns(
    table: _Centred, targets: list[FloatArray], rest: FloatArray, alphas: FloatArray, n_threads: int
) -> list[_Answer]:
    """Weights, leave-one-out residuals and their sums of squares, one row for each alpha; n >= p.

    ``rest`` is 1 minus the part of the intercept: leaving row i out divides by rest_i - h_ii.
    """
    n = len(rest)
    inverse = resolvents(table.gram(), alphas, n)
    with single_threaded_blas():
        inner = [inverse.inner(inverse.Q.T @ table.adjoint(target)) for target in targets]
        coef = [each @ inverse.Q.T for each in inner]
    residuals = np.empty((len(targets), len(alphas), n))
    parts = [slice(start, start + _ROWS) for start in range(0, n, _ROWS)]
    squares = np.empty((len(parts), len(targets), len(alphas)))

    def leave_out(place: int, part: slice) -> None:
        Z = inverse.Q.T @ table.rows(part).T
        left = rest[part] - inverse.forms(Z)
        for k, target in enumerate(targets):
            residuals[k, :, part] = _divided(target[part] - inner[k] @ Z, left)
        squares[place] = [_squares(some[:, part]) for some in residuals]

    run_short([partial(leave_out, *numbered) for numbered in enumerate(parts)], n_threads)
    return list(zip(coef, residuals, squares.sum(axis=0), strict=True))


def _by_rows(
    table: _Centred, targets: list[FloatArray], mean: FloatArray, alphas: FloatArray, n_threads: int
) -> list[_Answer]:
    """As `_by_columns` from the Gram matrix A of the rows: I minus the smoother is alpha (A + alpha I)^-1.

    With an intercept A maps ``mean``, the unit vector of the square roots of the weights, to 0, and its
    contribution to the diagonal is not part of the smoother. In the inverse of A that contribution is
    mean^2 / alpha, and subtracting it would lose all digits for a small alpha; in the inverse of
    A + c mean mean' it is mean^2 / (c + alpha).
    """
    rows = table.rows(slice(None))
    A = rows @ rows.T
    c = float(np.trace(A)) / len(A)
    A += c * np.multiply.outer(mean, mean)
    duals, diagonal = _inverted(A, alphas, targets, n_threads)
    left = diagonal - mean**2 / np.maximum(c + alphas, 1e-300)[:, None]
    left[left <= _TINY * diagonal] = np.nan
    with single_threaded_blas():
        return [(dual @ rows, dual / left, _squares(dual / left)) for dual in duals]


def _inverted(
    A: FloatArray, alphas: FloatArray, targets: list[FloatArray], n_threads: int
) -> tuple[list[FloatArray], FloatArray]:
    """(A + alpha I)^-1 times each target, and the diagonal of (A + alpha I)^-1; NaN without an inverse."""
    inverse = resolvents(A, alphas, len(A))
    first, diagonal = solutions_and_diagonals(inverse, targets[0], n_threads)
    diagonal[inverse.cut] = np.nan
    Q = inverse.Q
    with single_threaded_blas():
        return [first, *(inverse.inner(Q.T @ target) @ Q.T for target in targets[1:])], diagonal


def _divided(residuals: FloatArray, left: FloatArray) -> FloatArray:
    """residuals / left; NaN if the other rows do not determine a prediction."""
    left[left <= _TINY] = np.nan
    return np.divide(residuals, left, out=residuals)


def _squares(residuals: FloatArray) -> FloatArray:
    return np.asarray(np.einsum("ij,ij->i", residuals, residuals))


def kernel_ridge(K: FloatArray, Y: FloatArray, weights: FloatArray, alphas: FloatArray) -> list[RidgePath]:
    """As `kernel_paths` for one alpha and positive weights, by Cholesky: about a tenth of the cost.

    Memory: one matrix besides K, for the factor and then its inverse. Raises LinAlgError if K + alpha S^-1 is
    not positive definite.
    """
    shifted = K.copy(order="C")
    shifted[np.diag_indices_from(shifted)] += alphas[0] / weights
    factor = interruptible(partial(Cholesky, shifted), K.size)
    if not factor.definite:
        raise linalg.LinAlgError("the kernel matrix with its ridge is not positive definite")
    coefs, diagonal = factor.solve(Y), interruptible(factor.inverse_diagonal, K.size)
    return [
        RidgePath(
            alphas=alphas,
            coef=np.ascontiguousarray(coef)[None, :],
            intercept=np.zeros(1),
            loo_residuals=(coef / diagonal)[:, None],
            loo_mse=np.array([float(weights @ (coef / diagonal) ** 2) / float(weights.sum())]),
        )
        for coef in coefs.T
    ]


def kernel_paths(
    K: FloatArray,
    Y: FloatArray,
    weights: FloatArray,
    alphas: FloatArray,
    *,
    overwrite: bool = False,
    n_threads: int = 1,
) -> list[RidgePath]:
    """min over a   sum_i s_i (y_i - (K a)_i)^2 + alpha a'K a   for every alpha and column y of Y.

    The solution is a = (K + alpha S^-1)^-1 y. One tridiagonal reduction of S^1/2 K S^1/2 (8/3 n^3) for all
    columns of Y, then n^2 for each alpha. Leaving row i out gives the residual a_i / [(K + alpha
    S^-1)^-1]_ii. ``overwrite``: K may be destroyed.
    """
    kept, n = np.flatnonzero(weights), len(weights)
    if len(kept) < n:
        some = K[np.ix_(kept, kept)]
        parts = kernel_paths(some, Y[kept], weights[kept], alphas, overwrite=True, n_threads=n_threads)
        return [
            replace(
                part,
                coef=_spread(part.coef.T, kept, n, 0.0).T,
                loo_residuals=_spread(part.loo_residuals, kept, n, np.nan),
            )
            for part in parts
        ]
    root = np.sqrt(weights) if np.any(weights != 1.0) else None
    if root is not None:
        K = np.multiply(K, root[:, None], out=K if overwrite else None)
        K *= root
    elif not (overwrite and K.flags.c_contiguous):
        K = K.copy(order="C")
    targets = list(np.ascontiguousarray(Y.T if root is None else Y.T * root))
    solved, diagonal = _inverted(K, alphas, targets, n_threads)
    return [
        RidgePath(
            alphas=alphas,
            coef=scaled if root is None else scaled * root,
            intercept=np.zeros(len(alphas)),
            loo_residuals=(scaled / diagonal).T if root is None else (scaled / diagonal / root).T,
            loo_mse=_squares(scaled / diagonal) / float(weights.sum()),
        )
        for scaled in solved
    ]


def _spread(part: FloatArray, kept: IntArray, n: int, other: float) -> FloatArray:
    """n rows that equal ``part`` at the given positions and ``other`` elsewhere."""
    whole = np.full((n, part.shape[1]), other)
    whole[kept] = part
    return whole


def penalties_to_try(alpha: npt.ArrayLike, alphas: npt.ArrayLike | None) -> FloatArray:
    """The validated penalties of shape (n_alphas,); distinct values if there is one per target."""
    if alphas is not None:
        return check_positives("alphas", alphas)
    given = np.asarray(alpha, dtype=object)
    for value in given.ravel():
        check_not_negative("alpha", value)
    if given.ndim > 1 or not given.size:
        raise ValueError(f"alpha={alpha!r} must be a number, or a list of one for every target.")
    return np.unique(given.astype(np.float64))


def chosen_penalties(paths: list[RidgePath], alpha: npt.ArrayLike, alphas: npt.ArrayLike | None) -> list[int]:
    """The position on every target's path of the best penalty, or of the given one."""
    if alphas is not None:
        return [path.best for path in paths]
    given = np.ravel(np.asarray(alpha, dtype=np.float64))
    if len(given) not in (1, len(paths)):
        raise ValueError(
            f"Number of targets and number of penalties do not correspond: {len(given)} != {len(paths)}."
        )
    return np.searchsorted(paths[0].alphas, np.broadcast_to(given, len(paths))).tolist()
