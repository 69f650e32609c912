"""Least squares and ridge regression: paths of penalties, sums over pieces, kernel systems."""
