"""The same answers in every installation: without compilation, with warnings as errors, with a generic
processor, with sources and home that cannot be written to, with many processes that start at once.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from tests.compute.main_paths import PATHS

ROOT = Path(__file__).resolve().parents[2]
SCRIPT = Path(__file__).with_name("main_paths.py")
SOURCES = ROOT / "src" / "maxmargin"


def start(out: Path, *names: str, options: tuple[str, ...] = (), **settings: str | None) -> subprocess.Popen:
    """A process that writes the answers of some paths to ``out``; a setting of None is removed."""
    changed = {"PYTHONPATH": str(SOURCES.parent)} | settings
    environment = {name: value for name, value in (os.environ | changed).items() if value is not None}
    return subprocess.Popen(
        [sys.executable, *options, str(SCRIPT), str(out), *names],
        env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
    )  # fmt: skip


def finish(process: subprocess.Popen) -> str:
    said, _ = process.communicate(timeout=900)
    assert process.returncode == 0, said
    return said


def compare(out: Path, *names: str, atol: float = 1e-9) -> None:
    """The answers in ``out`` are those of this process."""
    with np.load(out) as found:
        for name in names:
            for key, expected in PATHS[name]().items():
                # float32 kernel values keep seven digits
                tolerance = 1e-6 if key == "float32" else atol
                answer = found[f"{name}.{key}"]
                np.testing.assert_allclose(
                    answer.astype(np.float64), np.asarray(expected, np.float64), rtol=0, atol=tolerance,
                    err_msg=f"{name}.{key}",
                )  # fmt: skip


def test_without_compilation(tmp_path: Path) -> None:
    """NUMBA_DISABLE_JIT=1: every main path, as plain Python."""
    out = tmp_path / "answers.npz"
    assert finish(start(out, *PATHS, options=("-W", "error"), NUMBA_DISABLE_JIT="1")) == ""
    compare(out, *PATHS)


def test_optimised_python(tmp_path: Path) -> None:
    """python -O removes assertions."""
    names = ("svc", "linear", "tuning", "ridge")
    out = tmp_path / "answers.npz"
    finish(start(out, *names, options=("-O",)))
    compare(out, *names)


def test_warnings_as_errors(tmp_path: Path) -> None:
    out = tmp_path / "answers.npz"
    assert finish(start(out, *PATHS, options=("-W", "error"))) == ""
    compare(out, *PATHS)


def test_generic_processor(tmp_path: Path) -> None:
    """Without vector instructions beyond those of every processor: narrower tiles, the same values."""
    out = tmp_path / "answers.npz"
    finish(start(out, "narrow_kernel", NUMBA_CPU_NAME="generic"))
    compare(out, "narrow_kernel", atol=1e-6)


# -- where compiled code is kept ------------------------------------------------------------------------


@pytest.fixture
def read_only(tmp_path: Path) -> dict[str, str | None]:
    """Settings of an installation whose folders, home included, cannot be written to.

    Even the superuser cannot make a folder where a file stands.
    """
    copy = tmp_path / "site" / "maxmargin"
    shutil.copytree(SOURCES, copy, ignore=shutil.ignore_patterns("__pycache__"))
    for folder in [copy, *(path for path in copy.rglob("*") if path.is_dir())]:
        (folder / "__pycache__").touch()
    nowhere = tmp_path / "file"
    nowhere.touch()
    return {
        "PYTHONPATH": str(copy.parent),
        "HOME": str(nowhere / "home"),
        "XDG_CACHE_HOME": str(nowhere / "cache"),
        "LOCALAPPDATA": str(nowhere / "data"),
        "NUMBA_CACHE_DIR": None,
    }


def test_compiled_code_goes_to_the_temporary_folder(tmp_path: Path, read_only: dict[str, str | None]) -> None:
    temporary = tmp_path / "temporary"
    temporary.mkdir()
    out = tmp_path / "answers.npz"
    for _ in range(2):
        said = finish(start(out, "kernel_perceptron", TMPDIR=str(temporary), **read_only))
        (folder,) = temporary.iterdir()
        assert said.count("\n") == 1
        assert f"so it is kept in {folder}" in said
        assert "Set NUMBA_CACHE_DIR" in said
        compare(out, "kernel_perceptron")
    assert folder.stat().st_mode & 0o77 == 0
    assert len(list(folder.rglob("*perceptron_block*.nbc"))) == 1  # the second process found the code


def test_without_any_folder_every_process_compiles(tmp_path: Path, read_only: dict[str, str | None]) -> None:
    out = tmp_path / "answers.npz"
    nowhere = tmp_path / "file" / "temporary"
    (tmp_path / "site" / "sitecustomize.py").write_text(
        f"import tempfile\ntempfile.tempdir = {str(nowhere)!r}\n"
    )
    said = finish(start(out, "kernel_perceptron", **read_only))
    assert said.count("\n") == 1
    assert "so every process compiles again" in said
    compare(out, "kernel_perceptron")


TWICE = """
import sys
if sys.argv[1:]:
    import resource, signal
    sys.dont_write_bytecode = True  # Python would leave half of a file
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (2000, 2000))
from maxmargin.compute.jit import jit

@jit
def twice(x):
    return x + x

print(twice(3), twice(0.25))
"""


def run_twice(folder: Path, *arguments: str) -> str:
    """What the script says on standard error, with its answers right."""
    script = folder / "twice.py"
    if not script.exists():
        script.write_text(TWICE)
    settings = {"NUMBA_CACHE_DIR": str(folder / "kept"), "PYTHONPATH": str(SOURCES.parent)}
    command = [sys.executable, "-W", "error", str(script), *arguments]
    done = subprocess.run(command, env=os.environ | settings, capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["6", "0.5"]
    return done.stderr


@pytest.mark.skipif(os.name == "nt", reason="no limits on the size of files there")
def test_a_full_disk_does_not_stop_a_fit(tmp_path: Path) -> None:
    said = run_twice(tmp_path, "full")
    assert said.count("\n") == 1
    assert "File too large" in said
    assert "Free some space" in said
    assert [run_twice(tmp_path), len(list(tmp_path.rglob("twice.*.nbc")))] == ["", 2]  # there is space again


def test_damaged_compiled_code_is_compiled_again(tmp_path: Path) -> None:
    assert run_twice(tmp_path) == ""
    for kind in ("nbc", "nbi"):
        for path in tmp_path.rglob(f"twice.*.{kind}"):
            path.write_bytes(path.read_bytes()[:-20])
        assert "is of no use (damaged" in run_twice(tmp_path)
        assert run_twice(tmp_path) == ""


def test_compiled_code_of_other_types_is_not_run(tmp_path: Path) -> None:
    """As where two processes save at the same moment: the file of one signature holds the code of another."""
    run_twice(tmp_path)
    one, other = tmp_path.rglob("twice.*.nbc")
    content = one.read_bytes()
    one.write_bytes(other.read_bytes())
    other.write_bytes(content)
    assert run_twice(tmp_path) == ""
    assert one.read_bytes() == content


def test_four_processes_with_an_empty_cache(tmp_path: Path) -> None:
    outs = [tmp_path / f"{k}.npz" for k in range(4)]
    cache = str(tmp_path / "cache")
    for process in [start(out, "kernel_perceptron", NUMBA_CACHE_DIR=cache) for out in outs]:
        finish(process)
    for out in outs:
        compare(out, "kernel_perceptron")
    finish(start(tmp_path / "later.npz", "kernel_perceptron", NUMBA_CACHE_DIR=cache))
    compare(tmp_path / "later.npz", "kernel_perceptron")
