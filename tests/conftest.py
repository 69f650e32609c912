"""Settings that must hold before anything of the package is imported."""

from __future__ import annotations

import hashlib
import os
import sys
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
os.environ["NUMBA_CACHE_DIR"] = str(ROOT / ".cache" / f"numba-{_digest()}")

from hypothesis import HealthCheck, Phase, settings  # noqa: E402  # the cache folder must be chosen first

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
