"""Model files: `save` and `load` without pickle, and models in LIBSVM's format."""

from maxmargin.io.files import ModelFileError, about, load, save
from maxmargin.io.libsvm import read_libsvm, write_libsvm

__all__ = ["save", "load", "about", "ModelFileError", "read_libsvm", "write_libsvm"]
