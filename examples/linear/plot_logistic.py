"""
What do the coefficients mean?
==============================

``mm.LogisticRegression`` maximises the likelihood (no penalty by default) and ``summary()`` reports
standard errors, z, p values, odds ratios with intervals, deviance and AIC.
"""

from sklearn.datasets import load_breast_cancer
from sklearn.preprocessing import StandardScaler

import maxmargin as mm

data = load_breast_cancer(as_frame=True)
columns = ["mean texture", "mean smoothness", "mean symmetry"]
X = StandardScaler().set_output(transform="pandas").fit_transform(data.data[columns])
malignant = (data.target == 0).astype(int)

print(mm.LogisticRegression().fit(X, malignant).summary())

# %%
# A texture one standard deviation higher multiplies the odds of malignancy by its odds ratio.
