"""Least squares and ridge regression on rows in pieces, by triangular factors that are merged in a tree."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import linalg, sparse

from maxmargin.base.typing import FloatArray
from maxmargin.pieces.collection import Pieces
from maxmargin.pieces.piece import Piece
from maxmargin.pieces.survey import Survey
from maxmargin.solvers.least_squares.resolvents import shrinkage
from maxmargin.solvers.least_squares.ridge_path import RidgePath

_BLOCK = 1 << 18  # numbers in one factorisation


def triangle(pieces: Pieces, seen: Survey, fit_intercept: bool) -> FloatArray:
    """R of the factorisation QR of the weighted, centred table [X y], of shape (p + 1, p + 1).

    The singular values of R's first p columns are those of the centred X: nothing is squared, so the rank is
    as reliable as from the whole table. Cost: one pass, 2 n p^2; two factors merge at 2 p^3 (Demmel,
    Grigori, Hoemmen & Langou 2012, TSQR).
    """
    centre = np.append(seen.mean_x, seen.mean_y) * fit_intercept
    R = pieces.map_reduce(_factor, centre, combine=_merge)
    full = np.zeros((len(centre), len(centre)))
    full[: len(R)] = R
    return full


def _factor(piece: Piece, centre: FloatArray) -> FloatArray:
    X, y, root = piece.table(), piece.labels(), np.sqrt(piece.weights())
    step = max(2 * len(centre), _BLOCK // len(centre))
    R: FloatArray = np.zeros((0, len(centre)))
    for start in range(0, len(piece), step):
        rows = slice(start, start + step)
        block = X[rows].toarray() if sparse.issparse(X) else X[rows]
        table = np.column_stack([block, y[rows]]).astype(np.float64, copy=False) - centre
        R = _merge(R, table * root[rows, None])
    return R


def _merge(above: FloatArray, below: FloatArray) -> FloatArray:
    if not len(below):  # an empty piece
        return above
    (R,) = linalg.qr(np.concatenate([above, below]), mode="r", overwrite_a=True, check_finite=False)
    return R[: R.shape[1]]


def least_squares(pieces: Pieces, seen: Survey, fit_intercept: bool) -> tuple[FloatArray, int]:
    """(w, b) of the minimum-norm least-squares solution, and the rank of the centred table."""
    R = triangle(pieces, seen, fit_intercept)
    cut = max(seen.n_rows, seen.n_features) * float(np.finfo(np.float64).eps)
    w, _, rank, _ = linalg.lstsq(R[:-1, :-1], R[:-1, -1], cond=cut, check_finite=False)
    intercept = (seen.mean_y - float(seen.mean_x @ w)) * fit_intercept
    return np.append(w, intercept), int(rank)


def ridge_path_in_pieces(pieces: Pieces, seen: Survey, alphas: FloatArray, fit_intercept: bool) -> RidgePath:
    """As `linear_paths`: one pass for the factor, one for the leave-one-out errors of all penalties.

    Only sums of the squared residuals are kept: ``loo_residuals`` is empty.
    """
    R = triangle(pieces, seen, fit_intercept)
    left, singular, right = linalg.svd(R[:-1, :-1], check_finite=False)
    values, V = singular**2, right.T
    shrink = shrinkage(values, alphas)
    inner = shrink * (singular * (left.T @ R[:-1, -1]))[:, None]
    coef = (V @ inner).T
    mean_x, mean_y = seen.mean_x * fit_intercept, seen.mean_y * fit_intercept
    share = 1.0 / seen.weight if fit_intercept else 0.0
    squares = pieces.map_reduce(_left_out, mean_x, mean_y, V, inner, shrink, share)
    return RidgePath(
        alphas=alphas,
        coef=coef,
        intercept=mean_y - coef @ mean_x,
        loo_residuals=np.empty((0, len(alphas))),
        loo_mse=squares / seen.weight,
    )


def _left_out(
    piece: Piece,
    mean_x: FloatArray,
    mean_y: float,
    V: FloatArray,
    inner: FloatArray,
    shrink: FloatArray,
    share: float,
) -> Any:
    """Weighted sums of squared leave-one-out residuals, of shape (n_alphas,)."""
    weights = piece.weights()
    Z = piece.table() @ V - mean_x @ V
    leverage = weights[:, None] * ((Z * Z) @ shrink + share)
    left = 1.0 - leverage
    residuals = (np.asarray(piece.labels(), dtype=np.float64) - mean_y)[:, None] - Z @ inner
    residuals = residuals / np.where(left > 1e-12, left, np.nan)
    return weights @ residuals**2
