"""Kernels by name, as scikit-learn and LIBSVM call them."""

from __future__ import annotations

from typing import Any

from maxmargin.kernels.base import Kernel
from maxmargin.kernels.precomputed import Function, Precomputed
from maxmargin.kernels.vector_base import Gamma
from maxmargin.kernels.vectors import RBF, Exponential, Laplacian, Linear, Polynomial, Sigmoid

NAMES = ("linear", "poly", "rbf", "sigmoid", "laplacian", "exponential", "precomputed")


def as_kernel(kernel: Any, *, gamma: Gamma = "scale", coef0: float = 0.0, degree: int = 3) -> Kernel:
    """A Kernel from a name, a Kernel or a function; the other arguments belong to the names.

    >>> from maxmargin.kernels import as_kernel
    >>> as_kernel("poly", gamma=0.5, coef0=1.0, degree=2)
    Polynomial(gamma=0.5, coef0=1.0, degree=2)
    """
    if isinstance(kernel, Kernel):
        if (gamma, coef0, degree) != ("scale", 0.0, 3):
            raise ValueError(
                f"gamma, coef0 and degree belong to kernels given by name: set them on {kernel!r} itself."
            )
        return kernel
    match kernel:
        case "linear":
            return Linear()
        case "poly":
            return Polynomial(gamma=gamma, coef0=coef0, degree=degree)
        case "rbf":
            return RBF(gamma=gamma)
        case "sigmoid":
            return Sigmoid(gamma=gamma, coef0=coef0)
        case "laplacian":
            return Laplacian(gamma=gamma)
        case "exponential":
            return Exponential(gamma=gamma)
        case "precomputed":
            return Precomputed()
    if callable(kernel) and not isinstance(kernel, type):
        return Function(kernel)
    raise ValueError(f"kernel={kernel!r} is unknown: use a Kernel, a function or one of {', '.join(NAMES)}.")
