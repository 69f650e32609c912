"""
Which variables belong in the scorecard?
========================================

The information value of a variable is the symmetric Kullback-Leibler divergence between its distributions
among events and non-events. Below 0.02 the variable is useless, above 0.5 suspiciously good.
"""

import numpy as np
import pandas as pd

import maxmargin as mm

rng = np.random.default_rng(0)
n = 4000
late = (rng.random(n) < 0.2).astype(int)
X = pd.DataFrame(
    {
        "age": rng.normal(42 - 4 * late, 12),
        "income": rng.lognormal(10 - 0.25 * late, 0.6),
        "home": np.where(rng.random(n) < 0.5 - 0.1 * late, "own", "rent"),
        "shoe size": rng.normal(41, 2, n),
        "letters from the lawyer": rng.poisson(0.05 + 1.5 * late),
    }
)

table = mm.scorecards.information_value(X, late)
print(table.round(3).to_string())

# %%
# The last column is only known after the loan has failed. It leaks the target, and the table flags it.
mm.displays.IVDisplay.from_result(table).plot()
