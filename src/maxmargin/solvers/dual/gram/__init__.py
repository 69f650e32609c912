"""Dual problems on one kernel matrix: cells, folds, pairs of classes, left-out rows, subsets of columns."""
