"""Ctrl-C ends every long search soon, without a crash, and keeps what is finished."""

from __future__ import annotations

import os
import signal
import subprocess
import sys

import pytest

from maxmargin.base.threads import effective_threads
from tests.interrupts import Interrupted, interrupt_once

pytestmark = pytest.mark.skipif(os.name == "nt", reason="signals are sent another way there")

# each prints "go" when compiled code is ready, and then works for longer than the test waits
ELIMINATION = """
import warnings
import numpy as np, maxmargin as mm
from maxmargin.feature_selection import RFE
warnings.simplefilter("ignore")
rng = np.random.default_rng(0)
X = rng.normal(size=(30, 5)) * 10.0 ** np.array([-9, -3, 0, 5, 10.5])
y = rng.permutation(30) % 2
RFE(mm.SVC(kernel="linear", max_iter=10), n_features_to_select=4).fit(X, y)
print("go", flush=True)
while True:
    RFE(mm.SVC(C=1390, kernel="linear"), n_features_to_select=1).fit(X, y)
"""
TUNING = """
import numpy as np, maxmargin as mm
from sklearn.datasets import make_classification
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
X, y = make_classification(1200, 20, flip_y=0.2, random_state=0)
model = make_pipeline(StandardScaler(), mm.SVC())
grid = {"svc__gamma": np.geomspace(0.001, 1.0, 2000)}  # no cell can share what another has solved: 40 s
mm.tune(model, X[:200], y[:200], {"svc__gamma": [0.1], "svc__C": [0.01, 1.0]}, cv=3, refit=False)


from maxmargin.tuning.search import GridRun
take = GridRun._take
def told(self, batch):
    take(self, batch)
    if not np.isnan(self.errors).any(axis=1).all():  # the first cell is finished
        print("go", flush=True)
        GridRun._take = take
GridRun._take = told
result = mm.tune(model, X, y, grid, cv=5)
print(result.interrupted, len(result.table), result.best_estimator, flush=True)
"""


def interrupted(code: str, after: float) -> Interrupted:
    """Run the code, interrupt it so many seconds after it says "go"; it must end soon.

    The time of the processor: the suite shares its cores.
    """
    done = interrupt_once([sys.executable, "-c", code], after, go="go")
    assert min(done.seconds, done.spent) < effective_threads(None)
    return done


@pytest.mark.parametrize("after", [0.05, 0.37, 0.5])
def test_elimination_on_wild_scales_does_not_crash(after: float) -> None:
    done = interrupted(ELIMINATION, after)
    assert done.returncode in (130, -signal.SIGINT), done.stderr
    assert "KeyboardInterrupt" in done.stderr


@pytest.mark.parametrize("after", [0.0, 0.2])
def test_tuning_behind_a_scaler_returns_the_finished_cells(after: float) -> None:
    done = interrupted(TUNING, after)
    assert done.returncode == 0, done.stderr
    assert done.seconds > 0  # the search was running when the signal came
    stopped, cells, best = done.stdout.split()
    assert (stopped, best) == ("True", "None")
    assert 1 <= int(cells) < 2000


def test_an_interrupted_command_imports_nothing_more() -> None:
    """Importing the library takes seconds; the words for Ctrl-C need none of it."""
    code = (
        "import sys, typer\n"
        "from maxmargin.cli.screen import Screen, running\n"
        "before = set(sys.modules)\n"
        "try:\n"
        "    with running(Screen()):\n"
        "        raise KeyboardInterrupt\n"
        "except typer.Exit as left:\n"
        "    print(left.exit_code, [m for m in set(sys.modules) - before if m.startswith('maxmargin')])\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.stdout.strip() == "130 []", done.stdout + done.stderr


def test_ctrl_c_reaches_the_processes_of_a_suite_in_the_background() -> None:
    """A shell starts such jobs with SIGINT ignored, and processes inherit that: some tests never ended."""
    code = "import tests.conftest, subprocess, sys; subprocess.run([sys.executable, '-c', {child!r}])"
    child = "import signal; print(signal.getsignal(signal.SIGINT) is signal.default_int_handler)"
    ignored = f"import signal; signal.signal(signal.SIGINT, signal.SIG_IGN); {code.format(child=child)}"
    done = subprocess.run([sys.executable, "-c", ignored], capture_output=True, text=True, check=True)
    assert done.stdout == "True\n"
