"""A fit that fails or is interrupted leaves the estimator as it was."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Concatenate, ParamSpec, TypeVar

Estimator = TypeVar("Estimator")
Options = ParamSpec("Options")
Fitted = TypeVar("Fitted")


def all_or_nothing(
    fit: Callable[Concatenate[Estimator, Options], Fitted],
) -> Callable[Concatenate[Estimator, Options], Fitted]:
    """A ``fit`` after which the attributes are those of the new fit or, where it raises, those of before."""

    @wraps(fit)
    def whole(self: Estimator, /, *args: Options.args, **options: Options.kwargs) -> Fitted:
        before = dict(self.__dict__)
        try:
            return fit(self, *args, **options)
        except BaseException:
            self.__dict__.clear()
            self.__dict__.update(before)
            raise

    return whole
