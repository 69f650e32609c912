"""How long a search will take, from samples of the rows."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from sklearn.base import BaseEstimator, clone, is_regressor

from maxmargin.base import work_clock
from maxmargin.base.typing import IntArray
from maxmargin.tuning import tune

_FIRST, _FIRST_OF_FEW = 200, 2000  # rows of the first sample with all cells, and with some of them
_STEP = 2.5  # factor from one sample to the next
_HELD_OUT = 10  # one row in so many is predicted, the others are fitted
_STEEPER = 0.35  # solvers can need more steps on more rows: the share of the power that is added at most
_LEAST = 0.1  # smallest share of a time that grows with the rows
_MARGIN = 1.25  # a safety factor: estimates should be too long rather than too short
_MANY_CLASSES = 5
_FAR = 20.0  # an estimate that exceeds the limit by this factor needs no second sample


@dataclass(frozen=True)
class SampleTimes:
    """How long ``n_tried`` of the ``n_cells`` cells took on one fold of samples, for a table of ``n`` rows.

    ``call`` is what a call takes before its first fit; ``growth`` as in `SampleSearch`. Without cells
    (``n_cells`` is 0) one fit was timed.
    """

    n: int
    sizes: list[int]
    spent: list[float]
    call: float
    growth: float
    n_cells: int
    n_tried: int

    def seconds(self, folds: int, rows: int | None = None) -> float:
        """Seconds of a search on so many rows (all by default), with the final fit on all rows."""
        if not self.n_cells:
            return _MARGIN * self.one_fold(self.n)
        ratio = self.n_cells / self.n_tried
        final = 2.0 / self.n_tried * self.one_fold(self.n)  # the chosen cell may be slower than others
        search = ratio * (self.call + folds * self.one_fold(min(self.n, rows or self.n)))
        return _MARGIN * (search + final)

    def one_fold(self, n: int) -> float:
        """The time of n rows, from the last two samples.

        a + b n^growth, as every fit also costs what does not grow; where the times grow faster than that, the
        power with which they grow.
        """
        sizes, spent, growth = self.sizes, self.spent, self.growth
        if len(sizes) < 2:
            return float(spent[-1] * (n / sizes[-1]) ** growth)
        (small, large), (before, last) = sizes[-2:], spent[-2:]
        power = np.log(max(last, 1e-9) / max(before, 1e-9)) / np.log(large / small)
        if power >= growth:
            return float(last * (n / large) ** min(power, (1.0 + _STEEPER) * growth))
        slope = max(0.0, last - before) / (float(large) ** growth - float(small) ** growth)
        if growth == 1.0:  # the times of small samples can be noise only
            slope = max(slope, _LEAST * last / large)
        return float(last + slope * (float(n) ** growth - float(large) ** growth))


@dataclass(frozen=True)
class SampleSearch:
    """A search that is tried on samples: one fold of it, with all cells or with some of them.

    ``growth`` is the power of the number of rows with which the time grows at least. ``words``: the rows hold
    text, so that cells of a kernel machine share no work either.
    """

    model: BaseEstimator
    X: pd.DataFrame
    y: pd.Series
    grid: dict[str, list[Any]] | None
    growth: float = 1.0
    scoring: Any = None
    n_jobs: int | None = None
    words: bool = False

    def timed(self, *, budget: float = 1.5, enough: float = np.inf, folds: int = 1) -> SampleTimes:
        """What samples took.

        They grow as long as ``budget`` seconds allow and it is not certain that the search with ``folds``
        folds takes longer than ``enough``. The first call does not count, as it loads compiled code, and
        compilation does not.
        """
        n = len(self.X)
        few = self.growth == 1.0 or self.words
        tried = (
            self._few_cells() if few else self._thinned() if self._n_classes > _MANY_CLASSES else self.grid
        )
        sizes = [min(_FIRST_OF_FEW if self.growth == 1.0 else _FIRST, n)]
        self._time(min(_FIRST, n), self._few_cells())
        began = work_clock.now()
        call, spent = self._time(sizes[0], tried)
        known = SampleTimes(n, sizes, [spent], call, self.growth, _n_cells(self.grid), _n_cells(tried))
        while sizes[-1] < n:
            size = min(round(_STEP * sizes[-1]), n)
            left = budget - (work_clock.now() - began) - call
            so_far = known.seconds(folds) / _MARGIN
            sure = so_far > (enough if len(sizes) > 2 else _FAR * enough)
            if len(sizes) > 1:
                sure = sure or known.one_fold(size) > left
            elif self.growth != 2.0:
                sure = False  # one sample cannot show the costs that do not grow, and the next one is quick
            if sure:
                break
            spent = self._time(size, tried)[1]
            sizes.append(size)
            known.spent.append(spent)
        return known

    @property
    def _n_classes(self) -> int:
        return 1 if is_regressor(self.model) else int(self.y.nunique())

    def _thinned(self) -> dict[str, list[Any]] | None:
        """Every third value of long lists, the last one included: pairs of classes take their time."""
        if self.grid is None:
            return None
        return {name: v if len(v) < 4 else v[::-3][::-1] for name, v in self.grid.items()}

    def _few_cells(self) -> dict[str, list[Any]] | None:
        """Cells that share no work: one in the middle, and the last one, which is usually the slowest."""
        if self.grid is None:
            return None
        return {
            name: list(dict.fromkeys([values[len(values) // 2], values[-1]])) if k == 0 else values[-1:]
            for k, (name, values) in enumerate(self.grid.items())
        }

    def _time(self, size: int, grid: dict[str, list[Any]] | None) -> tuple[float, float]:
        """How long a call takes before its first fit, and how long the fits to a sample of this size take."""
        rows = sample_rows(self.y, size)
        X, y, model = self.X.iloc[rows], self.y.iloc[rows], self.as_for_all_rows()
        held_out = np.arange(len(rows)) % _HELD_OUT == 0
        split = [(np.flatnonzero(~held_out), np.flatnonzero(held_out))]
        fits: list[float] = []
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # small samples have problems that the table does not have
            began = work_clock.now()
            try:
                if grid is None:
                    model.fit(X, y)
                else:
                    options: dict[str, Any] = {"scoring": self.scoring, "n_jobs": self.n_jobs}
                    options["callback"] = lambda progress: fits.append(progress.seconds)
                    if tune(model, X, y, grid, cv=split, refit=False, verbose=-1, **options).interrupted:
                        raise KeyboardInterrupt
            except ValueError:  # for example, a category is missing in the sample; its time still counts
                pass
            total = work_clock.now() - began
            return (total - fits[-1], fits[-1]) if fits else (0.0, total)

    def as_for_all_rows(self) -> Any:
        """The model with the number of landmarks that it uses on all rows."""
        model: Any = clone(self.model)
        final = model.steps[-1][1] if hasattr(model, "steps") else model
        if getattr(final, "n_components", None) == "auto":
            from maxmargin.machines.large.mapped_rows import map_size

            size = map_size(len(self.X), self.X.shape[1], 8, "auto", None)
            final.set_params(n_components=size.n_components)
        return model


def _n_cells(grid: dict[str, list[Any]] | None) -> int:
    return 0 if grid is None else int(np.prod([len(values) for values in grid.values()]))


def sample_rows(y: pd.Series, size: int) -> IntArray:
    """Rows from every part of the target, those of a class together, in every class at least twenty or all.

    Then every tenth row holds out rows of all classes.
    """
    rng = np.random.default_rng(0)
    order = rng.permutation(len(y))
    if y.nunique() > 50:
        return order[:size]
    codes = pd.factorize(y)[0][order]
    place = pd.Series(codes).groupby(codes).cumcount().to_numpy()
    kept = place < np.maximum(2 * _HELD_OUT, np.ceil(np.bincount(codes)[codes] * size / len(y)))
    return order[kept][np.argsort(codes[kept], kind="stable")]


def duration(seconds: float) -> str:
    """A time in words, with as many digits as an estimate deserves."""
    if seconds < 1.5:
        return "a second"
    if seconds < 90:
        step = 1 if seconds < 10 else 5
        return f"{int(step * np.ceil(seconds / step))} seconds"
    if seconds < 5400:
        return f"{int(np.ceil(seconds / 60))} minutes"
    return f"{int(np.ceil(seconds / 3600))} hours"
