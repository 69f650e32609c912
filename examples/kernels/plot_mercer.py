"""
Is this a kernel?
=================

A function is a kernel if every Gram matrix is symmetric without negative eigenvalues. ``mercer_check``
tests this on given rows. A negative eigenvalue comes with a witness: a vector w with w'Kw < 0.
"""

import warnings

import matplotlib.pyplot as plt
import numpy as np

import maxmargin as mm
from maxmargin.kernels import RBF, Periodic, Polynomial, Sigmoid, mercer_check

X = np.random.default_rng(0).normal(size=(60, 2))
with warnings.catch_warnings():
    warnings.simplefilter("ignore")  # Sigmoid says by itself that it may fail
    candidates = {
        "RBF": RBF(gamma=1.0),
        "polynomial": Polynomial(degree=3, coef0=1.0, gamma=1.0),
        "periodic": Periodic(period=2.0),
        "sigmoid": Sigmoid(gamma=1.0, coef0=-1.0),
    }

figure, ax = plt.subplots(layout="constrained")
for name, kernel in candidates.items():
    check = mercer_check(kernel, X)
    print(f"{name:10} {check}")
    ax.plot(check.spectrum[::-1], ".-", label=name)
ax.axhline(0, color="k", linewidth=0.5)
ax.set_yscale("symlog", linthresh=1e-6)
ax.set(xlabel="number", ylabel="eigenvalue")
ax.legend()

# %%
# The witness proves it:
K = candidates["sigmoid"](X)
w = mercer_check(K).witness
print(f"w'Kw = {w @ K @ w:.3f}")

# %%
# The Gram matrix, its spectrum, and the similarity to one row:
mm.displays.KernelDisplay.from_estimator(RBF(gamma=1.0), X, X[:, 0] > 0).plot()
