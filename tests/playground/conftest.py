"""A server in a thread, and a page in Chromium that fails on any error of its console."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from maxmargin.playground.server import PageServer
from maxmargin.playground.session import Session
from tests.reports.chromium import executable

FLAGS = [
    "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
    "--disable-background-networking", "--disable-component-update", "--disable-sync",
]  # fmt: skip
PATIENCE = 60_000  # milliseconds: the suite shares its cores


class Running:
    """A server on a free port, in a thread of its own."""

    def __init__(self, new_session: Callable[[], Session] = Session) -> None:
        self._ready = threading.Event()
        self._thread = threading.Thread(target=self._run, args=(new_session,), daemon=True)
        self._thread.start()
        assert self._ready.wait(60)
        self.server.warm.result(timeout=1200)  # a new machine compiles here

    def _run(self, new_session: Callable[[], Session]) -> None:
        async def main() -> None:
            self.server = PageServer(0, new_session)
            self.loop = asyncio.get_running_loop()
            await self.server.run(lambda server: self._ready.set())

        asyncio.run(main())

    @property
    def address(self) -> str:
        return self.server.address

    def stop(self) -> bool:
        """True where the server has ended."""
        self.loop.call_soon_threadsafe(self.server.stop)
        self._thread.join(10)
        return not self._thread.is_alive()


def listen(page: Any, errors: list[str]) -> None:
    """Collect what goes wrong on a page."""

    def heard(line: Any) -> None:
        if line.type in ("error", "warning"):
            errors.append(line.text)

    page.on("console", heard)
    page.on("pageerror", lambda wrong: errors.append(str(wrong)))


@pytest.fixture(scope="session")
def running() -> Iterator[Running]:
    server = Running()
    yield server
    assert server.stop()


@pytest.fixture(scope="session")
def browser() -> Iterator[Any]:
    program = executable()
    if program is None:
        pytest.skip("there is no Chromium: install Debian's package chromium")
    playwright = pytest.importorskip("playwright.sync_api", reason="pip install playwright")
    with playwright.sync_playwright() as started:
        opened = started.chromium.launch(executable_path=program, args=FLAGS)
        yield opened
        opened.close()


@pytest.fixture
def open_page(browser: Any, running: Running) -> Iterator[Callable[..., Any]]:
    """Opens pages; at the end none of them may have written an error to its console."""
    errors: list[str] = []
    pages = []

    def opened(address: str | None = None, *, width: int = 1280, height: int = 900, **options: Any) -> Any:
        page = browser.new_page(viewport={"width": width, "height": height}, **options)
        page.set_default_timeout(PATIENCE)
        page.on(
            "console", lambda line: errors.append(line.text) if line.type in ("error", "warning") else None
        )
        page.on("pageerror", lambda wrong: errors.append(str(wrong)))
        page.goto(address or running.address)
        pages.append(page)
        return page

    yield opened
    for page in pages:
        page.close()
    assert errors == []
