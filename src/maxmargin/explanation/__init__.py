"""Why a machine decides as it does: one row as a sum over support vectors, and the conditions of all rows."""

from maxmargin.explanation.conditions import kkt_table
from maxmargin.explanation.decision import Explanation, explain

__all__ = ["explain", "Explanation", "kkt_table"]
