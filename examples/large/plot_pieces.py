"""
Can I fit data in pieces?
=========================

Linear models only need sums over rows, so the rows may come in pieces: from files, an iterator, or a Dask
collection. The result and its certificate are those of a fit in memory.
"""

import dask.array as da
import numpy as np

import maxmargin as mm

rng = np.random.default_rng(0)
X = rng.normal(size=(2000, 5))
y = (X @ [1.0, -2.0, 0.5, 0.0, 1.0] + 0.3 * rng.normal(size=2000) > 0).astype(int)

whole = mm.LinearSVC(C=1.0, tol=1e-8).fit(X, y)
pieces = mm.LinearSVC(C=1.0, tol=1e-8).fit(da.from_array(X, chunks=(500, 5)), da.from_array(y, chunks=500))
print("all rows: ", whole.coef_.round(4))
print("in pieces:", pieces.coef_.round(4))
print(f"relative gap {pieces.certificate_.relative_gap:.1e}")

# %%
# The same from arrays, files or iterators, without Dask:
local = mm.pieces.from_array(X, y, rows=300)
print(mm.LinearSVC(C=1.0, tol=1e-8).fit(local).coef_.round(4))
