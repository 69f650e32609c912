"""Support vector machines on the dual engine."""

from maxmargin.svm.certify import certify
from maxmargin.svm.hard_margin import NotSeparableError
from maxmargin.svm.nu_svc import NuSVC
from maxmargin.svm.outliers import SVDD, OneClassSVM
from maxmargin.svm.regression import SVR, NuSVR
from maxmargin.svm.svc import SVC, HardMarginSVC

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
