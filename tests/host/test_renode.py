"""How Renode is started and talked to, with a stand-in that reads the script and serves the model from the host."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest
from support import tiny
from support.tools import requires_compiler
from tflmgen.board import list_boards, load_board
from tflmgen.elf import read_elf
from tflmgen.emulator.host import compile_host
from tflmgen.emulator.renode import RenodeError
from tflmgen.emulator.renode_count import DWT_NOTE, HOOK_NOTE, counts_by_dwt
from tflmgen.emulator.run import open_session
from tflmgen.platformio import build

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


COUNTING_STAND_IN = STAND_IN.replace(
    'print("x" * 200000)',
    r"""hooks = re.findall(r'sysbus\.cpu AddHook 0x([0-9a-f]+) "f = open\(\'(.*?)\', \'a\'\); (.*)"', script)
assert script.index("LoadELF") < script.index("AddHook") < script.index("\nstart"), script
assert [int(address, 16) for address, *_ in hooks] == [{start}, {end}]
assert len(set(path for _, path, _ in hooks)) == 1
for executed in (100, 350, 1000, 1600):
    with open(hooks[0][1], "a") as file:
        core = type("Core", (), dict(ExecutedInstructions=executed))
        exec(hooks[0][2].replace("f.close()", ""), dict(f=file, self=core))
""",
)


@requires_compiler
def test_instructions_by_executed_instructions(tmp_path: Path) -> None:
    board = load_board("mps2_an385_m0")
    project = tiny.write_project(board, tmp_path / "project")
    elf = build(project, board.id).elf
    compile_host(project, tmp_path / "server")
    symbols = read_elf(elf).symbols
    places = {"start": symbols["tflmgen_count_from"] & ~1, "end": symbols["tflmgen_count_to"] & ~1}
    renode = stand_in(tmp_path, COUNTING_STAND_IN.format(python=sys.executable, program=tmp_path / "server", **places))
    with open_session(board, project, elf, "renode", timeout=20, renode=renode, count={"steps": []}) as session:
        assert session.notes == (HOOK_NOTE,)
        counts = [session.invoke(0, [bytes(16)]).instructions for _ in range(2)]
    assert counts == [250, 600]


def test_instructions_by_the_dwt(tmp_path: Path) -> None:
    board = load_board("mps2_an386")
    project = tiny.write_project(board, tmp_path / "project")
    compile_host(project, tmp_path / "server")
    renode = stand_in(tmp_path, STAND_IN.format(python=sys.executable, program=tmp_path / "server"))
    plan: dict[str, Any] = {"steps": []}
    with open_session(board, project, project / "plan.json", "renode", 20, renode=renode, count=plan) as session:
        assert session.notes == (DWT_NOTE,)
        invocation = session.invoke(0, [bytes(16)])
    assert (invocation.instructions, invocation.operators) == (invocation.cycles, None)


def test_which_boards_count_by_the_dwt() -> None:
    by_dwt = {board.id for board in list_boards() if counts_by_dwt(board)}
    assert by_dwt == {"mps2_an385", "mps2_an386", "mps2_an500", "mps3_an547", "nucleo_l4r5zi"}
