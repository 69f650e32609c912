"""Models in LIBSVM's text format, which svm-predict, R's e1071 and many devices read."""

from __future__ import annotations

import os
import warnings
from dataclasses import dataclass
from itertools import combinations, pairwise
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

from maxmargin.base.typing import AnyArray, FloatArray
from maxmargin.io.files import ModelFileError, write_whole
from maxmargin.kernels import RBF, Kernel, Linear, Polynomial, Precomputed, Scaled, Sigmoid
from maxmargin.kernels.points import IndexedPoints
from maxmargin.machines.svm import SVC, SVR, HardMarginSVC, NuSVC, NuSVR, OneClassSVM
from maxmargin.machines.svm.svm_classifier import compact_pairs

_TYPES = {
    "c_svc": SVC,
    "nu_svc": NuSVC,
    "one_class": OneClassSVM,
    "epsilon_svr": SVR,
    "nu_svr": NuSVR,
}
_KERNELS = ("linear", "polynomial", "rbf", "sigmoid", "precomputed")
_DENSE_SHARE = 0.25  # support vectors with more entries than this are kept as an array
_LARGEST_INDEX = 1 << 24


# -- writing -------------------------------------------------------------------------------------------------


def write_libsvm(model: Any, path: str | os.PathLike[str], *, labels: Any = None) -> Path:
    """Write a fitted machine as a LIBSVM model file.

    For `SVC`, `NuSVC`, `OneClassSVM`, `SVR` and `NuSVR` with the kernels linear, polynomial, RBF, sigmoid
    (also times a number) and precomputed. Anything that LIBSVM cannot compute is refused with the reason:
    kernels on chosen columns, one-versus-rest with several classes, a pipeline. Probabilities are not
    written.

    Parameters
    ----------
    model : fitted machine. Of a pipeline write the last step, and scale the rows yourself.
    path : file to write.
    labels : whole numbers for the classes in the order of ``model.classes_``; by default the classes.

    Examples
    --------
    >>> import tempfile, os
    >>> import maxmargin as mm
    >>> model = mm.SVC(kernel="linear").fit([[0.0], [1.0], [2.0], [3.0]], [1, 1, 2, 2])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = mm.io.write_libsvm(model, os.path.join(folder, "model"))
    ...     again = mm.io.read_libsvm(path)
    >>> bool(abs(again.decision_function([[1.7]]) - model.decision_function([[1.7]]))[0] < 1e-12)
    True
    """
    name = _type_name(model)
    factor, header = _kernel_lines(model.kernel_)
    lines = [f"svm_type {name}", *header]
    classifier = name in ("c_svc", "nu_svc")
    n_classes = len(model.classes_) if classifier else 2
    # LIBSVM's machine of a pair is positive on the first class; ours of two classes on the second
    sign = -1.0 if classifier and n_classes == 2 else 1.0
    coefficients = sign * factor * np.atleast_2d(model.dual_coef_)
    lines += [f"nr_class {n_classes}", f"total_sv {coefficients.shape[1]}"]
    lines.append("rho " + " ".join(_digits(-sign * value) for value in model.intercept_))
    if classifier:
        lines.append("label " + " ".join(str(label) for label in _labels(model, labels)))
        lines.append("nr_sv " + " ".join(str(n) for n in model.n_support_))
    elif labels is not None:
        raise ValueError(f"labels= belongs to classifiers, and {type(model).__name__} is none.")
    lines.append("SV")
    rows = _rows(model)
    for k in range(coefficients.shape[1]):
        lines.append(" ".join([*(_digits(c) for c in coefficients[:, k]), *rows(k)]) + " ")
    return write_whole(Path(path), ("\n".join(lines) + "\n").encode())


def _type_name(model: Any) -> str:
    kind = SVC if type(model) is HardMarginSVC else type(model)
    name = next((name for name, known in _TYPES.items() if known is kind), None)
    if name is None:
        remedy = " Write its last step, and scale the rows yourself." if hasattr(model, "steps") else ""
        names = ", ".join(known.__name__ for known in _TYPES.values())
        raise ValueError(f"LIBSVM has no {type(model).__name__}: it has {names}.{remedy}")
    if name in ("c_svc", "nu_svc") and len(model.classes_) > 2 and model.multiclass != "ovo":
        raise ValueError("LIBSVM votes over pairs of classes: fit with multiclass='ovo'.")
    if getattr(model, "break_ties", False):
        raise ValueError("LIBSVM gives ties to the first class: fit with break_ties=False.")
    return name


def _kernel_lines(kernel: Kernel) -> tuple[float, list[str]]:
    """A factor on all coefficients, and the lines of the header that describe the kernel."""
    if isinstance(kernel, Scaled):
        factor, lines = _kernel_lines(kernel.kernel)
        return factor * float(kernel.scale), lines
    if getattr(kernel, "features", None) is not None:
        raise ValueError(f"LIBSVM's kernels use all columns, and this one chooses some: {kernel!r}.")
    match kernel:
        case Linear():
            return 1.0, ["kernel_type linear"]
        case Precomputed():
            return 1.0, ["kernel_type precomputed"]
        case Polynomial():
            lines = [
                "kernel_type polynomial",
                f"degree {kernel.degree}",
                f"gamma {_digits(kernel.number_gamma())}",
            ]
            return 1.0, [*lines, f"coef0 {_digits(kernel.coef0)}"]
        case Sigmoid():
            lines = ["kernel_type sigmoid", f"gamma {_digits(kernel.number_gamma())}"]
            return 1.0, [*lines, f"coef0 {_digits(kernel.coef0)}"]
        case RBF():
            return float(kernel.variance), ["kernel_type rbf", f"gamma {_digits(kernel.number_gamma())}"]
    raise ValueError(f"LIBSVM has no kernel {kernel!r}: it has {', '.join(_KERNELS)}. Use mm.save instead.")


def _labels(model: Any, labels: Any) -> list[int]:
    given = model.classes_ if labels is None else labels
    if len(given) != len(model.classes_):
        raise ValueError(f"labels has {len(given)} entries for {len(model.classes_)} classes.")
    try:
        numbers = [int(label) for label in given]
        exact = all(number == float(label) for number, label in zip(numbers, given, strict=True))
    except (TypeError, ValueError):
        exact = False
    if not exact or len(set(numbers)) < len(numbers):
        raise ValueError(
            f"LIBSVM's labels are different whole numbers, and these are {[str(c) for c in given]}: "
            f"give labels={list(range(len(given)))}, in the order of model.classes_."
        )
    return numbers


def _rows(model: Any) -> Any:
    """A function from the number of a support vector to its entries ``column:value``."""
    if isinstance(model.kernel_, Precomputed):
        return lambda k: [f"0:{int(model.support_[k]) + 1}"]
    vectors = model.support_vectors_
    if sp.issparse(vectors):
        vectors = vectors.tocsr()
        starts = vectors.indptr

        def entries(k: int) -> list[str]:
            part = slice(starts[k], starts[k + 1])
            pairs = sorted(zip(vectors.indices[part].tolist(), vectors.data[part].tolist(), strict=True))
            return [f"{j + 1}:{_digits(v)}" for j, v in pairs]

        return entries
    dense: AnyArray = np.asarray(vectors, dtype=np.float64)
    return lambda k: [f"{j + 1}:{_digits(dense[k, j])}" for j in np.flatnonzero(dense[k])]


def _digits(value: Any) -> str:
    """The shortest text that reads back as the same number."""
    return repr(float(value))


# -- reading -------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Header:
    """The lines of a model file before its support vectors."""

    values: dict[str, list[str]]
    path: Path

    def words(self, name: str, length: int | None = None) -> list[str]:
        found = self.values.get(name)
        if found is None or (length is not None and len(found) != length):
            wanted = "values" if length is None else f"{length} values"
            raise ModelFileError(f"{self.path}: the line {name!r} is missing or has not {wanted}.")
        return found

    def numbers(self, name: str, length: int | None = None) -> FloatArray:
        words = self.words(name, length)
        try:
            values: FloatArray = np.array([float(word) for word in words])
        except ValueError as wrong:
            raise ModelFileError(f"{self.path}: the line {name!r} holds no numbers.") from wrong
        if not np.isfinite(values).all():
            raise ModelFileError(f"{self.path}: the line {name!r} holds NaN or infinity.")
        return values

    def number(self, name: str, default: float | None = None) -> float:
        if name not in self.values and default is not None:
            return default
        return float(self.numbers(name, 1)[0])

    def count(self, name: str) -> int:
        value = self.number(name)
        if value != int(value) or value < 0:
            raise ModelFileError(f"{self.path}: {name} {value:g} is no whole number.")
        return int(value)


def read_libsvm(path: str | os.PathLike[str], *, n_features: int | None = None) -> Any:
    """A machine from a LIBSVM model file, ready to predict.

    It gives what svm-predict gives. The file does not hold the training rows, so there is no certificate_,
    and no alpha_ or slack_. Probabilities in the file are not read; a warning says so.

    Parameters
    ----------
    path : model file written by LIBSVM, `write_libsvm` or another program.
    n_features : number of columns (of training rows, for a precomputed kernel); the largest index in the file
        by default, as the format does not say it.
    """
    path = Path(path)
    header, body = _split(path)
    name = header.words("svm_type", 1)[0]
    if name not in _TYPES:
        raise ModelFileError(f"{path}: svm_type {name!r} is unknown: LIBSVM has {', '.join(_TYPES)}.")
    if "probA" in header.values:
        warnings.warn(f"{path} holds probability estimates, which are not read.", stacklevel=2)
    classifier = name in ("c_svc", "nu_svc")
    n_classes = header.count("nr_class") if classifier else 2
    if n_classes < 2:
        raise ModelFileError(f"{path}: nr_class must be 2 or more.")
    n_rows = n_classes - 1 if classifier else 1
    coefficients, vectors = _support(body, n_rows, path)
    if coefficients.shape[1] != header.count("total_sv"):
        raise ModelFileError(
            f"{path}: total_sv says {header.count('total_sv')} support vectors, "
            f"and {coefficients.shape[1]} follow."
        )
    kernel = _kernel(header)
    machine = _TYPES[name](kernel="precomputed" if isinstance(kernel, Precomputed) else kernel)
    _set_rows(machine, kernel, vectors, n_features, path)
    intercepts = -header.numbers("rho", n_classes * (n_classes - 1) // 2 if classifier else 1)
    if classifier:
        _set_classes(machine, header, coefficients, intercepts, n_classes)
    else:
        machine.dual_coef_ = coefficients
        machine.intercept_ = intercepts
        machine.offset_ = -intercepts
        machine.n_support_ = np.array([coefficients.shape[1]], dtype=np.int32)
    return machine


def _split(path: Path) -> tuple[_Header, list[str]]:
    try:
        lines = path.read_bytes().decode("ascii").splitlines()
    except UnicodeDecodeError as wrong:
        raise ModelFileError(f"{path} is not a LIBSVM model: it is not plain text.") from wrong
    if not lines or not lines[0].startswith("svm_type "):
        raise ModelFileError(f"{path} is not a LIBSVM model: its first line is not svm_type ...")
    if "SV" not in [line.strip() for line in lines]:
        raise ModelFileError(f"{path} is truncated: it has no line SV.")
    where = [line.strip() for line in lines].index("SV")
    words = [line.split() for line in lines[:where] if line.strip()]
    return _Header({w[0]: w[1:] for w in words}, path), [line for line in lines[where + 1 :] if line.strip()]


def _kernel(header: _Header) -> Kernel:
    name = header.words("kernel_type", 1)[0]
    try:
        match name:
            case "linear":
                return Linear()
            case "precomputed":
                return Precomputed()
            case "rbf":
                return RBF(gamma=header.number("gamma"))
            case "polynomial":
                degree, gamma = header.count("degree"), header.number("gamma")
                return Polynomial(gamma=gamma, coef0=header.number("coef0", 0.0), degree=degree)
            case "sigmoid":
                return Sigmoid(gamma=header.number("gamma"), coef0=header.number("coef0", 0.0))
    except ModelFileError:
        raise
    except ValueError as wrong:
        raise ModelFileError(f"{header.path}: {wrong}") from wrong
    raise ModelFileError(f"{header.path}: kernel_type {name!r} is unknown: LIBSVM has {', '.join(_KERNELS)}.")


def _support(body: list[str], n_rows: int, path: Path) -> tuple[FloatArray, Any]:
    """Coefficients of shape (n_rows, n_SV) and support vectors as CSR; column 0 is LIBSVM's index 0."""
    coefficients = np.empty((n_rows, len(body)))
    data: list[float] = []
    indices: list[int] = []
    starts = [0]
    for k, line in enumerate(body):
        words = line.split()
        try:
            coefficients[:, k] = [float(word) for word in words[:n_rows]]
            pairs = [word.split(":") for word in words[n_rows:]]
            found = [int(j) for j, _ in pairs]
            data += [float(v) for _, v in pairs]
        except ValueError as wrong:
            raise ModelFileError(f"{path}: support vector {k + 1} cannot be read: {line[:60]!r}.") from wrong
        if any(b <= a for a, b in pairwise(found)) or any(j < 0 for j in found):
            raise ModelFileError(f"{path}: the columns of support vector {k + 1} are not in ascending order.")
        if found and found[-1] > _LARGEST_INDEX:
            raise ModelFileError(f"{path}: support vector {k + 1} has column {found[-1]}, which is too many.")
        indices += found
        starts.append(len(indices))
    values: FloatArray = np.array(data)
    if not (np.isfinite(values).all() and np.isfinite(coefficients).all()) or not body:
        raise ModelFileError(f"{path}: there are no support vectors, or some hold NaN or infinity.")
    shape = (len(body), max(indices, default=0) + 1)
    return coefficients, sp.csr_array((values, np.array(indices, dtype=np.int32), starts), shape=shape)


def _set_rows(machine: Any, kernel: Kernel, vectors: Any, n_features: int | None, path: Path) -> None:
    machine.kernel_ = kernel
    if isinstance(kernel, Precomputed):
        serial = vectors[:, [0]].toarray().ravel()
        if (serial != np.rint(serial)).any() or (serial < 1).any() or serial.max() > _LARGEST_INDEX:
            raise ModelFileError(f"{path}: a precomputed kernel needs 0:row, with a row of 1 or more.")
        index = serial.astype(np.int64) - 1
        machine.n_features_in_ = _checked_width(n_features, int(index.max()) + 1)
        machine.support_ = index.astype(np.int32)
        machine.support_vectors_ = np.empty((0, 0))
        machine.support_points_ = IndexedPoints(np.zeros((len(index), 1)), index)
        return
    width = vectors.shape[1] - 1
    machine.n_features_in_ = _checked_width(n_features, width)
    columns = sp.csr_array(vectors[:, 1:])
    columns.resize(vectors.shape[0], max(machine.n_features_in_, 1))
    dense = columns.nnz > _DENSE_SHARE * columns.shape[0] * columns.shape[1]
    machine.support_vectors_ = columns.toarray() if dense else columns
    machine.support_ = np.arange(columns.shape[0], dtype=np.int32)
    machine.support_points_ = kernel.prepare(machine.support_vectors_)


def _checked_width(n_features: int | None, least: int) -> int:
    if n_features is None:
        return max(least, 1)
    if n_features < least:
        raise ValueError(f"n_features={n_features} is too small: the file uses column {least}.")
    return n_features


def _set_classes(
    machine: Any, header: _Header, coefficients: FloatArray, intercepts: FloatArray, n_classes: int
) -> None:
    """Classes in ascending order, with the support vectors and the pairs in the order that follows."""
    labels = header.numbers("label", n_classes)
    counts = header.numbers("nr_sv", n_classes).astype(np.int64)
    if (labels != np.rint(labels)).any() or len(np.unique(labels)) < n_classes:
        raise ModelFileError(f"{header.path}: the labels must be different whole numbers.")
    if counts.sum() != coefficients.shape[1] or (counts < 0).any():
        raise ModelFileError(f"{header.path}: nr_sv does not add up to total_sv.")
    order = np.argsort(labels)
    place = np.argsort(order)  # place[k]: where the k-th label of the file is among the sorted ones
    owners = np.repeat(np.arange(n_classes), counts)
    full = np.zeros((len(intercepts), coefficients.shape[1]))
    rho = np.empty(len(intercepts))
    numbers = {pair: k for k, pair in enumerate(combinations(range(n_classes), 2))}
    for (i, j), k in numbers.items():
        a, b = int(place[i]), int(place[j])
        sign = 1.0 if a < b else -1.0
        target = numbers[(min(a, b), max(a, b))]
        full[target, owners == i] = sign * coefficients[j - 1, owners == i]
        full[target, owners == j] = sign * coefficients[i, owners == j]
        rho[target] = sign * intercepts[k]
    by_class = np.concatenate([np.flatnonzero(owners == k) for k in order])
    machine.classes_ = labels[order].astype(np.int64)
    machine.n_support_ = counts[order].astype(np.int32)
    machine.support_points_ = machine.support_points_.take(by_class)
    machine.support_ = machine.support_[by_class]
    if not isinstance(machine.kernel_, Precomputed):
        machine.support_vectors_ = machine.support_vectors_[by_class]
    if n_classes == 2:
        machine.dual_coef_, machine.intercept_ = -full[:, by_class], -rho
        return
    machine.dual_coef_ = compact_pairs(
        full[:, by_class], np.repeat(np.arange(n_classes), counts[order]), n_classes
    )
    machine.intercept_ = rho
