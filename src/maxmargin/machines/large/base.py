"""Base class of the large machines: a map learned from a sample, features in blocks, a linear problem."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Literal, Self

import numpy as np
from sklearn.utils.validation import check_is_fitted

from maxmargin.base.interruption import all_or_nothing
from maxmargin.base.parameters import check_choice, check_count, check_flags, check_positive
from maxmargin.base.progress import Callback
from maxmargin.base.threads import effective_threads
from maxmargin.base.typing import FloatArray, TableLike, TargetLike, WeightLike
from maxmargin.compute.tables.design import Design, design
from maxmargin.compute.tables.inner_products import squared_norms
from maxmargin.kernels.feature_maps import FeatureMap, MapError, NystromMap, blocks, cut, measure, transform
from maxmargin.kernels.kernel_products import kernel_times
from maxmargin.kernels.landmarks import METHODS
from maxmargin.machines.kernel_estimator import TakesKernel
from maxmargin.machines.large.approximation import Approximation, DualPoint, warn_if_long, worst_approximation
from maxmargin.machines.large.mapped_rows import (
    MappedDesign,
    TableRows,
    feature_map,
    generator,
    map_size,
    opened,
    piece_design,
    sample_numbers,
)
from maxmargin.pieces.collection import Pieces
from maxmargin.pieces.given import as_pieces
from maxmargin.pieces.survey import Survey
from maxmargin.problems.certificate import Certificate
from maxmargin.problems.loss_penalty import LossPenalty, warn_unsolved
from maxmargin.problems.losses import Loss
from maxmargin.problems.penalties import Penalty

_PREDICTED_ROWS = 8192  # rows prepared at a time


@dataclass(frozen=True)
class MappedRows:
    """The training rows after the map."""

    rows: TableRows
    map: FeatureMap
    design: Design
    error: MapError


@dataclass(frozen=True)
class MappedPieces:
    """The pieces after the map; ``seen`` is their survey with the number of features."""

    pieces: Pieces
    seen: Survey
    map: FeatureMap
    error: MapError


@dataclass(eq=False, repr=False, kw_only=True)
class LargeMachine(TakesKernel):
    """Base class of the large machines; `LargeSVC` documents the parameters."""

    n_components: int | Literal["auto"] = "auto"
    method: str = "pivoted_cholesky"
    memory: float | None = None
    polish: bool = False
    sample: int | None = None
    tol: float = 1e-4
    max_iter: int = 200
    random_state: Any = None
    verbose: int = 0

    takes_matrix = False

    # the linear problem after the map
    fit_intercept = True
    penalty = "l2"
    solver = "auto"

    # -- fit -----------------------------------------------------------------------------------------

    @all_or_nothing
    def fit(
        self,
        X: TableLike,
        y: TargetLike | None = None,
        sample_weight: WeightLike | None = None,
        *,
        callback: Callback | None = None,
    ) -> Self:
        """Fit to X of shape (n_samples, n_features) and y of shape (n_samples,), or to `Pieces`.

        ``callback`` as in `LinearSVC`.
        """
        self.check_parameters()
        pieces = as_pieces(X, y, sample_weight)
        if pieces is None:
            self._fit_memory(X, y, sample_weight)
        else:
            self._fit_pieces(pieces)
        return self

    def _fit_memory(self, X: Any, y: Any, sample_weight: Any) -> None:
        raise NotImplementedError

    def _fit_pieces(self, pieces: Pieces) -> None:
        raise NotImplementedError

    def check_parameters(self) -> None:
        check_positive("tol", self.tol)
        check_count("max_iter", self.max_iter)
        check_flags(self, "polish")
        check_choice("method", self.method, (*METHODS, "fourier"))

    def _mapped(self, rows: TableRows) -> MappedRows:
        """Learn the map from a sample and apply it to all rows, within ``memory``."""
        threads = effective_threads(self.n_jobs)
        size = map_size(rows.n, _width(rows.X), rows.dtype.itemsize, self.n_components, self.memory)
        seen = rows.drawn(self.sample, size.n_components, generator(self.random_state))
        map_ = self._learn(seen.X, size.n_components)
        error = measure(map_, seen.X, seen.n, complete=seen.n == rows.n)
        if not size.stored:
            return MappedRows(rows, map_, MappedDesign(map_, rows.X, rows.n, threads), error)
        missing = np.zeros(rows.n) if isinstance(map_, NystromMap) else None
        features = transform(map_, rows.X, rows.n, rows.dtype, n_threads=threads, missing=missing)
        if missing is not None:
            error = error.over_all(squared_norms(features), missing)
        return MappedRows(rows, map_, design(features, self.n_jobs), error)

    def _learn(self, X: Any, m: int) -> FeatureMap:
        rng, threads = generator(self.random_state), effective_threads(self.n_jobs)
        return feature_map(self.make_kernel(), X, m, self.method, rng, threads)

    def _mapped_pieces(self, pieces: Pieces, seen: Survey) -> MappedPieces:
        """As `_mapped` for rows in pieces; the sample, and so the map, depends only on the number of rows."""
        if self.polish:
            raise ValueError("polish=True needs all rows in memory: use polish=False for data in pieces.")
        size = map_size(seen.n_rows, seen.n_features, 8, self.n_components, self.memory, in_pieces=True)
        m = size.n_components
        numbers = sample_numbers(seen.n_rows, self.sample, m, generator(self.random_state))
        X = pieces.rows_at(numbers).X
        map_ = self._learn(X, m)
        error = measure(map_, X, len(numbers), complete=len(numbers) == seen.n_rows)
        features = replace(seen, n_features=map_.n_components)
        return MappedPieces(pieces.mapped(piece_design, map_), features, map_, error)

    def _near(self, mapped: MappedRows, found: list[DualPoint]) -> Approximation:
        """How far the solutions are from those of the exact kernel."""
        threads = effective_threads(self.n_jobs)
        return worst_approximation(mapped.error, mapped.map, mapped.rows.X, found, threads)

    def _exact_settings(self, mapped: MappedRows) -> dict[str, Any]:
        """Settings of the estimator that polishes the solution with the exact kernel."""
        warn_if_long(mapped.rows.n, type(self).__name__)
        return {
            "kernel": mapped.map.kernel,
            "tol": min(self.tol, 1e-3),
            "cache_size": self.memory,
            "n_jobs": self.n_jobs,
            "verbose": self.verbose,
        }

    def _problem(
        self, X: Design, y: FloatArray, c: FloatArray, loss: Loss, *, l2: float = 1.0
    ) -> LossPenalty:
        penalty = Penalty(l2=l2)
        return LossPenalty(X=X, y=y, c=c, loss=loss, penalty=penalty, fit_intercept=self.fit_intercept)

    def _store_map(
        self, map_: FeatureMap, certificate: Certificate, near: Approximation, remedy: str
    ) -> None:
        self.map_ = map_
        self.kernel_ = map_.kernel
        self.n_components_ = map_.n_components
        self.low_rank_certificate_ = self.certificate_ = certificate
        self.approximation_ = near
        warn_unsolved(certificate, self.tol, type(self).__name__, remedy)

    # -- prediction ----------------------------------------------------------------------------------

    def _decisions(self, X: Any) -> FloatArray:
        """<w, phi(x)> + b of shape (n_samples, n_problems), by blocks; with landmarks m p per row."""
        check_is_fitted(self)
        rows = opened(self, X, reset=False)
        coefficients = np.atleast_2d(self.coef_).T
        map_, threads = self.map_, effective_threads(self.n_jobs)
        expansion = map_.root @ coefficients if isinstance(map_, NystromMap) else coefficients
        out = np.empty((rows.n, coefficients.shape[1]))
        for part in blocks(rows.n, _PREDICTED_ROWS):
            points = map_.points(cut(rows.X, part))
            if isinstance(map_, NystromMap):
                landmarks = map_.landmarks.astype(points.dtype)
                out[part] = kernel_times(self.kernel_, points, landmarks, expansion, n_threads=threads)
            else:
                out[part] = map_.of_points(points) @ expansion
        out += self.intercept_
        return out


def _width(X: Any) -> int:
    shape: tuple[int, ...] = getattr(X, "shape", ())
    return int(shape[1]) if len(shape) > 1 else 1
