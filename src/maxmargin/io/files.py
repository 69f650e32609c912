"""`save` and `load`: a model file is checked before it is opened, and opening it runs no code.

The file is one line (format, length and SHA-256 of the rest) and a zip archive with ``about.json`` (what the
model is, readable by anything) and ``model.skops`` (the model).
"""

from __future__ import annotations

import hashlib
import json
import os
import platform
import tempfile
import warnings
import zipfile
import zlib
from collections.abc import Mapping
from datetime import UTC, datetime
from importlib import import_module
from importlib.metadata import version
from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np

import maxmargin
from maxmargin.io.packing import NotStorableError, pack, unpack
from maxmargin.io.trust import is_model_part, strangers

_MAGIC = b"maxmargin-model"
_FORMAT = 1
_HEADER = 200  # bytes in which the first line must end
_LARGEST_RATIO = 64  # a member that grows more than this is stored as it is, and refused when it is not
_ALWAYS_FINE = 1 << 24
_LIBRARIES = ("numpy", "scipy", "scikit-learn", "pandas", "skops")


class ModelFileError(ValueError):
    """A file is no model file, was damaged or changed, or names classes that are not trusted."""


def save(model: Any, path: str | os.PathLike[str], *, notes: Mapping[str, Any] | None = None) -> Path:
    """Write a fitted model to a file that `load` opens without running code.

    Every estimator of maxmargin, scikit-learn's, and pipelines of both, with their kernels and certificates.
    A model that holds a Python function (as kernel, scorer or token splitter) or an object of another library
    is refused with the place where it is. The file appears whole or not at all.

    Parameters
    ----------
    model : fitted estimator, pipeline or result of `tune`.
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
    skops = _skops()
    payload = skops.dumps(_packed(model))
    foreign = strangers(skops.get_untrusted_types(data=payload))
    if foreign:
        raise NotStorableError(
            f"the model holds {', '.join(foreign)}: a model file only holds classes of maxmargin and "
            "scikit-learn. Leave that step out and apply it to the table before."
        )
    body = _archive({"about.json": _json(_describe(model, notes)), "model.skops": payload})
    digest = hashlib.sha256(body).hexdigest().encode()
    header = b" ".join([_MAGIC, str(_FORMAT).encode(), str(len(body)).encode(), digest]) + b"\n"
    return write_whole(Path(path), header + body)


def load(path: str | os.PathLike[str]) -> Any:
    """The model in a file written by `save`. No code of the file runs; see `ModelFileError` for refusals."""
    skops = _skops()
    members = _members(Path(path))
    said = _about(path, members)
    try:
        payload = members["model.skops"]
        named = skops.get_untrusted_types(data=payload)
        foreign = strangers(named)
        if foreign:
            raise ModelFileError(
                f"{path} names {', '.join(foreign[:3])}, which is not one of the classes that models of "
                "maxmargin are made of: it was not opened."
            )
        model = unpack(skops.loads(payload, trusted=named), is_model_part)
    except ModelFileError:
        raise
    except Exception as broken:  # a file may be wrong in any way: the user gets one sentence
        raise ModelFileError(f"{path} cannot be read as a model: {_first_line(broken)}") from broken
    _warn_about_versions(path, said)
    return model


def about(path: str | os.PathLike[str]) -> dict[str, Any]:
    """What a model file says about its model: versions, names of columns, classes, certificate, notes.

    The file is checked as in `load`, but the model is not made.
    """
    return _about(path, _members(Path(path)))


# -- writing -------------------------------------------------------------------------------------------------


def _skops() -> Any:
    try:
        return import_module("skops.io")
    except ImportError as missing:
        raise ImportError("model files need skops: pip install 'maxmargin[files]'.") from missing


def _packed(model: Any) -> Any:
    if isinstance(model, type):
        raise NotStorableError(
            f"{model.__name__} is a class: save a fitted model, {model.__name__}().fit(...)."
        )
    return pack(model)


def _describe(model: Any, notes: Mapping[str, Any] | None) -> dict[str, Any]:
    inner = getattr(model, "best_estimator_", None) or getattr(model, "best_estimator", None) or model
    parts = [inner, *(step for _, step in getattr(inner, "steps", []))]
    names = _first(parts, "feature_names_in_")
    n_features = _first(parts, "n_features_in_")
    classes = _first([inner], "classes_")
    certificate = _first(parts[::-1], "certificate_")
    return {
        "format": _FORMAT,
        "model": [type(part).__name__ for part in parts[1:]] or [type(model).__name__],
        "parameters": repr(inner),
        "feature_names": None if names is None else [str(name) for name in names],
        "n_features": None if n_features is None else int(n_features),
        "classes": None if classes is None else np.asarray(classes).tolist(),
        "certificate": None if certificate is None else dict(vars(certificate)),
        "saved": datetime.now(UTC).isoformat(timespec="seconds"),
        "versions": {
            "python": platform.python_version(),
            "maxmargin": maxmargin.__version__,
            **{name: version(name) for name in _LIBRARIES},
        },
        "notes": dict(notes or {}),
    }


def _first(parts: list[Any], name: str) -> Any:
    """The attribute of the first part that has it."""
    return next((value for part in parts if (value := getattr(part, name, None)) is not None), None)


def _json(value: dict[str, Any]) -> bytes:
    return json.dumps(value, indent=1, default=_plain).encode()


def _plain(value: Any) -> Any:
    return value.tolist() if isinstance(value, (np.ndarray, np.generic)) else str(value)


def _archive(members: dict[str, bytes]) -> bytes:
    buffer = BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        for name, content in members.items():
            info = zipfile.ZipInfo(name, date_time=(1980, 1, 1, 0, 0, 0))
            archive.writestr(info, content, zipfile.ZIP_STORED if _grows(content) else zipfile.ZIP_DEFLATED)
    return buffer.getvalue()


def _grows(content: bytes) -> bool:
    """True for content that would shrink so much that `load` would not unpack it."""
    return len(content) > _ALWAYS_FINE and len(content) > _LARGEST_RATIO * len(zlib.compress(content))


def write_whole(path: Path, content: bytes) -> Path:
    """Write beside the place and rename: an interrupted save leaves the old file, or none."""
    if not path.parent.is_dir():
        raise FileNotFoundError(
            f"the folder {path.parent} does not exist: make it before saving {path.name}."
        )
    handle, temporary = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(content)
        umask = os.umask(0)
        os.umask(umask)
        os.chmod(temporary, 0o666 & ~umask)
        os.replace(temporary, path)
    except BaseException:
        Path(temporary).unlink(missing_ok=True)
        raise
    return path


# -- reading -------------------------------------------------------------------------------------------------


def _members(path: Path) -> dict[str, bytes]:
    """The parts of the file, after its length and checksum were found right."""
    content = path.read_bytes()
    line, newline, body = content[:_HEADER].partition(b"\n")
    words = line.split(b" ")
    if not newline or words[0] != _MAGIC or len(words) != 4:
        raise ModelFileError(f"{path} is not a model file of maxmargin ({_looks_like(content)}).")
    if words[1] != str(_FORMAT).encode():
        raise ModelFileError(
            f"{path} has format {words[1].decode(errors='replace')}, and this version of maxmargin reads "
            f"format {_FORMAT}: install a newer maxmargin."
        )
    body = content[len(line) + 1 :]
    if words[2] != str(len(body)).encode():
        raise ModelFileError(
            f"{path} is truncated or was added to: it has {len(body)} bytes after its first line, and "
            f"{words[2].decode(errors='replace')} were written. Copy or save it again."
        )
    if hashlib.sha256(body).hexdigest().encode() != words[3]:
        raise ModelFileError(
            f"{path} was changed after it was saved, its checksum does not match: copy or save it again."
        )
    try:
        return _extract(body)
    except Exception as broken:  # zipfile and zlib have many errors of their own
        raise ModelFileError(f"{path} cannot be read as a model: {_first_line(broken)}") from broken


def _extract(body: bytes) -> dict[str, bytes]:
    members = {}
    with zipfile.ZipFile(BytesIO(body)) as archive:
        for name in ("about.json", "model.skops"):
            info = archive.getinfo(name)
            if info.file_size > max(_ALWAYS_FINE, _LARGEST_RATIO * info.compress_size):
                raise ValueError(f"{name} would grow to {info.file_size} bytes.")
            members[name] = archive.read(name)
    return members


def _about(path: Any, members: dict[str, bytes]) -> dict[str, Any]:
    try:
        said = json.loads(members["about.json"])
        if not isinstance(said, dict) or not isinstance(said.get("versions"), dict):
            raise ValueError("about.json does not describe a model.")
    except (ValueError, RecursionError) as broken:
        raise ModelFileError(f"{path} cannot be read as a model: {_first_line(broken)}") from broken
    return said


def _looks_like(content: bytes) -> str:
    if not content:
        return "it is empty"
    if content[:2] == b"\x80\x04" or content[:2] == b"\x80\x05":
        return "it looks like a pickle, which is never opened"
    if content[:9] == b"svm_type ":
        return "it is a LIBSVM model: use maxmargin.io.read_libsvm"
    return "its first line is another one"


def _first_line(error: BaseException) -> str:
    text = str(error).strip().splitlines()
    return f"{type(error).__name__}: {text[0][:200]}" if text else type(error).__name__


def _warn_about_versions(path: Any, said: dict[str, Any]) -> None:
    written = said["versions"].get("maxmargin")
    if written != maxmargin.__version__:
        warnings.warn(
            f"{path} was written by maxmargin {written}, this is {maxmargin.__version__}: compare a few "
            "predictions before you rely on it.",
            stacklevel=3,
        )
