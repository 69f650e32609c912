"""Everything a report is about, in one object; dear figures are computed once."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from maxmargin.base.table_columns import feature_names
from maxmargin.base.typing import AnyArray
from maxmargin.metrics import Evaluation, evaluate
from maxmargin.reports.study_rows import Rows
from maxmargin.reports.subject import Subject
from maxmargin.reports.words import Words


@dataclass(frozen=True)
class Study:
    """A subject, the rows it is evaluated on, and the rows it learned from.

    ``training`` is None when the rows it learned from are not known (held-out rows only).
    """

    subject: Subject
    evaluated: Rows
    training: Rows | None
    held_out: bool
    words: Words
    title: str | None
    question: str | None
    positive: Any
    class_names: list[str] | None
    seed: int
    n_repeats: int
    command: str | None

    def say(self, key: str, **values: Any) -> str:
        return self.words.say(key, **values)

    @property
    def known(self) -> Rows:
        """The rows that describe the data: those learned from where they are known."""
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
        """The classes by the names to be read."""
        return self.class_names or [str(label) for label in self.classes]

    @cached_property
    def evaluation(self) -> Evaluation:
        """Of a classifier on the evaluated rows."""
        y = self.evaluated.y
        assert y is not None  # a classifier has a target
        return evaluate(
            self.subject.model, self.evaluated.X, y, positive=self.positive, names=self.class_names
        )

    @property
    def takes_kernel_values(self) -> bool:
        """True for kernel="precomputed": the columns are then rows, not variables."""
        return getattr(self.subject.final, "kernel", None) == "precomputed"

    @cached_property
    def importance(self) -> Any:
        """Permutation importance of the variables on the evaluated rows; None where there is none."""
        from maxmargin.reports.permutation import permutation_table  # which names Study itself

        return permutation_table(self)

    @cached_property
    def elimination(self) -> Any:
        """Rank of every variable by recursive elimination; None where it does not apply."""
        from maxmargin.reports.permutation import elimination_ranks  # which names Study itself

        return elimination_ranks(self)
