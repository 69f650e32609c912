"""Tuning: grids, folds, shared Gram matrices, and the result."""

from maxmargin.tuning.grid_search import GridSearch, nested_error
from maxmargin.tuning.result import TuneResult
from maxmargin.tuning.search import tune

__all__ = ["GridSearch", "TuneResult", "nested_error", "tune"]
