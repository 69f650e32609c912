"""
Which weights may be zero?
==========================

An l2 penalty makes weights small, an l1 penalty makes some of them exactly zero, and the concave
approximation of l0 makes even more of them zero and shrinks the others less.
"""

import matplotlib.pyplot as plt
import numpy as np

import maxmargin as mm

rng = np.random.default_rng(0)
X = rng.normal(size=(200, 30))
y = np.where(X[:, :3] @ [2.0, -1.5, 1.0] + 0.5 * rng.normal(size=200) > 0, 1, 0)

penalties = {"l2": 1.0, "l1": 8.0, "l1l2": 8.0, "l0": 8.0}
figure, axes = plt.subplots(1, 4, figsize=(13, 3), layout="constrained", sharey=True)
for ax, (penalty, sparsity) in zip(axes, penalties.items(), strict=True):
    model = mm.LinearSVC(C=1.0, penalty=penalty, sparsity=sparsity, random_state=0).fit(X, y)
    used = np.flatnonzero(model.coef_[0])
    ax.stem(model.coef_[0])
    ax.set_title(f"{penalty}: {len(used)} weights")
    proof = model.certificate_
    how_near = f"relative gap {proof.relative_gap:.1e}" if proof.convex else "not convex: a stationary point"
    print(f"{penalty:5} {len(used):2} weights, {how_near}")
