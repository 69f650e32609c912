"""Vector instructions and LAPACK by address beside their plain twins."""

from __future__ import annotations

import ctypes
import os
from pathlib import Path
from typing import Any

import numba
import numpy as np
import pytest

from maxmargin.compute import jit
from maxmargin.compute.intrinsics import bits, choice, lanes, panel_tile, prefetch
from maxmargin.compute.kernel_values.rbf_rows import width_of
from maxmargin.compute.lapack import cholesky, fortran, tridiagonal_form

# -- bits -----------------------------------------------------------------------------------------------


def test_powers_of_two_are_exact() -> None:
    narrow, wide = bits.power_of_two_f32, bits.power_of_two_f64
    for k in range(-126, 128):
        assert narrow(np.int32(k)) == np.float32(2.0) ** k
    for k in range(-1022, 1024):
        assert wide(np.int32(k)) == 2.0**k
        assert wide.py_func(np.int32(k)) == 2.0**k
    assert isinstance(narrow.py_func(np.int32(3)), np.float32)


@pytest.mark.parametrize("name", ["bits_f32", "bits_f64"])
def test_bits_keep_the_order_of_numbers_that_are_not_negative(name: str) -> None:
    function = getattr(bits, name)
    dtype = np.float32 if name == "bits_f32" else np.float64
    values = np.sort(np.abs(np.random.default_rng(0).normal(size=200)) ** 9).astype(dtype)
    found = [function.py_func(value) for value in values]
    assert found == sorted(found)
    assert found == [function(value) for value in values]
    assert (np.array(found).view(dtype) == values).all()


# -- vector instructions --------------------------------------------------------------------------------


def tile_of(function: Any, A: Any, panel: Any, width: int) -> Any:
    """ROWS by ``width`` sums, in the middle of an array of -1."""

    @numba.njit
    def run(A: Any, flat: Any, panel: Any, length: int, out: Any) -> None:
        function(flat, 1, length, 1, length, panel, 2, width, out, 3, width + 5)

    out = np.full(3 + panel_tile.ROWS * (width + 5), -1, A.dtype)
    run(A, np.append(A.dtype.type(9), A.ravel()), np.append([0, 0], panel).astype(A.dtype), A.shape[1], out)
    return out


TILES = [(np.float64, panel_tile.double_products, panel_tile.DOUBLE_WIDTH)]


@pytest.mark.parametrize(("dtype", "clever", "width"), TILES)
@pytest.mark.parametrize("length", [0, 1, 7])
def test_tiles_of_whole_numbers_are_the_same_to_the_last_bit(
    dtype: Any, clever: Any, width: int, length: int
) -> None:
    """Sums of whole numbers have no rounding, so their order does not matter."""
    rng = np.random.default_rng(length)
    A = rng.integers(-9, 9, size=(panel_tile.ROWS, length)).astype(dtype)
    panel = rng.integers(-9, 9, size=(length, width)).astype(dtype)
    found = tile_of(clever, A, panel, width)
    np.testing.assert_array_equal(found, tile_of(numba.njit(panel_tile.plain_tile(width)), A, panel, width))
    tile = np.full((panel_tile.ROWS, width + 5), -1, dtype)
    tile[:, :width] = A @ panel
    np.testing.assert_array_equal(found, np.append([-1] * 3, tile))  # and nothing beside it was written


@pytest.mark.parametrize(("dtype", "clever", "width"), TILES)
def test_tiles_agree_within_rounding(dtype: Any, clever: Any, width: int) -> None:
    """Fused products round once where the twin rounds twice: n eps / 2 times the sum of moduli at most."""
    rng = np.random.default_rng(0)
    A = rng.normal(size=(panel_tile.ROWS, 50)).astype(dtype)
    panel = rng.normal(size=(50, width)).astype(dtype)
    found = tile_of(clever, A, panel, width)
    plain = tile_of(numba.njit(panel_tile.plain_tile(width)), A, panel, width)
    assert np.abs(found - plain).max() <= 50 * np.finfo(dtype).eps * (np.abs(A) @ np.abs(panel)).max()


def gaussians_of(function: Any, A: Any, panel: Any, norms: Any, scale: float) -> Any:
    """Kernel values of ROWS points with one panel, in the middle of an array of -1."""
    number, (length, width) = A.dtype.type, (A.shape[1], panel.shape[1])

    @numba.njit
    def run(flat: Any, panel: Any, norms: Any, factors: Any, out: Any) -> None:
        function(flat, 1, length, panel, 2, norms, 1, factors, out, 3, width + 5)

    out = np.full(3 + panel_tile.ROWS * (width + 5), -1, A.dtype)
    flat, beside = np.append(number(9), A.ravel()), np.zeros(2, A.dtype)
    run(flat, np.append(beside, panel), np.append(number(9), norms), (number(scale), number(2)), out)
    return out


@pytest.mark.parametrize("length", [1, 33])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_gaussian_tiles_have_the_values_of_the_formula_and_of_their_twin(length: int, dtype: Any) -> None:
    rng, width = np.random.default_rng(length), width_of(dtype)
    A = rng.normal(size=(panel_tile.ROWS, length)).astype(dtype)
    B = rng.normal(size=(width, length)).astype(dtype)
    B[0], B[1] = A[0], 1e3  # a distance of zero, and a value that vanishes
    panel = np.vstack([B.T, (B**2).sum(axis=1)])
    squares = ((A[:, None].astype(float) - B.astype(float)) ** 2).sum(axis=2)
    expected = np.full((panel_tile.ROWS, width + 5), -1.0)
    expected[:, :width] = 2.0 * np.exp2(-0.2 * squares)
    found = gaussians_of(panel_tile.gaussians, A, panel, (A**2).sum(axis=1), -0.2)
    plain = numba.njit(panel_tile.gaussians_plain)
    for values in (found, gaussians_of(plain, A, panel, (A**2).sum(axis=1), -0.2)):
        # rounding of the squared distance, some 200 at most, times 0.2 log 2, and of the power
        error = np.abs(values - np.append([-1] * 3, expected))
        assert error.max() <= 2.0 * (0.2 * 200 + 2) * np.finfo(dtype).eps
        assert (values[3 + width : 3 + width + 5] == -1).all()


def swept(function: Any, n_levels: int, first: int, last: int) -> Any:
    """Levels and totals after one symbol, from numbers whose products and sums have no rounding."""
    rng = np.random.default_rng(0)
    bottom = 0 if first else 1
    symbols = rng.integers(0, 3, size=lanes.LANES).astype(np.int32)
    strings = rng.integers(0, 3, size=(6, lanes.LANES)).astype(np.int32)
    levels = rng.integers(0, 9, size=(bottom + n_levels + 1, 8, lanes.LANES)).astype(np.float64)
    levels[bottom + 1 :, 0] = 0.0
    totals = rng.integers(0, 9, size=(bottom + n_levels, lanes.LANES)).astype(np.float64)

    @numba.njit
    def run(symbols: Any, strings: Any, levels: Any, totals: Any) -> None:
        factors = (0.5, 0.25, 2.0, 0.5)
        function(symbols, strings, levels, totals, bottom, 8, 6, factors, n_levels, first, last)

    run(symbols, strings, levels, totals)
    return levels, totals


@pytest.mark.parametrize(("n_levels", "first", "last"), [(1, 1, 1), (2, 1, 0), (4, 0, 1), (3, 0, 0)])
def test_sweeps_are_the_same_to_the_last_bit(n_levels: int, first: int, last: int) -> None:
    found = swept(lanes.sweep, n_levels, first, last)
    plain = swept(numba.njit(lanes.sweep_plain), n_levels, first, last)
    np.testing.assert_array_equal(found[0], plain[0])
    np.testing.assert_array_equal(found[1], plain[1])


def test_prefetching_changes_nothing_even_outside_of_the_array() -> None:
    @numba.njit
    def ask(array: Any) -> None:
        for at in (0, 5, -1000, 10**9):
            prefetch.prefetch(array, at)

    array = np.arange(6.0)
    ask(array)
    np.testing.assert_array_equal(array, np.arange(6.0))


# -- which of the two serves ----------------------------------------------------------------------------


def chosen(build: Any) -> Any:
    return choice.code_for(build, prefetch.prefetch_plain, lambda f: lambda a: (f(a, 0), a)[1], np.ones(2))


def test_known_versions_use_the_instruction_untried(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(choice, "NEWEST_TESTED", numba.version_info.short)
    assert chosen(lambda llvm_code: "untried") == "untried"


def test_the_twin_is_used_where_a_version_refuses(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def refuse() -> None:
        raise ImportError("no module named llvmlite.ir")

    monkeypatch.setattr(choice, "_llvm_code", refuse)
    assert chosen(lambda llvm_code: llvm_code.prefetch()).py_func is prefetch.prefetch_plain
    assert "slower plain code serves instead of prefetch_plain" in caplog.text
    assert choice.vector_bits() == 128


def test_later_versions_try_the_instruction_first(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(choice, "NEWEST_TESTED", (0, 1))

    @numba.njit
    def wrong(array: Any, at: int) -> None:
        array[at] += 1.0

    assert chosen(lambda llvm_code: wrong).py_func is prefetch.prefetch_plain
    assert "it gives other values" in caplog.text
    assert not hasattr(chosen(lambda llvm_code: llvm_code.prefetch()), "py_func")


def test_the_twin_is_used_without_compilation(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(choice, "COMPILES", False)
    assert chosen(lambda llvm_code: llvm_code.prefetch()) is prefetch.prefetch_plain


# -- LAPACK ---------------------------------------------------------------------------------------------


def test_integers_have_either_width() -> None:
    """A pointer of ours gives the same number to routines with 32-bit and with 64-bit integers."""
    for width in (ctypes.c_int32, ctypes.c_int64):
        pointer = ctypes.cast(fortran.integer(70_000), ctypes.POINTER(width))
        assert pointer[0] == 70_000


@pytest.mark.parametrize("integer", ["int", "int64_t", "__pyx_t_5scipy_6linalg_11cython_blas_blas_int"])
def test_signatures_with_known_integers_are_taken(integer: str) -> None:
    fortran.check_signature(
        "dpotrf", f"void (char *, {integer} *, __pyx_t_x_d *, {integer} *, {integer} *)", 5
    )


@pytest.mark.parametrize(
    "signature",
    [
        "void (char *, int *, __pyx_t_x_d *, int *)",
        "void (char *, short *, __pyx_t_x_d *, short *, short *)",
        "int (char *, int *, __pyx_t_x_d *, int *, int *)",
        "void (char *, int, __pyx_t_x_d *, int, int *)",
        "void (char *, int *, __pyx_t_x_z *, int *, int *)",
        "",
    ],
)
def test_other_signatures_are_refused(signature: str) -> None:
    with pytest.raises(TypeError, match="SciPy's dpotrf has the signature"):
        fortran.check_signature("dpotrf", signature, 5)


def test_numpy_is_used_where_scipy_has_other_signatures(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(fortran, "_signature", lambda capsule: "void (short *)")
    assert not fortran.by_address.__wrapped__()
    assert "slower NumPy functions serve instead" in caplog.text


def by_both(monkeypatch: pytest.MonkeyPatch, compute: Any) -> tuple[Any, Any]:
    """The results by address and by NumPy."""
    assert fortran.by_address()
    found = compute()
    for module in (fortran, cholesky, tridiagonal_form):
        monkeypatch.setattr(module, "by_address", lambda: False)
    return found, compute()


@pytest.mark.parametrize("keep", [0.0, 0.5])
def test_products_agree(monkeypatch: pytest.MonkeyPatch, keep: float) -> None:
    rng = np.random.default_rng(0)
    A, B = rng.normal(size=(30, 20)), rng.normal(size=(40, 20))
    start = np.asfortranarray(rng.normal(size=(30, 40))) if keep else np.full((30, 40), np.nan, order="F")

    def compute() -> Any:
        C = start.copy(order="F")
        fortran.add_product(-2.0, A, B.T, C, keep=keep)
        return C

    found, plain = by_both(monkeypatch, compute)
    np.testing.assert_allclose(
        found, plain, rtol=0, atol=20 * 2.0**-52 * 2 * np.abs(A).max() * np.abs(B).max()
    )


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_cholesky_factors_agree(monkeypatch: pytest.MonkeyPatch, dtype: Any) -> None:
    rng = np.random.default_rng(0)
    A = rng.normal(size=(40, 40))
    B, R = (A @ A.T + 40 * np.eye(40)).astype(dtype), rng.normal(size=(40, 3))

    def compute() -> Any:
        assert not cholesky.Cholesky(np.diag([1.0, -1.0]).astype(dtype)).definite
        factor = cholesky.Cholesky(B.copy())
        assert factor.definite
        return factor.solve(R)

    found, plain = by_both(monkeypatch, compute)
    assert found.dtype == plain.dtype == dtype
    assert found.flags.f_contiguous
    assert plain.flags.f_contiguous
    # the condition number is below 10
    np.testing.assert_allclose(found, plain, rtol=0, atol=40 * 10 * np.finfo(dtype).eps * np.abs(found).max())


@pytest.mark.parametrize("m", [1, 2, 3, 30])
def test_tridiagonal_forms_agree(monkeypatch: pytest.MonkeyPatch, m: int) -> None:
    """T is unique up to the signs of its off-diagonal; both forms give the matrix back."""
    A = np.random.default_rng(m).normal(size=(m, m))
    A = A + A.T
    both = by_both(monkeypatch, lambda: tridiagonal_form.tridiagonal_form(A.copy()))
    for Q, diagonal, off in both:
        T = np.diag(diagonal) + np.diag(off, 1) + np.diag(off, -1)
        np.testing.assert_allclose(Q @ T @ Q.T, A, rtol=0, atol=1e-13 * m)
        assert diagonal.shape == (m,)
        assert off.shape == (m - 1,)


# -- folders for compiled code --------------------------------------------------------------------------


@pytest.mark.skipif(os.name == "nt", reason="temporary folders on Windows belong to the user")
def test_only_private_folders_are_trusted(tmp_path: Path) -> None:
    private, open_, link = tmp_path / "private", tmp_path / "open", tmp_path / "link"
    private.mkdir(mode=0o700)
    open_.mkdir()
    open_.chmod(0o777)
    link.symlink_to(private)
    assert jit._is_private(str(private))
    assert not jit._is_private(str(open_))
    assert not jit._is_private(str(link))


@pytest.mark.skipif(os.name == "nt", reason="temporary folders on Windows belong to the user")
def test_a_folder_that_others_may_write_to_is_left_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    theirs = tmp_path / f"maxmargin-cache-{os.getuid()}"
    theirs.mkdir()
    theirs.chmod(0o777)
    folder = jit._temporary_cache.__wrapped__()
    assert folder is not None
    assert Path(folder).parent == tmp_path
    assert Path(folder) != theirs
    assert jit._is_private(folder)
