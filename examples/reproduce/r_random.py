"""R's random numbers: what ``set.seed(s); sample(n, k)`` draws, to repeat a published split without R.

R (3.6 and later) feeds a Mersenne Twister from a scrambled seed and draws indices by rejection:
bits in pieces of 16 until the number is below n. Earlier versions multiplied one uniform number by
n ("Rounding").
"""

from __future__ import annotations

from math import ceil, log2

import numpy as np

Folds = list[tuple[np.ndarray, np.ndarray]]
_WORDS = 624


class RRandom:
    """The generator after ``set.seed(seed)``."""

    def __init__(self, seed: int, *, rounding: bool = False) -> None:
        self._bits = np.random.MT19937()
        self._bits.state = {"bit_generator": "MT19937", "state": {"key": _scrambled(seed), "pos": _WORDS}}
        self._rounding = rounding

    def uniform(self) -> float:
        """``runif(1)``."""
        return float(self._bits.random_raw()) * 2.3283064365386963e-10

    def _index(self, n: int) -> int:
        if self._rounding:
            return int(n * self.uniform())
        n_bits = ceil(log2(n)) if n > 1 else 0
        while True:
            value = 0
            for _ in range(0, n_bits + 1, 16):
                value = 65536 * value + int(self.uniform() * 65536)
            value &= (1 << n_bits) - 1
            if value < n:
                return value

    def sample(self, n: int, size: int | None = None) -> np.ndarray:
        """``sample(n, size)`` without replacement, counted from 0."""
        left = np.arange(n)
        drawn = np.empty(n if size is None else size, dtype=np.intp)
        for i in range(len(drawn)):
            j = self._index(n - i)
            drawn[i] = left[j]
            left[j] = left[n - i - 1]
        return drawn


def _scrambled(seed: int) -> np.ndarray:
    """The state of the twister after set.seed: a linear congruential generator, warmed up 50 times."""
    value = seed % 2**32
    words = []
    for i in range(50 + 1 + _WORDS):
        value = (69069 * value + 1) % 2**32
        if i > 50:  # the first word after the warm-up is the position, which R then sets itself
            words.append(value)
    return np.array(words, dtype=np.uint32)


def e1071_folds(n: int, seed: int, cross: int = 10) -> Folds:
    """The folds that ``set.seed(seed); e1071::tune(...)`` makes: pairs of training and test rows."""
    order = RRandom(seed).sample(n)
    edges = np.linspace(1, n, cross + 1)[1:-1]  # cut(1:n, breaks = cross): equal widths, closed on the right
    part = np.searchsorted(edges, np.arange(1, n + 1), side="left")
    return [(order[part != k], order[part == k]) for k in range(cross)]
