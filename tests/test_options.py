"""No path forgets an option: every way to solve a dual problem honours the limits of its estimator."""

from __future__ import annotations

import threading
import traceback
import warnings
from collections.abc import Callable, Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer, load_diabetes, load_iris
from sklearn.exceptions import ConvergenceWarning
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import maxmargin as mm
from maxmargin.base import progress, threads, work_clock
from maxmargin.base.memory import cache_bytes
from maxmargin.base.threads import effective_threads
from maxmargin.feature_selection import (
    RFE,
    SFS,
    CrossValidatedError,
    Forward,
    LeaveOneOutError,
    SubsetSelector,
)
from maxmargin.solvers.dual.gram import gram_problem, shared_gram
from maxmargin.solvers.stopping import Budget

CANCER = load_breast_cancer(return_X_y=True)
X = StandardScaler().fit_transform(CANCER[0])[:140, :6]
Y = CANCER[1][:140]
IRIS = load_iris(return_X_y=True)
DIABETES = load_diabetes(return_X_y=True)
C_GRID = {"C": [1.0, 100.0]}


def _svc(**options: Any) -> Any:
    return mm.SVC(**{"C": 10.0, "gamma": 0.5} | options)


def _tune(estimator: Any, X: Any, y: Any, grid: Any = C_GRID, **options: Any) -> Any:
    return mm.tune(estimator, X, y, grid, **{"cv": 3, "refit": False} | options)


def _scaled(**options: Any) -> Any:
    return _tune(make_pipeline(StandardScaler(), _svc(**options)), X, Y, {"svc__C": [1.0, 100.0]})


def _one_class(**options: Any) -> Any:
    return _tune(mm.OneClassSVM(gamma=0.5, **options), X, Y * 2 - 1, {"nu": [0.1, 0.3]}, scoring="accuracy")


# every path, as a function of the options of its estimator
PATHS: dict[str, Callable[..., Any]] = {
    "fit": lambda **options: _svc(**options).fit(X, Y),
    "fit pairs": lambda **options: _svc(**options).fit(*IRIS),
    "tune binary": lambda **options: _tune(_svc(**options), X, Y),
    "tune pairs": lambda **options: _tune(_svc(**options), *IRIS),
    "tune one-versus-rest": lambda **options: _tune(_svc(multiclass="ovr", **options), *IRIS),
    "tune regression": lambda **options: _tune(
        mm.SVR(**options), *DIABETES, {"C": [1.0], "epsilon": [1.0, 5.0]}
    ),
    "tune one-class": _one_class,
    "tune with a scaler": _scaled,
    "tune leave-one-out": lambda **options: _tune(_svc(**options), X[:60], Y[:60], cv="loo"),
    "GridSearch": lambda **options: mm.GridSearch(_svc(**options), C_GRID, cv=3, refit=False).fit(X, Y),
    "nested_error": lambda **options: mm.nested_error(_svc(**options), X, Y, C_GRID, 2, 2),
    "wrapper": lambda **options: CrossValidatedError(_svc(**options), 3).prepare(X, Y)([(0, 1), (2, 3)]),
    "wrapper leave-one-out": lambda **options: LeaveOneOutError(_svc(**options)).prepare(X[:60], Y[:60])(
        [(0, 1)]
    ),
    "SFS": lambda **options: SFS(_svc(**options), 2, cv=3).fit(X[:, :4], Y),
    "SFS behind a scaler": lambda **options: SFS(
        make_pipeline(StandardScaler(), _svc(**options)), 2, cv=3
    ).fit(X[:, :3], Y),
    "SFS leave-one-out": lambda **options: SubsetSelector(Forward(2), LeaveOneOutError(_svc(**options))).fit(
        X[:60, :3], Y[:60]
    ),
    "tune NuSVC": lambda **options: _tune(mm.NuSVC(gamma=0.5, **options), X, Y, {"nu": [0.1, 0.3]}),
    "RandomSearch": lambda **options: mm.RandomSearch(
        _svc(**options), {"C": [1.0, 10.0]}, n_iter=2, cv=3, refit=False, random_state=0
    ).fit(X, Y),
    "RFE": lambda **options: RFE(_svc(**options), 4).fit(X, Y),
    "RFE in folds": lambda **options: RFE(_svc(**options), cv=3).fit(X[:, :3], Y),
    "RFE linear": lambda **options: RFE(_svc(kernel="linear", **options), 4).fit(X, Y),
}
# a criterion alone neither prints nor looks at the clock: the selectors that search with it do
WITHOUT_CRITERIA = [name for name in PATHS if not name.startswith("wrapper")]


@pytest.fixture(params=PATHS)
def path(request: pytest.FixtureRequest) -> Callable[..., Any]:
    return PATHS[request.param]


@pytest.fixture
def budgets(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[tuple[int, float | None]]]:
    """What limits the solvers were given."""
    seen: list[tuple[int, float | None]] = []
    plain = Budget.__init__

    def noted(self: Budget, max_iter: int, time_limit: float | None) -> None:
        seen.append((max_iter, time_limit))
        plain(self, max_iter, time_limit)

    monkeypatch.setattr(Budget, "__init__", noted)
    return seen


def test_a_converged_path_is_silent(path: Callable[..., Any]) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        path()


@pytest.mark.filterwarnings("ignore:A worker stopped while some jobs")  # joblib renews one that has grown
@pytest.mark.parametrize("n_jobs", [1, 2])
@pytest.mark.parametrize("name", ["SFS", "SBS", "RFE"])
def test_a_selector_warns_once_for_all_its_fits(name: str, n_jobs: int) -> None:
    kernel = "linear" if name == "RFE" else "rbf"
    selector = getattr(mm.feature_selection, name)(mm.SVC(kernel=kernel, max_iter=2), 1, n_jobs=n_jobs)
    with pytest.warns(
        ConvergenceWarning, match=r"^\d+ fits did not converge\. The first: .*max_iter"
    ) as caught:
        selector.fit(X[:, :3], Y)
    open_ = [w for w in caught if issubclass(w.category, ConvergenceWarning)]
    assert [w.filename for w in open_] == [__file__]


def test_max_iter(path: Callable[..., Any]) -> None:
    with pytest.warns(ConvergenceWarning, match=r"max_iter"):
        path(max_iter=1)


def test_time_limit(path: Callable[..., Any], budgets: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """A limit that is over at once stops every solve at the first look at the clock, with a warning."""
    monkeypatch.setattr(gram_problem, "STEPS_AT_ONCE", 2)
    with pytest.warns(ConvergenceWarning, match=r"time_limit"):
        path(time_limit=1e-9, tol=1e-9)
    assert budgets
    assert {limit for _, limit in budgets} == {1e-9}


def test_full_certificates(path: Callable[..., Any]) -> None:
    """Every path ends as converged with a full check, and still warns where it does not converge."""
    path(certify="full")
    with pytest.warns(ConvergenceWarning, match=r"max_iter"):
        path(certify="full", max_iter=1)


def test_a_full_check_works_in_float64_while_tuning(monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[int] = []
    plain = shared_gram.SharedGram.wide

    def noted(self: Any) -> Any:
        made.append(1)
        return plain(self)

    monkeypatch.setattr(shared_gram.SharedGram, "wide", noted)
    _tune(_svc(), X, Y)
    assert not made
    _tune(_svc(certify="full"), X, Y)
    assert made


def test_tol_reaches_the_solver(path: Callable[..., Any]) -> None:
    """A tolerance that no float reaches is not reported as reached."""
    with pytest.warns(ConvergenceWarning):
        path(tol=1e-300, max_iter=50)


SOURCES = Path(mm.__file__).parent
READERS = [  # modules that ask how much memory is allowed
    ".".join(["maxmargin", *file.relative_to(SOURCES).with_suffix("").parts])
    for file in sorted(SOURCES.rglob("*.py"))
    if "memory import cache_bytes" in file.read_text(encoding="utf-8")
]


def test_cache_size(path: Callable[..., Any], monkeypatch: pytest.MonkeyPatch) -> None:
    """Every path asks how much memory its estimator allows, and answers within it."""
    seen, others = set(), []

    def noted(cache_size: float | None) -> int:
        seen.add(cache_size)
        if cache_size != 0.5:
            others.append((threading.current_thread().name, traceback.format_stack(limit=8)))
        return cache_bytes(cache_size)

    for name in READERS:  # a module that is first imported while others are patched would stay patched
        monkeypatch.setattr(import_module(name), "cache_bytes", noted)
    path(cache_size=0.5)  # a row of 140 points fits, a matrix of products and values does not
    assert seen == {0.5}, others


def test_cache_size_decides_what_is_shared() -> None:
    result = _tune(_svc(cache_size=0.2), X, Y)
    assert result.path.startswith("row store")
    assert "cache_size" in result.path
    assert cache_bytes(0.2) < 22 * 140**2


def test_a_wrapper_without_memory_fits_fold_by_fold() -> None:
    for criterion in (CrossValidatedError(_svc(cache_size=0.2), 3), LeaveOneOutError(_svc(cache_size=0.2))):
        assert type(criterion.prepare(X, Y)).__name__ == "EstimatorErrors"


@pytest.mark.parametrize("cv", [None, 3])
def test_elimination_without_memory_fits_in_every_round(
    monkeypatch: pytest.MonkeyPatch, cv: int | None
) -> None:
    """It kept whole matrices of up to 4096 rows, whatever cache_size said."""
    expected = RFE(_svc(n_jobs=1), cv=cv).fit(X[:, :3], Y).ranking_
    monkeypatch.setattr("maxmargin.feature_selection.rfe.SVCElimination", None)
    few = RFE(_svc(cache_size=0.2, n_jobs=1), cv=cv).fit(X[:, :3], Y)
    np.testing.assert_array_equal(few.ranking_, expected)


def _answer(result: Any) -> Any:
    """The numbers of a path: errors of folds, a nested error, ranks, scores of subsets, or decisions."""
    if hasattr(result, "result_"):
        result = result.result_
    for name in ("folds", "errors", "error", "score_", "ranking_"):
        if hasattr(result, name):
            return getattr(result, name)
    return (
        result.decision_function(X if result.n_features_in_ == 6 else IRIS[0])
        if hasattr(result, "decision_function")
        else result
    )


def test_shrinking_changes_nothing_but_the_way(path: Callable[..., Any]) -> None:
    with_it, without = (_answer(path(shrinking=on, tol=1e-6)) for on in (True, False))
    np.testing.assert_allclose(
        np.asarray(with_it, dtype=np.float64), np.asarray(without, dtype=np.float64), rtol=1e-4, atol=1e-4
    )


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_n_jobs(path: Callable[..., Any], n_jobs: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every path reads n_jobs of the estimator and starts no more threads than that."""
    widths: list[int] = []
    plain = threads._pool
    noted: Any = lambda n, pid: widths.append(n) or plain(n, pid)  # noqa: E731  # it needs an attribute
    noted.cache_clear = plain.cache_clear
    monkeypatch.setattr(threads, "_pool", noted)
    path(n_jobs=n_jobs)
    assert set(widths) <= {n_jobs} - {1}
    with pytest.raises(ValueError, match="n_jobs=0 has no meaning"):
        path(n_jobs=0)


@pytest.mark.parametrize("name", WITHOUT_CRITERIA)
def test_ctrl_c(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """An interrupt half-way ends every path: with KeyboardInterrupt, or with what was finished, marked so."""
    path = PATHS[name]
    looks, last, plain = [], [0], work_clock.now

    def now() -> float:
        looks.append(1)
        if len(looks) == last[0]:
            raise KeyboardInterrupt
        return plain()

    monkeypatch.setattr(work_clock, "now", now)
    path()
    assert len(looks) > 1
    last[0] = len(looks) // 2
    looks.clear()
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)  # a search tells that it was interrupted
            found = path()
    except KeyboardInterrupt:
        return
    assert getattr(found, "interrupted", False) or getattr(found, "interrupted_", False)


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_the_threads_of_the_estimator_are_those_of_its_search(
    n_jobs: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The estimator's n_jobs holds unless the search has one of its own."""
    seen: list[int] = []
    from maxmargin.solvers.dual.gram import chains

    plain = chains.run
    monkeypatch.setattr(chains, "run", lambda jobs, n: seen.append(n) or plain(jobs, n))
    _tune(_svc(n_jobs=n_jobs), X, Y)
    assert set(seen) == {n_jobs}
    seen.clear()
    _tune(_svc(n_jobs=n_jobs), X, Y, n_jobs=1)
    assert set(seen) == {1}
    assert effective_threads(n_jobs) == n_jobs


@pytest.mark.parametrize("name", WITHOUT_CRITERIA)
def test_verbose_is_heard_on_standard_error(
    name: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(progress, "_BETWEEN", 0.0)  # a line for every piece of work, however short
    PATHS[name](verbose=1)
    shown = capsys.readouterr()
    assert shown.out == ""
    assert "[" in shown.err


def test_the_table_names_the_cells_that_did_not_converge() -> None:
    """Three steps are not enough for either C, and the errors are not those of the solution."""
    Z = StandardScaler().fit_transform(CANCER[0])
    with pytest.warns(
        ConvergenceWarning, match=r"2 of 2 cells did not converge \(max_iter\): the largest KKT"
    ) as caught:
        result = mm.tune(mm.SVC(gamma=0.01, max_iter=3), Z, CANCER[1], C_GRID, cv=5, refit=False)
    assert sum(issubclass(w.category, ConvergenceWarning) for w in caught) == 1
    assert list(result.table["status"]) == ["max_iter", "max_iter"]
    assert list(_tune(mm.SVC(gamma=0.01), Z, CANCER[1]).table["status"]) == ["converged", "converged"]


def test_a_cell_that_converges_is_not_blamed_for_another() -> None:
    Z = StandardScaler().fit_transform(CANCER[0])
    with pytest.warns(ConvergenceWarning, match="1 of 2 cells"):
        result = mm.tune(
            mm.SVC(gamma=0.01), Z, CANCER[1], {"C": [1e-3, 1e4], "max_iter": [600]}, cv=5, refit=False
        )
    assert list(result.table["status"]) == ["converged", "max_iter"]


def test_plain_fits_tell_their_status_too() -> None:
    with pytest.warns(ConvergenceWarning, match="1 of 1 cells did not converge"):
        result = _tune(mm.SVC(solver="smo", max_iter=2), X, Y, {"C": [1.0]})
    assert result.path.startswith("scikit-learn")
    assert list(result.table["status"]) == ["max_iter"]
    assert np.isfinite(result.folds).all()
