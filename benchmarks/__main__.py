"""All benchmarks, one after the other: python -m benchmarks."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path

PARTS = ("svm", "tuning", "linear", "online", "selection", "scoring", "strings", "pieces", "large")

for part in PARTS:
    if (Path(__file__).parent / f"{part}.py").exists():
        print(f"\n######## {part}", flush=True)
        import_module(f"benchmarks.{part}").main()
