"""Linear machines: batch and closed form."""

from maxmargin.machines.linear.fisher import FisherDiscriminant
from maxmargin.machines.linear.least_squares import LeastSquares, Ridge
from maxmargin.machines.linear.linear_svc import LinearSVC
from maxmargin.machines.linear.linear_svr import LinearSVR
from maxmargin.machines.linear.logistic import LogisticRegression, SeparationWarning

__all__ = [
    "FisherDiscriminant",
    "LeastSquares",
    "LinearSVC",
    "LinearSVR",
    "LogisticRegression",
    "Ridge",
    "SeparationWarning",
]
