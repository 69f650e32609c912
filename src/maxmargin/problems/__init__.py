"""Statements of mathematics, and the certificates that check an answer to them."""

from maxmargin.problems.certificate import Certificate
from maxmargin.problems.solution import Solution, Status

__all__ = ["Certificate", "Solution", "Status"]
