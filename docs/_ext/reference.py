"""Write the reference page from the package itself, so that it lists every public name."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path

import maxmargin as mm

_TITLES = {
    "maxmargin.machines.svm": "Support vector machines",
    "maxmargin.machines.linear": "Linear models",
    "maxmargin.machines.online": "Online learning",
    "maxmargin.machines.kernel": "Kernel ridge regression and kernel perceptron",
    "maxmargin.machines.large": "Large data",
    "maxmargin.tuning": "Tuning",
    "maxmargin.metrics": "Evaluation",
    "maxmargin.explanation": "Explanations",
    "maxmargin.solvers": "Replaying a trace",
    "maxmargin.scorecards": "Scorecards",
    "maxmargin.reports": "Report",
    "maxmargin.io": "Model files",
}


def write_reference(path: Path) -> None:
    """A list of links for every room of the package, then for every public module."""
    rooms: dict[str, list[str]] = {}
    for name, home in mm._HOMES.items():
        rooms.setdefault(_room(home), []).append(name)
    parts = ["# Public names", "Top-level names are used as `mm.SVC`, others through their module."]
    for room, names in rooms.items():
        parts += [f"## {_TITLES.get(room) or _first_sentence(room)}", _listed("maxmargin", names)]
    for module in sorted(mm._MODULES):
        full = f"maxmargin.{module}"
        parts += [f"## mm.{module}", _first_sentence(full), _listed(full, _names(full))]
    text = "\n\n".join(parts) + "\n"
    path.parent.mkdir(exist_ok=True)
    if not path.exists() or path.read_text(encoding="utf-8") != text:  # an unchanged page is not built again
        path.write_text(text, encoding="utf-8")


def _room(home: str) -> str:
    parts = home.split(".")
    return ".".join(parts[:3] if parts[1] == "machines" else parts[:2])


def _names(full: str) -> list[str]:
    module = import_module(full)
    names = getattr(module, "__all__", None)
    if names is None:
        names = [
            name
            for name, value in vars(module).items()
            if not name.startswith("_") and getattr(value, "__module__", "") == full
        ]
    return [name for name in names if callable(getattr(module, name)) and name not in mm._HOMES]


def _first_sentence(full: str) -> str:
    text = (import_module(full).__doc__ or full).strip().split("\n\n")[0]
    return " ".join(text.split())


def _listed(module: str, names: list[str]) -> str:
    rows = "\n".join(f"   {name}" for name in names)
    return (
        f"```{{eval-rst}}\n.. currentmodule:: {module}\n\n.. autosummary::\n   :toctree: generated\n"
        f"   :nosignatures:\n\n{rows}\n```"
    )
