"""``maxmargin warmup`` compiles ahead and says how long it took."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest

pytest.importorskip("typer")

from typer.testing import CliRunner

from maxmargin.cli.app import app
from maxmargin.tuning.search import GridRun


def test_what_is_compiled_already_takes_no_time() -> None:
    first = CliRunner().invoke(app, ["warmup", "--only", "linear_svc", "--json"])
    assert first.exit_code == 0, first.stderr
    assert list(json.loads(first.stdout)["compiled"]) == ["linear_svc"]
    again = CliRunner().invoke(app, ["warmup", "--only", "linear_svc"])
    assert again.exit_code == 0
    assert "nothing to do" in again.stdout


@pytest.mark.parametrize("entry", ["selection", "large"])
def test_parts_that_the_other_commands_use(entry: str) -> None:
    done = CliRunner().invoke(app, ["warmup", "--only", entry, "--json"])
    assert done.exit_code == 0, done.stderr


def test_an_unknown_name_is_refused_with_the_choices() -> None:
    refused = CliRunner().invoke(app, ["warmup", "--only", "trees"])
    assert refused.exit_code != 0
    assert "choose from svc, tuning" in " ".join((refused.stdout + refused.stderr).split())


def test_ctrl_c_in_a_search_ends_the_warmup(monkeypatch: pytest.MonkeyPatch) -> None:
    """The search returns its finished cells; the entries after it are not compiled."""
    plain = GridRun._take

    def interrupted_after_a_cell(self: GridRun, batch: Any) -> None:
        plain(self, batch)
        if not np.isnan(self.errors).any(axis=1).all():
            raise KeyboardInterrupt

    monkeypatch.setattr(GridRun, "_take", interrupted_after_a_cell)
    done = CliRunner().invoke(app, ["warmup", "--only", "tuning", "--only", "linear_svc"])
    assert done.exit_code == 130
    assert done.stderr.rstrip().endswith("error: interrupted")
