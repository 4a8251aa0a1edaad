"""An arena that spans two RAMs of a board, in QEMU: outputs, and where the linker puts each part."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from support.commands import tflmgen
from support.repository import ROOT
from support.tools import requires_compiler, requires_qemu
from support.well_known import well_known
from tflmgen.compiler import compile_model
from tflmgen.emulators.firmware_session import running
from tflmgen.hardware.board import Board, load_board
from tflmgen.hardware.memory_regions import placed
from tflmgen.options import BuildOptions, OutputOptions, SessionOptions, Validate
from tflmgen.terminal.console import Console
from tflmgen.toolchain.elf import read_elf

pytestmark = [pytest.mark.emulator, requires_compiler, requires_qemu]

PLACES = ("--place", "arena=dtcm+psram")


@pytest.fixture(scope="module")
def board(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The MPS2's Cortex-M4 with 32 kB of its fast RAM, and its PSRAM, which has all else."""
    folder = tmp_path_factory.mktemp("boards") / "two_memories"
    plain = json.loads((ROOT / "boards/mps2_an386/board.json").read_text(encoding="utf-8"))
    flash = plain["memories"][0]
    dtcm = {"name": "DTCM", "origin": "0x20000000", "size": "32K", "kind": "ram"}
    psram = {"name": "PSRAM", "origin": "0x21000000", "size": "16M", "kind": "ram"}
    plain |= {"memories": [flash, dtcm, psram], "placement": {"data": "PSRAM", "state": "PSRAM"}}
    del plain["renode"]
    folder.mkdir()
    (folder / "board.json").write_text(json.dumps(plain), encoding="utf-8")
    return folder


@pytest.mark.parametrize("name", ["mlperf_ic_resnet_int8", "mlperf_vww_int8"])
def test_outputs_are_those_of_one_memory(name: str, board: Path, tmp_path: Path) -> None:
    model, options = well_known(name, tmp_path), BuildOptions("net", validate=Validate.OFF)

    def outputs(target: Board) -> list[list[bytes]]:
        compilation = compile_model(model, target.target, options)
        (port,) = compilation.module.signatures[0].inputs
        images = [np.random.default_rng(k).integers(-128, 128, port.type.bytes, np.int8).tobytes() for k in range(4)]
        assert ("AT_1(" in compilation.sources.files["src/net.c"]) == bool(target.arena_beyond)
        with running(compilation, target, options, SessionOptions(), Console(OutputOptions(quiet=True))) as ran:
            return [list(ran.session.invoke(0, [image]).outputs) for image in images]

    assert outputs(placed(load_board(str(board)), ["arena=dtcm+psram"])) == outputs(load_board("mps2_an386"))


def test_parts_are_where_the_linker_puts_them(board: Path, tmp_path: Path) -> None:
    model, folder = well_known("mlperf_ic_resnet_int8", tmp_path), tmp_path / "project"
    finished = tflmgen("build", model, "--board", board, "-o", folder, "--validate", "off", "--json", *PLACES)
    assert finished.code == 0, finished.err
    plan = finished.json
    first, second = plan["arena"]["parts"]
    assert plan["arena_memories"] == ["DTCM", "PSRAM"]
    sections = {s.name: s for s in read_elf(Path(plan["firmware"]["elf"])).sections}
    assert first <= sections[".tflmgen_arena"].size <= 32 << 10
    assert second <= sections[".tflmgen_arena_1"].size < second + 16
    assert 0x20000000 <= sections[".tflmgen_arena"].address < 0x20008000
    assert 0x21000000 <= sections[".tflmgen_arena_1"].address < 0x22000000
    use = plan["firmware"]["memories"]
    assert use["DTCM"] == sections[".tflmgen_arena"].size
    assert "PSRAM" in (folder / "report.html").read_text(encoding="utf-8")
