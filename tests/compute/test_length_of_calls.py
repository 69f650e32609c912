"""No compiled call delays Ctrl-C: every function that Python calls has an answer to how long one call is."""

from __future__ import annotations

import ast
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

import maxmargin as mm
from maxmargin import feature_selection as fs
from maxmargin.compute.tables import design as designs
from maxmargin.compute.tables import inner_products
from maxmargin.feature_selection import criteria, rankers, relief
from maxmargin.kernels import subsequence, vectors
from maxmargin.scorecards import partition
from maxmargin.solvers.online import online_loop
from maxmargin.solvers.primal import proximal_coordinate

SOURCES = Path(__file__).resolve().parents[2] / "src" / "maxmargin"
LEFT = "counts its work and returns when that is 0.1 s, or after the steps that its caller allows"
PASS = "a few operations for each row, value or bin that it is given: 0.2 s are 10^8 numbers"
STEP = "one pairwise step, or one number"
TILE = "a tile, whose size `fill_by_tiles`, `kernel_times` or the panel's group limits"
SMALL = "a table or matrix that stays in the cache"
STRINGS = "16 strings of up to 4000 symbols with themselves"
BESIDE = "runs beside the main thread where it is long"
PORTIONS = "its caller gives it portions: see CALLS"

HOW_LONG = {
    "best_partition": BESIDE, "best_bent_partition": BESIDE,
    "grow": PASS, "assign_numbers": PASS, "count_codes": PASS, "bin_evidence": STEP, "evidence_of_bins": PASS,
    "uncertainty_with_all": PORTIONS, "accepted_cuts": PASS, "information_with_classes": PORTIONS,
    "relief_sums": PORTIONS, "number_sums": PORTIONS, "distance_moments": PORTIONS,
    "extremes": PASS, "choose": PASS, "gradient": PASS, "group_layout": SMALL, "scale_block": SMALL,
    "solve_block": LEFT, "solve_on_gram": LEFT, "solve_folds": LEFT, "leave_each_out": LEFT,
    "solve_along": LEFT, "solve_pair": LEFT, "gather": SMALL, "add_rows": PASS, "add_class": PASS,
    "scaled_start": PASS, "multiplier_at": PASS,
    "worst_pair": STEP, "best_partner": STEP, "move_pair": STEP,
    "rbf_values_32": TILE, "_rbf_64": TILE, "rbf_values": TILE, "_squared_distances": TILE,
    "laplacian_distances": PORTIONS, "_fill": PORTIONS,
    "subsequence_tile": PORTIONS, "subsequence_self": STRINGS,
    "factors": PASS, "solutions": PASS, "quadratic_forms": PASS,
    "online_pass": PORTIONS, "perceptron_block": SMALL,
    "newton_steps_dense": SMALL, "descent_pass": PASS, "proximal_descent": PORTIONS,
    "csr_scores": PORTIONS, "csr_adjoint": PORTIONS, "csr_two_adjoints": PORTIONS, "csr_gram": PORTIONS,
    "csr_hessian_product": PORTIONS, "_csr_times_dense": PORTIONS, "_csr_squared_norms": PASS,
    "psi_at": PASS, "shuffle": PASS,
}  # fmt: skip


def _decorators(function: ast.FunctionDef) -> set[str]:
    return {d.id for d in function.decorator_list if isinstance(d, ast.Name)}


def called_by_python() -> set[str]:
    """Names of the jitted functions that a function which is not jitted uses."""
    trees = {path: ast.parse(path.read_text(encoding="utf-8")) for path in SOURCES.rglob("*.py")}
    jitted = {
        (path.stem, node.name)
        for path, tree in trees.items()
        for node in tree.body
        if isinstance(node, ast.FunctionDef) and {"jit", "jit_sums", "jit_finite"} & _decorators(node)
    }
    found = set()
    for path, tree in trees.items():
        known = {name: (stem, name) for stem, name in jitted if stem == path.stem}
        modules = {}
        for node in ast.walk(tree):
            if isinstance(node, ast.ImportFrom) and ".compute" in (node.module or ""):
                for one in node.names:
                    known[one.asname or one.name] = (str(node.module).rpartition(".")[2], one.name)
                    modules[one.asname or one.name] = one.name
        for node in ast.walk(tree):
            if not isinstance(node, ast.FunctionDef) or any(
                name.startswith(("jit", "part", "inline", "also")) for name in _decorators(node)
            ):
                continue
            for part in ast.walk(node):
                if isinstance(part, ast.Name):
                    found.add(known.get(part.id))
                elif isinstance(part, ast.Attribute) and isinstance(part.value, ast.Name):
                    found.add((modules.get(part.value.id), part.attr))
    return {name for pair in found & jitted for name in [pair[1]]}


def test_every_function_that_python_calls_says_how_long_a_call_is() -> None:
    assert called_by_python() == set(HOW_LONG)
    assert {name for name, how in HOW_LONG.items() if how is PORTIONS} == set(CALLS)


RNG = np.random.default_rng(0)
X = RNG.normal(size=(60, 5))
Y = (X[:, 0] + X[:, 1] + 0.5 * RNG.normal(size=60) > 0).astype(int)
TARGET = X[:, 0] - X[:, 2]
ROWS = sp.csr_matrix(np.where(np.abs(X) > 0.5, X, 0.0))
SVC = mm.SVC().fit(X.astype(np.float32), Y)
TEXTS = ["".join(RNG.choice(list("abc"), size=k)) for k in (6, 9, 4, 12, 7)]


def _design() -> Any:
    return designs.design(ROWS, 1)


# the module that cuts, its limit, and a call
CALLS: dict[str, tuple[Any, str, Callable[[], Any]]] = {
    "relief_sums": (relief, "_AT_ONCE", lambda: fs.ReliefF(3, n_jobs=1).fit(X, Y).scores_),
    "number_sums": (relief, "_AT_ONCE", lambda: fs.ReliefF(3, n_jobs=1).fit(X, TARGET).scores_),
    "distance_moments": (relief, "_AT_ONCE", lambda: fs.MultiSURF(n_jobs=1).fit(X, Y).scores_),
    "information_with_classes": (rankers, "_AT_ONCE", lambda: fs.InformationGain().fit(X, Y).scores_),
    "uncertainty_with_all": (criteria, "_AT_ONCE", lambda: fs.CFSMerit().prepare(X, Y)([(0, 1, 2)])),
    "laplacian_distances": (vectors, "_AT_ONCE", lambda: mm.kernels.Laplacian(0.3)(X)),
    "_fill": (vectors, "_AT_ONCE", lambda: SVC.decision_function(np.tile(X, (20, 1)).astype(np.float32))),
    "subsequence_tile": (subsequence, "_AT_ONCE", lambda: mm.kernels.Subsequence(3)(TEXTS)),
    "online_pass": (online_loop, "_PORTION", lambda: mm.Perceptron(random_state=0).fit(ROWS, Y).coef_),
    "proximal_descent": (
        proximal_coordinate,
        "_AT_ONCE",
        lambda: mm.LinearSVC(penalty="l1").fit(X, Y).coef_,
    ),
    "csr_scores": (designs, "_AT_ONCE", lambda: _design().scores(X[0])),
    "csr_adjoint": (designs, "_AT_ONCE", lambda: _design().adjoint(TARGET)),
    "csr_two_adjoints": (designs, "_AT_ONCE", lambda: _design().adjoint(X[:, :2].T)),
    "csr_gram": (designs, "_AT_ONCE", lambda: _design().gram(TARGET)),
    "csr_hessian_product": (
        designs,
        "_AT_ONCE",
        lambda: np.append(*_design().hessian_product(TARGET, X[0], 0.5)),
    ),
    "_csr_times_dense": (inner_products, "_AT_ONCE", lambda: mm.kernels.RBF(0.3)(ROWS)),
}


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")  # the perceptron's limit
@pytest.mark.parametrize("name", CALLS)
def test_portions_give_the_same_answer_in_more_calls(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    module, limit, call = CALLS[name]
    whole, calls = call(), []
    for holder in list(sys.modules.values()):
        if getattr(holder, "__name__", "").startswith("maxmargin.") and name in vars(holder):
            function = vars(holder)[name]

            def counted(*args: Any, _function: Any = function) -> Any:
                calls.append(name)
                return _function(*args)

            monkeypatch.setattr(holder, name, counted)
    np.testing.assert_allclose(call(), whole, rtol=1e-9)
    before = len(calls)
    monkeypatch.setattr(module, limit, 64)
    np.testing.assert_allclose(call(), whole, rtol=1e-5, atol=1e-12)
    assert len(calls) - before > before > 0


def test_hundreds_of_pre_bins_are_searched_off_the_main_thread(monkeypatch: pytest.MonkeyPatch) -> None:
    sizes = []
    monkeypatch.setattr(partition, "interruptible", lambda search, size: sizes.append(size) or search())
    for n in (50, 400):
        events = np.ones(n)
        problem = partition.PartitionProblem(
            events=events, nonevents=events, all_events=n, all_nonevents=n, min_weight=1.0, max_bins=4,
            min_events=0.0, smoothing=0.5,
        )  # fmt: skip
        partition.optimal_partition(problem, "ascending")
    assert sizes[0] < 700**2 < sizes[1]  # `interruptible` calls small ones at once
