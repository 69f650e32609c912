"""A callback hears every iterative fit, and stops it."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.datasets import make_classification

import maxmargin as mm
from maxmargin.base.progress import SolverProgress

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
X, y = make_classification(300, 8, flip_y=0.2, class_sep=0.5, random_state=0)
Z = X[:, 0] + 0.3 * np.sin(3 * X[:, 1])
FITS: dict[str, tuple[Any, Any]] = {
    "newton": (mm.LinearSVC(tol=1e-10), y),
    "dual_coordinate": (mm.LinearSVC(loss="hinge", solver="dual_coordinate", C=100, tol=1e-10), y),
    "augmented": (mm.LinearSVC(loss="hinge", tol=1e-10), y),
    "proximal": (mm.LinearSVC(loss="logistic", penalty="l1", tol=1e-10), y),
    "successive": (mm.LinearSVC(penalty="l0l2", C=0.1), y),
    "descent_newton": (mm.LinearSVC(solver="descent_newton", C=10, tol=1e-12), y),
    "svr": (mm.LinearSVR(tol=1e-10), Z),
    "logistic": (mm.LogisticRegression(), y),
    "multinomial": (mm.LogisticRegression(), y + (X[:, 2] > 1)),
    "ovr": (mm.LogisticRegression(multiclass="ovr"), y + (X[:, 2] > 1)),
    "perceptron": (mm.Perceptron(average=True), y),
    "passive_aggressive": (mm.PassiveAggressive(), y),
    "pegasos": (mm.Pegasos(max_iter=9), y),
    "subgradient": (mm.SubgradientDescent(max_iter=9), y),
    "kernel_perceptron": (mm.KernelPerceptron(average=True), y),
    "large": (mm.LargeSVC(n_components=20, tol=1e-10), y),
    "large_ridge": (mm.LargeKernelRidge(n_components=5, polish=True, alpha=1e-3, tol=1e-10), Z),
    "svc": (mm.SVC(C=10, solver="smo", tol=1e-6), y),
}  # fmt: skip


def fitted(name: str, callback: Any) -> Any:
    model, target = FITS[name]
    fresh = clone(model)
    if hasattr(fresh, "random_state"):
        fresh.set_params(random_state=0)
    return fresh.fit(X, target, callback=callback)


def output(model: Any) -> Any:
    return model.decision_function(X) if hasattr(model, "decision_function") else model.predict(X)


@pytest.mark.parametrize("name", FITS)
def test_a_callback_hears_a_fit_and_stops_it(name: str) -> None:
    heard: list[SolverProgress] = []
    whole = fitted(name, heard.append)
    assert len(heard) > 1
    assert all(np.isfinite(one.violation) and one.seconds >= 0 for one in heard)
    np.testing.assert_array_equal(output(whole), output(fitted(name, None)))

    few: list[SolverProgress] = []
    stopped = fitted(name, lambda progress: few.append(progress) or True)
    assert len(few) < len(heard)
    assert np.isfinite(output(stopped)).all()
    assert not np.array_equal(output(stopped), output(whole))
    if hasattr(stopped, "solution_"):
        assert stopped.solution_.status.short == "interrupted"
    if "history_" in dir(stopped) and name not in ("logistic", "multinomial", "ovr"):
        assert stopped.n_iter_ == len(few) == 1


def test_a_request_to_stop_is_final() -> None:
    """Several binary problems: after the first True each of the others makes one step."""
    target = np.digitize(X[:, 0] + X[:, 1], [-1.0, 1.0])
    calls: list[int] = []

    def once(progress: SolverProgress) -> bool:
        calls.append(progress.n_iter)
        return len(calls) == 1

    model = mm.LinearSVC(tol=1e-10).fit(X, target, callback=once)
    assert calls == [1, 1, 1]
    assert [one.status.short for one in model.solutions_] == ["interrupted"] * 3


def test_the_certificate_of_a_stopped_fit_holds() -> None:
    best = mm.LinearSVC(tol=1e-10).fit(X, y).certificate_.primal
    early = mm.LinearSVC(tol=1e-10).fit(X, y, callback=lambda progress: True).certificate_
    assert early.dual <= best * (1 + 1e-9)
    assert early.primal > best
    assert early.gap >= early.primal - best - 1e-9


def test_fits_in_pieces_report_to_the_callback() -> None:
    calls: list[Any] = []
    pieces = mm.pieces.from_array(X, y, rows=100)
    mm.LinearSVC(tol=1e-10).fit(pieces, callback=lambda progress: calls.append(progress) or True)
    assert len(calls) == 1


@pytest.mark.filterwarnings("ignore")
def test_estimators_that_do_not_iterate_take_no_callback() -> None:
    for model in (mm.KernelRidge(), mm.LeastSquares(), mm.FisherDiscriminant()):
        with pytest.raises(TypeError, match="callback"):
            model.fit(X, y, callback=print)
