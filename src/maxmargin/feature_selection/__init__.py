"""Feature selection: filters, wrappers and embedded methods under one design.

A criterion scores a subset of the columns, a search proposes subsets, and a selector is a scikit-learn
transformer that keeps its whole history. Any search runs with any criterion.
"""

from maxmargin.feature_selection.comparison import Comparison, compare
from maxmargin.feature_selection.criteria import (
    Bhattacharyya,
    CFSMerit,
    Criterion,
    Custom,
    Divergence,
    Mahalanobis,
    cfs_merit,
)
from maxmargin.feature_selection.rankers import FisherScore, InformationGain, SymmetricalUncertainty
from maxmargin.feature_selection.relief import SURF, MultiSURF, Relief, ReliefF, TuRF
from maxmargin.feature_selection.rfe import RFE, RFECV
from maxmargin.feature_selection.searches import BranchAndBound, Exhaustive, Search
from maxmargin.feature_selection.sequential import Backward, BestFirst, Floating, Forward
from maxmargin.feature_selection.sparse import SparseSVMSelector
from maxmargin.feature_selection.stochastic import Genetic, SimulatedAnnealing
from maxmargin.feature_selection.subset import SBS, SFS, SequentialFeatureSelector, SubsetSelector
from maxmargin.feature_selection.wrappers import CrossValidatedError, LeaveOneOutError

__all__ = [
    # rankers
    "FisherScore",
    "InformationGain",
    "MultiSURF",
    "Relief",
    "ReliefF",
    "SURF",
    "SymmetricalUncertainty",
    "TuRF",
    # criteria
    "Bhattacharyya",
    "CFSMerit",
    "Criterion",
    "CrossValidatedError",
    "Custom",
    "Divergence",
    "LeaveOneOutError",
    "Mahalanobis",
    "cfs_merit",
    # searches
    "Backward",
    "BestFirst",
    "BranchAndBound",
    "Exhaustive",
    "Floating",
    "Forward",
    "Genetic",
    "Search",
    "SimulatedAnnealing",
    # selectors
    "RFE",
    "RFECV",
    "SBS",
    "SFS",
    "SequentialFeatureSelector",
    "SparseSVMSelector",
    "SubsetSelector",
    # side by side
    "Comparison",
    "compare",
]
