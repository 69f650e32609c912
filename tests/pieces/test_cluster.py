"""A local Dask cluster of two worker processes gives the in-memory answer, also when a worker dies."""

from __future__ import annotations

import gc
import os
import signal
import time
from pathlib import Path

import dask
import dask.array as da
import dask.dataframe as dd
import numpy as np
import pandas as pd
import pytest
from distributed import Client, LocalCluster

import maxmargin as mm
from maxmargin import pieces as mp
from maxmargin.feature_selection import FisherScore
from maxmargin.pieces.cluster import Home
from maxmargin.scorecards import WOEEncoder, information_value

pytestmark = [
    pytest.mark.cluster,
    # a worker that is killed leaves its sockets and its reports to the garbage collector
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
]

rng = np.random.default_rng(0)
X = rng.normal(size=(2400, 5))
score = X @ rng.normal(size=5) + rng.normal(size=2400)
y = (score > 0).astype(int)
CHUNK = 300


@pytest.fixture(scope="module", autouse=True)
def sockets():
    """Those of killed workers are collected here, and not in a test where such warnings are errors."""
    yield
    gc.collect()


@pytest.fixture(scope="module")
def client():
    dask.config.set({"distributed.comm.timeouts.connect": "60s", "distributed.comm.timeouts.tcp": "60s"})
    with (
        LocalCluster(
            n_workers=2, threads_per_worker=1, processes=True, dashboard_address=":0", host="127.0.0.1"
        ) as cluster,
        Client(cluster, timeout="120s") as client,
    ):
        client.wait_for_workers(2, timeout=120)
        yield client


@pytest.fixture
def arrays(client):
    return da.from_array(X, chunks=(CHUNK, 5)), da.from_array(y, chunks=CHUNK)


def assert_same(on_cluster, in_memory):
    np.testing.assert_allclose(on_cluster.coef_, in_memory.coef_, atol=1e-6)
    np.testing.assert_allclose(on_cluster.intercept_, in_memory.intercept_, atol=1e-6)


@pytest.mark.parametrize(
    "make", [lambda: mm.LinearSVC(tol=1e-10), mm.LogisticRegression], ids=["svc", "logit"]
)
def test_classifiers(arrays, make):
    assert_same(make().fit(*arrays), make().fit(X, y))


def test_regressors_and_filters(arrays):
    target = da.from_array(score, chunks=CHUNK)
    for make in (mm.LeastSquares, mm.Ridge):
        assert_same(make().fit(arrays[0], target), make().fit(X, score))
    np.testing.assert_allclose(FisherScore().fit(*arrays).scores_, FisherScore().fit(X, y).scores_, atol=1e-9)
    whole, cut = mm.FisherDiscriminant().fit(X, y), mm.FisherDiscriminant().fit(*arrays)
    np.testing.assert_allclose(cut.axes_, whole.axes_, atol=1e-9)


def test_dataframes_weight_of_evidence_and_prediction(client):
    kind = np.random.default_rng(1).choice(["u", "v", "w"], 2400)
    frame = pd.DataFrame(X, columns=list("abcde")).assign(kind=kind, y=y)
    lazy = dd.from_pandas(frame, npartitions=7)
    table = frame.drop(columns="y")
    whole = WOEEncoder().fit(table, y)
    encoder = WOEEncoder().fit(lazy.drop(columns="y"), lazy["y"])
    encoded = mp.predict(encoder, lazy.drop(columns="y"), method="transform")
    np.testing.assert_allclose(encoded.compute(), whole.transform(table), atol=1e-6)
    values = information_value(mp.from_dask(lazy, target="y"))
    np.testing.assert_allclose(values["iv"], information_value(table, y)["iv"], atol=1e-6)
    model = mm.LinearSVC(tol=1e-10).fit(lazy[list("abcde")], y)  # y in memory, X on the workers
    assert_same(model, mm.LinearSVC(tol=1e-10).fit(frame[list("abcde")], y))
    np.testing.assert_array_equal(
        mp.predict(model, lazy[list("abcde")]).compute(), model.predict(frame[list("abcde")])
    )


def die_once(block, folder, after):
    """Kill this worker at call number ``after``, counted over all workers; later calls only pass."""
    calls = Path(folder)
    (calls / f"{os.getpid()}-{os.urandom(8).hex()}").touch()
    if len(list(calls.glob("*-*"))) >= after:
        try:
            (calls / "killed").touch(exist_ok=False)
        except FileExistsError:
            return block
        os.kill(os.getpid(), signal.SIGKILL)
    return block


def test_a_worker_killed_during_the_fit_changes_nothing(client, arrays, tmp_path):
    """Inside a task of the second pass, with the pieces that this worker held."""
    undisturbed = mm.LinearSVC(tol=1e-10).fit(mp.from_dask(*arrays))
    pieces = mp.from_dask(*arrays).mapped(die_once, str(tmp_path), 12)
    before = set(client.run(os.getpid).values())
    model = mm.LinearSVC(tol=1e-10).fit(pieces)
    assert (tmp_path / "killed").exists()
    assert set(client.run(os.getpid).values()) != before
    assert model.n_iter_ == undisturbed.n_iter_
    np.testing.assert_array_equal(model.coef_, undisturbed.coef_)  # the same tree of sums: to the last bit
    assert_same(model, mm.LinearSVC(tol=1e-10).fit(X, y))


@pytest.mark.parametrize("change", ["one cell", "removed"])
def test_blocks_that_change_between_passes_are_refused(change, tmp_path):
    """Blocks that are not kept are read anew in every pass."""
    file = tmp_path / "rows.csv"
    table = pd.DataFrame({"a": np.arange(400.0), "y": np.arange(400) % 2})
    table.to_csv(file, index=False)
    pieces = mp.from_dask(dd.read_csv(str(file), blocksize=1500), target="y", persist=False)
    assert len(pieces.blocks) > 1
    assert pieces.map_reduce(len) == 400
    other = table[:-1] if change == "removed" else table.assign(a=table["a"].replace(333.0, 334.0))
    other.to_csv(file, index=False)
    words = "now" if change == "removed" else "some with other values now"
    for again in (pieces, pieces.mapped(np.negative)):
        for read in (lambda again=again: list(again.map(len)), lambda again=again: again.map_reduce(len)):
            with pytest.raises(ValueError, match=f"the data changed between two passes: .*{words}"):
                read()
    pieces.start_over()
    assert pieces.map_reduce(len) == len(other)


def test_blocks_that_do_not_match_are_refused(arrays):
    frame = dd.from_pandas(pd.DataFrame(X), npartitions=4)
    with pytest.raises(ValueError, match="X comes in 4 blocks and y in 8"):
        mm.LinearSVC().fit(frame, arrays[1])
    with pytest.raises(ValueError, match="has 2400 rows and y has 7"):
        mm.LinearSVC().fit(arrays[0], np.arange(7))
    with pytest.raises(ValueError, match="has 2400 rows and y has 2399"):
        mm.LinearSVC().fit(arrays[0], arrays[1][:-1])
    with pytest.raises(ValueError, match="drop y"):
        mp.from_dask(frame, arrays[1], target="y")
    other = da.from_array(y, chunks=500)  # cut elsewhere: cut again
    assert_same(mm.LinearSVC(tol=1e-10).fit(arrays[0], other), mm.LinearSVC(tol=1e-10).fit(X, y))


@pytest.fixture
def small_cluster():
    """One worker that is a thread of this process, and pieces that it keeps."""
    with (
        LocalCluster(n_workers=1, threads_per_worker=1, processes=False, dashboard_address=":0") as cluster,
        Client(cluster, set_as_default=False) as client,
        client.as_current(),
    ):
        yield cluster, client, mp.from_dask(da.from_array(X, chunks=(600, 5)), da.from_array(y, chunks=600))


def test_a_closed_cluster_is_named(small_cluster):
    cluster, client, kept = small_cluster
    mm.LinearSVC().fit(kept)
    address = cluster.scheduler_address
    client.close()
    cluster.close()
    with pytest.raises(RuntimeError, match=f"the Dask cluster at {address} is closed.*make the pieces again"):
        mm.LinearSVC().fit(kept)


@pytest.fixture
def deserted(small_cluster, monkeypatch):
    """The small cluster without its worker; another one comes as soon as the warning is out."""
    monkeypatch.setattr("maxmargin.pieces.cluster._PATIENCE", 0.2)
    cluster, client, _ = small_cluster
    warn_if_deserted = Home._warn_if_deserted

    def warn_and_start_one(home):
        warned = warn_if_deserted(home)
        cluster.scale(1)
        return warned

    monkeypatch.setattr(Home, "_warn_if_deserted", warn_and_start_one)

    def desert():
        cluster.scale(0)
        while client.ncores():
            time.sleep(0.05)
        return pytest.warns(UserWarning, match="has no workers left: the fit waits for one")

    return desert


def test_a_cluster_without_workers_gives_a_warning(small_cluster, deserted):
    """The fit goes on when a worker comes back."""
    kept = small_cluster[2]
    expected = mm.LinearSVC().fit(kept).coef_
    with deserted() as said:
        found = mm.LinearSVC().fit(kept).coef_
    assert len(said) == 1
    np.testing.assert_array_equal(found, expected)


def test_lengths_of_partitions_that_nobody_counts_are_said(deserted):
    """A target in memory is cut at the rows of the partitions, which the workers must count first."""
    lazy = dd.from_pandas(pd.DataFrame(X), npartitions=3)
    with deserted() as said:
        pieces = mp.from_dask(lazy, y, persist=False)
    assert len(said) == 1
    assert len(pieces.blocks) == 3
