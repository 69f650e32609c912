"""Model files: every estimator comes back with the same answers; a wrong file is refused in one sentence."""

from __future__ import annotations

import hashlib
import pickle
import sys
import warnings
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.base import BaseEstimator
from sklearn.compose import make_column_transformer
from sklearn.datasets import load_iris
from sklearn.impute import SimpleImputer
from sklearn.model_selection import KFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, OneHotEncoder, StandardScaler

import maxmargin as mm
from maxmargin import feature_selection as fs
from maxmargin import kernels as k
from maxmargin.io.packing import NotStorableError
from maxmargin.io.trust import is_trusted

pytest.importorskip("skops")

X, Y = load_iris(return_X_y=True, as_frame=True)
X = X[::3].reset_index(drop=True)
Y = Y[::3].reset_index(drop=True)
TWO = Y < 2
XB, YB = X[TWO], Y[TWO]
TEXTS, TEXT_Y = ["free prize now", "win a prize", "see you at home", "home by six"] * 4, [1, 1, 0, 0] * 4
MIXED = pd.DataFrame({"text": TEXTS, "size": np.arange(16.0), "home": ["own", None, "rent", "own"] * 4})
COMPOSED = (2.0 * k.RBF(0.1, features=list(X.columns[:2])) + k.Linear()) ** 2 * k.Laplacian(0.1).normalized()

CASES: dict[str, tuple[Any, Any, Any]] = {
    "SVC with probabilities": (mm.SVC(probability=True), X, Y),
    "SVC one-versus-rest": (mm.SVC(multiclass="ovr", class_weight={0: 1.0, 1: 2.0, 2: 1.0}), X, Y),
    "SVC on text labels": (mm.SVC(), X, np.array(["a", "b", "c"], dtype=object)[Y]),
    "SVC sparse": (mm.SVC(), sp.csr_array(X.to_numpy()), Y),
    "SVC precomputed": (mm.SVC(kernel="precomputed"), X.to_numpy() @ X.to_numpy().T, Y),
    "NuSVC": (mm.NuSVC(), X, Y),
    "HardMarginSVC": (mm.HardMarginSVC(), XB, YB),
    "SVR": (mm.SVR(), X, Y),
    "NuSVR": (mm.NuSVR(), X, Y),
    "OneClassSVM": (mm.OneClassSVM(), X, None),
    "SVDD": (mm.SVDD(), X, None),
    "LogisticRegression": (mm.LogisticRegression(C=1.0), X, Y),
    "LinearSVC": (mm.LinearSVC(), X, Y),
    "LinearSVR": (mm.LinearSVR(), X, Y),
    "LeastSquares": (mm.LeastSquares(), X, Y),
    "Ridge": (mm.Ridge(), X, Y),
    "FisherDiscriminant": (mm.FisherDiscriminant(), X, Y),
    "Perceptron": (mm.Perceptron(), XB, YB),
    "PassiveAggressive": (mm.PassiveAggressive(), X, Y),
    "Pegasos": (mm.Pegasos(), X, Y),
    "SubgradientDescent": (mm.SubgradientDescent(), XB, YB),
    "KernelRidge": (mm.KernelRidge(), X, Y),
    "KernelPerceptron": (mm.KernelPerceptron(), X, Y),
    "LowRank": (mm.LowRank(n_components=5), X, None),
    "LowRank on strings": (mm.LowRank(k.Spectrum(2), n_components=3), TEXTS, None),
    "RandomFourier": (mm.RandomFourier(n_components=8), X, None),
    "LargeSVC": (mm.LargeSVC(n_components=20), X, Y),
    "LargeSVR": (mm.LargeSVR(n_components=20), X, Y),
    "LargeKernelRidge": (mm.LargeKernelRidge(n_components=20), X, Y),
    "CellSVC": (mm.CellSVC(cell_size=60), X, Y),
    "GridSearch": (
        mm.GridSearch(mm.SVC(), {"C": [1, 10.0]}, cv=KFold(3, shuffle=True, random_state=0)),
        X,
        Y,
    ),
    "composed kernel": (mm.SVC(kernel=COMPOSED + k.Linear(features=[0]).normalized().exp()), X, Y),
    "QuadraticForm": (mm.SVC(kernel=k.QuadraticForm(np.eye(4))), X, Y),
    "Subsequence": (mm.SVC(kernel=k.Subsequence(length=3)), TEXTS, TEXT_Y),
    "words": (mm.SVC(kernel=k.Subsequence(2, tokens="words")), TEXTS, TEXT_Y),
    "Spectrum": (mm.SVC(kernel=k.Spectrum(3)), TEXTS, TEXT_Y),
    "text and numbers": (
        mm.SVC(kernel=k.Subsequence(2, features="text") + k.RBF(0.1, features=["size"])),
        MIXED,
        TEXT_Y,
    ),
    "Scorecard": (mm.Scorecard(), MIXED[["size", "home"]], TEXT_Y),
    "WOEEncoder": (mm.WOEEncoder(), XB, YB),
    "Binning": (mm.Binning(), XB, YB),
    "IVSelector": (mm.scorecards.IVSelector(), XB, YB),
    "RFE": (fs.RFE(mm.SVC(kernel="linear"), 2), X, Y),
    "SFS": (fs.SFS(mm.SVC(), 2, cv=3), X, Y),
    "FisherScore": (fs.FisherScore(n_features=2), X, Y),
    "InformationGain": (fs.InformationGain(n_features=2), X, Y),
    "ReliefF": (fs.ReliefF(n_features=2), X, Y),
    "SubsetSelector": (fs.SubsetSelector(fs.BestFirst(), fs.CFSMerit()), X, Y),
    "SparseSVMSelector": (fs.SparseSVMSelector("l1", 2), X, Y),
    "pipeline": (
        make_pipeline(
            make_column_transformer(
                (make_pipeline(SimpleImputer(), StandardScaler()), ["size"]),
                (OneHotEncoder(handle_unknown="ignore"), ["home"]),
                remainder="drop",
            ),
            mm.SVC(C=3),
        ),
        MIXED,
        TEXT_Y,
    ),
}


def answers(model: Any, rows: Any) -> Iterator[Any]:
    for name in ("decision_function", "predict", "predict_proba", "transform"):
        if hasattr(model, name):
            yield np.asarray(getattr(model, name)(rows))


@pytest.mark.parametrize("name", CASES)
def test_a_loaded_model_answers_the_same(name: str, tmp_path: Path) -> None:
    model, rows, target = CASES[name]
    with warnings.catch_warnings():
        warnings.simplefilter(
            "ignore"
        )  # small data: separation, wrong signs and loose fits are no concern here
        model.fit(rows) if target is None else model.fit(rows, target)
    again = mm.load(mm.save(model, tmp_path / "model.mm"))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for before, after in zip(answers(model, rows), answers(again, rows), strict=True):
            np.testing.assert_array_equal(before, after)
    assert repr(again) == repr(model)
    assert str(getattr(again, "certificate_", None)) == str(getattr(model, "certificate_", None))
    assert vars(again).keys() == vars(model).keys()


def test_every_public_estimator_is_in_the_list() -> None:
    named = {name for name in mm.__all__ if isinstance(getattr(mm, name), type)}
    estimators = {name for name in named if issubclass(getattr(mm, name), BaseEstimator)}
    tested = {type(model).__name__ for model, _, _ in CASES.values()}
    assert estimators <= tested


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


def test_shared_parts_stay_shared(tmp_path: Path) -> None:
    card = mm.WOEEncoder().fit(XB, YB)
    holder = mm.SVC(class_weight=[card, card])
    again = mm.load(mm.save(holder, tmp_path / "m")).class_weight
    assert again[0] is again[1]
    assert again[0] is not card


class Stranger(BaseEstimator):
    """A class of somebody else."""


@pytest.mark.parametrize(
    ("model", "reason"),
    [
        (mm.SVC(kernel=lambda a, b: a @ b.T), r"SVC.kernel is a Python function \(<lambda>\)"),
        (mm.SVC(kernel=k.Rank1(np.sum) + k.Linear()), r"SVC.kernel.k1.f is a Python function \(sum\)"),
        (mm.SVC(kernel=k.Spectrum(3, tokens=str.split)), "SVC.kernel.tokens"),
        (make_pipeline(FunctionTransformer(print), mm.SVC()), r"steps\[0\]\[1\].func is a Python function"),
        (make_pipeline(Stranger(), mm.SVC()), "the model holds .*Stranger: a model file only holds"),
        (mm.SVC, "SVC is a class: save a fitted model"),
    ],
    ids=["function", "inside a kernel", "tokens", "transformer", "foreign class", "class"],
)
def test_save_refuses_what_a_file_cannot_hold(model: Any, reason: str, tmp_path: Path) -> None:
    with pytest.raises(NotStorableError, match=reason):
        mm.save(model, tmp_path / "m")
    assert list(tmp_path.iterdir()) == []


def test_an_interrupted_save_leaves_the_old_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = mm.save(mm.SVC(C=7.0), tmp_path / "m")

    def interrupt(*_: Any) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("os.replace", interrupt)
    with pytest.raises(KeyboardInterrupt):
        mm.save(mm.SVC(), path)
    assert mm.load(path).C == 7.0
    assert list(tmp_path.iterdir()) == [path]


def test_a_file_of_another_version_warns(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = mm.save(mm.SVC(), tmp_path / "m")
    monkeypatch.setattr(mm, "__version__", "9.9.9")
    with pytest.warns(UserWarning, match=r"written by maxmargin .*, this is 9\.9\.9"):
        mm.load(path)


# -- wrong files ---------------------------------------------------------------------------------------------


def sealed(body: bytes, form: bytes = b"1") -> bytes:
    """A body under a header that is right about it, as an attacker would write it."""
    digest = hashlib.sha256(body).hexdigest().encode()
    return b" ".join([b"maxmargin-model", form, str(len(body)).encode(), digest]) + b"\n" + body


@pytest.fixture(scope="module")
def content(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    path = tmp_path_factory.mktemp("model") / "m"
    return mm.save(make_pipeline(StandardScaler(), mm.SVC()).fit(X, Y), path).read_bytes()


def refused(path: Path, content: bytes, reason: str = "") -> None:
    path.write_bytes(content)
    for opens in (mm.load, mm.io.about):
        with pytest.raises(mm.io.ModelFileError, match=reason) as caught:
            opens(path)
        assert "\n" not in str(caught.value)


def test_wrong_files_are_refused_with_the_reason(content: bytes, tmp_path: Path) -> None:
    path = tmp_path / "m"
    refused(path, b"", "it is empty")
    refused(path, b"a,b\n1,2\n", "not a model file")
    refused(path, pickle.dumps([1, 2]), "looks like a pickle, which is never opened")
    refused(path, b"svm_type c_svc\n", "read_libsvm")
    refused(path, content[: len(content) // 2], "truncated")
    refused(path, content + b"x", "added to")
    middle = len(content) // 2
    refused(path, content[:middle] + bytes([content[middle] ^ 1]) + content[middle + 1 :], "was changed")
    refused(path, sealed(content.partition(b"\n")[2], b"2"), "has format 2")
    refused(path, sealed(b"no archive"), "cannot be read as a model: BadZipFile")


class Payload:
    """Runs code when it is built: a file that names it must not be opened."""

    ran = False

    def __setstate__(self, state: Any) -> None:
        Payload.ran = True

    def __init__(self, *args: Any) -> None:
        self.x = args


def forged(value: Any) -> bytes:
    import skops.io

    from maxmargin.io.files import _archive, _describe, _json

    members = {"about.json": _json(_describe(mm.SVC(), None)), "model.skops": skops.io.dumps(value)}
    return sealed(_archive(members))


@pytest.mark.parametrize("value", [Payload(1), print, {"a": [Payload(2)]}, mm.SVC(kernel=eval)])
def test_a_file_that_names_other_things_is_not_opened(value: Any, tmp_path: Path) -> None:
    path = tmp_path / "m"
    path.write_bytes(forged(value))
    before = set(sys.modules)
    with pytest.raises(mm.io.ModelFileError, match="was not opened"):
        mm.load(path)
    assert not Payload.ran
    assert set(sys.modules) == before


def test_the_rule_of_trust() -> None:
    for name in (
        f"{mm.SVC.__module__}.SVC",
        "maxmargin.kernels.vectors.RBF",
        "sklearn.svm._classes.SVC",
    ):
        assert is_trusted(name)
    for name in (
        "os.system",
        "builtins.eval",
        "sklearn.datasets._openml.fetch_openml",  # a function that opens the network
        "sklearn.utils._testing.Path",
        "sklearn.conftest.anything",
        "maxmargin.io.files.save",
        "maxmargin.cli.main.app",
        "maxmargin.machines.svm.certify.certify",
        "maxmargin.machines.svm.base.np",
        "maxmargin..SVC",
        "maxmargin",
        "",
    ):
        assert not is_trusted(name)


@settings(max_examples=60)
@given(st.data())
def test_no_damage_gets_through(content: bytes, tmp_path: Path, data: st.DataObject) -> None:
    """Damaged files, also with a checksum that fits: ModelFileError or a model, and nothing else."""
    start = data.draw(st.integers(0, len(content) - 1))
    noise = data.draw(st.binary(max_size=20))
    broken = content[:start] + noise + content[start + data.draw(st.integers(0, 40)) :]
    path = tmp_path / "m"
    path.write_bytes(broken)
    if broken != content:
        with pytest.raises(mm.io.ModelFileError):
            mm.load(path)
    path.write_bytes(sealed(broken.partition(b"\n")[2]))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with suppress(mm.io.ModelFileError):
            mm.load(path)


@settings(max_examples=60)
@given(st.data())
def test_no_change_inside_the_archive_gets_through(
    content: bytes, tmp_path: Path, data: st.DataObject
) -> None:
    """The text of the payload is changed before it is packed again, so that it reaches the reader."""
    import io
    import zipfile

    from maxmargin.io.files import _archive

    with zipfile.ZipFile(io.BytesIO(content.partition(b"\n")[2])) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    inner = zipfile.ZipFile(io.BytesIO(members["model.skops"]))
    parts = {name: inner.read(name) for name in inner.namelist()}
    name = data.draw(st.sampled_from(sorted(parts)))
    word, other = data.draw(st.sampled_from(SWAPS))
    changed = parts[name].replace(word, other)
    cut = data.draw(st.integers(0, len(changed)))
    parts[name] = changed[:cut] + data.draw(st.binary(max_size=4)) + changed[cut:]
    members["model.skops"] = _archive(parts)
    path = tmp_path / "m"
    path.write_bytes(sealed(_archive(members)))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with suppress(mm.io.ModelFileError):
            mm.load(path)


SWAPS = [
    (b"ObjectNode", b"FunctionNode"),
    (b"ObjectNode", b"ConstructorFromReduceNode"),
    (mm.SVC.__module__.encode(), b"os"),
    (b"builtins", b"os"),
    (b"NdArrayNode", b"MethodNode"),
    (b"DictNode", b"ListNode"),
    (b"JsonNode", b"TypeNode"),
    (b'"SVC"', b'"certify"'),
    (b"__id__", b"__di__"),
    (b"<f8", b"|O8"),
    (b"numpy", b"pickle"),
]


def test_a_large_part_of_zeros_is_stored_so_that_it_can_be_read(tmp_path: Path) -> None:
    """32 MB of zeros shrink more than a thousand times, which load takes for an attack."""
    path = mm.save(mm.SVC(class_weight=np.zeros(4_000_000)), tmp_path / "m")
    assert not mm.load(path).class_weight.any()


def test_a_part_that_grows_too_much_is_refused(tmp_path: Path) -> None:
    import io
    import zipfile

    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("about.json", "{}")
        archive.writestr("model.skops", bytes(40_000_000))
    refused(tmp_path / "m", sealed(buffer.getvalue()), "would grow to 40000000 bytes")
