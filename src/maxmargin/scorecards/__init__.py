"""Scorecards: binning, weight of evidence, information value, points, population stability."""

from maxmargin.scorecards.binning import Binning
from maxmargin.scorecards.bins import Bins, CategoryBins, NumberBins
from maxmargin.scorecards.evidence import iv_of_counts, weight_of_evidence
from maxmargin.scorecards.iv import IVSelector, information_value, iv_table, read_iv
from maxmargin.scorecards.scorecard import Scorecard, ScorecardWarning
from maxmargin.scorecards.stability import StabilityResult, population_stability, read_psi, variable_stability
from maxmargin.scorecards.woe import WOEEncoder

__all__ = [
    "Binning",
    "Bins",
    "NumberBins",
    "CategoryBins",
    "WOEEncoder",
    "weight_of_evidence",
    "iv_of_counts",
    "information_value",
    "iv_table",
    "read_iv",
    "IVSelector",
    "Scorecard",
    "ScorecardWarning",
    "population_stability",
    "variable_stability",
    "StabilityResult",
    "read_psi",
]
