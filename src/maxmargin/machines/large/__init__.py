"""Kernel machines for many rows: low-rank maps with the primal engine."""

from maxmargin.machines.large.approximation import Approximation
from maxmargin.machines.large.cell_svc import CellSVC
from maxmargin.machines.large.large_ridge import LargeKernelRidge
from maxmargin.machines.large.large_svm import LargeSVC, LargeSVR
from maxmargin.machines.large.transformers import LowRank, RandomFourier

__all__ = ["LowRank", "RandomFourier", "LargeSVC", "LargeSVR", "LargeKernelRidge", "CellSVC", "Approximation"]
