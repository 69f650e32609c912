"""Models by name: what prepares their columns, and the values that tuning tries."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

import numpy as np
from sklearn.compose import ColumnTransformer
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.impute import SimpleImputer
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

import maxmargin as mm
from maxmargin.cli.columns import Prepared
from maxmargin.cli.options import Encoding
from maxmargin.cli.screen import UsageRefusal, listed
from maxmargin.kernels import Kernel, parse

_C = [2.0**k for k in range(-5, 16, 2)]
_GAMMA = [2.0**k for k in range(-15, 4, 2)]
_C_FEW = [2.0**k for k in range(-5, 12, 4)]
_GAMMA_FEW = [2.0**k for k in range(-11, 2, 3)]
_DECADES = [10.0**k for k in range(-4, 5)]
_EPSILONS = [0.01, 0.1, 0.5]  # of the standard deviation of the target


@dataclass(frozen=True)
class Family:
    """A kind of model: how it is made, and what tuning tries (a smaller grid for comparisons)."""

    name: str
    make: Callable[..., Any]
    grid: dict[str, list[Any]] = field(default_factory=dict)
    few: dict[str, list[Any]] | None = None

    def values(self, *, small: bool) -> dict[str, list[Any]]:
        return self.few if small and self.few is not None else self.grid

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
    return [
        Family("svm", mm.SVC, rbf, rbf_few),
        Family("nu-svm", mm.NuSVC, nu, {"nu": [0.1, 0.2], "gamma": _GAMMA_FEW}),
        Family("linear-svm", mm.LinearSVC, {"C": _DECADES[:7]}, {"C": _DECADES[1:7:2]}),
        Family("logistic", mm.LogisticRegression, {"C": _DECADES[:8]}, {"C": _DECADES[1:7:2]}),
        Family("fisher", mm.FisherDiscriminant),
        Family("perceptron", mm.Perceptron),
    ]


def _regressors(spread: float) -> list[Family]:
    """Models for a quantity of this standard deviation."""
    C, C_few = [c * spread for c in _C[1:9]], [c * spread for c in _C[2:9:2]]
    gamma, gamma_few = _GAMMA[2:9], _GAMMA_FEW[1:]
    epsilons = [e * spread for e in _EPSILONS]
    tol = 1e-3 * spread  # in units of the target, as violations of the dual are
    rbf = {"C": C, "gamma": gamma, "epsilon": epsilons}
    rbf_few = {"C": C_few, "gamma": gamma_few, "epsilon": epsilons[:2]}
    ridge = {"alpha": _DECADES[:7], "gamma": gamma}
    linear = [c * spread for c in _DECADES[:6]]
    return [
        Family("svm", partial(mm.SVR, tol=tol), rbf, rbf_few),
        Family(
            "nu-svm", partial(mm.NuSVR, tol=tol), {"C": C, "gamma": gamma}, {"C": C_few, "gamma": gamma_few}
        ),
        Family(
            "kernel-ridge",
            partial(mm.KernelRidge, kernel="rbf"),
            ridge,
            {"alpha": _DECADES[1:6:2], "gamma": gamma_few},
        ),
        Family("linear-svm", mm.LinearSVR, {"C": linear}, {"C": linear[1::2]}),
        Family("ridge", mm.Ridge, {"alpha": _DECADES}, {"alpha": _DECADES[::2]}),
        Family("least-squares", mm.LeastSquares),
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
    """The model with a kernel from text instead of its own."""
    if text is None:
        return family
    if "kernel" not in family.parameters:
        raise UsageRefusal(f"{family.name} has no kernel: use --model svm.")
    kernel = _on_columns(parse(text), data)

    def without(grid: dict[str, list[Any]]) -> dict[str, list[Any]]:
        return {name: values for name, values in grid.items() if name != "gamma"}

    few = None if family.few is None else without(family.few)
    return replace(family, make=partial(family.make, kernel=kernel), grid=without(family.grid), few=few)


def _on_columns(kernel: Kernel, data: Prepared) -> Kernel:
    """The kernel, with its string kernels bound to the only text column where they name none."""
    strings = {
        key: value
        for key, value in {"": kernel, **kernel.get_params(deep=True)}.items()
        if isinstance(value, (mm.kernels.Spectrum, mm.kernels.Subsequence)) and value.features is None
    }
    if not strings:
        return kernel
    if len(data.texts) != 1:
        raise UsageRefusal(
            f"{next(iter(strings.values()))!r} needs the name of its column, such as features='text'; "
            f"columns of text: {listed(data.texts) or 'none (--columns COLUMN=text makes one)'}."
        )
    names = {f"{key}__features" if key else "features": data.texts[0] for key in strings}
    return kernel.with_params(**names)


def named_columns(kernel: Any) -> list[str]:
    """Columns that a kernel names."""
    names: list[str] = []
    if kernel is None or isinstance(kernel, str):
        return names
    for key, value in {"": kernel, **kernel.get_params(deep=True)}.items():
        if key.rpartition("__")[2] == "features" and value is not None:
            names += [value] if isinstance(value, str) else [v for v in value if isinstance(v, str)]
    return list(dict.fromkeys(names))


# -- pipelines -----------------------------------------------------------------------------------------------


def pipeline(data: Prepared, machine: Any, encoding: Encoding, positive: Any = None) -> Any:
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
    raw = [name for name in data.texts if name in named]
    words = [name for name in data.texts if name not in raw]
    parts += [(f"words {k + 1}", _words(data, name), name) for k, name in enumerate(words)]
    parts += [("strings", "passthrough", raw)] if raw else []
    front: list[tuple[str, Any]] = scale
    if data.categories or data.texts:
        sparse = 0.3 if data.texts else 0.0
        front = [
            ("columns", ColumnTransformer(parts, sparse_threshold=sparse, verbose_feature_names_out=False))
        ]
    if named:
        for _, step in front:
            step.set_output(transform="pandas")  # the kernel finds its columns by name
    return Pipeline([*front, ("model", machine)])


def _words(data: Prepared, name: str) -> TfidfVectorizer:
    """Words (or groups of three symbols) that at least two rows hold, the most frequent 5000."""
    column = next(column for column in data.schema.columns if column.name == name)
    form = {"analyzer": "char", "ngram_range": (3, 3)} if column.symbols else {"sublinear_tf": True}
    return TfidfVectorizer(min_df=2, max_features=5000, **form)


def _encoder(data: Prepared, encoding: Encoding, positive: Any) -> Any:
    if encoding is Encoding.ONEHOT:
        return OneHotEncoder(handle_unknown="ignore", sparse_output=False)
    if len(data.classes) != 2:
        raise UsageRefusal(
            f"weight of evidence needs two classes, and the target has {len(data.classes) or 'numbers'}: "
            "use --categories onehot."
        )
    return mm.WOEEncoder(mm.Binning(positive=positive), handle_unknown="neutral")


# -- grids and classes ---------------------------------------------------------------------------------------


def grid_of(
    family: Family, wishes: Sequence[str] = (), *, small: bool = False, prefix: str = "model__"
) -> dict[str, list[Any]] | None:
    """The grid of a model, with the values of ``--grid``; None where there is nothing to try."""
    grid = dict(family.values(small=small))
    for wish in wishes:
        name, equals, values = wish.partition("=")
        name = name.strip()
        if not equals or not values.strip():
            raise UsageRefusal(f"--grid {wish!r}: write NAME=VALUE,VALUE,..., such as C=0.1,1,10.")
        if name not in family.parameters:
            raise UsageRefusal(f"--grid {wish!r}: {family.name} has no parameter {name!r}.")
        grid[name] = [_value(text) for text in values.split(",")]
    return {prefix + name: values for name, values in grid.items()} or None


def _value(text: str) -> Any:
    text = text.strip()
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    return {"true": True, "false": False, "none": None}.get(text.lower(), text)


def positive_of(data: Prepared, text: str | None) -> Any:
    """The class called ``text`` on the command line."""
    if text is None:
        return None
    if not data.classifies:
        raise UsageRefusal("--positive is for classes, and the target is a quantity.")
    return match_class(data.classes, text)


def match_class(classes: Sequence[Any], text: str) -> Any:
    """The class that is written ``text``."""
    found = [label for label in classes if str(label) == text]
    if not found:
        raise UsageRefusal(f"there is no class {text!r}: the classes are {', '.join(map(str, classes))}.")
    return found[0]
