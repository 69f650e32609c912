"""The certificate of kernel ridge regression, written out with the kernel matrix."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from maxmargin.kernels import RBF, Linear
from maxmargin.problems.kernel_system import KernelRidgeProblem

RNG = np.random.default_rng(4)
ROWS, TARGET, WEIGHTS = RNG.normal(size=(9, 2)), RNG.normal(size=9), RNG.uniform(0.5, 2.0, 9)


def a_problem(kernel=None, **changes) -> KernelRidgeProblem:
    kernel = kernel or RBF(gamma=0.3)
    figures = {
        "kernel": kernel,
        "points": kernel.prepare(ROWS),
        "y": TARGET,
        "weights": WEIGHTS,
        "alpha": 0.4,
    }
    return KernelRidgeProblem(**{**figures, **changes})


def coefficients(size: float) -> np.ndarray:
    K = RBF(gamma=0.3)(ROWS)
    return np.linalg.solve(K + np.diag(0.4 / WEIGHTS), TARGET) + size * np.sin(np.arange(9.0))


def plain(a: np.ndarray, y=TARGET, s=WEIGHTS, alpha=0.4) -> dict[str, float]:
    """Figures of coefficients a for positive weights, with A = r'Sr and B = r'SKSr / alpha."""
    K = RBF(gamma=0.3)(ROWS)
    M = K + np.diag(alpha / s)
    r = y - M @ a
    primal = s @ (y - K @ a) ** 2 + alpha * a @ K @ a
    A, B = r @ (s * r), (s * r) @ K @ (s * r) / alpha
    norm = max(np.linalg.norm(a), np.linalg.norm(M @ a))  # the diagonal of K is 1
    error = np.linalg.norm(r) / (norm + np.linalg.norm(y))
    return {
        "primal": primal,
        "wide": A,
        "tight": A * B / (A + B),
        "kkt": np.abs(r).max(),
        "backward_error": error,
    }


@pytest.mark.parametrize("stored", [True, False])
@pytest.mark.parametrize("size", [0.05, 5.0])
def test_figures_are_their_definitions(stored, size):
    problem = a_problem(matrix=RBF(gamma=0.3)(ROWS) if stored else None)
    a = coefficients(size)
    expected = plain(a)
    for tight in (False, True):
        found = problem.certify(a, tight=tight)
        for name in ("primal", "kkt", "backward_error"):
            assert getattr(found, name) == pytest.approx(expected[name], rel=1e-9)
        gap = expected["tight" if tight else "wide"]
        assert found.gap == pytest.approx(gap, rel=1e-9)
        assert found.dual == pytest.approx(expected["primal"] - gap, rel=1e-9, abs=1e-12)
        assert found.rounding == pytest.approx(1e-24 * WEIGHTS @ TARGET**2, rel=1e-9, abs=0)
        assert found.n_checked == 9
        assert found.convex
    assert problem.certify(a) == problem.certify(a, tight=False)
    np.testing.assert_allclose(problem.times(a), RBF(gamma=0.3)(ROWS) @ a, rtol=1e-12)
    np.testing.assert_allclose(problem.ridge, 0.4 / WEIGHTS)


def test_several_alphas_at_once():
    alphas, coef = (
        np.array([0.1, 0.4, 30.0]),
        np.stack([coefficients(0.1), coefficients(0.0), coefficients(1.0)]),
    )
    found = a_problem().certify_path(alphas, coef, tight=True)
    for one, alpha, a in zip(found, alphas, coef, strict=True):
        expected = plain(a, alpha=alpha)
        assert one.primal == pytest.approx(expected["primal"], rel=1e-9)
        assert one.gap == pytest.approx(expected["tight"], rel=1e-6, abs=1e-15)
    assert a_problem().certify_path(alphas, coef)[2].gap == pytest.approx(
        plain(coef[2], alpha=30.0)["wide"], rel=1e-9
    )


def test_rows_without_a_weight_are_left_out():
    weights = WEIGHTS.copy()
    weights[4] = 0.0
    a = coefficients(0.2)
    a[4] = 0.0
    keep = np.arange(9) != 4
    found = a_problem(weights=weights).certify(a)
    kernel = RBF(gamma=0.3)
    points = kernel.prepare(ROWS[keep])
    fewer = a_problem(points=points, y=TARGET[keep], weights=weights[keep]).certify(a[keep])
    assert found.n_checked == 8
    for name in ("primal", "gap", "kkt", "rounding"):
        assert getattr(found, name) == pytest.approx(getattr(fewer, name), rel=1e-9, abs=0)


def test_residuals_in_the_null_space_of_the_kernel_do_not_count():
    """A linear kernel of one column: r = S^-1 v with Kv = 0 changes no prediction, so the tight gap is 0."""
    kernel = Linear()
    X = np.array([[1.0], [1.0], [2.0]])
    problem = KernelRidgeProblem(
        kernel=kernel, points=kernel.prepare(X), y=np.array([1.0, 3.0, 2.0]), weights=np.ones(3), alpha=0.5
    )
    K = X @ X.T
    best = np.linalg.solve(K + 0.5 * np.eye(3), problem.y)
    a = best + np.array([1.0, -1.0, 0.0])
    assert problem.certify(a).gap == pytest.approx(0.5)
    assert problem.certify(a, tight=True).gap == pytest.approx(0.0, abs=1e-12)
    assert problem.certify(best, tight=True).gap == pytest.approx(0.0, abs=1e-12)


def test_a_kernel_that_is_not_positive_semidefinite_has_no_gap():
    class Negative(Linear):
        psd = None

        def evaluate(self, A, B, out):
            super().evaluate(A, B, out)
            out *= -1.0

    kernel = Negative()
    problem = a_problem(kernel, points=kernel.prepare(ROWS), matrix=-(ROWS @ ROWS.T))
    assert problem.certify(coefficients(0.2)).convex  # not seen without the second product
    found = problem.certify(coefficients(0.2), tight=True)
    assert not found.convex
    assert np.isnan(found.gap)
    assert found.kkt > 0


def nearly_convex(c: float, y=(2.0, -2.0), size: float = 2.0) -> KernelRidgeProblem:
    """The matrix -c zz' for z = (1, -1), so v'Kv = -c |v|_1^2 for v = y."""
    kernel, z = Linear(), np.array([1.0, -1.0])
    points = kernel.prepare(np.full((2, 1), size))
    return KernelRidgeProblem(
        kernel=kernel, points=points, y=np.array(y), weights=np.ones(2), alpha=0.5, matrix=-c * np.outer(z, z)
    )


def test_a_curvature_below_zero_may_be_rounding():
    """The bound is 1e-9 max K_ii |v|_1^2 = 1e-9 * 4 * 16; a gap that rounding makes negative is not used."""
    rounded = nearly_convex(3e-9).certify(np.zeros(2), tight=True)
    assert rounded.convex
    assert rounded.gap == 8.0
    assert not nearly_convex(5e-9).certify(np.zeros(2), tight=True).convex
    assert nearly_convex(0.0).certify(np.zeros(2), tight=True).gap == 0.0
    small = nearly_convex(3e-10, size=0.25)  # max K_ii = 1/16
    assert not small.certify(np.zeros(2), tight=True).convex


def test_one_bad_solution_of_a_path_is_enough():
    """The second residual is (1, 1), which the matrix does not see; the first gap is 0 if y is 0."""
    problem = nearly_convex(5e-9)
    coef = np.array([[0.0, 0.0], [2.0, -6.0]])  # residuals (2, -2) and, up to 4e-8, (1, 1)
    assert not any(found.convex for found in problem.certify_path(np.array([0.5, 0.5]), coef, tight=True))
    zero = replace(a_problem(), y=np.zeros(9))
    a = coefficients(0.2)
    found = zero.certify_path(np.array([0.4, 0.4]), np.stack([np.zeros(9), a]), tight=True)
    assert found[0].gap == 0.0
    assert found[1].gap == pytest.approx(plain(a, y=np.zeros(9))["tight"], rel=1e-9)


def test_backward_errors_do_not_depend_on_the_unit_of_y():
    a = coefficients(0.2)
    small = a_problem(y=1e-9 * TARGET).certify(1e-9 * a)
    assert small.backward_error == pytest.approx(a_problem().certify(a).backward_error, rel=1e-9)
    linear = Linear()
    tiny = linear.prepare(np.full((9, 1), 0.1))
    problem = a_problem(linear, points=tiny, matrix=np.zeros((9, 9)))
    r = TARGET - 0.4 / WEIGHTS * a
    norm = max(0.01 * np.linalg.norm(a), np.linalg.norm(TARGET - r))
    expected = np.linalg.norm(r) / (norm + np.linalg.norm(TARGET))
    assert problem.certify(a).backward_error == pytest.approx(expected, rel=1e-9)


def test_a_problem_of_zeros():
    problem = replace(a_problem(), y=np.zeros(9))
    found = problem.certify(np.zeros(9), tight=True)
    assert (found.gap, found.kkt, found.backward_error, found.primal) == (0.0, 0.0, 0.0, 0.0)
    huge = a_problem(y=np.full(9, 1e200)).certify(np.zeros(9))
    assert huge.primal == np.inf
