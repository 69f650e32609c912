"""Large machines on data in pieces and on Dask give the answer of memory."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest

import maxmargin as mm

SETTINGS: dict[str, Any] = {"n_components": 40, "sample": 700, "random_state": 0, "tol": 1e-10}


def curved(n: int = 1500) -> tuple[Any, Any, Any]:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, 3))
    f = X[:, 0] * X[:, 1] + np.sin(2 * X[:, 2])
    return X, f, np.digitize(f, [-0.5, 0.5])


def machines() -> list[tuple[Any, bool]]:
    return [
        (mm.LargeSVC(**SETTINGS), True),
        (mm.LargeSVC(multiclass="ovo", class_weight="balanced", **SETTINGS), True),
        (mm.LargeSVC(loss="logistic", **SETTINGS), True),
        (mm.LargeSVR(**SETTINGS), False),
        (mm.LargeKernelRidge(**SETTINGS), False),
    ]


def same(one: Any, other: Any, X: Any) -> None:
    assert one.kernel_ == other.kernel_  # gamma="scale" of the same sample
    np.testing.assert_allclose(one.coef_, other.coef_, atol=1e-6)
    score = "decision_function" if hasattr(one, "classes_") else "predict"
    np.testing.assert_allclose(getattr(one, score)(X), getattr(other, score)(X), atol=1e-6)


@pytest.mark.parametrize("k", range(5))
def test_pieces_give_the_answer_of_memory(k: int) -> None:
    X, f, y = curved()
    weight = np.random.default_rng(1).integers(0, 3, size=len(X)).astype(float)
    model, classes = machines()[k]
    target = y if classes else f
    inside = machines()[k][0].fit(X, target, weight)
    outside = model.fit(mm.pieces.from_array(X, target, weight, rows=333))
    same(inside, outside, X)
    assert outside.certificate_.relative_gap <= 1e-10
    assert not outside.approximation_.map.complete
    assert "sample of 700 rows" in " ".join(str(outside.approximation_).split())


def test_pieces_whose_features_are_many_are_mapped_block_by_block(monkeypatch: pytest.MonkeyPatch) -> None:
    X, _, y = curved()
    inside = mm.LargeSVC(**SETTINGS).fit(X, y)
    monkeypatch.setattr("maxmargin.machines.large.mapped_rows._PIECE_BYTES", 0)
    outside = mm.LargeSVC(**SETTINGS).fit(mm.pieces.from_array(X, y, rows=400))
    same(inside, outside, X)


def test_dataframes_in_pieces_keep_their_names() -> None:
    X, _, y = curved()
    frame = pd.DataFrame(X, columns=["a", "b", "c"]).assign(y=y)
    kernel = mm.kernels.RBF(gamma=0.3, features=["a", "b"])
    model = mm.LargeSVC(kernel=kernel, **SETTINGS).fit(
        mm.pieces.from_iterable(lambda: (frame[s : s + 400] for s in range(0, 1500, 400)), target="y")
    )
    same(mm.LargeSVC(kernel=kernel, **SETTINGS).fit(frame[["a", "b", "c"]], y), model, frame[["a", "b", "c"]])
    assert list(model.feature_names_in_) == ["a", "b", "c"]


def test_fits_that_pieces_cannot_do_are_refused() -> None:
    X, f, y = curved(200)
    with pytest.raises(ValueError, match="needs a smooth loss"):
        mm.LargeSVC(loss="hinge").fit(mm.pieces.from_array(X, y))
    with pytest.raises(ValueError, match="polish=True needs all rows in memory"):
        mm.LargeSVR(polish=True).fit(mm.pieces.from_array(X, f))


def test_two_worker_processes_give_the_answer_of_memory() -> None:
    da = pytest.importorskip("dask.array")
    distributed = pytest.importorskip("distributed")
    X, f, y = curved()
    with (
        distributed.LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=":0") as cluster,
        distributed.Client(cluster),
    ):
        rows = da.from_array(X, chunks=(400, 3))
        for k in (0, 4):
            model, classes = machines()[k]
            target = y if classes else f
            model.fit(rows, da.from_array(target, chunks=400))
            same(machines()[k][0].fit(X, target), model, X)
