"""Kernels K(x, z): on vectors and strings, composed by algebra, checked by Mercer's condition."""

from maxmargin.kernels.algebra import Exp, Mapped, Modulated, Normalized, Power, Product, Scaled, Sum
from maxmargin.kernels.base import Kernel
from maxmargin.kernels.mercer import MercerCheck, distance, mercer_check
from maxmargin.kernels.parsing import KernelExpressionError, as_kernel, parse
from maxmargin.kernels.precomputed import Function, Precomputed
from maxmargin.kernels.spectrum import Spectrum
from maxmargin.kernels.subsequence import Subsequence
from maxmargin.kernels.vectors import (
    RBF,
    Constant,
    Exponential,
    Laplacian,
    Linear,
    Periodic,
    Polynomial,
    QuadraticForm,
    Rank1,
    Sigmoid,
    polynomial_map,
)

__all__ = [
    "Kernel",
    "Constant",
    "Linear",
    "Polynomial",
    "RBF",
    "Laplacian",
    "Exponential",
    "Sigmoid",
    "Periodic",
    "QuadraticForm",
    "Rank1",
    "Mapped",
    "Modulated",
    "Sum",
    "Product",
    "Scaled",
    "Power",
    "Exp",
    "Normalized",
    "Subsequence",
    "Spectrum",
    "Precomputed",
    "Function",
    "as_kernel",
    "parse",
    "KernelExpressionError",
    "mercer_check",
    "MercerCheck",
    "distance",
    "polynomial_map",
]
