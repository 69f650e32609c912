"""``make soak TIMES=20``: the test suite again and again, each time under other circumstances.

Each round draws a seed. It seeds NumPy before every test (estimators without random_state draw from it) and
Hypothesis, shuffles the tests, and sets the order of sets and dictionaries of text. Rounds use one and two
workers in turn, and every other pair of rounds a processor without AVX-512. Each round is announced when it
begins, and its result follows when it ends; after a failure come the names of the failed tests and the
command that repeats the round, and then the next round. The order of the tests is that of the seed. A round
with two workers comes first, because one takes twice as long. Before the first round two processes must
collect tests of the same names.

    python tools/soak.py --times 20
    python tools/soak.py --times 5 tests/io tests/pieces        # only these folders
"""

from __future__ import annotations

import argparse
import os
import random
import re
import shlex
import subprocess
import sys
import time
from dataclasses import dataclass

# the name alone does not switch AVX-512 off
_OLDER_PROCESSOR = {
    "NUMBA_CPU_NAME": "haswell",
    "NUMBA_CPU_FEATURES": "+avx,+avx2,+fma",
    "OPENBLAS_CORETYPE": "Haswell",
}
_COUNTS = re.compile(r"(\d+) (passed|failed|error|skipped|xfailed)")
_HEAD = (
    f"{'round':>5} {'seed':>10} {'workers':>7} {'processor':>9} {'passed':>7} {'failed':>7} {'seconds':>8}"
)


@dataclass(frozen=True)
class Round:
    """The circumstances of one run of the suite."""

    number: int
    seed: int
    rooms: tuple[str, ...]

    @property
    def workers(self) -> int:
        return 2 - self.number % 2

    @property
    def older(self) -> bool:
        return self.number // 2 % 2 == 1

    def settings(self) -> dict[str, str]:
        return {"PYTHONHASHSEED": str(self.seed), **(_OLDER_PROCESSOR if self.older else {})}

    def arguments(self) -> list[str]:
        workers = ["-n", str(self.workers), "--dist", "worksteal"] if self.workers > 1 else ["-n", "0"]
        seeds = [f"--vary={self.seed}", f"--hypothesis-seed={self.seed}"]
        return ["-m", "pytest", *workers, *seeds, *self.rooms]

    def command(self) -> str:
        """What to type to repeat this round."""
        settings = [f"{name}={value}" for name, value in self.settings().items()]
        return " ".join([*settings, "python", *map(shlex.quote, self.arguments())])

    def line(self) -> str:
        processor = "haswell" if self.older else "this one"
        return f"{self.number + 1:5} {self.seed:10} {self.workers:7} {processor:>9}"

    def run(self) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, *self.arguments()],
            env=os.environ | self.settings(),
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            check=False,
        )


def counts(said: str) -> dict[str, int]:
    """The figures of pytest's last line.

    >>> counts("1 failed, 20 passed, 3 skipped in 4.2s")
    {'failed': 1, 'passed': 20, 'skipped': 3}
    """
    last = (said.strip().splitlines() or [""])[-1]
    return {word: int(number) for number, word in _COUNTS.findall(last)}


def failures(said: str) -> list[str]:
    """The lines of pytest's summary that name failed tests, or its last lines where there are none."""
    lines = said.strip().splitlines()
    return [line for line in lines if line.startswith(("FAILED", "ERROR"))] or lines[-20:]


def names(hash_seed: int, rooms: tuple[str, ...]) -> set[str]:
    """The names of the tests as a new process collects them."""
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "--collect-only", *rooms],
        env=os.environ | {"PYTHONHASHSEED": str(hash_seed)},
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        raise SystemExit(done.stdout + done.stderr)
    return {line for line in done.stdout.splitlines() if "::" in line}


def soak(times: int, seed: int | None, rooms: tuple[str, ...]) -> int:
    """Run so many rounds; 1 if one failed."""
    if different := sorted(names(1, rooms) ^ names(2, rooms)):
        print("Names of tests that another process does not know:", *different[:10], sep="\n")
        return 1
    draw, passed = random.Random(seed), 0
    print(_HEAD, flush=True)
    for number in range(times):
        one = Round(number, draw.randrange(2**32), rooms)
        print(one.line(), end=" ", flush=True)
        start = time.perf_counter()
        done = one.run()
        seconds, found = time.perf_counter() - start, counts(done.stdout)
        failed = found.get("failed", 0) + found.get("error", 0)
        print(f"{found.get('passed', 0):7} {failed:7} {seconds:8.0f}", flush=True)
        passed += done.returncode == 0
        if done.returncode:
            print(*failures(done.stdout), f"To repeat it: {one.command()}", sep="\n", flush=True)
    print(f"{passed} of {times} rounds passed.")
    return int(passed < times)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--times", type=int, default=20, help="number of rounds")
    parser.add_argument(
        "--seed", type=int, help="of the seeds of the rounds; by default another one each time"
    )
    parser.add_argument("rooms", nargs="*", help="folders or files of tests; all by default")
    given = parser.parse_args()
    return soak(given.times, given.seed, tuple(given.rooms))


if __name__ == "__main__":
    sys.exit(main())
