"""Settings of the tests of files."""

from __future__ import annotations

import gc
from collections.abc import Iterator

import pytest


@pytest.fixture(autouse=True)
def _no_garbage_of_other_tests() -> Iterator[None]:
    """Time limits are about one file: collecting what thousands of other tests left does not count."""
    gc.disable()
    yield
    gc.enable()
