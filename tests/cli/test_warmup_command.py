"""``maxmargin warmup`` compiles ahead and says how long it took."""

from __future__ import annotations

import json

import pytest

pytest.importorskip("typer")

from typer.testing import CliRunner

from maxmargin.cli.app import app


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


@pytest.mark.usefixtures("interrupted_search")
def test_ctrl_c_in_a_search_ends_the_warmup() -> None:
    """The search returns its finished cells; the entries after it are not compiled."""
    done = CliRunner().invoke(app, ["warmup", "--only", "tuning", "--only", "linear_svc"])
    assert done.exit_code == 130
    assert done.stderr.rstrip().endswith("error: interrupted")
