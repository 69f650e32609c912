"""Kernel machines without a dual quadratic problem."""

from maxmargin.machines.kernel.kernel_perceptron import KernelPerceptron
from maxmargin.machines.kernel.kernel_ridge import KernelRidge

__all__ = ["KernelPerceptron", "KernelRidge"]
