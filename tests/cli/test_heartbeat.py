"""Nothing is silent for more than two seconds, with a terminal and without."""

from __future__ import annotations

import re
import threading
import time
from typing import Any

import pytest

pytest.importorskip("typer")

from maxmargin.cli import heartbeat
from maxmargin.cli.screen import Screen, running


@pytest.fixture
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(heartbeat, "_SILENCE", 0.05)
    monkeypatch.setattr(heartbeat, "_LOOK", 0.01)


def hear(capsys: pytest.CaptureFixture[str], n_lines: int) -> list[str]:
    """Work in silence until there are so many signs of life, or a minute has passed."""
    said: list[str] = []
    for _ in range(1200):
        time.sleep(0.05)
        said += capsys.readouterr().err.splitlines()
        if len(said) >= n_lines:
            break
    return said


def test_silent_work_is_named_until_it_ends(quick: None, capsys: pytest.CaptureFixture[str]) -> None:
    before = set(threading.enumerate())
    screen = Screen("fit")
    with running(screen):
        (beating,) = set(threading.enumerate()) - before
        with screen.working("fitting"):
            hear(capsys, 1)
        screen.heart.rest()
        beating.join(60.0)
        assert not beating.is_alive()  # a command that waits for its user is not at work
    screen = Screen("fit", language="es")
    with running(screen), screen.working("fitting"):
        said = hear(capsys, 2)
    assert len(said) >= 2
    assert all(re.fullmatch(r"\[ajustando\] \d+ s", line) for line in said)


def test_counted_work_says_how_long_it_will_take(quick: None, capsys: pytest.CaptureFixture[str]) -> None:
    screen = Screen("compare")
    with running(screen), screen.working("comparing", 4) as step:
        step("svm")
        capsys.readouterr()  # what a busy machine said before the step
        said = hear(capsys, 1)
    assert re.fullmatch(r"\[comparing\] 1/4 in \d+ s, about \d+ s left", said[0])


def test_json_and_printed_lines_need_no_sign_of_life(quick: None, capsys: pytest.CaptureFixture[str]) -> None:
    quiet = Screen("fit", as_json=True)
    with running(quiet), quiet.working("fitting"):
        time.sleep(0.2)
    assert capsys.readouterr().err == ""


def test_a_live_display_is_not_disturbed(
    quick: None, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    shown: list[Any] = []
    monkeypatch.setattr(heartbeat, "show_line", shown.append)
    screen = Screen("fit")
    with running(screen), screen.heart.during("fitting", live=True):
        time.sleep(0.3)
    assert shown == []


def test_the_first_few_steps_tell_nothing_about_the_rest(
    quick: None, capsys: pytest.CaptureFixture[str]
) -> None:
    """The first fits load or compile code: 2 of 90 in 20 seconds said "about 900 s left"."""
    screen = Screen("fit")
    with running(screen), screen.working("tuning", 90) as step:
        step("one")
        capsys.readouterr()
        said = hear(capsys, 1)
    assert re.fullmatch(r"\[tuning\] 1/90 in \d+ s", said[0])


def test_steps_that_come_many_at_a_time_do_not_raise_the_time_left(monkeypatch: pytest.MonkeyPatch) -> None:
    """2 of 36 in 1 s, then silence until 10 are finished: "about 17 s left" rose to 109 s."""
    now = [0.0]
    monkeypatch.setattr(heartbeat, "monotonic", lambda: now[0])
    work = heartbeat._Work("tuning", 36, began=0.0)
    now[0] = 1.0
    work.finished(2)
    assert work.line() == "[tuning] 2/36 in 1 s, about 17 s left"
    now[0] = 6.0
    assert work.line() == "[tuning] 2/36 in 6 s, about 12 s left"
    now[0] = 20.0  # longer than the first steps promised
    assert work.line() == "[tuning] 2/36 in 20 s, about 340 s left"
