"""``maxmargin play --export``, and what it refuses."""

from __future__ import annotations

import json
import socket
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from typer.testing import CliRunner

from maxmargin.cli.app import app
from maxmargin.playground import lessons


def run(*arguments: str) -> tuple[int, str]:
    result = CliRunner().invoke(app, ["play", *arguments])
    return result.exit_code, result.output + result.stderr


def test_a_lesson_is_written_once(tmp_path: Path) -> None:
    lesson = tmp_path / "mine.json"
    lesson.write_text(json.dumps(lessons.ready("01-separable")))
    page = tmp_path / "lesson.html"
    code, _ = run("--lesson", str(lesson), "--export", str(page), "--language", "es")
    assert code == 0
    text = page.read_text(encoding="utf-8")
    assert text.startswith('<!doctype html>\n<html lang="es">')
    assert "Separables, y el camino más ancho" in text
    code, said = run("--lesson", "01-separable", "--export", str(page))
    assert code == 2
    assert "exists: --force overwrites it" in said
    assert page.read_text(encoding="utf-8") == text


@pytest.mark.parametrize(
    ("arguments", "code", "sentence"),
    [
        (["--export", "x.html"], 2, "--export needs --lesson"),
        (["--lesson", "11-nothing"], 2, "there is no lesson '11-nothing'"),
        (["--lesson", "missing.json"], 3, "cannot be read"),
        (["missing.csv"], 3, "there is no such file"),
        (["--port", "70000"], 2, "65535"),
        (["--target", "y"], 2, "--target names a column of a table"),
        (["x.csv", "--lesson", "05-smo", "--export", "x.html"], 2, "leave DATA out"),
    ],
)
def test_refusals(
    arguments: list[str], code: int, sentence: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    found, said = run(*arguments)
    assert found == code
    assert sentence in " ".join(said.split())
    assert list(tmp_path.iterdir()) == []


def test_a_port_in_use() -> None:
    """In a thread: the main one has a running loop as long as the browser of other tests is open."""
    with socket.create_server(("127.0.0.1", 0)) as taken, ThreadPoolExecutor(1) as thread:
        port = taken.getsockname()[1]
        code, said = thread.submit(run, "--no-browser", "--port", str(port)).result()
    assert code == 2, said
    assert f"port {port} cannot be used" in " ".join(said.split())
    assert "--port 0 picks a free one" in " ".join(said.split())


def test_without_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "websockets.asyncio.server", None)
    monkeypatch.delitem(sys.modules, "maxmargin.playground.server", raising=False)
    code, said = run("--no-browser")
    assert code == 2
    assert "maxmargin play needs websockets: pip install 'maxmargin[play]'" in " ".join(said.split())
