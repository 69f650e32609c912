"""Scorecards: binning, weight of evidence, information value, points, population stability."""

from maxmargin.scoring.binning import Binning
from maxmargin.scoring.bins import Bins, CategoryBins, NumberBins
from maxmargin.scoring.evidence import iv_of_counts, weight_of_evidence

__all__ = ["Binning", "Bins", "NumberBins", "CategoryBins", "weight_of_evidence", "iv_of_counts"]
