"""LIBSVM's model files: svm-predict and maxmargin predict the same, in both directions."""

from __future__ import annotations

import shutil
import subprocess
import tracemalloc
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
from tests.clocks import quickest

X, _codes = load_iris(return_X_y=True)
Y = np.array([5, -1, 2])[_codes]  # not in ascending order of first appearance
TWO = Y != 2
NEW = X + np.random.default_rng(0).normal(scale=0.3, size=X.shape)

needs_libsvm = pytest.mark.skipif(
    shutil.which("svm-predict") is None or shutil.which("svm-train") is None,
    reason="svm-train and svm-predict are not installed (Debian: libsvm-tools)",
)

MODELS: dict[str, tuple[Any, Any]] = {
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
@pytest.mark.parametrize("name", MODELS)
def test_svm_predict_predicts_the_same(name: str, tmp_path: Path) -> None:
    machine, target = MODELS[name]
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


@pytest.mark.parametrize("name", MODELS)
def test_what_was_written_is_read(name: str, tmp_path: Path) -> None:
    machine, target = MODELS[name]
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
        (("rho 0.1", "rho 0.1 2"), "'rho' is missing or does not have 1 values"),
        (("label 1 -1", "label 1 1"), "different whole numbers"),
        (("nr_sv 1 1", "nr_sv 1 2"), "does not add up"),
        (("SV\n", "VS\n"), "no line SV"),
        (("1:2", "1;2"), "support vector 1 cannot be read"),
        (("1:2", "3:1 2:1"), "not in ascending order"),
        (("2:1", "2000000000:1"), "too many"),
        (("svm_type", "\x00"), "first line"),
        (("nr_class 2", "nr_class 1e9"), "'rho' is missing or does not have 499999999500000000 values"),
        (("nr_class 2", "nr_class 1e300"), "nr_class 1e300 must be whole numbers from 2 to"),
        (("nr_class 2", "nr_class 1"), "nr_class 1 must be whole numbers from 2 to"),
        (("nr_class 2", "nr_class 2.5"), "nr_class 2.5 must be whole numbers"),
        (("nr_class 2", "nr_class"), "'nr_class' is missing"),
        (("nr_class 2\n", ""), "'nr_class' is missing"),
        (("nr_class 2", "nr_class 3"), "'rho' is missing or does not have 3 values"),
        (("kernel_type rbf", "kernel_type polynomial\ndegree 1e300"), "degree 1e300 must be whole numbers"),
        (("kernel_type rbf", "kernel_type polynomial\ndegree 0"), "degree 0 must be whole numbers from 1"),
        (("kernel_type rbf", "kernel_type polynomial"), "'degree' is missing"),
        (("gamma 0.5", "gamma 1e400"), "'gamma' holds NaN or infinity"),
        (("gamma 0.5", "gamma x"), "'gamma' does not hold numbers"),
        (("gamma 0.5", "gamma 1_0"), "'gamma' does not hold numbers"),
        (("gamma 0.5\n", ""), "'gamma' is missing"),
        (("gamma 0.5", "gamma 0.5\ngamma 0.6"), "a line occurs twice"),
        (("gamma 0.5", "gamma 0.5\nanything 3"), "its header has the line 'anything'"),
        (("total_sv 2", "total_sv 1e18"), "total_sv 1e18 must be whole numbers"),
        (("total_sv 2", "total_sv -2"), "total_sv -2 must be whole numbers"),
        (("rho 0.1\n", ""), "'rho' is missing"),
        (("label 1 -1\n", ""), "'label' is missing"),
        (("label 1 -1", "label 1 1e300"), "different whole numbers"),
        (("nr_sv 1 1\n", ""), "'nr_sv' is missing"),
        (("nr_sv 1 1", "nr_sv 1.5 0.5"), "nr_sv 1.5 0.5 must be whole numbers"),
        (("nr_sv 1 1", "nr_sv 3 -1"), "nr_sv 3 -1 must be whole numbers"),
        (("1:2", "1:"), "support vector 1 cannot be read"),
        (("1:2", "1:1e"), "support vector 1 cannot be read"),
        (("1:2", "1_0:2"), "support vector 1 cannot be read"),
        (("1:2", "1:nan"), "hold NaN or infinity"),
        (("1 1:2", "inf 1:2"), "hold NaN or infinity"),
        (("1 1:2", ""), "total_sv says 2 support vectors, and 1 follow"),
        (("1 1:2 ", "1:2 "), "support vector 1 cannot be read"),
        (("1:2", "1:2 1:2"), "not in ascending order"),
        (("1:2", "-1:2"), "not in ascending order"),
        (("1:2", f"{'9' * 5000}:2"), "cannot be read"),
        (("2:1 \n", "2:1"), "its last line has no end"),
        (("svm_type c_svc", "svm_type \x1b[2J"), r"svm_type '\\\\x1b\[2J' is unknown"),
    ],
)
def test_a_wrong_text_is_refused(change: tuple[str, str], reason: str, tmp_path: Path) -> None:
    path = tmp_path / "m"
    path.write_text(GOOD.replace(*change, 1))

    def tried() -> None:
        with pytest.raises(mm.io.ModelFileError, match=reason) as caught:
            read(path)
        assert str(caught.value).isprintable()

    assert quickest(tried, 0.2) < 0.2


def test_many_classes_take_no_more_memory_than_the_file(tmp_path: Path) -> None:
    """300 classes with one support vector each: the table of all pairs would be 45 000 by 300."""
    k = 300
    labels = np.random.default_rng(0).permutation(k)
    lines = ["svm_type c_svc", "kernel_type linear", f"nr_class {k}", f"total_sv {k}"]
    lines.append("rho " + " ".join(["0"] * (k * (k - 1) // 2)))
    lines += ["label " + " ".join(map(str, labels)), "nr_sv " + " ".join(["1"] * k), "SV"]
    lines += [" ".join(["1"] * (k - 1)) + f" 1:{n + 1}" for n in range(k)]
    path = tmp_path / "m"
    path.write_text("\n".join(lines) + "\n")
    tracemalloc.start()
    model = read(path)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 50 << 20
    assert model.dual_coef_.shape == (k - 1, k)


@pytest.mark.parametrize("name", MODELS)
def test_every_digit_survives_both_ways(name: str, tmp_path: Path) -> None:
    model, target = MODELS[name]
    fitted(model, X, target)
    first = mm.io.write_libsvm(model, tmp_path / "first")
    again = read(first)
    second = mm.io.write_libsvm(again, tmp_path / "second")
    kernel = getattr(
        model.kernel_, "kernel", model.kernel_
    )  # 2 K is written as K with twice the coefficients
    factor = getattr(model.kernel_, "scale", 1.0) * getattr(kernel, "variance", 1.0)
    np.testing.assert_array_equal(again.dual_coef_, factor * model.dual_coef_)
    np.testing.assert_array_equal(again.intercept_, model.intercept_)
    np.testing.assert_array_equal(again.support_vectors_, model.support_vectors_)
    if not hasattr(model, "classes_"):  # classes are written in ascending order
        assert first.read_text() == second.read_text()


@settings(max_examples=150)
@given(st.integers(0, len(GOOD)), st.integers(0, 12), st.text("0123456789.:- naefSV\n\x00é", max_size=8))
def test_no_text_crashes_the_reader(tmp_path: Path, start: int, length: int, noise: str) -> None:
    path = tmp_path / "m"
    path.write_text(GOOD[:start] + noise + GOOD[start + length :], encoding="utf-8")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with suppress(mm.io.ModelFileError):
            read(path)
