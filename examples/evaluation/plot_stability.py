"""
Has the population changed?
===========================

The population stability index compares the current shares of the bins with those at the time of the fit.
Below 0.1 the population is stable; above 0.25 it has shifted strongly.
"""

import numpy as np
import pandas as pd

import maxmargin as mm

rng = np.random.default_rng(0)
n = 2000
then = pd.DataFrame({"age": rng.normal(45, 12, n), "income": np.exp(rng.normal(10, 0.5, n))})
log_odds = (then["age"] - 35) / 10 + np.log(then["income"]) - 10
y = (rng.random(n) < 1 / (1 + np.exp(log_odds))).astype(int)
card = mm.Scorecard().fit(then, y)

now = pd.DataFrame({"age": rng.normal(38, 12, n), "income": np.exp(rng.normal(10, 0.5, n))})
print(mm.scorecards.population_stability(card.points(then), card.points(now)))
print(mm.scorecards.variable_stability(card, then, now).round(4))
