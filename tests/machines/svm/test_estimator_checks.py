"""scikit-learn's own checks on every estimator; each expected failure has its reason."""

from __future__ import annotations

from typing import Any

import pytest
from sklearn.utils.estimator_checks import parametrize_with_checks

import maxmargin as mm

WEIGHTS = (
    "gamma='scale' sees repeated rows but no weights, and the check compares to 1e-7 at the default tol: "
    "test_metamorphic.py proves it with a fixed gamma and a small tol"
)
EQUIVALENCE = {
    "check_sample_weight_equivalence_on_dense_data": WEIGHTS,
    "check_sample_weight_equivalence_on_sparse_data": WEIGHTS,
}
ILL = "random labels, wide kernel: multipliers near 1e6, where pairwise steps stall and warn"
EXPECTED: dict[str, dict[str, str]] = {
    "SVC": EQUIVALENCE,
    "SVR": EQUIVALENCE,
    "NuSVR": EQUIVALENCE,
    "OneClassSVM": EQUIVALENCE,
    "SVDD": EQUIVALENCE,
    "NuSVC": {
        **EQUIVALENCE,
        "check_class_weight_classifiers": "its class weights (1000, 0.0001) make every nu > 2e-7 infeasible",
    },
    "HardMarginSVC": {
        "check_estimator_sparse_array": "its random sparse rows repeat in two classes: not separable",
        "check_estimator_sparse_matrix": "its random sparse rows repeat in two classes: not separable",
        "check_estimator_sparse_tag": "its random sparse rows repeat in two classes: not separable",
        "check_classifiers_train": "rounding overlapping blobs to float32 moves their hard margin",
        "check_fit_check_is_fitted": ILL,
        "check_n_features_in": ILL,
        "check_fit_idempotent": ILL,
        **EQUIVALENCE,
    },
}
ESTIMATORS = [
    mm.SVC(),
    mm.SVC(loss="squared_hinge", multiclass="ovr"),
    mm.SVC(solver="smo", trace=True),
    mm.SVC(solver=mm.solvers.Decomposition(size=8)),
    mm.NuSVC(),
    mm.HardMarginSVC(max_iter=200_000),
    mm.SVR(),
    mm.SVR(solver="chunking"),
    mm.NuSVR(),
    mm.OneClassSVM(),
    mm.OneClassSVM(solver="qp"),
    mm.SVDD(),
]


def expected_failures(estimator: Any) -> dict[str, str]:
    return EXPECTED[type(estimator).__name__]


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.SkipTestWarning")
@pytest.mark.filterwarnings("ignore:.*but the duality gap is")  # true of a class weight of 1000 at tol=1e-3
@parametrize_with_checks(ESTIMATORS, expected_failed_checks=expected_failures)
def test_scikit_learn_checks(estimator: Any, check: Any) -> None:
    check(estimator)
