"""Agreement with a saved run of optbinning on German credit (make_optbinning_reference.py wrote it)."""

from __future__ import annotations

import json
import os
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from maxmargin.scorecards import Binning

REFERENCE = json.loads(Path(__file__).with_name("optbinning_german_credit.json").read_text())
DATA = Path(os.environ.get("MAXMARGIN_DATA", Path(__file__).parents[2] / ".." / "shared" / "data"))
NUMBERS = [run for run in REFERENCE["runs"] if run["number"]]
CATEGORIES = [run for run in REFERENCE["runs"] if not run["number"]]


@pytest.fixture(scope="module")
def credit():
    path = DATA / "german_credit.csv"
    if not path.exists():
        pytest.skip(f"needs {path.name}: set MAXMARGIN_DATA to the folder of the data")
    frame = pd.read_csv(path)
    return frame, (frame.pop("class") == 2).astype(int)


def fitted(credit, run):
    """optbinning's problem: pre-bins of a tree with 20 leaves of 5 %, both classes in each bin."""
    X, y = credit
    binning = Binning(
        prebinning="tree",
        n_prebins=20,
        min_share=0.05,
        max_bins=20,
        min_events=1,
        trend=run["trend"],
        rare_share=0.0,
    )
    return binning.fit(X[[run["variable"]]], y)


def label(run):
    return f"{run['variable']}-{run['trend']}"


def is_bent(rates, trend):
    """Whether the steps from rate to rate never grow (concave) or never fall (convex)."""
    bends = np.diff(rates, 2) * (1 if trend == "convex" else -1)
    return bool((bends >= -1e-12).all())


@pytest.mark.parametrize("run", NUMBERS, ids=label)
def test_numbers_have_the_same_bins(credit, run):
    binning = fitted(credit, run)
    if run["trend"] in ("concave", "convex") and len(binning.bins_[0].edges) > 2:
        # from four bins on optbinning compares bins that are not neighbours too: ours may only be better
        assert binning.table(0)["iv"].sum() >= run["iv"] - 1e-9
        assert is_bent(binning.table(0)["event_rate"].dropna().to_numpy(), run["trend"])
        return
    np.testing.assert_allclose(binning.bins_[0].edges, run["splits"], rtol=1e-6)  # their tree is in float32
    assert binning.table(0)["iv"].sum() == pytest.approx(run["iv"], abs=1e-9)
    assert binning.table(0)["js"].sum() == pytest.approx(run["js"], abs=1e-9)


@pytest.mark.parametrize("run", CATEGORIES, ids=label)
def test_categories_have_the_same_groups_or_better_ones(credit, run):
    """optbinning merges categories by a tree first; where that already merged, ours may only be better."""
    binning = fitted(credit, run)
    iv = binning.table(0)["iv"].sum()
    if sorted(sorted(group) for group in binning.bins_[0].groups) == sorted(run["splits"]):
        assert iv == pytest.approx(run["iv"], abs=1e-9)
        return
    assert run["variable"] in ("purpose", "job")  # the two where the tree had merged
    assert iv > run["iv"]
