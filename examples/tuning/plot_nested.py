"""
Is the error of the best cell honest?
=====================================

No: it is the smallest of many noisy errors, so it is too optimistic. ``mm.nested_error`` tunes inside each
outer fold and evaluates on rows that neither tuning nor fitting has seen. Random labels make the
difference obvious.
"""

import numpy as np

import maxmargin as mm

rng = np.random.default_rng(0)
X = rng.normal(size=(80, 10))
y = rng.integers(0, 2, size=80)  # nothing to learn: the true error is one half

grid = {"C": [2.0**k for k in range(-5, 11, 2)], "gamma": [2.0**k for k in range(-9, 2, 2)]}
best = mm.tune(mm.SVC(), X, y, grid, cv=5, random_state=0)
honest = mm.nested_error(mm.SVC(), X, y, grid, outer_cv=5, inner_cv=5, random_state=0)
print(f"error of the best of {len(best.table)} cells: {best.best_error:.3f}")
print(f"nested error: {honest.mean():.3f} (folds {np.round(honest, 2).tolist()})")
