"""Four ways to choose the landmarks of a low-rank kernel.

All but k-means (kernels/feature_maps.py) only use Points, so they also work for strings. Costs are
for c candidates and m landmarks.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from scipy import linalg

from maxmargin.base.threads import interruptible
from maxmargin.base.typing import FloatArray, IntArray
from maxmargin.kernels.base import Kernel
from maxmargin.kernels.points import Points

_BLOCK = 64  # pivots that are proposed together
_NOTHING_LEFT = 1e-12  # of the trace: rounding is all that remains


def uniform(kernel: Kernel, points: Points, m: int, rng: np.random.Generator, n_threads: int) -> IntArray:
    """Rows drawn uniformly without replacement. Costs nothing, but may miss small clusters.

    Williams & Seeger (2001).
    """
    return np.sort(rng.choice(len(points), size=min(m, len(points)), replace=False))


def pivoted_cholesky(
    kernel: Kernel, points: Points, m: int, rng: np.random.Generator, n_threads: int
) -> IntArray:
    """Pivots of a Cholesky factorisation, drawn in proportion to the residual diagonal.

    A row is drawn with probability proportional to its residual K(x, x) - |phi(x)|^2, so rows that are well
    approximated by the chosen ones are rarely drawn. The greedy rule (always the largest residual) prefers
    outliers; the random one has a guarantee: r / e + r log(1 / (e eta)) pivots bring the expected trace of
    the residual below (1 + e) times that of the best approximation of rank r, which leaves a share eta of the
    trace (Chen, Epperly, Tropp & Webber 2025). Pivots are proposed in blocks and accepted one by one, which
    leaves their distribution unchanged and turns the work into matrix products (Epperly, Tropp & Webber
    2024). Cost c m p + c m^2; fewer than m pivots are returned if the residual vanishes earlier.
    """
    n = len(points)
    wide = points.astype(np.float64)
    left = np.array(kernel.diagonal(wide), dtype=np.float64)
    floor = _NOTHING_LEFT * max(float(left.sum()), 1e-300)
    F = np.empty((n, min(m, n)))
    chosen: list[int] = []
    while len(chosen) < F.shape[1]:
        np.maximum(left, 0.0, out=left)
        left[chosen] = 0.0
        total = float(left.sum())
        if total <= floor:
            break
        proposed = rng.choice(n, size=min(_BLOCK, n), p=left / total)
        known = F[:, : len(chosen)]
        accepted = _accept(kernel, wide, proposed, known, left, rng)[: F.shape[1] - len(chosen)]
        columns = kernel.gram(wide, wide.take(accepted), n_threads=n_threads) - known @ known[accepted].T
        new = _columns(columns, accepted, floor / n)
        F[:, len(chosen) : len(chosen) + len(accepted)] = new
        left -= np.einsum("ij,ij->i", new, new)
        chosen += accepted.tolist()
    return np.array(chosen, dtype=np.int64)


def _accept(
    kernel: Kernel, points: Any, proposed: IntArray, known: FloatArray, left: FloatArray, rng: Any
) -> IntArray:
    """The proposals that sequential sampling would have kept, by rejection on their current residual."""
    some = points.take(proposed)
    H = kernel.gram(some) - known[proposed] @ known[proposed].T
    bound = np.maximum(left[proposed], 1e-300)
    kept: list[int] = []
    for i in range(len(proposed)):
        pivot = H[i, i]
        if proposed[i] in proposed[kept] or not rng.random() * bound[i] < pivot:
            continue
        column = H[:, i] / np.sqrt(pivot)
        H -= np.outer(column, column)
        kept.append(i)
    first = kept or [int(np.argmax(bound))]  # rounding may reject all of them: always keep the largest
    return np.asarray(proposed[first])


def _columns(residual: FloatArray, accepted: IntArray, ridge: float) -> FloatArray:
    """New columns of the factor from the residual columns at the accepted pivots."""
    block = residual[accepted]
    block = 0.5 * (block + block.T)
    block[np.diag_indices_from(block)] += ridge
    try:
        L = linalg.cholesky(block, lower=True, check_finite=False)
    except linalg.LinAlgError:  # indefinite because of rounding: use the square root from the eigenvalues
        values, vectors = linalg.eigh(block, check_finite=False)
        inverse = np.where(values > ridge, 1.0 / np.sqrt(np.maximum(values, 1e-300)), 0.0)
        return np.asarray(residual @ (vectors * inverse))
    return np.asarray(linalg.solve_triangular(L, residual.T, lower=True, check_finite=False).T)


def leverage(kernel: Kernel, points: Points, m: int, rng: np.random.Generator, n_threads: int) -> IntArray:
    """Rows in proportion to their approximate ridge leverage scores [K (K + lambda I)^-1]_ii.

    The scores are computed recursively: the scores of half of the rows give landmarks, and these give the
    scores of all rows; lambda is the mean of the eigenvalues beyond the m-th that the landmarks see. Musco &
    Musco (2017), algorithm 3. Cost c m p + c m^2.
    """
    wide = points.astype(np.float64)
    levels = [rng.permutation(len(points))]
    while len(levels[-1]) > 2 * m:
        levels.append(levels[-1][: len(levels[-1]) // 2])
    inner = levels.pop()
    chosen = inner[:m]
    for rows in reversed(levels):
        scores = _ridge_leverage(kernel, wide.take(rows), wide.take(chosen), m, n_threads)
        chosen = rows[_by_scores(scores, m, rng)]
    return np.sort(chosen)


def _ridge_leverage(kernel: Kernel, rows: Any, landmarks: Any, m: int, n_threads: int) -> FloatArray:
    """Scores of rows under the Nystrom approximation on the landmarks, Musco & Musco (2017), section 3."""
    K = kernel.gram(landmarks, n_threads=n_threads)
    values, vectors = interruptible(lambda: np.linalg.eigh(K), K.size)
    kept = values > 1e-12 * max(float(values[-1]), 1e-300)
    F = kernel.gram(rows, landmarks, n_threads=n_threads) @ (vectors[:, kept] / np.sqrt(values[kept]))
    spectrum, V = interruptible(lambda: np.linalg.eigh(F.T @ F), F.shape[1] ** 2)
    diagonal = np.asarray(kernel.diagonal(rows), dtype=np.float64)
    missing = max(float(diagonal.sum() - spectrum.sum()), 0.0)
    tail = missing + float(np.maximum(spectrum[: len(spectrum) // 2], 0.0).sum())
    ridge = max(tail / m, 1e-12 * float(spectrum[-1]), 1e-300)
    projected = F @ V
    explained = np.einsum("ij,ij,j->i", projected, projected, 1.0 / (np.maximum(spectrum, 0.0) + ridge))
    left = np.maximum(diagonal - np.einsum("ij,ij->i", F, F), 0.0) / ridge
    return np.clip(explained + left, 0.0, 1.0)


def _by_scores(scores: FloatArray, m: int, rng: np.random.Generator) -> IntArray:
    """m rows without replacement, row i with probability min(1, t s_i): high scores are never left out."""
    if np.count_nonzero(scores) <= m:
        return np.argsort(-scores, kind="stable")[:m]
    sure = np.zeros(len(scores), dtype=bool)
    while True:
        left = m - int(sure.sum())
        rest = np.where(sure, 0.0, scores)
        more = left * rest >= rest.sum()
        if left == 0 or not more.any():
            break
        sure |= more
    certain = np.flatnonzero(sure)
    if left == 0:
        return certain
    drawn = rng.choice(len(scores), size=left, replace=False, p=rest / rest.sum())
    return np.concatenate([certain, drawn])


Chooser = Callable[[Kernel, Any, int, np.random.Generator, int], IntArray]
CHOOSERS: dict[str, Chooser] = {
    "pivoted_cholesky": pivoted_cholesky,
    "leverage": leverage,
    "uniform": uniform,
}
METHODS = (*CHOOSERS, "kmeans")
