"""maxmargin: margin-based learning, exact, certified and fast.

Names are loaded when they are first used, so that ``import maxmargin`` stays light.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

__version__ = "0.1.0"

# public name -> module that defines it
_HOMES: dict[str, str] = {
    "SVC": "maxmargin.svm",
    "NuSVC": "maxmargin.svm",
    "HardMarginSVC": "maxmargin.svm",
    "SVR": "maxmargin.svm",
    "NuSVR": "maxmargin.svm",
    "OneClassSVM": "maxmargin.svm",
    "SVDD": "maxmargin.svm",
    "NotSeparableError": "maxmargin.svm",
    "certify": "maxmargin.svm",
    "replay": "maxmargin.solvers.replay",
    "explain": "maxmargin.explanation",
    "Explanation": "maxmargin.explanation",
    "kkt_table": "maxmargin.explanation",
    "LogisticRegression": "maxmargin.linear",
    "LinearSVC": "maxmargin.linear",
    "LinearSVR": "maxmargin.linear",
    "LeastSquares": "maxmargin.linear",
    "Ridge": "maxmargin.linear",
    "FisherDiscriminant": "maxmargin.linear",
    "Perceptron": "maxmargin.linear",
    "PassiveAggressive": "maxmargin.linear",
    "Pegasos": "maxmargin.linear",
    "SubgradientDescent": "maxmargin.linear",
    "KernelRidge": "maxmargin.kernel_machines",
    "KernelPerceptron": "maxmargin.kernel_machines",
    "LowRank": "maxmargin.large",
    "RandomFourier": "maxmargin.large",
    "LargeSVC": "maxmargin.large",
    "LargeSVR": "maxmargin.large",
    "LargeKernelRidge": "maxmargin.large",
    "CellSVC": "maxmargin.large",
    "tune": "maxmargin.tuning",
    "GridSearch": "maxmargin.tuning",
    "TuneResult": "maxmargin.tuning",
    "nested_error": "maxmargin.tuning",
    "evaluate": "maxmargin.metrics",
    "Binning": "maxmargin.scoring",
    "WOEEncoder": "maxmargin.scoring",
    "Scorecard": "maxmargin.scoring",
    "save": "maxmargin.io",
    "load": "maxmargin.io",
}
_MODULES = {"kernels", "metrics", "discretize", "scoring", "displays", "feature_selection", "solvers"}
_MODULES |= {"report", "io", "pieces"}

__all__ = ["__version__", *_HOMES, *_MODULES]


def __getattr__(name: str) -> Any:
    if name in _MODULES:
        return import_module(f"maxmargin.{name}")
    if name not in _HOMES:
        raise AttributeError(f"module 'maxmargin' has no attribute {name!r}")
    return getattr(import_module(_HOMES[name]), name)


def __dir__() -> list[str]:
    return sorted(__all__)
