"""scikit-learn's own checks, and the examples of the docstrings."""

from __future__ import annotations

import doctest
import importlib
from typing import Any

import pytest
from sklearn.utils.estimator_checks import parametrize_with_checks

import maxmargin as mm

WEIGHTS = "gamma='scale' sees repeated rows but no weights; test_machines.py proves it with a fixed gamma"
EXPECTED = {
    "check_sample_weight_equivalence_on_dense_data": WEIGHTS,
    "check_sample_weight_equivalence_on_sparse_data": WEIGHTS,
}
ESTIMATORS = [
    mm.LowRank(n_components=20),
    mm.LowRank(n_components=20, method="leverage"),
    mm.LowRank(n_components=20, method="kmeans"),
    mm.LowRank(n_components=20, method="uniform"),
    mm.RandomFourier(),
    mm.LargeSVC(),
    mm.LargeSVC(polish=True, loss="hinge", multiclass="ovo"),
    mm.LargeSVC(method="fourier", loss="logistic"),
    mm.LargeSVR(),
    mm.LargeSVR(polish=True, loss="epsilon_insensitive"),
    mm.LargeKernelRidge(),
    mm.LargeKernelRidge(polish=True),
    mm.CellSVC(cell_size=20),
]
MODULES = ["transformers", "large_svm", "large_ridge", "cell_svc"]


def expected_failures(estimator: Any) -> dict[str, str]:
    return {} if hasattr(estimator, "transform") else EXPECTED


@parametrize_with_checks(ESTIMATORS, expected_failed_checks=expected_failures)
def test_scikit_learn_checks(estimator: Any, check: Any) -> None:
    check(estimator)


@pytest.mark.parametrize("name", MODULES)
def test_docstring_examples(name: str) -> None:
    result = doctest.testmod(importlib.import_module(f"maxmargin.machines.large.{name}"))
    assert result.attempted > 0
    assert result.failed == 0
