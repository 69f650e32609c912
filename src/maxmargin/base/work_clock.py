"""A clock that stops during compilation, so that fit times and estimates exclude it."""

from __future__ import annotations

from time import perf_counter

_paused = 0.0  # seconds in all pauses that have ended
_since: float | None = None  # when the present pause began


def now() -> float:
    """Seconds of work, from an arbitrary start."""
    since = _since
    return (perf_counter() if since is None else since) - _paused


def pause() -> None:
    """Stop the clock; only one thread compiles at a time."""
    global _since
    _since = perf_counter()


def resume() -> float:
    """Restart the clock; returns the length of the pause."""
    global _paused, _since
    length = 0.0 if _since is None else perf_counter() - _since
    _paused, _since = _paused + length, None
    return length
