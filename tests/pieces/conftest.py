"""The marker of tests that start worker processes."""

from __future__ import annotations

import pytest


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "cluster: starts a local Dask cluster of two worker processes (slow)")
