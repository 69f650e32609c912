"""Models in LIBSVM's text format, which svm-predict, R's e1071 and many devices read."""

from __future__ import annotations

import os
import warnings
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.base import BaseEstimator

from maxmargin.base.typing import AnyArray, FloatArray, IntArray
from maxmargin.base.whole_files import whole_file
from maxmargin.io.container import ModelFileError, check_regular, printable
from maxmargin.kernels import RBF, Kernel, Linear, Polynomial, Precomputed, Scaled, Sigmoid
from maxmargin.kernels.points import IndexedPoints
from maxmargin.machines.svm import SVC, SVR, HardMarginSVC, NuSVC, NuSVR, OneClassSVM

_TYPES = {"c_svc": SVC, "nu_svc": NuSVC, "one_class": OneClassSVM, "epsilon_svr": SVR, "nu_svr": NuSVR}
_KERNELS = ("linear", "polynomial", "rbf", "sigmoid", "precomputed")
_PARTS = (
    "svm_type",
    "kernel_type",
    "degree",
    "gamma",
    "coef0",
    "nr_class",
    "total_sv",
    "rho",
    "label",
    "nr_sv",
)
_PROBABILITIES = ("probA", "probB", "prob_density_marks")
_DENSE_SHARE = 0.25  # support vectors with more entries than this are kept as an array
_LARGEST_INDEX = 1 << 24
_LARGEST_COUNT = (1 << 31) - 1  # LIBSVM's whole numbers have 32 bits


# -- writing -------------------------------------------------------------------------------------------------


def write_libsvm(model: BaseEstimator, path: str | os.PathLike[str], *, labels: Any = None) -> Path:
    """Write a fitted model as a LIBSVM model file.

    For `SVC`, `NuSVC`, `OneClassSVM`, `SVR` and `NuSVR` with the kernels linear, polynomial, RBF, sigmoid
    (also times a number) and precomputed. Anything that LIBSVM cannot compute is refused with the reason:
    kernels on chosen columns, one-versus-rest with several classes, a pipeline. Probabilities are not
    written.

    Parameters
    ----------
    model : fitted model. Of a pipeline write the last step, and scale the rows yourself.
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
    factor, header = libsvm_kernel(model.kernel_)
    lines = [f"svm_type {name}", *header]
    classifier = name in ("c_svc", "nu_svc")
    n_classes = len(model.classes_) if classifier else 2
    # LIBSVM's model of a pair is positive on the first class; ours of two classes on the second
    sign = -1.0 if classifier and n_classes == 2 else 1.0
    coefficients = sign * factor * model.dense_dual_coef
    lines += [f"nr_class {n_classes}", f"total_sv {coefficients.shape[1]}"]
    lines.append("rho " + " ".join(_digits(-sign * value) for value in model.intercept_))
    if classifier:
        lines.append("label " + " ".join(str(label) for label in _labels(model, labels)))
        lines.append("nr_sv " + " ".join(str(n) for n in model.n_support_))
    elif labels is not None:
        raise ValueError(f"labels= is for classifiers, and {type(model).__name__} is not one.")
    lines.append("SV")
    rows = _rows(model)
    for k in range(coefficients.shape[1]):
        lines.append(" ".join([*(_digits(c) for c in coefficients[:, k]), *rows(k)]) + " ")
    with whole_file(path) as file:
        file.write("\n".join(lines) + "\n")
    return Path(path)


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


def libsvm_kernel(kernel: Kernel) -> tuple[float, list[str]]:
    """A factor on all coefficients, and the lines of the header that describe the kernel."""
    if isinstance(kernel, Scaled):
        factor, lines = libsvm_kernel(kernel.kernel)
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
    path: str

    def refuse(self, reason: str) -> ModelFileError:
        return ModelFileError(f"{self.path}: {reason}")

    def words(self, name: str, length: int = 1) -> list[str]:
        found = self.values.get(name, [])
        if len(found) != length:
            raise self.refuse(f"the line {name!r} is missing or does not have {length} values.")
        return found

    def numbers(self, name: str, length: int = 1) -> FloatArray:
        try:
            values: FloatArray = np.array([float(word) for word in self.words(name, length)])
        except ModelFileError:
            raise
        except ValueError as wrong:
            raise self.refuse(f"the line {name!r} does not hold numbers.") from wrong
        if any("_" in word for word in self.values[name]):  # Python reads 1_0 as 10, and LIBSVM as 1
            raise self.refuse(f"the line {name!r} does not hold numbers.")
        if not np.isfinite(values).all():
            raise self.refuse(f"the line {name!r} holds NaN or infinity.")
        return values

    def number(self, name: str, default: float | None = None) -> float:
        missing = name not in self.values and default is not None
        return float(default if missing else self.numbers(name)[0])  # type: ignore[arg-type]  # not None here

    def whole(self, name: str, length: int = 1, *, least: int = 0) -> IntArray:
        values = self.numbers(name, length)
        inside = (values >= least) & (values <= _LARGEST_COUNT)
        if not (inside & (values == np.rint(values))).all():
            shown = " ".join(self.values[name][:5])
            raise self.refuse(
                f"{name} {printable(shown)[:60]} must be whole numbers from {least} to {_LARGEST_COUNT}."
            )
        return values.astype(np.int64)

    def count(self, name: str, *, least: int = 0) -> int:
        return int(self.whole(name, least=least)[0])


def read_libsvm(path: str | os.PathLike[str], *, n_features: int | None = None) -> Any:
    """A model from a LIBSVM model file, ready to predict.

    It predicts what svm-predict predicts. The file does not hold the training rows, so there is no
    certificate_, and no alpha_ or slack_. Probabilities in the file are not read; a warning says so.

    Parameters
    ----------
    path : model file written by LIBSVM, `write_libsvm` or another program.
    n_features : number of columns (of training rows, for a precomputed kernel); the largest index in the file
        by default, as the format does not say it.

    >>> import maxmargin as mm
    >>> from tempfile import TemporaryDirectory
    >>> model = mm.SVC(C=1, gamma=0.5).fit([[0.0], [1.0], [3.0], [4.0]], [0, 0, 1, 1])
    >>> with TemporaryDirectory() as folder:
    ...     again = mm.io.read_libsvm(mm.io.write_libsvm(model, f"{folder}/svm.model"))
    >>> again.predict([[0.5], [3.5]])
    array([0, 1])
    """
    header, body = _split(Path(path))
    name = header.words("svm_type")[0]
    if name not in _TYPES:
        raise header.refuse(f"svm_type {printable(name)!r} is unknown: LIBSVM has {', '.join(_TYPES)}.")
    if "probA" in header.values:
        warnings.warn(f"{path} holds probability estimates, which are not read.", stacklevel=2)
    kernel = _kernel(header)
    classifier = name in ("c_svc", "nu_svc")
    k = header.count("nr_class", least=2) if classifier else 2
    # checked before anything of this size is allocated
    intercepts = -header.numbers("rho", k * (k - 1) // 2 if classifier else 1)
    if header.count("total_sv", least=1) != len(body):
        total = header.count("total_sv")
        raise header.refuse(f"total_sv says {total} support vectors, and {len(body)} follow.")
    classes = _read_classes(header, k) if classifier else None
    coefficients, vectors = _support(body, k - 1 if classifier else 1, header)
    model = _TYPES[name](kernel="precomputed" if isinstance(kernel, Precomputed) else kernel)
    if classes is not None:
        order = np.argsort(classes[0])
        owners = np.repeat(np.arange(k), classes[1])
        rows = np.concatenate([np.flatnonzero(owners == c) for c in order])
        model.classes_, model.n_support_ = classes[0][order], classes[1][order].astype(np.int32)
        coefficients, intercepts = _sorted_pairs(coefficients, intercepts, order, classes[1])
        coefficients, vectors = coefficients[:, rows], vectors[rows]
    else:
        model.n_support_ = np.array([len(body)], dtype=np.int32)
        model.offset_ = -intercepts
    vars(model)["dual_coef_"], model.intercept_ = coefficients, intercepts
    _set_rows(model, kernel, vectors, n_features, header)
    return model


def _split(path: Path) -> tuple[_Header, list[str]]:
    """The header, and the lines of the support vectors."""
    shown = printable(path)
    check_regular(path)
    try:
        text = path.read_bytes().decode("ascii")
    except UnicodeDecodeError as wrong:
        raise ModelFileError(f"{shown} is not a LIBSVM model: it is not plain text.") from wrong
    lines = [line.strip() for line in text.splitlines()]
    if not lines or not lines[0].startswith("svm_type "):
        raise ModelFileError(f"{shown} is not a LIBSVM model: its first line is not svm_type ...")
    if "SV" not in lines:
        raise ModelFileError(f"{shown} is truncated: it has no line SV.")
    if not text.endswith("\n"):
        raise ModelFileError(f"{shown} is truncated: its last line has no end.")
    where = lines.index("SV")
    words = [line.split() for line in lines[:where] if line]
    header = _Header({word[0]: word[1:] for word in words}, shown)
    unknown = [word[0] for word in words if word[0] not in (*_PARTS, *_PROBABILITIES)]
    if unknown or len(header.values) < len(words):
        raise header.refuse(
            f"its header has the line {printable(unknown[0])[:40]!r}." if unknown else "a line occurs twice."
        )
    return header, [line for line in lines[where + 1 :] if line]


def _kernel(header: _Header) -> Kernel:
    name = header.words("kernel_type")[0]
    try:
        match name:
            case "linear":
                return Linear()
            case "precomputed":
                return Precomputed()
            case "rbf":
                return RBF(gamma=header.number("gamma"))
            case "polynomial":
                degree, gamma = header.count("degree", least=1), header.number("gamma")
                return Polynomial(gamma=gamma, coef0=header.number("coef0", 0.0), degree=degree)
            case "sigmoid":
                return Sigmoid(gamma=header.number("gamma"), coef0=header.number("coef0", 0.0))
    except ModelFileError:
        raise
    except ValueError as wrong:
        raise header.refuse(str(wrong)) from wrong
    raise header.refuse(f"kernel_type {printable(name)!r} is unknown: LIBSVM has {', '.join(_KERNELS)}.")


def _read_classes(header: _Header, k: int) -> tuple[IntArray, IntArray]:
    """Labels, and numbers of support vectors, in the order of the file."""
    labels, counts = header.numbers("label", k), header.whole("nr_sv", k)
    if (
        (labels != np.rint(labels)).any()
        or (np.abs(labels) > _LARGEST_COUNT).any()
        or len(np.unique(labels)) < k
    ):
        raise header.refuse("the labels must be different whole numbers.")
    if counts.sum() != header.count("total_sv"):
        raise header.refuse("nr_sv does not add up to total_sv.")
    return labels.astype(np.int64), counts


def _support(body: list[str], n_rows: int, header: _Header) -> tuple[FloatArray, Any]:
    """Coefficients of shape (n_rows, n_SV) and support vectors as CSR; column 0 is LIBSVM's index 0."""
    coefficients: list[list[float]] = []
    data: list[float] = []
    indices: list[int] = []
    starts = [0]
    for k, line in enumerate(body):
        words = line.split()
        try:
            coefficients.append([float(word) for word in words[:n_rows]])
            pairs = [word.split(":") for word in words[n_rows:]]
            found = [int(j) for j, _ in pairs]
            data += [float(v) for _, v in pairs]
        except ValueError as wrong:
            raise header.refuse(
                f"support vector {k + 1} cannot be read: {printable(line[:60])!r}."
            ) from wrong
        if len(coefficients[-1]) < n_rows or "_" in line:
            raise header.refuse(f"support vector {k + 1} cannot be read: {printable(line[:60])!r}.")
        if sorted(set(found)) != found or (found and found[0] < 0):
            raise header.refuse(f"the columns of support vector {k + 1} are not in ascending order.")
        if found and found[-1] > _LARGEST_INDEX:
            raise header.refuse(
                f"support vector {k + 1} has column {str(found[-1])[:20]}, which is too many."
            )
        indices += found
        starts.append(len(indices))
    values, table = np.array(data), np.array(coefficients).T
    if not (np.isfinite(values).all() and np.isfinite(table).all()):
        raise header.refuse("some support vectors hold NaN or infinity.")
    shape = (len(body), max(indices, default=0) + 1)
    return table, sp.csr_array((values, np.array(indices, dtype=np.int32), starts), shape=shape)


def _set_rows(model: Any, kernel: Kernel, vectors: Any, n_features: int | None, header: _Header) -> None:
    model.kernel_ = kernel
    if isinstance(kernel, Precomputed):
        serial = vectors[:, [0]].toarray().ravel()
        if (serial != np.rint(serial)).any() or (serial < 1).any() or serial.max() > _LARGEST_INDEX:
            raise header.refuse("a precomputed kernel needs 0:row, with a row of 1 or more.")
        index = serial.astype(np.int64) - 1
        model.n_features_in_ = _checked_width(n_features, int(index.max()) + 1)
        model.support_ = index.astype(np.int32)
        model.support_vectors_ = np.empty((0, 0))
        # kernel values among training rows are not in the file, and no prediction needs them: one zero
        unknown: FloatArray = np.broadcast_to(0.0, (len(index), model.n_features_in_))
        model.support_points_ = IndexedPoints(unknown, index)
        return
    model.n_features_in_ = _checked_width(n_features, vectors.shape[1] - 1)
    columns = sp.csr_array(vectors[:, 1:])
    columns.resize(vectors.shape[0], model.n_features_in_)
    dense = columns.nnz > _DENSE_SHARE * columns.shape[0] * columns.shape[1]
    model.support_vectors_ = columns.toarray() if dense else columns
    model.support_ = np.arange(columns.shape[0], dtype=np.int32)
    model.support_points_ = kernel.prepare(model.support_vectors_)


def _checked_width(n_features: int | None, least: int) -> int:
    if n_features is None:
        return max(least, 1)
    if n_features < least:
        raise ValueError(f"n_features={n_features} is too small: the file uses column {least}.")
    return n_features


def _sorted_pairs(
    coefficients: FloatArray, intercepts: FloatArray, order: IntArray, counts: IntArray
) -> tuple[FloatArray, FloatArray]:
    """Coefficients and intercepts of the pairs of classes once these are sorted; columns stay where they are.

    Row r of a support vector belongs to the r-th other class. The model of a pair is positive on its first
    class, so it changes its sign where the pair is turned round; with two classes ours is positive on the
    second.
    """
    k = len(order)
    place = np.argsort(order)  # place[c]: where class c of the file is among the sorted ones
    columns = np.repeat(np.arange(k), counts)
    moved = np.empty_like(coefficients)
    for c in range(k):
        others = np.delete(np.arange(k), c)
        rows = place[others] - (place[others] > place[c])
        signs = np.where((place[others] > place[c]) == (others > c), 1.0, -1.0)
        moved[np.ix_(rows, columns == c)] = signs[:, None] * coefficients[:, columns == c]
    first, second = np.triu_indices(k, 1)
    a, b = np.minimum(place[first], place[second]), np.maximum(place[first], place[second])
    rho = np.empty_like(intercepts)
    rho[a * k - a * (a + 1) // 2 + b - a - 1] = np.where(place[first] < place[second], 1.0, -1.0) * intercepts
    return (-moved, -rho) if k == 2 else (moved, rho)
