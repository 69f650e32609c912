"""Kernel expressions: what is printed is read back, and nothing else has a meaning."""

from __future__ import annotations

import sys
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from maxmargin import kernels as k
from maxmargin.kernels import KernelExpressionError, parse


@pytest.mark.parametrize(
    ("text", "kernel"),
    [
        ("2*RBF(gamma=0.1)+Linear()", 2 * k.RBF(gamma=0.1) + k.Linear()),
        (" ( RBF(0.1) + 1 ) ** 2 * 3.5 ", (k.RBF(0.1) + 1) ** 2 * 3.5),
        ("1 + Linear()", 1 + k.Linear()),
        ("exp(Linear()).normalized()", k.Linear().exp().normalized()),
        ("normalized(Linear().exp())", k.Linear().exp().normalized()),
        ("RBF(gamma=2**-3, features=['age', 'dose'])", k.RBF(gamma=0.125, features=["age", "dose"])),
        ("RBF(features='age') * Linear(features=(0, 2))", k.RBF(features="age") * k.Linear(features=[0, 2])),
        ("Polynomial(gamma=1/2, coef0=1, degree=2)", k.Polynomial(gamma=0.5, coef0=1, degree=2)),
        ("RBF(length_scale=+1.5)", k.RBF(length_scale=1.5)),
        ("Periodic(period=12, form='product')", k.Periodic(period=12, form="product")),
        ("Subsequence(length=3, decay=.5, up_to=True)", k.Subsequence(length=3, up_to=True)),
        ("2*3*RBF(0.1)", 6 * k.RBF(0.1)),
        ("RBF(0.1)\n + Linear()", k.RBF(0.1) + k.Linear()),
    ],
)
def test_expressions(text: str, kernel: k.Kernel) -> None:
    assert repr(parse(text)) == repr(kernel)


def test_a_matrix_can_be_written() -> None:
    kernel = parse("QuadraticForm(B=[[2, 0], [0, 1]])")
    np.testing.assert_allclose(kernel([[1.0, 2.0]]), [[6.0]])


@pytest.mark.parametrize(
    ("text", "column", "message"),
    [
        ("", 1, "the text is empty"),
        ("   ", 1, "the text is empty"),
        ("RBF(gamma=0.1", 4, "not an expression"),
        ("2*RBFF()", 3, "there is no kernel 'RBFF': did you mean RBF?"),
        ("2*rbf()", 3, "did you mean RBF?"),
        ("quux()", 1, "there is no kernel 'quux': there are Constant, Linear"),
        ("RBF", 1, "write RBF() with parentheses"),
        ("RBF(features=age)", 14, "the name of a column is written in quotes: features='age'"),
        ("Spectrum(3, features=['a', b])", 22, "written in quotes: features='b'"),
        ("Linear() + RBF(gama=1)", 16, "RBF has no parameter 'gama': it has gamma, length_scale"),
        ("RBF(gamma=-1)", 1, "gamma=-1 must be > 0"),
        ("RBF(1) - Linear()", 1, "a difference of kernels is in general not a kernel"),
        ("RBF(1) / 2", 1, "multiply by its inverse"),
        ("-RBF(1)", 1, "kernels cannot be negated"),
        ("Linear() ** 2.5", 13, "must be a whole number from 1 to 1000"),
        ("Linear() ** 100000", 13, "must be a whole number from 1 to 1000"),
        ("Polynomial(degree=10**9)", 19, "must be a whole number"),
        ("2 ** Linear()", 1, "write kernel ** whole number"),
        ("RBF(1e200)", 5, "numbers must be between"),
        ("RBF(gamma=1e400)", 11, "numbers must be between"),
        ("9**9**9 * RBF(1)", 1, "not a finite number"),
        ("10**400 * RBF(1)", 1, "not a finite number"),
        ("1/0 * RBF(1)", 1, "not a finite number"),
        ("(-8)**0.5 * RBF(1)", 1, "not a finite number"),
        ("3.5", 1, "3.5 is not a kernel"),
        ("'RBF'", 1, "is not a kernel"),
        ("Rank1(f)", 1, "Rank1 needs a Python function"),
        ("RBF(RBF(1))", 5, "a kernel cannot be the parameter"),
        ("RBF(1).gamma", 1, "has no meaning"),
        ("RBF(1).bind(2)", 1, "'.bind()' is unknown"),
        ("RBF(1).exp(2)", 1, ".exp() takes no arguments"),
        ("RBF(*[1])", 5, "* and ** are not allowed"),
        ("RBF(**{})", 5, "no parameter '**'"),
        ("__import__('os').system('true')", 1, "'.system()' is unknown"),
        ("eval('1')", 1, "there is no kernel 'eval'"),
        ("(lambda: 0)()", 1, "only kernels can be called"),
        ("[RBF(1) for x in (1, 2)]", 1, "has no meaning"),
        ("RBF(1) if True else RBF(2)", 1, "has no meaning"),
        ("RBF(gamma=1j)", 11, "has no meaning"),
        ("f'{RBF(1)}'", 1, "has no meaning"),
        ("(x := RBF(1))", 2, "has no meaning"),
        ("RBF(features='é') + x", 21, "there is no kernel 'x'"),
        ("  RBF(gamma=b'x')", 13, "has no meaning"),
        ("RBF(1) + " * 120 + "RBF(1)", 1000, "too many"),
        ("+".join(["RBF(1)"] * 60), 1, "too large"),
        ("-" * 300 + "1*RBF(1)", 42, "too large"),
        ("(" * 300, 1, "not an expression"),
        ("RBF(1)\x00", 1, "not an expression"),
    ],
)
def test_refusals_are_one_line_and_name_the_place(text: str, column: int, message: str) -> None:
    with pytest.raises(KernelExpressionError) as caught:
        parse(text)
    said = str(caught.value)
    assert message in said
    assert "\n" not in said
    if (
        "not an expression" not in message and "too l" not in message
    ):  # Python's own columns change with versions
        assert caught.value.column == column, said


def test_text_only() -> None:
    with pytest.raises(TypeError, match="is text, got int"):
        parse(3)  # type: ignore[arg-type]  # what is tested


POSITIVE = st.floats(1e-3, 1e3)
LEAVES = st.one_of(
    st.builds(k.Linear),
    st.builds(k.RBF, POSITIVE),
    st.builds(k.RBF, gamma=POSITIVE, features=st.sampled_from(["a", ["a", "b c"], [0, 1], 3, None])),
    st.builds(k.Polynomial, gamma=POSITIVE, coef0=st.floats(0, 10), degree=st.integers(1, 9)),
    st.builds(k.Laplacian, POSITIVE),
    st.builds(k.Constant, POSITIVE),
    st.builds(k.Periodic, POSITIVE, POSITIVE),
    st.builds(k.Spectrum, st.integers(1, 5)),
    st.builds(k.Subsequence, length=st.integers(1, 9), tokens=st.sampled_from(["words", "characters"])),
)
KERNELS = st.recursive(
    LEAVES,
    lambda inner: st.one_of(
        st.builds(lambda a, b: a + b, inner, inner),
        st.builds(lambda a, b: a * b, inner, inner),
        st.builds(lambda a, b: b * a, inner, POSITIVE),
        st.builds(lambda a, b: a**b, inner, st.integers(1, 9)),
        st.builds(lambda a: a.exp(), inner),
        st.builds(lambda a: a.normalized(), inner),
    ),
    max_leaves=6,
)


@settings(max_examples=200)
@given(KERNELS)
def test_what_is_printed_is_read(kernel: k.Kernel) -> None:
    text = repr(kernel)
    if len(text) <= 1000:
        assert repr(parse(text)) == text


SYMBOLS = (
    r"RBF Linear ( ) + * ** - / 0.1 2 gamma= features= [ ] , 'a' .exp() .normalized() exp __class__ eval"
)
MORE = r"lambda: 9 e9 \ # { open('x','w') True None degree= Polynomial x := if else for é 1_0"
WORDS = st.sampled_from([*SYMBOLS.split(), *MORE.split(), "\n", "\t", " ", "import os"])


def parsed(text: str) -> tuple[Any, Any]:
    """The kernel, or the documented error; any other error is a failure of the test."""
    try:
        return parse(text), None
    except KernelExpressionError as refusal:
        return None, refusal


@settings(max_examples=400)
@given(st.one_of(st.lists(WORDS, max_size=25).map("".join), st.text(max_size=60)))
def test_no_text_crashes_the_parser_or_runs(text: str) -> None:
    before, files = set(sys.modules), set(Path.cwd().iterdir())
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        kernel, refusal = parsed(text)
    assert isinstance(kernel, k.Kernel) or ("\n" not in str(refusal) and 1 <= refusal.column <= len(text) + 2)
    assert set(sys.modules) == before
    assert set(Path.cwd().iterdir()) == files
