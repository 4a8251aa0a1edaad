from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from tflmgen.user_cache import cache_folder, write_cached


def test_it_is_where_the_user_wants_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    write_cached(cache_folder("some") / "result", "12")
    assert (tmp_path / "cache" / "tflmgen" / "some" / "result").read_text() == "12"


@pytest.mark.parametrize("home", ["a file", None], ids=["home that cannot be written", "no home"])
def test_without_a_home_it_lasts_as_long_as_the_process(tmp_path: Path, home: str | None) -> None:
    """As in a container that runs as any user: compilers and emulators still need a place to write to."""
    (tmp_path / "a file").write_text("")
    (tmp_path / "temporary").mkdir()
    program = """
import os, pathlib, sys
from tflmgen.user_cache import cache_folder, write_cached
if sys.argv[1] == "None":
    def nowhere(): raise RuntimeError("Could not determine home directory.")
    pathlib.Path.home = nowhere
write_cached(cache_folder("some") / "result", "12")
print(cache_folder("some"), (cache_folder("some") / "result").read_text(), sep="\\n")
"""
    variables = {"HOME": str(tmp_path / str(home)), "TMPDIR": str(tmp_path / "temporary")}
    command = [sys.executable, "-c", program, str(home)]
    finished = subprocess.run(command, env=variables, capture_output=True, text=True, check=True)
    folder, result = finished.stdout.splitlines()
    assert (Path(folder).parent.parent, result) == (tmp_path / "temporary", "12")
    assert list((tmp_path / "temporary").iterdir()) == []
