"""The messages of the page. This is the only code that reads them, and it checks all types and bounds."""

from __future__ import annotations

import json
from dataclasses import dataclass, fields
from typing import Any

import numpy as np

from maxmargin.base.typing import FloatArray, IntArray

MAX_POINTS = 2000
MAX_GRID = (160, 120)
MAX_BYTES = 1 << 20  # of a message
MAX_LOAD = 20 << 20  # of a message with a table
MAX_CLASSES = 4
MAX_DEPTH = 8
MACHINES = (
    "SVC", "HardMarginSVC", "NuSVC", "SVR", "NuSVR", "OneClassSVM", "SVDD", "Perceptron", "Pegasos",
)  # fmt: skip
SOLVERS = ("working_set", "smo", "decomposition", "chunking", "qp", "subgradient", "pegasos")
KERNELS = ("linear", "rbf", "poly", "laplacian", "expression")


class MessageError(ValueError):
    """The error for a message that cannot be answered, in one sentence.

    ``key`` names a sentence of the page's languages; ``field`` is the setting, ``column`` the place in it.
    """

    def __init__(
        self, sentence: str, *, key: str | None = None, field: str | None = None, column: int | None = None
    ) -> None:
        super().__init__(sentence)
        self.key, self.field, self.column = key, field, column


@dataclass(frozen=True)
class PlaneView:
    """The part of the plane that is shown, and the size of its grid."""

    x0: float
    x1: float
    y0: float
    y1: float
    nx: int
    ny: int

    def corners(self) -> FloatArray:
        """The points of the grid, row by row from y0 up, of shape (ny nx, 2)."""
        axes = np.linspace(self.x0, self.x1, self.nx), np.linspace(self.y0, self.y1, self.ny)
        return np.column_stack([axis.ravel() for axis in np.meshgrid(*axes)])


@dataclass(frozen=True)
class Settings:
    """A machine and its parameters."""

    machine: str = "SVC"
    kernel: str = "rbf"
    expression: str = ""
    gamma: float = 1.0
    degree: int = 3
    coef0: float = 1.0
    C: float = 1.0
    nu: float = 0.3
    epsilon: float = 0.1
    solver: str = "working_set"


@dataclass(frozen=True)
class PlaneMessage:
    """Fit the points, or watch a solver on them."""

    points: FloatArray
    classes: IntArray
    settings: Settings
    view: PlaneView
    pair: int = 0  # which binary machine, with several classes
    patient: bool = False  # a fit while the hand rests may take longer
    slot: int = 0


@dataclass(frozen=True)
class StepMessage:
    """The state after step k."""

    k: int
    view: PlaneView
    slot: int = 0


Message = dict[str, Any]
_BOUNDS = {
    "gamma": (1e-6, 1e6),
    "coef0": (-1e6, 1e6),
    "C": (1e-6, 1e9),
    "nu": (1e-6, 1.0),
    "epsilon": (0.0, 1e6),
}


def parsed(text: str | bytes) -> Message:
    """A message from its text."""
    start = text[:20] if isinstance(text, str) else text[:20].decode("utf-8", "replace")
    most = MAX_LOAD if start.startswith('{"do":"table"') else MAX_BYTES
    if len(text) > most:
        raise MessageError(f"a message may have {most} bytes, this one has {len(text)}.")
    try:
        message = json.loads(text, parse_constant=_no_constant)
    except (ValueError, RecursionError):
        raise MessageError("a message must be a JSON object.") from None
    if not isinstance(message, dict) or _too_deep(message):
        raise MessageError("a message must be a JSON object of little depth.")
    return message


def _no_constant(name: str) -> float:
    raise ValueError(f"{name} is not a JSON number")


def _too_deep(message: Any) -> bool:
    level = [message]
    for _ in range(MAX_DEPTH):
        parts = [part for one in level for part in (one.values() if isinstance(one, dict) else one)]
        level = [part for part in parts if isinstance(part, (dict, list))]
    return bool(level)


def only(message: Message, *names: str) -> None:
    """Refuse keys that have no meaning."""
    if unknown := sorted(set(message) - {"do", "id", *names}):
        raise MessageError(f"{unknown[0][:40]!r} has no meaning in this message.")


def number(message: Message, name: str, low: float, high: float, default: float | None = None) -> float:
    value: Any = message.get(name, default)
    known = isinstance(value, (int, float)) and not isinstance(value, bool)
    if not known or not low <= value <= high:  # NaN is not between them
        raise MessageError(f"{name} must be a number from {low:g} to {high:g}.", field=name)
    return float(value)


def whole(message: Message, name: str, low: int, high: int, default: int | None = None) -> int:
    value = message.get(name, default)
    if not isinstance(value, int) or isinstance(value, bool) or not low <= value <= high:
        raise MessageError(f"{name} must be a whole number from {low} to {high}.", field=name)
    return value


def choice(message: Message, name: str, known: tuple[str, ...], default: str | None = None) -> str:
    value = message.get(name, default)
    if value not in known:
        raise MessageError(f"{name} must be one of {', '.join(known)}.", field=name)
    return str(value)


def text(message: Message, name: str, longest: int = 1000, default: str | None = None) -> str:
    value = message.get(name, default)
    if not isinstance(value, str) or len(value) > longest:
        raise MessageError(f"{name} must be text of at most {longest} characters.", field=name)
    if any("\ud800" <= symbol <= "\udfff" for symbol in value):
        raise MessageError(f"{name} holds half of a character: write it in UTF-8.", field=name)
    return value


def settings_of(given: Any) -> Settings:
    """Settings from what the page or a lesson says; missing ones have their defaults."""
    if not isinstance(given, dict):
        raise MessageError("settings must be an object.")
    only(given, *(part.name for part in fields(Settings)))
    usual = Settings()
    return Settings(
        machine=choice(given, "machine", MACHINES, usual.machine),
        kernel=choice(given, "kernel", KERNELS, usual.kernel),
        expression=text(given, "expression", default=usual.expression),
        degree=whole(given, "degree", 1, 10, usual.degree),
        solver=choice(given, "solver", SOLVERS, usual.solver),
        **{name: number(given, name, *bounds, getattr(usual, name)) for name, bounds in _BOUNDS.items()},
    )


def points_of(given: Any) -> tuple[FloatArray, IntArray]:
    """Points [x, y, class] as an array of shape (n, 2) and the classes."""
    if not isinstance(given, list) or len(given) > MAX_POINTS:
        raise MessageError(f"points must be a list of at most {MAX_POINTS}.")
    if not all(isinstance(point, list) and len(point) == 3 for point in given):
        raise MessageError("a point is [x, y, class].")
    plain = {type(value) for point in given for value in point} <= {int, float}
    if not plain or not all(
        abs(value) <= 1e9 for point in given for value in point
    ):  # whole ones have no end
        raise MessageError("a coordinate must be a number up to 1e9.")
    table = np.array(given, dtype=np.float64).reshape(len(given), 3)
    if not np.isin(table[:, 2], range(MAX_CLASSES)).all():
        raise MessageError(f"a class is a whole number from 0 to {MAX_CLASSES - 1}.")
    return table[:, :2], table[:, 2].astype(np.int64)


def view_of(given: Any) -> PlaneView:
    if not isinstance(given, dict):
        raise MessageError("view must be an object.")
    only(given, "x0", "x1", "y0", "y1", "nx", "ny")
    corner = {name: number(given, name, -1e10, 1e10) for name in ("x0", "x1", "y0", "y1")}
    if not (corner["x0"] < corner["x1"] and corner["y0"] < corner["y1"]):
        raise MessageError("view must have x0 < x1 and y0 < y1.")
    return PlaneView(**corner, nx=whole(given, "nx", 2, MAX_GRID[0]), ny=whole(given, "ny", 2, MAX_GRID[1]))


def plane_message(message: Message) -> PlaneMessage:
    only(message, "points", "settings", "view", "pair", "patient", "slot")
    points, classes = points_of(message.get("points"))
    if not isinstance(message.get("patient", False), bool):
        raise MessageError("patient must be true or false.")
    return PlaneMessage(
        points=points,
        classes=classes,
        settings=settings_of(message.get("settings", {})),
        view=view_of(message.get("view")),
        pair=whole(message, "pair", 0, 5, 0),
        patient=bool(message.get("patient", False)),
        slot=whole(message, "slot", 0, 1, 0),
    )


def step_message(message: Message) -> StepMessage:
    only(message, "k", "view", "slot")
    return StepMessage(
        k=whole(message, "k", 0, 10_000_000),
        view=view_of(message.get("view")),
        slot=whole(message, "slot", 0, 1, 0),
    )
