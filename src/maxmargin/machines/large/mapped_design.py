"""Mapped rows as a linear map: features that are computed in every pass instead of being kept."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from sklearn.utils import _safe_indexing

from maxmargin.base.threads import run, single_threaded_blas
from maxmargin.base.typing import FloatArray, IntArray
from maxmargin.compute.tables.design import DenseDesign, Design, weighted_gram
from maxmargin.kernels.feature_maps import FeatureMap, block_rows, blocks, cut

_PIECE_BYTES = 1 << 26  # features of a piece up to which they are computed once in a pass

Work = Callable[[slice, FloatArray], Any]


class MappedDesign:
    """phi(X) of n rows as a `Design`; memory is that of the blocks in work."""

    density = 1.0

    def __init__(self, map_: FeatureMap, X: Any, n: int, threads: int) -> None:
        self.map = map_
        self.X = X
        self.threads = threads
        self.shape: tuple[int, int] = (n, map_.n_components)

    def _each(self, work: Work, shape: Any = None) -> FloatArray:
        """The sum of ``work(rows, features)`` over blocks; without a shape only the work is done."""
        parts = list(blocks(self.shape[0], block_rows(self.map)))

        def share(first: int) -> FloatArray:
            total = np.zeros(shape or 1)
            for rows in parts[first :: self.threads]:
                features = self.map.of_points(self.map.points(cut(self.X, rows)))
                result = work(rows, features.astype(np.float64, copy=False))
                if shape is not None:
                    total += result
            return total

        with single_threaded_blas():
            totals = run(
                [partial(share, first) for first in range(min(self.threads, len(parts)))], self.threads
            )
        return np.asarray(sum(totals[1:], start=totals[0]))

    def scores(self, w: FloatArray) -> FloatArray:
        out = np.empty(self.shape[0])

        def work(rows: slice, features: FloatArray) -> None:
            np.dot(features, w, out=out[rows])

        self._each(work)
        return out

    def adjoint(self, u: FloatArray) -> FloatArray:
        shape = (*u.shape[:-1], self.shape[1])
        return self._each(lambda rows, features: u[..., rows] @ features, shape)

    def gram(self, d: FloatArray) -> FloatArray:
        def work(rows: slice, features: FloatArray) -> FloatArray:
            return weighted_gram(features, d[rows])

        return self._each(work, (self.shape[1], self.shape[1]))

    def hessian_product(self, d: FloatArray, v: FloatArray, bias: float) -> tuple[FloatArray, float]:
        def work(rows: slice, features: FloatArray) -> FloatArray:
            u = d[rows] * (features @ v + bias)
            return np.append(u @ features, u.sum())

        total = self._each(work, self.shape[1] + 1)
        return total[:-1], float(total[-1])

    def take(self, rows: IntArray) -> MappedDesign:
        return MappedDesign(self.map, _safe_indexing(self.X, rows), len(rows), self.threads)

    def columns(self, chosen: IntArray) -> Any:
        raise NotImplementedError("no solver with an l2 penalty asks for columns")

    def squared_norms(self) -> FloatArray:
        out = np.empty(self.shape[0])

        def work(rows: slice, features: FloatArray) -> None:
            out[rows] = np.einsum("ij,ij->i", features, features)

        self._each(work)
        return out

    def dense(self) -> FloatArray:
        raise MemoryError(
            f"this solver needs all {self.shape[0]} x {self.shape[1]} features at once, and `memory` "
            "does not hold them: use a squared loss, fewer components or more memory."
        )


def piece_design(X: Any, map_: FeatureMap) -> Design:
    """phi of the rows of a piece, on one thread: kept while the piece is in work where they are not many."""
    n = int(X.shape[0])
    if 8 * n * map_.n_components > _PIECE_BYTES:
        return MappedDesign(map_, X, n, 1)
    return DenseDesign(map_.of_points(map_.points(X)) if n else np.empty((0, map_.n_components)), 1)
