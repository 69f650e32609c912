"""Files that are written whole, or not at all."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from maxmargin.base.whole_files import check_writable, whole_file


def files(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def test_a_new_file_is_there_after_the_block_only(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    with whole_file(path) as file:
        file.write("x,y\n1,ñ\n")
        assert not path.exists()
    assert path.read_bytes() == "x,y\n1,ñ\n".encode()
    assert files(tmp_path) == ["a.csv"]


@pytest.mark.parametrize("wrong", [ValueError, KeyboardInterrupt])
def test_an_error_keeps_the_old_file(tmp_path: Path, wrong: type[BaseException]) -> None:
    path = tmp_path / "a.bin"
    path.write_bytes(b"old")

    def interrupted() -> None:
        with whole_file(path, "wb") as file:
            file.write(b"new")
            raise wrong

    with pytest.raises(wrong):
        interrupted()
    assert path.read_bytes() == b"old"
    assert files(tmp_path) == ["a.bin"]


def test_overwriting_can_be_refused(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    path.write_text("old")
    with pytest.raises(FileExistsError, match="exists and is kept"), whole_file(path, overwrite=False):
        pass

    def too_late() -> None:
        with whole_file(tmp_path / "b.txt", overwrite=False) as file:
            file.write("mine")
            (tmp_path / "b.txt").write_text("theirs")  # another process was faster

    with pytest.raises(FileExistsError, match="exists and is kept"):
        too_late()
    assert path.read_text() == "old"
    assert (tmp_path / "b.txt").read_text() == "theirs"
    assert files(tmp_path) == ["a.txt", "b.txt"]


def test_places_that_cannot_be_written(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match="create it before writing"):
        check_writable(tmp_path / "no" / "a.txt")
    with pytest.raises(IsADirectoryError, match="give the name of a file"):
        check_writable(tmp_path)


@pytest.mark.skipif(os.name == "nt", reason="permissions and links work differently there")
def test_links_permissions_and_special_files(tmp_path: Path) -> None:
    path, link = tmp_path / "a.txt", tmp_path / "link.txt"
    path.write_text("old")
    path.chmod(0o640)
    link.symlink_to(path)
    with whole_file(link) as file:
        file.write("new")
    assert link.is_symlink()
    assert path.read_text() == "new"
    assert path.stat().st_mode & 0o777 == 0o640
    with whole_file("/dev/null") as file:
        file.write("gone")
    assert not Path("/dev/null").is_file()


def test_long_names_are_written(tmp_path: Path) -> None:
    """Names have at most 255 bytes on most systems, and the name of the file in the making is longer."""
    for name in ("x" * 250, "年" * 84):
        with whole_file(tmp_path / name) as file:
            file.write("whole")
        assert (tmp_path / name).read_text() == "whole"


LIMITED = """
import resource, signal, sys
from maxmargin.base.whole_files import whole_file
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (4096, 4096))
try:
    with whole_file(sys.argv[1]) as file:
        file.write("x" * 100_000)
except OSError as full:
    print(full)
"""


@pytest.mark.skipif(sys.platform == "win32", reason="no limits on the size of files there")
def test_a_full_disk_keeps_the_old_file(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    path.write_text("old")
    done = subprocess.run([sys.executable, "-c", LIMITED, path], capture_output=True, text=True, check=True)
    assert f"File too large: '{path}'" in done.stdout
    assert path.read_text() == "old"
    assert files(tmp_path) == ["a.txt"]
