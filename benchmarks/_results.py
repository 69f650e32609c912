"""Every benchmark result goes through here: one line on the screen, one row of the JSON file, one table.

A result has the times of maxmargin and of its peers on one case, as dictionaries of seconds: "best" and
"median" of several runs in a warm process, and "fresh", the median over processes that fit nothing else.
"""

from __future__ import annotations

import datetime
import json
import os
import platform
from collections.abc import Iterable, Mapping
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from statistics import geometric_mean, median
from typing import Any

Times = dict[str, float]
Result = dict[str, Any]

KINDS = ("best", "median", "fresh")
SLOWER = 1.05  # of the earlier seconds, from which on a case is listed as slower
_SETTINGS = ("NUMBA_CPU_NAME", "NUMBA_CPU_FEATURES", "OPENBLAS_CORETYPE")  # that choose instructions
_PACKAGES = ("numpy", "scipy", "numba", "scikit-learn", "scikit-learn-intelex")
_BEGIN, _END = "<!-- benchmarks: written by `python -m benchmarks` -->", "<!-- end of benchmarks -->"

results: list[Result] = []  # of this process
_part = ["", ""]  # the script that runs, and its table


def begin(part: str = "", table: str = "") -> None:
    """Results recorded from now on belong to this script, or to this table of the script that runs."""
    _part[:] = [part, ""] if part else [_part[0], table]
    print(f"\n######## {part}" if part else f"\n== {table}", flush=True)


def times(seconds: Iterable[float], fresh: float | None = None) -> Times:
    """The figures of several runs."""
    every = list(seconds)
    figures = {"best": min(every), "median": float(median(every))}
    return figures if fresh is None else {**figures, "fresh": fresh}


def record(case: str, ours: Times | float, peers: Mapping[str, Times | float], note: str = "") -> None:
    """Keep and print one case."""
    mine = ours if isinstance(ours, dict) else {"best": ours}
    theirs = {name: t if isinstance(t, dict) else {"best": t} for name, t in peers.items()}
    row = {"part": _part[0], "table": _part[1], "case": case, "ours": mine, "peers": theirs, "note": note}
    results.append(row)
    shown = ", ".join(f"{name} {_seconds(t)} ({_ratios(mine, t)})" for name, t in theirs.items())
    print(f"{case:44} {_seconds(mine)}{'; ' if shown else ''}{shown}  {note}".rstrip(), flush=True)


def _seconds(t: Times) -> str:
    return " / ".join(f"{t[kind]:.3g}" for kind in KINDS if kind in t) + " s"


def _ratios(ours: Times, peer: Times) -> str:
    return " / ".join(f"{peer[k] / ours[k]:.2f}" for k in KINDS if k in ours and k in peer) + " x"


# -- the file ------------------------------------------------------------------------------------------


def machine() -> dict[str, Any]:
    """Processor, settings that choose its instructions, versions and date."""
    lines = Path("/proc/cpuinfo").read_text().splitlines() if Path("/proc/cpuinfo").exists() else []
    names = [line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")]
    flags = next((line for line in lines if line.startswith("flags")), "")
    vectors = "AVX-512" if "avx512f" in flags else "AVX2" if "avx2" in flags else platform.machine()
    installed = {}
    for name in _PACKAGES:
        try:
            installed[name] = version(name)
        except PackageNotFoundError:
            continue
    return {
        "processor": names[0] if names else platform.processor() or platform.machine(),
        "vectors": vectors,
        "settings": {name: os.environ[name] for name in _SETTINGS if name in os.environ},
        "cores": len(names) or None,
        "python": platform.python_version(),
        "versions": installed,
        "date": datetime.date.today().isoformat(),
    }


def shown(machine: dict[str, Any], cores: str = "") -> str:
    """The processor, its instructions, and settings that leave some of them out."""
    settings = "".join(f", {name}={value}" for name, value in machine.get("settings", {}).items())
    return f"{machine['processor']} ({machine['vectors']}{cores}{settings})"


def read(path: Path) -> dict[str, Any]:
    if not path.exists():
        raise SystemExit(f"{path} does not exist: run `python -m benchmarks` first, or name another file.")
    content: dict[str, Any] = json.loads(path.read_text())
    return content


def write(path: Path, parts: Iterable[str]) -> dict[str, Any]:
    """Write the results of this process. Other parts of the file stay, and so do other cases of a part if it
    ran on the same machine, with the same versions and on the same day."""
    before = json.loads(path.read_text()) if path.exists() else {"parts": {}}
    for part in parts:
        rows = [row for row in results if row["part"] == part]
        held = before["parts"].get(part, {})
        old = held["results"] if held.get("machine") == machine() else []
        merged = {(row["table"], row["case"]): row for row in [*old, *rows]}
        if rows:
            before["parts"][part] = {"machine": machine(), "results": list(merged.values())}
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(before, indent=1) + "\n")
    return dict(before)


def rows_of(content: dict[str, Any]) -> list[Result]:
    return [row for part in content["parts"].values() for row in part["results"]]


# -- tables --------------------------------------------------------------------------------------------


def table(content: dict[str, Any]) -> str:
    """Every result, by script and table, with the machine of each script."""
    text = []
    for part, held in content["parts"].items():
        m = held["machine"]
        versions = ", ".join(f"{name} {number}" for name, number in m["versions"].items())
        cores = f", {m['cores']} cores" if m["cores"] else ""
        text.append(
            f"## `python -m benchmarks {part}`\n\n{shown(m, cores)}, {m['date']}; "
            f"Python {m['python']}, {versions}.\n"
        )
        for name in dict.fromkeys(row["table"] for row in held["results"]):
            rows = [row for row in held["results"] if row["table"] == name]
            text += [*([f"### {name}\n"] if name else []), *_lines(rows), ""]
    return "\n".join(text)


def _lines(rows: list[Result]) -> list[str]:
    lines = ["| case | ours s | peer | peer s | speed-up | |", "|---|---|---|---|---|---|"]
    for row in rows:
        start = f"| {row['case']} | {_seconds(row['ours'])[:-2]} |"
        for name, t in row["peers"].items():
            lines.append(
                f"{start} {name} | {_seconds(t)[:-2]} | {_ratios(row['ours'], t)[:-2]} | {row['note']} |"
            )
        if not row["peers"]:
            lines.append(f"{start} | | | {row['note']} |")
    return lines


def summary(content: dict[str, Any]) -> str:
    """One line for each table and peer: the range and the geometric mean of the speed-ups."""
    lines = ["| task | peer | cases | speed-up, best runs | the only fit of a process | script |"]
    lines.append("|---|---|---|---|---|---|")
    for part, held in content["parts"].items():
        for name in dict.fromkeys(row["table"] for row in held["results"]):
            rows = [row for row in held["results"] if row["table"] == name]
            for peer in dict.fromkeys(peer for row in rows for peer in row["peers"]):
                both = [(row["ours"], row["peers"][peer]) for row in rows if peer in row["peers"]]
                cells = [
                    _spread([t[k] / o[k] for o, t in both if k in o and k in t]) for k in ("best", "fresh")
                ]
                lines.append(f"| {name} | {peer} | {len(both)} | {cells[0]} | {cells[1]} | `{part}` |")
    machines = {shown(held["machine"]) for held in content["parts"].values()}
    return "\n".join([*lines, "", f"Measured on {'; '.join(sorted(machines))}."])


def _spread(ratios: list[float]) -> str:
    if len(ratios) < 2:
        return f"{ratios[0]:.3g}" if ratios else ""
    low, high = (f"{ratio:.0f}" if ratio >= 10 else f"{ratio:.2g}" for ratio in (min(ratios), max(ratios)))
    return f"{low} to {high}, geometric mean {geometric_mean(ratios):.3g}"


def slower_peers(content: dict[str, Any]) -> str:
    """The cases in which a peer is faster."""
    lines = [
        f"- {row['case']} ({row['table']}): {name} in {_seconds(t)}, ours in {_seconds(row['ours'])}"
        for row in rows_of(content)
        for name, t in row["peers"].items()
        if t["best"] < row["ours"]["best"]
    ]
    return "\n".join(lines) or "In no case of this run."


def put_between_marks(path: Path, text: str) -> None:
    """Replace what stands between the two marks of a page."""
    page = path.read_text()
    if page.count(_BEGIN) != 1 or page.count(_END) != 1:
        raise SystemExit(f"{path} must contain these two lines once each:\n{_BEGIN}\n{_END}")
    before, after = page.split(_BEGIN)[0], page.split(_END)[1]
    path.write_text(f"{before}{_BEGIN}\n\n{text}\n\n{_END}{after}")


# -- comparing two files -------------------------------------------------------------------------------


def compare(old: dict[str, Any], new: dict[str, Any]) -> str:
    """What got slower by 5 % or more, in seconds; the speed-ups show whether the machine or we changed."""
    key = ("part", "table", "case")
    earlier = {tuple(row[k] for k in key): row for row in rows_of(old)}
    lines, n_common = [], 0
    for row in rows_of(new):
        before = earlier.pop(tuple(row[k] for k in key), None)
        if before is None:
            continue
        n_common += 1
        for kind in KINDS:
            if kind in row["ours"] and kind in before["ours"]:
                growth = row["ours"][kind] / before["ours"][kind]
                if growth >= SLOWER:
                    lines.append((growth, _change(row, before, kind)))
    found = [line for _, line in sorted(lines, reverse=True)]
    head = f"{n_common} cases in both files; {len(found)} figures at least 5 % slower."
    gone = [f"not run again: {' / '.join(k)}" for k in earlier]
    return "\n".join([head, *found, *gone])


def _change(row: Result, before: Result, kind: str) -> str:
    text = f"{row['part']} {row['case']}, {kind}: {before['ours'][kind]:.3g} -> {row['ours'][kind]:.3g} s"
    for name, t in row["peers"].items():
        was = before["peers"].get(name, {})
        if kind in t and kind in was:
            text += f", {name} {was[kind] / before['ours'][kind]:.2f} -> {t[kind] / row['ours'][kind]:.2f} x"
    return text
