"""Solvers of loss plus penalty in the weights."""
