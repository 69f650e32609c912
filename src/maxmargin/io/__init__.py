"""Model files: `save` and `load` without pickle, models in LIBSVM's format and as scikit-learn's."""

from maxmargin.io.container import ModelFileError, NotStorableError, printable
from maxmargin.io.files import about, load, save
from maxmargin.io.libsvm import read_libsvm, write_libsvm
from maxmargin.io.scikit_models import to_sklearn

__all__ = [
    "save",
    "load",
    "about",
    "printable",
    "ModelFileError",
    "NotStorableError",
    "read_libsvm",
    "to_sklearn",
    "write_libsvm",
]
