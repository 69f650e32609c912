"""What is said of certificates of loss-plus-penalty problems."""

from __future__ import annotations

import pytest
from sklearn.exceptions import ConvergenceWarning

from maxmargin.problems.certificate import Certificate, worst
from maxmargin.problems.loss_penalty import warn_unsolved, worst_gap

AT_ZERO = Certificate.between(1e-14, 0.0, rounding=1e-10, n_checked=100)  # solved
ROUGH = Certificate.between(1.1, 1.0, n_checked=100)
OUTSIDE = Certificate.between(0.9, 1.0, infeasibility=0.5, n_checked=100)


def test_an_optimum_of_zero_hides_no_machine_that_is_not_solved():
    assert worst_gap([AT_ZERO, ROUGH], 1e-4).gap == ROUGH.gap
    assert worst_gap([AT_ZERO, ROUGH], 0.5).gap == AT_ZERO.gap


@pytest.mark.parametrize("choose", [worst, lambda found: worst_gap(found, 1e-4)], ids=["kkt", "gap"])
def test_one_certificate_of_several_says_so(choose):
    assert str(choose([ROUGH, AT_ZERO, ROUGH])).startswith("Certificate: the worst of 3 machines: ")
    assert "machines" not in str(choose([ROUGH]))


@pytest.mark.parametrize(
    ("certificate", "words"), [(ROUGH, "duality gap of 0.1,"), (OUTSIDE, "infeasibility of 0.5,")]
)
def test_the_warning_names_what_is_too_large(certificate, words):
    with pytest.warns(ConvergenceWarning, match=words):
        warn_unsolved(certificate, 1e-4, "it", "go on")
