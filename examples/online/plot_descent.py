r"""
How does a descent reach the bottom?
====================================

A subgradient is the slope of a line that touches a convex function and stays below it. At a kink there
are many, and any of them will do for a descent; the average of its iterates is within
:math:`B\rho/\sqrt{T}` of the minimum (Valera, figure 5.1 and corollary 5.2).
"""

import numpy as np

import maxmargin as mm

path = mm.subgradient_descent(np.abs, np.sign, [1.5], rho=1.0, B=1.5, max_iter=12)
lines = [(0.0, slope) for slope in (-0.9, -0.4, 0.2, 0.7)]
mm.displays.DescentDisplay.from_result(path, np.abs, tangents=lines, span=(-2, 2)).plot()
print(f"value {path.value:.3f}, bound {path.bound:.3f}")

# %%
# In two variables: a function with a kink along a line.


def f(x):
    return max(abs(x[0] + x[1]), 0.3 * abs(x[0] - x[1]))


def slope(x):
    ridge = abs(x[0] + x[1]) >= 0.3 * abs(x[0] - x[1])
    return np.sign(x[0] + x[1]) * np.ones(2) if ridge else 0.3 * np.sign(x[0] - x[1]) * np.array([1.0, -1.0])


path = mm.subgradient_descent(f, slope, [1.0, 0.5], rho=1.5, B=1.2, max_iter=60)
mm.displays.DescentDisplay.from_result(path, f).plot()
