"""
Why has my logistic regression no standard errors?
==================================================

Because a hyperplane separates the classes. The likelihood then has no maximum: it keeps growing with the
weights. maxmargin detects this, names the columns, and shows infinite coefficients without standard errors
instead of huge ones. The model points along the limit: the hyperplane with the widest margin.
"""

import warnings

import numpy as np
import pandas as pd

import maxmargin as mm

rng = np.random.default_rng(0)
table = pd.DataFrame({"dose": rng.normal(size=40), "age": rng.normal(size=40)})
cured = (table["dose"] > 0.1).astype(int)  # the dose alone decides

with warnings.catch_warnings(record=True) as said:
    warnings.simplefilter("always")
    model = mm.LogisticRegression().fit(table, cured)
print(said[0].message)
print(model.summary().table[["coef", "std_err", "p_value"]])

# %%
# With a penalty the solution is finite again.
print(mm.LogisticRegression(C=1.0).fit(table, cured).coef_)
