"""Run benchmarks, write one JSON file and the tables in the documentation, compare two runs.

python -m benchmarks                      all parts; the file is results/benchmarks.json
python -m benchmarks --quick              the shorter cases of all parts
python -m benchmarks svm tuning           some parts; results of the others stay in the file
python -m benchmarks svm:fit:letter       some cases: what follows a colon goes to the script of the part
python -m benchmarks --compare old.json   what got slower since (without running, or after the named parts)
python -m benchmarks --page               write docs/reference/benchmarks.md and the README from the file
"""

from __future__ import annotations

import argparse
import sys
from importlib import import_module
from pathlib import Path
from time import perf_counter

from benchmarks import _results

PARTS = (
    "first_minute", "svm", "tuning", "linear", "sparse_weights", "online",
    "selection", "scorecards", "strings", "pieces", "large",
)  # fmt: skip
QUICK = (
    "first_minute", "svm:fit:predict:spambase:6435", "svm:small", "tuning:spambase:classes:loo",
    "linear:--only=spambase", "online:--only=ridge", "selection:--only=relief,filters",
    "scorecards:--rows=30000", "strings:--rows=300:--peer-rows=200", "large:methods",
)  # fmt: skip
_ROOT = Path(__file__).resolve().parents[1]


def run(parts: list[str], out: Path) -> None:
    """Run some parts; the file is written after each of them, so that a run that is cut short counts."""
    arguments = sys.argv
    for chosen in parts:
        part, *own = chosen.split(":")
        _results.begin(part)
        sys.argv = [arguments[0], *own]
        began = perf_counter()
        try:
            import_module(f"benchmarks.{part}").main()
        except FileNotFoundError as missing:
            print(f"skipped: {missing.filename} is missing; MAXMARGIN_DATA names the folder with data sets.")
        finally:
            _results.write(out, [part])
        print(f"{chosen} took {perf_counter() - began:.0f} s", flush=True)
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
    parser.add_argument("parts", nargs="*", metavar="PART[:ARGUMENT]", help=f"of {', '.join(PARTS)}")
    parser.add_argument("--quick", action="store_true", help="the shorter cases of all parts")
    parser.add_argument("--out", type=Path, default=_ROOT / "results" / "benchmarks.json")
    parser.add_argument("--compare", type=Path, metavar="OLD.json")
    parser.add_argument("--page", action="store_true", help="write the tables of the documentation")
    options = parser.parse_args()
    if unknown := {part.split(":")[0] for part in options.parts} - set(PARTS):
        parser.error(f"unknown part {', '.join(sorted(unknown))}: choose from {', '.join(PARTS)}")
    old = _results.read(options.compare) if options.compare else None  # before --out may replace it
    everything = [] if options.compare or options.page else PARTS
    chosen = options.parts or list(QUICK if options.quick else everything)
    if chosen:
        run(chosen, options.out)
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
