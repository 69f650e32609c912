"""String kernels beside strkernels and a plain NumPy recursion, on SMS messages.

    python -m benchmarks.strings [--data DIR] [--rows 1000] [--peer-rows 500]

The first table compares in turns on the same messages, values included. strkernels sums all lengths up
to m, so ``up_to=True`` is its equal; the fixed length m is compared with NumPy and, where Rscript and the
package are installed, with kernlab's stringdot(type = "sequence"). The last lines measure the memory that one
value between two long strings needs.
"""

from __future__ import annotations

import argparse
import resource
import shutil
import subprocess
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np

from benchmarks._common import data_folder
from benchmarks._results import begin, record, times
from maxmargin.kernels import Spectrum, Subsequence

LENGTH, DECAY = 4, 0.5
REPEATS = 3


def messages(folder: Path, n: int) -> list[str]:
    """The first n messages in ASCII: strkernels compares bytes, and there bytes are characters."""
    if not (folder / "sms_spam.tsv").exists():  # words of a small vocabulary in their place
        rng = np.random.default_rng(0)
        words = ["".join(rng.choice(list("abcdefghilmnoprstu"), size)) for size in rng.integers(2, 9, 2000)]
        return [" ".join(rng.choice(words, size)) for size in rng.integers(4, 26, n)]
    lines = (folder / "sms_spam.tsv").read_text(encoding="utf-8").splitlines()
    texts = [line.split("\t", 1)[1] for line in lines]
    return [text for text in texts if text.isascii()][:n]


def numpy_subsequence(s: str, t: str, length: int, decay: float) -> float:
    """The recursion with one vector operation along t for each symbol of s and each length."""
    a, b = (np.frombuffer(text.encode(), dtype=np.uint8) for text in (s, t))
    powers = decay ** -np.arange(len(b), dtype=float)
    levels = np.zeros((length, len(b) + 1))
    levels[0] = 1.0
    total = 0.0
    for symbol in a:
        gains = (b == symbol) * levels[:, :-1] * decay**2
        total += gains[-1].sum()
        levels[1:, 1:] = decay * levels[1:, 1:] + np.cumsum(gains[:-1] * powers, axis=1) / powers
    return total


def numpy_gram(texts: list[str]) -> np.ndarray:
    n = len(texts)
    K = np.empty((n, n))
    for i in range(n):
        for j in range(i + 1):
            K[i, j] = K[j, i] = numpy_subsequence(texts[i], texts[j], LENGTH, DECAY)
    root = np.sqrt(np.diag(K))
    return K / np.maximum(np.outer(root, root), 1e-300)


def timed(action: Callable[[], np.ndarray]) -> tuple[float, float, np.ndarray]:
    """Seconds on the clock, seconds of all processors, and the result."""
    clock, work = time.perf_counter(), time.process_time()
    result = action()
    return time.perf_counter() - clock, time.process_time() - work, result


def compare(name: str, peer: Callable[[], np.ndarray], ours: Callable[[], np.ndarray]) -> None:
    """Both in turns, best of each: other work on the machine then troubles both alike."""
    theirs, mine = [], []
    for _ in range(REPEATS):
        theirs.append(timed(peer))
        mine += [timed(ours), timed(ours)]
    (peer_clock, our_clock), (peer_work, our_work) = (
        (min(run[k] for run in theirs), min(run[k] for run in mine)) for k in (0, 1)
    )
    difference = float(np.abs(theirs[0][2] - mine[0][2]).max())
    note = f"CPU time {peer_work / our_work:.1f} x; largest difference {difference:.1e}"
    record(name, our_clock, {name.split(",")[0]: peer_clock}, note)


KERNLAB = """
suppressMessages(library(kernlab))
files <- commandArgs(TRUE)
texts <- as.list(readLines(files[1]))
kernel <- stringdot(type = "sequence", length = {length}, lambda = {decay}, normalized = TRUE)
cat(system.time(K <- kernelMatrix(kernel, texts))[["elapsed"]])
write.table(format(K, digits = 17), files[2], quote = FALSE, row.names = FALSE, col.names = FALSE)
"""


def beside_kernlab(texts: list[str]) -> None:
    """The same Gram matrix in R; its seconds are measured inside R, without the start of the process."""
    with tempfile.TemporaryDirectory() as folder:
        script, read, written = (Path(folder) / name for name in ("gram.R", "texts.txt", "gram.txt"))
        script.write_text(KERNLAB.format(length=LENGTH, decay=DECAY))
        read.write_text("\n".join(texts) + "\n")
        command = ["Rscript", str(script), str(read), str(written)]
        run = subprocess.run(command, capture_output=True, text=True, check=False)
        if run.returncode:
            print("kernlab is not installed in R: install.packages('kernlab')")
            return
        gram = np.loadtxt(written)
    kernel = Subsequence(LENGTH, DECAY)
    ours = min(timed(lambda: kernel(texts))[0] for _ in range(REPEATS))
    peer, difference = float(run.stdout), np.abs(gram - kernel(texts)).max()
    name = f"kernlab, {len(texts)} messages, exactly 4"
    record(name, ours, {"kernlab": peer}, f"largest difference {difference:.1e}")


def beside_peers(texts: list[str], few: int) -> None:
    begin(table="string kernels, Gram matrix, length 4")
    summed = Subsequence(LENGTH, DECAY, up_to=True)
    try:
        from strkernels import SubsequenceStringKernel
    except ImportError:
        print("strkernels is not installed: pip install strkernels")
    else:
        peer = SubsequenceStringKernel(maxlen=LENGTH, ssk_lambda=DECAY)
        array = np.array(texts, dtype=object)
        name = f"strkernels, {len(texts)} messages, up to 4"
        compare(name, lambda: peer(array, array), lambda: summed(texts))
    exact, sample = Subsequence(LENGTH, DECAY), texts[:few]
    compare(f"NumPy, {few} messages, exactly 4", lambda: numpy_gram(sample), lambda: exact(sample))
    if shutil.which("Rscript"):
        beside_kernlab(texts[: 2 * few])
    else:
        print("R is not installed: no comparison with kernlab")


def alone(texts: list[str]) -> None:
    mean = np.mean([len(text) for text in texts])
    begin(table=f"string kernels, {len(texts)} messages, {mean:.0f} characters on average")
    kernel = Subsequence(LENGTH, DECAY)
    for name, action in {
        "Subsequence(4)": lambda: kernel(texts),
        "Subsequence(4), one thread": lambda: kernel(texts, n_jobs=1),
        "Subsequence(4), all lengths 1 to 4": lambda: kernel.by_length(texts),
        "Subsequence(2, tokens='words')": lambda: Subsequence(2, DECAY, tokens="words")(texts),
        "Spectrum(4)": lambda: Spectrum(4)(texts),
    }.items():
        record(name, times(timed(action)[0] for _ in range(REPEATS)), {})


def memory() -> None:
    """Peak memory of one value between two strings, above what the process held before."""
    begin(table="string kernels, one value between two strings")
    letters = np.random.default_rng(0).choice(list("abcdefgh"), 30_000)
    for n in (1_000, 10_000, 30_000):
        text = "".join(letters[:n])
        before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        seconds, _, _ = timed(lambda text=text: Subsequence(LENGTH, DECAY, normalize=False)([text], [text]))
        above = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1024
        record(f"strings of {n}", seconds, {}, f"{above:.1f} MB above the start")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, default=data_folder())
    parser.add_argument("--rows", type=int, default=1000)
    parser.add_argument("--peer-rows", type=int, default=500, help="messages for strkernels")
    options = parser.parse_args()
    texts = messages(options.data, options.rows)
    warm = texts[:70]
    Subsequence(LENGTH, DECAY)(warm)
    Subsequence(LENGTH, DECAY, tokens="words")(warm)
    Spectrum(LENGTH)(warm)
    beside_peers(texts[: options.peer_rows], 40)
    alone(texts)
    memory()


if __name__ == "__main__":
    main()
