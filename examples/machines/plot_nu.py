"""
How many support vectors will I get?
====================================

C says what slack costs, which is hard to choose. nu says what is wanted: at most a share nu of the rows
inside the band or wrong, and at least a share nu of support vectors.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import make_moons

import maxmargin as mm

X, y = make_moons(200, noise=0.25, random_state=0)
values = np.linspace(0.05, 0.95, 19)
machines = [mm.NuSVC(nu=nu, gamma=1.0).fit(X, y) for nu in values]
inside = [np.mean(np.isin(m.point_kinds_, ["inside", "misclassified"])) for m in machines]
support = [len(m.support_) / len(X) for m in machines]

figure, ax = plt.subplots(layout="constrained")
ax.plot(values, support, "s-", label="share of support vectors")
ax.plot(values, values, "k:", label="nu")
ax.plot(values, inside, "o-", label="share of margin errors")
ax.set_xlabel("nu")
ax.legend()

# %%
# nu cannot exceed twice the share of the smaller class; the error says what is possible.
try:
    mm.NuSVC(nu=0.9).fit(X[:120], np.repeat([0, 1], [100, 20]))
except ValueError as error:
    print(error)
