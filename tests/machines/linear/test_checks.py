"""scikit-learn's own checks, and the examples of the docstrings."""

from __future__ import annotations

import doctest
import importlib

import pytest
from sklearn.utils.estimator_checks import parametrize_with_checks

import maxmargin as mm

ESTIMATORS = [
    mm.LogisticRegression(),
    mm.LinearSVC(),
    mm.LinearSVR(),
    mm.LeastSquares(),
    mm.Ridge(),
    mm.FisherDiscriminant(),
    mm.Perceptron(),
    mm.PassiveAggressive(),
    mm.Pegasos(),
    mm.SubgradientDescent(),
]
MODULES = [
    "problems.losses",
    "problems.penalties",
    *(
        f"machines.linear.{name}"
        for name in ("logistic", "linear_svc", "linear_svr", "least_squares", "fisher")
    ),
    *(f"machines.online.{name}" for name in ("online_learners", "subgradient_descent")),
]


ONLINE = (mm.Perceptron, mm.PassiveAggressive, mm.Pegasos, mm.SubgradientDescent)


def expected_failures(estimator):
    if isinstance(estimator, ONLINE):
        reason = "a row seen twice is two steps, a weight of two is one step of twice the length"
        names = (
            "check_sample_weight_equivalence_on_dense_data",
            "check_sample_weight_equivalence_on_sparse_data",
        )
        failures = dict.fromkeys(names, reason)
        if isinstance(estimator, mm.Pegasos | mm.SubgradientDescent):
            failures["check_class_weight_classifiers"] = (
                "the average of so few steps still holds the first ones: test_online.py has the proof"
            )
        return failures
    return {}


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")  # separable toy data, few passes
@pytest.mark.filterwarnings("ignore:the scatter inside the classes is singular")  # fewer rows than columns
@parametrize_with_checks(ESTIMATORS, expected_failed_checks=expected_failures)
def test_estimator(estimator, check):
    check(estimator)


@pytest.mark.parametrize("name", MODULES)
def test_docstring_examples(name):
    module = importlib.import_module(f"maxmargin.{name}")
    result = doctest.testmod(module)
    assert result.attempted > 0
    assert result.failed == 0
