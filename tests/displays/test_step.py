"""Frames of a trace: arrays first, drawing second."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import maxmargin as mm

StepDisplay = mm.displays.StepDisplay


@pytest.fixture(scope="module")
def table() -> tuple[pd.DataFrame, Any]:
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.normal(size=(50, 2)), columns=["height", "weight"])
    return X, np.where(X["height"] + 0.5 * X["weight"] ** 2 > 0.3, "tall", "short")


@pytest.mark.parametrize("solver", ["smo", "working_set", "chunking", "decomposition", "qp"])
def test_the_last_frame_is_the_model(table: Any, solver: str) -> None:
    X, y = table
    model = mm.SVC(solver=solver, tol=1e-6, trace=True).fit(X, y)
    display = StepDisplay.from_estimator(model, X, y, size=20)
    corners = np.column_stack([axis.ravel() for axis in np.meshgrid(*display.grid)])
    f = model.decision_function(pd.DataFrame(corners, columns=X.columns)).reshape(20, 20)
    np.testing.assert_allclose(display.decisions[-1], f, atol=1e-5)
    np.testing.assert_allclose(display.weights[-1], model.alpha_)
    assert display.steps[0] == 0
    assert display.steps[-1] == model.trace_["step"].iloc[-1]
    assert display.columns == ["height", "weight"]
    assert display.classes == ["short", "tall"]
    ax = display.plot().ax_
    assert ax.get_xlabel() == "height"
    assert "step" in ax.get_title()


@pytest.mark.parametrize(
    "model",
    [
        mm.Perceptron(max_iter=3, random_state=0),
        mm.Pegasos(average=False, random_state=0, max_iter=2),
        mm.PassiveAggressive(random_state=0, max_iter=2, tol=None),
        mm.SubgradientDescent(mode="batch", max_iter=5),
        mm.KernelPerceptron(max_iter=3, random_state=0),
    ],
    ids=lambda model: type(model).__name__,
)
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_online_learners(table: Any, model: Any) -> None:
    X, y = table
    model.set_params(trace=True).fit(X, y)
    display = StepDisplay.from_estimator(model, X, y, size=10, max_frames=7)
    assert len(display.steps) == min(7, len(model.trace_))
    if not getattr(model, "average", False):
        corners = np.column_stack([axis.ravel() for axis in np.meshgrid(*display.grid)])
        f = model.decision_function(pd.DataFrame(corners, columns=X.columns))
        np.testing.assert_allclose(display.decisions[-1].ravel(), f, atol=1e-9 * (1 + np.abs(f).max()))
    display.plot(step=int(display.steps[2]))


def test_single_steps_and_their_chosen_rows(table: Any) -> None:
    X, y = table
    model = mm.SVC(solver="smo", trace=True).fit(X, y)
    display = StepDisplay.from_estimator(model, X, y, size=10, max_frames=1000)
    assert len(display.steps) == len(model.trace_)
    assert len(display.chosen[0]) == 0
    for k in range(1, 5):
        np.testing.assert_array_equal(display.chosen[k], np.unique(model.trace_["rows"].iloc[k]))
    display.plot(step=3)
    assert display.ax_.get_title().startswith("step 3\nprimal")
    with pytest.raises(ValueError, match="step=-1 comes before the first one, 0"):
        display.plot(step=-1)


def test_several_classes_pipelines_and_detectors(table: Any) -> None:
    X, _ = table
    y = np.digitize(X["height"], [-0.5, 0.5])
    model = make_pipeline(StandardScaler(), mm.SVC(trace=True)).fit(X, y)
    display = StepDisplay.from_estimator(model, X, y, machine=1, size=10)
    assert display.classes == ["2", "0"]
    assert (display.signs == 0).sum() == (y == 1).sum()
    display.plot()
    for detector in (mm.OneClassSVM(trace=True), mm.SVDD(C=0.1, trace=True), mm.NuSVC(trace=True, nu=0.2)):
        detector.fit(X, y > 0)
        shown = StepDisplay.from_estimator(detector, X, y > 0, size=10).plot()
        corners = np.column_stack([axis.ravel() for axis in np.meshgrid(*shown.grid)])
        f = detector.decision_function(pd.DataFrame(corners, columns=X.columns))
        np.testing.assert_allclose(shown.decisions[-1].ravel(), f, atol=1e-2)


def test_animations(table: Any, tmp_path: Path) -> None:
    X, y = table
    model = mm.SVC(solver="smo", trace=True).fit(X, y)
    display = StepDisplay.from_estimator(model, X, y, size=10, max_frames=3)
    assert "<img" in display.to_jshtml()
    path = display.save(tmp_path / "steps.gif")
    assert path.read_bytes()[:4] == b"GIF8"
    with pytest.raises(ValueError, match=r"must end in \.gif"):
        display.save(tmp_path / "steps.mp4")


def test_errors(table: Any) -> None:
    X, y = table
    with pytest.raises(ValueError, match="SVC has no trace: fit it with trace=True"):
        StepDisplay.from_estimator(mm.SVC().fit(X, y), X, y)
    wide = X.assign(age=1.0)
    with pytest.raises(ValueError, match="draws two columns"):
        StepDisplay.from_estimator(mm.SVC(trace=True).fit(wide, y), wide, y)
    with pytest.raises(TypeError, match="not regressors"):
        StepDisplay.from_estimator(mm.SVR(trace=True).fit(X, X["weight"]), X, X["weight"])
    with pytest.raises(ValueError, match="machine=4 has no steps"):
        StepDisplay.from_estimator(mm.SVC(trace=True).fit(X, y), X, y, machine=4)
