"""Relations between the parts of a model, checked for every object of a file as soon as it is made.

`schema` has kinds and shapes; here are the relations between fields: prepared rows belong to their support
vectors, coefficients to classes, bins to counts, columns to steps. Coefficients, intercepts, support vectors
and the like are free: they are the model.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Collection, Sequence
from itertools import combinations, pairwise
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.utils.validation import check_is_fitted

from maxmargin.base.parameters import check_choice, check_not_negative
from maxmargin.base.table_columns import column_mask, feature_names
from maxmargin.base.threads import effective_threads
from maxmargin.base.typing import AnyArray
from maxmargin.io.prepared_rows import (
    Columns,
    agree,
    agree_closely,
    check_combined,
    check_counts,
    check_points,
    check_rows,
    check_strings,
    check_vectors,
    check_weighted,
)
from maxmargin.io.schema import entry_of, hidden
from maxmargin.kernels import Precomputed

_MOST_NAMES = 8192  # of columns that nothing in the file has, for all steps of a pipeline
_MOST_LETTERS = 1_000_000  # of names that steps make from long names
_LONGEST_NAME = 200  # of a step: it stands before the name of each of its columns
_MOST_PROCESSES = 64
_LONGEST_PHRASE = 30  # words or letters: each text is cut into phrases of all lengths
# other patterns could take years
_TOKENS = inspect.signature(TfidfVectorizer).parameters["token_pattern"].default


def check_parts(name: str, made: Any) -> None:
    """Raise ValueError where the parts of an object contradict each other; unfitted models have none."""
    if not entry_of(name).is_fitted(made):
        return
    if isinstance(made, BaseEstimator):
        effective_threads(getattr(made, "n_jobs", None))
        for output in (_hidden(made, ".sklearn_output_config") or {}).items():
            agree(
                output[0] == "transform" and output[1] in ("default", "pandas", "polars"),
                "the kind of output",
            )
    # hasattr: parts without parameters, such as _SigmoidCalibration, have nothing to validate
    if name.startswith("sklearn/") and hasattr(made, "_parameter_constraints"):
        made._validate_params()  # scikit-learn does so in fit only
    if hasattr(made, "check_parameters"):
        made.check_parameters()
    with np.errstate(all="ignore"):
        _CHECKS.get(name, lambda made: None)(made)


def _hidden(model: Any, field: str) -> Any:
    return vars(model).get(hidden(field))


def _check_same_table(first: Any, second: Any) -> None:
    agree(Columns.of(first) == Columns.of(second), "the columns of two parts")


# -- models with a kernel ------------------------------------------------------------------------------------


def _n_machines(model: Any) -> int:
    """Binary problems behind the classes of a classifier."""
    strategy = getattr(model, "multiclass", "ovr")
    check_choice("multiclass", strategy, ("ovo", "ovr", "multinomial"))
    k = len(model.classes_)  # of a file, perhaps many: the pairs are counted, not listed
    return 1 if k == 2 else k * (k - 1) // 2 if strategy == "ovo" else k


def _svm(model: Any) -> None:
    points, support, columns = model.support_points_, model.support_, Columns.of(model)
    precomputed = isinstance(model.kernel_, Precomputed)
    agree(precomputed == (model.kernel == "precomputed"), "kernels")
    agree(len(points) == len(support) == len(np.unique(support)), "support vectors")
    check_points(model.kernel_, points, columns)
    if precomputed:
        agree(np.array_equal(points.index, support), "support vectors and rows of kernel values")
    else:
        check_rows(model.kernel_, model.support_vectors_, points, columns)
    n_rows = getattr(model, "shape_fit_", (np.inf,))[0]
    agree(support.min(initial=0) >= 0 and support.max(initial=-1) < n_rows, "support vectors")
    agree(np.array_equal(getattr(model, "offset_", -model.intercept_), -model.intercept_), "offsets")
    if hasattr(model, "classes_"):
        _svm_classes(model)
    else:
        sides = len(model.dense_dual_coef), len(model.intercept_), model.n_support_.tolist()
        agree(sides == (1, 1, [len(support)]), "coefficients")
    if hasattr(model, "machines_"):
        _check_problems(model, int(n_rows))


def _svm_classes(model: Any) -> None:
    k, counts, calibrated = len(model.classes_), model.n_support_, _hidden(model, ".calibrated")
    rows = k - 1 if k > 2 and model.multiclass == "ovo" else _n_machines(model)
    sides = len(model.dense_dual_coef), len(model.intercept_), len(counts)
    agree(sides == (rows, _n_machines(model), k), "coefficients and classes")
    agree(counts.min() >= 0 and counts.sum() == len(model.support_), "support vectors and classes")
    if hasattr(model, "class_codes_"):
        agree(len(model.class_codes_) == model.shape_fit_[0], "training rows and classes")
        owners = np.repeat(np.arange(k), counts)
        agree(np.array_equal(model.class_codes_[model.support_], owners), "support vectors and classes")
    agree((calibrated is not None) == model.probability, "probabilities")
    if calibrated is not None:
        _check_same_table(model, calibrated)
        agree(np.array_equal(calibrated.classes_, model.classes_), "probabilities and classes")


def _check_problems(model: Any, n_rows: int) -> None:
    """Check that coefficients, rows and intercepts are those of the binary problems."""
    problems = zip(model.machines_, _spread(model), model.intercept_, strict=True)
    for machine, coefficients, intercept in problems:
        agree(machine.rows.min(initial=0) >= 0 and machine.rows.max(initial=-1) < n_rows, "rows")
        used, known = _not_zero(machine.rows, machine.beta), _not_zero(model.support_, coefficients)
        agree(all(map(np.array_equal, used, known)), "coefficients")
        agree(machine.intercept == intercept, "intercepts")
    for task, machine in zip(getattr(model, "binary_tasks_", model.machines_), model.machines_, strict=True):
        agree(np.array_equal(task.rows, machine.rows) and np.array_equal(task.signs, machine.signs), "rows")


def _not_zero(rows: AnyArray, values: AnyArray) -> tuple[AnyArray, AnyArray]:
    """The rows with a value, in ascending order, and their values."""
    order = np.argsort(rows, kind="stable")
    order = order[values[order] != 0]
    return rows[order], values[order]


def _spread(model: Any) -> list[AnyArray]:
    """Coefficients of each binary problem; those of pairs of classes are stored in LIBSVM's layout."""
    if not hasattr(model, "classes_") or len(model.classes_) == 2 or model.multiclass != "ovo":
        return list(model.dense_dual_coef)
    owners, compact = np.repeat(np.arange(len(model.classes_)), model.n_support_), model.dense_dual_coef
    return [
        np.where(owners == i, compact[j - 1], np.where(owners == j, compact[i], 0.0))
        for i, j in combinations(range(len(model.classes_)), 2)
    ]


def _binary_problem(machine: Any) -> None:
    n, n_multipliers = len(machine.rows), len(machine.alpha)
    agree(n_multipliers in (n, 2 * n) and len(machine.solution.x) == n_multipliers, "multipliers")
    agree(len(np.unique(machine.rows)) == n, "rows")


def _perceptron(model: Any) -> None:
    points, past, columns = _hidden(model, ".points"), _hidden(model, ".past"), Columns.of(model)
    agree(len(model.dual_coef_) == _n_machines(model), "coefficients and classes")
    agree(
        len(points) == len(model.support_) and np.array_equal(past.positions, model.support_),
        "support vectors",
    )
    agree_closely(model.intercept_, model.dual_coef_.sum(axis=1), "intercepts")
    agree(past.sums.shape == model.dual_coef_.shape, "coefficients and steps")
    check_points(model.kernel_, points, columns)
    if past.rows is not None:
        check_rows(model.kernel_, past.rows, points, columns)


def _kernel_ridge(model: Any) -> None:
    points, paths = _hidden(model, ".points"), getattr(model, "paths_", None) or [model.path_]
    agree(len(points) == len(model.dual_coef_), "coefficients and rows")
    targets = zip(paths, np.atleast_1d(model.alpha_), np.atleast_2d(model.dual_coef_.T), strict=True)
    for path, alpha, coef in targets:
        chosen = path.coef[path.alphas == alpha]
        agree(len(chosen) and np.array_equal(chosen[0], coef), "coefficients and path")
    check_points(model.kernel_, points, Columns.of(model))


# -- approximate kernels -------------------------------------------------------------------------------------


def _nystrom(made: Any) -> None:
    agree(len(made.landmarks) == len(made.root), "landmarks")


def _fourier(made: Any) -> None:
    agree(len(made.like) == len(made.atoms), "frequencies and kernels")
    for part in made.parts:
        agree(len(part.atoms) == len(part.W) and len({W.shape[1] for W in part.W}) <= 1, "frequencies")
        for k, W in zip(part.atoms, part.W, strict=True):
            agree(
                0 <= k < len(made.like) and W.shape[0] == made.like[k].X.shape[1], "frequencies and columns"
            )


def _mapped(model: Any) -> None:
    """Estimators with a map into features."""
    map_, columns, exact = model.map_, Columns.of(model), getattr(model, "exact_", None)
    agree(model.kernel_ is map_.kernel and model.n_components_ == map_.n_components, "features")
    check_points(model.kernel_, getattr(map_, "landmarks", None) or map_.exact_like, columns)
    for atom, like in zip(getattr(map_, "atoms", ()), getattr(map_, "like", ()), strict=True):
        check_points(atom, like, columns)
    if hasattr(model, "classes_"):
        _planes(model)
    if exact is not None:
        _check_same_table(model, exact)
        agree(np.array_equal(getattr(exact, "classes_", 0), getattr(model, "classes_", 0)), "classes")
    if getattr(model, "dual_coef_", None) is not None:
        points = _hidden(model, ".points")
        agree(points is not None and len(points) == len(model.dual_coef_), "coefficients and rows")
        check_points(model.kernel_, points, columns)


def _cells(model: Any) -> None:
    check_not_negative("softness", model.softness)
    agree(len(model.cells_) == len(model.centres_) > 0, "cells and centres")
    for cell in model.cells_:
        agree(len(cell.machines) == _n_machines(model), "cells and classes")
        for machine in cell.machines:
            if not isinstance(machine, float):
                agree(hasattr(machine, "support_points_"), "the models of cells")
                agree(machine.classes_.tolist() == [False, True], "the classes of cells")
                _check_same_table(model, machine)


# -- linear models -------------------------------------------------------------------------------------------


def _planes(model: Any) -> None:
    agree(len(model.coef_) == _n_machines(model), "coefficients and classes")


def _plane(model: Any) -> None:
    agree(np.ndim(model.coef_) == 2 or np.size(model.intercept_) == 1, "intercepts")


def _online(model: Any) -> None:
    """Check that weights are the last iterate, or the mean of all (perhaps without the first, zero)."""
    _planes(model)
    states, planes = _hidden(model, ".states"), np.column_stack([model.coef_, model.intercept_])
    agree(
        len(states) == len(planes) and all(len(state.v) == model.coef_.shape[1] for state in states), "steps"
    )
    last, mean = (np.array([state.theta(average) for state in states]) for average in (False, True))
    later = mean - last / np.array([[max(state.steps, 1.0)] for state in states])
    close = [np.allclose(planes, found, rtol=1e-9, atol=1e-12) for found in (last, mean, later)]
    agree(any(close), "coefficients and steps")


def _fisher(model: Any) -> None:
    agree(len(model.cut_points_) == len(model.classes_) - 1, "cut points and classes")
    shares = getattr(model, "priors_", None)
    agree(model.priors is None or (shares is not None and bool(np.min(shares) > 0)), "priors")


# -- scorecards ----------------------------------------------------------------------------------------------


def _bins(bins: Any) -> None:
    groups = getattr(bins, "groups", ())
    agree(
        type(groups) is type(bins.specials) is tuple and all(type(group) is tuple for group in groups), "bins"
    )
    values = [value for group in groups for value in group]
    agree(len(set(values)) == len(values) and (np.diff(getattr(bins, "edges", ())) > 0).all(), "bins")


def _binning(model: Any) -> None:
    columns = Columns.of(model)
    agree(columns.n == len(model.bins_) == len(model.counts_), "bins and columns")
    agree(not columns.names or [bins.name for bins in model.bins_] == columns.names, "bins and columns")
    chosen = model.categorical_features
    agree(isinstance(chosen, Collection), "the columns of categories")
    column_mask(chosen, feature_names(model))  # an error where it names columns that are not there
    agree(model.event_ in model.classes_ and len(model.totals_) == 2, "the event")
    for j, (bins, counts) in enumerate(zip(model.bins_, model.counts_, strict=True)):
        agree(np.shape(counts) == (2, bins.n_bins) and counts.min() >= 0, "bins and counts")
        agree_closely(counts.sum(axis=1), np.array(model.totals_), "counts")
        agree(np.isfinite(model.woe(j)).all(), "counts")


def _discretizer(model: Any) -> None:
    agree(len(model.cuts_) == len(model.n_bins_) == Columns.of(model).n, "cuts and columns")
    for cuts, n_bins in zip(model.cuts_, model.n_bins_, strict=True):
        agree(type(cuts) is np.ndarray and cuts.dtype == np.float64 and cuts.ndim == 1, "cuts and bins")
        ascending = np.isfinite(cuts).all() and (cuts[1:] > cuts[:-1]).all()
        agree(ascending and len(cuts) + 1 == n_bins, "cuts and bins")


def _woe(model: Any) -> None:
    _check_same_table(model, model.binning_)
    check_choice("handle_unknown", getattr(model, "handle_unknown", "warn"), ("warn", "neutral", "error"))
    check_choice("numerator", getattr(model, "numerator", "event"), ("nonevent", "event"))


def _scorecard(model: Any) -> None:
    binning, used, inner = model.binning_, _hidden(model, ".used"), model.estimator_
    _woe(model)
    agree(model.encoder_.binning_ is binning and np.array_equal(model.classes_, binning.classes_), "bins")
    agree([binning.bins_[j].name for j in used] == list(model.variables_), "variables")
    sign = 1.0 if binning.event_ == model.classes_[1] else -1.0
    agree_closely(model.coef_, sign * inner.coef_[0], "coefficients")
    agree_closely(model.intercept_, sign * inner.intercept_[0], "intercepts")
    agree_closely(model.factor_, model.pdo / np.log(2.0), "points")
    agree_closely(model.offset_, model.base_score - model.factor_ * np.log(model.base_odds), "points")
    constant = model.offset_ - model.factor_ * model.intercept_
    share, base = (constant / len(used), 0.0) if model.intercept == "spread" else (0.0, constant)
    settle = np.rint if model.round_points else np.asarray
    agree_closely(model.base_points_, settle(base), "points")
    parts = zip(
        model.coef_, used, _hidden(model, ".contributions"), _hidden(model, ".bin_points"), strict=True
    )
    for b, j, contribution, points in parts:
        agree_closely(contribution, b * binning.woe(j), "the contributions of bins")
        agree_closely(points, settle(share - model.factor_ * contribution), "the points of bins")


# -- searches ------------------------------------------------------------------------------------------------


def _tuned(result: Any) -> None:
    agree(len(result.table) == len(result.params) == len(result.folds), "cells")
    agree({"error", "dispersion", "seconds"} <= {*result.table.columns}, "errors")
    agree(np.allclose(result.table["error"], result.folds.mean(axis=1), equal_nan=True), "errors")


def _grid_search(model: Any) -> None:
    best = getattr(model, "best_estimator_", None)
    agree(
        0 <= getattr(model, "best_index_", 0) < len(model.result_.params)
        and best is model.result_.best_estimator,
        "best cell",
    )
    if best is not None:
        check_is_fitted(best)
        agree(getattr(best, "n_features_in_", None) == Columns.of(model).n, "columns")


def _elimination(model: Any) -> None:
    n = int(model.support_.sum())
    agree(model.n_features_ == n == getattr(model.estimator_, "n_features_in_", n), "chosen columns")


# -- steps of scikit-learn -----------------------------------------------------------------------------------


def _pipeline(model: Any) -> None:
    pairs = type(model.steps) is list and all(type(step) is tuple and len(step) == 2 for step in model.steps)
    agree(pairs and model.steps, "the steps of a pipeline")
    names = [name for name, _ in model.steps]
    agree(
        all(type(name) is str for name in names) and len(set(names)) == len(names), "the steps of a pipeline"
    )
    parts = [step for _, step in model.steps if step is not None and step != "passthrough"]
    agree(sum(map(_n_invented, parts[:-1])) <= _MOST_NAMES, "the columns of a step")
    for step, following in pairwise(parts):
        on_texts = 1 if hasattr(following, "kernel_") else None  # a machine on one column of strings
        seen = getattr(following, "n_features_in_", on_texts)
        if hasattr(step, "n_features_in_") and seen is not None:
            made = step.get_feature_names_out()
            agree(len(made) == seen, "the steps of a pipeline")
            agree(
                list(getattr(following, "feature_names_in_", made)) == list(made), "the steps of a pipeline"
            )


def _n_invented(step: Any) -> int:
    """The number of columns, for which names will be made, unless something in the file is as long."""
    n = getattr(step, "n_features_in_", 0)
    parts = vars(step).values()
    return 0 if any(len(part) == n for part in parts if isinstance(part, (list, np.ndarray))) else n


def _column_transformer(model: Any) -> None:
    indices, columns = _hidden(model, ".transformer_to_input_indices"), Columns.of(model)
    made = _hidden(model, ".transformers_feature_names_out")
    if made is not None:
        words = isinstance(made, np.ndarray) and all(isinstance(name, str) for name in made)
        agree(words and len(set(made)) == len(made), "the names of the columns that are made")
    effective = model.n_jobs is None or abs(model.n_jobs) <= _MOST_PROCESSES
    agree(effective, "the number of processes")
    for name, step, chosen in model.transformers_:
        agree(type(name) is str and len(name) <= _LONGEST_NAME, "the names of steps")
        mine = _positions(chosen, columns)
        agree(len(indices.get(name, ())) == len(mine), "the columns of a step")
        agree(list(indices.get(name, ())) == list(mine), "the columns of a step")
        named = [columns.names[j] for j in mine] if columns.names else []
        agree(getattr(step, "n_features_in_", len(mine)) == len(mine), "the columns of a step")
        agree(list(getattr(step, "feature_names_in_", named)) == named, "the columns of a step")


def _positions(chosen: Any, columns: Columns) -> Sequence[int]:
    every = range(columns.n or 0)
    if isinstance(chosen, slice):
        return every[chosen]
    given = [chosen] if isinstance(chosen, (str, int)) else list(chosen)
    if given and all(isinstance(one, (bool, np.bool_)) for one in given):
        return [j for j, kept in zip(every, given, strict=True) if kept]
    return columns.chosen(given)


def _scaler(model: Any) -> None:
    options = {
        "with_mean": "mean_",
        "with_std": "scale_",
        "with_centering": "center_",
        "with_scaling": "scale_",
    }
    for option, field in options.items():
        agree(
            not getattr(model, option, False) or getattr(model, field) is not None, "a scaler and its options"
        )
    if model.scale_ is not None:
        agree((model.scale_ > 0).all(), "the scales of columns")
        if getattr(model, "var_", None) is not None:  # columns that do not vary have the scale 1
            agree_closely(
                model.scale_, np.where(model.scale_ == 1, 1.0, np.sqrt(model.var_)), "the scales of columns"
            )


def _imputer(model: Any) -> None:
    agree(np.shape(model.statistics_) == (model.n_features_in_,), "the columns of an imputer")
    kind = np.dtype(_hidden(model, ".fit_dtype")).kind
    agree(kind == "O" or not isinstance(model.missing_values, str), "the missing values of an imputer")


def _encoder(model: Any) -> None:
    agree(len(model.categories_) == model.n_features_in_, "the columns of an encoder")
    for known in model.categories_:
        agree(type(known) is np.ndarray and known.ndim == 1, "the categories of an encoder")
        numbers = known[: -1 if known.dtype.kind == "f" and np.isnan(known[-1:]).any() else None]
        ordered = known.dtype.kind not in "biuf" or (numbers[1:] > numbers[:-1]).all()
        agree(ordered and len(set(known.tolist())) == len(known), "the categories of an encoder")
    if not hasattr(model, "drop_idx_"):
        return
    names = Columns.of(model).names
    letters = sum(len(name) * len(known) for name, known in zip(names, model.categories_, strict=False))
    agree(letters <= _MOST_LETTERS + 100 * sum(map(len, model.categories_)), "the names of columns")
    sizes = np.array([len(known) for known in model.categories_])
    for j, mapping in enumerate(_hidden(model, ".default_to_infrequent_mappings") or ()):
        if mapping is not None:
            agree(np.shape(mapping) == (sizes[j],) and mapping.min() >= 0, "the groups of an encoder")
            sizes[j] = mapping.max() + 1
    dropped = _hidden(model, ".drop_idx_after_grouping")
    if dropped is not None:
        there = [j is None or 0 <= j < size for j, size in zip(dropped, sizes, strict=True)]
        agree(all(there), "the categories of an encoder")
        sizes = sizes - [j is not None for j in dropped]
    agree(sizes.tolist() == list(_hidden(model, ".n_features_outs")), "the categories of an encoder")


def _calibrated(model: Any) -> None:
    for one in model.calibrated_classifiers_:
        _check_same_table(model, one.estimator)
        agree(np.array_equal(one.classes, model.classes_), "probabilities and classes")


def _calibrated_part(one: Any) -> None:
    check_is_fitted(one.estimator)
    agree(np.array_equal(one.estimator.classes_, one.classes), "probabilities and classes")
    agree(len(one.calibrators) == (1 if len(one.classes) == 2 else len(one.classes)), "probabilities")


def _quadratic_form(kernel: Any) -> None:
    root = _hidden(kernel, ".root")
    if root is not None:
        agree_closely(root @ root.T, np.asarray(kernel.B), "the matrix of a kernel")


def _words(vectorizer: Any) -> None:
    """Check that every word has a column of its own, and every column a weight."""
    words = vectorizer.vocabulary_
    numbers = sorted(int(place) for place in words.values() if isinstance(place, (int, np.integer)))
    agree(all(type(word) is str for word in words), "the words of a vocabulary")
    agree(numbers == list(range(len(words))), "the columns of a vocabulary")
    agree(len(vars(vectorizer)["_tfidf"].idf_) == len(words), "the weights of the words")
    agree(vectorizer.input == "content", "the input of words")  # else rows would name files to read
    agree(max(vectorizer.ngram_range) <= _LONGEST_PHRASE, "the lengths of phrases")
    agree(vectorizer.analyzer in ("word", "char", "char_wb"), "the analyzer of words")
    agree(vectorizer.token_pattern == _TOKENS, "the pattern of words")


_CHECKS: dict[str, Callable[[Any], None]] = {
    "QuadraticForm": _quadratic_form,
    "VectorPoints": check_vectors,
    "StringPoints": check_strings,
    "CountPoints": check_counts,
    "CombinedPoints": check_combined,
    "WeightedPoints": check_weighted,
    "NystromMap": _nystrom,
    "FourierMap": _fourier,
    "FittedProblem": _binary_problem,
    "FisherDiscriminant": _fisher,
    "KernelPerceptron": _perceptron,
    "KernelRidge": _kernel_ridge,
    "CellSVC": _cells,
    "Binning": _binning,
    "MDLDiscretizer": _discretizer,
    "Scorecard": _scorecard,
    "TuneResult": _tuned,
    "GridSearch": _grid_search,
    "RandomSearch": _grid_search,
    "RFE": _elimination,
    "RFECV": _elimination,
    "sklearn/Pipeline": _pipeline,
    "sklearn/ColumnTransformer": _column_transformer,
    "sklearn/SimpleImputer": _imputer,
    "sklearn/CalibratedClassifierCV": _calibrated,
    "sklearn/.CalibratedClassifier": _calibrated_part,
    **dict.fromkeys(("SVC", "NuSVC", "HardMarginSVC", "SVR", "NuSVR", "OneClassSVM", "SVDD"), _svm),
    **dict.fromkeys(("LogisticRegression", "LinearSVC"), _planes),
    **dict.fromkeys(("LinearSVR", "LeastSquares", "Ridge"), _plane),
    **dict.fromkeys(("Perceptron", "PassiveAggressive", "Pegasos", "SubgradientDescent"), _online),
    **dict.fromkeys(("LargeSVC", "LargeSVR", "LargeKernelRidge", "LowRank", "RandomFourier"), _mapped),
    **dict.fromkeys(("NumberBins", "CategoryBins"), _bins),
    **dict.fromkeys(("WOEEncoder", "IVSelector"), _woe),
    **dict.fromkeys(("sklearn/StandardScaler", "sklearn/RobustScaler", "sklearn/MaxAbsScaler"), _scaler),
    **dict.fromkeys(("sklearn/OneHotEncoder", "sklearn/OrdinalEncoder"), _encoder),
    "sklearn/TfidfVectorizer": _words,
}
