"""Settings that must hold before anything of the package is imported."""

from __future__ import annotations

import hashlib
import os
import random
import re
import signal
import sys
import zlib
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
SOURCES = ROOT / "src" / "maxmargin"


def _digest() -> str:
    """A hash of the jitted sources: Numba keeps a caller's cache when a callee in another file changes."""
    digest = hashlib.sha256(os.environ.get("NUMBA_BOUNDSCHECK", "").encode())
    for path in sorted(SOURCES.rglob("*.py")):
        if "maxmargin.compute.jit" not in path.read_text(encoding="utf-8") and "compute" not in path.parts:
            continue
        digest.update(path.relative_to(SOURCES).as_posix().encode() + path.read_bytes())
    return digest.hexdigest()[:16]


if "numba" in sys.modules:
    raise RuntimeError("numba was imported before tests/conftest.py could choose its cache folder.")
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:  # a background job: no process hears Ctrl-C
    signal.signal(signal.SIGINT, signal.default_int_handler)
if "PYTEST_XDIST_WORKER" in os.environ:  # threads of BLAS that wait for each other take most of the time
    _share = (os.cpu_count() or 1) // int(os.environ["PYTEST_XDIST_WORKER_COUNT"])
    os.environ.setdefault("OPENBLAS_NUM_THREADS", str(max(_share, 1)))
if os.environ.pop("PYTHONDONTWRITEBYTECODE", None):  # containers set it: each process would compile all files
    sys.dont_write_bytecode = False
os.environ["NUMBA_CACHE_DIR"] = str(ROOT / ".cache" / f"numba-{_digest()}")

import numpy as np  # noqa: E402  # the cache folder must be chosen first
import pytest  # noqa: E402
from hypothesis import HealthCheck, Phase, settings  # noqa: E402

settings.register_profile(
    "maxmargin",
    derandomize=True,
    deadline=None,
    database=None,
    max_examples=25,
    phases=[Phase.explicit, Phase.generate],  # a failing fit is slow: show it as it is, do not shrink it
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture],
)
settings.load_profile("maxmargin")
settings.register_profile("varied", settings.get_profile("maxmargin"), derandomize=False)


# -- circumstances that must not matter: `make soak` varies them ---------------------------------------------


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--vary", type=int, metavar="SEED", help="shuffle the tests and seed them with SEED")


def pytest_configure(config: pytest.Config) -> None:
    if config.getoption("--vary") is not None:
        settings.load_profile("varied")


def pytest_make_parametrize_id(val: object, argname: str) -> str | None:
    """Content of files is no name: compressed bytes can hold the time, and then two workers disagree."""
    return argname if isinstance(val, bytes) else None


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Another order: modules among each other, and tests inside their module (its fixtures are costly)."""
    for item in items:
        if re.search("0x[0-9a-f]{6}", item.nodeid):
            raise pytest.UsageError(f"{item.nodeid} has an address in its name: give it an id of its own.")
    seed = config.getoption("--vary")
    if seed is None:
        return
    draw = random.Random(seed)
    draw.shuffle(items)
    place = {module: draw.random() for module in sorted({item.nodeid.partition("::")[0] for item in items})}
    items.sort(key=lambda item: place[item.nodeid.partition("::")[0]])


@pytest.fixture(autouse=True)
def _seeded(request: pytest.FixtureRequest) -> None:
    """Estimators without random_state draw the same numbers in every run, alone or with other tests."""
    seed = request.config.getoption("--vary") or 0
    np.random.seed(zlib.crc32(request.node.nodeid.encode()) ^ seed)  # noqa: NPY002  # the global one is meant
