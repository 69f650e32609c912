"""
Is my model really optimal?
===========================

Every fit ends with a certificate that the *problem* computes from the solution alone, in double
precision: the primal value, the dual value, their gap, and the largest violation of the optimality
conditions. The solver has no say in it.
"""

import matplotlib.pyplot as plt
from sklearn.datasets import load_breast_cancer
from sklearn.preprocessing import StandardScaler

import maxmargin as mm

X, y = load_breast_cancer(return_X_y=True)
X = StandardScaler().fit_transform(X)

model = mm.SVC(C=10.0, gamma=0.01).fit(X, y)
print(model.certificate_)

# %%
# A smaller ``tol`` gives a smaller gap. A fit that does not reach ``tol`` gives a warning.
tolerances = [1e-1, 1e-2, 1e-3, 1e-4, 1e-5, 1e-6]
proofs = [mm.certify(mm.SVC(C=10.0, gamma=0.01, tol=tol).fit(X, y), X, y) for tol in tolerances]

figure, ax = plt.subplots(layout="constrained")
ax.loglog(tolerances, [p.kkt for p in proofs], "o-", label="largest KKT violation")
ax.loglog(tolerances, [max(p.gap, 1e-16) for p in proofs], "s-", label="duality gap")
ax.loglog(tolerances, tolerances, "k:", label="tol")
ax.set_xlabel("tol")
ax.legend()
