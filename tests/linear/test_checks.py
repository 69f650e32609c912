"""scikit-learn's own checks, and the examples of the docstrings."""

from __future__ import annotations

import doctest
import importlib

import pytest
from sklearn.utils.estimator_checks import parametrize_with_checks

import maxmargin as mm

ESTIMATORS = [mm.LogisticRegression(), mm.LinearSVC()]
MODULES = ["losses", "penalties", "linear.logistic", "linear.svc"]


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")  # separable toy data, few passes
@parametrize_with_checks(ESTIMATORS)
def test_estimator(estimator, check):
    check(estimator)


@pytest.mark.parametrize("name", MODULES)
def test_docstring_examples(name):
    module = importlib.import_module(f"maxmargin.{name}")
    result = doctest.testmod(module)
    assert result.attempted > 0
    assert result.failed == 0
