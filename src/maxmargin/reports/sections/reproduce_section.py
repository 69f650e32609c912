"""How to reproduce the model: versions, seed, and the Python lines."""

from __future__ import annotations

import platform
import re
from datetime import date
from importlib import import_module, metadata
from typing import Any

from sklearn.base import BaseEstimator
from sklearn.pipeline import Pipeline

from maxmargin.kernels import Kernel
from maxmargin.reports.blocks import CodeBlock, Facts, Heading, Section, Text
from maxmargin.reports.study import Study

_PACKAGES = ("maxmargin", "numpy", "scipy", "scikit-learn", "pandas", "numba")


def reproduce(study: Study) -> Section:
    """Versions, seed, the command where there was one, and the lines."""
    say = study.say
    facts = [("Python", platform.python_version())]
    facts += [(name, metadata.version(name)) for name in _PACKAGES]
    if study.model_file:
        facts.insert(0, (say("reproduce.model_file"), study.model_file))
    facts += [(say("reproduce.seed"), str(study.seed)), (say("reproduce.date"), date.today().isoformat())]
    blocks: list[Any] = [Text(say("reproduce.text")), CodeBlock(python_lines(study))]
    if study.command:
        blocks = [Text(say("reproduce.command")), CodeBlock(study.command), *blocks]
    return Section(
        "reproduce", say("reproduce.title"), [*blocks, Heading(say("reproduce.versions")), Facts(facts)]
    )


def python_lines(study: Study) -> str:
    """Lines that fit the same model and write the same report."""
    model = study.subject.model
    fit = "model.fit(X_train, y_train)" if study.held_out else "model.fit(X, y)"
    if study.subject.task == "outliers":
        fit = fit.replace(", y_train", "").replace(", y)", ")")
    return "\n".join([*model_lines(model), fit, _call(study)])


def model_lines(model: Any) -> list[str]:
    """Lines that import what the model needs, and make it unfitted."""
    return [*_imports(model), "import maxmargin as mm", "", f"model = {written(model)}"]


def _call(study: Study) -> str:
    options = [f'language="{study.words.language}"'] if study.words.language != "en" else []
    if study.training is not None and study.held_out:
        options.insert(0, "training=(X_train, y_train)")
    elif study.held_out:
        options.insert(0, "held_out=True")
    if study.threshold is not None:
        options.append(f"threshold={study.threshold!r}")
    if study.seed:
        options.append(f"random_state={study.seed}")
    rows = "X_test, y_test" if study.held_out else "X, y"
    arguments = ", ".join(["model", rows, '"report.html"', *options])
    return f"mm.report({arguments})"


def written(model: BaseEstimator) -> str:
    """The model as Python: what differs from the defaults, on one line per step of a pipeline."""
    if isinstance(model, Pipeline):
        steps = "".join(f"    ({name!r}, {_on_one_line(step)}),\n" for name, step in model.steps)
        return f"Pipeline([\n{steps}])"
    return _on_one_line(model)


def _on_one_line(estimator: Any) -> str:
    if isinstance(estimator, str) or estimator is None:
        return repr(estimator)
    # N_CHAR_MAX: scikit-learn would cut a long repr in the middle
    text = estimator.__repr__(N_CHAR_MAX=10**6) if isinstance(estimator, BaseEstimator) else repr(estimator)
    return re.sub(r"\s*\n\s*", " ", text).replace("( ", "(")


def _imports(model: Any) -> list[str]:
    """One line for every class that the written model names."""
    found: set[tuple[str, str]] = set()
    values = [model, *model.get_params(deep=True).values()]
    for value in values:
        if isinstance(value, BaseEstimator):
            found.add((_public_module(type(value)), type(value).__name__))
        if isinstance(value, Kernel):
            found |= {("maxmargin.kernels", name) for name in set(re.findall(r"\b([A-Z]\w+)\(", repr(value)))}
    return [f"from {module} import {name}" for module, name in sorted(found)]


def _public_module(kind: type) -> str:
    """The module a user imports from: the shortest public path that offers the class."""
    parts = [part for part in kind.__module__.split(".") if not part.startswith("_")]
    paths = [".".join(parts[:k]) for k in range(2, len(parts) + 1)]
    return next((path for path in paths if hasattr(import_module(path), kind.__name__)), paths[-1])
