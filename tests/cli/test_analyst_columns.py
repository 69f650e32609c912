"""Columns as people write them, on files made here."""

from __future__ import annotations

import re
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


def test_identifiers_that_count_nothing_and_codes(tmp_path: Path, run: Any, ask: Any) -> None:
    rng = np.random.default_rng(0)
    n, x = 300, np.random.default_rng(1).normal(size=300)
    rows = pd.DataFrame(
        {
            "x": x,
            "zip": [f"{v:05d}" for v in rng.choice(np.r_[1000:1020, 90000:90020], n)],
            "ticket": rng.choice(3000, n, replace=False),
            "amount": rng.choice(10**7, n, replace=False),
            "account": rng.choice(90_000, n, replace=False) * 1000 + 10_000_000,
            "y": np.where(x + 0.5 * rng.normal(size=n) > 0, "yes", "no"),
        }
    )
    rows.to_csv(tmp_path / "t.csv", index=False)
    one = ["--grid", "C=1", "--folds", "3", "--no-report"]
    done = run("fit", "t.csv", "-t", "y", *one)
    assert "left out ticket: an identifier: every row has its own number; --columns" in done.stderr
    assert "zip: codes with leading zeros, read as text" in done.stderr
    assert "may be identifiers" in done.stdout
    kept = ask("fit", "t.csv", "-t", "y", "--columns", "ticket=number", *one, "--force")
    assert kept["data"]["numbers"] == ["x", "ticket", "amount", "account"]
    assert kept["data"]["categories"] == ["zip"]
    named = [caution for caution in kept["cautions"] if "identifiers" in str(caution)]
    assert "account" in str(named)
    assert "amount" not in str(named)
    predicted = run("predict", kept["model"], "t.csv")
    assert len(predicted.stdout.splitlines()) == n + 1
    assert "no training row" not in predicted.stderr


@pytest.mark.parametrize(
    ("language", "words", "programmers"),
    [
        ("en", "tell classes apart without error", ("coef_", "max_iter")),
        ("es", "distinguen las clases sin error", ("coef_", "max_iter", "separation", "finite")),
    ],
)
def test_separation_in_the_words_of_the_analyst(
    tmp_path: Path, run: Any, language: str, words: str, programmers: tuple[str, ...]
) -> None:
    x = np.linspace(-3, 3, 60)
    table = pd.DataFrame({"x": x, "z": np.cos(9 * x), "y": np.where(x > 0, "yes", "no")})
    table.to_csv(tmp_path / "t.csv", index=False)
    done = run(
        "fit",
        "t.csv",
        "-t",
        "y",
        "--model",
        "logistic",
        "--grid",
        "C=inf",
        "--folds",
        "3",
        "--language",
        language,
    )
    page = (tmp_path / "t.logistic.html").read_text(encoding="utf-8")
    text = re.sub(r"<(style|script).*?</\1>|<[^>]*>", " ", page, flags=re.DOTALL)
    told = " ".join((done.stdout + done.stderr).split())
    assert words in told
    assert words in " ".join(text.split())
    assert not [word for word in programmers if word in told]


@pytest.mark.parametrize(
    ("language", "words"),
    [("en", "combinations stopped before"), ("es", "combinaciones se detuvieron antes")],
)
def test_machines_that_do_not_converge_say_so_once(
    tmp_path: Path, run: Any, language: str, words: str
) -> None:
    rng = np.random.default_rng(0)
    table = pd.DataFrame(rng.normal(size=(80, 2)), columns=["x", "z"])
    table["y"] = np.where(table["x"] + rng.normal(size=80) > 0, "yes", "no")
    table.to_csv(tmp_path / "t.csv", index=False)
    for model in ("perceptron", "kernel-perceptron"):
        done = run("tune", "t.csv", "-t", "y", "--model", model, "--folds", "3", "--language", language)
        told = " ".join(done.stderr.split())
        assert told.count(words) == 1, told
        assert "max_iter" not in told + done.stdout
        assert "gave up" not in told


@pytest.mark.parametrize(
    ("language", "words"),
    [
        ("en", "note Left out, because the information value is below 0.02 (--min-iv): noise"),
        ("es", "nota Fuera, porque el valor de información es menor que 0,02 (--min-iv): noise"),
    ],
)
def test_scorecards_say_what_they_leave_out(tmp_path: Path, run: Any, language: str, words: str) -> None:
    rng = np.random.default_rng(0)
    x = rng.normal(size=400)
    table = pd.DataFrame({"x": x, "noise": rng.choice(["a", "b"], 400)})
    table["y"] = np.where(x + rng.normal(size=400) > 0, "yes", "no")
    table.to_csv(tmp_path / "t.csv", index=False)
    done = run("scorecard", "t.csv", "-t", "y", "--language", language, "--report", "t.html")
    assert words in " ".join(done.stderr.split())
    if language == "es":
        page = (tmp_path / "t.html").read_text(encoding="utf-8")
        for told in (
            done.stdout,
            re.sub(r"<pre.*?</pre>|<(style|script).*?</\1>", "", page, flags=re.DOTALL),
        ):
            assert re.search(r"\(-?\d+,\d+; -?\d+,\d+\]", told)  # the bounds of a bin
            assert not re.search(r"\(-?\d+\.\d+, ", told)
        assert "correcto" in done.stdout
        assert "right" not in done.stdout


@pytest.mark.parametrize(
    ("command", "why"), [("select", "no columns to select from"), ("scorecard", "no bins")]
)
def test_text_is_left_out_where_nothing_takes_it(command: str, why: str, rare: Path, run: Any) -> None:
    """It was announced as words with weights."""
    table, words = pd.read_csv(rare), np.array(["late", "thanks", "call", "paid", "angry", "soon"])
    rng = np.random.default_rng(0)
    table["remark"] = [" ".join(rng.choice(words, 6)) for _ in range(len(table))]
    table.to_csv(rare, index=False)
    arguments = [command, rare, "-t", "policy", *(["--method", "fisher"] if command == "select" else [])]
    said = run(*arguments).stderr
    assert f"left out remark: text has {why}." in said
    assert "used as words" not in said
    assert "one bin: remark" not in said
    assert f"left out: text has {why}" in run(*arguments, "--dry-run").stdout
    table[["remark", "policy"]].to_csv(rare, index=False)
    refused = run(*arguments, "--force", "--language", "es", code=3).stderr
    assert "no queda ninguna columna de la que aprender: remark (e" in refused


def test_kernel_ridge_for_many_rows_has_a_report(tmp_path: Path, run: Any) -> None:
    rng = np.random.default_rng(0)
    table = pd.DataFrame(rng.normal(size=(80, 2)), columns=["x", "z"])
    table.assign(y=np.sin(table["x"])).to_csv(tmp_path / "t.csv", index=False)
    options = ["--model", "large-kernel-ridge", "--grid", "alpha=0.1", "--folds", "3"]
    run("fit", "t.csv", "-t", "y", *options)
    assert (tmp_path / "t.large-kernel-ridge.html").stat().st_size > 10_000
