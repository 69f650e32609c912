"""The container of a model file: one line, a header in JSON, and arrays. Nothing in it is compressed.

    maxmargin-model 2 <number of bytes after this line> <SHA-256 of these bytes>
    <length of the header: 8 bytes, little endian><header><array><array>...

The header lists dtype, shape and order of every array. The arrays follow each other without gaps up to the
end of the file, so none can overlap another, lie outside the file or need more memory than the file is long.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import stat
from collections.abc import Sequence
from math import prod
from typing import IO, Any

import numpy as np

from maxmargin.base.typing import AnyArray

MAGIC = b"maxmargin-model"
FORMAT = 2
DTYPES = re.compile(r"<f[48]|<[iu][248]|\|[iub]1|<U[1-9]\d{0,5}")
MOST_DIMENSIONS = 4
_LONGEST_LINE = 200
# A header is parsed as a whole, and a byte of it can become 30 in memory. Large models have large arrays, so
# each limit grows with their bytes: without arrays the header takes at most 0.2 s and 50 MB.
_LONGEST_HEADER = 6_000_000
_MOST_VALUES = 50_000
_MOST_PARTS = 2_000  # nodes and arrays
LONGEST_NUMBER = 400  # digits: whole numbers take quadratic time to read
_LARGEST_EMPTY = 1 << 20  # a side of an array without elements costs no bytes, but loops may run over it
_CHUNK = 1 << 20


class ModelFileError(ValueError):
    """A file is not a model file, was damaged or changed, or does not hold a model that passes all checks.

    >>> import maxmargin as mm
    >>> from tempfile import NamedTemporaryFile
    >>> with NamedTemporaryFile() as file:
    ...     try:
    ...         mm.load(file.name)
    ...     except ModelFileError:
    ...         print("refused")
    refused
    """


class NotStorableError(TypeError):
    """A model holds something that a model file cannot hold.

    Examples
    --------
    >>> import maxmargin as mm
    >>> kernel = mm.kernels.Function(lambda A, B: A @ B.T)  # a lambda has no name to load it by
    >>> model = mm.SVC(kernel=kernel).fit([[0.0], [1.0]], [0, 1])
    >>> try:
    ...     mm.io.save(model, "model.mm")
    ... except mm.io.NotStorableError:
    ...     print("not saved")
    not saved
    """


def require(holds: Any, reason: str) -> None:
    """Refuse a file with a reason that continues "it cannot be read as a model: ..."."""
    if not holds:
        raise ValueError(reason)


def printable(text: Any) -> str:
    r"""The text with every control, format or other invisible character written as an escape.

    >>> print(printable("a\x1b[2Jb"))
    a\x1b[2Jb
    """
    shown = str(text)
    if shown.isprintable():
        return shown
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in shown)


# -- writing -------------------------------------------------------------------------------------------------


def container_parts(header: dict[str, Any], arrays: Sequence[AnyArray]) -> list[Any]:
    """A header, to which the list of arrays is added, and the arrays, as pieces of bytes."""
    stored = [_described(array) for array in arrays]
    header = {**header, "arrays": [entry for entry, _ in stored]}
    text = json.dumps(header, separators=(",", ":")).encode()
    n_bytes = sum(len(content) for _, content in stored)
    _check_text(text, n_bytes)
    _check_parts(header, n_bytes)
    parts: list[Any] = [len(text).to_bytes(8, "little"), text, *(content for _, content in stored)]
    digest = hashlib.sha256()
    for part in parts:
        digest.update(part)
    line = b"%s %d %d %s\n" % (MAGIC, FORMAT, sum(map(len, parts)), digest.hexdigest().encode())
    return [line, *parts]


def _described(array: AnyArray) -> tuple[list[Any], AnyArray]:
    """The entry of an array in the header, and its bytes."""
    array = array.astype(array.dtype.newbyteorder("<"), copy=False)
    by_columns = array.ndim > 1 and array.flags.f_contiguous and not array.flags.c_contiguous
    entry = [array.dtype.str, list(array.shape), *(["F"] if by_columns else [])]
    content = np.ascontiguousarray(array.T if by_columns else array)
    return entry, content.reshape(-1).view(np.uint8)


# -- reading -------------------------------------------------------------------------------------------------


def read_container(path: str | os.PathLike[str], *, arrays: bool = True) -> tuple[dict[str, Any], list[Any]]:
    """Header and arrays of a file after its length, checksum and sizes were found right."""
    check_regular(path)
    with open(path, "rb") as file:
        line = file.readline(_LONGEST_LINE)
        size = _checked_size(printable(path), file, line)
        file.seek(len(line))
        try:
            header = _read_header(file, size)
            return header, [_read_array(file, *entry) for entry in header["arrays"]] if arrays else []
        except Exception as broken:  # a file may be wrong in any way: the user gets one sentence
            raise unreadable(path, broken) from broken


def check_regular(path: str | os.PathLike[str]) -> None:
    """Refuse paths that are not files: reading a pipe without a writer, or a device, may never end."""
    if not stat.S_ISREG(os.stat(path).st_mode):
        raise ModelFileError(f"{printable(path)} is a folder, pipe or device: give the path of a model file.")


def unreadable(path: Any, error: BaseException) -> ModelFileError:
    """The error for a file that is complete but cannot be used."""
    reason = (str(error).strip().splitlines() or [type(error).__name__])[0]
    return ModelFileError(f"{printable(path)} cannot be read as a model: {printable(reason[:300])}")


def _checked_size(path: str, file: IO[bytes], line: bytes) -> int:
    """The number of bytes after the first line, once it and their checksum agree with the line."""
    words = line.rstrip(b"\n").split(b" ")
    if not line.endswith(b"\n") or words[0] != MAGIC or len(words) != 4:
        raise ModelFileError(f"{path} is not a model file of maxmargin ({_looks_like(line)}).")
    form, length, checksum = (printable(word.decode(errors="replace")) for word in words[1:])
    if form != str(FORMAT):
        remedy = "fit and save the model again" if form == "1" else "install a newer maxmargin"
        raise ModelFileError(f"{path} has format {form}, and this maxmargin reads format {FORMAT}: {remedy}.")
    size = os.fstat(file.fileno()).st_size - len(line)
    if length != str(size):
        raise ModelFileError(
            f"{path} is truncated or has extra bytes: it has {size} bytes after its first line, and {length} "
            "were written. Copy or save it again."
        )
    digest = hashlib.sha256()
    while chunk := file.read(_CHUNK):
        digest.update(chunk)
    if digest.hexdigest() != checksum:
        raise ModelFileError(
            f"{path} was changed after it was saved, its checksum does not match: copy or save it again."
        )
    return size


def _looks_like(line: bytes) -> str:
    if not line:
        return "it is empty"
    if line[:2] in (b"\x80\x04", b"\x80\x05"):
        return "it looks like a pickle, which is never opened"
    if line.startswith(b"svm_type "):
        return "it is a LIBSVM model: use maxmargin.io.read_libsvm"
    return "its first line is a different one"


def _read_header(file: IO[bytes], size: int) -> dict[str, Any]:
    length = int.from_bytes(file.read(8), "little")
    there = size - 8 - length
    require(there >= 0 and length <= _LONGEST_HEADER + there, f"its header would be {length} bytes long.")
    text = file.read(length)
    _check_text(text, there)
    header = json.loads(text, object_pairs_hook=_distinct, parse_int=_whole)
    right = type(header) is dict and set(header) == {"about", "nodes", "arrays"}
    right = right and type(header["nodes"]) is type(header["arrays"]) is list
    require(right, "its header is not that of a model.")
    _check_parts(header, there)
    needed = sum(_size(entry) for entry in header["arrays"])
    require(needed == there, f"its arrays need {needed} bytes, but {there} follow.")
    return header


def _check_text(text: bytes, array_bytes: int) -> None:
    """Refuse a header that would take long to parse."""
    most = _LONGEST_HEADER + array_bytes
    require(len(text) <= most, f"its header takes {len(text)} bytes, and {most} are allowed.")
    require(text.isascii(), "its header is not plain JSON.")
    values, most = sum(map(text.count, (b",", b"[", b"{"))), _MOST_VALUES + array_bytes // 2
    require(values <= most, f"its header has {values} values, and {most} are allowed.")


def _check_parts(header: dict[str, Any], array_bytes: int) -> None:
    """Refuse a model that would take long to make."""
    parts, most = len(header["nodes"]) + len(header["arrays"]), _MOST_PARTS + array_bytes // 4
    require(parts <= most, f"it has {parts} parts, and {most} are allowed.")


def _whole(digits: str) -> int:
    require(len(digits) <= LONGEST_NUMBER, "its header holds a number with too many digits.")
    return int(digits)


def _distinct(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    require(len(found) == len(pairs), "a name occurs twice in its header.")
    return found


def is_shape(shape: Any) -> bool:
    """True for the shape of an array; that of an array without elements must be moderate."""
    right: Any = type(shape) is list and len(shape) <= MOST_DIMENSIONS
    right = right and all(type(side) is int and side >= 0 for side in shape)
    return bool(right) and (0 not in shape or max(shape) <= _LARGEST_EMPTY)


def _size(entry: Any) -> int:
    """Bytes of an array, from its entry in the header."""
    right: Any = type(entry) is list and len(entry) in (2, 3) and entry[2:] in ([], ["F"])
    right = right and type(entry[0]) is str and DTYPES.fullmatch(entry[0]) and is_shape(entry[1])
    require(right, f"{str(entry)[:80]} does not describe an array.")
    return prod(entry[1]) * np.dtype(entry[0]).itemsize


def _read_array(file: IO[bytes], dtype: str, shape: list[int], order: str = "C") -> AnyArray:
    array: AnyArray = np.empty(shape[::-1] if order == "F" else shape, dtype=dtype)
    content: Any = array.reshape(-1).view(np.uint8)
    read = file.readinto(content) if array.size else 0  # type: ignore[attr-defined]  # a file on disk
    require(read == content.nbytes, "it became shorter while it was read.")
    if array.dtype.kind == "b":
        require(content.max(initial=0) <= 1, "an array of True and False holds other values.")
    if array.dtype.kind == "U":
        largest = array.reshape(-1).view(np.uint32).max(initial=0)
        require(largest <= 0x10FFFF, "an array of text holds characters that do not exist.")
    return array.T if order == "F" else array
