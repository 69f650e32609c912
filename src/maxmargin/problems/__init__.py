"""Optimisation problems and the certificates that check their solutions."""

from maxmargin.problems.certificate import Certificate
from maxmargin.problems.solution import Solution, Status

__all__ = ["Certificate", "Solution", "Status"]
