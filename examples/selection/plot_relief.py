"""
Which neighbours does Relief compare?
=====================================

Relief looks at a row, its nearest row of the same class (hit) and its nearest row of another class
(miss). A column that differs to the miss and not to the hit is a good one (Gómez 2024, example 2.2).
"""

import numpy as np
import pandas as pd

import maxmargin as mm
from maxmargin.feature_selection import Relief

people = pd.DataFrame(
    {"height": [170, 147, 150, 154, 175, 152, 173, 177], "weight": [85, 75, 77, 81, 79, 80, 82, 84]}
)
tall = np.array(["tall", "short", "short", "short", "tall", "short", "tall", "tall"])
relief = Relief(distance="raw", n_instances=[0, 5]).fit(people, tall)
print(relief.neighbour_table(people, tall, 0).round(2))
print(dict(zip(people.columns, relief.scores_.round(3).tolist(), strict=True)))
mm.displays.NeighbourDisplay.from_estimator(relief, people, tall, [0, 5]).plot()
