"""
Why has my logistic regression no standard errors?
==================================================

Because a hyperplane separates the classes. Then the likelihood has no maximum: it grows as the weights
grow, for ever. maxmargin detects this, names the columns, and shows infinite coefficients without standard
errors instead of very large ones. The model itself points along the limit: the hyperplane with the widest
margin.
"""

import warnings

import numpy as np
import pandas as pd

import maxmargin as mm

rng = np.random.default_rng(0)
table = pd.DataFrame({"dose": rng.normal(size=40), "age": rng.normal(size=40)})
cured = (table["dose"] > 0.1).astype(int)  # the dose decides alone

with warnings.catch_warnings(record=True) as said:
    warnings.simplefilter("always")
    model = mm.LogisticRegression().fit(table, cured)
print(said[0].message)
print(model.summary().table[["coef", "std_err", "p_value"]])

# %%
# A penalty brings a finite answer back.
print(mm.LogisticRegression(C=1.0).fit(table, cured).coef_)
