"""Kernel machines that do not need the dual engine."""

from maxmargin.kernel_machines.perceptron import KernelPerceptron
from maxmargin.kernel_machines.ridge import KernelRidge

__all__ = ["KernelPerceptron", "KernelRidge"]
