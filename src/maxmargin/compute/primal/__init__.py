"""Jitted steps of the primal solvers."""
