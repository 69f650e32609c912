"""The server against pages that are not ours: one sentence back, and it lives on."""

from __future__ import annotations

import http.client
import json
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from typing import Any

import numpy as np
import pytest
from websockets.exceptions import ConnectionClosed, InvalidStatus
from websockets.sync.client import connect

from maxmargin.playground.server import warm_up, warm_up_tuning
from maxmargin.playground.session import Session
from tests.interrupts import end_by
from tests.playground.conftest import Running
from tests.playground.test_session import POINTS, VIEW, unpacked


def get(
    port: int, path: str, host: str | None = None, method: str = "GET"
) -> tuple[int, dict[str, str], bytes]:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=20)
    connection.putrequest(method, path, skip_host=True, skip_accept_encoding=True)
    connection.putheader("Host", host or f"127.0.0.1:{port}")
    connection.endheaders()
    answer = connection.getresponse()
    found = answer.status, {name.lower(): value for name, value in answer.getheaders()}, answer.read()
    connection.close()
    return found


def talk(running: Running, origin: str | None = None, token: str | None = None) -> Any:
    port = running.server.port
    address = f"ws://127.0.0.1:{port}/socket?token={running.server.token if token is None else token}"
    return connect(address, origin=origin or f"http://127.0.0.1:{port}", open_timeout=20, max_size=None)


def hello(running: Running) -> dict[str, Any]:
    with talk(running) as page:
        page.send(json.dumps({"do": "hello", "id": 1}))
        return unpacked(page.recv(timeout=120))[0]


def test_the_files_and_their_headers(running: Running) -> None:
    status, headers, body = get(running.server.port, "/")
    assert status == 200
    assert b'<script type="module" src="local.js">' in body
    policy = headers["content-security-policy"]
    assert policy.startswith("default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'")
    assert "unsafe" not in policy
    assert headers["x-content-type-options"] == "nosniff"
    assert headers["referrer-policy"] == "no-referrer"
    assert headers["cache-control"] == "no-store"
    assert running.server.token.encode() not in body
    assert get(running.server.port, "/app.js")[1]["content-type"].startswith("text/javascript")


@pytest.mark.parametrize(
    "host", ["evil.example", "127.0.0.1", "localhost.evil.example", "127.0.0.1:1", "[::1]"]
)
def test_a_foreign_host(running: Running, host: str) -> None:
    assert get(running.server.port, "/", host)[0] == 421


@pytest.mark.parametrize(
    "path",
    [
        "/../server.py",
        "/..%2fserver.py",
        "/%2e%2e/server.py",
        "//etc/passwd",
        "/etc/passwd",
        "/page/../../x",
        "/.",
        "/app.js/",
        "/app.js%00",
    ],
)
def test_no_path_reaches_the_disk(running: Running, path: str) -> None:
    assert get(running.server.port, path)[0] == 404


@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE", "OPTIONS"])
def test_only_get(running: Running, method: str) -> None:
    try:
        status = get(running.server.port, "/", method=method)[0]
    except (http.client.HTTPException, ConnectionError):
        return  # hung up
    assert status >= 400


def test_a_foreign_origin_and_a_wrong_token(running: Running) -> None:
    for origin in (
        "http://evil.example",
        "null",
        f"https://127.0.0.1:{running.server.port}",
        "http://127.0.0.1",
    ):
        with pytest.raises(InvalidStatus, match="403"):
            talk(running, origin=origin)
    for token in ("", "wrong", running.server.token[:-1], running.server.token + "x"):
        with pytest.raises(InvalidStatus, match="403"):
            talk(running, token=token)
    assert hello(running)["do"] == "ready"


@pytest.mark.parametrize(
    "text", ["[]", "{", "[" * 100_000, b"\xff\x00", '{"do": NaN}', '{"a":"' + "x" * (2 << 20) + '"}']
)
def test_malformed_and_oversized_messages_close(running: Running, text: str | bytes) -> None:
    with talk(running) as page:
        page.send(text)
        with pytest.raises(ConnectionClosed) as closed:
            page.recv(timeout=60)
    assert closed.value.rcvd is not None
    assert closed.value.rcvd.code in (1003, 1009)
    assert hello(running)["do"] == "ready"


def flood(page: Any) -> None:
    """Far more messages than a page would send; reads until the server hangs up."""
    request = json.dumps({"do": "watch", "points": POINTS, "view": VIEW})
    for _ in range(400):
        page.send(request)
    while True:
        page.recv(timeout=60)


def test_a_flood_closes_and_dead_pages_are_forgotten(running: Running) -> None:
    with talk(running) as page, pytest.raises(ConnectionClosed) as closed:
        flood(page)
    assert closed.value.rcvd is None or closed.value.rcvd.code == 1008
    raw = socket.create_connection(("127.0.0.1", running.server.port))
    raw.send(b"GET / HTTP/1.1\r\nHost: 127.0.0.1")
    raw.close()
    assert hello(running)["do"] == "ready"
    assert forgotten(running)


def test_a_killed_connection_in_the_middle_of_a_fit(running: Running) -> None:
    rng = np.random.default_rng(0)
    points = [[float(a), float(b), k % 2] for k, (a, b) in enumerate(rng.normal(size=(300, 2)))]
    settings = {"machine": "SVC", "kernel": "linear", "C": 1e6}
    with talk(running) as page:
        for _ in range(3):
            page.send(json.dumps({"do": "fit", "points": points, "view": VIEW, "settings": settings}))
        page.socket.shutdown(socket.SHUT_RDWR)  # no farewell
    assert hello(running)["do"] == "ready"
    assert forgotten(running)


def test_the_search_is_warmed_up(monkeypatch: pytest.MonkeyPatch) -> None:
    """The searches of a warm-up are real ones: an error in them would pass unseen."""
    heard: list[str] = []
    handle = Session.handle

    def noted(self: Session, message: Any, say: Any) -> Any:
        reply = handle(self, message, say)
        heard.append(reply.header["do"])
        return reply

    monkeypatch.setattr(Session, "handle", noted)
    warm_up_tuning()
    warm_up()
    assert heard[:2] == ["table", "tuned"]
    assert set(heard[2:]) == {"fitted", "watched"}


def test_a_page_appears_while_the_worker_is_busy(running: Running) -> None:
    """The words of the page do not wait for a fit of another page, or for compiled code."""
    free = threading.Event()
    busy = running.server._worker.submit(free.wait, 60)
    try:
        assert hello(running)["do"] == "ready"
        assert not busy.done()
    finally:
        free.set()


def forgotten(running: Running) -> bool:
    """True when the server has no session left."""
    for _ in range(100):
        if not running.server._sessions:
            return True
        time.sleep(0.1)
    return False


def test_two_pages_at_once_do_not_mix(running: Running) -> None:
    with talk(running) as first, talk(running) as second:
        for page, C in ((first, 1.0), (second, 100.0)):
            settings = {"machine": "SVC", "kernel": "linear", "C": C, "solver": "smo"}
            page.send(
                json.dumps({"do": "watch", "id": 7, "points": POINTS, "view": VIEW, "settings": settings})
            )
        steps = [unpacked(page.recv(timeout=120))[0]["steps"] for page in (first, second)]
        for page, n in ((first, steps[0]), (second, steps[1])):
            page.send(json.dumps({"do": "step", "id": 8, "k": n - 1, "view": VIEW}))
        duals = [unpacked(page.recv(timeout=120))[0] for page in (first, second)]
        assert [one["id"] for one in duals] == [8, 8]
    with talk(running) as third:
        third.send(json.dumps({"do": "step", "k": 0, "view": VIEW}))
        assert unpacked(third.recv(timeout=120))[0]["key"] == "not_watching"


@pytest.mark.skipif(os.name == "nt", reason="signals of Unix")
def test_the_command_prints_its_address_and_ends_at_once() -> None:
    command = [sys.executable, "-m", "maxmargin", "play", "--no-browser", "--port", "0"]
    pipes: dict[str, Any] = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    with subprocess.Popen(command, start_new_session=True, **pipes) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        line = process.stdout.readline()
        assert "http://127.0.0.1:" in line
        port = int(line.split("127.0.0.1:")[1].split("/")[0])
        assert get(port, "/")[0] == 200
        assert min(end_by(signal.SIGTERM, process)) < 2  # of the processor: the suite shares its cores
        assert "Traceback" not in process.stderr.read()
