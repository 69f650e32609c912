"""Models by name, the steps that prepare their columns, and the values that tuning tries."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from importlib import import_module
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.compose import ColumnTransformer
from sklearn.impute import SimpleImputer
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

from maxmargin.base.typing import LabelLike
from maxmargin.tables.columns import Prepared
from maxmargin.tables.kernel_columns import encoded_categories, levels, named_columns, on_columns
from maxmargin.tables.refusals import UsageRefusal
from maxmargin.tables.table_settings import Encoding

_C = [2.0**k for k in range(-5, 16, 2)]
_GAMMA = [2.0**k for k in range(-15, 4, 2)]
_C_FEW = [2.0**k for k in range(-5, 12, 4)]
_GAMMA_FEW = [2.0**k for k in range(-11, 2, 3)]
_DECADES = [10.0**k for k in range(-4, 5)]
_SEEDED = {"random_state": 0}
_EPSILONS = [0.01, 0.1, 0.5]  # of the standard deviation of the target


@dataclass(frozen=True)
class Family:
    """A kind of model: its class and options, and the grid that tuning tries (a smaller one for comparisons).

    ``large`` names the model for many rows that can take its place. Models that are not ``usual`` are
    compared only when they are named. Only the class of a model that is made is imported.
    """

    name: str
    machine: str
    grid: dict[str, list[Any]] = field(default_factory=dict)
    few: dict[str, list[Any]] | None = None
    large: str | None = None
    usual: bool = True
    options: dict[str, Any] = field(default_factory=dict)

    def make(self, **options: Any) -> Any:
        """A new model."""
        room, name = self.machine.split(".")
        return getattr(import_module(f"maxmargin.machines.{room}"), name)(**self.options, **options)

    def values(self, *, small: bool) -> dict[str, list[Any]]:
        return self.few if small and self.few is not None else self.grid

    @property
    def growth(self) -> float:
        """The power of the number of rows with which the time of a fit grows, about."""
        known = self.parameters
        if "kernel" not in known or "n_components" in known:
            return 1.0
        return 3.0 if "alphas" in known else 2.0  # kernel ridge regression factorises matrices

    @property
    def parameters(self) -> set[str]:
        return set(self.make().get_params())


def families(data: Prepared) -> dict[str, Family]:
    """All models for the task of the data; the first is the default."""
    found = _classifiers() if data.classifies else _regressors(float(np.std(data.y)) or 1.0)
    return {family.name: family for family in found}


def _classifiers() -> list[Family]:
    rbf, rbf_few = {"C": _C, "gamma": _GAMMA}, {"C": _C_FEW, "gamma": _GAMMA_FEW}
    nu = {"nu": [0.05, 0.1, 0.2, 0.3], "gamma": _GAMMA}
    large = {"C": [0.01, 0.1, 1.0, 10.0], "gamma": [2.0**-7, 2.0**-4, 2.0**-1]}
    other = partial(Family, usual=False)
    return [
        Family("svm", "svm.SVC", rbf, rbf_few, "large-svc"),
        Family("nu-svm", "svm.NuSVC", nu, {"nu": [0.1, 0.2], "gamma": _GAMMA_FEW}, "large-svc"),
        Family("linear-svm", "linear.LinearSVC", {"C": _DECADES[:7]}, {"C": _DECADES[1:7:2]}),
        Family(
            "logistic", "linear.LogisticRegression", {"C": [*_DECADES[:8], np.inf]}, {"C": _DECADES[1:7:2]}
        ),
        Family("fisher", "linear.FisherDiscriminant", {"shrinkage": [None, 0.01, 0.1, 0.3, 0.6]}),
        Family("perceptron", "online.Perceptron", {"average": [False, True]}),
        other("hard-margin", "svm.HardMarginSVC", {"gamma": _GAMMA}, {"gamma": _GAMMA_FEW}),
        other("passive-aggressive", "online.PassiveAggressive", {"C": _DECADES[:7]}, {"C": _DECADES[1:7:2]}),
        other("pegasos", "online.Pegasos", {"lam": _DECADES[:5]}, {"lam": _DECADES[:5:2]}),
        other("subgradient", "online.SubgradientDescent", {"lam": _DECADES[:5]}, {"lam": _DECADES[:5:2]}),
        other("kernel-perceptron", "kernel.KernelPerceptron", {"gamma": _GAMMA}, {"gamma": _GAMMA_FEW}),
        other("large-svc", "large.LargeSVC", large, options=_SEEDED),
        other("cell-svc", "large.CellSVC", rbf_few, {"C": [1.0, 16.0], "gamma": _GAMMA_FEW}, options=_SEEDED),
    ]


def _regressors(spread: float) -> list[Family]:
    """Models for a quantity of this standard deviation."""
    C, C_few = [c * spread for c in _C[1:9]], [c * spread for c in _C[2:9:2]]
    gamma, gamma_few = _GAMMA[2:9], _GAMMA_FEW[1:]
    epsilons = [e * spread for e in _EPSILONS]
    exact = {"tol": 1e-3 * spread}  # in units of the target, as violations of the dual are
    rbf = {"C": C, "gamma": gamma, "epsilon": epsilons}
    rbf_few = {"C": C_few, "gamma": gamma_few, "epsilon": epsilons[:2]}
    ridge, ridge_few = {"alpha": _DECADES[:7], "gamma": gamma}, {"alpha": _DECADES[1:6:2], "gamma": gamma_few}
    linear = [c * spread for c in _DECADES[:6]]
    large = {"C": [0.01, 0.1, 1.0, 10.0], "gamma": gamma_few, "epsilon": epsilons[1:2]}
    return [
        Family("svm", "svm.SVR", rbf, rbf_few, "large-svr", options=exact),
        Family(
            "nu-svm",
            "svm.NuSVR",
            {"C": C, "gamma": gamma},
            {"C": C_few, "gamma": gamma_few},
            "large-svr",
            options=exact,
        ),
        Family(
            "kernel-ridge",
            "kernel.KernelRidge",
            ridge,
            ridge_few,
            "large-kernel-ridge",
            options={"kernel": "rbf"},
        ),
        Family("linear-svm", "linear.LinearSVR", {"C": linear}, {"C": linear[1::2]}),
        Family("ridge", "linear.Ridge", {"alpha": _DECADES}, {"alpha": _DECADES[::2]}),
        Family("least-squares", "linear.LeastSquares"),
        Family("large-svr", "large.LargeSVR", large, usual=False, options=_SEEDED),
        Family("large-kernel-ridge", "large.LargeKernelRidge", ridge_few, usual=False, options=_SEEDED),
    ]


def chosen_family(data: Prepared, name: str) -> Family:
    """The model called ``name``."""
    known = families(data)
    if name not in known:
        raise UsageRefusal(
            f"there is no model {name!r} for {data.schema.task}: choose one of {', '.join(known)}."
        )
    return known[name]


def with_kernel(family: Family, text: str | None, data: Prepared) -> Family:
    """The model with the kernel that the text names."""
    if text is None:
        return family
    if "kernel" not in family.parameters:
        raise UsageRefusal(f"{family.name} has no kernel: use --model svm.")
    kernel = on_columns(text, data)

    def without(grid: dict[str, list[Any]]) -> dict[str, list[Any]]:
        return {name: values for name, values in grid.items() if name != "gamma"}

    few = None if family.few is None else without(family.few)
    return replace(family, options={**family.options, "kernel": kernel}, grid=without(family.grid), few=few)


# -- pipelines -----------------------------------------------------------------------------------------------


def pipeline(
    data: Prepared, machine: BaseEstimator, encoding: Encoding, positive: LabelLike | None = None
) -> Any:
    """The model after the steps that its columns need: fill, scale, encode, count words."""
    named = named_columns(getattr(machine, "kernel", None))
    gaps = bool(data.numbers) and bool(data.X[data.numbers].isna().any().any())
    scale: list[tuple[str, Any]] = [("fill", SimpleImputer(strategy="median"))] if gaps else []
    scale.append(("scale", StandardScaler()))
    parts: list[tuple[str, Any, Any]] = []
    if data.numbers:
        parts.append(("numbers", Pipeline(scale) if gaps else scale[-1][1], data.numbers))
    if data.categories:
        parts.append(("categories", _encoder(data, encoding, positive), data.categories))
    parts += [(f"words {k + 1}", _words(data, name), name) for k, name in enumerate(data.texts)]
    parts += [("strings", "passthrough", data.strings)] if data.strings else []
    front: list[tuple[str, Any]] = scale
    if data.categories or data.texts or data.strings:
        sparse, alike = 0.3 if data.texts else 0.0, not named and _names_can_meet(data)
        made = ColumnTransformer(parts, sparse_threshold=sparse, verbose_feature_names_out=alike)
        front = [("columns", made)]
    if named:
        for _, step in front:
            step.set_output(transform="pandas")  # the kernel finds its columns by name
    return Pipeline([*front, ("model", machine)])


def _names_can_meet(data: Prepared) -> bool:
    """True if two columns made by the steps can have the same name, such as a word and a numeric column."""
    names = [*data.numbers, *encoded_categories(data)]
    return (bool(data.texts) and len(data.X.columns) > 1) or len(set(names)) < len(names)


def _words(data: Prepared, name: str) -> Any:
    """Words (or groups of three symbols) that occur in at least two rows, the 5000 most frequent ones."""
    from sklearn.feature_extraction.text import TfidfVectorizer

    column = next(column for column in data.schema.columns if column.name == name)
    form = {"analyzer": "char", "ngram_range": (3, 3)} if column.symbols else {"sublinear_tf": True}
    return TfidfVectorizer(min_df=2, max_features=5000, **form)


def _encoder(data: Prepared, encoding: Encoding, positive: Any) -> Any:
    if encoding is Encoding.ONEHOT:
        known = levels(data) if data.strings else "auto"  # a kernel beside strings names all its columns
        return OneHotEncoder(categories=known, handle_unknown="ignore", sparse_output=False)
    if len(data.classes) != 2:
        raise UsageRefusal(
            f"weight of evidence needs two classes, and the target has {len(data.classes) or 'numbers'}: "
            "use --categories onehot."
        )
    from maxmargin.scorecards import Binning, WOEEncoder

    return WOEEncoder(Binning(positive=positive), handle_unknown="neutral")


# -- grids and classes ---------------------------------------------------------------------------------------


def grid_of(family: Family, given: Sequence[str] = (), *, small: bool = False) -> dict[str, list[Any]] | None:
    """The grid of a model, with the values of ``--grid``; None where there is nothing to try."""
    grid = dict(family.values(small=small))
    for assignment in given:
        name, equals, values = assignment.partition("=")
        name = name.strip()
        if not equals or not values.strip():
            raise UsageRefusal(f"--grid {assignment!r}: write NAME=VALUE,VALUE,..., such as C=0.1,1,10.")
        if name not in family.parameters:
            raise UsageRefusal(
                f"--grid {assignment!r}: {family.name} has no parameter {name!r}: it has "
                f"{', '.join(sorted(family.parameters))}."
            )
        grid[name] = [_value(text) for text in values.split(",")]
    return {f"model__{name}": values for name, values in grid.items()} or None


def _value(text: str) -> Any:
    text = text.strip()
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    return {"true": True, "false": False, "none": None}.get(text.lower(), text)


def positive_of(data: Prepared, text: str | None) -> Any:
    """The class called ``text`` on the command line; else a rare one, or the second of two."""
    if text is None:
        if len(data.classes) != 2:
            return None
        return data.classes[1] if data.rare_class is None else data.rare_class
    if not data.classifies:
        raise UsageRefusal("--positive is for classes, and the target is a quantity: leave it out.")
    return match_class(data.classes, text)


def match_class(classes: Sequence[Any], text: str) -> Any:
    """The class whose text is ``text``."""
    found = [label for label in classes if str(label) == text]
    if not found:
        raise UsageRefusal(f"there is no class {text!r}: the classes are {', '.join(map(str, classes))}.")
    return found[0]
