"""
Which subset is best?
=====================

A criterion scores subsets and a search proposes them. Any search works with any criterion.
"""

from sklearn.datasets import load_wine
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import maxmargin as mm
from maxmargin.feature_selection import (
    Backward,
    BestFirst,
    CrossValidatedError,
    Exhaustive,
    Floating,
    Forward,
    Genetic,
    SimulatedAnnealing,
    SubsetSelector,
)

X, y = load_wine(return_X_y=True, as_frame=True)
X = X.iloc[:, :8]
error = CrossValidatedError(make_pipeline(StandardScaler(), mm.SVC(gamma=0.1)), cv=5)
searches = {
    "exhaustive": Exhaustive(),
    "forward": Forward(),
    "backward": Backward(),
    "floating": Floating(),
    "best first": BestFirst(),
    "annealing": SimulatedAnnealing(T0=0.1, cooling=0.7),
    "genetic": Genetic(population=12, generations=8),
}
for name, search in searches.items():
    found = SubsetSelector(search, error, random_state=0).fit(X, y)
    print(f"{name:11} error {found.score_:.4f}, {found.n_evaluations_:3} subsets, {found.selected_}")
