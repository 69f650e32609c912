"""Nothing is silent for more than two seconds, with a terminal and without."""

from __future__ import annotations

import re
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


def test_silent_work_is_named_until_it_ends(quick: None, capsys: pytest.CaptureFixture[str]) -> None:
    screen = Screen("fit")
    with running(screen):
        with screen.working("fitting"):
            time.sleep(0.4)
        screen.heart.rest()
        time.sleep(0.05)
        capsys.readouterr()
        time.sleep(0.3)  # a command that waits for its user is not at work
    assert capsys.readouterr().err == ""
    screen = Screen("fit", language="es")
    with running(screen), screen.working("fitting"):
        time.sleep(0.4)
    said = capsys.readouterr().err.splitlines()
    assert len(said) >= 2
    assert set(said) <= {"[ajustando] 0 s", "[ajustando] 1 s"}


def test_counted_work_says_how_long_it_will_take(quick: None, capsys: pytest.CaptureFixture[str]) -> None:
    screen = Screen("compare")
    with running(screen), screen.working("comparing", 4) as step:
        step("svm")
        time.sleep(0.4)
    said = capsys.readouterr().err
    assert re.search(r"^\[comparing\] 1/4 in \d s, about \d s left$", said, re.MULTILINE)


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
        time.sleep(0.2)
    said = capsys.readouterr().err
    assert "[tuning] 1/90 in 0 s" in said
    assert "left" not in said
