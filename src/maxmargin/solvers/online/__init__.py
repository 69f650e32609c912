"""Solvers that process one row at a time, and subgradient methods."""
