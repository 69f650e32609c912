"""LIBSVM's model files: svm-predict and we give the same answers, in both directions."""

from __future__ import annotations

import shutil
import subprocess
import warnings
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.datasets import load_iris
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import maxmargin as mm
from maxmargin import kernels as k

X, _codes = load_iris(return_X_y=True)
Y = np.array([5, -1, 2])[_codes]  # not in ascending order of first appearance
TWO = Y != 2
NEW = X + np.random.default_rng(0).normal(scale=0.3, size=X.shape)

needs_libsvm = pytest.mark.skipif(
    shutil.which("svm-predict") is None or shutil.which("svm-train") is None,
    reason="svm-train and svm-predict are not installed (Debian: libsvm-tools)",
)

MACHINES: dict[str, tuple[Any, Any]] = {
    "c_svc rbf": (mm.SVC(), Y),
    "c_svc linear": (mm.SVC(kernel="linear"), Y),
    "c_svc polynomial": (mm.SVC(kernel="poly", coef0=1.0, degree=2), Y),
    "c_svc sigmoid": (mm.SVC(kernel="sigmoid", gamma=0.01), Y),
    "c_svc scaled": (mm.SVC(kernel=2.0 * k.RBF(length_scale=1.5, variance=3.0)), Y),
    "nu_svc": (mm.NuSVC(nu=0.2), Y),
    "one_class": (mm.OneClassSVM(nu=0.3), None),
    "epsilon_svr": (mm.SVR(), Y * 1.0),
    "nu_svr": (mm.NuSVR(kernel="poly", coef0=1.0), Y * 1.0),
}


def fitted(machine: Any, rows: Any, target: Any) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the sigmoid kernel says that it is not positive semidefinite
        return machine.fit(rows) if target is None else machine.fit(rows, target)


def read(path: Path, **options: Any) -> Any:
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="the sigmoid kernel")
        return mm.io.read_libsvm(path, **options)


def libsvm_rows(rows: Any, target: Any, path: Path, *, numbered: bool = False) -> Path:
    lines = []
    for i, row in enumerate(rows):
        serial = f"0:{i + 1} " if numbered else ""
        entries = " ".join(f"{j + 1}:{float(v)!r}" for j, v in enumerate(row))
        lines.append(f"{target[i]} {serial}{entries}")
    path.write_text("\n".join(lines) + "\n")
    return path


def svm_predict(model: Path, rows: Any, *, numbered: bool = False) -> Any:
    data = libsvm_rows(rows, np.zeros(len(rows)), model.parent / "rows", numbered=numbered)
    out = model.parent / "out"
    subprocess.run(["svm-predict", "-q", str(data), str(model), str(out)], check=True)
    return np.loadtxt(out)


def as_regression(path: Path) -> Path:
    """The same expansion called a regression, because svm-predict only prints the decisions of those."""
    lines = path.read_text().splitlines()
    kept = [line for line in lines if not line.startswith(("label", "nr_sv"))]
    kept[0] = "svm_type epsilon_svr"
    other = path.with_suffix(".regression")
    other.write_text("\n".join(kept) + "\n")
    return other


@needs_libsvm
@pytest.mark.parametrize("name", MACHINES)
def test_svm_predict_answers_the_same(name: str, tmp_path: Path) -> None:
    machine, target = MACHINES[name]
    fitted(machine, X, target)
    path = mm.io.write_libsvm(machine, tmp_path / "model")
    np.testing.assert_allclose(svm_predict(path, NEW), machine.predict(NEW), rtol=0, atol=1e-6)


@needs_libsvm
@pytest.mark.parametrize("machine", [mm.SVC(C=10.0), mm.NuSVC(nu=0.3), mm.OneClassSVM(nu=0.2)], ids=repr)
def test_decisions_agree_with_svm_predict(machine: Any, tmp_path: Path) -> None:
    fitted(machine, X[TWO], None if isinstance(machine, mm.OneClassSVM) else Y[TWO])
    path = as_regression(mm.io.write_libsvm(machine, tmp_path / "model"))
    sign = 1.0 if isinstance(machine, mm.OneClassSVM) else -1.0  # LIBSVM is positive on the first class
    np.testing.assert_allclose(
        sign * svm_predict(path, NEW), machine.decision_function(NEW), rtol=0, atol=1e-6
    )


@needs_libsvm
@pytest.mark.parametrize("machine", [mm.SVC(kernel="precomputed"), mm.SVR(kernel="precomputed")], ids=repr)
def test_a_precomputed_kernel_goes_both_ways(machine: Any, tmp_path: Path) -> None:
    fitted(machine, X @ X.T, Y)
    path = mm.io.write_libsvm(machine, tmp_path / "model")
    K = NEW @ X.T
    np.testing.assert_allclose(svm_predict(path, K, numbered=True), machine.predict(K), rtol=0, atol=1e-6)
    np.testing.assert_array_equal(read(path, n_features=len(X)).predict(K), machine.predict(K))


@needs_libsvm
@pytest.mark.parametrize("kind", range(5), ids=["c_svc", "nu_svc", "one_class", "epsilon_svr", "nu_svr"])
def test_models_of_svm_train_are_read(kind: int, tmp_path: Path) -> None:
    rows = libsvm_rows(X, Y, tmp_path / "train")
    path = tmp_path / "model"
    command = ["svm-train", "-q", "-s", str(kind), "-g", "0.2", "-n", "0.3", str(rows), str(path)]
    subprocess.run(command, check=True)
    expected = svm_predict(path, NEW)
    np.testing.assert_allclose(read(path).predict(NEW), expected, rtol=0, atol=1e-6)


@pytest.mark.parametrize("name", MACHINES)
def test_what_was_written_is_read(name: str, tmp_path: Path) -> None:
    machine, target = MACHINES[name]
    fitted(machine, X, target)
    again = read(mm.io.write_libsvm(machine, tmp_path / "model"))
    answer = "decision_function" if hasattr(machine, "decision_function") else "predict"
    before, after = getattr(machine, answer)(NEW), getattr(again, answer)(NEW)
    np.testing.assert_allclose(before, after, rtol=0, atol=1e-9)
    np.testing.assert_array_equal(getattr(again, "classes_", 0), getattr(machine, "classes_", 0))


def test_sparse_rows_and_more_columns(tmp_path: Path) -> None:
    rows = sp.random_array((60, 50), density=0.05, rng=np.random.default_rng(1), format="csr")
    machine = mm.SVC(C=10.0).fit(rows, np.arange(60) % 2)
    again = read(mm.io.write_libsvm(machine, tmp_path / "model"), n_features=50)
    assert sp.issparse(again.support_vectors_)
    np.testing.assert_allclose(again.decision_function(rows), machine.decision_function(rows), atol=1e-12)
    with pytest.raises(ValueError, match="n_features=2 is too small"):
        read(tmp_path / "model", n_features=2)


@pytest.mark.parametrize(
    ("model", "reason"),
    [
        (make_pipeline(StandardScaler(), mm.SVC()), "LIBSVM has no Pipeline.*Write its last step"),
        (mm.SVDD(), "LIBSVM has no SVDD"),
        (mm.SVC(multiclass="ovr"), "fit with multiclass='ovo'"),
        (mm.SVC(break_ties=True), "ties to the first class"),
        (mm.SVC(kernel="laplacian"), "LIBSVM has no kernel Laplacian.*mm.save"),
        (mm.SVC(kernel=k.RBF(0.1, features=[0, 1])), "use all columns"),
    ],
    ids=["pipeline", "machine", "one-versus-rest", "ties", "kernel", "columns"],
)
def test_what_libsvm_cannot_compute_is_refused(model: Any, reason: str, tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=reason):
        mm.io.write_libsvm(model.fit(X, Y), tmp_path / "m")


def test_text_labels_need_numbers(tmp_path: Path) -> None:
    machine = mm.SVC().fit(X, np.array(["a", "b", "c"])[_codes])
    with pytest.raises(ValueError, match=r"whole numbers.*give labels=\[0, 1, 2\]"):
        mm.io.write_libsvm(machine, tmp_path / "m")
    again = read(mm.io.write_libsvm(machine, tmp_path / "m", labels=[7, 8, 9]))
    assert again.classes_.tolist() == [7, 8, 9]


GOOD = (
    "svm_type c_svc\nkernel_type rbf\ngamma 0.5\nnr_class 2\ntotal_sv 2\nrho 0.1\nlabel 1 -1\nnr_sv 1 1\n"
    "SV\n1 1:2 \n-1 2:1 \n"
)


def test_a_good_text_is_read(tmp_path: Path) -> None:
    path = tmp_path / "m"
    path.write_text(GOOD)
    machine = read(path)
    # f = exp(-0.5 |x - (2, 0)|^2) - exp(-0.5 |x - (0, 1)|^2) - 0.1, positive on label 1
    expected = np.exp(0.0) - np.exp(-2.5) - 0.1
    assert machine.classes_.tolist() == [-1, 1]
    np.testing.assert_allclose(machine.decision_function([[2.0, 0.0]]), [expected], rtol=1e-12)


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        (("svm_type c_svc", "svm_type svr"), "svm_type 'svr' is unknown"),
        (("kernel_type rbf", "kernel_type gauss"), "kernel_type 'gauss' is unknown"),
        (("gamma 0.5", "gamma -1"), "gamma=-1.0 must be > 0"),
        (("total_sv 2", "total_sv 3"), "total_sv says 3 support vectors, and 2 follow"),
        (("rho 0.1", "rho nan"), "NaN"),
        (("rho 0.1", "rho 0.1 2"), "'rho' is missing or has not 1 values"),
        (("label 1 -1", "label 1 1"), "different whole numbers"),
        (("nr_sv 1 1", "nr_sv 1 2"), "does not add up"),
        (("SV\n", "VS\n"), "no line SV"),
        (("1:2", "1;2"), "support vector 1 cannot be read"),
        (("1:2", "3:1 2:1"), "not in ascending order"),
        (("2:1", "2000000000:1"), "too many"),
        (("svm_type", "\x00"), "first line"),
    ],
)
def test_a_wrong_text_is_refused(change: tuple[str, str], reason: str, tmp_path: Path) -> None:
    path = tmp_path / "m"
    path.write_text(GOOD.replace(*change))
    with pytest.raises(mm.io.ModelFileError, match=reason):
        read(path)


@settings(max_examples=150)
@given(st.integers(0, len(GOOD)), st.integers(0, 12), st.text("0123456789.:- naefSV\n\x00é", max_size=8))
def test_no_text_crashes_the_reader(tmp_path: Path, start: int, length: int, noise: str) -> None:
    path = tmp_path / "m"
    path.write_text(GOOD[:start] + noise + GOOD[start + length :], encoding="utf-8")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with suppress(mm.io.ModelFileError):
            read(path)
