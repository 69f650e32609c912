"""Compile time of the first calls on a new machine: ``make cold`` or ``python tools/cold.py [ENTRY ...]``.

Every entry of `maxmargin.warm_up` runs in a process of its own with an empty cache. Times are processor time.
Machines differ, so they are divided by the time that a fixed function takes to compile there (the unit), and
the budgets are in this unit. The exit status is 1 when an entry is over its budget.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile

# in units; a quarter above 17, 30, 19 and 19, measured on an AMD EPYC with AVX-512 and with AVX2
BUDGETS = {
    "svc": 22.0,
    "tuning": 38.0,
    "linear_svc": 24.0,
    "logistic": 24.0,
}

_CHILD = """
import json, sys, time, warnings
import numba, numpy as np
from maxmargin import warm_up  # decorators only: nothing is compiled yet
from numba.core import event

@numba.njit
def first(x):
    return x[0]

def unit(g, t, low, high, group, out):
    for i in range(len(g)):
        k = group[i]
        if t[i] < high[i] and g[i] < out[k]:
            out[k] = g[i]
        if t[i] > low[i] and g[i] > out[k + 1]:
            out[k + 1] = g[i]
    return out

class Slowest(event.Listener):
    def __init__(self):
        self.open, self.found = [], []
    def on_start(self, event):
        self.open.append([time.process_time(), 0.0])
    def on_end(self, event):
        began, inside = self.open.pop()
        took = time.process_time() - began
        if self.open:
            self.open[-1][1] += took
        function = event.data["dispatcher"].py_func
        self.found.append((took - inside, f"{function.__module__}.{function.__name__}"))

first(np.ones(2))
x, k = np.zeros(4), np.zeros(4, np.int64)
units = []
for _ in range(5):
    began = time.process_time()
    numba.njit(unit)(x, x, x, x, k, x)
    units.append(time.process_time() - began)
slowest = Slowest()
event.register("numba:compile", slowest)
warnings.simplefilter("ignore")
began = time.process_time()
warm_up.ENTRIES[sys.argv[1]]()
took = time.process_time() - began
print(json.dumps({"seconds": took, "unit": sorted(units)[2], "functions": sorted(slowest.found)[::-1]}))
"""


def measure(entry: str) -> dict[str, object]:
    """Seconds of processor time of the first call, the unit, and the functions that took longest."""
    with tempfile.TemporaryDirectory() as folder:
        done = subprocess.run(
            [sys.executable, "-c", _CHILD, entry],
            env={**os.environ, "NUMBA_CACHE_DIR": folder},
            stdout=subprocess.PIPE,
            text=True,
            check=True,
        )
    found: dict[str, object] = json.loads(done.stdout)
    return found


def main(names: list[str]) -> int:
    failed = 0
    for entry in names or list(BUDGETS):
        found = measure(entry)
        seconds, unit = float(found["seconds"]), float(found["unit"])  # type: ignore[arg-type]  # numbers
        functions: list[tuple[float, str]] = found["functions"]  # type: ignore[assignment]  # from JSON
        budget = BUDGETS.get(entry, float("inf"))
        over = seconds / unit > budget
        failed += over
        verdict = f"over its budget of {budget:.0f}" if over else f"budget {budget:.0f}"
        print(f"{entry}: {seconds:.2f} s, {seconds / unit:.0f} units ({verdict}), {len(functions)} functions")
        for took, name in functions[:8]:
            print(f"    {took:5.2f} s  {name.removeprefix('maxmargin.compute.')}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
