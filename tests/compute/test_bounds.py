"""The multiplier of a group: in compiled code and in NumPy the same, from its definition."""

from __future__ import annotations

import numpy as np
import pytest

from maxmargin.compute.dual import bounds
from maxmargin.compute.jit import jit


@jit
def compiled(g, t, lo, hi):
    return bounds.multiplier(g, t, lo, hi)


CASES = {
    "free variables": ([1.0, 3.0, 9.0], [0.5, 0.2, 1.0], 2.0),
    "none free": ([1.0, 5.0], [1.0, 0.0], 3.0),
    "all at the upper bound": ([1.0, 5.0], [1.0, 1.0], 5.0),
    "all at zero": ([1.0, 5.0], [0.0, 0.0], 1.0),
    "within rounding of a bound": ([1.0, 5.0, 2.0], [1.0 - 1e-14, 0.0, 0.5], 2.0),
    "no variable": ([], [], 0.0),
}


@pytest.mark.parametrize("case", CASES)
def test_mean_of_the_free_or_middle_of_the_interval(case: str) -> None:
    g, t, expected = (np.array(x) for x in CASES[case])
    lo, hi = np.zeros(len(t)), np.ones(len(t))
    assert bounds.multiplier_of(g, t, lo, hi) == expected
    assert compiled(g, t, lo, hi) == expected


def test_both_agree_on_random_bounds() -> None:
    rng = np.random.default_rng(0)
    for _ in range(50):
        g, width = rng.normal(size=20), rng.random(20)
        t = width * rng.choice([0.0, 0.3, 1.0], size=20)
        found = compiled(g, t, np.zeros(20), width)
        assert bounds.multiplier_of(g, t, np.zeros(20), width) == pytest.approx(found, rel=1e-12)
