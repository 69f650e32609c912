"""Solvers of loss plus penalty in the primal weights."""
