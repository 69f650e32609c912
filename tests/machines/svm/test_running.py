"""Limits, interruption, warm start, threads, and life inside scikit-learn's tools."""

from __future__ import annotations

import pickle
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any

import joblib
import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import maxmargin as mm
from maxmargin.base.threads import effective_threads, run, split
from maxmargin.kernels import RBF, Linear
from maxmargin.solvers.dual import working_set
from maxmargin.solvers.stopping import Referee
from tests.clocks import warm
from tests.strategies import make_problem

PROBLEM = make_problem("overlapping", 200, 4, 0, "equal")
X, Y, TARGET = PROBLEM.X, PROBLEM.y, PROBLEM.target
EVERY = [
    mm.SVC(), mm.NuSVC(nu=0.4), mm.HardMarginSVC(), mm.SVR(), mm.NuSVR(), mm.OneClassSVM(), mm.SVDD(),
]  # fmt: skip


@pytest.mark.parametrize("small", [2000, 0])
@pytest.mark.parametrize("max_iter", [1, 7, 50])
def test_max_iter(small: int, max_iter: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(working_set, "_SMALL", small)
    with pytest.warns(ConvergenceWarning, match="stopped at max_iter.*largest KKT violation"):
        model = mm.SVC(C=100.0, max_iter=max_iter, tol=1e-6).fit(X, Y)
    assert model.n_iter_[0] == max_iter
    assert model.fit_status_ == 1
    assert model.certificate_.kkt > 1e-6
    assert mm.certify(model, X, Y).kkt == pytest.approx(model.certificate_.kkt)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_max_iter_of_the_hard_margin() -> None:
    assert mm.HardMarginSVC(max_iter=7).fit(X, Y).n_iter_[0] <= 7


def test_time_limit() -> None:
    big = make_problem("overlapping", 4000, 4, 0, "equal")

    def fit() -> None:
        with pytest.warns(ConvergenceWarning, match="stopped at time_limit"):
            mm.SVC(C=1e6, tol=1e-9, time_limit=0.3).fit(big.X, big.y)

    assert warm(fit)[1] < 3.0


def test_interruption_leaves_the_machine_as_it_was(monkeypatch: pytest.MonkeyPatch) -> None:
    model = mm.SVC().fit(X, Y)
    before = dict(model.__dict__)

    def interrupt(self: Any, *args: Any, **options: Any) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(Referee, "judge", interrupt)
    with pytest.raises(KeyboardInterrupt):
        model.fit(X[:, :2], Y)
    assert model.__dict__ == before


LONG_FIT = """
import os, signal, threading, time, numpy as np, maxmargin as mm
from maxmargin.compute.compiling import WATCH
rng, compiled = np.random.default_rng(0), -1.0
X, y = rng.normal(size=({n}, 5)), rng.integers(0, {classes}, {n})
while WATCH.seconds != compiled:  # before the clock starts
    compiled = WATCH.seconds
    mm.SVC(C=1e9, tol=1e-10, time_limit=0.5).fit(X, y)
pressed = []

def press():
    time.sleep(1.0)
    pressed.append(time.process_time())
    os.kill(os.getpid(), signal.SIGINT)

threading.Thread(target=press, daemon=True).start()
model = mm.SVC(C=1e9, tol=1e-10)
try:
    model.fit(X, y)
except KeyboardInterrupt:
    print("interrupted", hasattr(model, "machines_"), time.process_time() - pressed[0])
"""


@pytest.mark.parametrize(("n", "classes"), [(1500, 2), (5000, 2), (1500, 4)])
def test_ctrl_c_stops_within_a_second(n: int, classes: int) -> None:
    """Processor time of both threads, which other work on the machine does not change."""
    code = LONG_FIT.format(n=n, classes=classes)
    run = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=600, check=True
    )
    said, fitted, seconds = run.stdout.split()
    assert (said, fitted) == ("interrupted", "False")
    assert float(seconds) < effective_threads(None)


@pytest.mark.parametrize("loss", ["hinge", "squared_hinge"])
def test_warm_start(loss: Any) -> None:
    model = mm.SVC(C=1.0, loss=loss, warm_start=True, tol=1e-6).fit(X, Y)
    first = model.n_iter_[0]
    assert model.fit(X, Y).n_iter_[0] < first / 5
    for C in (0.5, 2.0):
        cold = mm.SVC(C=C, loss=loss, tol=1e-6).fit(X, Y)
        warm = model.set_params(C=C).fit(X, Y)
        assert warm.certificate_.kkt <= 1e-6
        assert warm.certificate_.dual == pytest.approx(cold.certificate_.dual, rel=1e-7)
    model.fit(X[:50], Y[:50])  # other rows: starts afresh
    assert model.certificate_.kkt <= 1e-6


def test_warm_start_of_regression() -> None:
    model = mm.SVR(C=1.0, warm_start=True, tol=1e-6).fit(X, TARGET)
    first = model.n_iter_
    assert model.fit(X, TARGET).n_iter_ < first / 5
    assert model.set_params(C=0.3).fit(X, TARGET).certificate_.kkt <= 1e-6


@pytest.mark.parametrize("model", EVERY, ids=lambda model: type(model).__name__)
def test_pickle_and_clone(model: Any) -> None:
    y = TARGET if isinstance(model, (mm.SVR, mm.NuSVR)) else Y
    fitted = clone(model).set_params(kernel=2.0 * RBF(gamma=0.5) + 0.1).fit(X, y)
    again = pickle.loads(pickle.dumps(fitted))
    np.testing.assert_array_equal(again.predict(X), fitted.predict(X))
    assert again.certificate_ == fitted.certificate_
    fresh = clone(fitted)
    assert not hasattr(fresh, "machines_")
    assert fresh.get_params()["kernel"] == fitted.kernel


def test_nested_parameters_of_the_kernel() -> None:
    model = mm.SVC(kernel=RBF(gamma=0.5) + Linear())
    assert model.get_params()["kernel__k1__gamma"] == 0.5
    kernel = model.kernel
    model.set_params(kernel__k1__gamma=2.0, C=3.0)
    assert model.kernel == RBF(gamma=2.0) + Linear()
    assert kernel == RBF(gamma=0.5) + Linear()
    assert model.C == 3.0


def test_grid_search_over_kernel_parameters() -> None:
    grid = {"svc__kernel__gamma": [0.01, 0.1, 1.0], "svc__C": [0.1, 10.0]}
    pipeline = make_pipeline(StandardScaler(), mm.SVC(kernel=RBF()))
    search = GridSearchCV(pipeline, grid, cv=3, error_score="raise").fit(X, Y)
    assert search.best_estimator_["svc"].kernel.gamma == search.best_params_["svc__kernel__gamma"]
    assert len(set(search.cv_results_["mean_test_score"])) > 1


@pytest.mark.parametrize("frame", [pd.DataFrame, pl.DataFrame], ids=["pandas", "polars"])
def test_dataframes(frame: Any) -> None:
    names = ["age", "dose", "width", "depth"]
    table = frame(dict(zip(names, X.T, strict=True)))
    model = mm.SVC(kernel=RBF(gamma=0.5, features=["age", "dose"])).fit(table, Y)
    plain = mm.SVC(kernel=RBF(gamma=0.5)).fit(X[:, :2], Y)
    np.testing.assert_allclose(model.decision_function(table), plain.decision_function(X[:, :2]), atol=1e-10)
    assert list(model.feature_names_in_) == names
    with pytest.raises(ValueError, match="feature names"):
        model.predict(table[names[::-1]])


def test_fits_from_several_threads_at_once() -> None:
    models = [mm.SVC(C=C, gamma=gamma) for C in (0.1, 1.0, 10.0) for gamma in (0.1, 1.0)]
    alone = [clone(model).fit(X, Y).decision_function(X) for model in models]
    with ThreadPoolExecutor(4) as pool:
        together = list(pool.map(lambda model: clone(model).fit(X, Y).decision_function(X), models))
    for one, other in zip(alone, together, strict=True):
        np.testing.assert_array_equal(one, other)


def threads_here() -> int:
    return effective_threads(None)


@pytest.mark.parametrize("backend", ["loky", "threading"])
def test_one_thread_inside_a_joblib_worker(backend: str, monkeypatch: pytest.MonkeyPatch) -> None:
    inside = joblib.Parallel(n_jobs=2, backend=backend)(joblib.delayed(threads_here)() for _ in range(2))
    assert inside == [1, 1]
    monkeypatch.delenv("OMP_NUM_THREADS", raising=False)
    assert threads_here() == joblib.cpu_count()


def test_numbers_of_threads() -> None:
    cores = joblib.cpu_count()
    assert effective_threads(3) == 3
    assert effective_threads(-1) == cores
    assert effective_threads(-cores - 5) == 1
    assert run([partial(int, k) for k in range(5)], 2) == list(range(5))
    parts = split(100, 3)
    assert [part.start for part in parts] == [0, 48, 96]
    assert parts[-1].stop == 100


@pytest.mark.parametrize("model", EVERY, ids=lambda model: type(model).__name__)
def test_threads_do_not_change_the_answer(model: Any) -> None:
    y = TARGET if isinstance(model, (mm.SVR, mm.NuSVR)) else Y
    one = clone(model).set_params(n_jobs=1, tol=1e-6).fit(X, y)
    two = clone(model).set_params(n_jobs=2, tol=1e-6).fit(X, y)
    np.testing.assert_allclose(one.alpha_, two.alpha_, atol=1e-9)


def test_verbose_prints_progress(capsys: pytest.CaptureFixture[str]) -> None:
    mm.SVC(verbose=1).fit(X, Y)
    shown = capsys.readouterr().err
    assert "[SVC 1/1]" in shown
    assert "violation" in shown


def test_float32_rows() -> None:
    small = X.astype(np.float32)
    model = mm.SVC().fit(small, Y)
    assert model.support_vectors_.dtype == np.float32
    assert mm.certify(model, small, Y).kkt <= model.tol
    np.testing.assert_allclose(
        model.decision_function(small), mm.SVC().fit(X, Y).decision_function(X), atol=5e-3
    )
