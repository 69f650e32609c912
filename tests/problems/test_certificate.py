"""What a certificate says, at the boundaries of its words."""

from __future__ import annotations

from math import inf, nan

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

from maxmargin.problems.certificate import Certificate, worst
from maxmargin.problems.loss_penalty import closed, solved, warn_unsolved, worst_gap
from maxmargin.problems.solution import Ending, Status, worst_ending


def test_gap_and_relative_gap():
    found = Certificate.between(5.0, -4.0, kkt=0.5)
    assert (found.gap, found.relative_gap, found.kkt) == (9.0, 2.25, 0.5)
    assert Certificate.between(1.0, 0.0).relative_gap == 1.0 / 1e-300
    # rounding of sums is 1e-12 of the larger value, not of 1
    assert Certificate.between(1e6, 1e6 + 9e-7).gap == 0.0
    assert Certificate.between(1e6, 1e6 + 2e-6).gap < 0.0
    assert Certificate.between(1e-6, 1e-6 + 1e-17).gap < 0.0
    assert Certificate.between(-1e6, -1e6 + 9e-7).gap == 0.0
    assert Certificate.between(1e12 - 1.0, 1e12).gap == 0.0  # the bound itself
    assert Certificate.between(1.0, 1.0).gap == 0.0


def test_figures_that_do_not_exist():
    empty = Certificate()
    assert [empty.primal, empty.dual, empty.gap, empty.relative_gap, empty.kkt] == pytest.approx(
        [nan] * 5, nan_ok=True
    )
    assert (empty.infeasibility, empty.rounding, empty.n_checked, empty.n_machines) == (0.0, 0.0, 0, 1)
    assert empty.complete
    assert empty.convex
    assert empty.backward_error is None
    assert empty.sentence == "values of all 0 rows; infeasibility 0"


@pytest.mark.parametrize(
    ("figures", "wide"),
    [
        ({"kkt": 1e-3, "n_checked": 10}, True),  # the gap is 1, a tenth of the dual value 0.2
        ({"kkt": 0.0, "n_checked": 10}, False),
        ({"kkt": 1e-3, "n_checked": 10, "rounding": 1.0}, False),
        ({"kkt": 1e-3, "n_checked": 10, "rounding": 0.99}, True),
        ({"kkt": 1e-3, "n_checked": 100}, False),  # ten times the violation of each row
        ({"kkt": 1e-3, "n_checked": 99}, True),
        ({"kkt": 0.5, "n_checked": 0}, True),
    ],
)
def test_a_wide_gap_is_more_than_a_tenth_that_nothing_explains(figures, wide):
    assert Certificate.between(3.0, 2.0, **figures).is_wide is wide
    assert ("so wide a gap" in str(Certificate.between(3.0, 2.0, **figures))) is wide
    assert not Certificate.between(11.0, 10.0, kkt=1e-3).is_wide
    assert Certificate.between(10.9, 9.9, kkt=1e-3).is_wide
    assert not Certificate.between(-9.0, -10.0, kkt=1e-3).is_wide


def test_conditions_that_hold():
    assert Certificate(kkt=1e-3).holds(1e-3)
    assert not Certificate(kkt=1.1e-3).holds(1e-3)
    assert not Certificate(kkt=0.0, infeasibility=1.1e-3).holds(1e-3)
    assert Certificate(kkt=0.0, infeasibility=1e-3).holds(1e-3)
    assert Certificate(kkt=0.0, infeasibility=1e-9).holds(0.0)
    assert not Certificate(kkt=0.0, infeasibility=2e-9).holds(0.0)
    assert not Certificate().holds(1.0)


def test_words():
    found = Certificate.between(1.5, 1.0, kkt=0.02, n_checked=7, n_machines=2, backward_error=3e-16)
    assert found.sentence == (
        "the worst of 2 machines: largest KKT violation 0.02 over all 7 rows; infeasibility 0; "
        "primal 1.5, dual 1, gap 0.5 (0.5 relative); backward error 3e-16"
    )
    sample = Certificate(kkt=0.25, complete=False, n_checked=9, infeasibility=0.125)
    assert sample.sentence == "largest KKT violation 0.25 over a sample of 9 rows; infeasibility 0.125"
    assert str(sample) == (
        "Certificate: largest KKT violation 0.25 over a sample of 9 rows;\n  infeasibility 0.125"
    )
    assert str(Certificate.between(2.0, -0.0)).endswith("primal 2, dual 0, gap 2")
    assert str(Certificate(kkt=0.1, convex=False)).endswith(
        "not convex: a stationary point, no duality gap exists"
    )


def test_the_worst_of_several():
    good, bad = Certificate(kkt=1e-5), Certificate(kkt=1e-2)
    assert worst([good, bad, good]) == Certificate(kkt=1e-2, n_machines=3)
    assert worst([bad, Certificate(kkt=1e-5, complete=False)]).complete is False


# -- whether a solution is accurate enough -------------------------------------------------------------------


def test_a_gap_is_closed_at_the_tolerance_or_within_rounding():
    assert closed(0.5, -2.0, 0.25, 0.0)
    assert not closed(0.51, -2.0, 0.25, 0.0)
    assert closed(0.5, 0.0, 0.25, 0.5)
    assert not closed(0.5, 0.0, 0.25, 0.4)
    assert not closed(nan, 1.0, 1.0, 1.0)


def test_solved_needs_the_gap_and_feasibility_or_stationarity():
    assert solved(Certificate.between(1.25, 1.0), 0.25)
    assert not solved(Certificate.between(1.26, 1.0), 0.25)
    assert solved(Certificate.between(1.25, 1.0, infeasibility=0.25), 0.25)
    assert not solved(Certificate.between(1.25, 1.0, infeasibility=0.26), 0.25)
    assert not solved(Certificate.between(1.25, 1.0, infeasibility=0.26), 0.255)
    assert solved(Certificate(kkt=0.25, convex=False), 0.25)
    assert not solved(Certificate(kkt=0.26, convex=False), 0.25)


def test_the_worst_gap_counts_kkt_where_there_is_no_gap():
    first, second = Certificate(kkt=0.1, convex=False), Certificate(kkt=0.2, convex=False)
    assert worst_gap([second, first], 1e-3).kkt == 0.2
    assert worst_gap([first, second], 1e-3).n_machines == 2
    near, far = Certificate.between(1.1, 1.0), Certificate.between(1.2, 1.0)
    assert worst_gap([far, near], 1e-3).gap == far.gap
    assert worst_gap([Certificate.between(5.0, 5.0, kkt=9.0), near], 1e-3).gap == near.gap
    wide, violated = Certificate.between(1.2, 1.0, kkt=0.1), Certificate.between(1.1, 1.0, kkt=9.0)
    assert worst_gap([violated, wide], 1e-3).gap == wide.gap
    assert worst_gap([wide, violated], 1e-3).gap == wide.gap


@pytest.mark.parametrize(
    ("certificate", "words"),
    [
        (Certificate(kkt=0.5, convex=False), "it reached a stationarity of 0.5, not tol=0.0001: go on."),
        (Certificate.between(2.0, 1.0, infeasibility=1e-3), "a relative infeasibility of 0.001"),
        (Certificate.between(2.0, 0.0), "an objective of 2 without a lower bound above 0"),
        (Certificate.between(2.0, 1.0, infeasibility=1e-4), "a relative duality gap of 1,"),
    ],
)
def test_the_warning_says_what_was_reached(certificate, words):
    with pytest.warns(ConvergenceWarning, match=words.replace(".", r"\.")):
        warn_unsolved(certificate, 1e-4, "it", "go on")


def test_no_warning_where_the_tolerance_is_met(recwarn):
    warn_unsolved(Certificate.between(2.0, 2.0), 1e-4, "it", "go on")
    assert not recwarn.list


# -- endings -------------------------------------------------------------------------------------------------


def test_endings_are_combined():
    first, second = Ending(Status.MAX_ITER, 3, 0.5), Ending(Status.CONVERGED, 4, 0.1)
    assert first.then(second) == Ending(Status.CONVERGED, 7, 0.1)
    # the status is that of the worst failure, even where a converged problem has a larger violation
    many = [second, Ending(Status.STALLED, 1, 0.2), first, Ending(Status.CONVERGED, 2, 0.9)]
    assert worst_ending(many) == Ending(Status.MAX_ITER, 10, 0.9)
    assert worst_ending([second, Ending(Status.CONVERGED, 1, inf)]) == Ending(Status.CONVERGED, 5, inf)
    assert [status.short for status in Status] == [
        "converged", "max_iter", "time_limit", "interrupted", "stalled", "wide_gap", "unbounded"
    ]  # fmt: skip


def test_the_worst_machine_is_one_with_a_wide_gap() -> None:
    """A machine with a larger violation and a narrow gap hid that the bound of another one says nothing."""
    narrow = Certificate.between(1.0, 0.999, kkt=1e-3, n_checked=10)
    wide = Certificate.between(1e6, 1.0, kkt=1e-9, n_checked=10)
    assert worst([narrow, wide]).gap == wide.gap


def test_a_relative_gap_beyond_floating_point_numbers_is_infinite() -> None:
    assert Certificate.between(np.float64(1e10), np.float64(0.0)).relative_gap == inf


@pytest.mark.parametrize(
    ("primal", "dual", "rounding", "said"),
    [
        (3e-17, 1e-17, 1e-13, True),
        (3e-17, 0.0, 1e-13, True),
        (3.0, 1.0, 1e-13, False),
        (3.0, 1.0, 2.0, True),
        (1.125, 1.0, 0.125, True),
        (11.0, 10.0, 5.0, False),
        (-9.0, -10.0, 5.0, False),
        (0.0, 0.0, 1.0, False),
    ],
)
def test_a_gap_that_may_be_rounding_is_said(primal, dual, rounding, said):
    """Such a fit does not warn: on rows of 1e8 rounding of the losses hides the objective."""
    text = str(Certificate.between(primal, dual, rounding=rounding))
    assert ("the gap may be rounding alone, which is up to" in text) is said
