"""The kernel perceptron over one block of rows."""

from __future__ import annotations

from maxmargin.base.typing import FloatArray
from maxmargin.compute.jit import jit_sums


@jit_sums
def perceptron_block(
    G: FloatArray,
    f: FloatArray,
    y: FloatArray,
    weights: FloatArray,
    steps: FloatArray,
    times: FloatArray,
    scores: FloatArray,
    t: float,
) -> tuple[int, float]:
    """The perceptron over one block: f are its scores before, G its kernel values.

    Returns the mistakes and the weighted sum of the losses max(0, -y f).
    """
    mistakes, loss = 0, 0.0
    for i in range(len(f)):
        if weights[i] == 0.0:
            continue
        t += 1.0
        if y[i] * f[i] <= 0.0:
            mistakes += 1
            loss -= weights[i] * y[i] * f[i]
            steps[i] = weights[i] * y[i]
            times[i] = t
            scores[i] = f[i]
            for j in range(len(f)):
                f[j] += steps[i] * (G[i, j] + 1.0)
    return mistakes, loss
