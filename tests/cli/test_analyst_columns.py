"""Columns as people write them, on files made here."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

pytest.importorskip("typer")


def test_dry_run_says_what_is_done_to_every_column(tmp_path: Path, ask: Any) -> None:
    rng = np.random.default_rng(0)
    n = 60
    rows = pd.DataFrame(
        {
            "id": np.arange(1, n + 1),
            "price": [f"${1000 + 10 * k:,.2f}" for k in range(n)],
            "share": [f"{7 * k % 50} %" for k in range(n)],
            "signed": pd.date_range("2020-01-01", periods=n, freq="17D").strftime("%d/%m/%Y"),
            "remark": [f"a remark with number {k} of many words" for k in range(n)],
            "home": rng.choice(["own", "rent"], n),
            "y": rng.choice(["a", "b"], n),
        }
    )
    rows.to_csv(tmp_path / "t.csv", index=False)
    found = ask("fit", "t.csv", "-t", "y", "--dry-run")
    use = {column["name"]: column["use"] for column in found["columns"]}
    assert use["id"] == "left out: an identifier: it counts the rows"
    assert use["price"] == "numbers with '.' before the decimals"
    assert use["share"] == "numbers with '.' before the decimals"
    assert use["signed"] == "dates (day/month/year), used as days, month, weekday"
    assert use["remark"] == "text, used as words weighted by TF-IDF"
    assert use["home"] == "category"
    assert [path.name for path in tmp_path.iterdir()] == ["t.csv"]
    (tmp_path / "t.svm.mm").write_bytes(b"a model of yesterday")  # in nobody's way: nothing is written
    assert ask("fit", "t.csv", "-t", "y", "--dry-run")["columns"] == found["columns"]


def test_a_file_without_a_header_is_noticed(tmp_path: Path, run: Any) -> None:
    rng = np.random.default_rng(0)
    lines = [f"{rng.choice(['ham', 'spam'])}\tmessage number {k} of them" for k in range(60)]
    (tmp_path / "sms.tsv").write_text("\n".join(["ham\thello you there", *lines]), encoding="utf-8")
    assert "give --no-header" in run("fit", "sms.tsv", "-t", "ham", "--dry-run").stderr
    done = run("fit", "sms.tsv", "-t", "column 1", "--no-header", "--dry-run")
    assert "--no-header" not in done.stderr
    assert "61 rows; 1 text" in done.stdout
