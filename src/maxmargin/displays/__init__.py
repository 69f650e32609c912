"""Displays: objects that hold the arrays of a plot and draw it with ``plot(ax=None)``.

Classes are imported when they are first used, and matplotlib when something is drawn.
"""

from maxmargin.base.lazy_names import getter_of, homes_of

_HOMES = homes_of(
    __name__,
    {
        "choices.tune_display": "TuneDisplay",
        "choices.scorecard_displays": "BinDisplay IVDisplay",
        "evaluation.score_displays": "RocDisplay KsDisplay CalibrationDisplay ScoreDisplay EvaluationDisplay",
        "choices.selection_display": "SelectionDisplay",
        "evaluation.prediction_displays": "PredictionDisplay ImportanceDisplay ConfusionDisplay",
        "machines.margin_display": "MarginDisplay",
        "machines.kernel_display": "KernelDisplay",
        "machines.loss_display": "LossDisplay",
        "machines.convergence_display": "ConvergenceDisplay",
        "machines.feature_map_display": "FeatureMapDisplay",
        "machines.digits_display": "DigitsDisplay",
        "machines.boundary_display": "BoundaryDisplay",
        "machines.sigmoid_display": "SigmoidDisplay",
        "machines.descent_display": "DescentDisplay",
        "machines.ridge_display": "RidgeDisplay",
        "machines.discriminant_display": "DiscriminantDisplay",
        "choices.neighbour_display": "NeighbourDisplay",
        "machines.step_display": "StepDisplay",
    },
)
__all__ = list(_HOMES)
__dir__ = __all__.copy
__getattr__ = getter_of(__name__, _HOMES)
