"""maxmargin: margin-based learning, exact, certified and fast.

Names are loaded when they are first used, so that ``import maxmargin`` stays light.
"""

from maxmargin.base.lazy_names import getter_of, homes_of

__version__ = "0.2.0.dev0"

_HOMES = homes_of(
    __name__,
    {
        "machines.svm": (
            "SVC NuSVC HardMarginSVC SVR NuSVR OneClassSVM SVDD NotSeparableError certify slack_budget"
        ),
        "solvers.trace": "replay",
        "explanation": "explain Explanation kkt_table",
        "explanation.steps": "steps",
        "machines.linear": (
            "LogisticRegression SeparationWarning LinearSVC LinearSVR LeastSquares Ridge FisherDiscriminant"
        ),
        "machines.online": "Perceptron PassiveAggressive Pegasos SubgradientDescent",
        "solvers.online.convex_descent": "subgradient_descent",
        "machines.kernel": "KernelRidge KernelPerceptron",
        "machines.large": "LowRank RandomFourier LargeSVC LargeSVR LargeKernelRidge CellSVC",
        "tuning": "tune GridSearch RandomSearch TuneResult nested_error",
        "metrics": "evaluate",
        "scorecards": "Binning WOEEncoder Scorecard",
        "reports": "report",
        "playground.notebook": "play",
        "io": "save load to_sklearn",
        "warm_up": "warmup",
    },
)
_MODULES = [
    "kernels", "metrics", "discretize", "scorecards", "displays", "feature_selection", "solvers", "pieces",
    "io",
]  # fmt: skip

__all__ = ["__version__", *_HOMES, *_MODULES]
__dir__ = __all__.copy
__getattr__ = getter_of(__name__, _HOMES, _MODULES)
