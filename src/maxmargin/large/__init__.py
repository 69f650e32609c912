"""Kernel machines for many rows: low-rank maps with the primal engine."""

from maxmargin.large.approximation import Approximation
from maxmargin.large.cells import CellSVC
from maxmargin.large.classification import LargeSVC
from maxmargin.large.regression import LargeSVR
from maxmargin.large.ridge import LargeKernelRidge
from maxmargin.large.transformers import LowRank, RandomFourier

__all__ = ["LowRank", "RandomFourier", "LargeSVC", "LargeSVR", "LargeKernelRidge", "CellSVC", "Approximation"]
