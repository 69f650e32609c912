"""Linear machines: batch, online and closed form."""

from maxmargin.linear.fisher import FisherDiscriminant
from maxmargin.linear.logistic import LogisticRegression, SeparationWarning
from maxmargin.linear.online import PassiveAggressive, Pegasos, Perceptron
from maxmargin.linear.squares import LeastSquares, Ridge
from maxmargin.linear.subgradient import SubgradientDescent
from maxmargin.linear.svc import LinearSVC
from maxmargin.linear.svr import LinearSVR

__all__ = [
    "FisherDiscriminant",
    "LeastSquares",
    "LinearSVC",
    "LinearSVR",
    "LogisticRegression",
    "PassiveAggressive",
    "Pegasos",
    "Perceptron",
    "Ridge",
    "SeparationWarning",
    "SubgradientDescent",
]
