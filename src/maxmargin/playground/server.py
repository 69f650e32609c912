"""The page on 127.0.0.1: its files, one socket, one worker thread. The only module that knows websockets."""

from __future__ import annotations

import asyncio
import contextlib
import gc
import mimetypes
import queue
import secrets
import signal
import threading
from collections.abc import Callable
from concurrent.futures import Future
from functools import partial
from http import HTTPStatus
from importlib import resources
from typing import Any
from urllib.parse import parse_qs, urlsplit

from maxmargin.playground import messages
from maxmargin.playground.messages import SOLVERS, Message, MessageError
from maxmargin.playground.session import Session
from maxmargin.playground.wire import Reply, packed

try:
    from websockets.asyncio.server import ServerConnection, serve
    from websockets.datastructures import Headers
    from websockets.exceptions import ConnectionClosed
    from websockets.http11 import Request, Response
except ImportError as missing:
    raise ImportError("maxmargin play needs websockets: pip install 'maxmargin[play]'.") from missing

MAX_PAGES = 4
MAX_QUEUED = 20
_TYPES = {".js": "text/javascript", ".css": "text/css", ".html": "text/html", ".svg": "image/svg+xml"}
_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; "
    "img-src 'self' blob: data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)


def page_files() -> dict[str, bytes]:
    """The files of the page by their path, read once: no path of a request reaches the disk."""
    folder = resources.files("maxmargin.playground") / "page"
    found = {f"/{file.name}": file.read_bytes() for file in folder.iterdir() if file.is_file()}
    return found | {"/": found["/index.html"]}


class Worker:
    """One thread for all fits. It ends with the process, which an executor's thread would keep alive."""

    def __init__(self) -> None:
        self._jobs: queue.SimpleQueue[tuple[Future[Any], Callable[..., Any], tuple[Any, ...]]] = (
            queue.SimpleQueue()
        )
        threading.Thread(target=self._work, daemon=True, name="play").start()

    def submit(self, job: Callable[..., Any], *arguments: Any) -> Future[Any]:
        future: Future[Any] = Future()
        self._jobs.put((future, job, arguments))
        return future

    def _work(self) -> None:
        while True:
            future, job, arguments = self._jobs.get()
            if not future.set_running_or_notify_cancel():
                continue
            try:
                future.set_result(job(*arguments))
            except BaseException as wrong:  # raised where the future is awaited
                future.set_exception(wrong)


class PageServer:
    """Serves the page until it is stopped; ``tunes`` if it begins with a table."""

    def __init__(
        self, port: int = 0, new_session: Callable[[], Session] = Session, *, tunes: bool = False
    ) -> None:
        self.port, self._tunes = port, tunes
        self.token = secrets.token_urlsafe(24)
        self._new_session = new_session
        self._files = page_files()
        self._worker = Worker()
        self._sessions: list[Session] = []
        self._stopped = asyncio.Event()

    @property
    def address(self) -> str:
        """What to open: the token is in the fragment, which browsers do not send."""
        return f"http://127.0.0.1:{self.port}/#{self.token}"

    async def run(self, started: Callable[[PageServer], None]) -> None:
        """Serve until `stop`, SIGINT or SIGTERM."""
        loop = asyncio.get_running_loop()
        for number in (signal.SIGINT, signal.SIGTERM):
            with contextlib.suppress(NotImplementedError, ValueError, RuntimeError):
                loop.add_signal_handler(number, self.stop)
        options: dict[str, Any] = {"max_size": messages.MAX_LOAD, "compression": None, "server_header": None}
        async with serve(
            self._talk, "127.0.0.1", self.port, process_request=self._answer, close_timeout=0.5, **options
        ) as server:
            self.port = server.sockets[0].getsockname()[1]
            self.warm = self._worker.submit(warm_up)
            if self._tunes:
                self.warm = self._worker.submit(warm_up_tuning)
            started(self)
            await self._stopped.wait()
            for session in self._sessions:
                session.stop.set()

    def stop(self) -> None:
        self._stopped.set()

    # -- requests ------------------------------------------------------------------------------------

    def _answer(self, connection: ServerConnection, request: Request) -> Response | None:
        """A file, a refusal, or None where the socket may open."""
        host = request.headers.get_all("Host")
        if host not in ([f"127.0.0.1:{self.port}"], [f"localhost:{self.port}"]):
            return _response(HTTPStatus.MISDIRECTED_REQUEST, b"this page answers to 127.0.0.1 only\n")
        if getattr(request, "method", "GET") != "GET":  # older versions of websockets hang up themselves
            return _response(HTTPStatus.METHOD_NOT_ALLOWED, b"only GET has a meaning here\n")
        parts = urlsplit(request.path)
        if parts.path == "/socket":
            return self._socket_refusal(request, host[0], parts.query)
        file = self._files.get(parts.path)
        if file is None:
            return _response(HTTPStatus.NOT_FOUND, b"there is no such file\n")
        suffix = "." + parts.path.rpartition(".")[2] if parts.path != "/" else ".html"
        kind = _TYPES.get(suffix) or mimetypes.guess_type(parts.path)[0] or "application/octet-stream"
        return _response(HTTPStatus.OK, file, f"{kind}; charset=utf-8" if kind.startswith("text") else kind)

    def _socket_refusal(self, request: Request, host: str, query: str) -> Response | None:
        origins = request.headers.get_all("Origin")
        if origins != [f"http://{host}"]:
            return _response(HTTPStatus.FORBIDDEN, b"another page may not talk to this server\n")
        given = parse_qs(query).get("token", [""])[0]
        if not secrets.compare_digest(given.encode(), self.token.encode()):
            return _response(HTTPStatus.FORBIDDEN, b"the token is missing or wrong\n")
        if len(self._sessions) >= MAX_PAGES:
            return _response(HTTPStatus.SERVICE_UNAVAILABLE, b"four pages are open already: close one\n")
        return None

    # -- the socket ------------------------------------------------------------------------------------

    async def _talk(self, connection: ServerConnection) -> None:
        """Answer the messages of one page in order; only "cancel" is read while a search runs."""
        session = self._new_session()
        self._sessions.append(session)
        waiting: asyncio.Queue[Message] = asyncio.Queue(MAX_QUEUED)
        worker = asyncio.create_task(self._work(connection, session, waiting))
        try:
            async for text in connection:
                try:
                    message = messages.parsed(text)
                except MessageError as wrong:
                    await connection.close(1003, str(wrong)[:120])
                    return
                if message.get("do") == "cancel":
                    session.stop.set()
                    continue
                try:
                    waiting.put_nowait(message)
                except asyncio.QueueFull:
                    await connection.close(1008, "too many messages at once")
                    return
        except ConnectionClosed:
            pass
        finally:
            session.stop.set()
            worker.cancel()
            self._sessions.remove(session)

    async def _work(
        self, connection: ServerConnection, session: Session, waiting: asyncio.Queue[Message]
    ) -> None:
        loop = asyncio.get_running_loop()

        def say(reply: Reply) -> None:
            asyncio.run_coroutine_threadsafe(connection.send(packed(reply)), loop)

        while True:
            try:
                message = await asyncio.wait_for(waiting.get(), 60)
            except TimeoutError:
                session.forget_idle()
                continue
            job = partial(_answered, session, message, say)
            if message.get("do") == "hello":  # the page appears while the worker still loads compiled code
                answer = await asyncio.to_thread(job)
            else:
                answer = await asyncio.wrap_future(self._worker.submit(job))
            with contextlib.suppress(ConnectionClosed):
                await connection.send(answer)


def _answered(session: Session, message: Message, say: Callable[[Reply], None]) -> bytes:
    return packed(session.handle(message, say))


def _response(status: HTTPStatus, body: bytes, kind: str = "text/plain; charset=utf-8") -> Response:
    headers = Headers(
        {
            "Content-Type": kind,
            "Content-Length": str(len(body)),
            "Content-Security-Policy": _POLICY,
            "X-Content-Type-Options": "nosniff",
            "Referrer-Policy": "no-referrer",
            "Cache-Control": "no-store",
            "Cross-Origin-Resource-Policy": "same-origin",
            "Connection": "close",
        }
    )
    return Response(status.value, status.phrase, headers, body)


def warm_up() -> None:
    """Load compiled code before the first click."""
    session = Session()
    view = {"x0": 0, "x1": 1, "y0": 0, "y1": 1, "nx": 4, "ny": 4}
    points = [[k % 3, k % 2 + 0.1 * k, k % 2] for k in range(8)]
    for machine in ("SVC", "SVR", "OneClassSVM", "HardMarginSVC"):
        request = {"points": points, "settings": {"machine": machine}, "view": view}
        session.handle({"do": "fit", **request}, lambda reply: None)
    for solver in SOLVERS:  # or compiling would use up the time of the first fit that is watched
        request["settings"] = {"machine": "SVC", "kernel": "linear", "solver": solver}
        session.handle({"do": "watch", **request}, lambda reply: None)


def warm_up_tuning() -> None:
    """Load the compiled code of a search before the user presses Tune."""
    session = Session()
    rows = [f"{k % 7},{k % 5},{'ab'[k % 2]}" for k in range(40)]
    table = {"do": "table", "name": "warm.csv", "content": "\n".join(["x,z,y", *rows]), "target": "y"}
    for message in (table, {"do": "tune", "grid": {"C": [1.0, 2.0], "gamma": [0.1]}, "folds": 2}):
        session.handle(message, lambda reply: None)


def serve_page(
    new_session: Callable[[], Session], *, port: int, started: Callable[[str], None], tunes: bool = False
) -> None:
    """Serve the page until Ctrl-C; ``started`` receives its address."""

    def ready(server: PageServer) -> None:
        # Objects loaded so far stay: searching them for garbage again would delay a picture by 0.1 s.
        server.warm.add_done_callback(lambda _: gc.freeze())
        started(server.address)

    asyncio.run(PageServer(port, new_session, tunes=tunes).run(ready))
