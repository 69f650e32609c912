"""One HTML page about a fitted model: ``mm.report`` writes it."""

from maxmargin.reports.page import report

__all__ = ["report"]
