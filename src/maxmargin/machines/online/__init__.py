"""Online machines: one row at a time."""

from maxmargin.machines.online.online_learners import PassiveAggressive, Perceptron
from maxmargin.machines.online.subgradient_descent import Pegasos, SubgradientDescent

__all__ = ["PassiveAggressive", "Pegasos", "Perceptron", "SubgradientDescent"]
