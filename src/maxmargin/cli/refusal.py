"""What went wrong, in one line and one number."""

from __future__ import annotations

from enum import IntEnum


class Code(IntEnum):
    """Exit codes of all commands."""

    DONE = 0
    FAILED = 1
    USAGE = 2
    DATA = 3
    MODEL = 4
    NO = 5
    INTERRUPTED = 130


class Refusal(Exception):  # noqa: N818  # it is an answer to the user, not an error of the program
    """A problem that its owner can mend: shown as one line, without a traceback."""

    def __init__(self, message: str, code: Code = Code.DATA) -> None:
        self.code = code
        super().__init__(message)
