"""Kernels by name ("rbf"), and from expressions such as ``2*RBF(gamma=0.1) + Linear()``.

Expressions are parsed to Python's syntax tree, never evaluated, and only the nodes listed here are allowed.
"""

from __future__ import annotations

import ast
import warnings
from collections.abc import Callable
from dataclasses import fields
from difflib import get_close_matches
from math import isfinite
from typing import Any

from maxmargin.kernels.base import Kernel
from maxmargin.kernels.precomputed import Function, Precomputed
from maxmargin.kernels.spectrum import Spectrum
from maxmargin.kernels.subsequence import Subsequence
from maxmargin.kernels.vector_base import Gamma
from maxmargin.kernels.vectors import (
    RBF,
    Constant,
    Exponential,
    Laplacian,
    Linear,
    Periodic,
    Polynomial,
    QuadraticForm,
    Sigmoid,
)

NAMES = (
    "linear", "poly", "polynomial", "rbf", "sigmoid", "laplacian", "exponential", "cosine", "precomputed",
)  # fmt: skip


def as_kernel(kernel: Any, *, gamma: Gamma | None = "scale", coef0: float = 0.0, degree: int = 3) -> Kernel:
    """A Kernel from a name, an expression, a Kernel or a function; the parameters only apply to names.

    gamma=None is 1 / n_features, as in scikit-learn's pairwise kernels.

    >>> from maxmargin.kernels import as_kernel
    >>> as_kernel("poly", gamma=0.5, coef0=1.0, degree=2)
    Polynomial(gamma=0.5, coef0=1.0, degree=2)
    >>> as_kernel("RBF(gamma=1) + Linear()")
    RBF(gamma=1) + Linear()
    """
    if isinstance(kernel, str) and "(" in kernel:
        kernel = parse(kernel)
    if isinstance(kernel, Kernel):
        if (gamma, coef0, degree) != ("scale", 0.0, 3):
            raise ValueError(
                f"gamma, coef0 and degree only apply to kernels given by name: set them on {kernel!r} itself."
            )
        return kernel
    gamma = "auto" if gamma is None else gamma
    match kernel:
        case "linear":
            return Linear()
        case "cosine":
            return Linear().normalized()
        case "poly" | "polynomial":
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
    raise ValueError(
        f"kernel={kernel!r} is unknown: use a Kernel, a function, an expression such as "
        f"'2*RBF(gamma=0.1) + Linear()', or one of {', '.join(NAMES)}."
    )


# -- expressions --------------------------------------------------------------------------------------------

_KINDS: dict[str, Callable[..., Kernel]] = {
    kind.__name__: kind
    for kind in (
        Constant, Linear, Polynomial, RBF, Laplacian, Exponential, Sigmoid, Periodic, QuadraticForm,
        Subsequence, Spectrum,
    )
}  # fmt: skip
_CHANGES: dict[str, Callable[[Kernel], Kernel]] = {"exp": Kernel.exp, "normalized": Kernel.normalized}
_NEED_CODE = ("Rank1", "Mapped", "Modulated", "Function", "Precomputed")

MAX_LENGTH = 1000  # characters
MAX_DEPTH = 40
MAX_NODES = 300
MAX_NUMBER = 1e100
MAX_WHOLE = 1000  # degrees and lengths


class KernelExpressionError(ValueError):
    """A kernel expression cannot be read. ``column`` is where, counted from 1.

    >>> from maxmargin.kernels import KernelExpressionError, parse
    >>> try:
    ...     parse("Linear() + open('x')")
    ... except KernelExpressionError as error:
    ...     error.column
    12
    """

    def __init__(self, message: str, column: int) -> None:
        self.column = column
        super().__init__(f"kernel expression, column {column}: {message}")


def parse(text: str) -> Kernel:
    """The kernel that ``text`` describes; the printed form of a kernel can be parsed again.

    ``+``, ``*`` and ``**`` with a whole number, ``.exp()`` and ``.normalized()`` (or ``exp(...)``,
    ``normalized(...)``), numbers as factors and terms, and the kernels by name with their parameters, such as
    ``features=["age", "dose"]``. Kernels that need a Python function cannot be written. Nothing is evaluated:
    any other text raises `KernelExpressionError` with the column.

    >>> import maxmargin as mm
    >>> mm.kernels.parse("2*RBF(gamma=0.1)+Linear()")
    2 * RBF(gamma=0.1) + Linear()
    >>> mm.kernels.parse("RBF(0.1).predict()")
    Traceback (most recent call last):
    ...
    maxmargin.kernels.parsing.KernelExpressionError: kernel expression, column 1: '.predict()' is unknown: use .exp() or .normalized().
    """  # noqa: E501  # the message is shown as it is
    if not isinstance(text, str):
        raise TypeError(f"a kernel expression is text, got {type(text).__name__}.")
    if len(text) > MAX_LENGTH:
        raise KernelExpressionError(
            f"{len(text)} characters are too many ({MAX_LENGTH} at most).", MAX_LENGTH
        )
    if not text.strip():
        raise KernelExpressionError("the text is empty: write a kernel such as RBF(gamma=0.1).", 1)
    flat = text.replace("\n", " ").replace("\r", " ").lstrip(" \t")
    reader = _Reader(flat, len(text) - len(flat))
    value = reader.read(_tree(flat), 0)
    if not isinstance(value, Kernel):
        raise KernelExpressionError(f"{_shown(value)} is not a kernel: write Constant(...), or a kernel.", 1)
    return value


def _tree(text: str) -> ast.expr:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", SyntaxWarning)  # "2(...)" warns before it is refused here
            return ast.parse(text, mode="eval").body
    except SyntaxError as wrong:
        column = min(max(wrong.offset or 1, 1), len(text) + 1)
        raise KernelExpressionError(f"this is not an expression ({wrong.msg}).", column) from None
    except (ValueError, RecursionError, MemoryError):
        raise KernelExpressionError("this is not an expression.", 1) from None


class _Reader:
    """Translates the nodes that may occur in a kernel expression and refuses all others."""

    def __init__(self, text: str, offset: int) -> None:
        self._bytes = text.encode(errors="replace")
        self._offset = offset
        self._n_nodes = 0

    def refusal(self, node: ast.AST, message: str) -> KernelExpressionError:
        before = self._bytes[: getattr(node, "col_offset", 0)]  # Python counts bytes
        return KernelExpressionError(message, len(before.decode(errors="ignore")) + 1 + self._offset)

    def read(self, node: ast.AST, depth: int) -> Any:
        """A kernel, number, text, None, truth value or list."""
        self._n_nodes += 1
        if depth > MAX_DEPTH or self._n_nodes > MAX_NODES:
            raise self.refusal(
                node, f"the expression is too large ({MAX_NODES} parts, {MAX_DEPTH} levels at most)."
            )
        match node:
            case ast.Constant():
                return self._constant(node)
            case ast.BinOp():
                return self._operation(node, depth)
            case ast.UnaryOp(op=ast.USub() | ast.UAdd()):
                return self._signed(node, depth)
            case ast.List() | ast.Tuple():
                return [self.read(item, depth + 1) for item in node.elts]
            case ast.Call():
                return self._call(node, depth)
            case ast.Name():
                raise self._bare_name(node)
        raise self.refusal(node, f"{ast.unparse(node)[:40]!r} has no meaning in a kernel expression.")

    # -- values --------------------------------------------------------------------------------------

    def _constant(self, node: ast.Constant) -> Any:
        value = node.value
        if value is None or isinstance(value, (bool, str)):
            return value
        if isinstance(value, (int, float)):
            return self._number(node, value)
        raise self.refusal(node, f"{ast.unparse(node)[:40]} has no meaning in a kernel expression.")

    def _number(self, node: ast.AST, value: int | float) -> int | float:
        if abs(value) > MAX_NUMBER or not isfinite(value):
            raise self.refusal(node, f"numbers must be between -{MAX_NUMBER:g} and {MAX_NUMBER:g}.")
        return value

    def _signed(self, node: ast.UnaryOp, depth: int) -> Any:
        value = self.read(node.operand, depth + 1)
        if isinstance(value, Kernel):
            raise self.refusal(node, "kernels cannot be negated: multiply by a positive number instead.")
        if not _is_number(value):
            raise self.refusal(node, f"{_shown(value)} cannot have a sign.")
        return -value if isinstance(node.op, ast.USub) else value

    # -- algebra -------------------------------------------------------------------------------------

    def _operation(self, node: ast.BinOp, depth: int) -> Any:
        left, right = self.read(node.left, depth + 1), self.read(node.right, depth + 1)
        for side, value in ((node.left, left), (node.right, right)):
            if not (isinstance(value, Kernel) or _is_number(value)):
                raise self.refusal(side, f"{_shown(value)} cannot be added, multiplied or raised.")
        if _is_number(left) and _is_number(right):
            return self._arithmetic(node, left, right)
        match node.op:
            case ast.Add():
                return self._build(node, lambda: left + right)
            case ast.Mult():
                return self._build(node, lambda: left * right)
            case ast.Pow():
                return self._power(node, left, right)
        raise self.refusal(
            node, "only +, * and ** combine kernels; " + _WHY.get(type(node.op), "no other operator.")
        )

    def _power(self, node: ast.BinOp, kernel: Any, degree: Any) -> Kernel:
        if not isinstance(kernel, Kernel) or isinstance(degree, Kernel):
            raise self.refusal(node, "write kernel ** whole number, such as Linear() ** 2.")
        self._check_whole(node.right, degree)
        return self._build(node, lambda: kernel**degree)

    def _arithmetic(self, node: ast.BinOp, left: Any, right: Any) -> int | float:
        """Arithmetic on numbers, such as 1/3 or 2**-5, in floating point."""
        operations: dict[type[ast.operator], Callable[[float, float], float]] = {
            ast.Add: lambda a, b: a + b,
            ast.Sub: lambda a, b: a - b,
            ast.Mult: lambda a, b: a * b,
            ast.Div: lambda a, b: a / b,
            ast.Pow: lambda a, b: a**b,
        }
        compute = operations.get(type(node.op))
        if compute is None:
            raise self.refusal(node, "numbers can be combined with +, -, *, / and **.")
        try:
            value = compute(float(left), float(right))
        except (ArithmeticError, ValueError):
            value = float("nan")
        if isinstance(value, complex) or not isfinite(value):
            raise self.refusal(node, f"{ast.unparse(node)[:40]} is not a finite number.")
        whole = isinstance(left, int) and isinstance(right, int) and value.is_integer() and abs(value) < 2**53
        return self._number(node, int(value) if whole else value)

    # -- calls ---------------------------------------------------------------------------------------

    def _call(self, node: ast.Call, depth: int) -> Kernel:
        match node.func:
            case ast.Attribute():
                return self._method(node, node.func, depth)
            case ast.Name(id=name) if name in _CHANGES:
                if len(node.args) != 1 or node.keywords:
                    raise self.refusal(node, f"{name}(...) takes one kernel.")
                return self._changed(node, name, self.read(node.args[0], depth + 1))
            case ast.Name(id=name) if name in _KINDS:
                return self._kernel(node, name, depth)
            case ast.Name(id=name):
                raise self._unknown(node, name)
        raise self.refusal(node, "only kernels can be called, by their name.")

    def _method(self, node: ast.Call, attribute: ast.Attribute, depth: int) -> Kernel:
        name = attribute.attr
        if name not in _CHANGES:
            raise self.refusal(node, f"'.{name[:30]}()' is unknown: use .exp() or .normalized().")
        if node.args or node.keywords:
            raise self.refusal(node, f".{name}() takes no arguments.")
        return self._changed(node, name, self.read(attribute.value, depth + 1))

    def _changed(self, node: ast.AST, name: str, kernel: Any) -> Kernel:
        if not isinstance(kernel, Kernel):
            raise self.refusal(node, f"{name} belongs to a kernel, not to {_shown(kernel)}.")
        return self._build(node, lambda: _CHANGES[name](kernel))

    def _kernel(self, node: ast.Call, name: str, depth: int) -> Kernel:
        kind: Any = _KINDS[name]
        known = [field.name for field in fields(kind) if field.init]
        args: list[Any] = []
        for place in node.args:
            if isinstance(place, ast.Starred):
                raise self.refusal(place, "* and ** are not allowed in front of a parameter.")
            args.append(self._parameter(place, "", depth))
        given: dict[str, Any] = {}
        for keyword in node.keywords:
            if keyword.arg is None or keyword.arg not in known:
                raise self.refusal(
                    keyword, f"{name} has no parameter {keyword.arg or '**'!r}: it has {', '.join(known)}."
                )
            given[keyword.arg] = self._parameter(keyword.value, keyword.arg, depth)
        return self._build(node, lambda: kind(*args, **given))

    def _parameter(self, node: ast.AST, name: str, depth: int) -> Any:
        bare = next((part.id for part in ast.walk(node) if isinstance(part, ast.Name)), None)
        if name == "features" and bare is not None:
            raise self.refusal(node, f"the name of a column is written in quotes: features='{bare[:40]}'.")
        value = self.read(node, depth + 1)
        if isinstance(value, Kernel):
            raise self.refusal(node, "a kernel cannot be the parameter of a kernel: use +, * or **.")
        if name in ("degree", "length"):
            self._check_whole(node, value)
        return value

    def _check_whole(self, node: ast.AST, value: Any) -> None:
        if isinstance(value, bool) or not isinstance(value, int) or not 1 <= value <= MAX_WHOLE:
            raise self.refusal(node, f"{_shown(value)} must be a whole number from 1 to {MAX_WHOLE}.")

    def _build(self, node: ast.AST, make: Callable[[], Kernel]) -> Kernel:
        """Build a kernel; errors of its constructor become one line with the column."""
        try:
            return make()
        except (TypeError, ValueError, OverflowError) as refused:
            raise self.refusal(node, " ".join(str(refused).split())[:300]) from None

    # -- names ---------------------------------------------------------------------------------------

    def _bare_name(self, node: ast.Name) -> KernelExpressionError:
        if node.id in _KINDS:
            return self.refusal(node, f"write {node.id}() with parentheses.")
        return self._unknown(node, node.id)

    def _unknown(self, node: ast.AST, name: str) -> KernelExpressionError:
        if name in _NEED_CODE:
            return self.refusal(
                node, f"{name} needs a Python function or matrix and cannot be written as text."
            )
        by_lower = {known.lower(): known for known in _KINDS}
        close = get_close_matches(name.lower(), by_lower, n=1, cutoff=0.6)
        hint = f"did you mean {by_lower[close[0]]}?" if close else f"there are {', '.join(_KINDS)}."
        return self.refusal(node, f"there is no kernel {name[:40]!r}: {hint}")


_WHY = {
    ast.Sub: "a difference of kernels is in general not a kernel.",
    ast.Div: "to divide by a number, multiply by its inverse.",
}


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def _shown(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 40 else f"{text[:37]}..."
