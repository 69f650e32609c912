"""Output files: nothing is overwritten silently, a file is whole or absent, cells cannot run as formulas."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

pytest.importorskip("typer")

from maxmargin.cli.outputs import default_path, without_formulas  # typer is installed
from tests.io.test_hostile_files import Parts

QUICK = ["--grid", "C=1", "--grid", "gamma=0.1", "--folds", "3"]


def table(folder: Path, n: int = 60) -> Path:
    rng = np.random.default_rng(0)
    x = rng.normal(size=(n, 2))
    y = np.where(x[:, 0] + 0.3 * rng.normal(size=n) > 0, "good", "bad")
    rows = pd.DataFrame(x, columns=["a", "b"]).assign(
        name=[f"={k}+1|cmd" for k in range(n)], delta=-x[:, 0], y=y
    )
    (folder / "data").mkdir()
    rows.to_csv(folder / "data" / "credit.csv", index=False)
    return folder / "data" / "credit.csv"


def test_names_are_beside_the_data() -> None:
    assert default_path(Path("x/a.b.csv.gz"), "svm", ".mm") == Path("x/a.b.svm.mm")
    assert default_path(Path("a.parquet"), "scorecard", ".html") == Path("a.scorecard.html")


def test_commands_do_not_replace_each_others_files(tmp_path: Path, run: Any, ask: Any) -> None:
    data = table(tmp_path)
    fitted = ask("fit", data, "-t", "y", *QUICK)
    assert Path(fitted["model"]) == data.with_name("credit.svm.mm")
    assert Path(fitted["report"]) == data.with_name("credit.svm.html")
    before = {path: path.read_bytes() for path in data.parent.iterdir()}
    card = ask("scorecard", data, "-t", "y")
    assert Path(card["model"]) == data.with_name("credit.scorecard.mm")
    for path, content in before.items():
        assert path.read_bytes() == content
    # the same command again keeps its files, and says how to replace them
    refused = run("fit", data, "-t", "y", *QUICK, code=2)
    assert "credit.svm.mm exists: --force overwrites it" in refused.stderr
    for path, content in before.items():
        assert path.read_bytes() == content
    again = ask("fit", data, "-t", "y", *QUICK, "--force")
    assert again["run"] != fitted["run"]
    assert Path(again["model"]).read_bytes() != before[Path(fitted["model"])]


def test_files_of_a_run_name_each_other(tmp_path: Path, ask: Any) -> None:
    found = ask("fit", table(tmp_path), "-t", "y", *QUICK)
    page = Path(found["report"]).read_text(encoding="utf-8")
    assert f"credit.svm.mm ({found['run']})" in page.replace("<wbr>", "")  # where a line may break
    notes = ask("info", found["model"])["about"]["notes"]
    assert notes["report"] == found["report"]
    assert notes["run"] == found["run"]


@pytest.mark.parametrize("words", [["-o", "m.mm", "--report", "m.mm"], ["-o", "."]])
def test_impossible_outputs_are_refused_before_the_work(tmp_path: Path, run: Any, words: list[str]) -> None:
    data = table(tmp_path)
    refused = run("fit", data, "-t", "y", *QUICK, *words, code=2)
    assert "same name" in refused.stderr or "is a folder" in refused.stderr
    assert [path.name for path in data.parent.iterdir()] == ["credit.csv"]


# -- formulas ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "words",
    [
        ["fit", "t.csv", "-t", "y", "-o", "t.csv"],
        ["fit", "t.csv", "-t", "y", "--report", "../{folder}/t.csv"],
        ["tune", "t.csv", "-t", "y", "-o", "t.csv"],
        ["select", "t.csv", "-t", "y", "-o", "t.csv"],
        ["compare", "t.csv", "-t", "y", "-o", "t.csv"],
        ["scorecard", "t.csv", "-t", "y", "--points", "t.csv"],
        ["predict", "m.mm", "t.csv", "-o", "t.csv"],
        ["predict", "m.mm", "t.csv", "-o", "m.mm"],
        ["evaluate", "m.mm", "t.csv", "--report", "m.mm"],
    ],
)
def test_what_a_command_reads_is_never_overwritten(tmp_path: Path, run: Any, words: list[str]) -> None:
    """``predict MODEL DATA --output DATA --force`` put the predictions in the place of the table."""
    for name in ("t.csv", "m.mm"):
        (tmp_path / name).write_text("a,y\n1,2\n", encoding="utf-8")
    said = run(*(word.format(folder=tmp_path.name) for word in words), "--force", code=2).stderr
    assert "is what this command reads" in said
    assert (tmp_path / "t.csv").read_text(encoding="utf-8") == "a,y\n1,2\n"
    assert (tmp_path / "m.mm").read_text(encoding="utf-8") == "a,y\n1,2\n"


def test_formulas_are_escaped_and_numbers_are_not() -> None:
    values = [
        "=1+1",
        "+cmd",
        "-3.5",
        "-3,5",
        "@SUM(A1)",
        "\tx",
        "-",
        "plain",
        "+34",
        "-1e-5",
        "\nx",
        "＝1",
        None,
    ]
    given = pd.DataFrame({"=head": values, "n": np.arange(13) - 5.0})
    safe = without_formulas(given)
    assert list(safe.columns) == ["'=head", "n"]
    expected = [
        "'=1+1",
        "'+cmd",
        "-3.5",
        "-3,5",
        "'@SUM(A1)",
        "'\tx",
        "'-",
        "plain",
        "+34",
        "-1e-5",
        "'\nx",
        "'＝1",
    ]
    assert safe["'=head"].tolist()[:-1] == expected
    assert safe["n"].tolist() == given["n"].tolist()
    assert given["=head"][0] == "=1+1"  # the table itself is not changed


def test_formulas_behind_a_semicolon_or_a_line_end_are_escaped() -> None:
    """Spreadsheets of many countries read "a;=1+1" as two cells, and quotes do not prevent it."""
    texts = ["a;=1+1", "a\n=1+1", "a\t@b", "a;b", "a;-5;x", "=a;=b", "a; -b", ""]
    safe = without_formulas(pd.DataFrame({"t": texts}))["t"].tolist()
    assert safe == ["a;'=1+1", "a\n'=1+1", "a\t'@b", "a;b", "a;-5;x", "'=a;'=b", "a; -b", ""]


def test_predictions_carry_no_formulas(tmp_path: Path, run: Any, ask: Any) -> None:
    data = table(tmp_path)
    model = ask("fit", data, "-t", "y", *QUICK, "--no-report")["model"]
    words = ["predict", model, data, "--keep", "name", "--keep", "delta", "--scores"]
    lines = run(*words).stdout.splitlines()
    assert lines[1].startswith("'=0+1|cmd,")
    deltas = pd.read_csv(data)["delta"]
    assert [float(line.split(",")[1]) for line in lines[1:]] == deltas.tolist()
    assert run(*words, "--raw-csv").stdout.splitlines()[1].startswith("=0+1|cmd,")


# -- full disks ----------------------------------------------------------------------------------------------

LIMITED = """
import resource, signal, sys
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
from maxmargin.cli import main
import maxmargin.cli.commands.fit_command, maxmargin.cli.commands.predict_command
size = int(sys.argv.pop(1))
sys.dont_write_bytecode = True
resource.setrlimit(resource.RLIMIT_FSIZE, (size, size))
main()
"""


@pytest.mark.skipif(os.name == "nt", reason="no limits on the size of files there")
def test_a_full_disk_leaves_the_old_files(tmp_path: Path, tmp_path_factory: Any, ask: Any) -> None:
    data = table(tmp_path)
    model = Path(ask("fit", data, "-t", "y", *QUICK)["model"])
    out = tmp_path / "out.csv"
    out.write_text("old\n")
    kept = {path: path.read_bytes() for path in [*data.parent.iterdir(), out]}
    cache = str(tmp_path_factory.mktemp("cache"))  # compiled code cannot be kept there either
    environment = {**os.environ, "NUMBA_CACHE_DIR": cache, "NUMBA_DISABLE_JIT": "0"}
    for words in (
        ["predict", model, data, "-o", out, "--force"],
        ["fit", data, "-t", "y", "--model", "fisher", "-o", model, "--report", model.with_suffix(".html"),
         "--force"],
    ):  # fmt: skip
        command = [sys.executable, "-c", LIMITED, "100", *map(str, words), "--json"]
        done = subprocess.run(
            command, capture_output=True, text=True, cwd=tmp_path, check=False, env=environment
        )
        assert done.returncode == 1, done.stderr
        assert "File too large" in json.loads(done.stdout)["error"]
        for path, content in kept.items():
            assert path.read_bytes() == content
    assert sorted(path.name for path in tmp_path.rglob("*") if path.is_file()) == sorted(
        path.name for path in kept
    )


WRITING = """
import sys, time
from maxmargin import cli
from maxmargin.base.whole_files import whole_file

def write():
    with whole_file(sys.argv[1]) as file:
        file.write("half")
        print("go", flush=True)
        time.sleep(60.0)

cli._run = write
cli.main()
"""


@pytest.mark.skipif(sys.platform == "win32", reason="no such signals there")
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_signals_leave_no_half_files(tmp_path: Path, number: int) -> None:
    """``docker stop`` and ``timeout`` send SIGTERM, which left the file that was being written."""
    path = tmp_path / "model.mm"
    path.write_text("old")
    command = [sys.executable, "-c", WRITING, str(path)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "go\n"
        process.send_signal(number)
        said = process.communicate(timeout=60)[1]
    assert process.returncode == 128 + number
    assert "Traceback" not in said
    assert [file.name for file in tmp_path.iterdir()] == ["model.mm"]
    assert path.read_text() == "old"


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no device that is always full")
@pytest.mark.parametrize(
    "words", [["info", "{model}", "--json"], ["info", "{model}"], ["info", "none.mm", "--json"]]
)
def test_a_full_standard_output_is_one_sentence(words: list[str]) -> None:
    """The answer in JSON ended in a traceback, which the second attempt to write it raised."""
    model = Path(__file__).parents[1] / "io" / "kept" / "linear.mm"
    command = [
        sys.executable,
        "-W",
        "ignore",
        "-m",
        "maxmargin",
        *(word.format(model=model) for word in words),
    ]
    with open("/dev/full", "w") as full:
        done = subprocess.run(command, stdout=full, stderr=subprocess.PIPE, text=True, check=False)
    said = [line for line in done.stderr.splitlines() if not line.startswith("[")]
    assert done.returncode in (1, 4)
    assert len([line for line in said if line.startswith("maxmargin: error:")]) == 1
    assert "Traceback" not in done.stderr
    assert "Exception ignored" not in done.stderr


@pytest.mark.parametrize(
    "change",
    [
        lambda notes: notes["schema"]["columns"].pop(),
        lambda notes: notes["schema"]["columns"].append(notes["schema"]["columns"][0]),
        lambda notes: notes["schema"]["columns"][0].update(name={}),
        lambda notes: notes["schema"]["columns"][0].update(form=[[]]),
        lambda notes: notes["schema"]["columns"][0].update(kind="date", parts=["\x1b[2J"]),
        lambda notes: notes["schema"].update(task="other"),
        lambda notes: notes["schema"].update(missing=[None]),
        lambda notes: notes["schema"].update(target=[]),
    ],
)
def test_a_description_of_other_columns_is_refused(change: Any, tmp_path: Path, run: Any, ask: Any) -> None:
    """`predict` ended in a bare KeyError or TypeError, or in a message of another library."""
    data = table(tmp_path)
    parts = Parts(Path(ask("fit", data, "-t", "y", *QUICK, "--no-report")["model"]))
    change(parts.header["about"]["notes"])
    (tmp_path / "other.mm").write_bytes(parts.content())
    done = run("predict", tmp_path / "other.mm", data, code=4)
    assert "column" in done.stderr
    assert done.stderr.isascii()
    assert done.stderr.replace("\n", "").isprintable()
