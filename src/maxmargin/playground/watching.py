"""A solver watched step by step: the trace stays here, the page asks for one state at a time."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Any

import numpy as np

import maxmargin as mm
from maxmargin.base.typing import FloatArray
from maxmargin.explanation.steps import Steps
from maxmargin.machines.svm.base import KernelMachine
from maxmargin.playground.messages import PlaneMessage, PlaneView, StepMessage
from maxmargin.playground.plane import certificate_of, fitted_model, grid_of, n_machines, on_rows, pairs_of
from maxmargin.playground.wire import Reply

MAX_STEPS = 20_000
WATCH_SECONDS = 5.0
_PRIMAL = ("subgradient", "pegasos")  # they count passes and have limits of their own
_CHART = 1000  # points of a curve


@dataclass
class Watched:
    """One traced fit and its states."""

    model: Any
    states: Steps
    message: PlaneMessage
    grid: tuple[PlaneView, FloatArray]
    used: float

    @classmethod
    def begin(cls, message: PlaneMessage) -> Watched:
        limits: dict[str, Any] = {"trace": True, "shrinking": False, "n_jobs": 1, "time_limit": WATCH_SECONDS}
        if message.settings.solver not in _PRIMAL:
            limits["max_iter"] = MAX_STEPS
        model, X, y = fitted_model(message, **limits)
        states = mm.steps(model, X, y, machine=min(message.pair, n_machines(model) - 1))
        grid = message.view, grid_of(message.settings, message.view)
        return cls(model, states, message, grid, time.monotonic())

    def reply(self) -> Reply:
        """How many steps there are, and the curves."""
        series = self.states.series(_CHART)
        arrays = {name: series[name].to_numpy(dtype=np.float64) for name in series.columns if name != "step"}
        arrays["at"] = self.states.spread(_CHART)
        header = {
            "do": "watched",
            "steps": len(self.states),
            "slot": self.message.slot,
            "pair": self.states.number,
            "pairs": pairs_of(self.model),
            **certificate_of(self.model),
        }
        if isinstance(self.model, KernelMachine):
            header["kernel_values"] = int(self.states.trace["kernel_values"].iloc[-1])
        elif isinstance(self.model, mm.Perceptron) and hasattr(self.model, "bound_"):
            header["bound"] = float(self.model.bound_[self.states.number])
        return Reply(header, arrays)

    def step(self, message: StepMessage) -> Reply:
        """The state after step k, on the rows and on the grid."""
        self.used = time.monotonic()
        if self.grid[0] != message.view:
            self.grid = message.view, grid_of(self.message.settings, message.view)
        k = min(message.k, len(self.states) - 1)
        state = self.states[k]
        header: dict[str, Any] = {
            "do": "stepped",
            "k": k,
            "grid": [message.view.nx, message.view.ny],
            "slot": self.message.slot,
            "number": state.number,
            "chosen": state.chosen.tolist() if len(state.chosen) <= 64 else [],
            "n_chosen": len(state.chosen),
            "b": state.intercept,
            "primal": state.primal,
            "dual": state.dual,
            "gap": max(state.gap, 0.0),  # rounding aside
            "kkt": state.violation,
            "mistakes": state.mistakes,
            "loss": state.loss,
        }
        arrays = {"f": state.decisions(self.grid[1])}
        if state.machine is None:
            signs = np.sign(self.states.signs[state.rows])  # type: ignore[attr-defined]  # an online learner
            return Reply(header, arrays | {"row": state.rows, "y_f": signs * state.f, "y": signs})
        rows = on_rows(self.model, state.machine, state.kinds)
        header |= rows.header | {"epsilon": state.machine.epsilon}
        return Reply(header, arrays | rows.arrays)
