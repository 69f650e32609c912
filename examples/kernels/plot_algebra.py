"""
Can kernels be added and multiplied?
====================================

Yes: sums, products, powers, exponentials and positive multiples of kernels are kernels. A sum means
"similar in this *or* in that", a product "similar in this *and* in that". Each part may use its own
columns.
"""

import numpy as np
import pandas as pd

import maxmargin as mm
from maxmargin.kernels import RBF, Linear, Polynomial

rng = np.random.default_rng(0)
table = pd.DataFrame(rng.normal(size=(300, 3)), columns=["age", "dose", "noise"])
y = np.where(table["age"] + np.sin(3 * table["dose"]) > 0, "yes", "no")

kernels = {
    "linear": Linear(),
    "rbf on all": RBF(gamma=0.5),
    "age + dose": Linear(features=["age"]) + RBF(gamma=2.0, features=["dose"]),
    "age * dose": Polynomial(degree=2, coef0=1.0, features=["age"]) * RBF(gamma=2.0, features=["dose"]),
}
for name, kernel in kernels.items():
    found = mm.tune(mm.SVC(C=10.0), table, y, {"kernel": [kernel]}, cv=10, random_state=0)
    print(f"{name:12} error {found.best_error:.3f}   {kernel!r}")

# %%
# Every parameter inside a composed kernel has a name and can be tuned.
kernel = 1.0 * Linear(features=["age"]) + RBF(gamma=1.0, features=["dose"])
print([name for name in kernel.get_params() if "gamma" in name or "scale" in name])
grid = {"kernel__k1__scale": [0.1, 1.0], "kernel__k2__gamma": [0.5, 2.0, 8.0]}
print(mm.tune(mm.SVC(C=10.0, kernel=kernel), table, y, grid, cv=10, random_state=0).best_params)
