"""Ridge regression for many penalties at the price of one factorisation, with leave-one-out residuals."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy import linalg

from maxmargin._compute.design import DenseDesign, Design
from maxmargin.typing import FloatArray

_TINY = 1e-12


@dataclass(frozen=True, kw_only=True)
class RidgePath:
    """The models of a path of penalties.

    Attributes
    ----------
    alphas : of shape (n_alphas,).
    coef : weights of shape (n_alphas, n_features), or dual weights of shape (n_alphas, n_samples).
    intercept : of shape (n_alphas,).
    loo_residuals : y_i minus the prediction of the model without row i, of shape (n_samples, n_alphas);
        (0, n_alphas) for data in pieces, where they are added up but not kept.
    loo_mse : their weighted mean squares, of shape (n_alphas,).
    """

    alphas: FloatArray
    coef: FloatArray
    intercept: FloatArray
    loo_residuals: FloatArray
    loo_mse: FloatArray

    @property
    def best(self) -> int:
        """The position of the smallest leave-one-out error; the largest penalty wins a tie."""
        smallest = self.loo_mse <= self.loo_mse.min() * (1 + 1e-12)
        return int(np.flatnonzero(smallest)[np.argmax(self.alphas[smallest])])


def linear_path(
    X: Design, y: FloatArray, weights: FloatArray, alphas: FloatArray, fit_intercept: bool
) -> RidgePath:
    """min over w, b   sum_i s_i (y_i - <w, x_i> - b)^2 + alpha ||w||^2   for every alpha.

    One eigendecomposition of the centred Gram matrix (of columns, or of rows when there are fewer):
    cost n p min(n, p) and then n min(n, p) for each alpha. Leaving row i out divides its residual by
    1 - h_ii, the diagonal of the smoothing matrix (Cook & Weisberg 1982; Hastie et al. 2009, (7.64)).
    """
    n, p = X.shape
    total = float(weights.sum())
    mean_x = X.adjoint(weights) / total if fit_intercept else np.zeros(p)
    mean_y = float(weights @ y) / total if fit_intercept else 0.0
    root = np.sqrt(weights)
    target = root * (y - mean_y)
    if n >= p:
        gram = X.gram(weights) - total * np.outer(mean_x, mean_x)
        values, V = linalg.eigh(gram, check_finite=False, driver="evd")
        values = np.maximum(values, 0.0)
        Z = _times(X, V) - mean_x @ V
        Z *= root[:, None]
        projected = Z.T @ target
        shrink = shrinkage(values, alphas)
        inner = shrink * projected[:, None]
        coef = (V @ inner).T
        fitted, leverage = Z @ inner, (Z * Z) @ shrink
    else:
        rows = root[:, None] * (X.dense() - mean_x)
        values, U = linalg.eigh(rows @ rows.T, check_finite=False, driver="evd")
        values = np.maximum(values, 0.0)
        projected = U.T @ target
        shrink = shrinkage(values, alphas)
        dual = U @ (shrink * projected[:, None])
        coef = (rows.T @ dual).T
        smooth = values[:, None] * shrink
        fitted, leverage = U @ (smooth * projected[:, None]), (U * U) @ smooth
    if fit_intercept:
        leverage = leverage + (weights / total)[:, None]
    left = 1.0 - leverage
    residuals = (target[:, None] - fitted) / np.where(left > _TINY, left, np.nan)
    loo = np.divide(residuals, root[:, None], out=np.full_like(residuals, np.nan), where=root[:, None] > 0)
    return RidgePath(
        alphas=alphas,
        coef=coef,
        intercept=mean_y - coef @ mean_x,
        loo_residuals=loo,
        loo_mse=np.einsum("ij,ij->j", residuals, residuals) / total,
    )


def shrinkage(values: FloatArray, alphas: FloatArray) -> FloatArray:
    """1 / (value + alpha), of shape (n_values, n_alphas); 0 where both vanish."""
    with np.errstate(divide="ignore"):
        shrink: FloatArray = 1.0 / (values[:, None] + alphas)
    shrink[(values <= _TINY * max(float(values.max()), 1e-300))[:, None] & (alphas == 0)] = 0.0
    return shrink


def kernel_ridge(K: FloatArray, y: FloatArray, weights: FloatArray, alphas: FloatArray) -> RidgePath:
    """As `kernel_path` for one alpha and positive weights, by Cholesky: about a tenth of the cost."""
    shifted = K.copy()
    shifted[np.diag_indices_from(shifted)] += alphas[0] / weights
    factor = linalg.cholesky(shifted, lower=True, overwrite_a=True, check_finite=False)
    coef = linalg.cho_solve((factor, True), y, check_finite=False)
    inverse, _ = linalg.lapack.dpotri(factor, lower=1)
    residuals = coef / np.diag(inverse)
    return RidgePath(
        alphas=alphas,
        coef=coef[None, :],
        intercept=np.zeros(1),
        loo_residuals=residuals[:, None],
        loo_mse=np.array([float(weights @ residuals**2) / float(weights.sum())]),
    )


def kernel_path(K: FloatArray, y: FloatArray, weights: FloatArray, alphas: FloatArray) -> RidgePath:
    """min over a   sum_i s_i (y_i - (K a)_i)^2 + alpha a'K a   for every alpha: a = (K + alpha S^-1)^-1 y.

    One eigendecomposition of S^1/2 K S^1/2, then n^2 for each alpha. Leaving row i out gives the residual
    a_i / [(K + alpha S^-1)^-1]_ii.
    """
    root = np.sqrt(weights)
    values, U = linalg.eigh(root[:, None] * K * root, check_finite=False, driver="evd")
    floor = _TINY * max(float(np.abs(values).max()), 1e-300)
    shifted = np.maximum(values, 0.0)[:, None] + alphas
    shrink = np.where(shifted > floor, 1.0 / np.maximum(shifted, floor), 0.0)
    scaled = U @ (shrink * (U.T @ (root * y))[:, None])
    diagonal = (U * U) @ shrink
    residuals = np.divide(scaled, diagonal, out=np.full_like(scaled, np.nan), where=diagonal > 0)
    loo = np.divide(residuals, root[:, None], out=np.full_like(residuals, np.nan), where=root[:, None] > 0)
    return RidgePath(
        alphas=alphas,
        coef=(root[:, None] * scaled).T,
        intercept=np.zeros(len(alphas)),
        loo_residuals=loo,
        loo_mse=np.nansum(residuals**2, axis=0) / float(weights.sum()),
    )


def _times(X: Design, V: FloatArray) -> FloatArray:
    if isinstance(X, DenseDesign):
        return np.asarray(X.dense() @ V)
    return np.asarray(X.X @ V)  # type: ignore[attr-defined]  # the CSR matrix of a SparseDesign
