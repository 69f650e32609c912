"""Files that were written to hurt: each is refused with one sentence, quickly and within little memory."""

from __future__ import annotations

import copy
import json
import os
import pickle
import struct
import sys
import time
import tracemalloc
import warnings
import zipfile
from collections.abc import Callable
from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, OneHotEncoder, StandardScaler

import maxmargin as mm
from maxmargin import kernels as k
from maxmargin.feature_selection import RFE
from maxmargin.io.container import read_container
from tests.clocks import quickest
from tests.io.fuzz import fuzz, packed, sealed
from tests.io.models import TEXT_Y, TEXTS, X, Y, fitted

SECONDS, MEGABYTES = 0.2, 50


class Parts:
    """A good file taken apart, to be changed and put together under a checksum that is right again."""

    def __init__(self, path: Path) -> None:
        self.header, self.arrays = read_container(path)
        self.nodes = self.header["nodes"]

    def content(self) -> bytes:
        self.header["arrays"] = [[array.dtype.str, list(array.shape)] for array in self.arrays]
        return packed(self.header, [np.ascontiguousarray(array).tobytes() for array in self.arrays])

    def objects(self, name: str) -> list[Any]:
        return [node for node in self.nodes if node[:2] == ["object", name]]

    def place(self, name: str, field: str) -> tuple[Any, int]:
        """The last object of a class, and the place of a field in it."""
        node = self.objects(name)[-1]
        return node, node.index(field) + 1

    def get(self, name: str, field: str) -> Any:
        """The node of a field."""
        node, at = self.place(name, field)
        return self.nodes[node[at][0]]

    def put(self, name: str, field: str, value: Any) -> None:
        node, at = self.place(name, field)
        node[at] = value

    def change(self, name: str, field: str, function: Callable[[Any], Any], part: int = 1) -> None:
        """Replace the array of a field; ``part`` 2 and 3 are indices and indptr of a sparse matrix."""
        number = self.get(name, field)[part]
        self.arrays[number] = function(self.arrays[number].copy())


def with_value(at: Any, value: Any) -> Callable[[Any], Any]:
    def change(array: Any) -> Any:
        array[at] = value
        return array

    return change


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("hostile")


@pytest.fixture(scope="module")
def saved(folder: Path) -> Callable[[str], Parts]:
    models = {
        "dense": mm.SVC().fit(X, Y),
        "sparse": mm.SVC().fit(sp.csr_array(X.to_numpy()), Y),
        "strings": mm.SVC(kernel=k.Subsequence(2)).fit(TEXTS, TEXT_Y),
        "pieces": mm.SVC(kernel=k.Spectrum(2)).fit(TEXTS, TEXT_Y),
        "normalised": mm.SVC(kernel=k.Linear().normalized()).fit(X, Y),
        "ridge": mm.KernelRidge().fit(X, Y),
        "large": mm.LargeSVC(n_components=5).fit(X, Y),
        "online": mm.PassiveAggressive(random_state=0).fit(X, Y),
        "straight": mm.LinearSVR().fit(X, Y),
        "card": fitted("Scorecard")[0],
        "information": fitted("IVSelector")[0],
        "encoded": fitted("pipeline")[0],
        "pipeline": make_pipeline(StandardScaler(), mm.SVC()).fit(X, Y),
        "logistic": mm.LogisticRegression(C=1.0).fit(X, Y),
        "regression": mm.SVR().fit(X, Y),
        "words": mm.SVC(kernel=k.Subsequence(2, tokens="words")).fit(TEXTS, TEXT_Y),
        "passed on": make_pipeline(FunctionTransformer(feature_names_out="one-to-one"), mm.SVC()).fit(
            X.to_numpy(), Y
        ),
        "tokens": make_pipeline(TfidfVectorizer(), mm.LinearSVC()).fit(TEXTS, TEXT_Y),
    }
    for name, model in models.items():
        mm.save(model, folder / f"{name}.mm")
        mm.load(folder / f"{name}.mm")  # what loading imports for the first time does not count
    return lambda name: Parts(folder / f"{name}.mm")


def refused(path: Path, content: bytes, reason: str = "", *, about: bool = False) -> None:
    """`load` (and `about` where the file itself is wrong) says no in one line, in time and in memory."""
    path.write_bytes(content)
    limit = SECONDS * (3 if sys.gettrace() else 1)
    for opens in (mm.load, mm.io.about) if about else (mm.load,):

        def tried(opens: Any = opens) -> None:
            with pytest.raises(mm.io.ModelFileError, match=reason) as caught:
                opens(path)
            assert str(caught.value).isprintable()

        assert quickest(tried, limit) < limit
        tracemalloc.start()  # it takes most of the time, so it has a call of its own
        tried()
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        assert peak < MEGABYTES << 20


# -- the container -------------------------------------------------------------------------------------------


@pytest.fixture
def good(folder: Path, saved: Any) -> bytes:
    return (folder / "pipeline.mm").read_bytes()


def test_other_files_are_refused_with_the_reason(good: bytes, tmp_path: Path) -> None:
    path, body = tmp_path / "m", good.partition(b"\n")[2]
    refused(path, b"", "it is empty", about=True)
    refused(path, b"a,b\n1,2\n", "not a model file", about=True)
    refused(path, b"maxmargin-model 2 5\n", "not a model file", about=True)
    refused(path, b"x" * 5000, "not a model file", about=True)
    refused(path, pickle.dumps([1, 2]), "looks like a pickle, which is never opened", about=True)
    refused(path, b"svm_type c_svc\n", "read_libsvm", about=True)
    refused(path, good[: len(good) // 2], "truncated", about=True)
    refused(path, good + b"x", "has extra bytes", about=True)
    middle = len(good) // 2
    flipped = good[:middle] + bytes([good[middle] ^ 1]) + good[middle + 1 :]
    refused(path, flipped, "was changed after it was saved", about=True)
    refused(
        path,
        sealed(body).replace(b"model 2 ", b"model 3 "),
        "format 3.*install a newer maxmargin",
        about=True,
    )
    refused(
        path, sealed(body).replace(b"model 2 ", b"model 1 "), "format 1.*save the model again", about=True
    )
    refused(path, sealed(body).replace(b"model 2 ", b"model \x1b[2J "), r"format \\x1b", about=True)
    refused(path, sealed(b"no archive"), "header would be", about=True)


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="this system has no named pipes")
def test_pipes_folders_and_devices_are_refused(tmp_path: Path) -> None:
    """A pipe without a writer blocked until Ctrl-C."""
    os.mkfifo(tmp_path / "pipe")
    for path in (tmp_path / "pipe", tmp_path, Path(os.devnull)):
        for read in (mm.load, mm.io.about, mm.io.read_libsvm):
            with pytest.raises(mm.io.ModelFileError, match="folder, pipe or device"):
                read(path)


def test_a_file_cut_at_any_place_is_refused(good: bytes, tmp_path: Path) -> None:
    """Also with a first line that is right about what is left."""
    body = good.partition(b"\n")[2]
    path = tmp_path / "m"
    for stop in [*range(300), *range(300, len(good), 97)]:
        path.write_bytes(good[:stop])
        with pytest.raises(mm.io.ModelFileError):
            mm.load(path)
        if stop < len(body):
            path.write_bytes(sealed(body[:stop]))
            with pytest.raises(mm.io.ModelFileError, match="cannot be read as a model"):
                mm.load(path)


def test_headers_that_lie_about_sizes(good: bytes, tmp_path: Path) -> None:
    path, body = tmp_path / "m", good.partition(b"\n")[2]
    for length in (2**64 - 1, 2**63, len(body), len(body) - 7, 2**27):
        refused(
            path, sealed(struct.pack("<Q", length) + body[8:]), "its header would be|cannot be", about=True
        )
    for text in (b"", b"[]", b"{}", b"null", b"[" * 100_000, b'{"a":' * 50_000, b"\xff\xfe", b"1e999"):
        refused(path, sealed(struct.pack("<Q", len(text)) + text), "cannot be read as a model", about=True)
    twice = b'{"about":{},"nodes":[],"nodes":[],"arrays":[]}'
    refused(path, sealed(struct.pack("<Q", len(twice)) + twice), "a name occurs twice", about=True)


@pytest.mark.parametrize(
    "entry",
    [
        ["<f8", [10**12]],
        ["<f8", [2**62, 4]],  # overflows to a few bytes in 64 bits
        ["<f8", [-1]],
        ["<f8", [-3, -1]],
        ["<f8", [1.0]],
        ["<f8", [True]],
        ["<f8", 3],
        ["<f8", [0, 10**15]],
        ["<f8", [1] * 65],
        ["|O", [1]],
        ["O", [1]],
        ["<U0", [10**9]],
        ["|V0", [10**9]],
        ["<f8,<f8", [1]],
        ["<M8[s]", [1]],
        ["<f8", [1], "X"],
        ["<f8", [1], "F", "F"],
        "array.npy",
        None,
    ],
    ids=str,
)
def test_arrays_that_are_none(entry: Any, saved: Any, tmp_path: Path) -> None:
    parts = saved("dense")
    parts.content()
    parts.header["arrays"][0] = entry
    content = packed(parts.header, [array.tobytes() for array in parts.arrays])
    refused(tmp_path / "m", content, "cannot be read as a model", about=True)


def test_archives_are_never_unpacked(tmp_path: Path) -> None:
    """Nothing is unpacked: archives, in the place of a file or inside, are bytes like any others."""
    buffer = BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for name in ("about.json", "model.skops", "../../escape", "about.json"):
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # a name twice
                archive.writestr(name, bytes(40_000_000))
    for content in (buffer.getvalue(), sealed(buffer.getvalue())):
        refused(tmp_path / "m", content, "not a model file|header would be", about=True)
    assert [path.name for path in tmp_path.iterdir()] == ["m"]


# -- parts of the model --------------------------------------------------------------------------------------


class Payload:
    """Leaves a mark when it is made or called."""

    ran = False

    def __init__(self, *args: Any, **more: Any) -> None:
        Payload.ran = True


@pytest.mark.parametrize(
    "name",
    [
        *("os.system", "builtins.eval", "tests.io.test_hostile_files.Payload", "Payload", "subprocess/Popen"),
        *(
            "sklearn.datasets._openml.fetch_openml",
            "sklearn/FunctionTransformer/../Popen",
            "maxmargin.io.files.save",
        ),
        *(
            "_Past",
            "KernelMachine",
            "DualSolver",
            "",
            "sklearn/SVC",
            "sklearn/_SigmoidCalibration",
            None,
            3,
            ["SVC"],
        ),
    ],
)
def test_only_classes_of_the_table_are_made(name: Any, saved: Any, tmp_path: Path) -> None:
    parts = saved("dense")
    parts.objects("SVC")[-1][1] = name
    before = set(sys.modules)
    refused(tmp_path / "m", parts.content(), "not a class that models of maxmargin are made of")
    assert not Payload.ran
    assert set(sys.modules) == before


@pytest.mark.parametrize(
    "field", ["__class__", "__dict__", "predict", ".fit", "_calibrated", "note", "", 5, None]
)
def test_only_fields_of_the_table_are_set(field: Any, saved: Any, tmp_path: Path) -> None:
    parts = saved("dense")
    parts.objects("SVC")[-1].extend([field, 1])
    refused(tmp_path / "m", parts.content(), "knows no field")


def test_functions_are_never_made(saved: Any, tmp_path: Path) -> None:
    parts = saved("pipeline")
    step = parts.objects("sklearn/StandardScaler")[0]
    step[:] = ["object", "sklearn/FunctionTransformer", "func", "os.system", "inverse_func", None]
    refused(tmp_path / "m", parts.content(), "FunctionTransformer.func is not none")
    parts = saved("dense")
    parts.objects("RBF")[0][:] = ["object", "Rank1", "f", "print"]
    refused(tmp_path / "m", parts.content(), "Rank1.f is not function")


def test_lists_and_arrays_are_not_models(saved: Any, tmp_path: Path) -> None:
    about = saved("dense").header["about"]
    for nodes in ([["list", 1]], [["array", 0]], [["dict"]], [["object", "RBF", "gamma", 1.0]]):
        arrays = [np.zeros(3)] if nodes[0][0] == "array" else []
        header = {"about": about, "nodes": nodes, "arrays": [["<f8", [3]]] * len(arrays)}
        refused(tmp_path / "m", packed(header, [a.tobytes() for a in arrays]), "is not a model of maxmargin")
    header = {"about": about, "nodes": [["object", "sklearn/StandardScaler"]], "arrays": []}
    refused(tmp_path / "m", packed(header, []), "a StandardScaler is not a model of maxmargin")


def test_parts_that_contain_each_other(saved: Any, tmp_path: Path) -> None:
    """Sharing without end (2^60 parts), deep nesting, cycles, and references to nowhere."""
    about, path = saved("dense").header["about"], tmp_path / "m"

    def header(nodes: list[Any]) -> bytes:
        model = ["object", "SVC", "class_weight", [len(nodes) - 1]]
        return packed({"about": about, "nodes": [*nodes, model], "arrays": []}, [])

    doubled = [["object", "Linear"], *(["object", "Sum", "k1", [n], "k2", [n]] for n in range(60))]
    refused(path, header(doubled), "contain each other too often")
    refused(
        path,
        header([["list"], *(["list", [n], [n]] for n in range(200))]),
        "contain each other too often|nested",
    )
    refused(path, header([["list"], *(["list", [n]] for n in range(1000))]), "nested too deeply")
    for reference in ([1], [-1], [10**30], [0, 0], [], [[0]], ["0"], [0.0], {"a": 1}):
        refused(
            path,
            header([["list", 1], ["list", reference], ["list", [0], [1]]]),
            "does not come before|not a value",
        )
    refused(path, header([["list"], ["list"], ["list", [0]]]), "do not belong to the model")
    same_hash = [value for n in range(200) for value in (n * (2**61 - 1), 0)]
    refused(path, header([["dict", *same_hash]]), "chosen to make it slow")
    refused(path, header([["dict", "a", 1, "a", 2]]), "a key twice")
    refused(path, header([["dict", "a"]]), "cannot be read as a model")
    refused(path, header([["enum", "SVC", "fit"]]), "not an enumeration")
    refused(path, header([["type", "os.system"]]), "cannot be read as a model")
    refused(path, header([["float", "1"]]), "cannot be read as a model")
    refused(path, header([["objects", [10**9]]]), "does not fit its shape")
    refused(path, header([["objects", [0, 10**9]]]), "does not fit its shape")
    refused(path, header([["sparse", 0]]), "not a part of a model")


ARRAYS: dict[str, tuple[str, Callable[[Parts], None]]] = {
    "index beyond the columns": ("sparse", lambda p: p.change("VectorPoints", "X", with_value(3, 10**6), 2)),
    "index below zero": ("sparse", lambda p: p.change("VectorPoints", "X", with_value(0, -5), 2)),
    "rows beyond the data": ("sparse", lambda p: p.change("VectorPoints", "X", with_value(-1, 10**6), 3)),
    "rows that go back": ("sparse", lambda p: p.change("VectorPoints", "X", with_value(2, 2**31 - 1), 3)),
    "index twice": ("sparse", lambda p: p.change("VectorPoints", "X", with_value(1, 0), 2)),
    "narrow indices": ("sparse", lambda p: p.change("VectorPoints", "X", lambda a: a.astype("<i2"), 2)),
    "indices as numbers": ("sparse", lambda p: p.change("VectorPoints", "X", lambda a: a.astype("<f8"), 2)),
    "fewer entries": ("sparse", lambda p: p.change("VectorPoints", "X", lambda a: a[:-3], 1)),
    "entries as text": ("sparse", lambda p: p.change("VectorPoints", "X", lambda a: a.astype("<U3"), 1)),
    "entries of NaN": ("sparse", lambda p: p.change("VectorPoints", "X", with_value(0, np.nan), 1)),
    "too many columns": ("sparse", lambda p: p.get("VectorPoints", "X").__setitem__(5, 2**40)),
    "other columns": ("sparse", lambda p: p.get("VectorPoints", "X").__setitem__(5, 5)),
    "columns below zero": ("sparse", lambda p: p.get("VectorPoints", "X").__setitem__(5, -4)),
    "fewer norms": ("dense", lambda p: p.change("VectorPoints", "norms", lambda a: a[:2])),
    "other norms": ("dense", lambda p: p.change("VectorPoints", "norms", lambda a: 2 * a)),
    "norms of another precision": (
        "dense",
        lambda p: p.change("VectorPoints", "norms", lambda a: a.astype("<f4")),
    ),
    "norms as whole numbers": (
        "dense",
        lambda p: p.change("VectorPoints", "norms", lambda a: a.astype("<i8")),
    ),
    "norms of NaN": ("dense", lambda p: p.change("VectorPoints", "norms", with_value(0, np.nan))),
    "infinite rows": ("dense", lambda p: p.change("VectorPoints", "X", with_value((0, 0), np.inf))),
    "other rows": ("dense", lambda p: p.change("VectorPoints", "X", with_value((0, 0), 0.125))),
    "fewer rows": ("dense", lambda p: p.change("VectorPoints", "X", lambda a: a[:-1])),
    "fewer columns": ("dense", lambda p: p.change("VectorPoints", "X", lambda a: a[:, :-1])),
    "flat rows": ("dense", lambda p: p.change("VectorPoints", "X", lambda a: a.ravel())),
    "another shift": ("dense", lambda p: p.change("VectorPoints", "shift", with_value(0, 100.0))),
    "a longer shift": ("dense", lambda p: p.change("VectorPoints", "shift", lambda a: np.r_[a, a])),
    "no shift": ("dense", lambda p: p.put("VectorPoints", "shift", None)),
    "other support vectors": ("dense", lambda p: p.change("SVC", "support_vectors_", lambda a: a + 1.0)),
    "fewer coefficients": ("dense", lambda p: p.change("SVC", "dual_coef_", lambda a: a[:, :-1])),
    "coefficients of one class": ("dense", lambda p: p.change("SVC", "dual_coef_", lambda a: a[:1])),
    "coefficients of NaN": ("dense", lambda p: p.change("SVC", "dual_coef_", with_value((0, 0), np.nan))),
    "other coefficients": ("dense", lambda p: p.change("SVC", "dual_coef_", lambda a: a * 2.0)),
    "an infinite intercept": ("dense", lambda p: p.change("SVC", "intercept_", with_value(0, np.inf))),
    "more classes": ("dense", lambda p: p.change("SVC", "classes_", lambda a: np.r_[a, 7, 8])),
    "a class twice": ("dense", lambda p: p.change("SVC", "classes_", lambda a: a * 0)),
    "negative counts": ("dense", lambda p: p.change("SVC", "n_support_", lambda a: a - [100, -50, -50])),
    "rows that are not there": ("dense", lambda p: p.change("SVC", "support_", with_value(0, 10**6))),
    "negative rows": ("dense", lambda p: p.change("SVC", "support_", with_value(0, -1))),
    "another strategy": ("dense", lambda p: p.put("SVC", "multiclass", "ovr")),
    "no strategy": ("dense", lambda p: p.put("SVC", "multiclass", "one of each")),
    "threads without end": ("dense", lambda p: p.put("SVC", "n_jobs", 0)),
    "a kernel without its number": ("dense", lambda p: p.put("RBF", "gamma", "scale")),
    "a kernel below zero": ("dense", lambda p: p.put("RBF", "gamma", -1.0)),
    "a kernel of other columns": ("dense", lambda p: p.put("RBF", "features", 9)),
    "fewer names": ("dense", lambda p: p.put("SVC", "n_features_in_", 3)),
    "strings that overlap": ("strings", lambda p: p.change("StringPoints", "starts", with_value(1, 10**9))),
    "strings before the first": ("strings", lambda p: p.change("StringPoints", "starts", with_value(0, -9))),
    "other symbols": ("strings", lambda p: p.change("StringPoints", "codes", with_value(0, 2**30))),
    "symbols of another size": (
        "strings",
        lambda p: p.change("StringPoints", "codes", lambda a: a.astype("<i8")),
    ),
    "other factors": ("strings", lambda p: p.change("StringPoints", "factors", lambda a: 3.0 * a)),
    "fewer factors": ("strings", lambda p: p.change("StringPoints", "factors", lambda a: a[:-1])),
    "other counts": ("pieces", lambda p: p.change("CountPoints", "X", lambda a: a[::-1], 1)),
    "other squares": ("pieces", lambda p: p.change("CountPoints", "squares", lambda a: a + 1.0)),
    "factors of a normalised kernel": (
        "normalised",
        lambda p: p.change("WeightedPoints", "factors", lambda a: a * 2),
    ),
    "a path of another model": ("ridge", lambda p: p.change("KernelRidge", "dual_coef_", lambda a: a[::-1])),
    "a kernel of numbers": ("ridge", lambda p: p.put("KernelRidge", "kernel", [0])),
    "fewer landmarks": ("large", lambda p: p.change("NystromMap", "root", lambda a: a[:-1])),
    "a sum of another size": ("online", lambda p: p.change("OnlineState", "z", lambda a: a[:1])),
    "no random numbers": ("online", lambda p: p.put("OnlineState", "rng", None)),
    "weights of another size": ("online", lambda p: p.change("OnlineState", "v", lambda a: a[:1])),
    "other weights": ("online", lambda p: p.change("PassiveAggressive", "coef_", lambda a: a + 1.0)),
    "random numbers from elsewhere": ("online", lambda p: random_position(p, 625)),
    "random numbers from before": ("online", lambda p: random_position(p, -1)),
    "other counts of bins": ("card", lambda p: p.change("NumberBins", "edges", lambda a: -a[::-1] * np.inf)),
    "a scaler of one column": (
        "pipeline",
        lambda p: p.change("sklearn/StandardScaler", "mean_", lambda a: a[:1]),
    ),
    "bounds of another kind": ("information", lambda p: p.put("IVSelector", "max_iv", "large")),
    "columns that are none": ("card", lambda p: p.put("Binning", "categorical_features", None)),
    "numbers of no kind": ("encoded", lambda p: p.put("sklearn/OneHotEncoder", "dtype", 3)),
    "a parameter of another kind": ("encoded", lambda p: p.put("sklearn/OneHotEncoder", "handle_unknown", 3)),
    "a scaler that divides by zero": (
        "pipeline",
        lambda p: p.change("sklearn/StandardScaler", "scale_", lambda a: 0 * a),
    ),
    "a scale of another column": (
        "pipeline",
        lambda p: p.change("sklearn/StandardScaler", "scale_", lambda a: 2 * a),
    ),
    "intercepts without targets": (
        "straight",
        lambda p: p.change("LinearSVR", "intercept_", lambda a: np.repeat(a, 50)),
    ),
    "no intercept": ("straight", lambda p: p.change("LinearSVR", "intercept_", lambda a: a[:0])),
    "a scaler without a scale": ("pipeline", lambda p: p.put("sklearn/StandardScaler", "scale_", None)),
}


def random_position(parts: Parts, position: int) -> None:
    for node in parts.nodes:
        if node[0] == "random_state":
            node[2] = position


@pytest.mark.parametrize("name", ARRAYS)
def test_parts_that_contradict_each_other(name: str, saved: Any, tmp_path: Path) -> None:
    model, change = ARRAYS[name]
    parts = saved(model)
    mm.load(_write(tmp_path / "m", parts.content()))  # good before the change, and compiled
    change(parts)
    refused(tmp_path / "m", parts.content(), "cannot be read as a model")


def _write(path: Path, content: bytes) -> Path:
    path.write_bytes(content)
    return path


def test_every_field_of_a_model_is_needed(saved: Any, tmp_path: Path) -> None:
    """Without any of them the file is refused, or the model predicts the same."""
    good = saved("dense")
    expected = mm.load(_write(tmp_path / "m", good.content())).decision_function(X)
    node = good.objects("SVC")[-1]
    for at in range(2, len(node), 2):
        parts = copy.deepcopy(good)
        del parts.objects("SVC")[-1][at : at + 2]
        try:
            model = mm.load(_write(tmp_path / "m", parts.content()))
        except mm.io.ModelFileError:
            continue
        np.testing.assert_array_equal(model.decision_function(X), expected)


# -- small files that would cost much ------------------------------------------------------------------------


def _header(about: Any, **parts: Any) -> bytes:
    """A file without arrays: notes, nodes (of which the last is no model) and entries of arrays."""
    notes, nodes = parts.get("notes", {}), parts.get("nodes", [["list"]])
    header = {"about": {**about, "notes": notes}, "nodes": nodes, "arrays": parts.get("arrays", [])}
    return packed(header, [])


def _many(kind: list[Any], *first: list[Any], n: int = 1990) -> dict[str, Any]:
    """So many nodes of one kind, and a list of all of them."""
    nodes = [*first, *[kind] * (n - len(first))]
    return {"nodes": [*nodes, ["list", *([j] for j in range(n))]]}


_INDEX = ["objects", [0]], ["index", [0], None]
HEADERS: dict[str, tuple[dict[str, Any], str]] = {
    "references": ({"nodes": [["list"], ["list", *[[0]] * 700_000]]}, "values, and 50000 are allowed"),
    "as many references as fit": ({"nodes": [["list"], ["list", *[[0]] * 24_970]]}, "too often"),
    "numbers": ({"nodes": [["list", *[1.5] * 700_000]]}, "values, and 50000 are allowed"),
    "as many numbers as fit": ({"nodes": [["list", *[1.5] * 49_900]]}, "a list is not a model"),
    "long numbers": ({"nodes": [["list", *[10**4000] * 700]]}, "too many digits"),
    "a very long number": ({"nodes": [["list", 0.1]], "notes": {"x": 10**4299}}, "too many digits"),
    "lists in the notes": ({"notes": {"a": [[]] * 1_000_000}}, "values, and"),
    "mappings in the notes": ({"notes": {"a": [{}] * 24_900}}, "a list is not a model"),
    "wide characters": ({"notes": {"a": "\U0001f600" + "a" * 5_900_000}}, "a list is not a model"),
    "long text": ({"notes": {"a": "a" * 6_000_000}}, "its header would be"),
    "empty arrays": ({"arrays": [["<f8", [0]]] * 10_000}, "10001 parts, and 2000 are allowed"),
    "as many arrays as fit": ({"arrays": [["<f8", [0]]] * 1_999}, "do not belong"),
    "nodes": (_many(["list"], n=2000), "2001 parts, and 2000 are allowed"),
    "machines": (_many(["object", "SVC"]), "a list is not a model"),
    "kernels": (_many(["object", "RBF"]), "a list is not a model"),
    "tables": (_many(["frame", [1], [1]], *_INDEX), "more than 200 tables"),
    "as many tables as fit": (_many(["frame", [1], [1]], *_INDEX, n=200), "a list is not a model"),
    "labels of tables": (_many(["multiindex", [0], "a", "b"], _INDEX[0], n=200), "a list is not a model"),
    "pipelines": (
        _many(["object", "sklearn/Pipeline", "steps", [0]], ["list"]),
        "steps of a pipeline|tables",
    ),
}


@pytest.mark.parametrize("name", HEADERS)
def test_headers_that_are_all_there_is(name: str, saved: Any, tmp_path: Path) -> None:
    """Three megabytes of header took 1.2 s and 100 MB: a byte of JSON becomes up to 40 in memory."""
    parts, reason = HEADERS[name]
    refused(tmp_path / "m", _header(saved("dense").header["about"], **parts), reason)


def test_numbers_that_load_would_refuse_are_not_saved(tmp_path: Path) -> None:
    for digits in (300, 500):
        model = mm.SVC(random_state=10**digits).fit(X, Y)
        if digits == 300:
            assert mm.load(mm.save(model, tmp_path / "m")).random_state == 10**300
        else:
            with pytest.raises(
                mm.io.NotStorableError, match=r"SVC.random_state is a number with too many digits"
            ):
                mm.save(model, tmp_path / "m")


def test_a_header_in_another_encoding_is_refused(good: bytes, tmp_path: Path) -> None:
    text = json.dumps({"about": {}, "nodes": [], "arrays": []}).encode("utf-16")
    refused(tmp_path / "m", sealed(struct.pack("<Q", len(text)) + text), "not plain JSON", about=True)


def many_classes(parts: Parts) -> None:
    """30 000 classes have 450 000 000 pairs."""
    parts.put("LogisticRegression", "multiclass", "ovo")
    parts.change("LogisticRegression", "classes_", lambda a: np.arange(30_000).astype(a.dtype))


def shifted_and_sparse(parts: Parts) -> None:
    """A dense matrix of 20 000 by 20 000 from 400 kB."""
    n, matrix, points = 20_000, parts.get("VectorPoints", "X"), parts.objects("VectorPoints")[-1]
    for number, array in zip(
        matrix[1:4], (np.zeros(0), np.zeros(0, "<i4"), np.zeros(n + 1, "<i4")), strict=True
    ):
        parts.arrays[number] = array
    matrix[4:] = [n, n]
    parts.change("VectorPoints", "norms", lambda a: np.zeros(n))
    points[points.index("shift") + 1] = points[points.index("norms") + 1]  # both name one array


def long_words(parts: Parts) -> None:
    """Gigabytes of text from 16 000 times the number of one word."""
    parts.get("StringPoints", "vocabulary")[1] = "a" * 100_000
    parts.change("StringPoints", "codes", lambda a: np.zeros(16_000, "<i4"))
    parts.change("StringPoints", "starts", lambda a: np.r_[np.arange(len(a) - 1) * 1000, 16_000])


def long_strings(parts: Parts) -> None:
    """A string of 50 000 symbols, which takes minutes to compare with itself."""
    parts.change("StringPoints", "codes", lambda a: np.full(50_000, 97, "<i4"))
    parts.change("StringPoints", "starts", lambda a: np.r_[0 * a[:-1], 50_000])


def pieces_of_every_length(parts: Parts, text: str, length: int = 100) -> None:
    """36 s and 4 GB for 105 kB, and 3 s where the pieces repeat."""
    set_everywhere(parts, "Spectrum", length=length, up_to=True)
    parts.get("SVC", "support_vectors_")[1] = text


def many_neighbours(parts: Parts) -> None:
    """Each piece differs from millions of others in one place."""
    set_everywhere(parts, "Spectrum", mismatches=1)
    parts.get("CountPoints", "symbols").extend(range(1000, 21_000))


def set_everywhere(parts: Parts, name: str, **fields: Any) -> None:
    for node in parts.objects(name):
        for field, value in fields.items():
            node[node.index(field) + 1] = value


def rename_everywhere(parts: Parts, old: str, new: str) -> None:
    for node in parts.nodes:
        node[1:] = [new if item == old else item for item in node[1:]]


COSTLY: dict[str, tuple[str, Callable[[Parts], None], str]] = {
    "pairs of classes": ("logistic", many_classes, "coefficients and classes"),
    "a dense sum": ("sparse", shifted_and_sparse, "the shift of prepared rows"),
    "long pieces": (
        "pieces",
        lambda p: set_everywhere(p, "Spectrum", length=10**8, up_to=True),
        "from 1 to 1000",
    ),
    "pieces of every length": (
        "pieces",
        lambda p: pieces_of_every_length(p, "".join(map(chr, range(1000, 20_000)))),
        "too many pieces",
    ),
    "the same pieces of every length": (
        "pieces",
        lambda p: pieces_of_every_length(p, "ab" * 10_000),
        "too many pieces",
    ),
    "new pieces": (
        "pieces",
        lambda p: pieces_of_every_length(p, "".join(map(chr, range(1000, 20_000))), 30),
        "the pieces of strings",
    ),
    "neighbours of pieces": ("pieces", many_neighbours, "too many pieces"),
    "long subsequences": (
        "strings",
        lambda p: set_everywhere(p, "Subsequence", length=10**7),
        "from 1 to 1000",
    ),
    "long words": ("words", long_words, "the words of strings"),
    "long strings": ("strings", long_strings, "the symbols of strings"),
    "names of columns": (
        "passed on",
        lambda p: p.put("sklearn/FunctionTransformer", "n_features_in_", 10**8),
        "the columns of a step",
    ),
    "names by a format": (
        "encoded",
        lambda p: p.put("sklearn/ColumnTransformer", "verbose_feature_names_out", "{feature_name:>99999999}"),
        "is not flag",
    ),
    "a long name of a step": (
        "encoded",
        lambda p: rename_everywhere(p, "onehotencoder", "o" * 10_000),
        "the names of steps",
    ),
    "many processes": (
        "encoded",
        lambda p: p.put("sklearn/ColumnTransformer", "n_jobs", 100_000),
        "the number of processes",
    ),
    "long phrases": (
        "tokens",
        lambda p: p.get("sklearn/TfidfVectorizer", "ngram_range").__setitem__(2, 10**18),
        "the lengths of phrases",
    ),
    "a pattern that takes years": (
        "tokens",
        lambda p: p.put("sklearn/TfidfVectorizer", "token_pattern", "(a+)+b"),
        "the pattern of words",
    ),
}


@pytest.mark.parametrize("name", COSTLY)
def test_numbers_that_would_cost_much(name: str, saved: Any, tmp_path: Path) -> None:
    model, change, reason = COSTLY[name]
    parts = saved(model)
    change(parts)
    refused(tmp_path / "m", parts.content(), reason)


def test_models_inside_models(saved: Any, tmp_path: Path) -> None:
    """The text of a model has that of its inner one twice: forty of them never ended."""
    parts = saved("dense")
    model = ["object", "SVC"]
    for name, value in mm.SVC().get_params().items():
        model += [name, value]
    nodes = [model]
    for depth in range(40):
        search = ["object", "RFE", "estimator", [depth]]
        for name, value in RFE(mm.SVC()).get_params(deep=False).items():
            search += [] if name == "estimator" else [name, value]
        nodes.append(search)
    content = packed({"about": parts.header["about"], "nodes": nodes, "arrays": []}, [])
    refused(tmp_path / "m", content, "nested too deeply")
    deep = mm.GridSearch(RFE(make_pipeline(StandardScaler(), mm.SVC())), {"step": [1, 2]})
    assert repr(mm.load(mm.save(deep, tmp_path / "m"))) == repr(deep)


def test_steps_that_make_many_names(saved: Any, tmp_path: Path) -> None:
    """A thousand steps that pass 4000 columns on made four million names."""
    parts = saved("passed on")
    step = parts.objects("sklearn/FunctionTransformer")[0]
    step[step.index("n_features_in_") + 1] = 4000
    steps = parts.get("sklearn/Pipeline", "steps")
    at = parts.nodes.index(parts.nodes[steps[1][0]])
    more = [["tuple", f"s{j}", parts.nodes[at][2]] for j in range(1000)]
    parts.nodes[at:at] = more
    for node in parts.nodes[at + len(more) :]:
        node[1:] = [
            [item[0] + len(more)] if type(item) is list and len(item) == 1 and item[0] >= at else item
            for item in node[1:]
        ]
    steps[1:1] = [[at + j] for j in range(len(more))]
    refused(tmp_path / "m", parts.content(), "the columns of a step")


def test_long_names_of_columns_with_many_categories(tmp_path: Path) -> None:
    """Every category makes a name that begins with that of its column: 2 MB became 80."""
    name = "a question of the survey"
    table = pd.DataFrame({name: np.arange(300) % 150})
    mm.save(make_pipeline(OneHotEncoder(), mm.LinearSVC()).fit(table, np.arange(300) % 2), tmp_path / "good")
    parts = Parts(tmp_path / "good")
    rename_everywhere(parts, name, name * 20_000)
    parts.header["about"]["feature_names"] = [name * 20_000]
    refused(tmp_path / "m", parts.content(), "the names of columns")


@pytest.mark.parametrize(
    ("model", "name", "field", "value"),
    [
        ("pipeline", "sklearn/Pipeline", "memory", "/tmp/pickles"),
        ("tokens", "sklearn/TfidfVectorizer", "input", "filename"),
        ("tokens", "sklearn/TfidfVectorizer", "input", "file"),
        ("encoded", "sklearn/SimpleImputer", "missing_values", "a"),
    ],
)
def test_options_of_steps_that_a_file_may_not_choose(
    model: str, name: str, field: str, value: str, saved: Any, tmp_path: Path
) -> None:
    """A cache of a pipeline holds pickles, and words by file name are read from the disk."""
    parts = saved(model)
    parts.put(name, field, value)
    refused(tmp_path / "m", parts.content(), "is not none|the input of words|the missing values")


def test_long_strings_open_at_once_and_their_factors_are_those_of_the_kernel(
    saved: Any, tmp_path: Path
) -> None:
    """To compare the factors of long strings took seconds; now the first prediction computes them."""
    parts, text = saved("strings"), "ab" * 6000
    old = parts.get("SVC", "support_vectors_")[1]
    parts.get("SVC", "support_vectors_")[1] = text
    symbols = np.frombuffer(text.encode("utf-32-le"), "<i4")
    parts.change("StringPoints", "codes", lambda a: np.r_[symbols, a[len(old) :]])
    parts.change("StringPoints", "starts", lambda a: np.r_[0, a[1:] + len(text) - len(old)])
    path = tmp_path / "m"
    path.write_bytes(parts.content())
    spent = []
    for _ in range(3):  # threads would compute the factors, and threads of other tests may still work
        start = time.process_time()
        model = mm.load(path)
        spent.append(time.process_time() - start)
    assert min(spent) < SECONDS
    again = pickle.loads(pickle.dumps(model))
    model.predict(["a prize"])
    kernel = k.Subsequence(2)
    np.testing.assert_allclose(
        model.support_points_.factors, kernel.prepare(model.support_vectors_).factors, rtol=1e-9
    )
    assert model.decision_function(TEXTS).tolist() == again.decision_function(TEXTS).tolist()
    assert mm.load(mm.save(again, path)).predict(TEXTS).tolist() == model.predict(TEXTS).tolist()


def test_a_claim_of_many_training_rows_costs_nothing(saved: Any, tmp_path: Path) -> None:
    """The number of rows of a regression is said, not stored: 500 000 000 took 4 GB."""
    parts = saved("regression")
    parts.get("SVR", "shape_fit_")[1] = 500_000_000
    path = _write(tmp_path / "m", parts.content())
    tracemalloc.start()
    model = mm.load(path)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < MEGABYTES << 20
    assert model.shape_fit_[0] == 500_000_000


def test_headers_grow_with_their_arrays(tmp_path: Path) -> None:
    """Limits are for small files: many cells and many names are saved and opened."""
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(3000, 3))
    cells = mm.CellSVC(cell_size=6).fit(rows, rows[:, 0] > 0)
    wide = pd.DataFrame(np.eye(6, 60_000), columns=[f"the column with the number {j}" for j in range(60_000)])
    named = mm.LinearSVC().fit(wide.astype("float32"), [0, 1] * 3)
    for model in (cells, named):
        again = mm.load(mm.save(model, tmp_path / "m"))
        assert type(again) is type(model)


# -- what a file says about itself ---------------------------------------------------------------------------


def test_a_description_must_be_that_of_the_model(saved: Any, tmp_path: Path) -> None:
    for name, value in {
        "model": ["LinearSVC"],
        "classes": [0, 1],
        "feature_names": ["a", "b", "c", "d"],
        "n_features": 7,
    }.items():
        parts = saved("dense")
        parts.header["about"][name] = value
        refused(tmp_path / "m", parts.content(), "describes another model")
    for name, value in {
        "versions": [],
        "notes": None,
        "model": "SVC",
        "feature_names": [1],
        "saved": 0,
    }.items():
        parts = saved("dense")
        parts.header["about"][name] = value
        refused(tmp_path / "m", parts.content(), "does not describe a model", about=True)


def test_control_characters_are_shown_escaped() -> None:
    """Escape sequences, bidirectional controls, line breaks and lone surrogates."""
    for text in ("\x1b[2J", "a\u202eb", "a\nb", "a\rb", "\x00", "\x9b1m", "\u2066", "\ud800", "\u2028"):
        shown = mm.io.printable(text)
        assert shown.isprintable()
        assert shown != text
    assert mm.io.printable("naïve größer 年龄 x₁") == "naïve größer 年龄 x₁"


# -- at random -----------------------------------------------------------------------------------------------


def test_what_a_search_fits_must_be_an_estimator(tmp_path: Path) -> None:
    """A certificate in its place was accepted, and every method then failed."""
    model = fitted("SFS")[0]
    model.estimator = mm.SVC().fit(X, Y).certificate_
    with pytest.raises(mm.io.NotStorableError, match=r"SFS\.estimator is not an estimator"):
        mm.save(model, tmp_path / "m")


@pytest.mark.parametrize("columns", [[0], [0, 1, 2]])
def test_the_columns_that_an_elimination_kept_are_those_of_its_machine(
    columns: list[int], tmp_path: Path
) -> None:
    model = fitted("RFE")[0]
    model.support_ = np.isin(np.arange(4), columns)
    with pytest.raises(mm.io.NotStorableError, match="chosen columns"):
        mm.save(model, tmp_path / "m")


@pytest.mark.parametrize("cuts", [[5.0, 4.0], [5.0, np.nan], [5.0, 5.0], [5.0], ["a", "b"], [[4.0], [5.0]]])
def test_cuts_that_are_no_cuts(cuts: list[Any], tmp_path: Path) -> None:
    """Cuts out of order were accepted, and bins looked up in them were none."""
    model = mm.discretize.MDLDiscretizer().fit(X, Y)
    model.cuts_[2] = np.array(cuts)
    with pytest.raises(mm.io.NotStorableError, match="cuts and bins"):
        mm.save(model, tmp_path / "m")


def test_a_machine_on_strings_behind_columns_of_numbers(tmp_path: Path) -> None:
    """Each step is a good one; only together they make no sense."""
    model = make_pipeline(StandardScaler(), mm.SVC(kernel=k.Subsequence(2)))
    model[0].fit(np.eye(3))
    model[1].fit(TEXTS, TEXT_Y)
    with pytest.raises(mm.io.NotStorableError, match="the steps of a pipeline"):
        mm.save(model, tmp_path / "m")


@pytest.mark.parametrize("seed", range(2))
def test_files_changed_with_care(seed: int) -> None:
    """A sample; the long run is ``python -m tests.io.fuzz --crafted --files 10000``."""
    counts = fuzz(
        120,
        seed,
        with_care=True,
        names=["SVC sparse", "SVC one-versus-rest", "words", "Scorecard", "pipeline"],
    )
    assert counts["failure"] == 0
    assert counts["refused"] > 60


@pytest.mark.parametrize("seed", range(4))
def test_mutated_files(seed: int) -> None:
    """A sample; the long run is ``python -m tests.io.fuzz --files 100000``."""
    counts = fuzz(
        150, seed, names=["SVC sparse", "SVC with probabilities", "words", "Spectrum", "LargeSVC", "pipeline"]
    )
    assert counts["failure"] == 0
    assert counts["refused"] > 75


def test_the_fuzzer_finds_what_is_wrong(saved: Any, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without the checks of parts it reports files whose predictions do not follow from their numbers."""
    monkeypatch.setattr("maxmargin.io.decoding.check_parts", lambda name, made: None)
    counts = fuzz(600, 3, names=["SVC on text labels", "NuSVC"])
    assert counts["failure"] > 0


def test_json_of_a_header_is_plain(saved: Any) -> None:
    """Numbers are written with all their digits, so the text of a header reads back as the same values."""
    header = saved("dense").header
    assert json.loads(json.dumps(header)) == header
