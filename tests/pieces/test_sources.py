"""Every source gives the same rows again and again; sums over pieces are sums over rows."""

from __future__ import annotations

import subprocess
import sys
import tracemalloc
from itertools import pairwise

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse

import maxmargin as mm
from maxmargin import pieces as mp
from maxmargin.pieces.piece import tree_sum


@pytest.fixture
def frame():
    rng = np.random.default_rng(0)
    table = pd.DataFrame({"a": rng.normal(size=500), "b": rng.integers(0, 9, 500)})
    return table.assign(y=(table["a"] > 0).astype(int), w=rng.integers(1, 3, 500))


def whole(pieces):
    """All rows of X, y and weights, put together from the pieces."""
    parts = list(pieces.map(lambda piece: (np.asarray(piece.X), piece.labels(), piece.weights())))
    return [np.concatenate(columns) for columns in zip(*parts, strict=True)]


def check(pieces, frame):
    for _ in range(2):  # a second pass sees the same rows
        X, y, w = whole(pieces)
        np.testing.assert_array_equal(X, frame[["a", "b"]].to_numpy())
        np.testing.assert_array_equal(y, frame["y"])
        np.testing.assert_array_equal(w, frame["w"])


def test_arrays_frames_and_memory_maps(frame, tmp_path):
    X = frame[["a", "b"]]
    check(mp.from_array(X, frame["y"], frame["w"], rows=33), frame)
    np.save(tmp_path / "x.npy", X.to_numpy())
    np.save(tmp_path / "y.npy", frame["y"].to_numpy())
    mapped = np.load(tmp_path / "x.npy", mmap_mode="r")
    target = np.load(tmp_path / "y.npy", mmap_mode="r")
    check(mp.from_array(mapped, target, frame["w"].to_numpy(), rows=64), frame)
    check(mp.from_array(mapped, frame["y"], frame["w"]), frame)


def test_a_view_of_a_memory_map_is_not_read_at_the_wrong_place(tmp_path):
    X = np.arange(60.0).reshape(20, 3)
    np.save(tmp_path / "x.npy", X)
    mapped = np.load(tmp_path / "x.npy", mmap_mode="r")
    for view, expected in ((mapped[5:], X[5:]), (mapped[:, 1:], X[:, 1:]), (mapped[::2], X[::2])):
        parts = list(mp.from_array(view, rows=4).map(lambda piece: np.array(piece.X)))
        np.testing.assert_array_equal(np.concatenate(parts), expected)


def test_a_piece_of_a_memory_map_is_not_mapped(tmp_path):
    np.save(tmp_path / "x.npy", np.ones((8, 2)))
    piece = mp.from_array(np.load(tmp_path / "x.npy", mmap_mode="r")).first()
    assert not isinstance(piece.X, np.memmap)


@pytest.mark.parametrize("rows", [None, 40])
@pytest.mark.parametrize("group", [50, 500])
def test_parquet(frame, tmp_path, rows, group):
    pq.write_table(pa.Table.from_pandas(frame[:250]), tmp_path / "1.parquet", row_group_size=group)
    pq.write_table(pa.Table.from_pandas(frame[250:]), tmp_path / "2.parquet", row_group_size=group)
    check(mp.from_parquet(tmp_path, target="y", weight="w", rows=rows), frame)
    check(mp.from_parquet(str(tmp_path / "*.parquet"), target="y", weight="w", columns=["a", "b"]), frame)
    first = mp.from_parquet([tmp_path / "1.parquet"], target="y", columns=["b", "a"], rows=rows).first()
    assert list(first.X.columns) == ["b", "a"]


def test_csv(frame, tmp_path):
    frame.to_csv(tmp_path / "rows.csv", index=False)
    check(mp.from_csv(tmp_path / "rows.csv", target="y", weight="w"), frame)
    frame.to_csv(tmp_path / "rows.csv", index=False, sep=";")
    check(mp.from_csv(tmp_path, target="y", weight="w", delimiter=";", dtypes={"a": "float64"}), frame)


def test_iterables(frame):
    cuts = [slice(i, j) for i, j in pairwise([0, 7, 300, 500])]
    X, y, w = frame[["a", "b"]].to_numpy(), frame["y"].to_numpy(), frame["w"].to_numpy()
    check(mp.from_iterable(lambda: ((X[c], y[c], w[c]) for c in cuts)), frame)
    check(mp.from_iterable([frame[c] for c in cuts], target="y", weight="w"), frame)


def test_input_that_cannot_be_cut_into_pieces_is_refused(frame, tmp_path):
    with pytest.raises(TypeError, match="can be read only once"):
        mp.from_iterable(iter([frame]))
    with pytest.raises(FileNotFoundError, match=r"no \.parquet files"):
        mp.from_parquet(tmp_path)
    with pytest.raises(ValueError, match="X has 500 rows and y has 3"):
        mp.from_array(frame, [1, 2, 3])
    frame.to_csv(tmp_path / "rows.csv", index=False)
    with pytest.raises(ValueError, match="no column 'z': the file has a, b, y, w"):
        mp.from_csv(tmp_path / "rows.csv", target="z").first()
    with pytest.raises(ValueError, match="no column 'z': the table has"):
        mp.from_iterable([frame], target="z").first()
    with pytest.raises(ValueError, match="pieces hold their own y"):
        mm.LinearSVC().fit(mp.from_array(frame[["a"]], frame["y"]), frame["y"])
    with pytest.raises(ValueError, match="hold no target"):
        mm.LinearSVC().fit(mp.from_array(frame[["a"]]))
    with pytest.raises(ValueError, match="no pieces"):
        mm.LinearSVC().fit(mp.from_iterable(list))


def test_a_type_guessed_wrongly_from_the_first_block_says_what_to_do(tmp_path, monkeypatch):
    monkeypatch.setattr("maxmargin.pieces.sources.PIECE_BYTES", 256)
    (tmp_path / "rows.csv").write_text("x,y\n" + "1,0\n2,1\n" * 200 + "2.5,1\n")
    with pytest.raises(ValueError, match="dtypes="):
        mm.LinearSVC().fit(mp.from_csv(tmp_path / "rows.csv", target="y"))
    typed = mp.from_csv(tmp_path / "rows.csv", target="y", dtypes={"x": "float64"})
    assert mm.LinearSVC().fit(typed).n_features_in_ == 1


@given(st.lists(st.text(max_size=3), min_size=1, max_size=40))
def test_a_tree_sum_keeps_the_order(words):
    assert tree_sum(iter(words), lambda left, right: left + right) == "".join(words)


def test_sums_do_not_depend_on_the_number_of_threads():
    X = np.random.default_rng(0).normal(size=(1000, 3))
    sums = [
        mp.from_array(X, rows=17, n_jobs=n).map_reduce(lambda piece: piece.X.sum(axis=0)) for n in (1, 2, 3)
    ]
    assert (sums[0] == sums[1]).all()
    assert (sums[0] == sums[2]).all()
    np.testing.assert_allclose(sums[0], X.sum(axis=0), atol=1e-12)


@pytest.mark.parametrize("make", [np.asarray, pd.DataFrame, sparse.csr_matrix])
def test_a_sample_is_the_same_however_many_threads(make):
    X = np.arange(300.0).reshape(100, 3)
    samples = [mp.from_array(make(X), X[:, 0], rows=30, n_jobs=n).sample(20) for n in (1, 2)]
    first, second = (s.X.toarray() if sparse.issparse(s.X) else np.asarray(s.X) for s in samples)
    np.testing.assert_array_equal(first, second)
    np.testing.assert_array_equal(first[:, 0], samples[0].y)
    assert len(np.unique(first[:, 0])) == 20
    assert len(mp.from_array(X, rows=30).sample(1000)) == 100


def test_dask_is_not_imported_before_it_is_brought():
    code = (
        "import sys, numpy as np, maxmargin as mm\n"
        "X = np.random.default_rng(0).normal(size=(50, 2))\n"
        "model = mm.LinearSVC().fit(mm.pieces.from_array(X, X[:, 0] > 0))\n"
        "list(mm.pieces.predict(model, X))\n"
        "print('dask' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"


@pytest.mark.parametrize("change", ["added", "removed", "other values"])
def test_rows_that_change_between_passes_are_refused(change):
    """A fit reads its data several times; the rows must be the same."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 3))
    y = (X[:, 0] + 0.5 * rng.normal(size=300) > 0).astype(int)
    passes = []

    def batches():
        passes.append(1)
        late = len(passes) > 3
        n = {"added": 300, "removed": 250, "other values": 290}[change] if late else 290
        target = 1 - y if late and change == "other values" else y
        yield X[:200], target[:200]
        yield X[200:n], target[200:n]

    words = (
        r"\(piece 1\) had 90 rows, now" if change != "other values" else "200 rows, some with other values"
    )
    with pytest.raises(ValueError, match=f"the data changed between two passes.*{words}"):
        mm.LogisticRegression(tol=1e-12).fit(mp.from_iterable(batches))


@pytest.mark.parametrize("after", [3, 4])
def test_a_piece_that_comes_late_is_refused(after):
    """Rows are picked by their numbers in the fourth pass of LargeSVC, which raised a bare error."""
    rng = np.random.default_rng(0)
    X, passes = rng.normal(size=(300, 3)), []

    def batches():
        passes.append(1)
        for start in range(0, 300 if len(passes) > after else 200, 100):
            rows = X[start : start + 100]
            yield rows, (rows[:, 0] > 0).astype(int)

    with pytest.raises(ValueError, match=r"changed between two passes: .* 2 pieces, now there are more"):
        mm.LargeSVC(random_state=0).fit(mp.from_iterable(batches))


@pytest.mark.parametrize("kind", ["csv", "parquet", "npy"])
@pytest.mark.parametrize("change", ["one cell", "two rows swapped", "removed"])
def test_a_file_that_changes_between_passes_is_named(kind, change, tmp_path):
    """A sample of the rows missed a single cell, and the mapped rows of LargeSVC were not looked at."""
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(300, 3)), np.arange(300.0)
    other = {"one cell": X + (np.arange(900) == 777).reshape(X.shape), "removed": X[:-1]}.get(
        change, X.copy()
    )
    if change == "two rows swapped":
        other[[7, 8]] = X[[8, 7]]
    file = tmp_path / f"rows.{kind}"

    def write(rows):
        table = pd.DataFrame(rows, columns=list("abc")).assign(y=y[: len(rows)])
        if kind == "npy":
            np.save(file, rows)
        else:
            table.to_csv(file, index=False) if kind == "csv" else table.to_parquet(file)

    write(X)
    if kind == "npy":
        pieces = mp.from_array(np.load(file, mmap_mode="r"), y)
    else:
        pieces = (mp.from_csv if kind == "csv" else mp.from_parquet)(file, target="y")
    list(pieces.map(len))
    file.unlink()  # a memory map keeps the old one
    write(other)
    for again in (pieces, pieces.mapped(np.negative)):
        with pytest.raises(ValueError, match=rf"rows.{kind}.*(other values|now 299|ends before row 299)"):
            list(again.map(len))


def test_a_writable_memory_map_that_changes_between_passes_is_refused(tmp_path):
    """Rows that another process writes; only a sample of them was compared."""
    np.save(tmp_path / "rows.npy", np.zeros((300, 3)))
    pieces = mp.from_array(np.load(tmp_path / "rows.npy", mmap_mode="r+"))
    list(pieces.map(len))
    np.load(tmp_path / "rows.npy", mmap_mode="r+")[101, 1] = 1.0
    with pytest.raises(ValueError, match="300 rows, some with other values now"):
        list(pieces.map(len))


def test_the_longest_text_does_not_widen_all_cells():
    """A checksum of 20 000 cells, one of them with 20 000 letters, took 3 GB."""
    texts = np.array(["a"] * 20_000, dtype=object)
    texts[5] = 20_000 * "b"
    pieces = mp.from_iterable([pd.DataFrame({"text": texts})])
    tracemalloc.start()
    list(pieces.map(len))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 10 << 20


def test_all_rows_of_a_csv_file_with_another_number_of_cells_are_counted(tmp_path):
    lines = [f"{i},{i},{i}" for i in range(40)]
    for k in (3, 17, 30, 31):
        lines[k] += ",9"
    (tmp_path / "r.csv").write_text("\n".join(["a,b,y", *lines]))
    with pytest.raises(
        ValueError, match=r"r.csv: 4 rows do not have 3 cells.*row 5 has 4, row 19 has 4, row 32"
    ):
        mm.LeastSquares().fit(mp.from_csv(tmp_path / "r.csv", target="y"))


def test_a_source_may_change_between_fits():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(40, 2)), np.arange(40) % 2
    size = [30]
    pieces = mp.from_iterable(lambda: iter([(X[: size[0]], y[: size[0]])]))
    mm.LinearSVC().fit(pieces)
    size[0] = 40
    model = mm.LinearSVC().fit(pieces)
    assert model.certificate_.n_checked == 40
    assert len(next(mp.predict(model, pieces))) == 40


# -- errors of files name the file, the row and the column ---------------------------------------------------

ROWS = "".join(f"{i},{i * 2},{i % 3}\n" for i in range(40))


@pytest.mark.parametrize(
    ("name", "text", "words"),
    [
        ("cell.csv", ROWS + "1,oops,2\n" + ROWS, r"row 42 of .*cell.csv, column 'b'.*'oops'.*dtypes="),
        ("ragged.csv", ROWS + "1,2\n" + ROWS, r"ragged.csv: 1 rows do not have 3 cells.*row 42 has 2"),
        ("missing.csv", ROWS + ",3,1\n", r"row 42 of .*missing.csv, column 'a', is nan"),
        ("target.csv", ROWS + "1,3,\n", r"row 42 of .*target.csv, column 'y', is nan"),
        ("endless.csv", ROWS + "inf,3,1\n", r"row 42 of .*endless.csv, column 'a'"),
        ("text.csv", ROWS.replace(",2,", ",x,"), r"row 3 of .*text.csv, column 'b', is 'x'.*encode it"),
    ],
)
def test_a_bad_cell_of_a_csv_file_is_named(name, text, words, tmp_path, monkeypatch):
    monkeypatch.setattr("maxmargin.pieces.sources.PIECE_BYTES", 120)  # several blocks
    (tmp_path / "a.csv").write_text("a,b,y\n" + ROWS)
    (tmp_path / name).write_text("a,b,y\n" + text)
    with pytest.raises(ValueError, match=words):
        mm.LeastSquares().fit(mp.from_csv(tmp_path, target="y"))


def test_a_bad_file_among_many_is_named(frame, tmp_path):
    frame.to_parquet(tmp_path / "a.parquet", row_group_size=100)
    frame.assign(a=np.where(np.arange(len(frame)) == 321, np.nan, frame.a)).to_parquet(
        tmp_path / "b.parquet", row_group_size=100
    )
    with pytest.raises(ValueError, match=r"row 323 of .*b.parquet, column 'a', is nan"):
        mm.LeastSquares().fit(mp.from_parquet(tmp_path, target="y", columns=["a", "b"]))
    (tmp_path / "b.parquet").write_bytes(b"PAR1 and no more")
    with pytest.raises(ValueError, match=r"b.parquet: Parquet"):
        mm.LeastSquares().fit(mp.from_parquet(tmp_path, target="y", columns=["a", "b"]))
    (tmp_path / "a.csv").write_text("a,b,y\n" + ROWS)
    (tmp_path / "b.csv").write_text("a,c,y\n" + ROWS)
    with pytest.raises(ValueError, match=r"of .*b.csv, has the columns \['a', 'c'\]"):
        mm.LeastSquares().fit(mp.from_csv(tmp_path, target="y"))
    with pytest.raises(ValueError, match=r"no column 'b': the file has a, c, y \(.*b.csv\)"):
        mm.LeastSquares().fit(mp.from_csv(tmp_path, target="y", columns=["a", "b"]))


def test_a_bad_cell_of_an_array_or_a_memory_map_is_named(tmp_path):
    X, y = np.ones((500, 3)), np.arange(500.0)
    X[433, 2] = np.inf
    np.save(tmp_path / "X.npy", X)
    with pytest.raises(ValueError, match=r"row 433 of X, column '2', is inf"):
        mm.LeastSquares().fit(mp.from_array(X, y, rows=100))
    with pytest.raises(ValueError, match=r"row 433 of .*X.npy, column '2', is inf"):
        mm.LeastSquares().fit(mp.from_array(np.load(tmp_path / "X.npy", mmap_mode="r"), y, rows=100))
    with pytest.raises(ValueError, match=r"row 33 of piece 4, column '2', is inf"):
        mm.LeastSquares().fit(mp.from_iterable([(X[k : k + 100], y[:100]) for k in range(0, 500, 100)]))
    sparse_rows = sparse.csr_array(np.where(np.isinf(X), 1.0, np.eye(500, 3)))
    sparse_rows.data[-1] = np.nan
    with pytest.raises(ValueError, match=r"row 433 of X, column '2', is nan"):
        mm.LinearSVC().fit(mp.from_array(sparse_rows, y > 250, rows=100))
    weights = np.where(np.arange(500) == 7, -1.0, 1.0)
    with pytest.raises(ValueError, match=r"row 7 of X, column 'sample_weight', is negative"):
        mm.LeastSquares().fit(mp.from_array(np.ones((500, 3)), y, weights, rows=100))
