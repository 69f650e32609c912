"""
Can I use my own kernel?
========================

Yes: pass a function of two sets of rows, or a matrix of kernel values.
"""

import numpy as np
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split

import maxmargin as mm
from maxmargin.kernels import mercer_check


def intersection(A, B):
    """Histogram intersection: the sum of the smaller counts, pixel by pixel."""
    return np.minimum(A[:, None, :], B[None, :, :]).sum(axis=2)


X, y = load_digits(return_X_y=True)
X_train, X_test, y_train, y_test = train_test_split(X, y, train_size=300, random_state=0, stratify=y)

model = mm.SVC(kernel=intersection).fit(X_train, y_train)
print(f"own function: error {1 - model.score(X_test, y_test):.3f}")
print(mercer_check(intersection(X_train[:100], X_train[:100])))

# %%
# The same with matrices: training rows against themselves, then new rows against training rows.
given = mm.SVC(kernel="precomputed").fit(intersection(X_train, X_train), y_train)
print(f"precomputed:  error {1 - given.score(intersection(X_test, X_train), y_test):.3f}")
