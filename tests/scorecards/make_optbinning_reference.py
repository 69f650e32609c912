"""Write optbinning_german_credit.json: edges, groups and IV that optbinning finds on German credit.

    python tests/scorecards/make_optbinning_reference.py path/to/german_credit.csv

The file holds results only, no row of the data.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

import optbinning
import pandas as pd

TRENDS = {name: name for name in ("ascending", "descending", "peak", "valley", "concave", "convex")}
TRENDS |= {"none": None, "auto": "auto_asc_desc"}
TARGET = Path(__file__).with_name("optbinning_german_credit.json")


def reference(x: pd.Series, y: pd.Series, trend: str) -> dict[str, object]:
    """One variable under one trend, all other settings as optbinning has them."""
    number = x.dtype.kind in "if"
    model = optbinning.OptimalBinning(
        name=str(x.name), dtype="numerical" if number else "categorical", monotonic_trend=TRENDS[trend]
    )
    model.fit(x.to_numpy(), y.to_numpy())
    model.binning_table.build()
    splits = [float(s) if number else sorted(map(str, s)) for s in model.splits]
    table = model.binning_table
    return {
        "variable": x.name,
        "trend": trend,
        "number": number,
        "status": model.status,
        "splits": splits,
        "iv": table.iv,
        "js": table.js,
    }


def main() -> None:
    frame = pd.read_csv(sys.argv[1])
    y = (frame.pop("class") == 2).astype(int)
    numbers = [c for c in frame if frame[c].dtype.kind in "if"]
    runs = [reference(frame[c], y, trend) for c in numbers for trend in TRENDS]
    runs += [reference(frame[c], y, "auto") for c in frame if c not in numbers]
    TARGET.write_text(json.dumps({"optbinning": optbinning.__version__, "runs": runs}, indent=1) + "\n")


if __name__ == "__main__":
    main()
