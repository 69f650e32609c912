"""
How do I turn a model into points?
==================================

A scorecard is a logistic regression on weights of evidence, scaled to points that add up: 600 points mean
odds of 50 to 1, and 20 more points double the odds.
"""

import numpy as np
import pandas as pd

import maxmargin as mm

rng = np.random.default_rng(0)
n = 2000
X = pd.DataFrame(
    {
        "age": rng.integers(18, 80, n).astype(float),
        "income": np.exp(rng.normal(10, 0.6, n)),
        "home": rng.choice(["own", "rent", "family"], n, p=[0.5, 0.4, 0.1]),
    }
)
log_odds = 0.5 - X["age"] / 30 - 0.8 * (np.log(X["income"]) - 10) + 0.7 * (X["home"] == "rent")
y = np.where(rng.random(n) < 1 / (1 + np.exp(-log_odds)), "bad", "good")

card = mm.Scorecard(positive="bad").fit(X, y)
print(card.points_[["variable", "bin", "event_rate", "woe", "points"]].round(3).to_string(index=False))

# %%
# Why did this applicant get that many points?
print(card.explain(X.iloc[0]).to_string())

# %%
points = card.points(X)
mm.displays.ScoreDisplay.from_scores(y, points, positive="bad", what="points").plot()
