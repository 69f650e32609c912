"""Hypothesis strategies for problems that break solvers: degenerate, duplicated, badly scaled."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from hypothesis import strategies as st

from maxmargin.base.typing import AnyArray
from maxmargin.kernels import RBF, Kernel, Linear, Polynomial

SHAPES = ("overlapping", "separable", "duplicated", "rank_one", "constant_columns", "identical")
HUGE, TINY = 1e4, 1e-4
KERNELS: tuple[Kernel, ...] = (
    Linear(),
    RBF(gamma=0.5),
    Polynomial(gamma=0.5, coef0=1.0, degree=2),
)


@dataclass(frozen=True)
class Problem:
    """Rows, labels -1 and +1 (both occur), real targets, and weights."""

    shape: str
    X: AnyArray
    y: AnyArray
    target: AnyArray
    weight: AnyArray

    @property
    def largest_nu(self) -> float:
        """The largest feasible nu of a classifier."""
        sides = [self.weight[self.y == sign].sum() for sign in (-1.0, 1.0)]
        return float(2 * min(sides) / sum(sides))


def make_problem(shape: str, n: int, p: int, seed: int, weights: str) -> Problem:
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, p))
    y = np.where(rng.random(n) < 0.5, -1.0, 1.0)
    y[:2] = -1.0, 1.0
    if shape == "separable":
        X[:, 0] = y * (1.0 + np.abs(X[:, 0]))
    elif shape == "duplicated":
        X = X[rng.integers(0, max(2, n // 3), n)]
    elif shape == "rank_one":
        X = np.outer(rng.normal(size=n), rng.normal(size=p))
    elif shape == "constant_columns":
        X[:, p // 2 :] = 3.0
    elif shape == "identical":
        X[:] = X[0]
    target = X @ rng.normal(size=p) + 0.3 * rng.normal(size=n)
    weight = {
        "equal": np.ones(n),
        "imbalanced": np.where(y > 0, 100.0, 1.0),
        "spread": 10.0 ** rng.uniform(-1, 1, n),
    }[weights]
    return Problem(shape, X, y, target, weight)


@st.composite
def problems(draw: st.DrawFn, shapes: tuple[str, ...] = SHAPES, max_rows: int = 40) -> Problem:
    return make_problem(
        shape=draw(st.sampled_from(shapes)),
        n=draw(st.integers(2, max_rows)),
        p=draw(st.integers(1, 5)),
        seed=draw(st.integers(0, 2**20)),
        weights=draw(st.sampled_from(["equal", "imbalanced", "spread"])),
    )


def prices() -> st.SearchStrategy[float]:
    """Values of C: tiny, ordinary and huge."""
    return st.sampled_from([TINY, 0.1, 1.0, 30.0, HUGE])


def kernels() -> st.SearchStrategy[Kernel]:
    return st.sampled_from(KERNELS)
