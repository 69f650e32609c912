"""
How many support vectors will I get?
====================================

The cost C of slack is hard to choose. nu has a direct meaning: at most a share nu of the rows lies
inside the band or on the wrong side, and at least a share nu are support vectors.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import make_moons

import maxmargin as mm

X, y = make_moons(200, noise=0.25, random_state=0)
values = np.linspace(0.2, 0.95, 16)
models = [mm.NuSVC(nu=nu, gamma=1.0).fit(X, y) for nu in values]
inside = [np.mean(np.isin(m.point_kinds_, ["inside", "misclassified"])) for m in models]
support = [len(m.support_) / len(X) for m in models]

figure, ax = plt.subplots(layout="constrained")
ax.plot(values, support, "s-", label="share of support vectors")
ax.plot(values, values, "k:", label="nu")
ax.plot(values, inside, "o-", label="share of margin errors")
ax.set_xlabel("nu")
ax.legend()

# %%
# nu cannot exceed twice the share of the smaller class; the error message states the limit.
try:
    mm.NuSVC(nu=0.9).fit(X[:120], np.repeat([0, 1], [100, 20]))
except ValueError as error:
    print(error)
