from __future__ import annotations

import os
import threading
from pathlib import Path

import pytest
from tflmgen.errors import UsageError
from tflmgen.user_files import OutputFileError, check_writable, write_whole


def test_a_link_stays_a_link(tmp_path: Path) -> None:
    (tmp_path / "there").mkdir()
    (tmp_path / "there" / "file").write_text("old")
    link = tmp_path / "link"
    link.symlink_to("there/file")
    check_writable(link)
    write_whole(link, b"new")
    assert link.is_symlink()
    assert (tmp_path / "there" / "file").read_text() == "new"
    assert [path.name for path in (tmp_path / "there").iterdir()] == ["file"]


def test_a_pipe_is_written_to(tmp_path: Path) -> None:
    """As /dev/null and /dev/stdout are: a file in their place would be a surprise to all others."""
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    got: list[bytes] = []
    reader = threading.Thread(target=lambda: got.append(pipe.read_bytes()))
    reader.start()
    check_writable(pipe)
    write_whole(pipe, b"new")
    reader.join(10)
    assert got == [b"new"]
    assert pipe.is_fifo()


def test_the_longest_name(tmp_path: Path) -> None:
    path = tmp_path / ("x" * 255)
    write_whole(path, b"new")
    assert path.read_bytes() == b"new"


def test_a_directory_in_the_place_of_a_file(tmp_path: Path) -> None:
    with pytest.raises(OutputFileError, match="cannot be written"):
        check_writable(tmp_path)
    with pytest.raises(OutputFileError, match="cannot be written"):
        write_whole(tmp_path, b"new")
    assert tmp_path.is_dir()
    assert not list(tmp_path.iterdir())


def test_a_file_that_is_read_is_not_written(tmp_path: Path) -> None:
    read = tmp_path / "read"
    read.write_text("old")
    (tmp_path / "link").symlink_to("read")
    check_writable(tmp_path / "new", read, None)
    for path in (read, tmp_path / "link", tmp_path / ".." / tmp_path.name / "read"):
        with pytest.raises(UsageError, match="it is read, and would be overwritten"):
            check_writable(path, None, read)
