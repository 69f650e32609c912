"""Every state of a fit, rebuilt from its trace: the model after each step, in any order."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from math import isnan, nan
from typing import Any

import numpy as np
import pandas as pd
from sklearn.base import BaseEstimator, is_classifier, is_regressor

from maxmargin.base.shown import short_repr
from maxmargin.base.typing import AnyArray, FloatArray, IntArray, Matrix, TableLike, TargetLike, WeightLike
from maxmargin.kernels.kernel_products import kernel_times
from maxmargin.machines.svm import SVDD
from maxmargin.machines.svm.base import KernelMachine
from maxmargin.machines.svm.fitted_problem import FittedProblem, read_machine
from maxmargin.problems.box_qp import BoxQP
from maxmargin.problems.certificate import Certificate
from maxmargin.problems.multiclass import class_pairs
from maxmargin.problems.solution import Solution, Status

_EVERY = 64  # steps between two stored states
_WHOLE_MATRIX = 3000  # rows up to which all kernel values are stored
_NO_ROWS: IntArray = np.empty(0, dtype=np.int64)


@dataclass(frozen=True, kw_only=True)
class Step:
    """The model after one step.

    Attributes
    ----------
    number : of the step, as in ``trace_``. chosen : the training rows it updated.
    rows : training rows of the machine. The following have one entry for each of them: f (decisions), weights
        (multiplier or coefficient, >= 0; up minus down, without sign, in regression), slack, kinds.
    intercept : b of f(x) = <w, phi(x)> + b.
    primal, dual, gap : objectives and duality gap. violation : the largest KKT violation.
    machine : the unfinished machine, with its own certificate; None for online learners.
    loss : of the row before the step; mistakes : made so far (online learners).
    """

    number: int
    chosen: IntArray
    rows: IntArray
    f: FloatArray
    weights: FloatArray
    slack: FloatArray
    kinds: AnyArray
    intercept: float
    primal: float = nan
    dual: float = nan
    violation: float = nan
    machine: FittedProblem | None = None
    loss: float = nan
    mistakes: int | None = None
    owner: Steps = field(repr=False)
    state: FloatArray = field(repr=False)

    __repr__ = short_repr

    @property
    def gap(self) -> float:
        """primal - dual."""
        return self.primal - self.dual

    def decisions(self, X: TableLike) -> FloatArray:
        """f at other rows, of shape (n,). Kernel values are cached as long as ``X`` is the same object."""
        return self.owner.decisions(self, X)


class Steps:
    """The states of one machine; see `steps`."""

    def __init__(self, model: BaseEstimator, trace: pd.DataFrame, machine: int) -> None:
        self.model, self.number = model, machine
        self.trace = trace.reset_index(drop=True)
        self._seen: tuple[Any, Any] = (None, None)
        self._kept: list[FloatArray] = []

    def __len__(self) -> int:
        return len(self.trace)

    def __getitem__(self, k: int) -> Step:
        if not -len(self) <= k < len(self):
            raise IndexError(f"step {k} does not exist: there are {len(self)}.")
        return self._step(k % len(self))

    def __iter__(self) -> Iterator[Step]:
        return (self[k] for k in range(len(self)))

    def series(self, n: int = 1000) -> pd.DataFrame:
        """step, primal, dual, gap, violation (loss for online learners) of at most ``n`` states in order.

        Primal, gap and violation are NaN at steps where the solver had shrunk the problem.
        """
        if n < 1:
            raise ValueError(f"n={n} must be at least 1.")
        at = self.spread(n)
        names = [name for name in ("step", "primal", "gap", "violation", "loss") if name in self.trace]
        table = self.trace.iloc[at][names].reset_index(drop=True)
        if "objective" in self.trace:
            table.insert(2, "dual", 0.0 - self.trace["objective"].to_numpy()[at])
        return table

    def spread(self, n: int) -> IntArray:
        """Up to ``n`` positions, evenly spread, with the first and the last one."""
        if n == 1:
            return np.array([len(self) - 1])
        return np.unique(np.linspace(0, len(self) - 1, min(n, len(self))).round().astype(np.int64))

    def decisions(self, step: Step, X: TableLike) -> FloatArray:
        """f of a step at other rows."""
        raise NotImplementedError

    def _step(self, k: int) -> Step:
        raise NotImplementedError

    def _advance(self, state: FloatArray, k: int) -> None:
        """Bring a state from before step k to after it, in place."""
        raise NotImplementedError

    def _start(self) -> FloatArray:
        """The state before the first step."""
        raise NotImplementedError

    def _state(self, k: int) -> FloatArray:
        """The state after step k, rebuilt from the nearest stored one, at most 64 steps before."""
        while len(self._kept) <= k // _EVERY:
            state = self._kept[-1].copy() if self._kept else self._start()
            for i in range(max(0, (len(self._kept) - 1) * _EVERY + 1), len(self._kept) * _EVERY + 1):
                self._advance(state, i)
            self._kept.append(state)
        state = self._kept[k // _EVERY].copy()
        for i in range(k // _EVERY * _EVERY + 1, k + 1):
            self._advance(state, i)
        return state


class DualSteps(Steps):
    """Steps of a solver of the dual problem; a state is the vector of multipliers."""

    def __init__(self, model: BaseEstimator, trace: pd.DataFrame, machine: int, problem: BoxQP) -> None:
        super().__init__(model, trace, machine)
        self.problem, self.fitted = problem, model.machines_[machine]
        self.form, self.kernel = model.formulation(), model.kernel_
        self.points = problem.Q.points.astype(np.float64)
        small = len(self.points) <= _WHOLE_MATRIX
        self._K = self.kernel.gram(self.points) if small else None
        self._variables, self._after = trace["variables"].to_list(), trace["after"].to_list()

    def _start(self) -> FloatArray:
        return np.zeros(len(self.problem))

    def _advance(self, state: FloatArray, k: int) -> None:
        state[self._variables[k]] = self._after[k]

    def _step(self, k: int) -> Step:
        line, a = self.trace.iloc[k], self._state(k)
        machine = self._machine(k, a, np.asarray(line["multipliers"]))
        if k == len(self) - 1 and np.array_equal(a, self.fitted.solution.x):  # the model, to the last digit
            whole = not isnan(self.fitted.certificate.dual)
            machine = self.fitted if whole else replace(self.fitted, certificate=machine.certificate)
        f, slack = self._on_rows(machine)
        n = len(machine.rows)
        first = bool(len(line["rows"]) == len(self.problem))  # the start, or a new start
        return Step(
            number=int(line["step"]),
            chosen=_NO_ROWS if first and not k else np.unique(line["rows"]),
            rows=machine.rows,
            f=f,
            weights=np.abs(machine.alpha if len(machine.alpha) == n else machine.beta),
            slack=slack,
            kinds=self.model.kinds_of(machine),
            intercept=machine.intercept,
            primal=machine.certificate.primal if self.problem.convex else nan,
            dual=machine.certificate.dual,
            violation=machine.certificate.kkt,
            machine=machine,
            owner=self,
            state=machine.beta,
        )

    def _machine(self, k: int, a: FloatArray, multipliers: FloatArray) -> FittedProblem:
        """The machine with these multipliers; its decisions are NaN while a nu machine has no margin."""
        problem = self.problem
        v = problem.Q.times(a) if self._K is None else self._K @ problem.Q.weights(a)
        g = problem.signed_gradient(a, v[problem.Q.row])
        if np.isnan(multipliers).any():
            multipliers = problem.multipliers(g, a)
        certificate = Certificate.between(*problem.values(a, v, multipliers), kkt=problem.violation(g, a))
        solution = Solution(
            x=a, multipliers=multipliers, status=Status.INTERRUPTED, n_iter=k, seconds=nan, gradient=g
        )  # seconds were not recorded
        rows, target = self.fitted.rows, self.fitted.signs
        try:
            return read_machine(self.form, problem, solution, certificate, rows, target)
        except ValueError:
            unknown = np.full(len(rows), nan)
            return replace(
                self.fitted, alpha=a, beta=problem.Q.weights(a), intercept=nan, decisions=unknown,
                bounded=a >= problem.C, upper=problem.C, violations=np.full(len(a), nan),
                solution=solution, certificate=certificate, scale=1.0,
            )  # fmt: skip

    def _on_rows(self, machine: FittedProblem) -> tuple[FloatArray, FloatArray]:
        """f and slack of the rows."""
        f = machine.decisions
        if is_classifier(self.model):
            return f, np.maximum(0.0, 1.0 - machine.signs * f)
        if is_regressor(self.model):
            return f, np.maximum(0.0, np.abs(machine.signs - f) - machine.epsilon)
        return f, np.maximum(0.0, -f)

    def decisions(self, step: Step, X: TableLike) -> FloatArray:
        assert step.machine is not None
        if self._seen[0] is not X:
            at = self.kernel.prepare(X, like=self.points).astype(np.float64)
            small = len(at) * len(self.points) <= _WHOLE_MATRIX**2
            self._seen = (X, (at, self.kernel.gram(at, self.points) if small else None))
        at, values = self._seen[1]
        beta, b = step.machine.beta, step.machine.intercept
        f = (kernel_times(self.kernel, at, self.points, beta) if values is None else values @ beta) + b
        return f - self.kernel.diagonal(at) if isinstance(self.model, SVDD) else f


class OnlineSteps(Steps):
    """Steps of an online learner; a state is its coefficients and, if it averages, the sums of them."""

    def __init__(self, model: Any, trace: pd.DataFrame, machine: int, X: Any, y: Any) -> None:
        super().__init__(model, trace, machine)
        self.signs = signs_of(model, machine, y)
        self.rows = np.flatnonzero(self.signs) if is_classifier(model) else np.arange(len(y))
        self.average = bool(getattr(model, "average", False))
        self._shares = trace["share"].to_numpy() if "share" in trace else np.ones(len(trace))
        self._loss = trace["loss"].to_numpy() if "loss" in trace else np.full(len(trace), nan)
        self._mistakes: IntArray | None = None
        if "score" in trace:
            wrong = self.signs[trace["row"].to_numpy(dtype=np.int64)] * trace["score"].to_numpy() <= 0
            self._mistakes = np.cumsum(wrong)

    def _step(self, k: int) -> Step:
        state = self._state(k)
        f = self._decisions(state, self._training())
        margins = self.signs[self.rows] * f[self.rows]
        chosen = _NO_ROWS if "row" not in self.trace else np.array([int(self.trace["row"][k])])
        return Step(
            number=int(self.trace["step"].iloc[k]),
            chosen=chosen,
            rows=self.rows,
            f=f[self.rows],
            weights=self._weights(state)[self.rows],
            slack=np.maximum(0.0, 1.0 - margins),
            kinds=np.where(margins > 0, "outside", "misclassified"),
            intercept=self._intercept(state),
            loss=float(self._loss[k]),
            mistakes=None if self._mistakes is None else int(self._mistakes[k]),
            owner=self,
            state=state,
        )

    def decisions(self, step: Step, X: TableLike) -> FloatArray:
        if self._seen[0] is not X:
            self._seen = (X, self._prepared(X))
        return self._decisions(step.state, self._seen[1])

    def _returned(self, state: FloatArray) -> FloatArray:
        """What the learner returns: the last iterate or the average."""
        if not self.average or state[2, 0] == 0:
            return state[0]
        return state[1] / state[2, 0]

    def _add_to_average(self, state: FloatArray, k: int) -> None:
        state[1] += self._shares[k] * state[0]
        state[2] += self._shares[k]

    def _training(self) -> Any:
        raise NotImplementedError

    def _prepared(self, X: Any) -> Any:
        raise NotImplementedError

    def _decisions(self, state: FloatArray, prepared: Any) -> FloatArray:
        raise NotImplementedError

    def _weights(self, state: FloatArray) -> FloatArray:
        return np.zeros(len(self.signs))

    def _intercept(self, state: FloatArray) -> float:
        return float(self._returned(state)[-1])


class LinearSteps(OnlineSteps):
    """(w, b) after every step: w <- shrink (keep w + change x), x a row or a sum of rows."""

    def __init__(self, model: Any, trace: pd.DataFrame, machine: int, X: Matrix, y: AnyArray) -> None:
        super().__init__(model, trace, machine, X, y)
        self.X = X.tocsr() if hasattr(X, "tocsr") else np.asarray(X, dtype=np.float64)
        who = "slopes" if "slopes" in trace else "row"
        self._batch = who == "slopes"
        self._lines = list(
            zip(*(trace[c] for c in (who, "keep", "change", "shrink", "intercept")), strict=True)
        )

    def _start(self) -> FloatArray:
        state = np.zeros((3, self.X.shape[1] + 1))
        state[2] = max(0.0, 1.0 - float(self._shares.sum()))  # the weight of the start, where w = 0
        return state

    def _advance(self, state: FloatArray, k: int) -> None:
        who, keep, change, shrink, b = self._lines[k]
        x = self.X.T @ who if self._batch else self.X[[int(who)]].sum(axis=0)
        state[0, :-1] = shrink * (keep * state[0, :-1] + change * np.asarray(x).ravel())
        state[0, -1] = b
        self._add_to_average(state, k)

    def _training(self) -> Any:
        return self.X

    def _prepared(self, X: Any) -> Any:
        return X if hasattr(X, "tocsr") else np.asarray(X, dtype=np.float64)

    def _decisions(self, state: FloatArray, prepared: Any) -> FloatArray:
        theta = self._returned(state)
        return np.asarray(prepared @ theta[:-1]).ravel() + theta[-1]


class PerceptronSteps(OnlineSteps):
    """The coefficients of a kernel perceptron; every update sets one. K + 1 includes the intercept."""

    def __init__(
        self, model: BaseEstimator, trace: pd.DataFrame, machine: int, X: TableLike, y: TargetLike
    ) -> None:
        super().__init__(model, trace, machine, X, y)
        self.kernel = model.kernel_
        self.points = self.kernel.prepare(X)
        self._K = self.kernel.gram(self.points) + 1.0
        self._updates = list(zip(trace["row"].astype(int), trace["coefficient"], strict=True))
        self._times = trace["step"].to_numpy(dtype=np.float64)
        self._end = float(trace["n_steps"].iloc[0])

    def _start(self) -> FloatArray:
        return np.zeros((3, len(self.points)))

    def _advance(self, state: FloatArray, k: int) -> None:
        """In the average each iterate counts until the next update, the last one until the end."""
        row, coefficient = self._updates[k]
        time = self._times[k]
        if k:
            state[1] += (time - self._times[k - 1] - 1.0) * state[0]
        state[0, row] = coefficient
        last = k == len(self) - 1
        state[1] += (self._end - time + 1.0 if last else 1.0) * state[0]
        state[2] = self._end if last else time

    def _training(self) -> Any:
        return self._K

    def _prepared(self, X: Any) -> Any:
        return self.kernel.gram(self.kernel.prepare(X, like=self.points), self.points) + 1.0

    def _decisions(self, state: FloatArray, prepared: Any) -> FloatArray:
        return prepared @ self._returned(state)

    def _weights(self, state: FloatArray) -> FloatArray:
        return np.abs(self._returned(state))

    def _intercept(self, state: FloatArray) -> float:
        return float(self._returned(state).sum())


def steps(
    model: BaseEstimator,
    X: TableLike,
    y: TargetLike | None = None,
    sample_weight: WeightLike | None = None,
    *,
    machine: int = 0,
) -> Steps:
    """Every state of a fit, as a sequence: ``steps(model, X, y)[k]`` is the model after step k.

    A state is rebuilt from the trace and from a stored state at most 64 steps before it, so access in any
    order is quick. The last state is the fitted model.

    Parameters
    ----------
    model : fitted with ``trace=True``: a support vector machine with any solver, `KernelPerceptron`, or an
        online learner. For a Pipeline pass the last step, and X transformed by the others.
    X, y, sample_weight : what it was fitted on.
    machine : number of the binary problem, if there are several classes.

    Examples
    --------
    >>> import maxmargin as mm
    >>> X, y = [[0.0], [1.0], [3.0], [4.0]], [0, 0, 1, 1]
    >>> model = mm.SVC(kernel="linear", C=10, solver="smo", trace=True).fit(X, y)
    >>> states = mm.steps(model, X, y)
    >>> states[1].chosen, states[1].weights.round(3), round(states[1].dual, 3)
    (array([1, 3]), array([0.   , 0.222, 0.   , 0.222]), 0.222)
    >>> states[-1].weights.round(3), round(states[-1].gap, 3)
    (array([0. , 0.5, 0.5, 0. ]), 0.0)
    >>> states.series()[["step", "primal", "dual"]].round(3)
       step  primal   dual
    0     0  40.000  0.000
    1     1   6.889  0.222
    2     2  13.432  0.346
    3     3   0.500  0.500
    """
    if not hasattr(model, "trace_"):
        raise ValueError(f"{type(model).__name__} has no trace: fit it with trace=True.")
    trace = model.trace_[model.trace_["machine"] == machine]
    if not len(trace):
        n_machines = model.trace_["machine"].nunique()
        raise ValueError(f"machine={machine} has no steps: the model has {n_machines}, numbered from 0.")
    if isinstance(model, KernelMachine):
        problem = model.rebuilt_problems(X, y, sample_weight)[machine]
        fitted = model.machines_[machine]
        if not np.allclose(problem.C, fitted.upper * fitted.scale):
            raise ValueError("these are not the weights that the model was fitted with: give sample_weight.")
        return DualSteps(model, trace, machine, problem)
    if y is None:
        raise ValueError(f"steps of {type(model).__name__} need y: pass the labels or targets of the fit.")
    kind = PerceptronSteps if "coefficient" in trace else LinearSteps
    return kind(model, trace, machine, X, np.asarray(y))


def signs_of(model: BaseEstimator, machine: int, y: AnyArray) -> FloatArray:
    """+1 and -1 for the two sides of a binary problem, 0 for other classes; the target in regression."""
    if not is_classifier(model):
        return np.asarray(y, dtype=np.float64)
    negative, positive = sides(model, machine)
    is_positive = y == positive
    is_negative = ~is_positive if negative is None else y == negative
    return np.where(is_positive, 1.0, np.where(is_negative, -1.0, 0.0))


def sides(model: BaseEstimator, machine: int) -> tuple[Any, Any]:
    """The classes of f < 0 (None for all others) and of f > 0 in a binary problem of a classifier."""
    classes = model.classes_
    positive, negative = class_pairs(len(classes), model.multiclass)[machine]
    return None if negative < 0 else classes[negative], classes[positive]
