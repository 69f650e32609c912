"""The summary table of a least squares fit."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd
from scipy.stats import f as f_distribution
from scipy.stats import t as t_distribution

from maxmargin.base.shown import filled, short_repr, shown
from maxmargin.base.typing import FloatArray
from maxmargin.machines.linear.logistic_summary import coefficient_table, covariance


@dataclass(frozen=True, kw_only=True)
class SquaresSummary:
    """Result of `LeastSquares.summary`; ``print`` shows it.

    Attributes
    ----------
    table : DataFrame with the columns coef, std_err, t, p_value, low, high, indexed by variable. A column
        that depends on others has no standard error.
    level : confidence level of the intervals.
    n_observations : sum of the weights.
    rank : number of estimable coefficients, the intercept included.
    residual_sum, total_sum : sums of squares around the fit and around the mean (around 0 without intercept).
    has_intercept : whether b is free.
    """

    table: pd.DataFrame
    level: float
    n_observations: float
    rank: int
    residual_sum: float
    total_sum: float
    has_intercept: bool

    __repr__ = short_repr

    @property
    def freedom(self) -> float:
        """Degrees of freedom of the residuals."""
        return self.n_observations - self.rank

    @property
    def sigma(self) -> float:
        """Standard deviation of the residuals."""
        return float(np.sqrt(self.residual_sum / self.freedom)) if self.freedom > 0 else float("nan")

    @property
    def r2(self) -> float:
        return 1.0 - self.residual_sum / self.total_sum if self.total_sum > 0 else float("nan")

    @property
    def adjusted_r2(self) -> float:
        n = self.n_observations - self.has_intercept
        return 1.0 - (1.0 - self.r2) * n / self.freedom if self.freedom > 0 else float("nan")

    @property
    def f(self) -> float:
        """F statistic of the hypothesis that all coefficients but the intercept are zero."""
        k = self.rank - self.has_intercept
        explained = (self.total_sum - self.residual_sum) / k if k else float("nan")
        return explained / self.sigma**2 if self.sigma > 0 else float("inf")

    @property
    def f_p_value(self) -> float:
        k = self.rank - self.has_intercept
        return float(f_distribution.sf(self.f, k, self.freedom)) if k and self.freedom > 0 else float("nan")

    @property
    def log_likelihood(self) -> float:
        """Of normal errors, at the maximum."""
        n = self.n_observations
        if self.residual_sum <= 0:
            return float("inf")
        return -0.5 * n * float(np.log(2.0 * np.pi * self.residual_sum / n) + 1.0)

    @property
    def aic(self) -> float:
        """Minus twice the log-likelihood, plus twice the number of parameters (sigma included)."""
        return -2.0 * self.log_likelihood + 2.0 * (self.rank + 1)

    def __str__(self) -> str:
        lines = [
            f"Least squares, {self.n_observations:g} observations, {self.rank} coefficients",
            f"R2 {self.r2:.4g} (adjusted {self.adjusted_r2:.4g}), residual deviation {self.sigma:.4g}",
            filled(
                f"F {self.f:.4g} (p = {self.f_p_value:.3g}), log-likelihood {self.log_likelihood:.6g}, "
                f"AIC {self.aic:.6g}"
            ),
            shown(self.table),
            f"intervals at level {self.level:g}",
        ]
        return "\n".join(lines)


@dataclass(frozen=True, kw_only=True)
class SquaresMoments:
    """Moments for a summary: the scatter of the rows around their means, and the sums of squares."""

    scatter: FloatArray
    means: FloatArray
    residual_sum: float
    total_sum: float
    weight: float

    def summary(
        self, coef: FloatArray, intercept: float, names: list[str], level: float, *, has_intercept: bool
    ) -> SquaresSummary:
        """The table for these coefficients; the intercept comes last."""
        inverse, rank = covariance(self.scatter)
        rank += has_intercept
        freedom = self.weight - rank
        variance = self.residual_sum / freedom if freedom > 0 else float("nan")
        variances = np.diag(inverse) * variance
        if has_intercept:
            coef, names = np.append(coef, intercept), [*names, "intercept"]
            of_mean = variance * (1.0 / self.weight + float(self.means @ inverse @ self.means))
            variances = np.append(variances, of_mean)
        index, law = pd.Index(names, name="variable"), t_distribution(freedom)
        return SquaresSummary(
            table=coefficient_table(coef, variances, index, level, "t", law),
            level=level,
            n_observations=self.weight,
            rank=rank,
            residual_sum=self.residual_sum,
            total_sum=self.total_sum,
            has_intercept=has_intercept,
        )
