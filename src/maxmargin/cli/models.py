"""Models by name: what stands in front of them, and the values that are tried."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from maxmargin.cli.columns import Prepared
from maxmargin.cli.options import Encoding
from maxmargin.cli.refusal import Code, Refusal

_C = [2.0**k for k in range(-5, 16, 2)]
_GAMMA = [2.0**k for k in range(-15, 4, 2)]
_C_FEW = [2.0**k for k in range(-5, 12, 4)]
_GAMMA_FEW = [2.0**k for k in range(-11, 2, 3)]
_DECADES = [10.0**k for k in range(-4, 5)]
_EPSILONS = [0.01, 0.1, 0.5]  # of the standard deviation of the target


@dataclass(frozen=True)
class Family:
    """A kind of model: how it is made, what is tried (with a smaller grid for comparisons)."""

    name: str
    make: Callable[[], Any]
    grid: dict[str, list[Any]] = field(default_factory=dict)
    few: dict[str, list[Any]] | None = None

    def values(self, *, small: bool) -> dict[str, list[Any]]:
        return self.few if small and self.few is not None else self.grid


def families(data: Prepared) -> dict[str, Family]:
    """All families for the task of the data, the first one being the default."""
    found = _classifiers() if data.classifies else _regressors(float(np.std(data.y)) or 1.0)
    return {family.name: family for family in found}


def _classifiers() -> list[Family]:
    import maxmargin as mm

    return [
        Family("svm", mm.SVC, {"C": _C, "gamma": _GAMMA}, {"C": _C_FEW, "gamma": _GAMMA_FEW}),
        Family(
            "nu-svm",
            mm.NuSVC,
            {"nu": [0.05, 0.1, 0.2, 0.3], "gamma": _GAMMA},
            {"nu": [0.1, 0.2], "gamma": _GAMMA_FEW},
        ),
        Family("linear-svm", mm.LinearSVC, {"C": _DECADES[:7]}, {"C": _DECADES[1:7:2]}),
        Family("logistic", mm.LogisticRegression, {"C": _DECADES[:8]}, {"C": _DECADES[1:7:2]}),
        Family("fisher", mm.FisherDiscriminant),
        Family("perceptron", mm.Perceptron),
    ]


def _regressors(spread: float) -> list[Family]:
    """Families for a quantity of this standard deviation."""
    import maxmargin as mm

    C, C_few = [c * spread for c in _C[1:9]], [c * spread for c in _C[2:9:2]]
    tol = 1e-3 * spread  # in units of the target, as the dual's violations are
    epsilons = [e * spread for e in _EPSILONS]
    return [
        Family(
            "svm",
            lambda: mm.SVR(tol=tol),
            {"C": C, "gamma": _GAMMA[2:9], "epsilon": epsilons},
            {"C": C_few, "gamma": _GAMMA_FEW[1:], "epsilon": epsilons[:2]},
        ),
        Family(
            "nu-svm",
            lambda: mm.NuSVR(tol=tol),
            {"C": C, "gamma": _GAMMA[2:9]},
            {"C": C_few, "gamma": _GAMMA_FEW[1:]},
        ),
        Family(
            "kernel-ridge",
            lambda: mm.KernelRidge(kernel="rbf"),
            {"alpha": _DECADES[:7], "gamma": _GAMMA[2:9]},
            {"alpha": _DECADES[1:6:2], "gamma": _GAMMA_FEW[1:]},
        ),
        Family(
            "linear-svm",
            mm.LinearSVR,
            {"C": [c * spread for c in _DECADES[:6]]},
            {"C": [c * spread for c in _DECADES[1:6:2]]},
        ),
        Family("ridge", mm.Ridge, {"alpha": _DECADES}, {"alpha": _DECADES[::2]}),
        Family("least-squares", mm.LeastSquares),
    ]


def chosen_family(data: Prepared, name: str) -> Family:
    """The family called ``name``."""
    known = families(data)
    if name not in known:
        raise Refusal(
            f"there is no model {name!r} for {data.schema.task}: there are {', '.join(known)}.", Code.USAGE
        )
    return known[name]


def with_kernel(family: Family, text: str | None) -> Family:
    """The family with a kernel from text in place of its own."""
    if text is None:
        return family
    from maxmargin.kernels import parse

    kernel = parse(text)
    if not hasattr(family.make(), "kernel"):
        raise Refusal(f"{family.name} has no kernel: use --model svm.", Code.USAGE)
    make = family.make

    def made() -> Any:
        return make().set_params(kernel=kernel)

    def without(grid: dict[str, list[Any]]) -> dict[str, list[Any]]:
        return {name: values for name, values in grid.items() if name != "gamma"}

    few = None if family.few is None else without(family.few)
    return Family(family.name, made, without(family.grid), few)


def named_columns(kernel: Any) -> list[str]:
    """Columns that a kernel names."""
    names: list[str] = []
    if kernel is None or isinstance(kernel, str):
        return names
    for key, value in {"": kernel, **kernel.get_params(deep=True)}.items():
        if key.rpartition("__")[2] == "features" and value is not None:
            names += [value] if isinstance(value, str) else [v for v in value if isinstance(v, str)]
    return list(dict.fromkeys(names))


def pipeline(data: Prepared, family: Family, encoding: Encoding, positive: Any = None) -> Any:
    """The model behind what its columns need: fill where values are missing, scale, encode."""
    from sklearn.compose import ColumnTransformer
    from sklearn.impute import SimpleImputer
    from sklearn.pipeline import Pipeline
    from sklearn.preprocessing import StandardScaler

    schema = data.schema
    gaps = bool(schema.numbers) and bool(data.X[schema.numbers].isna().any().any())
    fill = [("fill", SimpleImputer(strategy="median"))] if gaps else []
    front: list[tuple[str, Any]] = [*fill, ("scale", StandardScaler())]
    if schema.categories:
        parts = [("categories", _encoder(data, encoding, positive), schema.categories)]
        if schema.numbers:
            parts.insert(0, ("numbers", Pipeline(front) if gaps else front[-1][1], schema.numbers))
        front = [("columns", ColumnTransformer(parts, sparse_threshold=0.0, verbose_feature_names_out=False))]
    machine = family.make()
    if named_columns(getattr(machine, "kernel", None)):
        for _, step in front:
            step.set_output(transform="pandas")  # the kernel asks for columns by name
    return Pipeline([*front, ("model", machine)])


def _encoder(data: Prepared, encoding: Encoding, positive: Any) -> Any:
    from sklearn.preprocessing import OneHotEncoder

    if encoding is Encoding.ONEHOT:
        return OneHotEncoder(handle_unknown="ignore", sparse_output=False)
    if len(data.classes) != 2:
        raise Refusal(
            f"weight of evidence needs two classes, and the target has {len(data.classes) or 'numbers'}: "
            "use --categories onehot.",
            Code.USAGE,
        )
    from maxmargin.scorecards import Binning, WOEEncoder

    return WOEEncoder(Binning(positive=positive), handle_unknown="neutral")


def grid_of(family: Family, wishes: list[str] | None, *, small: bool = False, prefix: str = "model__") -> Any:
    """The grid of a family, with the values that were asked for; None where nothing is to be tried."""
    grid = dict(family.values(small=small))
    known = set(family.make().get_params())
    for wish in wishes or []:
        name, equals, values = wish.partition("=")
        name = name.strip()
        if not equals or not values.strip():
            raise Refusal(f"--grid {wish!r}: write NAME=VALUE,VALUE,..., such as C=0.1,1,10.", Code.USAGE)
        if name not in known:
            raise Refusal(f"--grid {wish!r}: {family.name} has no parameter {name!r}.", Code.USAGE)
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
        raise Refusal("--positive belongs to classes, and the target is a quantity.", Code.USAGE)
    return match_class(data.classes, text)


def match_class(classes: list[Any], text: str) -> Any:
    found = [label for label in classes if str(label) == text]
    if not found:
        raise Refusal(f"there is no class {text!r}: there are {', '.join(map(str, classes))}.", Code.USAGE)
    return found[0]
