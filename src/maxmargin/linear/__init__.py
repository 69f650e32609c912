"""Linear machines: batch, online and closed form."""

from maxmargin.linear.logistic import LogisticRegression
from maxmargin.linear.svc import LinearSVC

__all__ = ["LinearSVC", "LogisticRegression"]
