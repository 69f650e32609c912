"""A sample of the seeded random fits, and proof that the driver can fail."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

from tests.random_fits import SUBJECTS, Subject, run, summary, try_fit


@pytest.mark.parametrize("subject", [pytest.param(subject, id=subject.name) for subject in SUBJECTS])
def test_random_fits_pass(subject):
    results = list(run([subject], 12, seed=1))
    assert all(outcome.passed for _, _, outcome in results), summary(results)


class _Faulty:
    """A regressor with one defect."""

    def __init__(self, defect):
        self.defect = defect

    def fit(self, X, y, sample_weight=None):
        if self.defect == "error":
            np.linalg.inv(np.zeros((2, 2)))
        if self.defect == "RuntimeWarning":
            warnings.warn("overflow encountered in multiply", RuntimeWarning, stacklevel=2)
        return self

    def predict(self, X):
        return np.array([np.nan if self.defect == "not finite" else 1.0])


@pytest.mark.parametrize("defect", ["error", "RuntimeWarning", "not finite", "fitted"])
def test_the_driver_sees_defects(defect):
    outcome = try_fit(Subject("faulty", lambda rng: _Faulty(defect), "regression"), 0, 0)
    assert outcome.kind == defect
    assert outcome.passed == (defect == "fitted")


def test_a_fit_can_be_repeated():
    one, other = (try_fit(SUBJECTS[0], 5, 3) for _ in range(2))
    assert (one.kind, one.detail) == (other.kind, other.detail)


def test_columns_whose_variance_overflows():
    """gamma="scale" is then 0, and the RBF kernel divided by it."""
    svc = next(subject for subject in SUBJECTS if subject.name == "SVC")
    assert try_fit(svc, 703, 135).passed
