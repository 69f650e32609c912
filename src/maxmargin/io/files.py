"""`save` and `load`: a model file holds numbers, text and names from a fixed table; opening it runs no code.

`container` is the file, `encoding` and `decoding` turn a model into its parts and back, `fields` is the table
of what a part may be, and `consistency` compares the parts with each other.
"""

from __future__ import annotations

import json
import os
import platform
import warnings
from collections.abc import Mapping
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from types import NoneType
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator

import maxmargin
from maxmargin.base.whole_files import whole_file
from maxmargin.io.container import (
    NotStorableError,
    container_parts,
    printable,
    read_container,
    require,
    unreadable,
)
from maxmargin.io.decoding import Decoder
from maxmargin.io.encoding import Encoder
from maxmargin.io.schema import entry_name

_LIBRARIES = ("numpy", "scipy", "scikit-learn", "pandas")
_ABOUT: dict[str, Any] = {
    "model": list,
    "parameters": str,
    "feature_names": list | None,
    "n_features": int | None,
    "classes": list | None,
    "certificate": dict | None,
    "saved": str,
    "versions": dict,
    "notes": dict,
}


def save(
    model: BaseEstimator, path: str | os.PathLike[str], *, notes: Mapping[str, Any] | None = None
) -> Path:
    """Write a model to a file that `load` opens without running code.

    Every estimator of maxmargin, pipelines and searches of them with the usual steps of scikit-learn, and
    results of `tune`, with their kernels and certificates. A model that holds a Python function (as kernel,
    scorer or token splitter) or an object of another library is refused, and the message says where it is.
    The file appears complete or not at all.

    Parameters
    ----------
    model : estimator, pipeline or result of `tune`.
    path : file to write; an existing file is replaced.
    notes : anything JSON can hold, kept in `about`, such as the name of the target.

    Returns
    -------
    path : Path of the file.

    Examples
    --------
    >>> import tempfile, os
    >>> import maxmargin as mm
    >>> model = mm.SVC().fit([[0.0], [1.0], [2.0], [3.0]], ["low", "low", "high", "high"])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = mm.save(model, os.path.join(folder, "model.mm"))
    ...     mm.load(path).predict([[0.4]]).tolist()
    ['low']
    """
    parts = _parts_of(model, notes)
    with whole_file(path, "wb") as file:
        for part in parts:
            file.write(part)
    return Path(path)


def model_bytes(model: BaseEstimator, *, notes: Mapping[str, Any] | None = None) -> bytes:
    """What `save` would write."""
    return b"".join(_parts_of(model, notes))


def _parts_of(model: BaseEstimator, notes: Mapping[str, Any] | None) -> list[Any]:
    if isinstance(model, type):
        raise NotStorableError(
            f"{model.__name__} is a class: save a fitted model, {model.__name__}().fit(...)."
        )
    found = Encoder()
    found.encode(model, type(model).__name__)
    try:
        _check_is_model(Decoder(found.nodes, found.arrays).model())
    except NotStorableError:
        raise
    except Exception as broken:  # `load` must be able to read it, so the same checks decide
        raise NotStorableError(f"the model cannot be saved: {broken}") from broken
    about = json.loads(json.dumps({**_describe(model), **_circumstances(notes)}, default=_plain))
    try:
        return container_parts({"about": about, "nodes": found.nodes}, found.arrays)
    except ValueError as large:
        raise NotStorableError(f"the model cannot be saved: {large} It keeps texts and names.") from large


def load(path: str | os.PathLike[str]) -> Any:
    """The model in a file written by `save`. No code of the file runs; refusals are `ModelFileError`.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> import maxmargin as mm
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = mm.save(mm.SVC(C=10.0).fit([[0.0], [1.0]], [0, 1]), Path(folder) / "model.mm")
    ...     mm.load(path).predict([[0.9]]).tolist()
    [1]
    """
    header, arrays = read_container(path)
    try:
        said = _checked_about(header["about"])
        model = Decoder(header["nodes"], arrays).model()
        _check_is_model(model)
        real = json.loads(json.dumps(_told(model), default=_plain))
        same = all(json.dumps(real[name]) == json.dumps(said[name]) for name in real)
        require(same, "it describes another model than it holds.")
    except Exception as broken:  # a file may be wrong in any way: the user gets one sentence
        raise unreadable(path, broken) from broken
    _warn_about_versions(path, said)
    return model


def about(path: str | os.PathLike[str]) -> dict[str, Any]:
    """What a model file says about its model: versions, names of columns, classes, certificate, notes.

    Length and checksum of the file are checked as in `load`, but the model is not built. Text in the file may
    hold control characters: show it with `printable`.

    >>> import maxmargin as mm
    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     path = mm.save(mm.SVC().fit([[0.0], [1.0]], ["no", "yes"]), f"{folder}/model.mm")
    ...     said = mm.io.about(path)
    >>> said["model"]
    ['SVC']
    """
    header, _ = read_container(path, arrays=False)
    try:
        return _checked_about(header["about"])
    except ValueError as broken:
        raise unreadable(path, broken) from broken


def _check_is_model(model: Any) -> None:
    """Refuse objects that are not models: estimators of maxmargin, or pipelines and searches around one."""
    name = entry_name(type(model))
    if name is not None and (isinstance(model, BaseEstimator) or name == "TuneResult") and _has_ours(model):
        return
    raise ValueError(
        f"a {type(model).__name__} is not a model of maxmargin, nor a pipeline or search of one."
    )


def _has_ours(model: Any) -> bool:
    if type(model).__module__.startswith("maxmargin."):
        return True
    inner = [part for step in getattr(model, "steps", []) for part in step]
    inner += [part for step in getattr(model, "transformers", []) for part in step]
    return any(_has_ours(part) for part in [*inner, getattr(model, "estimator", None)] if part is not model)


# -- what a file says about its model ------------------------------------------------------------------------


def _describe(model: Any) -> dict[str, Any]:
    parts = _inner_parts(model)
    certificate = _first(parts[::-1], "certificate_")
    return {
        **_told(model),
        "parameters": repr(parts[0]),
        "certificate": None if certificate is None else dict(vars(certificate)),
    }


def _told(model: Any) -> dict[str, Any]:
    """What must agree with the model. Its text is not among it: that of nested estimators takes long."""
    parts = _inner_parts(model)
    names = _first(parts, "feature_names_in_")
    n_features = _first(parts, "n_features_in_")
    classes = _first(parts[:1], "classes_")
    return {
        "model": [type(part).__name__ for part in parts[1:]] or [type(model).__name__],
        "feature_names": None if names is None else [str(name) for name in names],
        "n_features": None if n_features is None else int(n_features),
        "classes": None if classes is None else np.asarray(classes).tolist(),
    }


def _inner_parts(model: Any) -> list[Any]:
    """The best model of a search, or the model itself, and its steps."""
    inner = getattr(model, "best_estimator_", None) or getattr(model, "best_estimator", None) or model
    return [inner, *(step for _, step in getattr(inner, "steps", []))]


def _circumstances(notes: Mapping[str, Any] | None) -> dict[str, Any]:
    versions = {"python": platform.python_version(), "maxmargin": maxmargin.__version__}
    versions.update({name: version(name) for name in _LIBRARIES})
    return {
        "saved": datetime.now(UTC).isoformat(timespec="seconds"),
        "versions": versions,
        "notes": dict(notes or {}),
    }


def _first(parts: list[Any], name: str) -> Any:
    """The attribute of the first part that has it."""
    return next((value for part in parts if (value := getattr(part, name, None)) is not None), None)


def _plain(value: Any) -> Any:
    return value.tolist() if isinstance(value, (np.ndarray, np.generic)) else str(value)


def _checked_about(said: Any) -> dict[str, Any]:
    """The description in a header, after a check of the types of its parts."""
    right = type(said) is dict and set(said) == set(_ABOUT)
    right = right and all(isinstance(said[name], kind) for name, kind in _ABOUT.items())
    require(right, "its header does not describe a model.")
    texts = [*said["model"], *(said["feature_names"] or []), *said["versions"].values()]
    numbers = (said["certificate"] or {}).values()
    right = all(isinstance(text, str) for text in texts) and all(
        isinstance(n, (int, float, NoneType)) for n in numbers
    )
    require(right, "its header does not describe a model.")
    return said


def _warn_about_versions(path: Any, said: dict[str, Any]) -> None:
    written = said["versions"].get("maxmargin")
    if written != maxmargin.__version__:
        warnings.warn(
            f"{path} was written by maxmargin {printable(written)}, this is {maxmargin.__version__}: compare "
            "a few predictions before you rely on it.",
            stacklevel=3,
        )
