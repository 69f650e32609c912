"""maxmargin: margin-based learning, exact, certified and fast.

Names are loaded when they are first used, so that ``import maxmargin`` stays light.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

__version__ = "0.2.0.dev0"

# public name -> module that defines it
_HOMES: dict[str, str] = {
    "SVC": "maxmargin.machines.svm",
    "NuSVC": "maxmargin.machines.svm",
    "HardMarginSVC": "maxmargin.machines.svm",
    "SVR": "maxmargin.machines.svm",
    "NuSVR": "maxmargin.machines.svm",
    "OneClassSVM": "maxmargin.machines.svm",
    "SVDD": "maxmargin.machines.svm",
    "NotSeparableError": "maxmargin.machines.svm",
    "certify": "maxmargin.machines.svm",
    "slack_budget": "maxmargin.machines.svm",
    "replay": "maxmargin.solvers.replay",
    "explain": "maxmargin.explanation",
    "Explanation": "maxmargin.explanation",
    "kkt_table": "maxmargin.explanation",
    "steps": "maxmargin.explanation.steps",
    "LogisticRegression": "maxmargin.machines.linear",
    "SeparationWarning": "maxmargin.machines.linear",
    "LinearSVC": "maxmargin.machines.linear",
    "LinearSVR": "maxmargin.machines.linear",
    "LeastSquares": "maxmargin.machines.linear",
    "Ridge": "maxmargin.machines.linear",
    "FisherDiscriminant": "maxmargin.machines.linear",
    "Perceptron": "maxmargin.machines.online",
    "PassiveAggressive": "maxmargin.machines.online",
    "Pegasos": "maxmargin.machines.online",
    "SubgradientDescent": "maxmargin.machines.online",
    "subgradient_descent": "maxmargin.solvers.online.convex_descent",
    "KernelRidge": "maxmargin.machines.kernel",
    "KernelPerceptron": "maxmargin.machines.kernel",
    "LowRank": "maxmargin.machines.large",
    "RandomFourier": "maxmargin.machines.large",
    "LargeSVC": "maxmargin.machines.large",
    "LargeSVR": "maxmargin.machines.large",
    "LargeKernelRidge": "maxmargin.machines.large",
    "CellSVC": "maxmargin.machines.large",
    "tune": "maxmargin.tuning",
    "GridSearch": "maxmargin.tuning",
    "RandomSearch": "maxmargin.tuning",
    "TuneResult": "maxmargin.tuning",
    "nested_error": "maxmargin.tuning",
    "evaluate": "maxmargin.metrics",
    "Binning": "maxmargin.scorecards",
    "WOEEncoder": "maxmargin.scorecards",
    "Scorecard": "maxmargin.scorecards",
    "report": "maxmargin.reports",
    "play": "maxmargin.playground.notebook",
    "save": "maxmargin.io",
    "load": "maxmargin.io",
    "to_sklearn": "maxmargin.io",
    "warmup": "maxmargin.warm_up",
}
_MODULES = {
    "kernels",
    "metrics",
    "discretize",
    "scorecards",
    "displays",
    "feature_selection",
    "solvers",
    "pieces",
    "io",
}

__all__ = ["__version__", *_HOMES, *_MODULES]


def __getattr__(name: str) -> Any:
    if name in _MODULES:
        return import_module(f"maxmargin.{name}")
    if name not in _HOMES:
        raise AttributeError(f"module 'maxmargin' has no attribute {name!r}")
    return getattr(import_module(_HOMES[name]), name)


def __dir__() -> list[str]:
    return sorted(__all__)
