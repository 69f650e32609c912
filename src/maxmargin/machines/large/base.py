"""What the large machines share: a map learned from a sample, features in blocks, one linear problem each."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from maxmargin.base.parameters import check_choice, check_count, check_flags, check_positive
from maxmargin.base.threads import effective_threads
from maxmargin.base.typing import FloatArray
from maxmargin.compute.tables.design import Design, design
from maxmargin.compute.tables.inner_products import squared_norms
from maxmargin.kernels.feature_maps import (
    FeatureMap,
    MapError,
    NystromMap,
    blocks,
    cut,
    measure,
    transform,
)
from maxmargin.kernels.kernel_products import kernel_times
from maxmargin.kernels.landmarks import METHODS
from maxmargin.machines.kernel_estimator import TakesKernel
from maxmargin.machines.large.approximation import Answer, Approximation, worst_approximation
from maxmargin.machines.large.mapped_design import MappedDesign, piece_design
from maxmargin.machines.large.mapped_rows import Rows, feature_map, generator, opened, sample_numbers
from maxmargin.machines.large.polish import warn_if_long
from maxmargin.machines.large.sizing import plan
from maxmargin.pieces.collection import Pieces
from maxmargin.pieces.survey import Survey
from maxmargin.problems.certificate import Certificate
from maxmargin.problems.loss_penalty import LossPenalty, warn_unsolved
from maxmargin.problems.loss_penalty_pieces import LossPenaltyPieces
from maxmargin.problems.losses import Loss
from maxmargin.problems.penalties import Penalty
from maxmargin.problems.solution import Solution
from maxmargin.solvers.primal.newton_pieces import PiecesNewton, solve_pieces
from maxmargin.solvers.primal.primal_choice import solve_primal

_PREDICTED_ROWS = 8192  # rows that are prepared at a time


@dataclass(frozen=True)
class Mapped:
    """The training rows after the map."""

    rows: Rows
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


class LargeMachine(TakesKernel):
    """Common base of the large machines. Subclasses list their own constructor arguments."""

    n_components: Any
    method: str
    sample: int | None
    memory: float | None
    polish: bool
    tol: float
    max_iter: int
    random_state: Any
    verbose: int

    map_: FeatureMap
    coef_: FloatArray
    intercept_: Any
    certificate_: Certificate
    approximation_: Approximation

    # -- fit -----------------------------------------------------------------------------------------

    def check_parameters(self) -> None:
        check_positive("tol", self.tol)
        check_count("max_iter", self.max_iter)
        check_flags(self, "polish")
        check_choice("method", self.method, (*METHODS, "fourier"))

    def _mapped(self, rows: Rows) -> Mapped:
        """Learn the map from a sample and apply it to all rows, within ``memory``."""
        threads = effective_threads(self.n_jobs)
        sizes = plan(rows.n, _width(rows.X), rows.dtype.itemsize, self.n_components, self.memory)
        seen = rows.drawn(self.sample, sizes.n_components, generator(self.random_state))
        map_ = self._learn(seen.X, sizes.n_components)
        error = measure(map_, seen.X, seen.n, complete=seen.n == rows.n)
        if not sizes.stored:
            return Mapped(rows, map_, MappedDesign(map_, rows.X, rows.n, threads), error)
        missing = np.zeros(rows.n) if isinstance(map_, NystromMap) else None
        features = transform(map_, rows.X, rows.n, rows.dtype, n_threads=threads, missing=missing)
        if missing is not None:
            error = error.over_all(squared_norms(features), missing)
        return Mapped(rows, map_, design(features, self.n_jobs), error)

    def _learn(self, X: Any, m: int) -> FeatureMap:
        rng, threads = generator(self.random_state), effective_threads(self.n_jobs)
        return feature_map(self.make_kernel(), X, m, self.method, rng, threads)

    def _mapped_pieces(self, pieces: Pieces, seen: Survey) -> MappedPieces:
        """As `_mapped` for rows in pieces: the same sample for the same number of rows, so the same map."""
        if self.polish:
            raise ValueError("polish=True needs all rows in memory: use polish=False for data in pieces.")
        sizes = plan(seen.n_rows, seen.n_features, 8, self.n_components, self.memory, in_pieces=True)
        m = sizes.n_components
        numbers = sample_numbers(seen.n_rows, self.sample, m, generator(self.random_state))
        X = pieces.rows_at(numbers).X
        map_ = self._learn(X, m)
        error = measure(map_, X, len(numbers), complete=len(numbers) == seen.n_rows)
        features = replace(seen, n_features=map_.n_components)
        return MappedPieces(pieces.mapped(piece_design, map_), features, map_, error)

    @property
    def _callback(self) -> Any:
        return self._report if self.verbose else None

    def _solve(self, problem: LossPenalty) -> tuple[Solution, Certificate]:
        return solve_primal(
            problem,
            "auto",
            tol=self.tol,
            max_iter=self.max_iter,
            random_state=self.random_state,
            callback=self._callback,
        )

    def _solve_pieces(self, problem: LossPenaltyPieces) -> tuple[Solution, Certificate]:
        solver = PiecesNewton(tol=self.tol, max_iter=self.max_iter)
        return solve_pieces(problem, solver, callback=self._callback)[:2]

    def _near(self, mapped: Mapped, answers: list[Answer]) -> Approximation:
        """What the answers are worth for the exact kernel."""
        threads = effective_threads(self.n_jobs)
        return worst_approximation(mapped.error, mapped.map, mapped.rows.X, answers, threads)

    def _warn_unsolved(self, certificate: Certificate) -> None:
        remedy = f"raise max_iter={self.max_iter}, lower C or scale X"
        warn_unsolved(certificate, self.tol, type(self).__name__, remedy)

    def _exact_settings(self, mapped: Mapped) -> dict[str, Any]:
        """Settings of the machine that polishes the answer with the exact kernel."""
        warn_if_long(mapped.rows.n, type(self).__name__)
        return {
            "kernel": mapped.map.kernel,
            "tol": min(self.tol, 1e-3),
            "cache_size": self.memory,
            "n_jobs": self.n_jobs,
            "verbose": self.verbose,
        }

    def _problem(
        self, X: Design, y: FloatArray, c: FloatArray, loss: Loss, *, l2: float = 1.0, intercept: bool = True
    ) -> LossPenalty:
        return LossPenalty(X=X, y=y, c=c, loss=loss, penalty=Penalty(l2=l2), fit_intercept=intercept)

    def _store_map(self, map_: FeatureMap) -> None:
        self.map_ = map_
        self.kernel_ = map_.kernel
        self.n_components_ = map_.n_components

    def _report(self, iteration: int, value: float) -> None:
        print(f"{type(self).__name__}: iteration {iteration}, objective {value:.10g}", flush=True)

    # -- prediction ----------------------------------------------------------------------------------

    def _decisions(self, X: Any) -> FloatArray:
        """<w, phi(x)> + b of shape (n_samples, n_machines), by blocks; with landmarks m p per row."""
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

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.pairwise = False
        return tags


def _width(X: Any) -> int:
    shape: tuple[int, ...] = getattr(X, "shape", ())
    return int(shape[1]) if len(shape) > 1 else 1
