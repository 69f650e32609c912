"""The line search finds a flat place where the derivative has corners."""

from __future__ import annotations

import numpy as np
import pytest

from maxmargin.compute.primal.bracket import is_flat, narrower, next_trial


def trials(derivative) -> int:
    """Number of trials until the derivative is flat; at most 40."""
    descent = derivative(0.0)
    low, low_slope, high, high_slope, last = 0.0, descent, np.inf, np.inf, 0
    t = 1.0
    for trial in range(1, 41):
        slope = derivative(t)
        if is_flat(slope, descent):
            return trial
        assert low < t < high
        low, low_slope, high, high_slope, last = narrower(t, slope, low, low_slope, high, high_slope, last)
        t = next_trial(low, low_slope, high, high_slope)
    return 40


@pytest.mark.parametrize("corner", [1e-8, 1e-4, 1e-2, 0.5, 3.0, 1e3])
@pytest.mark.parametrize("steep", [1.0, 30.0, 1e4])
def test_a_corner_far_from_the_full_step_is_found(corner: float, steep: float) -> None:
    """Steep up to a corner that is above zero by a fifth of the descent, and slowly rising behind it."""

    def derivative(t: float) -> float:
        return -1.0 + 1.2 * t / corner if t < corner else 0.2 + steep * (t - corner)

    assert trials(derivative) < 40


def test_a_line_is_solved_by_the_first_secant() -> None:
    assert trials(lambda t: 4.0 * t - 1.0) == 2
