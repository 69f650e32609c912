"""Output files that appear complete or not at all."""

from __future__ import annotations

import os
import secrets
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any, Literal

PathLike = str | os.PathLike[str]


@contextmanager
def whole_file(
    path: PathLike, mode: Literal["w", "wb"] = "w", *, overwrite: bool = True
) -> Iterator[IO[Any]]:
    """Open a file for writing that replaces ``path`` only when the block ends without an error.

    The content goes to a hidden file in the same folder, which is renamed at the end. A full disk, Ctrl-C or
    an exception leaves the old file, or none. Text is UTF-8 with line ends as written. A path that is not a
    regular file, such as ``/dev/stdout`` or a pipe, is written directly.

    Parameters
    ----------
    path : file to write. Links are followed; the permissions of an existing file are kept.
    mode : "w" for text, "wb" for bytes.
    overwrite : False raises FileExistsError if ``path`` exists.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     with whole_file(Path(folder) / "a.txt") as file:
    ...         _ = file.write("complete")
    ...     (Path(folder) / "a.txt").read_text()
    'complete'
    """
    target = Path(os.path.realpath(path))
    check_writable(path, overwrite=overwrite)
    text: dict[str, Any] = {"encoding": "utf-8", "newline": ""} if mode == "w" else {}
    if target.exists() and not target.is_file():
        with open(target, mode, **text) as file:
            yield file
        return
    temporary = target.with_name(f".{target.name[:40]}.{secrets.token_hex(4)}.part")
    try:
        handle = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0), 0o666)
        with open(handle, mode, **text) as file:
            yield file
            file.flush()
            os.fsync(file.fileno())  # some file systems report a full disk only now
        if target.exists():
            check_writable(path, overwrite=overwrite)
            shutil.copymode(target, temporary)
        os.replace(temporary, target)
    except BaseException as wrong:
        temporary.unlink(missing_ok=True)
        if isinstance(wrong, OSError) and wrong.errno and wrong.filename in (None, str(temporary)):
            wrong.filename = os.fspath(path)  # a full disk does not say which file it refuses
        raise


def check_writable(path: PathLike, *, overwrite: bool = True) -> None:
    """Raise an error before the work starts if ``path`` cannot be written."""
    file = Path(path)
    if not file.parent.is_dir():
        raise FileNotFoundError(
            f"the folder {file.parent} does not exist: create it before writing {file.name}."
        )
    if file.is_dir():
        raise IsADirectoryError(f"{file} is a folder: give the name of a file.")
    if file.is_file() and not overwrite:
        raise FileExistsError(f"{file} exists and is kept: choose another name, or allow overwriting.")
