"""Model files: `save` and `load` without pickle, and models in LIBSVM's format."""

from maxmargin.io.container import ModelFileError, NotStorableError, printable
from maxmargin.io.files import about, load, save
from maxmargin.io.libsvm import read_libsvm, write_libsvm

__all__ = [
    "save",
    "load",
    "about",
    "printable",
    "ModelFileError",
    "NotStorableError",
    "read_libsvm",
    "write_libsvm",
]
