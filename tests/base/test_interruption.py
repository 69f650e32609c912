"""A fit replaces the whole model in one step, and a prediction uses one model."""

from __future__ import annotations

import signal
import sys
import threading
import time
import warnings
from contextlib import nullcontext
from typing import Any

import joblib
import numpy as np
import pytest
from joblib.externals.loky import get_reusable_executor
from numba.core.registry import cpu_target
from sklearn.base import clone

import maxmargin as mm
from maxmargin.base.interruption import all_or_nothing, interrupts_afterwards, interrupts_kept, of_one_fit
from maxmargin.base.threads import run, start_workers
from maxmargin.compute import jit


class Learner:
    """An estimator of which tests can interrupt the fit."""

    def __init__(self, C: float = 1.0) -> None:
        self.C = C

    @all_or_nothing
    def fit(self, value: Any, during: Any = lambda: None) -> Any:
        self.first_ = value
        during()
        self.second_ = value
        self.__dict__.pop("old_", None)
        return self

    @all_or_nothing
    def fit_predict(self, value: Any) -> Any:
        return self.fit(value).predict()

    @of_one_fit
    def predict(self, between: Any = lambda: None) -> Any:
        first = self.first_
        between()
        return first, self.second_


def test_fit_returns_the_estimator_itself() -> None:
    model = Learner()
    assert model.fit(1) is model
    assert model.fit_predict(2) == (2, 2)
    assert model.first_ == model.second_ == 2


def test_nothing_of_a_fit_that_fails_remains() -> None:
    model = Learner().fit(1)

    def fail() -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        model.fit(2, during=fail)
    assert model.__dict__ == {"C": 1.0, "first_": 1, "second_": 1}


def test_nothing_of_a_fit_shows_before_it_ends() -> None:
    model = Learner().fit(1)
    seen: list[Any] = []
    model.fit(2, during=lambda: seen.append(model.predict()))
    assert seen == [(1, 1)]
    assert model.predict() == (2, 2)


def test_a_prediction_stays_with_the_model_it_began_with() -> None:
    model = Learner().fit(1)
    assert model.predict(between=lambda: model.fit(2)) == (1, 1)
    assert model.predict() == (2, 2)


def test_parameters_set_during_a_fit_stay() -> None:
    model = Learner().fit(1)
    model.fit(2, during=lambda: setattr(model, "C", 5.0))
    assert (model.C, model.predict()) == (5.0, (2, 2))


def test_attributes_that_a_fit_deletes_are_gone() -> None:
    model = Learner().fit(1)
    model.old_ = True  # type: ignore[attr-defined]
    model.fit(2)
    assert not hasattr(model, "old_")


# -- every public estimator ----------------------------------------------------------------------------------


class Meanwhile:
    """Rows that another thread has refitted the model meanwhile: reading them replaces its state."""

    def __init__(self, rows: Any, model: Any, other: dict[str, Any]) -> None:
        self._rows, self._model, self._other = rows, model, other
        self.shape, self.ndim = rows.shape, rows.ndim

    def __array__(self, dtype: Any = None, copy: Any = None) -> Any:
        self._model.__dict__ = self._other
        return np.array(self._rows, dtype=dtype)

    def __len__(self) -> int:
        return len(self._rows)


MODELS = [
    *(
        mm.SVC(),
        mm.NuSVC(),
        mm.HardMarginSVC(kernel="linear"),
        mm.SVR(),
        mm.NuSVR(),
        mm.OneClassSVM(),
        mm.SVDD(),
    ),
    *(mm.LinearSVC(), mm.LinearSVR(), mm.LogisticRegression(C=1.0), mm.LeastSquares(), mm.Ridge()),
    *(
        mm.FisherDiscriminant(),
        mm.Perceptron(),
        mm.PassiveAggressive(),
        mm.Pegasos(),
        mm.SubgradientDescent(),
    ),
    *(mm.KernelRidge(), mm.KernelPerceptron(), mm.LargeSVC(n_components=5), mm.LargeSVR(n_components=5)),
    *(mm.LargeKernelRidge(n_components=5), mm.LowRank(n_components=5), mm.RandomFourier(n_components=6)),
    *(mm.CellSVC(cell_size=30), mm.Scorecard(min_iv=0.0), mm.Binning(), mm.WOEEncoder()),
]


@pytest.mark.parametrize("model", MODELS, ids=lambda model: type(model).__name__)
def test_every_prediction_is_of_the_model_it_began_with(model: Any) -> None:
    random = np.random.default_rng(0)
    rows = random.normal(size=(60, 3))
    rows[:, 0] += np.repeat([-4.0, 4.0], 30)
    y = np.repeat([0, 1], 30)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # separated classes, few rows
        first = vars(clone(model).fit(rows, y))
        second = vars(clone(model).fit(-2.0 * rows + 1.0, y))
        model.__dict__ = dict(first)
        for method in ("predict", "decision_function", "predict_proba", "transform"):
            if not hasattr(model, method):
                continue
            model.__dict__ = dict(first)
            alone = getattr(model, method)(rows)
            shared = getattr(model, method)(Meanwhile(rows, model, dict(second)))
            np.testing.assert_array_equal(shared, alone, err_msg=method)
            assert all(model.__dict__[name] is value for name, value in second.items())  # it did change


@pytest.mark.skipif(not hasattr(signal, "pthread_sigmask"), reason="signals cannot be blocked here")
def test_worker_processes_do_not_hear_an_interrupt():
    """Interrupted while they import, they printed tracebacks; the process that started them ends them."""
    get_reusable_executor().shutdown(kill_workers=True)  # workers of other tests
    before = signal.pthread_sigmask(signal.SIG_BLOCK, [])
    start_workers(2)
    assert signal.pthread_sigmask(signal.SIG_BLOCK, []) == before
    blocked = joblib.Parallel(n_jobs=2)(
        joblib.delayed(signal.pthread_sigmask)(signal.SIG_BLOCK, []) for _ in range(2)
    )
    assert all(signal.SIGINT in one for one in blocked)


def test_an_interrupt_waits_until_compiled_code_is_read() -> None:
    """LLVM asks a Python function for the code; cut off there, the process crashed."""
    done: list[str] = []

    class Files:
        _guard_against_spurious_io_errors = staticmethod(nullcontext)

        def _load_overload(self, signature: Any, context: Any) -> None:
            signal.raise_signal(signal.SIGINT)
            done.append("read")

    with pytest.raises(KeyboardInterrupt):
        jit._read(Files(), (), cpu_target.target_context)
    assert done == ["read"]
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_other_threads_leave_the_handler_of_interrupts_alone() -> None:
    found: list[Any] = []

    def look() -> None:
        with interrupts_afterwards():
            found.append(signal.getsignal(signal.SIGINT))

    thread = threading.Thread(target=look)
    thread.start()
    thread.join()
    assert found == [signal.getsignal(signal.SIGINT)]


def test_an_interrupt_in_a_finaliser_is_not_lost(capsys: pytest.CaptureFixture[str]) -> None:
    """Python prints "Exception ignored in ..." and goes on: reports were finished in spite of Ctrl-C."""

    class Finalised:
        def __del__(self) -> None:
            signal.raise_signal(signal.SIGINT)

    def press() -> None:
        with interrupts_kept():
            Finalised()
            time.sleep(10.0)

    hook = sys.unraisablehook
    with pytest.raises(KeyboardInterrupt):
        press()
    assert sys.unraisablehook is hook
    assert capsys.readouterr().err == ""


def test_other_errors_in_finalisers_are_still_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    class Finalised:
        def __del__(self) -> None:
            raise ValueError("a defect")

    shown: list[Any] = []
    monkeypatch.setattr(sys, "unraisablehook", lambda lost: shown.append(lost.exc_type))
    with interrupts_kept():
        Finalised()
    assert shown == [ValueError]


@pytest.mark.parametrize("method", ["predict", "decision_function", "score"])
def test_an_elimination_uses_the_columns_and_the_machine_of_one_fit(
    method: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Another thread refits after the machine was looked up, and before the columns are."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 4))
    targets = (X[:, 0] > 0, X[:, 1] > 0)
    model = mm.feature_selection.RFE(mm.SVC(kernel="linear"), 1).fit(X, targets[0])
    arguments = (X, targets[0]) if method == "score" else (X,)
    expected = getattr(model, method)(*arguments)
    transform = mm.feature_selection.RFE.transform

    def refitted_meanwhile(self: Any, rows: Any) -> Any:
        monkeypatch.undo()  # the fit itself calls it
        model.fit(X, targets[1])
        return transform(self, rows)

    monkeypatch.setattr(mm.feature_selection.RFE, "transform", refitted_meanwhile)
    np.testing.assert_array_equal(getattr(model, method)(*arguments), expected)
    assert model.support_.tolist() == [False, True, False, False]


def test_an_interrupt_in_compiled_code_is_an_interrupt() -> None:
    """Ctrl-C while a result was made was a SystemError, and searches lost their cells."""

    def interrupted(*_: Any) -> Any:
        raise SystemError("returned a result with an exception set") from KeyboardInterrupt()

    model = Learner()
    for call in (
        lambda: all_or_nothing(interrupted)(model),
        lambda: of_one_fit(interrupted)(model),
        lambda: run([interrupted], 1),
    ):
        with pytest.raises(KeyboardInterrupt):
            call()

    def broken() -> None:
        raise SystemError("another one")

    with pytest.raises(SystemError, match="another one"):
        run([broken], 1)
