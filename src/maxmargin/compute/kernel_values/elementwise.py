"""Element-wise maps from inner products to kernel values, in place and vectorised.

``np.exp`` inside jitted code is a scalar call. Range reduction, a polynomial and an exponent written as an
integer are operations that LLVM vectorises. Powers of two make the range reduction exact. The relative error
is 2e-7 in float32 and 4e-16 in float64; rounding of the exponent x adds |x| times that.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from maxmargin.base.typing import FloatArray
from maxmargin.compute.intrinsics.bits import power_of_two_f32, power_of_two_f64
from maxmargin.compute.jit import jit_finite

LOG2E_32 = np.float32(1.4426950408889634)
_LOWEST_32 = np.float32(-126.0)
# 2 ** f for |f| <= 1/2 with the smallest largest error of all polynomials of degree 5 that are 1 at 0: 9.1e-8
POWERS_32 = tuple(
    np.float32(x)
    for x in (0.693146977599, 0.240222420854, 0.0555073374347, 0.00967151263996, 0.00132647271398)
)
_A1, _A2, _A3, _A4, _A5 = POWERS_32
_ONE_32, _HALF_32, _TWO_32, _ZERO_32 = (np.float32(x) for x in (1.0, 0.5, 2.0, 0.0))

LOG2E = 1.4426950408889634
_LOWEST = -1022.0
# the same in degree 11, through the Chebyshev points: 8e-18
POWERS_64 = (
    0.6931471805599453,
    0.24022650695910097,
    0.0555041086648216,
    0.009618129107606888,
    0.0013333558146416936,
    0.0001540353044173605,
    1.525273382983612e-05,
    1.321544258792169e-06,
    1.0178062445845774e-07,
    7.072585949269223e-09,
    4.4549605981865186e-10,
)
_B1, _B2, _B3, _B4, _B5, _B6, _B7, _B8, _B9, _B10, _B11 = POWERS_64


def flat(K: FloatArray) -> tuple[FloatArray, int]:
    """A tile as one contiguous array and the step between its rows: only then do the loops vectorise."""
    step = K.strides[0] // K.itemsize
    length = (K.shape[0] - 1) * step + K.shape[1] if K.size else 0
    return np.lib.stride_tricks.as_strided(K, (length,), (K.itemsize,)), step


def gamma_in(dtype: np.dtype[Any], gamma: float) -> Any:
    """gamma in a precision; where it overflows half of the largest number, beyond which only 0 is near."""
    return dtype.type(min(gamma, 0.5 * float(np.finfo(dtype).max)))


@jit_finite
def rbf_values_32(K, step, row_norms, column_norms, gamma, variance):
    """Products in a tile, given flat, become variance * exp(-gamma ||x - z||^2)."""
    scale = -gamma * LOG2E_32  # a power of two is cheaper than one of e
    for i in range(len(row_norms)):
        norm = row_norms[i]
        row = K[i * step :]
        for j in range(len(column_norms)):
            x = (norm + column_norms[j] - _TWO_32 * row[j]) * scale
            x = _ZERO_32 if x > _ZERO_32 else x
            x = _LOWEST_32 if x < _LOWEST_32 else x
            k = np.int32(x - _HALF_32)
            r = x - np.float32(k)
            s = _A1 + r * (_A2 + r * (_A3 + r * (_A4 + r * _A5)))
            row[j] = variance * (_ONE_32 + r * s) * power_of_two_f32(k)


@jit_finite
def _rbf_64(K, step, row_norms, column_norms, gamma, variance):
    scale = -gamma * LOG2E
    for i in range(len(row_norms)):
        norm = row_norms[i]
        row = K[i * step :]
        for j in range(len(column_norms)):
            x = (norm + column_norms[j] - 2.0 * row[j]) * scale
            x = 0.0 if x > 0.0 else x
            x = _LOWEST if x < _LOWEST else x
            k = np.int32(x - 0.5)
            r = x - np.float64(k)
            t = _B6 + r * (_B7 + r * (_B8 + r * (_B9 + r * (_B10 + r * _B11))))
            s = _B1 + r * (_B2 + r * (_B3 + r * (_B4 + r * (_B5 + r * t))))
            row[j] = variance * (1.0 + r * s) * power_of_two_f64(k)


@jit_finite
def rbf_values(K, step, row_norms, column_norms, gamma, variance):
    """As `rbf_values_32`, in the precision of ``K``."""
    if K.itemsize == 4:
        rbf_values_32(K, step, row_norms, column_norms, np.float32(gamma), np.float32(variance))
    else:
        _rbf_64(K, step, row_norms, column_norms, np.float64(gamma), np.float64(variance))


@jit_finite
def _squared_distances(K, step, row_norms, column_norms):
    zero = K.dtype.type(0.0)
    for i in range(len(row_norms)):
        norm = row_norms[i]
        row = K[i * step :]
        for j in range(len(column_norms)):
            x = norm + column_norms[j] - (row[j] + row[j])
            row[j] = x if x > zero else zero


def squared_distances(K: FloatArray, row_norms: FloatArray, column_norms: FloatArray) -> None:
    """Inner products in ``K`` become squared distances, never negative."""
    _squared_distances(*flat(K), row_norms, column_norms)


def rbf(
    K: FloatArray, row_norms: FloatArray, column_norms: FloatArray, gamma: float, variance: float
) -> None:
    """Inner products in ``K`` become variance * exp(-gamma ||x - z||^2), in the dtype of ``K``."""
    values, step = flat(K)
    if K.dtype == np.float32:
        gamma_32 = gamma_in(K.dtype, gamma)
        rbf_values_32(values, step, row_norms, column_norms, gamma_32, np.float32(variance))
    else:
        _rbf_64(values, step, row_norms, column_norms, gamma, variance)


@jit_finite
def laplacian_distances(K: FloatArray, X: FloatArray, Z: FloatArray) -> None:
    """Fill ``K`` with the l1 distances between the rows of ``X`` and of ``Z``."""
    for i in range(K.shape[0]):
        for j in range(K.shape[1]):
            total = K.dtype.type(0.0)
            for k in range(X.shape[1]):
                total += abs(X[i, k] - Z[j, k])
            K[i, j] = total
