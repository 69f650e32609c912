"""What a low-rank answer is worth for the exact kernel."""

from __future__ import annotations

from dataclasses import dataclass
from math import isnan, nan
from typing import Any

import numpy as np
from sklearn.utils import _safe_indexing

from maxmargin.base.typing import FloatArray, IntArray
from maxmargin.kernels.feature_maps import MapError, NystromMap, blocks
from maxmargin.kernels.kernel_products import kernel_times
from maxmargin.problems.certificate import Certificate

_PROBES = 256  # support rows at which the missing part of the kernel is evaluated
_BLOCK = 8192
_ALL_PAIRS = 3000  # support rows up to which it is evaluated at all of them


@dataclass(frozen=True, kw_only=True)
class Approximation:
    """The distance between the low-rank problem and the exact one; the certificate says nothing about it.

    Landmarks make a projection, so the answer f is a function of the exact kernel's space with the norm |w|,
    and its objective is a value of the exact problem. The multipliers u of the low-rank problem are feasible
    in the exact dual, where they lose 1/2 u'(K - phi phi')u. Together

        objective(f) - optimum of the exact kernel <= gap + 1/2 u'(K - phi phi') u = exact_gap.

    Attributes
    ----------
    map : `MapError` of the map.
    exact_gap : that bound for the machine where it is largest relative to the objective; NaN for random
        features (no projection) and for rows in pieces.
    exact_gap_error : its standard error, where it was estimated from 256 rows; 0 where it is exact.
    relative : exact_gap / objective.
    """

    map: MapError
    exact_gap: float = nan
    exact_gap_error: float = nan
    relative: float = nan

    def __str__(self) -> str:
        if isnan(self.exact_gap):
            return f"Approximation: {self.map}"
        spread = f" +- {self.exact_gap_error:.2g}" if self.exact_gap_error else ""
        return (
            f"Approximation: {self.map}; the objective is at most {self.exact_gap:.3g}{spread} "
            f"({100 * self.relative:.3g} %) above the optimum of the exact kernel"
        )


@dataclass(frozen=True)
class Answer:
    """What one machine found: multipliers u of all rows, phi'u, and its certificate."""

    u: FloatArray
    adjoint: FloatArray
    certificate: Certificate


def worst_approximation(
    error: MapError, map_: Any, X: Any, answers: list[Answer], n_threads: int
) -> Approximation:
    """That of the machine with the largest relative gap."""
    if not isinstance(map_, NystromMap):
        return Approximation(map=error)
    found = []
    for answer in answers:
        energy, spread = missing_energy(map_, X, answer, n_threads)
        primal = answer.certificate.primal
        # no objective is negative, so the gap never exceeds the objective itself
        gap = min(max(answer.certificate.gap, 0.0) + 0.5 * energy, primal)
        found.append((gap / max(primal, 1e-300), gap, 0.5 * spread))
    relative, gap, spread = max(found)
    return Approximation(map=error, exact_gap=gap, exact_gap_error=spread, relative=relative)


def missing_energy(map_: NystromMap, X: Any, answer: Answer, n_threads: int) -> tuple[float, float]:
    """u'(K - phi phi')u and its standard error: over all rows with u != 0, or rows drawn by |u|."""
    support = np.flatnonzero(answer.u)
    if not len(support):
        return 0.0, 0.0
    u = answer.u[support]
    if len(support) <= _ALL_PAIRS:
        return max(float(u @ _missing(map_, X, support, support, answer, n_threads)), 0.0), 0.0
    size = np.abs(u)
    total = float(size.sum())
    chosen = np.random.default_rng(0).choice(len(u), size=_PROBES, p=size / total)
    values = _missing(map_, X, support[chosen], support, answer, n_threads)
    values *= total * np.sign(u[chosen])
    return max(float(values.mean()), 0.0), float(values.std(ddof=1) / np.sqrt(_PROBES))


def _missing(
    map_: NystromMap, X: Any, at: IntArray, support: IntArray, answer: Answer, n_threads: int
) -> FloatArray:
    """(K - phi phi')u at some rows; the support rows are looked at block by block."""
    left = map_.points(_safe_indexing(X, at))
    out = -(map_.of_points(left).astype(np.float64) @ answer.adjoint)
    for part in blocks(len(support), _BLOCK):
        rows = support[part]
        right = map_.points(_safe_indexing(X, rows))
        out += kernel_times(map_.kernel, left, right, answer.u[rows], n_threads=n_threads)
    return np.asarray(out)
