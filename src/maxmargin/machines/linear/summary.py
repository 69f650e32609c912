"""The table of a logistic regression: estimates and their uncertainty."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd
from scipy import linalg
from scipy.stats import norm

from maxmargin.base.typing import BoolArray, FloatArray


@dataclass(frozen=True, kw_only=True)
class LogisticSummary:
    """What `LogisticRegression.summary` returns; ``print`` shows it.

    Attributes
    ----------
    table : DataFrame with the columns coef, std_err, z, p_value, low, high, odds_ratio, odds_low, odds_high,
        indexed by variable (by class and variable with several classes).
    odds : which class the coefficients speak for, and against which one.
    level : confidence level of the intervals.
    log_likelihood, null_log_likelihood : of the model, and of the model with an intercept only.
    deviance, null_deviance : minus twice those.
    aic, bic : deviance + 2 rank, deviance + rank log(n).
    n_observations : sum of the weights.
    rank : number of estimable coefficients.
    notes : what a reader must know (separation, aliased columns, lack of convergence).
    """

    table: pd.DataFrame
    odds: str
    level: float
    log_likelihood: float
    null_log_likelihood: float
    n_observations: float
    rank: int
    notes: tuple[str, ...] = ()

    @property
    def deviance(self) -> float:
        return -2.0 * self.log_likelihood

    @property
    def null_deviance(self) -> float:
        return -2.0 * self.null_log_likelihood

    @property
    def aic(self) -> float:
        return self.deviance + 2.0 * self.rank

    @property
    def bic(self) -> float:
        return self.deviance + self.rank * float(np.log(self.n_observations))

    @property
    def pseudo_r2(self) -> float:
        """McFadden's 1 - log-likelihood / null log-likelihood."""
        return 1.0 - self.log_likelihood / self.null_log_likelihood

    def __str__(self) -> str:
        lines = [
            f"Logistic regression, {self.n_observations:g} observations, {self.rank} coefficients",
            f"log odds of {self.odds}",
            f"log-likelihood {self.log_likelihood:.6g} (null {self.null_log_likelihood:.6g}), "
            f"deviance {self.deviance:.6g}, AIC {self.aic:.6g}, pseudo R2 {self.pseudo_r2:.4g}",
            self.table.to_string(float_format=lambda value: f"{value:.4g}"),
            f"intervals at level {self.level:g}",
        ]
        return "\n".join([*lines, *(f"note: {note}" for note in self.notes)])


def covariance(H: FloatArray) -> tuple[FloatArray, BoolArray, int]:
    """The inverse of the information matrix, which coefficients are estimable, and the rank.

    H is scaled to a diagonal of one first, so that the units of the columns do not count. A coefficient that
    takes part in a direction along which the likelihood is flat (aliased columns) has no standard error: its
    row of the covariance is NaN.
    """
    scale = np.sqrt(np.maximum(np.diag(H), 1e-300))
    values, vectors = linalg.eigh(H / scale / scale[:, None])
    flat = values <= 1e-12 * values[-1] * len(values)
    inside = vectors[:, ~flat]
    inverse = (inside / values[~flat]) @ inside.T / scale / scale[:, None]
    estimable = np.all(np.abs(vectors[:, flat]) < 1e-6, axis=1)
    inverse[~estimable] = np.nan
    inverse[:, ~estimable] = np.nan
    return inverse, estimable, int(np.count_nonzero(~flat))


def coefficient_table(
    coefficients: FloatArray, variances: FloatArray, index: pd.Index, level: float
) -> pd.DataFrame:
    """Wald statistics and intervals of coefficients of shape (n_coefficients,)."""
    error = np.sqrt(variances)
    z = np.divide(coefficients, error, out=np.full_like(coefficients, np.nan), where=error > 0)
    half = norm.ppf(0.5 + 0.5 * level) * error
    low, high = coefficients - half, coefficients + half
    with np.errstate(over="ignore"):
        columns = {
            "coef": coefficients,
            "std_err": error,
            "z": z,
            "p_value": 2.0 * norm.sf(np.abs(z)),
            "low": low,
            "high": high,
            "odds_ratio": np.exp(coefficients),
            "odds_low": np.exp(low),
            "odds_high": np.exp(high),
        }
    return pd.DataFrame(columns, index=index)
