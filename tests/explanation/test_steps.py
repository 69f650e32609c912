"""mm.steps: every state of a fit, and the last one is the model."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.datasets import make_moons

import maxmargin as mm

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
DUAL = ("smo", "qp", "chunking", "decomposition", "working_set")
EXACT = {"smo", "qp", "chunking", "decomposition"}
MACHINES: dict[str, Any] = {
    "svc": mm.SVC(C=2.0),
    "linear": mm.SVC(kernel="linear", C=2.0),
    "squared": mm.SVC(loss="squared_hinge"),
    "balanced": mm.SVC(class_weight="balanced", kernel="RBF(gamma=1) + Linear()"),
    "nu": mm.NuSVC(nu=0.4),
    "svr": mm.SVR(C=3.0, epsilon=0.1),
    "squared_svr": mm.SVR(loss="squared_epsilon_insensitive", epsilon=0.1),
    "nu_svr": mm.NuSVR(nu=0.4),
    "one_class": mm.OneClassSVM(nu=0.3),
    "svdd": mm.SVDD(C=0.1),
    "svdd_linear": mm.SVDD(C=0.1, kernel="linear"),
}


@pytest.fixture(scope="module")
def moons() -> tuple[Any, Any]:
    return make_moons(60, noise=0.3, random_state=0)


def target(model: Any, X: Any, y: Any) -> Any:
    return np.sin(2 * X[:, 0]) + 0.2 * X[:, 1] if "SVR" in type(model).__name__ else y


def decisions(model: Any, X: Any) -> Any:
    return model.predict(X) if "SVR" in type(model).__name__ else model.decision_function(X)


def grid() -> Any:
    return np.random.default_rng(1).uniform(-2, 3, size=(200, 2))


def check_last(model: Any, states: Any, limit: float) -> None:
    last, at = states[-1], grid()
    f = decisions(model, at)
    np.testing.assert_allclose(last.decisions(at), f, rtol=0, atol=limit * (1 + np.abs(f).max()))
    assert last.intercept == pytest.approx(model.intercept_[0], abs=limit * (1 + abs(model.intercept_[0])))


@pytest.mark.parametrize("name", MACHINES)
@pytest.mark.parametrize("solver", DUAL)
def test_the_last_state_is_the_model(moons: Any, name: str, solver: str) -> None:
    X, y = moons
    model = MACHINES[name].set_params(solver=solver, trace=True)
    z = target(model, X, y)
    model.fit(X, z)
    states = mm.steps(model, X, z)
    check_last(model, states, 1e-9 if solver in EXACT else 1e-6)
    last, fitted = states[-1], model.machines_[0]
    np.testing.assert_allclose(last.machine.alpha, fitted.alpha, rtol=1e-12, atol=1e-12)
    assert last.gap == pytest.approx(model.certificate_.gap, abs=1e-6 * (1 + abs(last.dual)))
    if hasattr(model, "point_kinds_"):
        np.testing.assert_array_equal(last.kinds, model.point_kinds_)


def degenerate(case: str, moons: Any) -> tuple[Any, Any, dict[str, Any]]:
    """Rows, classes and settings of fits that end early, on a corner or in rounding."""
    X, y = moons[0][:30], moons[1][:30]
    return {
        "max_iter": (X, y, {"max_iter": 2}),
        "one row per class": (np.array([[0.0, 0.0], [1.0, 2.0]]), np.array([0, 1]), {}),
        "one row against many": (
            X[np.append(np.flatnonzero(y == 0), np.argmax(y))],
            np.sort(np.append(y[y == 0], 1)),
            {},
        ),
        "duplicates": (np.repeat(X[:6], 4, axis=0), np.repeat(y[:6], 4), {}),
        "contradictions": (np.repeat(X[:6], 4, axis=0), np.tile([0, 1], 12), {}),
        "the same row": (np.zeros((6, 2)), np.array([0, 1] * 3), {}),
        "huge C": (X, y, {"C": 1e8, "max_iter": 400}),
        "far from the origin": (X + 1e4, y, {"max_iter": 400}),
    }[case]


@pytest.mark.parametrize("solver", DUAL)
@pytest.mark.parametrize(
    "case",
    ["max_iter", "one row per class", "one row against many", "duplicates", "contradictions", "the same row",
     "huge C", "far from the origin"],
)  # fmt: skip
def test_the_last_state_of_a_degenerate_fit(moons: Any, case: str, solver: str) -> None:
    X, y, settings = degenerate(case, moons)
    at = grid()[:40] + X.mean(axis=0)
    for name in ("svc", "linear", "svr", "one_class", "svdd"):
        model = clone(MACHINES[name]).set_params(solver=solver, trace=True)
        if name == "svdd":
            model.set_params(C=0.6)  # enough for two rows
        known = {key: value for key, value in settings.items() if key in model.get_params()}
        z = target(model, X, y)
        model.set_params(**known).fit(X, z)
        fitted, last = model.machines_[0], mm.steps(model, X, z)[-1]
        for found, wanted in (
            (mm.replay(model.trace_)[0], fitted.alpha),
            (last.machine.alpha, fitted.alpha),
            (last.f, fitted.decisions),
            (last.kinds, model.kinds_of(fitted)),
            (last.intercept, model.intercept_[0]),
            (last.violation, fitted.certificate.kkt),
        ):
            np.testing.assert_array_equal(found, wanted, err_msg=name)
        f = decisions(model, at)
        largest = np.abs(model.kernel_.diagonal(model.kernel_.prepare(np.vstack([at, X])))).max()
        rounding = 1e-12 * np.abs(fitted.beta).sum() * largest
        limit = 1e-9 * (1 + np.abs(f).max()) + rounding
        np.testing.assert_allclose(last.decisions(at), f, rtol=0, atol=limit, err_msg=name)


@pytest.mark.parametrize("solver", ["subgradient", "pegasos"])
@pytest.mark.parametrize("kind", ["svc", "svr", "one_class"])
def test_the_solvers_of_the_primal_keep_their_intercept(moons: Any, solver: str, kind: str) -> None:
    if solver == "pegasos" and kind != "svc":
        pytest.skip("pegasos solves SVC only")
    X, y = moons
    models = {"svc": mm.SVC(C=0.1), "svr": mm.SVR(C=0.1), "one_class": mm.OneClassSVM(nu=0.3)}
    model = models[kind].set_params(kernel="linear", solver=solver, trace=True)
    z = target(model, X, y)
    states = mm.steps(model.fit(X, z), X, z)
    check_last(model, states, 1e-9)
    assert states[-1].gap >= -1e-12


@pytest.mark.parametrize("solver", DUAL)
def test_the_hard_margin_has_a_trace(solver: str) -> None:
    X = np.array([[0.0, 0.0], [1.0, 0.2], [0.2, 1.0], [3.0, 3.0], [4.0, 2.5], [2.5, 4.0]])
    y = [0, 0, 0, 1, 1, 1]
    model = mm.HardMarginSVC(kernel="linear", solver=solver, tol=1e-8, trace=True).fit(X, y)
    states = mm.steps(model, X, y)
    assert len(states) > 2
    check_last(model, states, 1e-9)
    np.testing.assert_allclose(mm.replay(model.trace_)[0], model.alpha_, rtol=1e-12)
    duals = states.series()["dual"].to_numpy()
    for state in states:  # feasible on the way: the weights of both classes have the same sum
        assert state.machine.alpha @ state.machine.signs == pytest.approx(0.0, abs=1e-9)
        assert state.dual <= model.certificate_.primal + 1e-9
    assert duals[-1] == pytest.approx(model.certificate_.dual, rel=1e-9)


@pytest.mark.parametrize("solver", ["smo", "chunking", "decomposition", "subgradient", "pegasos"])
def test_a_row_of_the_trace_is_one_state(moons: Any, solver: str) -> None:
    X, y = moons
    model = mm.SVC(kernel="linear", C=0.5, solver=solver, shrinking=False, trace=True).fit(X, y)
    states, series = mm.steps(model, X, y), model.trace_
    for k in range(0, len(states), max(1, len(states) // 9)):
        state, line = states[k], series.iloc[k]
        assert state.dual == pytest.approx(-line["objective"], rel=1e-9, abs=1e-9)
        assert state.gap == pytest.approx(line["gap"], rel=1e-6, abs=1e-8)
        assert state.primal == pytest.approx(line["primal"], rel=1e-6, abs=1e-8)
        assert state.violation == pytest.approx(line["violation"], rel=1e-6, abs=1e-8)
        assert state.intercept == pytest.approx(line["intercept"], abs=1e-9)
    if solver in ("smo", "chunking", "decomposition"):
        assert (np.diff(states.series()["dual"]) >= -1e-12).all()


def test_any_order_gives_the_same_states(moons: Any) -> None:
    X, y = moons
    model = mm.SVC(kernel="linear", C=100, solver="smo", trace=True).fit(X, y)
    assert len(model.trace_) > 200
    forward = mm.steps(model, X, y)
    there = [forward[k].machine.alpha for k in range(len(forward))]
    other = mm.steps(model, X, y)
    for k in np.random.default_rng(0).permutation(len(there))[:100]:
        np.testing.assert_array_equal(other[int(k)].machine.alpha, there[k])
    a = np.zeros(len(y))
    for k, (variables, after) in enumerate(
        zip(model.trace_["variables"], model.trace_["after"], strict=True)
    ):
        a[variables] = after
        np.testing.assert_array_equal(there[k], a)
    assert [state.number for state in mm.steps(model, X, y)] == model.trace_["step"].tolist()
    with pytest.raises(IndexError, match="does not exist"):
        other[len(other)]


@pytest.mark.parametrize("average", [False, True])
@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("kind", ["Perceptron", "PassiveAggressive", "Pegasos", "KernelPerceptron"])
def test_online_learners(kind: str, n_classes: int, average: bool) -> None:
    rng = np.random.default_rng(n_classes)
    X = rng.normal(size=(60, 2))
    y = np.digitize(X[:, 0] + 0.3 * rng.normal(size=60), np.linspace(-0.5, 0.5, n_classes - 1))
    model = getattr(mm, kind)(max_iter=5, average=average, random_state=0, trace=True).fit(X, y)
    at = grid()
    f = model.decision_function(at).reshape(len(at), -1)
    for machine in range(f.shape[1] if n_classes > 2 else 1):
        states = mm.steps(model, X, y, machine=machine)
        size = 1 + np.abs(f).max()
        np.testing.assert_allclose(states[-1].decisions(at), f[:, machine], rtol=0, atol=1e-8 * size)
        assert states[-1].intercept == pytest.approx(model.intercept_[machine], abs=1e-8 * size)
    if kind == "Perceptron" and n_classes == 2:
        signs = np.where(y == 1, 1.0, -1.0)
        made = (signs[model.trace_["row"]] * model.trace_["score"] <= 0).sum()
        assert states[-1].mistakes == made


def test_batch_subgradients_and_least_squares() -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(40, 2))
    y = (X[:, 0] > 0.2).astype(int)
    model = mm.SubgradientDescent(mode="batch", max_iter=20, trace=True).fit(X, y)
    np.testing.assert_allclose(mm.steps(model, X, y)[-1].decisions(X), model.decision_function(X), atol=1e-9)


def test_several_classes_one_machine_at_a_time(moons: Any) -> None:
    X, _ = moons
    y = np.digitize(X[:, 0], [0.0, 1.0])
    model = mm.SVC(solver="smo", trace=True).fit(X, y)
    for k, fitted in enumerate(model.machines_):
        last = mm.steps(model, X, y, machine=k)[-1]
        np.testing.assert_array_equal(last.rows, fitted.rows)
        np.testing.assert_allclose(last.f, fitted.decisions, atol=1e-9)
        np.testing.assert_allclose(last.decisions(X), model.binary_decisions(X)[:, k], atol=1e-9)


def test_weights_of_the_rows(moons: Any) -> None:
    X, y = moons
    weight = np.random.default_rng(0).integers(0, 3, 60).astype(float)
    for loss in ("hinge", "squared_hinge"):
        model = mm.SVC(solver="smo", loss=loss, trace=True).fit(X, y, sample_weight=weight)
        last = mm.steps(model, X, y, weight)[-1]
        assert last.gap == pytest.approx(model.certificate_.gap, abs=1e-9)
    with pytest.raises(ValueError, match="not the rows"):
        mm.steps(model, X, y)
    doubled = mm.SVC(solver="smo", trace=True).fit(X, y, sample_weight=np.full(60, 2.0))
    with pytest.raises(ValueError, match="give sample_weight"):
        mm.steps(doubled, X, y)


def test_the_table_of_a_step(moons: Any) -> None:
    X, y = moons
    model = mm.SVC(solver="smo", tol=1e-8, trace=True).fit(X, y)
    states = mm.steps(model, X, y)
    last, table = mm.kkt_table(model, states[-1]), mm.kkt_table(model)
    pd.testing.assert_frame_equal(last, table, atol=1e-7)
    start = mm.kkt_table(model, states[0])
    assert (start["alpha"] == 0).all()
    assert (start["violation"] > 0).any()
    assert start["violation"].max() > 1e6 * last["violation"].max()
    other = mm.SVC(solver="smo", trace=True).fit(X, y)
    with pytest.raises(ValueError, match="a state of this model"):
        mm.kkt_table(other, states[0])


def test_the_table_and_the_radius_of_a_ball() -> None:
    """Two points at distance 2 and one between them: R = 1, the centre in the middle."""
    X = np.array([[0.0, 0.0], [2.0, 0.0], [1.0, 0.5]])
    model = mm.SVDD(kernel="linear", C=1.0, tol=1e-9, solver="smo", trace=True).fit(X)
    assert model.radius_ == pytest.approx(1.0, abs=1e-8)
    table = mm.kkt_table(model)
    np.testing.assert_allclose(table["f"], [0.0, 0.0, 0.75], atol=1e-8)
    np.testing.assert_allclose(table["f"], model.decision_function(X), atol=1e-8)
    np.testing.assert_allclose(mm.steps(model, X)[-1].f, [0.0, 0.0, 0.75], atol=1e-8)


def test_errors(moons: Any) -> None:
    X, y = moons
    with pytest.raises(ValueError, match="SVC has no trace: fit it with trace=True"):
        mm.steps(mm.SVC().fit(X, y), X, y)
    model = mm.SVC(trace=True).fit(X, y)
    with pytest.raises(ValueError, match="machine=3 has no steps: the model has 1, numbered from 0"):
        mm.steps(model, X, y, machine=3)
    with pytest.raises(ValueError, match="not the rows"):
        mm.steps(model, X[:50], y[:50])


@pytest.mark.parametrize("solver", ["working_set", "smo", "decomposition", "subgradient"])
def test_a_callback_stops_a_fit(moons: Any, solver: str) -> None:
    X, y = moons
    seen: list[Any] = []

    def stop(progress: Any) -> bool:
        seen.append(progress)
        return len(seen) == 2

    model = mm.SVC(kernel="linear", C=1e4, solver=solver, tol=1e-9).fit(X, y, callback=stop)
    assert len(seen) == 2
    assert model.solution_.status.short == "interrupted"
    assert seen[1].n_iter >= seen[0].n_iter
    assert np.isfinite(model.decision_function(X)).all()
    told: list[Any] = []
    finished = mm.SVR(solver=solver, kernel="linear").fit(X, X[:, 0], callback=told.append)
    assert told
    assert finished.solution_.status.short != "interrupted"
