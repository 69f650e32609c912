"""Support vector machines on the dual engine."""

from maxmargin.svm.certify import certify
from maxmargin.svm.classification import SVC, HardMarginSVC, NuSVC
from maxmargin.svm.hard_margin import NotSeparableError
from maxmargin.svm.outliers import SVDD, OneClassSVM
from maxmargin.svm.regression import SVR, NuSVR

__all__ = [
    "SVC",
    "NuSVC",
    "HardMarginSVC",
    "SVR",
    "NuSVR",
    "OneClassSVM",
    "SVDD",
    "NotSeparableError",
    "certify",
]
