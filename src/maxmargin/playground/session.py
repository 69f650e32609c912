"""One page: its state, and an answer to each of its messages. No socket, no thread, no file."""

from __future__ import annotations

import itertools
import threading
import time
import tomllib
import traceback
from collections.abc import Callable
from functools import cache
from importlib import resources
from typing import Any

import maxmargin
from maxmargin.playground import lessons, messages
from maxmargin.playground.exports import plane_file
from maxmargin.playground.messages import Message, MessageError
from maxmargin.playground.plane import fitted_reply
from maxmargin.playground.tuning_tab import TableTab, opened
from maxmargin.playground.watching import Watched
from maxmargin.playground.wire import Reply

Say = Callable[[Reply], None]
IDLE_SECONDS = 600.0
_count = itertools.count(1)


class Session:
    """The state of one page: the last fitted model, up to two watched solvers, and a table."""

    def __init__(
        self,
        table: TableTab | None = None,
        lesson: Message | None = None,
        language: str | None = None,
        start: Message | None = None,
    ) -> None:
        self.table, self.lesson, self.language, self.start = table, lesson, language, start
        self.stop = threading.Event()
        self._watched: dict[int, Watched] = {}
        self._actions: dict[str, Callable[[Message, Say], Reply]] = {
            "hello": self._hello,
            "fit": self._fit,
            "watch": self._watch,
            "step": self._step,
            "lesson": self._lesson,
            "export": self._export,
            "table": self._table_action,
            "tune": self._table_action,
            "model": self._table_action,
            "explain": self._table_action,
            "file": self._table_action,
        }

    def handle(self, message: Message, say: Say) -> Reply:
        """The answer to a message; ``say`` sends what comes before it (cells as they are finished)."""
        number = message.get("id")
        known = number if isinstance(number, int) and not isinstance(number, bool) else None
        try:
            action = self._actions.get(messages.text(message, "do", 20))
            if action is None:
                raise MessageError("this message asks for nothing that is known here.")
            reply = action(message, say)
        except (ValueError, TypeError, OverflowError, KeyboardInterrupt) as wrong:
            reply = Reply({"do": "error", **_described(wrong)})
        except Exception:  # unexpected: the traceback goes to the terminal, its number to the page
            ticket = next(_count)
            print(f"[play] error {ticket}\n{traceback.format_exc()}", flush=True)
            reply = Reply(
                {"do": "error", "sentence": f"internal error {ticket}: see the terminal.", "internal": ticket}
            )
        reply.header["id"] = known
        return reply

    def forget_idle(self) -> None:
        """Drop traces that were not looked at for ten minutes."""
        limit = time.monotonic() - IDLE_SECONDS
        self._watched = {slot: one for slot, one in self._watched.items() if one.used > limit}

    # -- actions ------------------------------------------------------------------------------------

    def _hello(self, message: Message, say: Say) -> Reply:
        messages.only(message, "language")
        header: dict[str, Any] = {
            "do": "ready",
            "version": maxmargin.__version__,
            "machines": messages.MACHINES,
            "solvers": messages.SOLVERS,
            "kernels": messages.KERNELS,
            "limits": {"points": messages.MAX_POINTS, "classes": messages.MAX_CLASSES},
            "words": _all_words(),
            "lessons": lessons.listed(),
            "lesson": self.lesson,
            "language": self.language,
            "start": self.start,
        }
        if self.table is not None:
            header["table"] = self.table.described()
        return Reply(header)

    def _fit(self, message: Message, say: Say) -> Reply:
        return fitted_reply(messages.plane_message(message))[1]

    def _watch(self, message: Message, say: Say) -> Reply:
        wanted = messages.plane_message(message)
        self._watched.pop(wanted.slot, None)
        watched = Watched.begin(wanted)
        self._watched[wanted.slot] = watched
        return watched.reply()

    def _step(self, message: Message, say: Say) -> Reply:
        wanted = messages.step_message(message)
        watched = self._watched.get(wanted.slot)
        if watched is None:
            raise MessageError("no solver is being watched: press Watch.", key="not_watching")
        return watched.step(wanted)

    def _lesson(self, message: Message, say: Say) -> Reply:
        """A ready lesson by name, or one that the page has opened, checked."""
        messages.only(message, "name", "lesson")
        if "lesson" in message:
            return Reply({"do": "lesson", "lesson": lessons.checked(message["lesson"])})
        return Reply({"do": "lesson", "lesson": lessons.ready(messages.text(message, "name", 60))})

    def _export(self, message: Message, say: Say) -> Reply:
        return plane_file(message)

    def _table_action(self, message: Message, say: Say) -> Reply:
        self.stop.clear()
        if message["do"] == "table":
            self.table = (
                self._other_target(message) if set(message) <= {"do", "id", "target"} else opened(message)
            )
            return Reply({"do": "table", "table": self.table.described()})
        if self.table is None:
            raise MessageError(
                "there is no table: start with `maxmargin play data.csv --target y`.", key="no_table"
            )
        return self.table.handle(message, say, self.stop)

    def _other_target(self, message: Message) -> TableTab:
        """The table at hand with another column as the target."""
        if self.table is None:
            raise MessageError("there is no table yet.", key="no_table")
        target = messages.text(message, "target", 200)
        return TableTab.made_of(self.table.source, self.table.table, target, [])


def _described(wrong: BaseException) -> dict[str, Any]:
    sentence = str(wrong) or type(wrong).__name__
    if len(sentence) > 600:
        sentence = sentence[:599] + "…"
    own = wrong if isinstance(wrong, MessageError) else MessageError(sentence)
    return {"sentence": sentence, "key": own.key, "field": own.field, "column": own.column}


@cache
def _all_words() -> dict[str, dict[str, str]]:
    """Sentences by language and key; every language has the same keys."""
    folder = resources.files("maxmargin.playground") / "languages"
    return {
        language: tomllib.loads((folder / f"{language}.toml").read_text(encoding="utf-8"))
        for language in ("en", "es")
    }
