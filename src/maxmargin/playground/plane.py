"""Points in a plane and a machine: fit it, and compute what the page draws."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from sklearn.base import is_classifier

import maxmargin as mm
from maxmargin.base.typing import AnyArray, FloatArray
from maxmargin.explanation.conditions import Conditions, conditions_of
from maxmargin.explanation.steps import sides, signs_of
from maxmargin.kernels.kernel_products import kernel_times
from maxmargin.kernels.parsing import KernelExpressionError, parse
from maxmargin.machines.svm.base import KernelMachine
from maxmargin.machines.svm.fitted_problem import FittedProblem
from maxmargin.playground.messages import MessageError, PlaneMessage, PlaneView, Settings
from maxmargin.playground.wire import Reply

LIVE_SECONDS = 0.25  # of a fit while the hand moves; a patient one may take PATIENT_SECONDS
PATIENT_SECONDS = 10.0
KINDS = ("outside", "inactive", "free", "inside", "bounded", "misclassified")
_KIND_CODES = {kind: code for code, kind in enumerate(KINDS)}
_ONLINE = {"Perceptron": {"max_iter": 50}, "Pegasos": {"max_iter": 20}}


def kernel_of(settings: Settings) -> Any:
    """The kernel of the settings; an expression is read by the library's parser, and nothing else."""
    if settings.kernel != "expression":
        return settings.kernel
    try:
        return parse(settings.expression)
    except KernelExpressionError as wrong:
        raise MessageError(str(wrong), field="expression", column=wrong.column) from None


def parameters_of(settings: Settings, n: int) -> dict[str, Any]:
    """The parameters for n points that differ from the machine's own, as a user would write them."""
    machine = settings.machine
    if machine in _ONLINE:
        own: dict[str, Any] = dict(_ONLINE[machine]) | {"random_state": 0}
        return own | ({"lam": 1.0 / (n * settings.C)} if machine == "Pegasos" else {})
    kernel = kernel_of(settings)
    found: dict[str, Any] = {"kernel": kernel}
    if kernel in ("rbf", "poly", "laplacian"):
        found["gamma"] = settings.gamma
    if kernel == "poly":
        found |= {"degree": settings.degree, "coef0": settings.coef0}
    if machine in ("SVC", "SVR", "NuSVR", "SVDD"):
        found["C"] = settings.C
    if machine in ("NuSVC", "NuSVR", "OneClassSVM"):
        found["nu"] = settings.nu
    if machine == "SVR":
        found["epsilon"] = settings.epsilon
    if settings.solver != "working_set":
        found["solver"] = settings.solver
    return found


def estimator_of(settings: Settings, n: int, **limits: Any) -> Any:
    """An unfitted machine."""
    online = settings.machine in _ONLINE
    kept = {name: value for name, value in limits.items() if not online or name == "trace"}
    return getattr(mm, settings.machine)(**parameters_of(settings, n), **kept)


def training_data(message: PlaneMessage) -> tuple[FloatArray, AnyArray | None]:
    """X and y: the plane for classifiers and detectors, one column and a target for regression."""
    machine = message.settings.machine
    if not len(message.points):
        raise MessageError("there are no points.", key="no_points")
    if machine.endswith("SVR"):
        return np.ascontiguousarray(message.points[:, :1]), message.points[:, 1]
    if machine in ("OneClassSVM", "SVDD"):
        return message.points, None
    if len(np.unique(message.classes)) < 2:
        raise MessageError("a classifier needs points of two classes.", key="one_class_only")
    return message.points, message.classes


def fitted_model(message: PlaneMessage, **limits: Any) -> tuple[Any, FloatArray, AnyArray | None]:
    """The fitted machine with its rows and targets."""
    X, y = training_data(message)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the certificate and the status say what happened
        model = estimator_of(message.settings, len(X), **limits)
        return (model.fit(X) if y is None else model.fit(X, y)), X, y


def fitted_reply(message: PlaneMessage) -> tuple[Any, Reply]:
    """Fit the points and describe the machine on its rows and on the grid."""
    seconds = PATIENT_SECONDS if message.patient else LIVE_SECONDS
    model, X, y = fitted_model(message, time_limit=seconds, n_jobs=1)
    pair = min(message.pair, n_machines(model) - 1)
    header: dict[str, Any] = {"do": "fitted", "pair": pair, "pairs": pairs_of(model), **certificate_of(model)}
    header["grid"] = [message.view.nx, message.view.ny]
    at = grid_of(message.settings, message.view)
    arrays: dict[str, AnyArray] = {"f": _decisions(model, at, pair)}
    if is_classifier(model) and len(model.classes_) > 2:
        arrays["region"] = model.predict(at)
    if isinstance(model, KernelMachine):
        machine = model.machines_[pair]
        rows = on_rows(model, machine, model.kinds_of(machine))
        header |= rows.header | {
            "b": machine.intercept,
            "epsilon": machine.epsilon,
            "margin": machine.margin if is_classifier(model) else None,
        }
        arrays |= rows.arrays
    else:
        assert y is not None  # online learners are classifiers
        signs = signs_of(model, pair, y)
        margins = signs * _decisions(model, X, pair)
        arrays |= {"row": np.flatnonzero(signs), "y_f": margins[signs != 0], "y": signs[signs != 0]}
        header |= {"b": model.intercept_[pair], "mistakes": getattr(model, "n_mistakes_", [None])[pair]}
    return model, Reply(header, arrays)


def grid_of(settings: Settings, view: PlaneView) -> FloatArray:
    """The points at which the page needs f: the grid of the plane, or its x axis in regression."""
    if settings.machine.endswith("SVR"):
        return np.linspace(view.x0, view.x1, view.nx)[:, None]
    return view.corners()


def _decisions(model: Any, at: FloatArray, pair: int) -> FloatArray:
    if isinstance(model, KernelMachine):
        if is_classifier(model):
            return _picture(model, at) if len(model.classes_) == 2 else model.binary_decisions(at)[:, pair]
        return np.asarray(model.single_decision(at))
    return at @ model.coef_[pair] + model.intercept_[pair]


def _picture(model: Any, at: FloatArray) -> FloatArray:
    """f of a binary machine in float32, a quarter of the time; in float64 where a sample of it differs."""
    points, support, beta = model.points_of(at), model.support_points_, model.dense_dual_coef[0]
    narrow = points.astype(np.float32), support.astype(np.float32)
    f = kernel_times(model.kernel_, *narrow, beta)
    some = np.arange(0, len(at), max(1, len(at) // 40))
    exact = kernel_times(model.kernel_, points.take(some), support, beta)
    if not np.abs(f[some] - exact).max() <= 1e-3:
        f = kernel_times(model.kernel_, points, support, beta)
    return f + model.intercept_[0]


def n_machines(model: Any) -> int:
    return len(model.machines_) if isinstance(model, KernelMachine) else len(model.intercept_)


def pairs_of(model: Any) -> list[list[Any]]:
    """The classes of each binary machine: that of f < 0 (null: all others) and that of f > 0."""
    if not is_classifier(model) or len(model.classes_) == 2:
        return []
    return [list(sides(model, k)) for k in range(n_machines(model))]


def certificate_of(model: Any) -> dict[str, Any]:
    """Status and certificate in numbers."""
    found = getattr(model, "certificate_", None)
    figures = {name: getattr(found, name, None) for name in ("primal", "dual", "gap", "relative_gap", "kkt")}
    if figures["gap"] is not None:
        figures["gap"] = max(figures["gap"], 0.0)  # rounding aside
    if isinstance(model, KernelMachine):
        ends = [machine.solution for machine in model.machines_]
        bad = [end.status.short for end in ends if end.status.short != "converged"]
        figures["status"] = bad[0] if bad else "converged"
        figures["n_iter"] = sum(end.n_iter for end in ends)
        figures["n_support"] = len(model.support_)
        figures["tol"] = model.tol
    return figures


def on_rows(model: Any, machine: FittedProblem, kinds: AnyArray) -> Reply:
    """The conditions of a machine as arrays; their texts as numbers into a short list."""
    table = conditions_of(model, machine)
    if "alpha_up" in table:  # of the two sides of the tube, the one that matters
        up, above = table["alpha_up"] >= table["alpha_down"], table["residual"] >= 0
        table |= {name: np.where(up, table[f"{name}_up"], table[f"{name}_down"]) for name in ("alpha", "mu")}
        high, low = table["condition_up"], table["condition_down"]
        codes = np.where(above, high.codes, low.codes + len(high.texts))
        table["condition"] = Conditions(high.texts + low.texts, codes)
    names = {"residual": "y_f", "f": "y_f", "target": "y"}
    kept = {"row", "y", "alpha", "mu", "y_f", "slack", "violation"}
    arrays = {names.get(name, name): values for name, values in table.items()}
    arrays = {name: values for name, values in arrays.items() if name in kept}
    arrays["condition"] = table["condition"].codes
    arrays["kind"] = np.array([_KIND_CODES[kind] for kind in kinds.tolist()])
    return Reply({"conditions": list(table["condition"].texts)}, arrays)
