"""All benchmarks, one after the other: python -m benchmarks."""

from __future__ import annotations

from importlib import import_module

PARTS = (
    "svm",
    "tuning",
    "linear",
    "sparse_weights",
    "online",
    "selection",
    "scorecards",
    "strings",
    "pieces",
    "large",
)

for part in PARTS:
    print(f"\n######## {part}", flush=True)
    try:
        import_module(f"benchmarks.{part}").main()
    except FileNotFoundError as missing:
        print(f"skipped: {missing.filename} is missing. Set MAXMARGIN_DATA to the folder with the data sets.")
