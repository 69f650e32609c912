"""Mercer's condition, distances in feature space, the explicit polynomial map."""

from __future__ import annotations

import threading

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.spatial.distance import cdist

from maxmargin.kernels import RBF, Linear, Polynomial, Sigmoid, distance, mercer_check, polynomial_map

X = np.random.default_rng(0).normal(size=(25, 3))


def test_worked_value_of_the_polynomial_kernel() -> None:
    """(1 + 1*3 + 2*4)^2 = 12^2 = 144, equal to the product of the explicit maps."""
    x, z = [[1.0, 2.0]], [[3.0, 4.0]]
    assert Polynomial(gamma=1, coef0=1, degree=2)(x, z)[0, 0] == 144.0
    assert (polynomial_map(x) @ polynomial_map(z).T)[0, 0] == pytest.approx(144.0, rel=1e-14)


def test_polynomial_map_of_degree_two() -> None:
    x1, x2 = 3.0, 5.0
    root = np.sqrt(2)
    expected = sorted([1, root * x1, root * x2, x1**2, x2**2, root * x1 * x2])
    np.testing.assert_allclose(sorted(polynomial_map([[x1, x2]])[0]), expected, rtol=1e-14)


@given(degree=st.integers(1, 5), gamma=st.sampled_from([0.3, 2.0]), coef0=st.sampled_from([0.0, 0.5, 2.0]))
def test_polynomial_map_is_the_kernel(degree: int, gamma: float, coef0: float) -> None:
    phi = polynomial_map(X, degree=degree, gamma=gamma, coef0=coef0)
    kernel = Polynomial(gamma=gamma, coef0=coef0, degree=degree)
    np.testing.assert_allclose(phi @ phi.T, kernel(X), rtol=1e-10, atol=1e-10)


def test_polynomial_map_refuses() -> None:
    with pytest.raises(ValueError, match=r"coef0=-1.0 must be a finite number >= 0"):
        polynomial_map(X, coef0=-1.0)
    with pytest.raises(ValueError, match="gamma=nan must be a number > 0"):
        polynomial_map(X, gamma=np.nan)
    with pytest.raises(ValueError, match=r"degree=2\.5 must be a whole number >= 1"):
        polynomial_map(X, degree=2.5)  # type: ignore[arg-type]  # that is the point
    with pytest.raises(ValueError, match=r"X contains NaN in column 0: drop"):
        polynomial_map([[np.nan]])
    with pytest.raises(ValueError, match="use the kernel"):
        polynomial_map(np.ones((1000, 100)), degree=4)


def test_mercer_holds_with_the_spectrum() -> None:
    check = mercer_check(RBF(gamma=1.0), X)
    assert check
    assert check.smallest == check.spectrum[0]
    np.testing.assert_allclose(check.spectrum, np.linalg.eigvalsh(RBF(gamma=1.0)(X)), atol=1e-12)
    assert "positive semidefinite on these 25 points" in str(check)


def test_mercer_fails_with_a_witness() -> None:
    with pytest.warns(UserWarning, match="sigmoid"):
        kernel = Sigmoid(gamma=1.0, coef0=-1.0)
    check = mercer_check(kernel, X)
    assert not check
    K = kernel(X)
    assert check.smallest < 0
    assert check.witness @ K @ check.witness == pytest.approx(check.smallest, rel=1e-9)
    assert "not positive semidefinite" in str(check)


def test_the_spectrum_is_computed_off_the_main_thread(monkeypatch: pytest.MonkeyPatch) -> None:
    """SciPy's eigh keeps the interpreter's lock: no progress and no Ctrl-C for as long as it takes."""
    seen, plain = [], np.linalg.eigh
    monkeypatch.setattr(np.linalg, "eigh", lambda K: (seen.append(threading.current_thread()), plain(K))[1])
    monkeypatch.setattr("maxmargin.base.threads._SMALL_MATRIX", 2)
    assert mercer_check(np.eye(3)).holds
    assert len(seen) == 1
    assert seen[0] is not threading.main_thread()


def test_mercer_of_a_matrix() -> None:
    lopsided = mercer_check(np.array([[2.0, 1.0], [0.0, 2.0]]))
    assert not lopsided
    assert lopsided.asymmetry == 1.0
    assert "not symmetric" in str(lopsided)
    for wrong in (np.ones((2, 3)), np.empty((0, 0)), np.array([[np.nan]])):
        with pytest.raises(ValueError, match="Gram matrix"):
            mercer_check(wrong)
    with pytest.raises(ValueError, match="needs the points"):
        mercer_check(Linear())


def test_distance() -> None:
    np.testing.assert_allclose(distance(Linear(), X), cdist(X, X), atol=1e-7)
    Z = X[:4] + 0.5
    expected = np.sqrt(2 - 2 * RBF(gamma=0.3)(X, Z))
    np.testing.assert_allclose(distance(RBF(gamma=0.3), X, Z), expected, rtol=1e-9)
