"""Ctrl-C ends every long search soon, without a crash, and keeps what is finished."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time

import pytest

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
RFE(mm.SVC(kernel="linear", max_iter=10), n_features=4).fit(X, y)
print("go", flush=True)
while True:
    RFE(mm.SVC(C=1390, kernel="linear"), n_features=1).fit(X, y)
"""
TUNING = """
import numpy as np, maxmargin as mm
from sklearn.datasets import make_classification
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
X, y = make_classification(1200, 20, flip_y=0.2, random_state=0)
model = make_pipeline(StandardScaler(), mm.SVC())
grid = {"svc__gamma": [0.0001] + [0.2] * 200, "svc__C": [0.01]}
mm.tune(model, X[:200], y[:200], {"svc__gamma": [0.1], "svc__C": [0.01, 1.0]}, cv=3, refit=False)


from maxmargin.tuning.search import GridRun
take = GridRun._take
def told(self, batch):
    take(self, batch)
    if not np.isnan(self.errors).any(axis=1).all():
        print("go", flush=True)
        GridRun._take = take
GridRun._take = told
result = mm.tune(model, X, y, grid, cv=5)
print("finished" if result.interrupted and len(result.table) else "lost", result.best_estimator, flush=True)
"""


def interrupted(code: str, after: float) -> tuple[subprocess.CompletedProcess[str], float]:
    """Run the code, interrupt it so many seconds after it says "go", and time how long it takes to end."""
    process = subprocess.Popen(
        [sys.executable, "-c", code], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    assert process.stdout is not None
    assert process.stdout.readline().strip() == "go"
    time.sleep(after)
    sent = time.perf_counter()
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=60)
    done = subprocess.CompletedProcess(process.args, process.returncode, out, err)
    return done, time.perf_counter() - sent


@pytest.mark.parametrize("after", [0.05, 0.37])
def test_elimination_on_wild_scales_does_not_crash(after: float) -> None:
    done, seconds = interrupted(ELIMINATION, after)
    assert done.returncode in (130, -signal.SIGINT), done.stderr
    assert "KeyboardInterrupt" in done.stderr
    assert seconds < 5  # a second on a quiet machine; the suite shares its cores


@pytest.mark.parametrize("after", [0.0, 0.2])
def test_tuning_behind_a_scaler_returns_the_finished_cells(after: float) -> None:
    done, seconds = interrupted(TUNING, after)
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip().endswith("finished None")
    assert seconds < 5
