"""Support vector machines on the dual engine."""

from maxmargin.machines.svm.certify import certify
from maxmargin.machines.svm.hard_margin import NotSeparableError
from maxmargin.machines.svm.outliers import SVDD, OneClassSVM
from maxmargin.machines.svm.slack_budget import slack_budget
from maxmargin.machines.svm.svc import SVC, HardMarginSVC, NuSVC
from maxmargin.machines.svm.svr import SVR, NuSVR

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
    "slack_budget",
]
