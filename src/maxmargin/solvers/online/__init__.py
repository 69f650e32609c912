"""Solvers that look at one row after the other."""
