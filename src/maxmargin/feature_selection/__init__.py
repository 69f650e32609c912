"""Feature selection: filters, wrappers and embedded methods under one design.

A criterion scores a subset of the columns, a search proposes subsets, and a selector is a scikit-learn
transformer that keeps its whole history. Any search runs with any criterion.
"""

from maxmargin.feature_selection.rankers import FisherScore, InformationGain, SymmetricalUncertainty
from maxmargin.feature_selection.relief import Relief, ReliefF

__all__ = [
    "FisherScore",
    "InformationGain",
    "Relief",
    "ReliefF",
    "SymmetricalUncertainty",
]
