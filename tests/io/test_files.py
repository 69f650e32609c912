"""Model files: every estimator comes back with the same predictions; what a file cannot hold is refused."""

from __future__ import annotations

import ast
import dataclasses
import functools
import inspect
import re
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from sklearn.base import BaseEstimator
from sklearn.compose import ColumnTransformer, make_column_selector
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.model_selection import (
    GroupKFold,
    KFold,
    LeaveOneOut,
    RepeatedKFold,
    RepeatedStratifiedKFold,
    ShuffleSplit,
    StratifiedKFold,
    StratifiedShuffleSplit,
    TimeSeriesSplit,
)
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import (
    FunctionTransformer,
    MaxAbsScaler,
    MinMaxScaler,
    OneHotEncoder,
    OrdinalEncoder,
    RobustScaler,
    StandardScaler,
)

import maxmargin as mm
from maxmargin import feature_selection as fs
from maxmargin import kernels as k
from maxmargin.io import NotStorableError
from maxmargin.io.schema import ENTRIES, hidden
from tests.io.models import CASES, MIXED, TEXT_Y, TEXTS, XB, YB, X, Y, answers, fitted


def same_predictions(model: Any, rows: Any, path: Path) -> Any:
    """The model after a way through a file, which must not change a digit of what it says."""
    again = mm.load(mm.save(model, path))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for before, after in zip(answers(model, rows), answers(again, rows), strict=True):
            np.testing.assert_array_equal(before, after)
    assert re.sub(" at 0x\\w+", "", repr(again)) == re.sub(" at 0x\\w+", "", repr(model))
    assert str(getattr(again, "certificate_", None)) == str(getattr(model, "certificate_", None))
    assert vars(again).keys() == vars(model).keys()
    return again


@pytest.mark.parametrize("name", CASES)
def test_a_loaded_model_predicts_the_same(name: str, tmp_path: Path) -> None:
    same_predictions(*fitted(name), tmp_path / "model.mm")


def words_and_numbers() -> tuple[Any, pd.DataFrame]:
    """A model on a column of text beside one of numbers, as the command line makes it."""
    text = ["free money now", "hello friend", "win money free", "how are you", "free win", "a friend"] * 5
    X = pd.DataFrame({"text": text, "n": np.arange(30.0)})
    y = np.array(["spam", "ham"] * 15)
    columns = [("words", TfidfVectorizer(min_df=2), "text"), ("numbers", StandardScaler(), ["n"])]
    return make_pipeline(ColumnTransformer(columns), mm.SVC()).fit(X, y), X


def test_a_model_on_text_comes_back(tmp_path: Path) -> None:
    model, X = words_and_numbers()
    mm.save(model, tmp_path / "words.mm")
    again = mm.load(tmp_path / "words.mm")
    np.testing.assert_array_equal(again.decision_function(X), model.decision_function(X))


@pytest.mark.parametrize("wrong", [-1, 0, 10**6, "0"])
def test_a_vocabulary_whose_columns_do_not_exist_is_refused(wrong: Any, tmp_path: Path) -> None:
    """A word that points beyond the matrix would make scikit-learn build a broken one."""
    model, _ = words_and_numbers()
    vocabulary = model[0].transformers_[0][1].vocabulary_
    last = max(vocabulary, key=vocabulary.get)
    vocabulary[last] = wrong
    with pytest.raises(NotStorableError, match="vocabulary"):
        mm.save(model, tmp_path / "words.mm")


def test_every_public_estimator_is_in_the_list() -> None:
    named = {name for name in mm.__all__ if isinstance(getattr(mm, name), type)}
    estimators = {name for name in named if issubclass(getattr(mm, name), BaseEstimator)}
    tested = {type(model).__name__ for model, _, _ in CASES.values()}
    assert estimators <= tested


def test_every_class_of_the_table_exists() -> None:
    for name, entry in ENTRIES.items():
        assert entry.cls.__name__ == hidden(name.rpartition("/")[2])


@pytest.mark.parametrize("name", [name for name, entry in ENTRIES.items() if entry.fields])
def test_the_table_knows_the_fields_of_every_record(name: str) -> None:
    cls, fields = ENTRIES[name].cls, {hidden(field) for field in ENTRIES[name].fields}
    if not dataclasses.is_dataclass(cls) or issubclass(cls, BaseEstimator):
        return
    names = {field.name for field in dataclasses.fields(cls)}
    kept = {field for field in fields if isinstance(getattr(cls, field, None), functools.cached_property)}
    assert fields - kept == (names if not issubclass(cls, k.Kernel) else names & fields)


def assigned_attributes(kind: type) -> set[str]:
    """The attributes that the methods of a class, and of its bases in maxmargin, assign to self."""
    found: set[str] = set()
    for base in kind.__mro__:
        if base.__module__.startswith("maxmargin."):
            source = ast.parse(Path(str(inspect.getsourcefile(base))).read_text())
            classes = [node for node in source.body if isinstance(node, ast.ClassDef)]
            body = next(node for node in classes if node.name == base.__name__).body
            methods = [f for f in body if isinstance(f, ast.FunctionDef) and f.name != "__init__"]
            names = [
                node for method in methods for node in ast.walk(method) if isinstance(node, ast.Attribute)
            ]
            stores = [node for node in names if isinstance(node.ctx, ast.Store)]
            found |= {node.attr for node in stores if ast.unparse(node.value) == "self"}
    return found


@pytest.mark.parametrize("name", [n for n, e in ENTRIES.items() if e.module.startswith("maxmargin.")])
def test_the_table_knows_every_attribute_that_a_fit_assigns(name: str) -> None:
    """A new attribute needs a line in io/fields.py, so that it can be saved."""
    entry = ENTRIES[name]
    if not issubclass(entry.cls, BaseEstimator):
        return
    known = {hidden(field) for field in entry.attributes} | entry.parameters
    properties = {n for n in dir(entry.cls) if isinstance(getattr(entry.cls, n, None), property)}
    passing = {"_given"}  # PolishedSVC: given before a fit and gone after it
    assert assigned_attributes(entry.cls) - known - properties - passing == set()


# -- other settings of the same estimators -------------------------------------------------------------------

Z = X.to_numpy()
PERIODIC = k.Periodic(3.0) * k.Constant(2.0) + k.Exponential(0.3)
SETTINGS: dict[str, tuple[Any, Any, Any]] = {
    "float32": (mm.SVC(), Z.astype(np.float32), Y),
    "whole numbers": (mm.SVC(kernel="poly"), np.rint(Z).astype(np.int64), Y),
    "trace": (mm.SVC(trace=True), XB, YB),
    "solver": (mm.SVC(solver=mm.solvers.SMO(selection="first")), X, Y),
    "sigmoid": (mm.SVC(kernel="sigmoid", gamma=0.01), X, Y),
    "periodic": (mm.SVR(kernel=PERIODIC), X, Y),
    "sparse laplacian": (mm.SVC(kernel="laplacian"), sp.csr_array(Z), Y),
    "sparse linear": (mm.LinearSVC(), sp.csr_array(Z), Y),
    "texts in an array": (mm.SVC(kernel=k.Spectrum(2)), np.array(TEXTS, dtype=object), TEXT_Y),
    "texts in a table": (mm.SVC(kernel=k.Spectrum(2, features="text")), MIXED, TEXT_Y),
    "ridge on texts": (mm.KernelRidge(kernel=k.Subsequence(2)), TEXTS, TEXT_Y),
    "ridge on words": (mm.KernelRidge(kernel=k.Subsequence(2, tokens="words", up_to=True)), TEXTS, TEXT_Y),
    "perceptron on texts": (mm.KernelPerceptron(kernel=k.Spectrum(2)), TEXTS, TEXT_Y),
    "precomputed ridge": (mm.KernelRidge(kernel="precomputed"), Z @ Z.T, Y),
    "precomputed perceptron": (mm.KernelPerceptron(kernel="precomputed"), Z @ Z.T, Y),
    "ridge path": (mm.KernelRidge(alphas=[0.1, 1.0]), X, Y),
    "linear ridge path": (mm.Ridge(alphas=[0.1, 1.0]), X, Y),
    "ridge by gradients": (mm.Ridge(solver="sgd", max_iter=3, random_state=0), X, Y),
    "logistic of two": (mm.LogisticRegression(), XB, YB),
    "logistic ovr": (mm.LogisticRegression(C=1.0, multiclass="ovr"), X, Y),
    "online trace": (mm.Perceptron(trace=True, random_state=3), XB, YB),
    "online average": (mm.PassiveAggressive(average=True), X, Y),
    "perceptron trace": (mm.KernelPerceptron(trace=True), XB, YB),
    "polished": (mm.LargeSVC(n_components=10, polish=True), X, Y),
    "polished regression": (mm.LargeSVR(n_components=10, polish=True), X, Y),
    "polished ridge": (mm.LargeKernelRidge(n_components=10, polish=True), X, Y),
    "fourier": (mm.LargeSVC(n_components=10, method="fourier", kernel=PERIODIC.k2 + k.RBF(0.1)), X, Y),
    "kmeans": (mm.LowRank(n_components=4, method="kmeans"), X, None),
    "cells of two": (mm.CellSVC(cell_size=12, random_state=0), XB, YB),
    "fisher of two": (mm.FisherDiscriminant(shrinkage="auto"), XB, YB),
    "discretizer": (mm.discretize.MDLDiscretizer(), X, Y),
    "bins of one": (mm.Binning(special_values=[5.0], trend="none"), XB, YB),
    "whole points": (mm.Scorecard(round_points=True, intercept="separate"), MIXED[["size", "home"]], TEXT_Y),
    "rfe with folds": (fs.RFE(mm.SVC(kernel="linear"), cv=3), X, Y),
    "sbs": (fs.SBS(mm.SVC(), 2, cv=3), X, Y),
    "relief": (fs.Relief(n_features=2, random_state=0), XB, YB),
    "uncertainty": (fs.SymmetricalUncertainty(n_features=2), X, Y),
    "annealing": (
        fs.SubsetSelector(fs.SimulatedAnnealing(), fs.Mahalanobis(), random_state=0),
        XB,
        YB,
    ),
    "min-max": (make_pipeline(MinMaxScaler(), mm.SVC()), X, Y),
    "max-abs": (make_pipeline(MaxAbsScaler(), mm.SVC()), X, Y),
    "robust": (make_pipeline(RobustScaler(), mm.SVC()), X, Y),
    "pandas output": (make_pipeline(StandardScaler().set_output(transform="pandas"), mm.SVC()), X, Y),
    "nothing": (make_pipeline("passthrough", StandardScaler(with_mean=False), mm.LinearSVC()), X, Y),
    "map in a pipeline": (make_pipeline(StandardScaler(), mm.LowRank(n_components=5), mm.LinearSVC()), X, Y),
    "selector in a pipeline": (make_pipeline(fs.FisherScore(n_features=2), mm.SVC()), X, Y),
    "woe in a pipeline": (make_pipeline(mm.WOEEncoder(), mm.LogisticRegression(C=1.0)), XB, YB),
    "columns": (
        make_pipeline(
            ColumnTransformer(
                [
                    ("one", OneHotEncoder(drop="first"), ["home"]),
                    ("two", OrdinalEncoder(), [2]),
                    ("three", StandardScaler(), make_column_selector(dtype_include=np.number)),
                ],
                remainder="passthrough",
            ),
            mm.LinearSVC(),
        ),
        MIXED[["size", "home"]].assign(more=np.arange(16) % 3).fillna("none"),
        TEXT_Y,
    ),
    "rare categories": (
        make_pipeline(OneHotEncoder(min_frequency=5, handle_unknown="infrequent_if_exist"), mm.SVC()),
        MIXED[["home"]].fillna("none"),
        TEXT_Y,
    ),
}


@pytest.mark.parametrize("name", SETTINGS)
def test_other_settings_come_back_too(name: str, tmp_path: Path) -> None:
    model, rows, target = SETTINGS[name]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model.fit(rows) if target is None else model.fit(rows, target)
        same_predictions(model, rows, tmp_path / "m")


@pytest.mark.parametrize("average", [False, True])
def test_learning_goes_on_after_loading(average: bool, tmp_path: Path) -> None:
    """partial_fit of a loaded learner does what that of the original does."""
    for model in (
        mm.PassiveAggressive(average=average, random_state=np.random.RandomState(0)),
        mm.KernelPerceptron(random_state=0),
    ):
        model.partial_fit(X[:20], Y[:20], classes=[0, 1, 2])
        again = mm.load(mm.save(model, tmp_path / "m"))
        for one in (model, again):
            one.partial_fit(X[20:], Y[20:])
        np.testing.assert_array_equal(model.decision_function(X), again.decision_function(X))


@pytest.mark.parametrize(
    "cv",
    [
        KFold(4),
        StratifiedKFold(3, shuffle=True, random_state=1),
        GroupKFold(2),
        RepeatedKFold(n_splits=2, n_repeats=3, random_state=0),
        RepeatedStratifiedKFold(n_splits=3, n_repeats=2),
        LeaveOneOut(),
        ShuffleSplit(3, test_size=0.2),
        StratifiedShuffleSplit(2, random_state=5),
        TimeSeriesSplit(3, gap=1),
    ],
    ids=lambda cv: type(cv).__name__,
)
def test_splitters_come_back(cv: Any, tmp_path: Path) -> None:
    again = mm.load(mm.save(mm.GridSearch(mm.SVC(), {"C": [1.0]}, cv=cv), tmp_path / "m")).cv
    assert repr(again) == repr(cv)
    assert vars(again) == vars(cv)


# -- what a file says, and tables in it ----------------------------------------------------------------------


def test_about_says_what_the_model_is(tmp_path: Path) -> None:
    model = make_pipeline(StandardScaler(), mm.SVC()).fit(X, Y)
    said = mm.io.about(mm.save(model, tmp_path / "m", notes={"target": "species"}))
    assert said["model"] == ["StandardScaler", "SVC"]
    assert said["feature_names"] == list(X.columns)
    assert said["classes"] == [0, 1, 2]
    assert said["certificate"]["kkt"] == model[-1].certificate_.kkt
    assert said["versions"]["maxmargin"] == mm.__version__
    assert said["notes"] == {"target": "species"}


def test_a_tuning_result_comes_back_with_its_tables(tmp_path: Path) -> None:
    result = mm.tune(mm.SVC(), X, Y, {"C": [1.0, 10.0], "gamma": ["scale", 0.1]}, cv=3)
    again = mm.load(mm.save(result, tmp_path / "m"))
    pd.testing.assert_frame_equal(again.table, result.table)
    assert str(again) == str(result)


def test_tables_of_all_kinds_come_back(tmp_path: Path) -> None:
    table = pd.DataFrame(
        {
            "number": [1.5, np.nan],
            "whole": pd.array([1, None], dtype="Int64"),
            "kind": pd.Categorical(["b", "a"], categories=["b", "a", "c"], ordered=True),
            "day": pd.to_datetime(["2020-01-01", "2021-05-06"]),
            "text": ["x", None],
            "flag": [True, False],
        },
        index=pd.MultiIndex.from_tuples([("p", 1), ("q", 2)], names=["a", "b"]),
    )
    holder = mm.SVC(class_weight={"table": table, 3: {None: frozenset([1, 2])}, "series": table["number"]})
    again = mm.load(mm.save(holder, tmp_path / "m")).class_weight
    pd.testing.assert_frame_equal(again["table"], table)
    pd.testing.assert_series_equal(again["series"], table["number"])
    assert again[3] == {None: frozenset([1, 2])}


def test_odd_values_come_back(tmp_path: Path) -> None:
    values = [
        *(
            np.float32(1.5),
            np.int8(-3),
            np.bool_(True),
            np.str_("é"),
            float("inf"),
            -0.0,
            10**40,
            "\ud800\x00",
        ),
        *(
            np.zeros((2, 0)),
            np.array(3.5),
            np.array(["ab", ""]),
            np.asfortranarray(np.eye(3)[:2]),
            slice(1, None),
        ),
        *(np.float64, float, np.dtype("<i4"), {1.5, "a"}, (), [], {}, sp.csc_array(np.eye(2)), b"".decode()),
        *(np.ma.MaskedArray([1, 2], mask=[True, False]), sp.coo_matrix(np.eye(3)), range),
    ]
    holder = mm.SVC(class_weight=values[:-1])
    again = mm.load(mm.save(holder, tmp_path / "m")).class_weight
    for before, after in zip(values[:-1], again, strict=True):
        if sp.issparse(before):
            assert isinstance(after, sp.spmatrix) == isinstance(before, sp.spmatrix)
            before, after = before.toarray(), after.toarray()
        assert type(after) is type(before)
        assert repr(after) == repr(before)
    with pytest.raises(NotStorableError, match=r"class_weight\[0\] is the class range"):
        mm.save(mm.SVC(class_weight=[range]), tmp_path / "m")


def test_shared_parts_stay_shared(tmp_path: Path) -> None:
    card = mm.WOEEncoder().fit(XB, YB)
    holder = mm.SVC(class_weight=[card, card])
    again = mm.load(mm.save(holder, tmp_path / "m")).class_weight
    assert again[0] is again[1]
    assert again[0] is not card


# -- what cannot be saved ------------------------------------------------------------------------------------


class Stranger(BaseEstimator):
    """A class that maxmargin does not know."""


@pytest.mark.parametrize(
    ("model", "reason"),
    [
        (mm.SVC(kernel=lambda a, b: a @ b.T), r"SVC.kernel is a Python function \(.*<lambda>\)"),
        (mm.SVC(kernel=k.Rank1(np.sum) + k.Linear()), r"SVC.kernel.k1.f is a Python function \(sum\)"),
        (mm.SVC(kernel=k.Spectrum(3, tokens=str.split)), "SVC.kernel.tokens"),
        (make_pipeline(FunctionTransformer(print), mm.SVC()), r"steps\[0\]\[1\].func is a Python function"),
        (
            make_pipeline(FunctionTransformer(np.log1p), mm.SVC()),
            r"steps\[0\]\[1\].func is a Python function",
        ),
        (make_pipeline(Stranger(), mm.SVC()), "the model holds .*Stranger: a model file only holds"),
        (mm.SVC, "SVC is a class: save a fitted model"),
        (StandardScaler(), "a StandardScaler is not a model of maxmargin"),
        (make_pipeline(StandardScaler()), "a Pipeline is not a model of maxmargin"),
        ([mm.SVC()], "a list is not a model of maxmargin"),
        (k.RBF(1.0), "a RBF is not a model of maxmargin"),
        (mm.SVC(C=1j), "the model holds SVC.C, a builtins.complex"),
        (mm.SVC(class_weight=np.zeros(2, dtype="M8[s]")), "SVC.class_weight is an array of datetime64"),
    ],
)
def test_save_refuses_what_a_file_cannot_hold(model: Any, reason: str, tmp_path: Path) -> None:
    with pytest.raises(NotStorableError, match=reason):
        mm.save(model, tmp_path / "m")
    assert list(tmp_path.iterdir()) == []


def test_save_refuses_a_model_that_contradicts_itself(tmp_path: Path) -> None:
    model = mm.SVC().fit(X, Y)
    model.note = "mine"
    with pytest.raises(NotStorableError, match=r"SVC\.note is not an attribute that model files know"):
        mm.save(model, tmp_path / "m")
    del model.note
    vars(model)["dual_coef_"] = model.dual_coef_[:1]  # behind the property, which is read only
    with pytest.raises(NotStorableError, match="coefficients and classes do not agree"):
        mm.save(model, tmp_path / "m")


# -- whole or not there --------------------------------------------------------------------------------------


def test_an_interrupted_save_leaves_the_old_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = mm.save(mm.SVC(C=7.0), tmp_path / "m")

    def interrupt(*_: Any) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("os.replace", interrupt)
    with pytest.raises(KeyboardInterrupt):
        mm.save(mm.SVC(), path)
    assert mm.load(path).C == 7.0
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="there is no device that is always full")
def test_a_full_disk_is_an_error() -> None:
    with pytest.raises(OSError, match="No space left"):
        mm.save(mm.SVC().fit(X, Y), "/dev/full")


def test_a_file_of_another_version_warns(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = mm.save(mm.SVC(), tmp_path / "m")
    monkeypatch.setattr(mm, "__version__", "9.9.9")
    with pytest.warns(UserWarning, match=r"written by maxmargin .*, this is 9\.9\.9"):
        mm.load(path)


def test_zeros_are_stored_as_they_are(tmp_path: Path) -> None:
    """Nothing is compressed, so a file is never much smaller than the model that it holds."""
    path = mm.save(mm.SVC(class_weight=np.zeros(4_000_000)), tmp_path / "m")
    assert path.stat().st_size > 32_000_000
    assert not mm.load(path).class_weight.any()


def test_texts_that_are_too_long_for_a_file_are_refused_in_words(tmp_path: Path) -> None:
    """6 million letters of support strings ended in a ValueError about a header."""
    model = mm.SVC(kernel=k.Spectrum(2)).fit(["ab", "b"], [0, 1])
    with pytest.raises(NotStorableError, match=r"cannot be saved: its header takes .* It keeps texts"):
        mm.save(model, tmp_path / "long.mm", notes={"text": "x" * 6_100_000})
    assert list(tmp_path.iterdir()) == []
