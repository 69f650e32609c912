"""Jitted work on tables of numbers, dense or sparse: products, sums over rows, orders of rows."""
