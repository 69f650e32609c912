"""Kernel machines that do not need the dual engine."""

from maxmargin.machines.kernel.kernel_perceptron import KernelPerceptron
from maxmargin.machines.kernel.kernel_ridge import KernelRidge

__all__ = ["KernelPerceptron", "KernelRidge"]
