"""The subject of a report: a fitted model, the rows it is evaluated on, and its training rows."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal, TypedDict

import numpy as np
import pandas as pd
import scipy.sparse as sp
from sklearn.base import BaseEstimator, is_classifier, is_outlier_detector, is_regressor
from sklearn.pipeline import Pipeline
from sklearn.utils import _safe_indexing, column_or_1d
from sklearn.utils.validation import check_is_fitted

from maxmargin.base.table_columns import feature_names
from maxmargin.base.typing import AnyArray, TableLike, TargetLike
from maxmargin.feature_selection.base import Selector
from maxmargin.metrics import Evaluation, evaluate
from maxmargin.reports.blocks import Caution
from maxmargin.reports.words import Words, words_in
from maxmargin.tables.coefficients import CoefficientSummary, coefficient_summary
from maxmargin.tuning import TuneResult

Subjects = Literal["classification", "regression", "outliers", "selection"]


@dataclass(frozen=True)
class Subject:
    """A fitted model, with the steps and the search around it.

    Attributes
    ----------
    model : what predicts (or selects), preprocessing included.
    final : the last step; steps : the steps before it.
    tuning : the search that found it, if any; selector : the selector among the steps, if any.
    """

    model: Any
    final: Any
    steps: tuple[tuple[str, Any], ...]
    task: Subjects
    tuning: TuneResult | None
    selector: Selector | None

    @classmethod
    def of(cls, given: Any) -> Subject:
        """From a fitted estimator, Pipeline, TuneResult, GridSearch or selector."""
        tuning = given if isinstance(given, TuneResult) else getattr(given, "result_", None)
        tuning = tuning if isinstance(tuning, TuneResult) else None
        model = given if tuning is None else tuning.best_estimator
        if model is None:
            raise ValueError(
                "this search holds no fitted model (refit=False, or it was interrupted): "
                "run it with refit=True, or pass a model fitted with its best_params."
            )
        if not hasattr(model, "fit"):
            raise TypeError(
                "a report is about a fitted estimator, a TuneResult or a selector, "
                f"not {type(given).__name__}."
            )
        check_is_fitted(model)
        steps = tuple(model.steps) if isinstance(model, Pipeline) else (("model", model),)
        steps = tuple((name, step) for name, step in steps if step is not None and step != "passthrough")
        selector = next((step for _, step in steps if isinstance(step, Selector)), None)
        final = steps[-1][1]
        return cls(model, final, steps[:-1], _task(model, final), tuning, selector)

    def transformed(self, X: TableLike) -> Any:
        """The rows as the last step sees them."""
        for _, step in self.steps:
            X = step.transform(X)
        return X


def _task(model: Any, final: Any) -> Subjects:
    if is_classifier(model):
        return "classification"
    if is_regressor(model):
        return "regression"
    if is_outlier_detector(model):
        return "outliers"
    if isinstance(final, Selector):
        return "selection"
    raise TypeError(
        f"{type(final).__name__} is not a classifier, a regressor, an outlier detector or a selector: "
        "there is nothing to report."
    )


@dataclass(frozen=True)
class StudyRows:
    """Rows ``X`` and their targets ``y`` (None for outlier detection without labels)."""

    X: Any
    y: AnyArray | None
    target: str | None

    @classmethod
    def of(cls, X: TableLike, y: TargetLike | None, target: str | None = None) -> StudyRows:
        """Check that the lengths agree, and keep the name of the target."""
        values = None if y is None else column_or_1d(y)
        n = X.shape[0] if hasattr(X, "shape") else len(X)  # type: ignore[arg-type]  # a list of rows
        if values is not None and len(values) != n:
            raise ValueError(f"X has {n} rows and y has {len(values)}: they must have the same length.")
        if n == 0:
            raise ValueError("X has no rows: a report needs at least one.")
        name = getattr(y, "name", None)
        return cls(X=X, y=values, target=target or (None if name is None else str(name)))

    def __len__(self) -> int:
        return int(self.X.shape[0]) if hasattr(self.X, "shape") else len(self.X)

    @cached_property
    def frame(self) -> pd.DataFrame | None:
        """The table; None for sparse matrices and for rows of text."""
        X = self.X
        if isinstance(X, pd.DataFrame):
            return X
        if sp.issparse(X):
            return None
        if hasattr(X, "to_pandas"):
            return X.to_pandas()
        values = np.asarray(X)
        if values.ndim != 2:
            return None
        return pd.DataFrame(values, columns=[f"x{j}" for j in range(values.shape[1])])

    @property
    def labels(self) -> list[str]:
        """What each row is called: its index in a pandas table, else its number from 0."""
        index = self.X.index if isinstance(self.X, pd.DataFrame) else range(len(self))
        return [str(label) for label in index]

    def sample(self, n: int, seed: int) -> StudyRows:
        """At most ``n`` rows, drawn without replacement."""
        if len(self) <= n:
            return self
        chosen = np.sort(np.random.default_rng(seed).permutation(len(self))[:n])
        y = None if self.y is None else self.y[chosen]
        return StudyRows(X=_safe_indexing(self.X, chosen), y=y, target=self.target)


class ReportOptions(TypedDict, total=False):
    """Options of `report`; each may be left out.

    held_out : True if the model has not seen the evaluated rows although the training rows are not given.
    language : "en" or "es".
    title, question : the heading, and the question in a sentence of your own.
    target : name of ``y``; by default that of the Series.
    positive, names : the positive class, and names for the classes in the order of ``model.classes_``.
    threshold : predict the positive class from this score on (two classes); default: the model's predict.
    n_repeats : shuffles per variable for the permutation importance (default 5).
    random_state : seed of shuffles, samples and bootstrap (default 0).
    command, model_file : the command that made the model, and the file in which it is saved.
    """

    held_out: bool | None
    language: str
    title: str | None
    question: str | None
    target: str | None
    positive: Any
    names: Any
    threshold: float | None
    n_repeats: int
    random_state: int
    command: str | None
    model_file: str | None


@dataclass(frozen=True)
class Study:
    """A subject, the rows it is evaluated on, and the rows it learned from; costly figures are kept.

    ``training`` is None when the rows it learned from are not known (held-out rows only).
    """

    subject: Subject
    evaluated: StudyRows
    training: StudyRows | None
    held_out: bool
    words: Words
    title: str | None
    question: str | None
    positive: Any
    class_names: list[str] | None
    threshold: float | None
    seed: int
    n_repeats: int
    command: str | None
    model_file: str | None
    weights: AnyArray | None = None  # of the evaluated rows

    def say(self, key: str, **values: Any) -> str:
        return self.words.say(key, **values)

    @property
    def known(self) -> StudyRows:
        """The rows that describe the data: the training rows where they are known."""
        return self.evaluated if self.training is None else self.training

    @property
    def target(self) -> str | None:
        return self.known.target or self.evaluated.target

    @cached_property
    def variables(self) -> list[str]:
        """Names of the columns, as the model saw them."""
        model = self.subject.model
        if hasattr(model, "feature_names_in_"):
            return [str(name) for name in model.feature_names_in_]
        if self.known.frame is not None:
            return [str(name) for name in self.known.frame.columns]
        return feature_names(model) if hasattr(model, "n_features_in_") else []

    @property
    def classes(self) -> AnyArray:
        return np.asarray(self.subject.model.classes_)

    @property
    def shown_classes(self) -> list[str]:
        """The classes by their names in the report."""
        return self.class_names or [str(label) for label in self.classes]

    @cached_property
    def evaluation(self) -> Evaluation:
        """Of a classifier on the evaluated rows."""
        X, y = self.evaluated.X, self.evaluated.y
        assert y is not None  # a classifier has a target
        return evaluate(
            self.subject.model,
            X,
            y,
            positive=self.positive,
            names=self.class_names,
            threshold=self.threshold,
            sample_weight=self.weights,
        )

    @property
    def baseline(self) -> tuple[str, float]:
        """The largest class of the evaluated rows, and the accuracy of always predicting it."""
        confusion = self.evaluation.confusion
        sizes = confusion.counts.sum(axis=0)
        return confusion.names[int(sizes.argmax())], float(sizes.max() / confusion.total)

    @property
    def takes_kernel_values(self) -> bool:
        """True for kernel="precomputed": the columns are then rows, not variables."""
        return getattr(self.subject.final, "kernel", None) == "precomputed"

    @cached_property
    def coefficients(self) -> CoefficientSummary | None:
        """The coefficients of a logistic regression or least squares in the units of the training rows."""
        rows = self.training
        if rows is None or rows.frame is None or rows.y is None:
            return None
        return coefficient_summary(self.subject.final, rows.frame, rows.y, self.positive)

    @cached_property
    def cautions(self) -> list[Caution]:
        """What the reader must know before trusting the figures, the serious cautions first."""
        from maxmargin.reports.sections.cautions_section import found_cautions  # which uses Study

        return found_cautions(self)

    @cached_property
    def importance(self) -> pd.DataFrame | None:
        """Permutation importance of the variables on the evaluated rows; None where there is none."""
        from maxmargin.reports.sections.variables_section import permutation_table  # which uses Study

        return permutation_table(self)

    @cached_property
    def elimination(self) -> dict[str, int] | None:
        """Rank of every variable by recursive elimination; None where it does not apply."""
        from maxmargin.reports.sections.variables_section import elimination_ranks  # which uses Study

        return elimination_ranks(self)


def make_study(
    model: BaseEstimator,
    X: TableLike,
    y: TargetLike | None,
    training: tuple[TableLike, TargetLike | None] | None = None,
    options: ReportOptions | None = None,
) -> Study:
    """Check what `report` was given, and keep it."""
    given: ReportOptions = {} if options is None else options
    unknown = set(given) - set(ReportOptions.__annotations__)
    if unknown:
        known = ", ".join(ReportOptions.__annotations__)
        raise TypeError(f"report has no option {unknown.pop()!r}: its options are {known}.")
    words = words_in(given.get("language", "en"))
    subject = Subject.of(model)
    target, held_out = given.get("target"), given.get("held_out")
    evaluated = StudyRows.of(X, y, target)
    if y is None and subject.task != "outliers":
        raise ValueError(f"y is None: a report on {type(subject.final).__name__} needs the targets of X.")
    unseen = training is not None if held_out is None else held_out
    learned = StudyRows.of(*training, target) if training is not None else None
    names = given.get("names")
    if names is not None and len(names) != len(getattr(subject.model, "classes_", [])):
        raise ValueError(f"names={list(names)!r} must hold one name for each class of the model.")
    return Study(
        subject=subject,
        evaluated=evaluated,
        training=learned if unseen or learned is not None else evaluated,
        held_out=unseen,
        words=words,
        title=given.get("title"),
        question=given.get("question"),
        positive=given.get("positive"),
        class_names=None if names is None else [str(name) for name in names],
        threshold=given.get("threshold"),
        seed=int(given.get("random_state", 0)),
        n_repeats=given.get("n_repeats", 5),
        command=given.get("command"),
        model_file=given.get("model_file"),
    )
