"""Wrong tables and targets: every refusal says what is wrong, what was got, and what to do."""

from __future__ import annotations

import inspect
import warnings

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from sklearn.exceptions import ConvergenceWarning

import maxmargin as mm
from maxmargin.base.tables import checked_table, class_codes, class_factors
from maxmargin.feature_selection import RFE, SFS, FisherScore, ReliefF, SparseSVMSelector
from maxmargin.scorecards import IVSelector

RNG = np.random.default_rng(0)
X = RNG.normal(size=(12, 2))
LABELS = np.repeat(["a", "b"], 6)
NUMBERS = X[:, 0]

CLASSIFIERS = [
    mm.SVC,
    mm.NuSVC,
    mm.HardMarginSVC,
    mm.LargeSVC,
    mm.CellSVC,
    mm.KernelPerceptron,
    mm.LinearSVC,
    mm.LogisticRegression,
    mm.Perceptron,
    mm.Pegasos,
    mm.FisherDiscriminant,
]
WEIGHTED = [kind for kind in CLASSIFIERS if "class_weight" in kind().get_params()]
REGRESSORS = [
    mm.SVR,
    mm.NuSVR,
    mm.LargeSVR,
    mm.LargeKernelRidge,
    mm.KernelRidge,
    mm.Ridge,
    mm.LeastSquares,
    mm.LinearSVR,
]
MACHINES = [*CLASSIFIERS, *REGRESSORS, mm.OneClassSVM, mm.SVDD, mm.LowRank]


def with_value(value):
    table = X.copy()
    table[3, 1] = value
    return table


def target_of(kind):
    return NUMBERS if kind in REGRESSORS else LABELS


@pytest.mark.parametrize("kind", MACHINES)
def test_nan_and_infinity_name_the_column_and_the_remedy(kind):
    with pytest.raises(ValueError, match=r"X contains NaN in column 1: drop .*SimpleImputer"):
        kind().fit(with_value(np.nan), target_of(kind))
    table = pd.DataFrame(with_value(np.inf), columns=["age", "dose"])
    with pytest.raises(ValueError, match=r"X contains infinity .* in column 'dose': drop"):
        kind().fit(table, target_of(kind))


def test_sums_that_overflow_both_ways_are_no_warning():
    """scikit-learn adds all values up to look for NaN, and infinity - infinity is invalid."""
    X = np.full((4096, 1), np.float32(3e38))
    X[2048:] *= -1
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        np.testing.assert_array_equal(checked_table(X, dtype=[np.float64, np.float32]), X)


def test_nan_in_a_sparse_matrix_is_refused_without_a_place():
    with pytest.raises(ValueError, match=r"X contains NaN: drop"):
        mm.SVC().fit(sp.csr_array(with_value(np.nan)), LABELS)


@pytest.mark.parametrize("kind", MACHINES)
def test_text_in_a_table_of_numbers(kind):
    with pytest.raises(ValueError, match=r"X holds text \(.*'red'\).*OneHotEncoder.*Subsequence"):
        kind().fit(np.array([["red", "green"]] * 12), target_of(kind))


@pytest.mark.parametrize("kind", CLASSIFIERS)
def test_labels(kind):
    with pytest.raises(ValueError, match="y holds one class only, 'a': add rows of another class"):
        kind().fit(X, np.full(12, "a"))
    with pytest.raises(ValueError, match=r"y has 1 missing labels: drop these rows"):
        kind().fit(X, np.array([None, *LABELS[1:]], dtype=object))
    with pytest.raises(ValueError, match=r"y contains NaN: drop the rows without a target"):
        kind().fit(X, np.array([np.nan, *np.ones(11)]))
    with pytest.raises(ValueError, match=f"{kind.__name__} requires y to be passed.*call fit"):
        kind().fit(X, None)
    with pytest.raises(ValueError, match=r"X has 12 rows and y has 11.*one target for each row"):
        kind().fit(X, LABELS[:-1])


@pytest.mark.parametrize("kind", REGRESSORS)
def test_numbers(kind):
    """None among objects becomes NaN in scikit-learn's conversion, after its own check."""
    with pytest.raises(ValueError, match="y contains NaN: drop the rows without a target"):
        kind().fit(X, np.array([None, *NUMBERS[1:]], dtype=object))


@pytest.mark.parametrize("kind", REGRESSORS)
def test_text_for_a_number(kind):
    with pytest.raises(ValueError, match=rf"y holds text .*'a'.* and {kind.__name__} predicts numbers"):
        kind().fit(X, LABELS)


@pytest.mark.parametrize("kind", [kind for kind in MACHINES if kind is not mm.LowRank])
def test_weights_of_rows(kind):
    y = target_of(kind)
    for wrong, message in [
        (np.zeros(12), "all samples have zero or negative weights"),
        (np.r_[-2.0, np.ones(11)], "sample_weight holds negative numbers, the least -2"),
        (np.ones(11), r"sample_weight has the shape \(11,\), and X has 12 rows"),
        (np.r_[np.nan, np.ones(11)], "sample_weight contains NaN"),
    ]:
        if "sample_weight" in inspect.signature(kind.fit).parameters:
            with pytest.raises(ValueError, match=message):
                kind().fit(X, y, sample_weight=wrong)


@pytest.mark.parametrize("kind", WEIGHTED)
@pytest.mark.parametrize(
    ("weights", "message"),
    [
        ("even", "class_weight='even' is unknown: use a dict, 'balanced' or None"),
        ({"a": -1.0}, r"class_weight\['a'\]=-1.0 must be a finite number >= 0"),
        ({"a": "b"}, r"class_weight\['a'\]='b' must be a finite number >= 0"),
        ({"A": 2.0}, r"The classes \['a', 'b'\] are not in class_weight, and its \['A'\] are not classes"),
    ],
)
def test_weights_of_classes(kind, weights, message):
    with pytest.raises(ValueError, match=message):
        kind(class_weight=weights).fit(X, LABELS)


def test_weights_of_classes_are_found_by_their_label():
    """Labels that look like numbers, and labels that are equal to their key in the dict."""
    for labels in (np.repeat(["1", "2"], 6), np.repeat([1.0, 2.0], 6), np.repeat([False, True], 6)):
        first = labels[0].item()
        weights = class_factors({first: 3.0}, *class_codes(labels, 12, mm.SVC()))
        np.testing.assert_array_equal(weights, np.repeat([3.0, 1.0], 6))


def test_a_class_without_weight_is_named():
    with pytest.raises(ValueError, match="no row of the class 'b' has a positive weight"):
        mm.SVC().fit(X, LABELS, sample_weight=LABELS == "a")


def test_certify_checks_the_target():
    model = mm.SVR(kernel="linear").fit(X, NUMBERS)
    assert mm.certify(model, X, NUMBERS).kkt <= model.tol
    with pytest.raises(ValueError, match="SVR requires y to be passed"):
        mm.certify(model, X)
    with pytest.raises(ValueError, match="X has 12 rows and y has 11"):
        mm.certify(model, X, NUMBERS[:-1])
    with pytest.raises(
        ValueError, match=r"not the rows that the model was fitted on \(12 of positive weight"
    ):
        mm.certify(model, X[:-1], NUMBERS[:-1])


def test_class_codes_keep_the_type_of_the_labels():
    for labels in (np.array([3, 1, 3]), np.array([True, False, True]), np.array(["b", "a", "b"])):
        model = mm.LargeSVC(n_components=2, random_state=0).fit(X[:3], labels)
        assert model.classes_.dtype == labels.dtype
        assert model.classes_.tolist() == sorted(set(labels.tolist()))


@pytest.mark.parametrize(
    ("fit", "message"),
    [
        (lambda: mm.SVC(cache_size="a").fit(X, LABELS), "cache_size='a' must be a number of MB > 0"),
        (lambda: mm.SVC(n_jobs=2.5).fit(X, LABELS), "n_jobs=2.5 has no meaning: use None"),
        (lambda: mm.SVC(n_jobs="a").fit(X, LABELS), "n_jobs='a' has no meaning: use None"),
        (lambda: mm.LargeSVC(memory="a").fit(X, LABELS), "memory='a' must be a number > 0"),
        (lambda: mm.LargeSVC(max_iter=2.5).fit(X, LABELS), "max_iter=2.5 must be a whole number >= 1"),
        (lambda: mm.KernelRidge("a").fit(X, NUMBERS), "alpha='a' must be a finite number >= 0"),
        (
            lambda: mm.KernelRidge(alphas=[1.0, 0.0]).fit(X, NUMBERS),
            r"alphas=\[1.0, 0.0\] must be a list",
        ),
        (lambda: mm.KernelRidge(alphas=2.0).fit(X, NUMBERS), "alphas=2.0 must be a list of finite numbers"),
        (lambda: mm.KernelPerceptron(budget="a").fit(X, LABELS), "budget='a' must be a whole number >= 1"),
        (lambda: mm.Ridge(alphas=["a"]).fit(X, NUMBERS), r"alphas=\['a'\] must be a list of finite numbers"),
        (
            lambda: mm.FisherDiscriminant("a").fit(X, LABELS),
            "n_components='a' must be a whole number from",
        ),
        (
            lambda: mm.FisherDiscriminant(shrinkage="a").fit(X, LABELS),
            "shrinkage='a' must be a number",
        ),
        (
            lambda: mm.LinearSVC(penalty="l1", sparsity="a").fit(X, LABELS),
            "sparsity='a' must be a finite",
        ),
        (lambda: mm.LinearSVC(solver=None).fit(X, LABELS), "solver=None is unknown: use 'auto', 'newton'"),
        (lambda: mm.SVC(solver=mm.solvers.Chunking(size="a")).fit(X, LABELS), "size='a' must be a whole"),
        (
            lambda: FisherScore(n_features="a").fit(X, LABELS),
            "n_features='a' cannot be chosen from 2",
        ),
        (lambda: SFS(mm.SVC(), size="a", cv=2).fit(X, LABELS), "size='a' must be a whole number from 1 to 2"),
        (lambda: mm.LargeSVR(tol="a").fit(X, NUMBERS), "tol='a' must be a number > 0"),
        (lambda: mm.CellSVC(0.0).fit(X, LABELS), "C=0.0 must be a number > 0"),
        (lambda: mm.Binning(max_bins="a").fit(X, LABELS), "max_bins='a' must be a whole number >= 1"),
        (lambda: mm.Binning(min_share="a").fit(X, LABELS), "min_share='a' must be a finite number >= 0"),
        (lambda: mm.Scorecard(pdo="a").fit(X, LABELS), "pdo='a' must be a number > 0"),
    ],
)
def test_parameters_of_the_wrong_kind(fit, message):
    with pytest.raises(ValueError, match=message):
        fit()


def test_functions_that_are_given_the_wrong_model():
    linear = mm.LinearSVC().fit(X, LABELS)
    with pytest.raises(TypeError, match=r"certify checks SVC.*not LinearSVC.*see its certificate_"):
        mm.certify(linear, X, LABELS)
    with pytest.raises(TypeError, match="evaluate takes a fitted classifier, and SVR has no classes_"):
        mm.evaluate(mm.SVR().fit(X, NUMBERS), X, NUMBERS)
    with pytest.raises(TypeError, match="LinearSVC has no bins: pass a fitted Binning"):
        mm.displays.IVDisplay.from_estimator(linear)


@pytest.mark.parametrize(
    "kind",
    [mm.LinearSVC, mm.LinearSVR, mm.LogisticRegression, mm.Perceptron, mm.Pegasos, mm.KernelPerceptron],
)
@pytest.mark.parametrize("wrong", [0, -1, 2.5, "many"])
def test_a_number_of_passes_is_a_count(kind, wrong):
    y = NUMBERS if kind is mm.LinearSVR else LABELS
    with pytest.raises(ValueError, match=r"max_iter=.* must be a whole number >= 1"):
        kind(max_iter=wrong).fit(X, y)


@pytest.mark.parametrize("kind", [mm.feature_selection.FisherScore, mm.feature_selection.ReliefF])
def test_two_columns_of_classes(kind):
    with pytest.raises(ValueError, match=r"y should be a 1d array, got an array of shape \(12, 2\)"):
        kind().fit(X, np.column_stack([LABELS, LABELS]))


@pytest.mark.parametrize(
    "kind", [mm.SVC, mm.SVR, mm.LinearSVC, mm.LinearSVR, mm.LogisticRegression, mm.Ridge, mm.LargeSVC]
)
def test_a_fit_that_fails_leaves_the_model_as_it_was(kind):
    """The last thing that a fit looks at is refused: what it has learned until then must not stay."""
    model = kind().fit(X, target_of(kind))
    before = dict(model.__dict__)
    with pytest.raises(ValueError, match="sample_weight"):
        model.fit(X[:, :1], target_of(kind), sample_weight=-np.ones(12))
    assert model.__dict__ == before


@pytest.mark.parametrize(
    ("model", "y"),
    [
        (mm.LinearSVC(1e3, loss="hinge", solver="dual_coordinate", max_iter=1, tol=1e-12), LABELS),
        (mm.SVR(C=1e3, tol=1e-9, max_iter=1), NUMBERS),
    ],
)
def test_a_warning_points_to_the_line_of_the_user(model, y):
    with pytest.warns(ConvergenceWarning) as said:
        model.fit(X, y)
    assert [warning.filename for warning in said] == [__file__]


SQUARES = "the squares of X are too large for floating-point numbers: scale its columns"


@pytest.mark.parametrize("kind", [*MACHINES, mm.PassiveAggressive, mm.SubgradientDescent])
@pytest.mark.parametrize("form", [np.asarray, np.asfortranarray, sp.csr_array])
@pytest.mark.filterwarnings("ignore:overflow encountered:RuntimeWarning", "ignore:invalid:RuntimeWarning")
def test_rows_whose_squares_overflow_are_refused(kind, form):
    if form is sp.csr_array and kind is mm.FisherDiscriminant:
        return  # takes no sparse matrices
    with pytest.raises(ValueError, match=SQUARES):
        kind().fit(form(X * 1e200), target_of(kind))


def test_a_later_chunk_of_a_stream_whose_squares_overflow_is_refused():
    model = mm.Perceptron().partial_fit(X, LABELS, classes=["a", "b"])
    with pytest.raises(ValueError, match=SQUARES):
        model.partial_fit(X * 1e200, LABELS)


@pytest.mark.parametrize(
    "kind", [mm.SVC, mm.SVDD, mm.OneClassSVM, mm.KernelRidge, mm.KernelPerceptron, mm.LowRank, mm.LargeSVC]
)
def test_kernel_values_that_are_no_finite_numbers_are_refused(kind):
    with pytest.raises(ValueError, match=r"values of Polynomial\(.*degree=900\) are too large .* lower the"):
        kind(kernel=mm.kernels.Polynomial(gamma=9.0, degree=900)).fit(10.0 * X, target_of(kind))
    with pytest.raises(ValueError, match="the kernel function gave NaN or infinity on some rows"):
        kind(kernel=lambda a, b: np.full((len(a), len(b)), np.nan)).fit(X, target_of(kind))


@pytest.mark.parametrize("kind", MACHINES)
def test_a_table_of_dates_only(kind):
    """scikit-learn would count nanoseconds."""
    days = pd.DataFrame({"day": pd.date_range("2020", periods=12), "end": pd.date_range("2021", periods=12)})
    for table, name in ((days, "'day'"), (days.to_numpy(), "0")):
        with pytest.raises(TypeError, match=f"dates or times in column {name}: turn them into numbers"):
            kind().fit(table, target_of(kind))


@pytest.mark.parametrize("kind", [mm.SVC, mm.LinearSVC, mm.LargeSVC, FisherScore])
def test_frames_without_columns(kind):
    with pytest.raises(ValueError, match=r"Found array with 0 feature\(s\) \(shape=\(12, 0\)\)"):
        kind().fit(pd.DataFrame(index=range(12)), LABELS)


@pytest.mark.parametrize("kind", [mm.LinearSVC, mm.Ridge, mm.Binning])
def test_a_first_piece_without_rows_is_no_table_without_rows(kind):
    table = pd.DataFrame(X, columns=["u", "v"]).assign(y=np.arange(12) % 2)
    pieces = [table[:0], table]
    assert kind().fit(mm.pieces.from_iterable(pieces, target="y")).n_features_in_ == 2


@pytest.mark.parametrize("selector", [RFE(mm.SVC(kernel="linear")), SFS(mm.SVC(), size=1, cv=2)])
def test_wrappers_of_frames_without_columns(selector):
    with pytest.raises(ValueError, match=r"Found array with 0 feature\(s\)"):
        selector.fit(pd.DataFrame(index=range(12)), LABELS)


@pytest.mark.parametrize("row", [None, 3, np.nan])
def test_explain_takes_a_row(row):
    with pytest.raises(ValueError, match=f"explain takes one row, got {row}: give X"):
        mm.explain(mm.SVC().fit(X, LABELS), row)


def test_evaluate_takes_what_predicts():
    with pytest.raises(TypeError, match="evaluate takes a fitted classifier, and Binning has no predict"):
        mm.evaluate(mm.Binning().fit(X, LABELS), X, LABELS)


@pytest.mark.parametrize("kind", [FisherScore, ReliefF])
def test_rankers_refuse_dates(kind):
    frame = pd.DataFrame({"u": X[:, 0], "day": pd.date_range("2020", periods=12)})
    with pytest.raises(TypeError, match="dates or times in column 'day': turn them into numbers"):
        kind().fit(frame, LABELS)


def test_more_neighbours_than_rows():
    all_rows = ReliefF(n_neighbors=12).fit(X, LABELS).scores_
    np.testing.assert_array_equal(ReliefF(n_neighbors=10**30).fit(X, LABELS).scores_, all_rows)


@pytest.mark.parametrize("kind", [mm.Binning, mm.WOEEncoder, mm.Scorecard, IVSelector])
def test_what_bins_refuses(kind):
    with pytest.raises(ValueError, match=r"Found array with 0 feature\(s\) \(shape=\(12, 0\)\)"):
        kind().fit(pd.DataFrame(index=range(12)), LABELS)
    with pytest.raises(ValueError, match="inconsistent numbers of samples"):
        kind().fit(X, [])
    with pytest.raises(ValueError, match="sample_weight is one finite number >= 0 for each row"):
        kind().fit(X, LABELS, sample_weight={"a": 1})


def test_information_values_of_nothing():
    with pytest.raises(TypeError, match="NoneType has no bins: pass a fitted Binning"):
        mm.scorecards.iv_table(None)
    with pytest.raises(ValueError, match="smoothing='a' must be positive"):
        mm.scorecards.iv_of_counts([1], [2], smoothing="a")


FRAMES = {
    "twice": (pd.DataFrame(X, columns=["u", "u"]), ValueError, "several columns with the name 'u': rename"),
    "dates": (
        pd.DataFrame({"u": X[:, 0], "day": pd.date_range("2020", periods=12)}),
        TypeError,
        "dates or times in column 'day': turn them into numbers",
    ),
    "NA": (
        pd.DataFrame({"u": X[:, 0], "v": pd.array([1, None] * 6, dtype="Int64")}),
        ValueError,
        "NaN in column 'v': drop such rows or fill",
    ),
}


@pytest.mark.parametrize("kind", MACHINES)
@pytest.mark.parametrize(("table", "error", "words"), FRAMES.values(), ids=list(FRAMES))
def test_frames_that_are_no_table_of_numbers_say_which_column(kind, table, error, words):
    with pytest.raises(error, match=words):
        kind().fit(table, target_of(kind))


@pytest.mark.parametrize("kind", MACHINES)
def test_no_table_complex_numbers_and_other_things(kind):
    with pytest.raises(ValueError, match="X is None: give a table"):
        kind().fit(None, target_of(kind))
    with pytest.raises(ValueError, match="Complex data not supported: X holds complex numbers") as refused:
        kind().fit(X + 1j, target_of(kind))
    assert "\n" not in str(refused.value)  # not the whole table
    with pytest.raises(TypeError, match=r"not numbers .*'dict'.*: give a table of numbers"):
        kind().fit(np.array([[{}, {}]] * 12, dtype=object), target_of(kind))


@pytest.mark.parametrize("kind", REGRESSORS)
def test_a_target_with_NA(kind):
    with pytest.raises(ValueError, match="y contains NA: drop the rows without a target"):
        kind().fit(X, pd.Series([pd.NA, *NUMBERS[1:]]))


@pytest.mark.parametrize("weights", [["a"] * 12, {"a": 1}, np.full(12, 1j), np.full(12, np.nan)])
def test_weights_that_are_no_numbers(weights):
    with pytest.raises(ValueError, match="sample_weight is one finite number >= 0 for each row"):
        mm.LinearSVC().fit(X, LABELS, sample_weight=weights)


@pytest.mark.parametrize("kind", CLASSIFIERS)
def test_a_class_without_a_row_that_counts_is_refused(kind):
    weights = np.where(LABELS == "a", 0.0, 1.0)
    if "sample_weight" in inspect.signature(kind.fit).parameters:
        with pytest.raises(ValueError, match="no row of the class 'a' has a positive weight"):
            kind().fit(X, LABELS, sample_weight=weights)
    if kind in WEIGHTED:
        with pytest.raises(ValueError, match="no row of the class 'a' has a positive weight"):
            kind(class_weight={"a": 0.0, "b": 0.0}).fit(X, LABELS)


@pytest.mark.parametrize("kind", [mm.Perceptron, mm.PassiveAggressive, mm.Pegasos, mm.KernelPerceptron])
def test_the_first_chunk_of_a_stream_leaves_nothing_behind_where_it_fails(kind):
    model = kind()
    before = dict(vars(model))
    with pytest.raises(ValueError, match=r"y has the labels \['b'\], not in classes=\['a', 'c'\]: name all"):
        model.partial_fit(X, LABELS, classes=["a", "c"])
    for classes in (["a"], ["a", None], "ab"):
        with pytest.raises(ValueError, match="must be a list of two labels or more"):
            model.partial_fit(X, LABELS, classes=classes)
    assert vars(model) == before


FLAGS = [
    (kind, name, target_of(kind))
    for kind in (*MACHINES, mm.PassiveAggressive, mm.SubgradientDescent, mm.Scorecard, SparseSVMSelector)
    for name, parameter in inspect.signature(kind).parameters.items()
    if isinstance(parameter.default, bool)
]


@pytest.mark.parametrize(("kind", "name", "y"), FLAGS)
@pytest.mark.parametrize("value", ["no", None, 2])
def test_flags_are_true_or_false(kind, name, y, value):
    with pytest.raises(ValueError, match=f"{name}={value!r} must be True or False"):
        kind(**{name: value}).fit(X, y)


def test_tune_refuses_a_measure_in_the_place_of_refit():
    with pytest.raises(ValueError, match="refit='accuracy' must be True or False"):
        mm.tune(mm.SVC(), X, LABELS, {"C": [1.0]}, cv=2, refit="accuracy")


@pytest.mark.parametrize("kind", [mm.WOEEncoder, mm.Scorecard, IVSelector])
def test_bins_by_hand_and_binnings_of_the_wrong_kind(kind):
    with pytest.raises(ValueError, match=r"edges=\[0.5\] must be a dict"):
        mm.Binning(edges=[0.5]).fit(X, LABELS)
    with pytest.raises(ValueError, match=r"binning=\{'max_bins': 3\} must be a Binning"):
        kind(binning={"max_bins": 3}).fit(X, LABELS)


@pytest.mark.parametrize("kind", [mm.Binning, mm.WOEEncoder])
def test_a_failed_fit_transform_leaves_nothing_behind(kind):
    model = kind()
    before = dict(vars(model))
    with pytest.raises(ValueError, match="inconsistent"):
        model.fit_transform(X, LABELS[1:])
    assert vars(model) == before


@pytest.mark.parametrize("cv", [[1], [], {}, "five", 2.5, np.ones(2)])
def test_folds_that_are_none(cv):
    for fit in (
        lambda: mm.tune(mm.SVC(), X, LABELS, {"C": [1.0]}, cv=cv),
        lambda: SFS(mm.SVC(), size=1, cv=cv).fit(X, LABELS),
        lambda: RFE(mm.SVC(kernel="linear"), cv=cv).fit(X, LABELS),
        lambda: SparseSVMSelector(cv=cv).fit(X, LABELS),
    ):
        with pytest.raises(ValueError, match="use a number of folds, 'loo', a splitter or pairs of rows"):
            fit()


@pytest.mark.parametrize(
    ("pair", "message"),
    [
        ((range(6), [12]), "fold 0 of cv has test rows that X, which has 12, does not hold"),
        (([], range(12)), "fold 0 of cv has no training rows: give every fold at least one"),
        ((range(12), []), "fold 0 of cv has no test rows"),
    ],
)
def test_folds_of_rows_that_do_not_exist(pair, message):
    with pytest.raises(ValueError, match=message):
        mm.tune(mm.SVC(), X, LABELS, {"C": [1.0]}, cv=[pair])


def test_tune_names_what_is_no_table_and_no_estimator():
    with pytest.raises(ValueError, match="X=5 is not a table"):
        mm.tune(mm.SVC(), 5, LABELS, {"C": [1.0]})
    with pytest.raises(ValueError, match="X=None is not a table"):
        mm.tune(mm.SVC(), None, LABELS, {"C": [1.0]})
    with pytest.raises(TypeError, match="estimator='svm' is not an estimator: give an object"):
        mm.tune("svm", X, LABELS, {"C": [1.0]})


@pytest.mark.parametrize("part", ["indices", "indptr"])
@pytest.mark.parametrize("model", [mm.SVC(), mm.LinearSVC(), mm.Perceptron()], ids=repr)
def test_entries_outside_a_sparse_matrix_are_refused(part, model):
    """Compiled code would read foreign memory: also where rows are predicted, or stored by columns."""
    y, good, broken = [0, 1, 0, 1, 0, 1], sp.csr_array(np.eye(6, 4) + 1.0), []
    for make in (sp.csr_array, sp.csc_array):
        rows = make(good)
        array = getattr(rows, part).copy()
        array[-1] = 10**6
        setattr(rows, part, array)
        broken.append(rows)
    for rows in broken:
        with pytest.raises(ValueError, match="entries outside its rows or columns"):
            model.fit(rows, y)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # six rows
        model.fit(good, y)
    for rows in broken:
        with pytest.raises(ValueError, match="entries outside its rows or columns"):
            model.predict(rows)
