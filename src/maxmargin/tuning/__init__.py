"""Tuning: grids, folds, the choice of a shared kernel matrix, and results."""

from maxmargin.tuning.grid_search import GridSearch, RandomSearch, nested_error
from maxmargin.tuning.result import TuneResult
from maxmargin.tuning.search import tune

__all__ = ["GridSearch", "RandomSearch", "TuneResult", "nested_error", "tune"]
