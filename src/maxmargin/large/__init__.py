"""Kernel machines for many rows: low-rank maps with the primal engine."""

from maxmargin.large.transformers import LowRank, RandomFourier

__all__ = ["LowRank", "RandomFourier"]
