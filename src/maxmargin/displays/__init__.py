"""Displays: objects that hold the arrays of a plot and draw it with ``plot(ax=None)``.

Classes are imported when they are first used, and matplotlib when something is drawn.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

# public name -> module that defines it
_HOMES: dict[str, str] = {
    "TuneDisplay": "maxmargin.displays.choices.tune_display",
    "BinDisplay": "maxmargin.displays.choices.scorecard_displays",
    "IVDisplay": "maxmargin.displays.choices.scorecard_displays",
    "RocDisplay": "maxmargin.displays.evaluation.score_displays",
    "KsDisplay": "maxmargin.displays.evaluation.score_displays",
    "CalibrationDisplay": "maxmargin.displays.evaluation.score_displays",
    "ScoreDisplay": "maxmargin.displays.evaluation.score_displays",
    "SelectionDisplay": "maxmargin.displays.choices.selection_display",
    "EvaluationDisplay": "maxmargin.displays.evaluation.score_displays",
    "PredictionDisplay": "maxmargin.displays.evaluation.prediction_displays",
    "ImportanceDisplay": "maxmargin.displays.evaluation.prediction_displays",
    "ConfusionDisplay": "maxmargin.displays.evaluation.prediction_displays",
    "MarginDisplay": "maxmargin.displays.machines.margin_display",
    "KernelDisplay": "maxmargin.displays.machines.kernel_display",
    "LossDisplay": "maxmargin.displays.machines.loss_display",
    "ConvergenceDisplay": "maxmargin.displays.machines.convergence_display",
    "FeatureMapDisplay": "maxmargin.displays.machines.feature_map_display",
    "DigitsDisplay": "maxmargin.displays.machines.digits_display",
    "BoundaryDisplay": "maxmargin.displays.machines.boundary_display",
    "SigmoidDisplay": "maxmargin.displays.machines.sigmoid_display",
    "DescentDisplay": "maxmargin.displays.machines.descent_display",
    "RidgeDisplay": "maxmargin.displays.machines.ridge_display",
    "DiscriminantDisplay": "maxmargin.displays.machines.discriminant_display",
    "NeighbourDisplay": "maxmargin.displays.choices.neighbour_display",
    "StepDisplay": "maxmargin.displays.machines.step_display",
}

__all__ = list(_HOMES)


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'maxmargin.displays' has no attribute {name!r}")
    return getattr(import_module(_HOMES[name]), name)


def __dir__() -> list[str]:
    return sorted(__all__)
