"""The summary table of a logistic regression."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from scipy import linalg
from scipy.stats import norm

from maxmargin.base.shown import ShownTable, filled, ratio_digits, short_repr, shown
from maxmargin.base.typing import BoolArray, FloatArray
from maxmargin.compute.tables.design import Design

_ODDS = {"odds_ratio": "coef", "odds_low": "low", "odds_high": "high"}
_LARGEST_DENSE = 20_000_000  # entries of a sparse table that is made dense to find its dependent columns


@dataclass(frozen=True, kw_only=True)
class LogisticSummary:
    """Result of `LogisticRegression.summary`; ``print`` shows it.

    Attributes
    ----------
    table : DataFrame with the columns coef, std_err, z, p_value, low, high, odds_ratio, odds_low, odds_high,
        indexed by variable (by class and variable with several classes). A coefficient that grows without
        bound (separation) is infinite, with its sign and without a standard error; a column that depends on
        earlier ones has NaN, as in R.
    odds : the classes whose log odds the coefficients describe.
    level : confidence level of the intervals.
    log_likelihood, null_log_likelihood : of the model, and of the model with an intercept only.
    deviance, null_deviance : minus twice those.
    aic, bic : deviance + 2 rank, deviance + rank log(n).
    n_observations : sum of the weights.
    rank : number of coefficients, without columns that depend on others.
    notes : warnings for the reader (separation, aliased columns, lack of convergence).
    """

    table: pd.DataFrame
    odds: str
    level: float
    log_likelihood: float
    null_log_likelihood: float
    n_observations: float
    rank: int
    notes: tuple[str, ...] = ()

    __repr__ = short_repr

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
            filled(f"log odds of {self.odds}"),
            f"log-likelihood {self.log_likelihood:.6g} (null {self.null_log_likelihood:.6g})",
            f"deviance {self.deviance:.6g}, AIC {self.aic:.6g}, pseudo R2 {self.pseudo_r2:.4g}",
            shown(self.table, formatters=dict.fromkeys(_ODDS, _as_ratio)),
            f"intervals at level {self.level:g}",
        ]
        return "\n".join([*lines, *(filled(f"note: {note}") for note in self.notes)])


def covariance(H: FloatArray) -> tuple[FloatArray, int]:
    """The inverse of the information matrix, and its rank.

    H is first scaled to a unit diagonal, so that the units of the columns do not matter. A coefficient that
    takes part in a direction along which the likelihood is flat has no standard error: its row of the
    covariance is NaN.
    """
    scale = np.sqrt(np.maximum(np.diag(H), 1e-300))
    values, vectors = linalg.eigh(H / scale / scale[:, None])
    flat = values <= 1e-12 * values[-1] * len(values)
    inside = vectors[:, ~flat]
    inverse = (inside / values[~flat]) @ inside.T / scale / scale[:, None]
    involved = np.any(np.abs(vectors[:, flat]) >= 1e-6, axis=1)
    inverse[involved] = inverse[:, involved] = np.nan
    return inverse, int(np.count_nonzero(~flat))


@dataclass(frozen=True)
class DependentColumns:
    """Columns that are combinations of earlier ones (the intercept is the first), as R's ``glm`` drops them.

    ``dropped`` of shape (n_features,) marks them; ``combinations`` of shape (n_kept + 1, n_dropped) expresses
    each by the others, the intercept last.
    """

    dropped: BoolArray
    combinations: FloatArray

    def moved(self, theta: FloatArray) -> FloatArray:
        """The same scores with zeros for the dropped columns; theta of shape (..., n_features + 1)."""
        kept = np.append(~self.dropped, True)
        moved = np.zeros_like(theta)
        moved[..., kept] = theta[..., kept] + theta[..., ~kept] @ self.combinations.T
        return moved


def dependent_columns(H: FloatArray, fit_intercept: bool, X: Design | None) -> DependentColumns | None:
    """The dependent columns of a table, or None. ``X`` holds the rows of positive weight, None for pieces.

    H is an information matrix, the intercept last. If its Cholesky factor is far from singular the answer
    is None, at a cost of p^3/3; otherwise a QR factorisation of [1 X] decides, with the threshold of R's glm,
    1e-11 of the length of a column. Without X the spectrum of H decides, with a threshold of 1e-6.
    """
    scale = np.sqrt(np.maximum(np.diag(H), 1e-300))
    scaled = H / scale / scale[:, None]
    factor, fault = linalg.lapack.dpotrf(scaled, lower=0)
    if fault == 0 and np.min(np.diag(factor)) > 1e-4:
        return None
    p = len(H) - fit_intercept
    if X is not None and (isinstance(X.X, np.ndarray) or X.shape[0] * p <= _LARGEST_DENSE):
        rows = X.dense()
        units = np.append(1.0, np.maximum(np.abs(rows).max(axis=0), 1e-300))
        table = np.hstack([np.full((len(rows), 1), float(fit_intercept)), rows / units[1:]])
        geometry, tol = linalg.qr(table, mode="r")[0][: p + 1], 1e-11
    else:
        values, vectors = linalg.eigh(scaled)
        geometry, tol = np.sqrt(np.maximum(values, 0.0))[:, None] * vectors.T, 1e-6
        if not fit_intercept:
            geometry, scale = np.hstack([geometry, np.zeros((p, 1))]), np.append(scale, 1.0)
        geometry, units = np.roll(geometry, 1, axis=1), np.roll(scale, 1)
    dropped = _depending(geometry, tol)
    dropped[0] = False
    if not dropped.any():
        return None
    made = linalg.lstsq(geometry[:, ~dropped], geometry[:, dropped])[0]
    made *= units[dropped] / units[~dropped][:, None]
    return DependentColumns(dropped[1:], np.roll(made, -1, axis=0))


def _depending(columns: FloatArray, tol: float) -> BoolArray:
    """Which columns are, up to ``tol`` of their length, combinations of earlier ones."""
    n, p = columns.shape
    basis, k = np.zeros((n, min(n, p) + 1)), 0
    depends = np.zeros(p, dtype=bool)
    for j in range(p):
        rest = columns[:, j].copy()
        for _ in range(2):  # a second time, for the digits lost by cancellation
            rest -= basis[:, :k] @ (basis[:, :k].T @ rest)
        length = float(np.linalg.norm(rest))
        depends[j] = length <= tol * float(np.linalg.norm(columns[:, j])) or k >= n
        if not depends[j]:
            basis[:, k] = rest / length
            k += 1
    return depends


def coefficient_table(
    coefficients: FloatArray,
    variances: FloatArray,
    index: pd.Index,
    level: float,
    statistic: str = "z",
    law: Any = norm,
) -> pd.DataFrame:
    """Errors and intervals of coefficients of shape (n_coefficients,), from the ``law`` of their ratio.

    Infinite coefficients have no error.
    """
    error = np.where(np.isfinite(coefficients), np.sqrt(variances), np.nan)
    ratio = np.divide(coefficients, error, out=np.full_like(coefficients, np.nan), where=error > 0)
    half = law.ppf(0.5 + 0.5 * level) * error
    columns = {
        "coef": coefficients,
        "std_err": error,
        statistic: ratio,
        "p_value": 2.0 * law.sf(np.abs(ratio)),
        "low": coefficients - half,
        "high": coefficients + half,
    }
    return ShownTable(columns, index=index)


def with_odds(table: pd.DataFrame) -> pd.DataFrame:
    """The table of a logistic regression with odds ratios and their intervals."""
    with np.errstate(over="ignore"):
        return table.assign(**{odds: np.exp(table[name]) for odds, name in _ODDS.items()})


def _as_ratio(value: float) -> str:
    return f"{value:.{ratio_digits(value)}g}"
