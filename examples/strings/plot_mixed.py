"""
How do I combine text and numbers?
==================================

Add kernels on different columns of a dataframe: a string kernel on the message and an RBF kernel on the
numbers.
"""

import numpy as np
import pandas as pd

import maxmargin as mm
from maxmargin.kernels import RBF, Subsequence

rng = np.random.default_rng(0)
polite = ["see you at home", "lunch at noon", "call me later", "thanks for coming", "train is late"]
pushy = ["win a prize now", "free cash today", "claim your bonus", "last chance to win", "urgent offer"]
rows = []
for _ in range(120):
    spam = rng.random() < 0.5
    text = rng.choice(pushy if rng.random() < (0.85 if spam else 0.15) else polite)
    rows.append((text, rng.poisson(2.0 if spam else 0.6), rng.normal(3 if spam else 14, 4), spam))
table = pd.DataFrame(rows, columns=["message", "links", "hour", "spam"])
y = np.where(table.pop("spam"), "spam", "ham")

kernels = {
    "text": Subsequence(length=3, features="message"),
    "numbers": RBF(gamma=0.05, features=["links", "hour"]),
}
kernels["both"] = kernels["text"] + kernels["numbers"]
for name, kernel in kernels.items():
    found = mm.tune(mm.SVC(), table, y, {"kernel": [kernel], "C": [1.0]}, cv=10, random_state=0)
    print(f"{name:8} error {found.best_error:.3f}")
