"""The mean hinge loss: every sum against its definition, in one block of rows or in many."""

from __future__ import annotations

from math import inf

import numpy as np
import pytest
import scipy.sparse as sp

from maxmargin.problems import mean_hinge
from maxmargin.problems.certificate import Certificate
from maxmargin.problems.mean_hinge import MeanHinge, lower_bounded, widest_gap

THETA = np.array([0.5, -1.0, 0.25])
ROWS = np.array([[1.0, 0.0], [0.0, 2.0], [3.0, 1.0], [-1.0, 4.0], [0.5, 0.5], [2.0, -2.0]])
SIGNS = np.array([1.0, -1.0, 1.0, -1.0, -1.0, 1.0])
SHARE = np.array([0.25, 0.125, 0.125, 0.25, 0.0, 0.25])


def a_problem(**changes) -> MeanHinge:
    return MeanHinge(**{"X": ROWS, "y": SIGNS, "share": SHARE, "decay": 0.5, **changes})


def the_bound(problem: MeanHinge, theta: np.ndarray) -> float:
    """The bound of every ramp, maximised over t on a fine grid."""
    X = np.column_stack([ROWS, np.full(6, problem.bias)])
    m = SIGNS * (ROWS @ theta[:-1] + theta[-1])
    found = [0.0]
    for width in (1e-3, 0.03, 0.1, 0.3, 1.0, 4.0):
        a = SHARE * np.clip(0.5 + 0.5 * (problem.edge - m) / width, 0.0, 1.0)
        g = X.T @ (a * SIGNS)
        if problem.decay > 0:
            t = np.geomspace(1e-8, 1.0, 200001)
            found.append(np.max(t * problem.edge * a.sum() - t**2 * (g @ g) / (2 * problem.decay)))
        else:
            found.append(problem.edge * a.sum() - problem.ball * np.linalg.norm(g))
    return max(found)


@pytest.mark.parametrize("chunk", [1, 4, 1 << 17])
@pytest.mark.parametrize("as_sparse", [False, True])
def test_sums_of_a_worked_example(monkeypatch, chunk, as_sparse):
    """Margins 0.75, 1.75, 0.75, 4.25, 0 (without weight) and 3.25: losses 0.25 and 0.25 with shares 3/8."""
    monkeypatch.setattr(mean_hinge, "_CHUNK", chunk)
    problem = a_problem(X=sp.csr_matrix(ROWS) if as_sparse else ROWS)
    found = problem.measure(THETA)
    assert found.certificate.primal == 0.25 * (0.25 + 1 + 0.0625) + 0.375 * 0.25
    assert (found.smallest, found.mistakes) == (0.75, 0)
    assert found.longest == pytest.approx(np.sqrt(17.0))
    assert found.certificate.n_checked == 6
    assert found.certificate.dual == pytest.approx(the_bound(problem, THETA), abs=1e-8)
    assert problem.certify(THETA) == found.certificate


def test_rows_without_a_weight_do_not_count():
    share = np.array([0.0, 0.5, 0.5, 0.0, 0.0, 0.0])
    found = a_problem(share=share).measure(THETA)
    assert (found.smallest, found.mistakes, found.longest) == (0.75, 0, pytest.approx(np.sqrt(10.0)))
    every = a_problem(share=np.full(6, 1 / 6)).measure(-THETA)
    assert (every.smallest, every.mistakes) == (-4.25, 6)  # a margin of 0 is a mistake
    assert every.longest == pytest.approx(np.sqrt(17.0))


@pytest.mark.parametrize("decay", [0.01, 0.5, 40.0])
@pytest.mark.parametrize("bias", [0.0, 1.0])
@pytest.mark.parametrize("theta", [THETA, 0.1 * THETA, -THETA, np.zeros(3)], ids=str)
def test_bounds_with_a_penalty(decay, bias, theta):
    problem = a_problem(decay=decay, bias=bias)
    certificate = problem.certify(theta)
    assert certificate.dual == pytest.approx(the_bound(problem, theta), rel=1e-6, abs=1e-9)
    assert certificate.gap == certificate.primal - certificate.dual
    edge = a_problem(decay=decay, bias=bias, edge=2.0)
    assert edge.certify(theta).dual == pytest.approx(the_bound(edge, theta), rel=1e-6, abs=1e-9)


@pytest.mark.parametrize("ball", [0.02, 0.1])
def test_bounds_in_a_ball(ball):
    problem = a_problem(decay=0.0, ball=ball)
    assert the_bound(problem, 0.1 * THETA) > 0
    assert problem.certify(0.1 * THETA).dual == pytest.approx(the_bound(problem, 0.1 * THETA), rel=1e-12)


@pytest.mark.parametrize("changes", [{"decay": 0.0}, {"edge": 0.0}, {"decay": 0.0, "ball": 1e6}], ids=str)
def test_a_bound_of_zero(changes):
    assert a_problem(**changes).certify(THETA).dual == 0.0


def test_sums_that_are_not_asked_for():
    found = a_problem().measure(THETA, bounded=False, norms=False)
    assert (found.certificate.dual, found.longest) == (0.0, 0.0)
    assert a_problem().measure(THETA).certificate.dual > 0.0


def test_the_perceptrons_loss_and_an_overflow():
    assert a_problem(edge=0.0, decay=0.0).certify(-THETA).primal == 0.25 * (0.75 + 4.25 + 3.25) + 0.125 * 2.5
    huge = a_problem().measure(np.array([1e300, 1e300, 0.0]))
    assert huge.certificate.primal == inf
    assert huge.certificate.dual >= 0.0


def test_certificates_with_a_lower_bound():
    assert lower_bounded(3.0, 2.0, 5) == Certificate(
        primal=3.0, dual=2.0, gap=1.0, relative_gap=0.5, n_checked=5
    )
    assert lower_bounded(2.0, 2.5, 5).gap == 0.0
    assert lower_bounded(0.75, 0.5, 5).relative_gap == 0.5
    assert lower_bounded(0.0, 0.0, 5).relative_gap == 0.0
    assert lower_bounded(1.0, 0.0, 5).relative_gap == inf
    first, second = lower_bounded(3.0, 2.5, 5), lower_bounded(2.0, 1.0, 5)
    assert widest_gap([first, second, first]).gap == 1.0
    assert widest_gap([first, second, first]).n_machines == 3


def test_defaults_are_the_hinge_with_an_intercept_and_no_penalty():
    plain = MeanHinge(X=ROWS, y=SIGNS, share=SHARE)
    assert (plain.edge, plain.decay, plain.bias, plain.ball) == (1.0, 0.0, 1.0, inf)
