"""Pictures: arrays in, Axes out. A display holds what it draws; ``plot(ax=None)`` draws it.

Names are loaded when they are first used; matplotlib only when something is drawn.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

# public name -> module that defines it
_HOMES: dict[str, str] = {
    "TuneDisplay": "maxmargin.displays.tune",
    "BinDisplay": "maxmargin.displays.binning",
    "IVDisplay": "maxmargin.displays.information_value",
    "RocDisplay": "maxmargin.displays.roc",
    "KsDisplay": "maxmargin.displays.ks",
    "CalibrationDisplay": "maxmargin.displays.calibration",
    "ScoreDisplay": "maxmargin.displays.scores",
    "SelectionDisplay": "maxmargin.displays.selection",
    "EvaluationDisplay": "maxmargin.displays.evaluation",
    "PredictionDisplay": "maxmargin.displays.prediction",
    "ImportanceDisplay": "maxmargin.displays.importance",
    "ConfusionDisplay": "maxmargin.displays.confusion",
    "MarginDisplay": "maxmargin.displays.margin",
    "KernelDisplay": "maxmargin.displays.kernel",
    "LossDisplay": "maxmargin.displays.loss",
    "ConvergenceDisplay": "maxmargin.displays.convergence",
    "FeatureMapDisplay": "maxmargin.displays.feature_map",
    "DigitsDisplay": "maxmargin.displays.digits",
    "StepDisplay": "maxmargin.displays.step",
}

__all__ = list(_HOMES)


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'maxmargin.displays' has no attribute {name!r}")
    return getattr(import_module(_HOMES[name]), name)


def __dir__() -> list[str]:
    return sorted(__all__)
