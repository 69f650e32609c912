r"""
What is the space behind a polynomial kernel?
=============================================

:math:`(\tau + \gamma\langle x, z\rangle)^d` is the inner product of all monomials up to degree d.
The kernel costs two multiplications; the map has as many columns as there are monomials.
"""

from math import comb

import numpy as np
from sklearn.datasets import make_circles

import maxmargin as mm
from maxmargin.kernels import Polynomial, polynomial_map

x, z = np.array([[1.0, 2.0]]), np.array([[3.0, 4.0]])
print("kernel:", Polynomial(degree=2, gamma=1.0, coef0=1.0)(x, z)[0, 0])
print("map:   ", (polynomial_map(x, degree=2) @ polynomial_map(z, degree=2).T).item())
print("phi(x) =", polynomial_map(x, degree=2).round(3)[0])

# %%
# So a linear model on the mapped columns and a kernel model on the raw ones are the same model.
X, y = make_circles(200, factor=0.5, noise=0.1, random_state=0)
kernel = mm.SVC(kernel="poly", degree=2, gamma=1.0, coef0=1.0, tol=1e-6).fit(X, y)
mapped = mm.SVC(kernel="linear", tol=1e-6).fit(polynomial_map(X, degree=2), y)
difference = kernel.decision_function(X) - mapped.decision_function(polynomial_map(X, degree=2))
print(f"largest difference of the decisions: {np.abs(difference).max():.1e}")

# %%
# The map grows quickly; the cost of the kernel does not.
for p, d in ((2, 2), (10, 3), (256, 4)):
    print(f"{p} columns, degree {d}: {comb(p + d, d):,} monomials")

# %%
# The map (x1^2, sqrt2 x1 x2, x2^2) turns a circle into a plane.
flat = mm.SVC(kernel="poly", degree=2, gamma=1.0, coef0=0.0, C=10.0).fit(X, y)
mm.displays.FeatureMapDisplay.from_estimator(flat, X, y, names=["outside", "inside"]).plot()
