"""Every rung of the ladder reaches the same certified answer, and its trace leads there."""

from __future__ import annotations

import sys
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from sklearn import svm as sk
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import GridSearchCV

import maxmargin as mm
from maxmargin.feature_selection.column_svc import ColumnSVC
from maxmargin.kernels import RBF, Kernel
from tests.certificates import DenseDual, rebuilt
from tests.strategies import KERNELS, Problem, kernels, make_problem, problems

DUAL: dict[str, Any] = {
    "working_set": "working_set",
    "qp": "qp",
    "chunking": mm.solvers.Chunking(size=6),
    "decomposition": mm.solvers.Decomposition(size=4),
    "smo": "smo",
    "smo_first": mm.solvers.SMO(selection="first", cache=False),
}


def assert_agrees(model: Any, X: Any, y: Any, weight: Any) -> None:
    """The certificate of every row holds, and the objective is clarabel's to 1e-6."""
    target = None if isinstance(model, mm.OneClassSVM) else y
    certificate = mm.certify(model, X, target, sample_weight=weight)
    assert certificate.complete
    assert certificate.kkt <= model.tol
    assert certificate.infeasibility <= 1e-9 * max(1.0, float(model.solution_.x.sum()))
    dense = DenseDual.of(rebuilt(model, X, target, weight))
    peer = dense.objective(dense.solve_with_clarabel())
    scale = max(abs(peer), 1e-3)  # where the optimum is zero nothing is relative to it
    assert abs(dense.objective(model.solution_.x) - peer) <= 1e-6 * scale
    np.testing.assert_array_equal(mm.replay(model.trace_)[0], model.solution_.x)
    assert model.trace_["objective"].iloc[-1] == pytest.approx(
        dense.objective(model.solution_.x), abs=1e-6 * scale
    )


@pytest.mark.parametrize("name", DUAL)
@settings(max_examples=12)
@given(problem=problems(max_rows=25), kernel=kernels(), C=st.sampled_from([1e-4, 0.1, 1.0, 30.0]))
def test_svc(name: str, problem: Problem, kernel: Kernel, C: float) -> None:
    model = mm.SVC(C=C, kernel=kernel, solver=DUAL[name], tol=1e-6, trace=True, n_jobs=1)
    assert_agrees(model.fit(problem.X, problem.y, problem.weight), problem.X, problem.y, problem.weight)


@pytest.mark.parametrize("name", DUAL)
@settings(max_examples=8)
@given(problem=problems(max_rows=20), kernel=kernels(), C=st.sampled_from([1e-4, 0.1, 1.0, 10.0]))
def test_svr(name: str, problem: Problem, kernel: Kernel, C: float) -> None:
    assume(name != "smo_first" or isinstance(kernel, RBF))  # such pairs may crawl for minutes on a low rank
    model = mm.SVR(C=C, kernel=kernel, solver=DUAL[name], tol=1e-6, trace=True, n_jobs=1)
    assert_agrees(
        model.fit(problem.X, problem.target, problem.weight), problem.X, problem.target, problem.weight
    )


@pytest.mark.parametrize("name", DUAL)
@settings(max_examples=8)
@given(problem=problems(max_rows=25), kernel=kernels(), nu=st.sampled_from([0.1, 0.5, 0.9]))
def test_one_class(name: str, problem: Problem, kernel: Kernel, nu: float) -> None:
    model = mm.OneClassSVM(nu=nu, kernel=kernel, solver=DUAL[name], tol=1e-6, trace=True, n_jobs=1)
    assert_agrees(model.fit(problem.X, None, problem.weight), problem.X, None, problem.weight)


OTHERS: dict[str, Any] = {
    "squared_hinge": mm.SVC(C=2.0, loss="squared_hinge"),
    "hard_margin": mm.HardMarginSVC(),
    "nu_svc": mm.NuSVC(nu=0.5),
    "squared_svr": mm.SVR(C=2.0, epsilon=0.05, loss="squared_epsilon_insensitive"),
    "nu_svr": mm.NuSVR(nu=0.4, C=2.0),
    "svdd": mm.SVDD(C=0.05),
}


@pytest.mark.parametrize("name", DUAL)
@pytest.mark.parametrize("machine", OTHERS)
def test_other_machines(name: str, machine: str) -> None:
    problem = make_problem("separable" if machine == "hard_margin" else "overlapping", 50, 3, 1, "equal")
    y: Any = problem.target if "svr" in machine else problem.y
    y = None if machine == "svdd" else y
    model = clone(OTHERS[machine]).set_params(kernel="rbf", gamma=0.5, tol=1e-6, solver=DUAL[name])
    model.fit(problem.X, y)
    dense = DenseDual.of(rebuilt(model, problem.X, y))
    peer = dense.objective(dense.solve_with_clarabel())
    assert model.certificate_.kkt <= 1e-6
    assert dense.objective(model.solution_.x) == pytest.approx(peer, rel=1e-6)


@pytest.fixture(scope="module")
def blobs() -> tuple[Any, Any]:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(400, 2))
    return X, np.where(X[:, 0] + 0.5 * rng.normal(size=400) > 0.2, "yes", "no")


def test_quadratic_programming_where_pairs_stall() -> None:
    """The two problems of test_certificates.py on which pairwise steps give up."""
    problem = make_problem("constant_columns", 20, 3, seed=3, weights="imbalanced")
    model = mm.SVC(C=1e4, kernel="linear", loss="squared_hinge", solver="qp")
    model.fit(problem.X, problem.y, problem.weight)
    assert model.certificate_.kkt <= 1e-3
    problem = make_problem("constant_columns", 32, 5, seed=0, weights="imbalanced")
    regressor = mm.SVR(C=1e4, kernel="linear", solver="qp").fit(problem.X, problem.target, problem.weight)
    assert regressor.certificate_.kkt <= 1e-3


@pytest.mark.parametrize(
    ("machine", "problem", "kernel"),
    [
        (mm.SVC(C=30.0), ("separable", 4, 3, 270, "imbalanced"), 2),
        (mm.SVC(C=1e-4), ("constant_columns", 25, 3, 412, "spread"), 1),
        (mm.SVC(C=1e-4), ("separable", 22, 3, 244, "equal"), 2),
        (mm.SVR(C=30.0), ("overlapping", 10, 4, 175, "imbalanced"), 2),
        (mm.OneClassSVM(nu=0.1), ("rank_one", 24, 1, 824, "imbalanced"), 2),
        (mm.OneClassSVM(nu=0.1), ("rank_one", 24, 1, 649, "spread"), 2),
    ],
)
def test_quadratic_programming_where_the_interior_point_gives_up(
    machine: Any, problem: tuple[Any, ...], kernel: int
) -> None:
    """Rounding decides where clarabel stops: in any order of the rows the answer is within tol."""
    rows = make_problem(*problem)
    model = clone(machine).set_params(kernel=KERNELS[kernel], solver="qp", tol=1e-6)
    y = {"SVC": rows.y, "SVR": rows.target}.get(type(model).__name__)
    for seed in range(6):
        order = np.random.default_rng(seed).permutation(len(rows.X))
        model.fit(rows.X[order], None if y is None else y[order], rows.weight[order])
        assert model.certificate_.kkt <= 1e-6


def test_shrinking_and_the_cache_change_the_cost_not_the_answer(blobs: Any) -> None:
    X, y = blobs
    plain = mm.SVC(C=10.0, solver="smo", shrinking=False, tol=1e-5, trace=True).fit(X, y)
    shrunk = mm.SVC(C=10.0, solver="smo", tol=1e-5, trace=True).fit(X, y)
    bare = mm.SVC(C=10.0, solver=mm.solvers.SMO(cache=False), shrinking=False, tol=1e-5).fit(X, y)
    assert (plain.trace_["n_active"] == len(X)).all()
    assert (shrunk.trace_["n_active"] < len(X)).any()
    assert shrunk.trace_["gap"].isna().sum() > 1  # nobody knows the gap while rows are set aside
    assert plain.certificate_.dual == pytest.approx(shrunk.certificate_.dual, rel=1e-7)
    np.testing.assert_array_equal(bare.alpha_, plain.alpha_)
    assert plain.solution_.cache_hits > 0
    assert bare.solution_.cache_hits == 0
    assert bare.solution_.kernel_values > plain.solution_.kernel_values
    np.testing.assert_array_equal(mm.replay(shrunk.trace_)[0], shrunk.alpha_)


def test_a_small_cache_forgets_the_oldest_row(blobs: Any) -> None:
    X, y = blobs
    large = mm.SVC(solver="smo", shrinking=False).fit(X, y)
    small = mm.SVC(solver="smo", shrinking=False, cache_size=5 * 400 * 8 / 2**20).fit(X, y)
    np.testing.assert_array_equal(small.alpha_, large.alpha_)
    assert small.solution_.kernel_values > large.solution_.kernel_values


@pytest.mark.filterwarnings("ignore:the sigmoid kernel")
def test_smo_takes_the_steps_of_libsvm(blobs: Any) -> None:
    """Where the problem is not convex another path leads to another answer; this one is LIBSVM's."""
    X, y = blobs
    options: dict[str, Any] = {
        "C": 10.0,
        "kernel": "sigmoid",
        "gamma": 0.3,
        "coef0": -1.0,
        "shrinking": False,
    }
    peer = sk.SVC(**options).fit(X, y)
    model = mm.SVC(solver=mm.solvers.SMO(precision="float32"), **options)
    model.fit(X, y == peer.classes_[0])  # scikit-learn's first class is LIBSVM's +1
    alpha = np.zeros(len(X))
    alpha[peer.support_] = np.abs(peer.dual_coef_[0])
    assert model.n_iter_[0] == peer.n_iter_[0]
    np.testing.assert_allclose(model.alpha_, alpha, atol=1e-9)  # rows in float64 end 0.01 away
    assert model.certificate_.kkt <= model.tol


def test_a_trace_tells_the_story(blobs: Any) -> None:
    X, y = blobs
    model = mm.SVC(solver="smo", shrinking=False, trace=True).fit(X, y)
    trace = model.trace_
    assert len(trace) == model.n_iter_[0] + 1  # step 0 is the start
    assert (trace["objective"].diff().dropna() <= 1e-12).all()
    assert (trace["variables"].iloc[1:].map(len) == 2).all()
    assert trace["violation"].iloc[-2] > 0.9 * model.tol  # before the last step it was not done
    assert trace["violation"].iloc[-1] <= 0.9 * model.tol
    assert trace["gap"].iloc[-1] == pytest.approx(model.certificate_.gap, rel=0.5)
    assert trace["kernel_values"].iloc[-1] == model.solution_.kernel_values
    last = trace["variables"].iloc[-1]
    touched = [k for k in range(1, len(trace) - 1) if np.isin(trace["variables"].iloc[k], last).any()]
    broken = trace.drop(index=touched[-1])  # a later step begins where this one ended
    with pytest.raises(ValueError, match="does not start where the last one ended"):
        mm.replay(broken)


def test_traces_of_several_machines_name_training_rows() -> None:
    rng = np.random.default_rng(1)
    X, y = rng.normal(size=(90, 2)), np.repeat([0, 1, 2], 30)
    model = mm.SVC(solver="decomposition", trace=True).fit(X, y)
    for k, (machine, alpha) in enumerate(zip(model.machines_, mm.replay(model.trace_), strict=True)):
        np.testing.assert_array_equal(alpha, machine.alpha)
        rows = np.unique(np.concatenate(list(model.trace_["rows"][model.trace_["machine"] == k])))
        np.testing.assert_array_equal(rows, machine.rows)
    assert not hasattr(mm.SVC().fit(X, y), "trace_")


@pytest.mark.parametrize("C", [0.05, 0.5])
@pytest.mark.parametrize("solver", ["subgradient", "pegasos"])
def test_the_primal_rungs_report_their_gap(blobs: Any, solver: str, C: float) -> None:
    X, y = blobs
    exact = mm.SVC(C, kernel="linear", tol=1e-7).fit(X, y)
    model = mm.SVC(C, kernel="linear", solver=solver, tol=0.02, trace=True, max_iter=4000).fit(X, y)
    certificate = mm.certify(model, X, y)
    assert certificate.relative_gap <= 0.02
    assert certificate.relative_gap == pytest.approx(model.certificate_.relative_gap, rel=1e-9)
    # weak duality: the optimum lies between the two values
    assert certificate.dual <= exact.certificate_.dual * (1 + 1e-9)
    assert certificate.primal >= exact.certificate_.dual * (1 - 1e-9)
    assert model.trace_["gap"].iloc[-1] == pytest.approx(certificate.gap, rel=1e-6)
    np.testing.assert_array_equal(mm.replay(model.trace_)[0], model.alpha_)
    assert np.mean(model.predict(X) == exact.predict(X)) > 0.97


@pytest.mark.parametrize("machine", [mm.SVR(), mm.NuSVC(), mm.SVDD(C=0.01), mm.NuSVR()])
def test_subgradients_of_the_other_machines(blobs: Any, machine: Any) -> None:
    X, y = blobs
    machine = clone(machine).set_params(kernel="linear", solver="subgradient", tol=10.0)
    machine.fit(X, (y == "yes").astype(float))
    certificate = machine.certificate_
    assert certificate.gap >= -1e-9
    assert certificate.relative_gap <= 10.0
    assert certificate.infeasibility <= 1e-9


def test_a_gap_above_tol_is_a_warning(blobs: Any) -> None:
    X, y = blobs
    with pytest.warns(ConvergenceWarning, match=r"the duality gap is .* of the dual value, tol=1e-05"):
        mm.SVC(kernel="linear", solver="pegasos", tol=1e-5, max_iter=3).fit(X, y)


@pytest.mark.parametrize("solver", ["qp", "chunking", "decomposition", "smo"])
def test_limits_are_kept(blobs: Any, solver: str) -> None:
    X, y = blobs
    with pytest.warns(ConvergenceWarning, match="stopped at max_iter"):
        model = mm.SVC(solver=solver, max_iter=2).fit(X, y)
    assert model.n_iter_[0] == 2
    assert model.certificate_.infeasibility <= 1e-9
    with pytest.warns(ConvergenceWarning, match="stopped at time_limit"):
        mm.SVC(C=1e3, solver=solver, time_limit=1e-9).fit(X, y)


@pytest.mark.parametrize("solver", ["subgradient", "pegasos"])
def test_limits_between_two_looks_are_kept(blobs: Any, solver: str) -> None:
    X, y = blobs
    with pytest.warns(ConvergenceWarning, match="stopped at max_iter"):
        model = mm.SVC(kernel="linear", solver=solver, tol=1e-9, max_iter=13).fit(X, y)
    assert model.n_iter_[0] == 13


@pytest.mark.parametrize("solver", ["chunking", "decomposition", "smo"])
def test_a_warm_start_has_little_to_do(blobs: Any, solver: str) -> None:
    X, y = blobs
    model = mm.SVC(solver=solver, warm_start=True).fit(X, y)
    assert model.fit(X, y).n_iter_[0] == 0


X6, Y6 = np.arange(12.0).reshape(6, 2), np.array([0, 0, 0, 1, 1, 1])


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"solver": "simplex"}, "solver='simplex' is unknown: use 'working_set', 'qp', .* or 'pegasos'"),
        ({"solver": 3}, "solver=3 is not a solver: give a name"),
        ({"solver": mm.solvers.SMO(selection="third")}, "selection='third' is unknown"),
        ({"solver": mm.solvers.SMO(precision="half")}, "precision='half' is unknown"),
        ({"solver": mm.solvers.SMO(shrinking=False)}, "shrinking=False of SMO belongs to the machine"),
        ({"solver": mm.solvers.SMO(tol=1e-5)}, "tol=1e-05 of SMO belongs to the machine: set tol there"),
        ({"solver": mm.solvers.Decomposition(size=1)}, "size=1 must be a whole number from 2"),
        ({"solver": mm.solvers.Chunking(size=1)}, "size=1 must be a whole number >= 2"),
        ({"solver": "qp", "warm_start": True}, "does not support warm starts"),
        ({"solver": "qp", "cache_size": 1e-5}, "needs the whole matrix of 6 multipliers"),
        ({"solver": "chunking", "cache_size": 1e-5}, "working set of 6 multipliers needs .* MB, cache_size"),
        ({"solver": "pegasos"}, "needs kernel='linear', got RBF"),
        ({"solver": "subgradient", "kernel": "linear", "loss": "squared_hinge"}, "needs bounded multipliers"),
    ],
)
def test_errors(options: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        mm.SVC(**options).fit(X6, Y6)


def test_pegasos_is_for_classification_only() -> None:
    with pytest.raises(ValueError, match=r"hinge \(SVC\): use solver='subgradient'"):
        mm.SVR(kernel="linear", solver="pegasos").fit(X6, Y6)


def test_qp_refuses_kernels_that_are_not_psd() -> None:
    with (
        pytest.warns(UserWarning, match="not positive semidefinite"),
        pytest.raises(ValueError, match="solver='qp' needs a positive semidefinite kernel"),
    ):
        mm.SVC(kernel="sigmoid", gamma=0.01, solver="qp").fit(X6, Y6)


def test_qp_without_clarabel_names_the_remedy(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "clarabel", None)
    with pytest.raises(ImportError, match=r"pip install 'maxmargin\[qp\]'"):
        mm.SVC(solver="qp").fit(X6, Y6)


def test_a_chunk_that_outgrows_its_matrix(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("maxmargin.solvers.dual.chunking.MAX_BLOCK", 4)
    with pytest.raises(ValueError, match="Use solver='decomposition'"):
        mm.SVC(solver="chunking").fit(X6, Y6)


def test_solver_objects_are_parameters(blobs: Any) -> None:
    X, y = blobs
    model = mm.SVC(solver=mm.solvers.SMO(selection="first"))
    assert clone(model).get_params()["solver__selection"] == "first"
    assert repr(model.solver) == "SMO(selection='first')"
    model.set_params(solver__selection="second")
    assert model.solver == mm.solvers.SMO()
    with pytest.raises(ValueError, match="'size' is not an option of SMO: use selection, cache, precision"):
        model.set_params(solver__size=3)
    search = GridSearchCV(model, {"solver__selection": ["first", "second"]}, cv=2).fit(X, y)
    assert search.best_params_["solver__selection"] in ("first", "second")


def test_searches_use_the_solver_that_was_asked_for(blobs: Any) -> None:
    X, y = blobs
    result = mm.tune(mm.SVC(solver="smo"), X, y, {"C": [0.1, 1.0]}, cv=2, random_state=0)
    plain = mm.tune(mm.SVC(), X, y, {"C": [0.1, 1.0]}, cv=2, random_state=0)
    assert "shared" in plain.path
    assert "one fit per cell" in result.path
    assert result.best_params == plain.best_params
    assert ColumnSVC.of(mm.SVC()) is not None
    assert ColumnSVC.of(mm.SVC(solver="smo")) is None
    assert ColumnSVC.of(mm.SVC(trace=True)) is None


@pytest.mark.parametrize("solver", ["qp", "chunking", "decomposition", "smo", "subgradient", "pegasos"])
def test_sparse_rows_float32_and_given_kernels(blobs: Any, solver: str) -> None:
    X, y = blobs
    options: dict[str, Any] = {"C": 0.05, "solver": solver, "tol": 0.01}
    dense = mm.SVC(kernel="linear", **options).fit(X, y)
    sparse = mm.SVC(kernel="linear", **options).fit(sp.csr_array(X), y)
    narrow = mm.SVC(kernel="linear", **options).fit(X.astype(np.float32), y)
    f = dense.decision_function(X)
    np.testing.assert_allclose(sparse.decision_function(sp.csr_array(X)), f, atol=0.05)
    np.testing.assert_allclose(narrow.decision_function(X), f, atol=0.05)
    if solver not in ("subgradient", "pegasos"):
        given = mm.SVC(kernel="precomputed", **options).fit(X @ X.T, y)
        np.testing.assert_allclose(given.decision_function(X @ X.T), f, atol=0.05)


def test_progress_is_printed(blobs: Any, capsys: pytest.CaptureFixture[str]) -> None:
    X, y = blobs
    mm.SVC(solver="decomposition", verbose=1).fit(X, y)
    assert "violation" in capsys.readouterr().err
    mm.SVC(C=0.05, kernel="linear", solver="subgradient", tol=0.05, verbose=1).fit(X, y)
    assert "gap" in capsys.readouterr().err
