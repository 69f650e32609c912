"""explain adds up to the decision; kkt_table is made of identities."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.datasets import load_iris
from sklearn.linear_model import Ridge
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import maxmargin as mm
from maxmargin.kernels import Kernel
from tests.strategies import Problem, kernels, make_problem, problems


@pytest.fixture(scope="module")
def iris() -> tuple[Any, Any]:
    data = load_iris(as_frame=True)
    return data.data, data.target_names[data.target]


# -- explain -----------------------------------------------------------------------------------------------


@given(problem=problems(max_rows=25), kernel=kernels(), i=st.integers(0, 24))
def test_terms_add_up(problem: Problem, kernel: Kernel, i: int) -> None:
    row = problem.X[i % len(problem.X)]
    for model, y in (
        (mm.SVC(kernel=kernel), problem.y),
        (mm.SVR(kernel=kernel), problem.target),
        (mm.OneClassSVM(kernel=kernel), None),
        (mm.SVDD(kernel=kernel), None),
    ):
        model.fit(problem.X, y)
        f = getattr(model, "decision_function", model.predict)(row[None])[0]
        found = mm.explain(model, row)
        assert found.decision == pytest.approx(f, abs=1e-9 * (1 + float(found.terms["term"].abs().sum())))
        assert len(found.terms) == len(model.support_)
        assert (np.diff(found.terms["term"].abs()) <= 0).all()


def test_every_machine_of_several_classes(iris: Any) -> None:
    X, y = iris
    for multiclass in ("ovo", "ovr"):
        model = mm.SVC(multiclass=multiclass, decision_function_shape="ovr").fit(X, y)
        for i in (0, 70, 120):
            decisions = model.binary_decisions(X.iloc[[i]])[0]
            for k in range(3):
                found = mm.explain(model, X.iloc[i], machine=k)
                assert found.decision == pytest.approx(decisions[k], abs=1e-9)
            np.testing.assert_allclose(mm.explain(model, X.iloc[i]).decisions, decisions, atol=1e-12)
    assert mm.explain(model, X.iloc[0]).against == "the rest"
    with pytest.raises(ValueError, match="machine=7 does not exist: the model has 3"):
        mm.explain(model, X.iloc[0], machine=7)


def test_the_closest_contest_is_explained(iris: Any) -> None:
    X, y = iris
    model = mm.SVC().fit(X, y)
    found = mm.explain(model, X.iloc[70])
    names = {found.prediction, found.against}
    assert names == {"versicolor", "virginica"}


def test_distances_and_slack() -> None:
    problem = make_problem("separable", 60, 2, 0, "equal")
    model = mm.SVC(kernel="linear").fit(problem.X, problem.y)
    w = model.coef_[0]
    for i in range(len(problem.y)):
        found = mm.explain(model, problem.X[i], y=problem.y[i])
        assert found.slack == pytest.approx(model.slack_[i], abs=1e-3)  # of the solver's decisions
        assert found.to_boundary == pytest.approx(abs(found.decision) / np.linalg.norm(w), rel=1e-9)
        expected = (abs(found.decision) - 1) / np.linalg.norm(w)
        assert found.to_margin == pytest.approx(expected, rel=1e-9, abs=1e-12)


def test_the_changes_lead_to_the_boundary_in_the_units_of_the_user(iris: Any) -> None:
    X, y = iris
    model = make_pipeline(StandardScaler(), mm.SVC(kernel="linear")).fit(X, y == "virginica")
    row = X.iloc[[70]]
    changes = mm.explain(model, row).changes
    assert changes is not None
    assert changes["column"].tolist()[0].startswith("petal")
    nearest = changes.set_index("column")["nearest"][list(X.columns)].to_frame().T
    assert model.decision_function(nearest)[0] == pytest.approx(0.0, abs=1e-9)
    for name, alone in zip(changes["column"], changes["alone"], strict=True):
        moved = row.copy()
        moved[name] = alone
        assert model.decision_function(moved)[0] == pytest.approx(0.0, abs=1e-9)
    np.testing.assert_allclose(changes.set_index("column")["value"][list(X.columns)], row.iloc[0])


def test_a_kernel_of_curves_has_no_changes(iris: Any) -> None:
    X, y = iris
    assert mm.explain(mm.SVC().fit(X, y), X.iloc[0]).changes is None


def test_ways_to_give_a_row(iris: Any) -> None:
    X, y = iris
    model = mm.SVC().fit(X.to_numpy(), y)
    values = X.iloc[3].to_numpy()
    f = mm.explain(model, values).decision
    assert mm.explain(model, list(values)).decision == f
    assert mm.explain(model, values[None]).decision == f
    with pytest.raises(ValueError, match=r"one row, got an array of shape \(2, 4\): give X\[i:i \+ 1\]"):
        mm.explain(model, X.to_numpy()[:2])
    K = X.to_numpy() @ X.to_numpy().T
    given_kernel = mm.SVC(kernel="precomputed").fit(K, y)
    assert mm.explain(given_kernel, K[3]).prediction == y[3]


def test_strings() -> None:
    words, y = ["abab", "abba", "cdcd", "cddc"], [0, 0, 1, 1]
    model = mm.SVC(kernel=mm.kernels.Subsequence(2)).fit(words, y)
    assert mm.explain(model, "abcd").decision == pytest.approx(model.decision_function(["abcd"])[0])


def test_regression_and_errors(iris: Any) -> None:
    X, _ = iris
    model = mm.SVR(epsilon=0.1).fit(X.iloc[:, :3], X.iloc[:, 3])
    found = mm.explain(model, X.iloc[0, :3], y=5.0)
    assert found.slack == pytest.approx(5.0 - found.decision - 0.1)
    assert np.isnan(found.to_boundary)
    assert np.isnan(mm.explain(model, X.iloc[0, :3]).slack)
    assert "target" in found.terms
    with pytest.raises(TypeError, match="not Ridge"):
        mm.explain(Ridge().fit(X.iloc[:, :3], X.iloc[:, 3]), X.iloc[0, :3])
    svc = mm.SVC().fit(X, np.repeat([0, 1, 2], 50))
    with pytest.raises(ValueError, match="y=2 is not a class of this machine: it decides"):
        mm.explain(svc, X.iloc[0], y=2, machine=0)


# -- kkt_table ---------------------------------------------------------------------------------------------


@given(problem=problems(max_rows=30), kernel=kernels(), C=st.sampled_from([0.1, 1.0, 10.0]))
def test_identities_of_the_classifier(problem: Problem, kernel: Kernel, C: float) -> None:
    model = mm.SVC(C=C, kernel=kernel, tol=1e-4).fit(problem.X, problem.y, problem.weight)
    table = mm.kkt_table(model)
    tol, largest = model.certificate_.kkt + 1e-4, C * problem.weight
    np.testing.assert_allclose(table["alpha"] + table["mu"], largest, rtol=1e-12)
    assert abs(float(table["y"] @ table["alpha"])) <= 1e-9 * max(1.0, float(table["alpha"].sum()))
    # complementary slackness: alpha (y f - 1 + xi) = 0 and mu xi = 0, up to the violation of the row
    assert (table["alpha"] * np.abs(table["y_f"] - 1 + table["slack"]) <= tol * largest).all()
    assert (table["mu"] * table["slack"] <= tol * largest).all()
    assert (table["y_f"] - 1 + table["slack"] >= 0).all()
    # the violation of a row is the distance of y f from where its condition wants it
    z = 1 - table["y_f"]
    wanted = np.select(
        [table["condition"].str.startswith("alpha = 0"), table["condition"].str.startswith("alpha = C")],
        [np.maximum(z, 0.0), np.maximum(-z, 0.0)],
        np.abs(z),
    )
    scale = 1.0 + float(table["y_f"].abs().max())
    np.testing.assert_allclose(table["violation"], wanted, rtol=0, atol=1e-9 * scale)
    assert table["violation"].max() <= tol


@pytest.mark.parametrize(
    ("model", "target"),
    [
        (mm.SVC(loss="squared_hinge"), "y"),
        (mm.HardMarginSVC(), "y"),
        (mm.NuSVC(nu=0.3), "y"),
        (mm.SVR(), "target"),
        (mm.SVR(loss="squared_epsilon_insensitive"), "target"),
        (mm.NuSVR(), "target"),
        (mm.OneClassSVM(nu=0.3), "none"),
    ],
)
def test_violations_of_the_other_machines(model: Any, target: str) -> None:
    problem = make_problem("separable", 60, 3, 2, "equal")
    y = {"y": problem.y, "target": problem.target, "none": None}[target]
    model.set_params(tol=1e-4).fit(problem.X, y)
    table = mm.kkt_table(model)
    assert len(table) == 60
    scale = model.machines_[0].scale  # the nu machine divides by rho, and its violations with it
    assert table["violation"].max() <= (model.certificate_.kkt + 1e-4) / scale
    if target == "target":
        assert (table["alpha_up"] * table["alpha_down"] == 0).all()
    if getattr(model, "loss", "") == "squared_hinge":
        assert table["mu"].isna().all()
        free = table[table["alpha"] > 0]
        np.testing.assert_allclose(free["alpha"], 2 * model.C * free["slack"], atol=2e-3)
        assert (free["condition"] == "alpha = 2 C slack").all()


def test_several_classes_and_pipelines(iris: Any) -> None:
    X, y = iris
    model = make_pipeline(StandardScaler(), mm.SVC()).fit(X, y)
    table = mm.kkt_table(model)
    assert isinstance(table, pd.DataFrame)
    assert table.groupby("machine").size().tolist() == [100, 100, 100]
    assert (table["label"] == y[table["row"]]).all()
    with pytest.raises(TypeError, match="kkt_table supports SVC"):
        mm.kkt_table(mm.LinearSVC().fit(X, y))
