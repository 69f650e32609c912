"""A scorecard: points per bin that add up to a score."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from math import log
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd
from scipy.special import expit
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.utils.validation import check_is_fitted

from maxmargin.base.interruption import all_or_nothing, of_one_fit
from maxmargin.base.parameters import check_choice, check_flags, check_not_negative, check_positive
from maxmargin.base.plain_state import PlainState
from maxmargin.base.shown import ShownTable
from maxmargin.base.typing import AnyArray, FloatArray, LabelLike, TableLike, TargetLike, WeightLike
from maxmargin.base.user_line import warn_user
from maxmargin.machines.linear import LogisticRegression
from maxmargin.problems import Certificate
from maxmargin.scorecards.binning import Binning, binary_table_tags, fresh_binning
from maxmargin.scorecards.iv import iv_table
from maxmargin.scorecards.woe import WOEEncoder, adopt_names, known_codes

BASE = "(base)"


class ScorecardWarning(UserWarning):
    """A property of a scorecard that needs attention.

    Examples
    --------
    >>> import warnings
    >>> import maxmargin as mm
    >>> with warnings.catch_warnings():
    ...     warnings.simplefilter("ignore", mm.scorecards.ScorecardWarning)  # fit without its remarks
    """


@dataclass(eq=False, repr=False)
class Scorecard(PlainState, ClassifierMixin, BaseEstimator):
    """Binning, weight of evidence and logistic regression, written as points.

        score = base_score + pdo/log(2) (log(odds) - log(base_odds)),   odds = P(non-event)/P(event)

    so odds of ``base_odds`` get ``base_score``, and ``pdo`` more points double the odds. With
    log odds of the event a + sum_j b_j WoE_j, a bin of variable j gets -factor b_j WoE points plus its share
    of (offset - factor a), where factor = pdo/log(2) and offset = base_score - factor log(base_odds).

    Parameters
    ----------
    base_score, base_odds, pdo : the scale, as above. Higher scores mean fewer events.
    binning : settings of the bins; ``Binning()`` by default.
    estimator : classifier with ``coef_`` and ``intercept_``; the unpenalised `LogisticRegression` by default.
    min_iv : variables with a smaller information value are left out, with a warning that names them, and
        listed in ``dropped_``. Below 0.02 a variable is usually called useless; 0 keeps every variable.
    intercept : "spread" divides the constant equally between the variables, "separate" makes it base points.
    round_points : whole points per bin. ``predict_proba`` stays exact; ``points`` then differs from the
        scaled log odds by up to half a point per variable. False keeps the exact points.
    positive : label of the event; by default that of ``binning``, or the second of the sorted labels.
    handle_unknown : "warn", "neutral" or "error" for values whose bin had no rows in fit, see `WOEEncoder`.

    Attributes
    ----------
    points_ : DataFrame by variable and bin: count, event_rate, woe, coefficient, points.
    coef_ : of the log odds of the event on the WoE columns, of shape (n_used,); negative if correct.
    intercept_ : float.
    variables_ : names of the variables used.
    dropped_ : DataFrame of variables left out, with the reason.
    notes_ : the texts of all `ScorecardWarning`.
    binning_, encoder_, estimator_ : the fitted parts.
    certificate_ : certificate of the regression if the estimator has one, else None.
    factor_, offset_, base_points_ : of the scale.

    Notes
    -----
    A positive coefficient reverses the evidence of its variable, usually because another variable has the
    same information. A warning names such variables, and also numbers whose event rates are not monotone over
    the bins (unless the binning has trend "none").

    References
    ----------
    Siddiqi (2006), Credit Risk Scorecards, chapter 6.

    Examples
    --------
    >>> import numpy as np, pandas as pd
    >>> from maxmargin.scorecards import Scorecard
    >>> rng = np.random.default_rng(0)
    >>> X = pd.DataFrame({"age": rng.integers(20, 70, 500), "home": rng.choice(["own", "rent"], 500)})
    >>> y = rng.random(500) < 1 / (1 + np.exp(X["age"] / 10 - 4 - (X["home"] == "rent")))
    >>> card = Scorecard().fit(X, y)
    >>> bool(np.isclose(card.points(X)[0], card.explain(X.iloc[[0]])["points"].sum()))
    True
    """

    base_score: float = 600.0
    base_odds: float = 50.0
    pdo: float = 20.0
    _: KW_ONLY
    binning: Binning | None = None
    estimator: Any = None
    min_iv: float = 0.02
    intercept: str = "spread"
    round_points: bool = True
    positive: LabelLike | None = None
    handle_unknown: str = "warn"

    @all_or_nothing
    def fit(
        self, X: TableLike, y: TargetLike | None = None, sample_weight: WeightLike | None = None
    ) -> Scorecard:
        """Bin, encode, fit the regression, and compute the points."""
        self._check_settings()
        self.encoder_ = WOEEncoder(self._binning(), handle_unknown=self.handle_unknown)
        woe = self.encoder_.fit_transform(X, y, sample_weight)
        self.binning_: Binning = self.encoder_.binning_
        adopt_names(self, self.binning_)
        self.classes_: AnyArray = self.binning_.classes_
        self._choose_variables()
        frame = pd.DataFrame(woe[:, self._used], columns=self.variables_)
        self.estimator_ = LogisticRegression() if self.estimator is None else clone(self.estimator)
        weights: dict[str, Any] = {} if sample_weight is None else {"sample_weight": sample_weight}
        self.estimator_.fit(frame, y, **weights)
        self.certificate_: Certificate | None = getattr(self.estimator_, "certificate_", None)
        towards_event = 1.0 if self.binning_.event_ == self.classes_[1] else -1.0
        self.coef_: FloatArray = towards_event * self.estimator_.coef_[0]
        self.intercept_ = towards_event * float(self.estimator_.intercept_[0])
        self._scale()
        self._warn()
        return self

    @of_one_fit
    def decision_function(self, X: TableLike) -> FloatArray:
        """Log odds of ``classes_[1]``, of shape (n_samples,); not rounded."""
        check_is_fitted(self)
        event_log_odds = self.intercept_ + self._sum(X, self._contributions)
        return event_log_odds if self.binning_.event_ == self.classes_[1] else -event_log_odds

    @of_one_fit
    def predict_proba(self, X: TableLike) -> FloatArray:
        """Probabilities of shape (n_samples, 2), in the order of ``classes_``."""
        decision = self.decision_function(X)
        return np.column_stack([expit(-decision), expit(decision)])

    @of_one_fit
    def predict(self, X: TableLike) -> AnyArray:
        """The more probable class."""
        second = (self.decision_function(X) > 0).astype(np.int64)
        return self.classes_[second]

    @of_one_fit
    def points(self, X: TableLike) -> FloatArray:
        """Total points of every row, of shape (n_samples,); more points mean fewer events."""
        check_is_fitted(self)
        return self.base_points_ + self._sum(X, self._bin_points)

    def probability(self, points: npt.ArrayLike) -> FloatArray:
        """Probability of the event at a total of points."""
        check_is_fitted(self)
        scaled = (np.asarray(points, dtype=np.float64) - self.offset_) / self.factor_
        return expit(-scaled)

    def explain(self, row: Any) -> pd.DataFrame:
        """Points of one row by variable: value, bin, woe, points, and lost (the gap to the best bin).

        ``row`` is a table with one row, a Series, or a mapping from variable to value. The points add up to
        ``points(row)``. Sorted from the most points lost, which is the order of reasons for a low score.
        """
        frame = _one_row(row)
        check_is_fitted(self)
        codes = known_codes(self.binning_, frame, self.handle_unknown)
        values = frame.iloc[0].tolist() if hasattr(frame, "iloc") else list(np.asarray(frame)[0])
        rows = []
        for name, j, points in zip(self.variables_, self._used, self._bin_points, strict=True):
            k = int(codes[j][0])
            label = [*self.binning_.bins_[j].labels(), "unseen"][k]
            woe, got = self.binning_.woe(j)[k], points[k]
            rows.append((name, values[j], label, woe, got, self._best(j, points) - got))
        table = ShownTable(rows, columns=["variable", "value", "bin", "woe", "points", "lost"])
        table = table.sort_values("lost", ascending=False, kind="stable", ignore_index=True)
        if self.intercept == "separate":
            base = ShownTable([[BASE, None, "", np.nan, self.base_points_, 0.0]], columns=table.columns)
            table = pd.concat([base.astype({"value": object}), table], ignore_index=True)
        return table

    def summary(self) -> pd.DataFrame:
        """One row per variable: iv, reading, bins, trend, coefficient, std_error, z, p_value, sign, used.

        ``sign`` is "right" for a negative coefficient and "wrong" for a positive one. Standard errors, z and
        p are those of an unpenalised `LogisticRegression`, and NaN for any other estimator. They treat the
        bins as fixed and are therefore too small: the bins were found on the same rows.
        """
        check_is_fitted(self)
        table = iv_table(self.binning_).set_index("variable")
        table["trend"] = [self.binning_.trend_of(name) for name in table.index]
        statistics = self._statistics()
        table = table.join(statistics)
        table["used"] = table.index.isin(self.variables_)
        return ShownTable(table)

    def __sklearn_tags__(self) -> Any:
        return binary_table_tags(super().__sklearn_tags__())

    def _check_settings(self) -> None:
        check_positive("base_odds", self.base_odds)
        check_positive("pdo", self.pdo)
        check_not_negative("min_iv", self.min_iv)
        check_flags(self, "round_points")
        check_choice("intercept", self.intercept, ("spread", "separate"))

    def _binning(self) -> Binning:
        binning = fresh_binning(self.binning)
        if self.positive is None:
            return binning
        if binning.positive not in (None, self.positive):
            raise ValueError(
                f"positive={self.positive!r} contradicts the binning, whose event is {binning.positive!r}."
            )
        binning.set_params(positive=self.positive)
        return binning

    def _choose_variables(self) -> None:
        """Drop variables with one bin or too little information, with the reason."""
        table = iv_table(self.binning_)
        ivs: dict[str, float] = dict(zip(table["variable"], table["iv"].to_numpy(), strict=True))
        sizes: dict[str, int] = dict(zip(table["variable"], table["bins"].to_numpy(), strict=True))
        used, dropped = [], []
        for j, bins in enumerate(self.binning_.bins_):
            iv = ivs[bins.name]
            if sizes[bins.name] < 2:
                dropped.append((bins.name, iv, "all rows are in one bin"))
            elif iv < self.min_iv:
                dropped.append((bins.name, iv, f"information value below min_iv={self.min_iv:g}"))
            else:
                used.append(j)
        self.dropped_ = ShownTable(dropped, columns=["variable", "iv", "reason"])
        if not used:
            why = ", ".join(f"{name} (IV {iv:.2g}: {reason})" for name, iv, reason in dropped[:5])
            more = ", ..." * (len(dropped) > 5)
            raise ValueError(
                f"No variable is left for the scorecard: {why}{more}. Lower min_iv or add other columns."
            )
        self._used = used
        self.variables_ = [self.binning_.bins_[j].name for j in used]

    def _scale(self) -> None:
        """Points of every bin, with a last entry for unseen values (weight of evidence 0)."""
        self.factor_ = self.pdo / log(2.0)
        self.offset_ = self.base_score - self.factor_ * log(self.base_odds)
        constant = self.offset_ - self.factor_ * self.intercept_
        share = constant / len(self._used) if self.intercept == "spread" else 0.0
        self._contributions = [b * self.binning_.woe(j) for b, j in zip(self.coef_, self._used, strict=True)]
        points = [share - self.factor_ * part for part in self._contributions]
        self._bin_points = [np.rint(p) for p in points] if self.round_points else points
        base = constant if self.intercept == "separate" else 0.0
        self.base_points_ = float(np.rint(base)) if self.round_points else base
        self.points_ = self._points_table()

    def _points_table(self) -> pd.DataFrame:
        tables = []
        for b, j, points in zip(self.coef_, self._used, self._bin_points, strict=True):
            table = self.binning_.table(j)[["variable", "bin", "count", "event_rate", "woe"]]
            tables.append(table.assign(coefficient=b, points=points[:-1]))
        if self.intercept == "separate":
            base = {"variable": [BASE], "bin": [""], "points": [self.base_points_]}
            tables.insert(0, ShownTable(base))
        return pd.concat(tables, ignore_index=True)

    def _best(self, j: int, points: FloatArray) -> float:
        return float(points[:-1][self.binning_.counts_[j].sum(axis=0) > 0].max())

    def _sum(self, X: Any, by_bin: list[FloatArray]) -> FloatArray:
        codes = known_codes(self.binning_, X, self.handle_unknown)
        total = np.zeros(len(codes[0]))
        for j, values in zip(self._used, by_bin, strict=True):
            total += values[codes[j]]
        return total

    def _statistics(self) -> pd.DataFrame:
        columns = ["std_error", "z", "p_value"]
        table = pd.DataFrame(np.nan, index=self.variables_, columns=columns)
        model = self.estimator_
        if isinstance(model, LogisticRegression) and np.isinf(model.C):
            found = model.summary().table.loc[self.variables_]
            sign = np.sign(self.coef_ * model.coef_[0])
            table["std_error"], table["p_value"] = found["std_err"], found["p_value"]
            table["z"] = found["z"] * sign
        table.insert(0, "coefficient", self.coef_)
        table["sign"] = np.where(self.coef_ <= 0, "right", "wrong")
        return table

    def _warn(self) -> None:
        """Collect all notes and warn once."""
        notes = []
        wrong = [name for name, b in zip(self.variables_, self.coef_, strict=True) if b > 0]
        if wrong:
            notes.append(
                f"The coefficient has the wrong sign (against the evidence of the bins) for "
                f"{', '.join(wrong)}: the variable repeats others; leave one of them out."
            )
        turning = [n for n in self.variables_ if self._turns(n)]
        if turning:
            notes.append(
                f"The event rate does not move in one direction over the bins of {', '.join(turning)}: "
                "use Binning(method='optimal'), or trend='none' if this is meant."
            )
        single = self.dropped_[self.dropped_["reason"].str.startswith("all rows")]["variable"].tolist()
        if single:
            notes.append(f"Left out, because all rows are in one bin: {', '.join(single)}.")
        rest = self.dropped_[~self.dropped_["variable"].isin(single)]
        if len(rest):
            named = [f"{name} ({iv:.4f})" for name, iv in zip(rest["variable"], rest["iv"], strict=True)]
            notes.append(
                f"Left out, because the information value is below min_iv={self.min_iv:g}: "
                f"{', '.join(named)}."
            )
        self.notes_ = notes
        if notes:
            warn_user(" ".join(notes), ScorecardWarning)

    def _turns(self, name: str) -> bool:
        """Whether the event rates of a numeric variable turn although one direction was requested."""
        binning = self.binning_
        one_way = binning.trend_asked(name) in ("auto", "ascending", "descending")
        return one_way and binning.is_number(name) and binning.trend_of(name) in ("none", "peak", "valley")


def _one_row(row: Any) -> Any:
    """A table with one row from a table, a Series or a mapping."""
    if isinstance(row, pd.Series):
        row = row.to_frame().T
    elif isinstance(row, dict):
        row = pd.DataFrame([row])
    elif getattr(row, "ndim", 2) == 1:
        row = np.asarray(row).reshape(1, -1)
    if len(row) != 1:
        raise ValueError(f"explain takes one row, got {len(row)}; use points(X) for many.")
    return row
