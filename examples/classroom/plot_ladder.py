"""
Do all solvers find the same solution?
======================================

Textbooks present a ladder of solvers: general quadratic programming, chunking, decomposition, sequential
minimal optimisation. All of them, and the default engine, reach the same certified dual value.
"""

import matplotlib.pyplot as plt
from sklearn.datasets import make_moons

import maxmargin as mm

X, y = make_moons(300, noise=0.25, random_state=0)
rungs = ["qp", "chunking", "decomposition", "smo", "working_set"]
costs = {}
for rung in rungs:
    model = mm.SVC(C=10.0, gamma=1.0, tol=1e-5, solver=rung).fit(X, y)
    proof = mm.certify(model, X, y)
    costs[rung] = model.solution_.kernel_values
    print(f"{rung:14} dual {proof.dual:.6f}, KKT violation {proof.kkt:.1e}, steps {model.solution_.n_iter}")

# %%
# They differ in the number of kernel values they compute.
figure, ax = plt.subplots(layout="constrained")
ax.barh(rungs, costs.values(), color="#0072B2")
ax.set_xlabel("kernel values")
