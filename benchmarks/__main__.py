"""Run benchmarks, write one JSON file and the tables in the documentation, compare two runs.

python -m benchmarks                      all parts; the file is results/benchmarks.json
python -m benchmarks svm tuning           some parts; results of the others stay in the file
python -m benchmarks --compare old.json   what got slower since (without running, or after the named parts)
python -m benchmarks --page               write docs/reference/benchmarks.md and the README from the file
"""

from __future__ import annotations

import argparse
import sys
from importlib import import_module
from pathlib import Path

from benchmarks import _results

PARTS = (
    "svm", "tuning", "linear", "sparse_weights", "online",
    "selection", "scorecards", "strings", "pieces", "large",
)  # fmt: skip
_ROOT = Path(__file__).resolve().parents[1]


def run(parts: list[str]) -> None:
    arguments = sys.argv
    for part in parts:
        _results.begin(part)
        sys.argv = [arguments[0]]  # the scripts have arguments of their own
        try:
            import_module(f"benchmarks.{part}").main()
        except FileNotFoundError as missing:
            print(f"skipped: {missing.filename} is missing; MAXMARGIN_DATA names the folder with data sets.")
    sys.argv = arguments


def write_pages(content: dict[str, object]) -> None:
    page = _ROOT / "docs" / "reference" / "benchmarks.md"
    faster = f"## Where the peers are faster\n\n{_results.slower_peers(content)}"
    _results.put_between_marks(page, f"{_results.table(content)}\n{faster}")
    _results.put_between_marks(_ROOT / "README.md", _results.summary(content))
    print(f"{page} and README.md are written")


def main() -> None:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("parts", nargs="*", metavar="PART", help=f"of {', '.join(PARTS)}")
    parser.add_argument("--out", type=Path, default=_ROOT / "results" / "benchmarks.json")
    parser.add_argument("--compare", type=Path, metavar="OLD.json")
    parser.add_argument("--page", action="store_true", help="write the tables of the documentation")
    options = parser.parse_args()
    if unknown := set(options.parts) - set(PARTS):
        parser.error(f"unknown part {', '.join(sorted(unknown))}: choose from {', '.join(PARTS)}")
    old = _results.read(options.compare) if options.compare else None  # before --out may replace it
    chosen = options.parts or ([] if options.compare or options.page else list(PARTS))
    if chosen:
        run(chosen)
        _results.write(options.out, chosen)
        print(f"\nresults are in {options.out}")
    content = _results.read(options.out)
    if chosen:
        print(_results.summary(content))
    if options.page:
        write_pages(content)
    if old is not None:
        print(_results.compare(old, content))


if __name__ == "__main__":
    main()
