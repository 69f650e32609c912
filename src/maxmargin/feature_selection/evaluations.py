"""The record of a search: every subset is evaluated once, counted, timed and recorded."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
import pandas as pd

from maxmargin.base import work_clock
from maxmargin.base.progress import ProgressReport
from maxmargin.base.shown import ShownTable
from maxmargin.feature_selection.criteria import Scorer, Subset

FIRST_CHUNK = 16  # subsets scored at once before their cost is known
CHUNK_SECONDS = 0.5  # later chunks take about this long, so that progress is shown and Ctrl-C is not delayed


@dataclass(frozen=True)
class SearchMove:
    """A move of the search: action, column (None for several), subset after the move and its value."""

    action: str
    column: int | None
    subset: Subset
    value: float


class Evaluations:
    """Losses (smaller is better) of subsets, for every search and every criterion.

    With ``groups`` of columns a search chooses among groups: its subsets hold numbers of groups, and
    `columns` says which columns they are.
    """

    def __init__(
        self,
        scorer: Scorer,
        names: list[str],
        *,
        maximize: bool,
        verbose: int = 0,
        groups: list[Subset] | None = None,
    ) -> None:
        self.names = names
        self.n_features = len(names) if groups is None else len(groups)
        self._groups = groups
        self.steps: list[SearchMove] = []
        self._scorer = scorer
        self._sign = -1.0 if maximize else 1.0
        self._losses: dict[Subset, float] = {}
        self._best: tuple[float, int, Subset] | None = None
        self._seconds = 0.0
        self._progress = ProgressReport("selection", verbose=verbose)

    @property
    def n_evaluations(self) -> int:
        return len(self._losses)

    @property
    def seconds_each(self) -> float:
        """Mean time of an evaluation so far."""
        return self._seconds / max(1, self.n_evaluations)

    @property
    def best(self) -> Subset | None:
        """The best subset so far; among equal losses fewer columns, then the lowest ones."""
        return None if self._best is None else self._best[2]

    def columns(self, subset: Subset) -> Subset:
        """The columns of a subset."""
        if self._groups is None:
            return subset
        return tuple(sorted(j for group in subset for j in self._groups[group]))

    def _names_of(self, subset: Subset) -> tuple[str, ...]:
        return tuple(self.names[j] for j in self.columns(subset))

    def loss(self, subset: Subset) -> float:
        return self.losses([subset])[0]

    def losses(self, subsets: Iterable[Subset]) -> list[float]:
        """Losses of the subsets; that of the empty one is infinite without an evaluation."""
        wanted = list(subsets)
        new = [subset for subset in dict.fromkeys(wanted) if subset and subset not in self._losses]
        size = FIRST_CHUNK
        while new:
            chunk, new = new[:size], new[size:]
            size = max(FIRST_CHUNK, self._score(chunk))
        return [self._losses[subset] if subset else np.inf for subset in wanted]

    def value(self, subset: Subset) -> float:
        """The value of the criterion for a subset, in its own direction."""
        return self._sign * self.loss(subset)

    def loss_of(self, value: float) -> float:
        """The loss that corresponds to a value of the criterion."""
        return self._sign * value

    def step(self, action: str, column: int | None, subset: Subset) -> None:
        """Record a move of the search."""
        self.steps.append(SearchMove(action, column, subset, self.value(subset)))

    def history(self) -> pd.DataFrame:
        """All evaluations in order."""
        records = [
            (number, len(subset), self._sign * loss, self._names_of(subset))
            for number, (subset, loss) in enumerate(self._losses.items(), start=1)
        ]
        table = ShownTable(records, columns=["evaluation", "size", "value", "subset"])
        folds = getattr(self._scorer, "folds", None)
        if folds is not None:
            table["folds"] = [tuple(folds[self.columns(subset)].tolist()) for subset in self._losses]
        return table

    def standard_error(self, subset: Subset) -> float:
        """The standard error of the mean over folds, for criteria that have folds."""
        self.loss(subset)
        folds = getattr(self._scorer, "folds", None)
        if folds is None:
            raise ValueError("parsimonious=True needs a criterion with folds, such as CrossValidatedError.")
        values = folds[self.columns(subset)]
        return float(np.std(values, ddof=1) / np.sqrt(len(values))) if len(values) > 1 else 0.0

    def path(self) -> pd.DataFrame:
        """The moves of the search in order."""
        records = [
            (
                number,
                step.action,
                None if step.column is None else " + ".join(self._names_of((step.column,))),
                len(step.subset),
                step.value,
                self._names_of(step.subset),
            )
            for number, step in enumerate(self.steps, start=1)
        ]
        return ShownTable(records, columns=["step", "action", "variable", "size", "value", "subset"])

    def _best_so_far(self) -> str:
        if self._best is None:
            return ""
        loss, size, _ = self._best
        return f"best {self._sign * loss:.6g} with {size} columns"

    def _score(self, chunk: list[Subset]) -> int:
        """Evaluate a chunk; return the size of the next."""
        start = work_clock.now()
        values = np.asarray(self._scorer([self.columns(subset) for subset in chunk]), dtype=float)
        seconds = work_clock.now() - start
        if np.isnan(values).any():
            bad = chunk[int(np.isnan(values).argmax())]
            raise ValueError(
                f"the criterion is NaN for the columns {self.columns(bad)}: it must be a number."
            )
        for subset, value in zip(chunk, values, strict=True):
            loss = self._sign * float(value)
            self._losses[subset] = loss
            key = (loss, len(subset), subset)
            if self._best is None or key < self._best:
                self._best = key
        self._seconds += seconds
        self._progress.advance(len(chunk), self._best_so_far)
        return int(CHUNK_SECONDS / max(seconds, 1e-9) * len(chunk))
