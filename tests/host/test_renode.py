"""How Renode is started and talked to, with a stand-in that reads the script and serves the model from the host."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from support import tiny
from tflmgen.board import load_board
from tflmgen.emulator.host import compile_host
from tflmgen.emulator.renode import RenodeError
from tflmgen.emulator.run import open_session

STAND_IN = """#!{python}
import pathlib, re, socket, subprocess, sys

assert sys.argv[1:4] == ["--disable-gui", "--console", "--plain"]
assert sys.stdin.read() == ""
script = pathlib.Path(sys.argv[4]).read_text()
(port,) = re.findall(r'CreateServerSocketTerminal (\\d+) "protocol" false', script)
for path in re.findall(r"(?:LoadELF|LoadPlatformDescription) @(.*)", script):
    assert pathlib.Path(path.replace("\\\\ ", " ")).is_file(), path
assert "connector Connect sysbus.uart0 protocol" in script
print("x" * 200000)
with socket.create_server(("127.0.0.1", int(port))) as server:
    connection, _ = server.accept()
    subprocess.run(["{program}"], stdin=connection, stdout=connection)
"""


def stand_in(folder: Path, text: str) -> str:
    path = folder / "renode"
    path.write_text(text)
    path.chmod(0o755)
    return str(path)


def test_session_over_a_socket(tmp_path: Path) -> None:
    board = load_board("mps2_an386")
    project = tiny.write_project(board, tmp_path / "a project")
    program = tmp_path / "server"
    compile_host(project, program)
    renode = stand_in(tmp_path, STAND_IN.format(python=sys.executable, program=program))
    firmware = project / "plan.json"
    with open_session(board, project, firmware, "auto", timeout=20, renode=renode) as session:
        assert (session.emulator, session.notes) == ("Renode", ())
        outputs = session.invoke(1, [tiny.VALUES, tiny.mode(0)]).outputs
    assert tiny.total(outputs[0]) == tiny.TOTAL


def test_renode_that_does_not_start(tmp_path: Path) -> None:
    board = load_board("mps2_an386")
    project = tiny.write_project(board, tmp_path / "project")
    renode = stand_in(tmp_path, "#!/bin/sh\necho no such machine\nexit 3\n")
    with (
        pytest.raises(RenodeError, match=r"no such machine \(exit code 3\)"),
        open_session(board, project, project / "plan.json", "renode", timeout=20, renode=renode),
    ):
        pass
