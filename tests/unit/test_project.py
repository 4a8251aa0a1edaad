from __future__ import annotations

import json
from pathlib import Path

import pytest
from support import tiny
from tflmgen.hardware.board import Board, list_boards, load_board
from tflmgen.project.assemble import assemble, write
from tflmgen.project.folder import FolderError

BOARDS = [*list_boards(), load_board("host")]


@pytest.mark.parametrize("board", BOARDS, ids=lambda board: board.id)
def test_every_board_has_a_project(board: Board, tmp_path: Path) -> None:
    write(tiny.project(board), tmp_path / "p")
    described = json.loads((tmp_path / "p/platform/boards" / f"{board.id}.json").read_text())
    assert described["build"]["cpu"] == board.core
    assert f"default_envs = {board.id}\n" in (tmp_path / "p/platformio.ini").read_text()


def test_same_arguments_same_bytes() -> None:
    assert tiny.project(load_board("mps2_an386")) == tiny.project(load_board("mps2_an386"))


def test_linker_script_has_the_boards_memories() -> None:
    script = dict(tiny.project(load_board("mps3_an547")).files)["platform/ldscripts/board.ld"].decode()
    assert '"SRAM"   (rx) : ORIGIN = 0x01000000, LENGTH = 0x200000' in script
    assert 'REGION_ALIAS("weights", "SRAM")' in script
    assert 'REGION_ALIAS("arena", "ISRAM")' in script


def test_only_the_boards_uart_driver_is_there() -> None:
    files = dict(tiny.project(load_board("microbit")).files)
    assert [path for path in files if "/uart_" in path] == ["platform/runtime/uart_nrf51.c"]
    assert b"{0x40002524u, 0xFFFFFFFFu, 0x01D7E000u, 0x00000000u}" in files["platform/runtime/tflmgen_board_config.h"]


def test_own_board_brings_its_own_driver(tmp_path: Path) -> None:
    original = load_board("mps2_an386").folder
    assert original is not None
    text = (original / "board.json").read_text().replace('"cmsdk"', '"mine"').replace('"board.repl"', '"@x.repl"')
    (tmp_path / "board.json").write_text(text)
    (tmp_path / "uart_mine.c").write_text("/* mine */")
    files = dict(tiny.project(load_board(str(tmp_path))).files)
    assert [files[path] for path in files if "/uart_" in path] == [b"/* mine */"]


def test_kernels_come_with_what_they_include() -> None:
    sources = {"lib/m/src/m.c": '#include "tflmgen/softmax.h"\n'}
    files = dict(assemble(sources, ["conv2d.h"], load_board("host"), "m", {"signatures": []}).files)
    headers = {Path(path).name for path in files if path.startswith("lib/tflmgen/include/tflmgen/")}
    assert {"softmax.h", "conv2d.h", "common.h", "serve.h"} <= headers


@pytest.mark.parametrize(("optimize", "flag"), [("balanced", "-O2"), ("speed", "-O2"), ("ram", "-O2"), ("size", "-Os")])
def test_optimization(optimize: str, flag: str) -> None:
    project = assemble(tiny.sources(), (), load_board("microbit"), "tiny", tiny.PLAN, optimize)
    assert f"build_flags = {flag}\n" in dict(project.shared_files)["platformio.ini"].decode()


def test_users_work_survives_another_board(tmp_path: Path) -> None:
    write(tiny.project(load_board("mps2_an386")), tmp_path / "p")
    main, ini = tmp_path / "p/src/main.c", tmp_path / "p/platformio.ini"
    main.write_text("int main(void) { return 0; }\n")
    ini.write_text(ini.read_text() + "[env:mine]\n")
    write(tiny.project(load_board("microbit")), tmp_path / "p")
    assert main.read_text() == "int main(void) { return 0; }\n"
    assert ini.read_text().endswith("[env:mine]\n")
    assert "mps2_an386" not in ini.read_text().split("END")[0]
    assert [path.name for path in (tmp_path / "p/platform/boards").iterdir()] == ["microbit.json"]


def test_another_model_in_the_same_folder(tmp_path: Path) -> None:
    board = load_board("mps2_an386")
    other = assemble(
        dict.fromkeys(("lib/other/include/other.h", "lib/other/include/other_model.h"), ""),
        (),
        board,
        "other",
        tiny.PLAN,
    )
    write(tiny.project(board), tmp_path / "p")
    write(other, tmp_path / "p")
    main = tmp_path / "p/src/main.c"
    assert "#include <other_model.h>" in main.read_text()
    main.write_text(main.read_text().replace("return 0", "return 1"))
    with pytest.raises(FolderError, match=r"main\.c: has been changed.* keep the model's name with --name other"):
        write(tiny.project(board), tmp_path / "p")
    assert not (tmp_path / "p/lib/tiny").exists()
