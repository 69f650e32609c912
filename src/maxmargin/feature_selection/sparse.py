"""Selection by sparse support vector machines: keep the columns whose weights are not zero."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
import pandas as pd
import scipy.sparse as sp
from sklearn.preprocessing import StandardScaler

from maxmargin.base.interruption import all_or_nothing
from maxmargin.base.parameters import (
    check_choice,
    check_count,
    check_flags,
    check_inner_fraction,
    check_positive,
    check_positives,
)
from maxmargin.base.progress import show_line
from maxmargin.base.shown import ShownTable
from maxmargin.base.table_columns import feature_names
from maxmargin.base.tables import Classes, class_factors, fitted_table, read_classes
from maxmargin.base.typing import (
    AnyArray,
    BoolArray,
    ClassWeightLike,
    FloatArray,
    FoldsLike,
    TableLike,
    TargetLike,
)
from maxmargin.feature_selection.base import Selector, how_many
from maxmargin.machines.linear import LinearSVC
from maxmargin.machines.linear.base import SparseInput
from maxmargin.problems.multiclass import BinaryTask, binary_tasks
from maxmargin.tuning.folds import make_folds

Penalty = Literal["l1", "l0", "l1l2", "l0l2"]
Loss = Literal["hinge", "squared_hinge", "logistic"]
NEGLIGIBLE = 1e-8  # weights below this share of the largest count as zero


@dataclass(eq=False, repr=False)
class SparseSVMSelector(SparseInput, Selector):
    """Keep the columns to which a sparse linear SVM gives a weight, along a path of its penalty.

        min over w, b   sum_i L(y_i (<w, x_i> + b)) + lambda P(w)

    with P the l1 norm, the concave approximation of the number of non-zero weights ("l0"), or either of them
    with 1/2 ||w||^2 added ("l1l2", "l0l2"). A large lambda keeps nothing; a small one keeps every column.
    The penalty compares weights, so the columns are standardised first.

    Parameters
    ----------
    penalty : "l1", "l0", "l1l2" or "l0l2".
    n_features : keep this number (or share) of columns: those of largest weight at the largest lambda of the
        path that has at least as many. None chooses lambda by cross-validation.
    loss : "hinge", "squared_hinge" or "logistic".
    lambdas : the path, or None for ``n_lambdas`` values from the smallest lambda that keeps nothing (an upper
        bound of it for the hinge) down to ``ratio`` times it, evenly spaced in the logarithm.
    n_lambdas, ratio : see ``lambdas``.
    sparsity : weight of the l1 or l0 part against 1/2 ||w||^2 in the mixtures.
    l0_alpha : alpha of the concave approximation 1 - exp(-alpha |w|).
    standardize : divide columns by their standard deviation before the fits (in every fold by that of its
        training rows); all weights reported are those of the standardised columns.
    cv : folds of the choice, as in scikit-learn.
    tol, max_iter : of every fit. class_weight : dict, "balanced" or None.
    n_jobs : threads of every fit. verbose : 1 prints a line for every lambda.

    Attributes
    ----------
    support_, selected_ : what is kept. lambda_ : the penalty chosen.
    coef_ : weights there, of shape (n_classifiers, n_features_in_).
    lambdas_ : the path, descending. coef_path_ : of shape (n_lambdas, n_features_in_), the weights of two
        classes, or the root of the sum of squares over the classifiers of more.
    ranking_ : 1 for the columns that enter first (at the largest lambda), 2 for the next, ...
    n_iter_ : the largest number of iterations of a fit.
    history_ : DataFrame (lambda, n_features, entered, left, and with cross-validation error and deviation).

    Notes
    -----
    One fit for each lambda and fold; with an l0 penalty each fit begins at the weights of the one before, so
    that the path is a continuation. Bradley and Mangasarian, Feature selection via concave minimization and
    support vector machines (1998); Neumann, Schnoerr and Steidl, Combined SVM-based feature selection and
    classification (2005); Gómez 2024, (2.14) and (2.16)-(2.20).

    Examples
    --------
    >>> import numpy as np
    >>> from maxmargin.feature_selection import SparseSVMSelector
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(80, 6)); y = (X[:, 1] - X[:, 4] > 0).astype(int)
    >>> SparseSVMSelector("l1", n_features=2).fit(X, y).get_support(indices=True)
    array([1, 4])
    """

    penalty: Penalty = "l1"
    n_features: int | float | None = None
    _: KW_ONLY
    loss: Loss = "squared_hinge"
    lambdas: npt.ArrayLike | None = None
    n_lambdas: int = 20
    ratio: float = 1e-2
    sparsity: float = 1.0
    l0_alpha: float = 5.0
    standardize: bool = True
    cv: FoldsLike = 5
    class_weight: ClassWeightLike | None = None
    tol: float = 1e-4
    max_iter: int = 2000
    n_jobs: int | None = None
    verbose: int = 0

    @all_or_nothing
    def fit(self, X: TableLike, y: TargetLike) -> SparseSVMSelector:
        """Fit the path to ``X`` of shape (n_samples, n_features) and classes ``y``."""
        check_choice("penalty", self.penalty, ("l1", "l0", "l1l2", "l0l2"))
        check_flags(self, "standardize")
        check_positive("sparsity", self.sparsity)
        check_positive("l0_alpha", self.l0_alpha)
        raw = fitted_table(self, X, dtype=np.float64, accept_sparse="csr")
        classes = read_classes(y, raw.shape[0], self)
        labels = classes.labels[classes.codes]
        scaled = self._scaler(raw).fit_transform(raw)
        self.lambdas_ = self._path(scaled, classes)
        models = self._fit_path(scaled, labels)
        self.n_iter_ = int(max(model.n_iter_.max() for model in models))
        self.coef_path_ = np.stack([_joined(model.coef_) for model in models])
        nonzero = np.stack([_nonzero(model.coef_) for model in models])
        errors = None if self.n_features is not None else self._errors(raw, labels)
        self._choose(models, nonzero, errors)
        self._store(nonzero, errors)
        return self

    def _scaler(self, X: Any) -> StandardScaler:
        # the intercept is not penalised, so centring changes no weight, and it separates columns from it
        return StandardScaler(with_std=self.standardize, with_mean=not sp.issparse(X))

    def _fit_path(self, X: FloatArray, y: AnyArray) -> list[LinearSVC]:
        """One model for each lambda; the descent of an l0 penalty begins at the weights of the one before."""
        models: list[LinearSVC] = []
        for value in self.lambdas_:
            before = models[-1].coef_ if models and self.penalty.startswith("l0") else None
            models.append(self._fit_one(value, X, y, before))
        return models

    def _fit_one(self, value: float, X: FloatArray, y: AnyArray, before: FloatArray | None) -> LinearSVC:
        model = LinearSVC(
            C=1.0 / value,
            loss=self.loss,
            penalty=self.penalty,
            sparsity=self.sparsity,
            l0_alpha=self.l0_alpha,
            class_weight=self.class_weight,
            tol=self.tol,
            max_iter=self.max_iter,
            random_state=0,
            n_jobs=self.n_jobs,
        ).fit(X, y, coef_init=before)
        if self.verbose:
            show_line(f"lambda {value:.4g}: {int(_nonzero(model.coef_).sum())} columns")
        return model

    def _path(self, X: FloatArray, classes: Classes) -> FloatArray:
        if self.lambdas is not None:
            return np.sort(check_positives("lambdas", self.lambdas))[::-1]
        check_count("n_lambdas", self.n_lambdas)
        check_inner_fraction("ratio", self.ratio)
        slope = self.sparsity * (self.l0_alpha if self.penalty.startswith("l0") else 1.0)
        tasks = binary_tasks(classes.codes, len(classes.labels), "ovr")
        weights = class_factors(self.class_weight, classes.labels, classes.codes)
        steepest = max(_steepest(X, task, weights, self.loss) for task in tasks)
        # a little above, so that rounding lets no column in; > 0 also when all columns are constant
        largest = max(1.001 * steepest / slope, np.finfo(float).tiny ** 0.25)
        return largest * np.logspace(0, np.log10(self.ratio), self.n_lambdas)

    def _errors(self, X: FloatArray, y: AnyArray) -> pd.DataFrame:
        splits = make_folds(self.cv, LinearSVC(), X, y, random_state=None)
        wrong = np.empty((len(self.lambdas_), len(splits)))
        for f, (train, test) in enumerate(splits):
            scaler = self._scaler(X).fit(X[train])
            held_out = scaler.transform(X[test])
            for k, model in enumerate(self._fit_path(scaler.transform(X[train]), y[train])):
                wrong[k, f] = np.mean(model.predict(held_out) != y[test])
        return pd.DataFrame({"error": wrong.mean(axis=1), "deviation": wrong.std(axis=1, ddof=1)})

    def _choose(self, models: list[LinearSVC], nonzero: BoolArray, errors: pd.DataFrame | None) -> None:
        counts = nonzero.sum(axis=1)
        if errors is None:
            n_kept = how_many(self.n_features_in_, self.n_features)
            enough = np.flatnonzero(counts >= n_kept)
            if len(enough) == 0:
                raise ValueError(
                    f"no lambda of the path keeps {n_kept} columns (at most {counts.max()}): lower ratio, or "
                    "give smaller lambdas."
                )
            place = int(enough[0])
            weight = np.abs(self.coef_path_[place])
            self.support_ = np.isin(np.arange(len(weight)), np.argsort(-weight, kind="stable")[:n_kept])
        else:
            # a model without columns selects nothing; equal errors go to the larger lambda
            usable = np.where(counts > 0, errors["error"].to_numpy(), np.inf)
            place = int(np.argmin(usable))
            self.support_ = nonzero[place]
        self.lambda_ = float(self.lambdas_[place])
        self.coef_ = models[place].coef_

    def _store(self, nonzero: BoolArray, errors: pd.DataFrame | None) -> None:
        names = np.array(feature_names(self), dtype=object)
        before = np.vstack([np.zeros((1, nonzero.shape[1]), dtype=bool), nonzero[:-1]])
        self.history_ = ShownTable(
            {
                "lambda": self.lambdas_,
                "n_features": nonzero.sum(axis=1),
                "entered": [tuple(names[now & ~old]) for now, old in zip(nonzero, before, strict=True)],
                "left": [tuple(names[old & ~now]) for now, old in zip(nonzero, before, strict=True)],
            }
        )
        if errors is not None:
            self.history_ = self.history_.join(errors)
        first = np.where(nonzero.any(axis=0), nonzero.argmax(axis=0), len(nonzero))
        self.ranking_ = np.unique(first, return_inverse=True)[1] + 1


def _joined(coef: FloatArray) -> FloatArray:
    """The weights of one classifier, or the root of the sum of squares over several."""
    return coef[0] if len(coef) == 1 else np.sqrt((coef**2).sum(axis=0))


def _nonzero(coef: FloatArray) -> BoolArray:
    sizes = np.abs(coef).max(axis=0)
    return sizes > NEGLIGIBLE * max(float(sizes.max(initial=0.0)), np.finfo(float).tiny)


def _steepest(X: FloatArray, task: BinaryTask, weights: FloatArray, loss: Loss) -> float:
    """The largest slope of the losses in a weight at w = 0 and the best b: a larger lambda leaves w at 0.

    For the hinge b is +-1 and the larger class lies on the kink, where any slope in [-1, 0] is allowed. The
    one that balances the classes is used, which gives an upper bound.
    """
    y, c = task.signs, weights[task.rows]
    up, down = c[y > 0].sum(), c[y < 0].sum()
    if loss == "hinge":
        slopes = np.where(y > 0, min(1.0, down / up), min(1.0, up / down))
    elif loss == "squared_hinge":
        slopes = 2.0 * (1.0 - y * (up - down) / (up + down))
    else:
        slopes = np.where(y > 0, down, up) / (up + down)
    return float(np.abs((c * slopes * y) @ X[task.rows]).max())
