"""Linear machines: batch, online and closed form."""

from maxmargin.linear.logistic import LogisticRegression

__all__ = ["LogisticRegression"]
