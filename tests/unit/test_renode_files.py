"""What projects and boards have for Renode, checked without it."""

from __future__ import annotations

import configparser
import re
from pathlib import Path

import pytest
from support import tiny
from tflmgen.hardware.board import Board, list_boards, load_board

robot_api = pytest.importorskip("robot.api", reason="Robot Framework is not installed")
robot_parsing = pytest.importorskip("robot.api.parsing")

BOARDS = [board for board in list_boards() if board.renode]
OWN = [board for board in BOARDS if board.renode and not board.renode.platform.startswith("@")]

RENODE_KEYWORDS = {"execute command", "start emulation"}
ROBOT_KEYWORDS = {"log", "skip if"}

SYSTEM = {0xE000E000: "IRQControllers.NVIC", 0xE0001000: "Miscellaneous.DWT"}
"""Where the core's own peripherals lie: Armv7-M Architecture Reference Manual, section B3.1."""


def normal(keyword: str) -> str:
    return keyword.lower().replace("_", " ")


@pytest.fixture(params=BOARDS, ids=lambda board: board.id)
def board(request: pytest.FixtureRequest) -> Board:
    board: Board = request.param
    return board


@pytest.fixture
def project(board: Board, tmp_path: Path) -> Path:
    return tiny.write_project(board, tmp_path / "project")


def keyword_calls(node: object) -> list[tuple[str, tuple[str, ...]]]:
    """Those of a test or keyword, in TRY and EXCEPT too."""
    return [(step.keyword, step.args) for step in walk(node) if isinstance(step, robot_parsing.KeywordCall)]


def test_suite_uses_known_keywords_only(project: Path) -> None:
    model = robot_api.get_model(str(suite_of(project)))
    assert [error for node in walk(model) for error in getattr(node, "errors", ())] == []
    sections = {type(section).__name__: section for section in model.sections}
    tests, keywords = sections["TestCaseSection"].body, sections["KeywordSection"].body
    own = {normal(keyword.name) for keyword in keywords}
    calls = [call for part in (*tests, *keywords) for call in keyword_calls(part)]
    assert len(tests) == 3
    assert {normal(name) for name, _ in calls} <= own | library_keywords(project) | RENODE_KEYWORDS | ROBOT_KEYWORDS
    # Robot Framework would take an argument with an unescaped = for a named one.
    assert not [word for _, words in calls for word in words if re.match(r"\w+=", word)]


def suite_of(project: Path) -> Path:
    (suite,) = (project / "renode").glob("*.robot")
    return suite


def walk(node: object) -> list[object]:
    nodes = [node]
    for child in (*getattr(node, "sections", ()), *getattr(node, "body", ()), getattr(node, "next", None)):
        nodes += walk(child) if child is not None else []
    return nodes


def library_keywords(project: Path) -> set[str]:
    text = (project / "renode" / "firmware.py").read_text()
    listed = re.search(r"__all__ = \((.*?)\)", text, re.DOTALL)
    assert listed
    names = set(re.findall(r'"(\w+)"', listed[1]))
    assert names <= set(re.findall(r"^def (\w+)", text, re.MULTILINE))
    return {normal(name) for name in names}


def test_suite_and_script_give_the_same_commands(board: Board, project: Path) -> None:
    model = robot_api.get_model(str(suite_of(project)))
    keywords = next(section for section in model.sections if type(section).__name__ == "KeywordSection")
    calls = keyword_calls(keywords.body[0])
    commands = [words[0] for name, words in calls if name == "Execute Command"]
    script = (project / "renode" / "board.resc").read_text().splitlines()
    lines = [line for line in script if not line.startswith(("#", "$"))]
    assert [c.split(maxsplit=2)[:2] for c in commands] == [x.split(maxsplit=2)[:2] for x in lines[:-1]]
    assert lines[-1] == "start"
    assert board.renode
    assert f"connector Connect {board.renode.uart} protocol" in lines
    assert f"connector Connect {board.renode.uart} protocol" in commands


def test_files_that_are_named_are_there(board: Board, project: Path) -> None:
    names = {path.name for path in (project / "renode").iterdir()}
    text = "".join(path.read_text() for path in (project / "renode").iterdir() if path.suffix in (".robot", ".resc"))
    assert {"board.resc", "firmware.py", "link.py", "test.resc", f"tiny-{board.id}.robot"} <= names
    assert set(re.findall(r"(?:\$\{CURDIR\}|\$ORIGIN)/(\w[\w.]*)", text)) <= names
    assert f"/../.pio/build/{board.id}/firmware.elf" in text


@pytest.mark.parametrize("board", OWN, ids=lambda board: board.id)
def test_platform_agrees_with_the_board(board: Board) -> None:
    assert board.renode
    assert board.folder
    assert board.uart
    text = (board.folder / board.renode.platform).read_text()
    parts = re.split(r"^(?=\w+: )", text, flags=re.MULTILINE)
    devices_in_file = [m for part in parts if (m := DEVICE.match(part))]
    devices = {m[1]: (m[2], int(m[3], 16)) for m in devices_in_file}
    sizes = {m[1]: int(size[1], 16) for m in devices_in_file if (size := SIZE.search(m.string))}
    memories = {n.upper(): (a, sizes[n]) for n, (kind, a) in devices.items() if kind == "Memory.MappedMemory"}
    assert memories == {memory.name: (memory.origin, memory.size) for memory in board.memories}
    rest = {name: (kind, a) for name, (kind, a) in devices.items() if kind != "Memory.MappedMemory"}
    uart = rest.pop(board.renode.uart.removeprefix("sysbus."))
    assert uart[0].startswith("UART.")
    assert uart[1] == board.uart.base
    assert {address: kind for kind, address in rest.values()}.items() <= SYSTEM.items()
    assert f'cpuType: "{board.core}"' in text


DEVICE = re.compile(r"(\w+): ([\w.]+) @ sysbus (0x[0-9A-Fa-f]+)$", re.MULTILINE)
SIZE = re.compile(r"size: (0x[0-9A-Fa-f]+)")


STOCK: dict[str, tuple[str, dict[str, int], dict[int, int]]] = {
    "@platforms/boards/stm32f4_discovery-kit.repl": (
        "cortex-m4",
        {"sysbus.usart2": 0x40004400},
        {0x08000000: 0x200000, 0x20000000: 0x40000},
    ),
    "@platforms/cpus/stm32f4.repl": (
        "cortex-m4",
        {"sysbus.usart2": 0x40004400},
        {0x08000000: 0x200000, 0x20000000: 0x40000},
    ),
    "@platforms/cpus/stm32f103.repl": (
        "cortex-m3",
        {"sysbus.usart1": 0x40013800},
        {0x00000000: 0x20000000, 0x20000000: 0x10000000},
    ),
    "@platforms/boards/nucleo_h753zi.repl": (
        "cortex-m7",
        {"sysbus.usart3": 0x40004800},
        {0x08000000: 0x200000, 0x20000000: 0x20000, 0x24000000: 0x80000, 0x38000000: 0x10000},
    ),
    "@platforms/boards/nrf52840dk_nrf52840.repl": (
        "cortex-m4",
        {"sysbus.uart0": 0x40002000},
        {0x00000000: 0x100000, 0x20000000: 0x40000},
    ),
    "@platforms/boards/arduino_nano_33_ble.repl": (
        "cortex-m4",
        {"sysbus.uart0": 0x40002000},
        {0x00000000: 0x100000, 0x20000000: 0x40000},
    ),
}
"""Processor, UARTs and memories (address -> bytes) of Renode's own platforms, as in release 1.16.1."""

NOT_IN_RENODE = {("disco_f407vg", "CCM")}


@pytest.mark.parametrize("board", [b for b in BOARDS if b not in OWN], ids=lambda board: board.id)
def test_board_agrees_with_renodes_platform(board: Board) -> None:
    assert board.renode
    assert board.uart
    core, uarts, memories = STOCK[board.renode.platform]
    assert core == board.core
    assert uarts[board.renode.uart] == board.uart.base
    for memory in board.memories:
        if (board.id, memory.name) not in NOT_IN_RENODE:
            assert any(
                start <= memory.origin and memory.origin + memory.size <= start + size
                for start, size in memories.items()
            )


def test_stock_boards_bring_no_platform_of_their_own() -> None:
    board = load_board("disco_f407vg")
    files = dict(tiny.project(board).files)
    assert "renode/board.repl" not in files
    assert b"machine LoadPlatformDescription @platforms/boards/stm32f4" in files["renode/board.resc"]


def test_the_host_has_nothing_for_renode() -> None:
    assert not [path for path, _ in tiny.project(load_board("host")).files if path.startswith("renode/")]


@pytest.mark.parametrize("board", [board for board in list_boards() if board.renode], ids=lambda board: board.id)
def test_every_board_has_an_environment_whose_test_runs_in_renode(board: Board) -> None:
    project = tiny.project(board)
    settings = configparser.ConfigParser()
    settings.read_string(dict(project.shared_files)["platformio.ini"].decode())
    name = f"{board.id}_renode" if board.qemu else board.id
    section = settings[f"env:{name}"]
    assert section["test_testing_command"].split()[0] == "renode"
    assert "include @renode/test.resc" in section["test_testing_command"]
    if board.qemu:
        assert section["extends"] == f"env:{board.id}"
        assert settings["platformio"]["default_envs"] == board.id
    assert f"/.pio/build/{name}/firmware.elf" in dict(project.files)["renode/test.resc"].decode()
