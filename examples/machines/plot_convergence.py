"""
How does the solver converge?
=============================

Each round solves a small block and updates the gradient of all rows. The violation falls, and rows
that have settled at a bound are set aside.
"""

from sklearn.datasets import load_digits

import maxmargin as mm

X, y = load_digits(return_X_y=True)
model = mm.SVC(C=100.0, gamma=1e-4, tol=1e-4).fit(X, y > 4)
print(model.solution_.status, f"after {model.solution_.n_iter} steps")
mm.displays.ConvergenceDisplay.from_estimator(model, X, y > 4).plot()
