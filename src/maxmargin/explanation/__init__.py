"""Explanations: a decision as a sum over support vectors, the KKT conditions, every state of a fit."""

from maxmargin.explanation.conditions import kkt_table
from maxmargin.explanation.decision import Explanation, explain
from maxmargin.explanation.steps import Step, Steps, steps

__all__ = ["explain", "Explanation", "kkt_table", "steps", "Steps", "Step"]
