"""Scorecards: binning, weight of evidence, information value, points, population stability."""

from maxmargin.scoring.binning import Binning
from maxmargin.scoring.bins import Bins, CategoryBins, NumberBins
from maxmargin.scoring.evidence import iv_of_counts, weight_of_evidence
from maxmargin.scoring.iv import IVSelector, information_value, iv_table, read_iv
from maxmargin.scoring.scorecard import Scorecard, ScorecardWarning
from maxmargin.scoring.stability import StabilityResult, population_stability, read_psi, variable_stability
from maxmargin.scoring.woe import WOEEncoder

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
