"""Support vector classification by cells: many small exact models instead of one large one."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import partial
from typing import Any, Literal

import numpy as np
import scipy.sparse as sp
from sklearn.base import ClassifierMixin
from sklearn.neighbors import NearestNeighbors
from sklearn.utils import _safe_indexing
from sklearn.utils.validation import check_is_fitted

from maxmargin.base.interruption import all_or_nothing, of_one_fit
from maxmargin.base.parameters import check_choice, check_count, check_not_negative, check_positive
from maxmargin.base.progress import show_line
from maxmargin.base.tables import class_codes, example_weights
from maxmargin.base.threads import effective_threads, run
from maxmargin.base.typing import AnyArray, BoolArray, FloatArray, IntArray, TableLike, TargetLike, WeightLike
from maxmargin.kernels.base import validated_columns
from maxmargin.kernels.feature_maps import blocks, cut, kmeans_centres
from maxmargin.machines.kernel_estimator import TakesKernel
from maxmargin.machines.large.mapped_rows import generator, opened
from maxmargin.machines.svm import SVC
from maxmargin.problems.certificate import Certificate, worst

_SAMPLE = 20_000  # rows used to place the first centres
_ROUNDS = 20  # rounds of splitting cells that are too large
_ROOM = 1.5  # times n / cell_size centres, because cells differ in size
_BLOCK = 8192
_NEIGHBOURS = 8  # cells that a decision combines at most


@dataclass(frozen=True)
class Cell:
    """The models of one cell, one for each class (one for two); a constant if one side is empty."""

    machines: tuple[SVC | float, ...]

    def decisions(self, X: TableLike, n: int) -> FloatArray:
        """Scores of shape (n, n_machines)."""
        columns = [
            machine.decision_function(X) if isinstance(machine, SVC) else np.full(n, machine)
            for machine in self.machines
        ]
        return np.column_stack(columns)

    @property
    def certificates(self) -> list[Certificate]:
        return [machine.certificate_ for machine in self.machines if isinstance(machine, SVC)]


@dataclass(eq=False, repr=False)
class CellSVC(ClassifierMixin, TakesKernel):
    """Exact support vector machines on cells of space, blended across their boundaries.

    Centres of k-means divide the rows into Voronoi cells of at most ``cell_size`` rows; every cell has an
    exact `SVC` (one against the rest for more than two classes). A row between cells gets a weighted mean of
    their decisions: the weight of a cell whose centre is at distance d, where the nearest one is at d1, is
    proportional to max(0, 1 - (d - d1) / (softness (d + d1))), so decisions do not jump from one cell to the
    next. At most the eight nearest cells take part. Such cells are studied by Thomann, Blaschzyk, Meister &
    Steinwart (2017).

    Cost n cell_size p for all cells together, instead of n^2 p. If the class only depends on the
    neighbourhood, this is more accurate than a low-rank kernel of the same cost; otherwise less.

    Parameters
    ----------
    C, kernel, gamma, coef0, degree, loss, class_weight, tol : as in `SVC`; kernels of numbers.
    cell_size : maximum number of rows of a cell (equal rows are never divided).
    softness : width of the zone in which cells are blended; 0 for hard boundaries.
    random_state : seed of k-means. n_jobs : number of threads, which work on different cells.
    verbose : 1 prints a line for every cell.

    Attributes
    ----------
    centres_ : of shape (n_cells, n_features). sizes_ : number of rows of each cell. cells_ : their models.
    certificate_ : the worst of all cells; None if every cell has one class only.
    classes_, kernel_ : as in `SVC`.

    Examples
    --------
    >>> import numpy as np, maxmargin as mm
    >>> X = np.random.default_rng(0).uniform(-3, 3, size=(4000, 2))
    >>> y = np.sin(3 * X[:, 0]) > X[:, 1]
    >>> model = mm.CellSVC(C=10.0, gamma=1.0, cell_size=500, random_state=0).fit(X, y)
    >>> bool(model.sizes_.max() <= 500), bool(model.score(X, y) > 0.97), model.certificate_.kkt <= 1e-3
    (True, True, True)
    """

    C: float = 1.0
    loss: Literal["hinge", "squared_hinge"] = field(default="hinge", kw_only=True)
    class_weight: Any = field(default=None, kw_only=True)
    cell_size: int = field(default=2000, kw_only=True)
    softness: float = field(default=0.1, kw_only=True)
    tol: float = field(default=1e-3, kw_only=True)
    random_state: Any = field(default=None, kw_only=True)
    verbose: int = field(default=0, kw_only=True)
    takes_matrix = False

    @all_or_nothing
    def fit(self, X: TableLike, y: TargetLike, sample_weight: WeightLike | None = None) -> CellSVC:
        """Fit to X of shape (n_samples, n_features) and labels y of shape (n_samples,)."""
        check_positive("C", self.C, infinite=True)
        check_positive("tol", self.tol)
        check_choice("loss", self.loss, ("hinge", "squared_hinge"))
        check_not_negative("softness", self.softness)
        size = check_count("cell_size", self.cell_size)
        rows = opened(self, X)
        self.classes_, codes = class_codes(y, rows.n, self)
        weights = example_weights(sample_weight, self.class_weight, self.classes_, codes)
        kernel = self.make_kernel()
        if kernel.whole or self.kernel == "precomputed":
            raise ValueError(f"CellSVC divides rows of numbers into cells, not those of {kernel!r}: use SVC.")
        table = validated_columns(rows.X, None)
        self.kernel_ = kernel.bind(rows.X)
        self.centres_, home = _divide(table, size, generator(self.random_state))
        self.sizes_ = np.bincount(home, minlength=len(self.centres_))
        order = np.argsort(home, kind="stable")
        members = np.split(order, np.cumsum(self.sizes_)[:-1])
        tasks = [partial(self._fit_cell, rows.X, codes, weights, mine) for mine in members]
        self.cells_: list[Cell] = run(tasks, effective_threads(self.n_jobs))
        found = [certificate for cell in self.cells_ for certificate in cell.certificates]
        self.certificate_ = worst(found) if found else None
        return self

    def _fit_cell(self, X: Any, codes: IntArray, weights: FloatArray, mine: IntArray) -> Cell:
        used = mine[weights[mine] > 0]
        rows = _safe_indexing(X, used)
        positive = [1] if len(self.classes_) == 2 else range(len(self.classes_))
        machines = [self._fit_machine(rows, codes[used] == k, weights[used]) for k in positive]
        if self.verbose:
            show_line(f"CellSVC: a cell of {len(mine)} rows is done")
        return Cell(tuple(machines))

    def _fit_machine(self, X: Any, mine: BoolArray, weights: FloatArray) -> SVC | float:
        if mine.all() or not mine.any():
            return 0.0 if not len(mine) else 1.0 if mine.all() else -1.0
        machine = SVC(self.C, kernel=self.kernel_, loss=self.loss, tol=self.tol, n_jobs=1)
        return machine.fit(X, mine, weights)

    # -- prediction ----------------------------------------------------------------------------------

    @of_one_fit
    def decision_function(self, X: TableLike) -> FloatArray:
        """Blended decisions: of shape (n_samples,) for two classes, else (n_samples, n_classes)."""
        check_is_fitted(self)
        rows = opened(self, X, reset=False)
        n_machines = 1 if len(self.classes_) == 2 else len(self.classes_)
        out = np.zeros((rows.n, n_machines))
        for part in blocks(rows.n, _BLOCK):
            out[part] = self._blend(cut(rows.X, part), part.stop - part.start, n_machines)
        return out[:, 0] if n_machines == 1 else out

    def _blend(self, X: Any, n: int, n_machines: int) -> FloatArray:
        which, share = _shares(validated_columns(X, None), self.centres_, self.softness)
        out = np.zeros((n, n_machines))
        for k in np.unique(which[share > 0]):
            row, side = np.nonzero((which == k) & (share > 0))
            scores = self.cells_[k].decisions(_safe_indexing(X, row), len(row))
            out[row] += share[row, side][:, None] * scores
        return out

    @of_one_fit
    def predict(self, X: TableLike) -> AnyArray:
        """Class labels of shape (n_samples,)."""
        scores = self.decision_function(X)
        codes = (scores > 0).astype(np.int64) if scores.ndim == 1 else scores.argmax(axis=1)
        return self.classes_[codes]


def _nearest(table: Any, centres: FloatArray, k: int) -> tuple[FloatArray, IntArray]:
    """Distances and numbers of the k nearest centres of every row, each of shape (n, k)."""
    way = "brute" if sp.issparse(table) else "auto"  # trees only take dense rows
    distances, numbers = NearestNeighbors(n_neighbors=k, algorithm=way).fit(centres).kneighbors(table)
    return distances, numbers


def _shares(table: Any, centres: FloatArray, softness: float) -> tuple[IntArray, FloatArray]:
    """The cells around every row and their weights, each of shape (n, at most 8)."""
    distances, which = _nearest(table, centres, min(_NEIGHBOURS, len(centres)) if softness > 0 else 1)
    if distances.shape[1] == 1:
        return which, np.ones_like(distances)
    first = distances[:, :1]
    apart = (distances - first) / np.maximum(softness * (distances + first), 1e-300)
    weight = np.maximum(0.0, 1.0 - apart)
    return which, weight / weight.sum(axis=1, keepdims=True)


def _divide(table: Any, size: int, rng: np.random.Generator) -> tuple[FloatArray, IntArray]:
    """Centres whose cells hold at most ``size`` rows, and the cell of every row."""
    n = table.shape[0]
    sample = table if n <= _SAMPLE else table[np.sort(rng.choice(n, size=_SAMPLE, replace=False))]
    centres = kmeans_centres(sample, int(np.ceil(_ROOM * n / size)) if n > size else 1, rng)
    for _ in range(_ROUNDS):
        home = _nearest(table, centres, 1)[1][:, 0]
        counts = np.bincount(home, minlength=len(centres))
        full = np.flatnonzero(counts > size)
        if not len(full):
            break
        split = [kmeans_centres(table[home == k], int(np.ceil(_ROOM * counts[k] / size)), rng) for k in full]
        kept = np.setdiff1d(np.flatnonzero(counts), full)
        more = np.unique(np.vstack([centres[kept], *split]), axis=0)
        if len(more) <= len(kept) + len(full):  # rows that are all equal cannot be divided
            break
        centres = more
    home = _nearest(table, centres, 1)[1][:, 0]
    used, home = np.unique(home, return_inverse=True)
    return centres[used], home
