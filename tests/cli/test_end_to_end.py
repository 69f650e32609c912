"""What a new user types, in processes of their own: a test for every thing that went wrong once."""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

pytest.importorskip("typer")

import maxmargin as mm
from tests.real_data import DATA

QUICK = ["--grid", "C=1,10", "--grid", "gamma=0.1", "--folds", "3", "--no-report"]


@pytest.fixture
def clients(tmp_path: Path) -> Path:
    """Identifiers, money, percent, dates, remarks and zeros that mean missing; 10 % of the rows are late."""
    rng = np.random.default_rng(4)
    n = 400
    share, days = rng.random(n), rng.integers(0, 2000, n)
    late = share + 0.1 * rng.normal(size=n) > np.quantile(share, 0.9)
    table = pd.DataFrame(
        {
            "client": 5000 + np.arange(n),
            "income": [f"${v:,.2f}" for v in rng.lognormal(10, 0.5, n)],
            "used": [f"{100 * v:.1f} %" for v in share],
            "opened": (pd.Timestamp("2015-01-01") + pd.to_timedelta(days, unit="D")).strftime("%d/%m/%Y"),
            "glucose": np.where(rng.random(n) < 0.08, 0.0, rng.normal(120, 15, n).round(1)),
            "remark": [" ".join(rng.choice(["late", "thanks", "call", "paid", "angry"], 5)) for _ in late],
            "late": np.where(late, "yes", "no"),
        }
    )
    table.to_csv(tmp_path / "clients.csv", index=False)
    return tmp_path / "clients.csv"


def test_columns_rare_classes_cautions_and_identifiers(clients: Path, process: Any) -> None:
    """Points 2, 3, 4 and 9: one table with all of it, its terminal, and its predictions."""
    done = process("fit", clients, "-t", "late", "--positive", "yes", *QUICK)
    said = " ".join((done.stdout + done.stderr).split())
    assert "left out client: an identifier" in said
    assert "opened: dates (day/month/year)" in said
    assert "class yes is rare" in said
    assert "chosen by the balanced error" in said
    assert "same total weight" in said
    assert re.search(r"baseline accuracy 0\.9\d* by always predicting 'no'", said)
    assert "zero may stand for a missing value: glucose" in said
    found = float(re.search(r"sensitivity +(0\.\d+|1) ", said)[1])  # type: ignore[index]  # else it fails
    assert found > 0.6
    lines = process("predict", "clients.svm.mm", clients).stdout.splitlines()
    assert lines[0] == "client,predicted late"
    assert lines[1].startswith("5000,")


def test_an_export_of_excel_in_its_own_encoding(tmp_path: Path, process: Any) -> None:
    """Point 4: the separator above the header, decimal commas, and euros, which latin-1 does not know."""
    rng = np.random.default_rng(5)
    rows = [
        f"{10**17 + 7 * k};{v:.2f} €;{'sí' if u else 'no'}".replace(".", ",")
        for k, (v, u) in enumerate(zip(rng.lognormal(7, 1, 60), rng.random(60) < 0.5, strict=True))
    ]
    path = tmp_path / "pólizas.csv"
    path.write_bytes("\r\n".join(["sep=;", "cuenta;prima;siniestro", *rows, *rows[:9]]).encode("cp1252"))
    words = ["fit", path, "-t", "siniestro", "--dry-run", "--language", "es"]
    assert "indique --encoding, por ejemplo cp1252 (Excel)" in process(*words, code=3).stderr
    said = process(*words, "--encoding", "cp1252").stdout
    assert re.search(r"cuenta +fuera: un identificador", said)
    assert re.search(r"prima +números con «,» ante los decimales", said)


def test_nothing_is_overwritten(clients: Path, process: Any) -> None:
    """Point 1."""
    words = ["-t", "late", "--drop", "remark"]
    process("fit", clients, *words, *QUICK)
    before = clients.with_name("clients.svm.mm").read_bytes()
    process("scorecard", clients, *words, "--positive", "yes")
    assert clients.with_name("clients.scorecard.mm").exists()
    assert clients.with_name("clients.svm.mm").read_bytes() == before
    refused = process("fit", clients, *words, *QUICK, code=2)
    assert refused.stderr.startswith("maxmargin: error: ")
    assert "exists: --force overwrites it" in refused.stderr
    assert clients.with_name("clients.svm.mm").read_bytes() == before


def test_the_time_comes_before_the_work(tmp_path: Path, process: Any) -> None:
    """Point 5: the estimate is printed, in words and in JSON."""
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.normal(size=(800, 3)), columns=list("abc"))
    X.assign(y=np.where(X["a"] * X["b"] > 0, "yes", "no")).to_csv(tmp_path / "t.csv", index=False)
    found = process("fit", "t.csv", "-t", "y", *QUICK).stdout
    assert re.search(r"time +about (a second|\d+ seconds) for 6 fits on up to 600 rows", found)
    assert found.index("time ") < found.index("tuning ")


def test_a_search_on_words_is_timed_however_few_rows_there_are(clients: Path, process: Any) -> None:
    """Every cell reads the words of every fold again: 300 rows took more than a minute without a word."""
    pd.read_csv(clients)[:200].to_csv(clients, index=False)
    found = process("tune", clients, "-t", "late", *QUICK[:-1]).stdout
    assert re.search(r"time +about \S+ (second|minute|hour)s? for 6 fits on up to 200 rows", found)


def test_coefficients_rankers_and_machines(clients: Path, process: Any) -> None:
    """Points 6 and 7."""
    words = [clients, "-t", "late", "--drop", "remark", "--folds", "3"]
    fitted = process("fit", *words, "--model", "logistic", "--grid", "C=1", "--no-report").stdout
    assert re.search(r"variable +estimate +std. error +z +p +odds ratio", fitted)
    assert "AIC" in fitted
    chosen = process("select", *words, "--method", "relief", "--keep", 1, "--json")
    assert json.loads(chosen.stdout)["selected"] == ["used"]
    tuned = process("tune", *words, "--model", "pegasos", "--json")
    assert "lam" in json.loads(tuned.stdout)["tuning"]["best"]


def test_the_terminal_and_the_report_speak_spanish(clients: Path, process: Any) -> None:
    """Point 8: words, decimal commas and the language of the page."""
    words = ["-t", "late", "--drop", "remark", *QUICK[:-1], "--language", "es"]
    said = process("fit", clients, *words).stdout
    assert re.search(r"exactitud +0,\d", said)
    assert "accuracy" not in said
    page = clients.with_name("clients.svm.html").read_text(encoding="utf-8")
    assert '<html lang="es"' in page
    assert re.search(r"\d,\d", page)
    assert "accuracy" not in re.sub(r"<[^>]*>", "", page)


def test_a_missing_extra_is_named(clients: Path, process: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Point 9: the report needs a package that is not there."""
    missing = clients.with_name("without") / "matplotlib.py"
    missing.parent.mkdir()
    missing.write_text("raise ImportError('No module named matplotlib')")
    monkeypatch.setenv("PYTHONPATH", str(missing.parent), prepend=os.pathsep)
    refused = process("fit", clients, "-t", "late", "--drop", "remark", *QUICK[:-1], code=1)
    assert "pip install 'maxmargin[plot]'" in refused.stderr
    assert clients.with_name("clients.svm.mm").exists()


@pytest.mark.skipif(os.name == "nt", reason="signals are sent another way there")
def test_ctrl_c_ends_with_one_sentence_and_keeps_old_files(clients: Path) -> None:
    """Nothing is lost where the command is interrupted while it works."""
    kept = clients.with_name("clients.svm.mm")
    kept.write_bytes(b"an older model")
    command = [sys.executable, "-m", "maxmargin", "fit", str(clients), "-t", "late", "--force"]
    working = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert working.stdout is not None
    while working.stdout.readline():  # the first result is on screen: the work is under way
        time.sleep(0.05)
        working.send_signal(signal.SIGINT)
        break
    _, said = working.communicate(timeout=600)
    assert working.returncode == 130
    assert "Traceback" not in said
    assert kept.read_bytes() == b"an older model" or mm.load(kept) is not None


def test_what_a_fit_does_not_need_is_not_loaded() -> None:
    """The first estimate waits for all imports; reports, scorecards and large machines come later."""
    code = "import sys, maxmargin.cli.commands.fit_command; print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    loaded = set(done.stdout.split())
    late = ["matplotlib", "dask", "jinja2", "sklearn.ensemble"]
    late += [f"maxmargin.{room}" for room in ("machines.large", "scorecards", "displays", "reports", "io")]
    assert loaded.isdisjoint(late), loaded & set(late)


# -- real tables, where there are any ------------------------------------------------------------------------


def real(name: str) -> Path:
    if not (DATA / name).exists():
        pytest.skip(f"needs {name} in the folder MAXMARGIN_DATA")
    return DATA / name


def test_german_credit(tmp_path: Path, process: Any) -> None:
    """Points 1 to 3 and 5: categories, a baseline, what is estimated, and files beside the data."""
    table = shutil.copy(real("german_credit.csv"), tmp_path)
    said = " ".join(process("fit", table, "-t", "class", *QUICK).stdout.split())
    assert "13 categories, 7 numbers" in said
    assert re.search(r"baseline +accuracy 0\.7 by always predicting '1'", said)
    assert re.search(r"time +about", said)
    assert (tmp_path / "german_credit.svm.mm").exists()


def test_messages_are_classified_by_their_words(tmp_path: Path, process: Any) -> None:
    """Point 4, on a file without a header."""
    table = shutil.copy(real("sms_spam.tsv"), tmp_path)
    words = ["--no-header", "-t", "column 1", "--grid", "C=1", "--folds", "3", "--no-report", "--json"]
    found = json.loads(process("fit", table, *words).stdout)
    assert found["baseline"]["class"] == "ham"
    ((right, wrong), (missed, spam)) = found["confusion"]["counts"]
    assert (right + spam) / (right + wrong + missed + spam) > 0.97 > found["baseline"]["accuracy"]
    assert [caution["kind"] for caution in found["cautions"]] == ["repeated"]
