"""Pictures: arrays in, Axes out. A display holds what it draws; ``plot(ax=None)`` draws it.

Names are loaded when they are first used; matplotlib only when something is drawn.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

# public name -> module that defines it
_HOMES: dict[str, str] = {
    "TuneDisplay": "maxmargin.displays.choices.tune_display",
    "BinDisplay": "maxmargin.displays.choices.binning_display",
    "IVDisplay": "maxmargin.displays.choices.information_value_display",
    "RocDisplay": "maxmargin.displays.evaluation.roc_display",
    "KsDisplay": "maxmargin.displays.evaluation.ks_display",
    "CalibrationDisplay": "maxmargin.displays.evaluation.calibration_display",
    "ScoreDisplay": "maxmargin.displays.evaluation.scores_display",
    "SelectionDisplay": "maxmargin.displays.choices.selection_display",
    "EvaluationDisplay": "maxmargin.displays.evaluation.evaluation_display",
    "PredictionDisplay": "maxmargin.displays.evaluation.prediction_display",
    "ImportanceDisplay": "maxmargin.displays.evaluation.importance_display",
    "ConfusionDisplay": "maxmargin.displays.evaluation.confusion_display",
    "MarginDisplay": "maxmargin.displays.machines.margin_display",
    "KernelDisplay": "maxmargin.displays.machines.kernel_display",
    "LossDisplay": "maxmargin.displays.machines.loss_display",
    "ConvergenceDisplay": "maxmargin.displays.machines.convergence_display",
    "FeatureMapDisplay": "maxmargin.displays.machines.feature_map_display",
    "DigitsDisplay": "maxmargin.displays.machines.digits_display",
    "StepDisplay": "maxmargin.displays.machines.step_display",
}

__all__ = list(_HOMES)


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'maxmargin.displays' has no attribute {name!r}")
    return getattr(import_module(_HOMES[name]), name)


def __dir__() -> list[str]:
    return sorted(__all__)
