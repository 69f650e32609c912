"""The work clock stands still while it is paused, and goes on from there."""

from __future__ import annotations

import time

import pytest

from maxmargin.base import work_clock


def test_a_pause_does_not_count() -> None:
    before = work_clock.now()
    work_clock.pause()
    stopped = work_clock.now()
    time.sleep(0.05)
    assert work_clock.now() == stopped
    assert work_clock.resume() >= 0.05
    assert before <= stopped <= work_clock.now()


def test_seconds_of_a_pause_are_left_out() -> None:
    began, work = time.perf_counter(), work_clock.now()
    work_clock.pause()
    time.sleep(0.05)
    paused = work_clock.resume()
    worked, passed = work_clock.now() - work, time.perf_counter() - began
    assert worked <= passed - paused


def test_without_a_pause_it_is_a_clock() -> None:
    before = work_clock.now()
    time.sleep(0.02)
    assert work_clock.now() - before >= 0.02


def test_resuming_without_a_pause_changes_nothing() -> None:
    before = work_clock.now()
    assert work_clock.resume() == pytest.approx(0.0)
    assert work_clock.now() >= before
