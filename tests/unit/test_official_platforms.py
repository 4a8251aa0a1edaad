"""What boards say of PlatformIO's own platforms, key by key against those platforms' manifests."""

from __future__ import annotations

import configparser
import json
import re
import struct
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from support import tiny
from tflmgen.hardware.board import Board, list_boards, load_board
from tflmgen.hardware.board_files import BoardError
from tflmgen.project.platformio import environment_variables

STM32 = ("stlink", "jlink", "cmsis-dap", "blackmagic", "mbed")
MANIFESTS: dict[str, tuple[str, str, tuple[str, ...], int, int]] = {
    "bluepill_f103c8": ("ststm32", "cortex-m3", STM32, 65536, 20480),
    "disco_f407vg": ("ststm32", "cortex-m4", STM32, 1048576, 131072),
    "nucleo_f446re": ("ststm32", "cortex-m4", STM32, 524288, 131072),
    "nucleo_f767zi": ("ststm32", "cortex-m7", STM32, 2097152, 524288),
    "nucleo_h753zi": ("ststm32", "cortex-m7", STM32, 2097152, 524288),
    "nucleo_l4r5zi": ("ststm32", "cortex-m4", STM32, 2097152, 655360),
    "nrf52840_dk": ("nordicnrf52", "cortex-m4", ("jlink", "nrfjprog", "stlink", "cmsis-dap"), 1048576, 262144),
    "nano33ble": ("nordicnrf52", "cortex-m4", ("sam-ba", "jlink", "nrfjprog", "cmsis-dap"), 983040, 262144),
    "pico": ("raspberrypi", "cortex-m0plus", ("picotool", "cmsis-dap", "raspberrypi-swd"), 2097152, 270336),
}
"""Platform, processor, upload protocols, flash and RAM, as boards/ID.json of the platforms' VERSIONS has them."""

VERSIONS = {"ststm32": "~19.6.0", "nordicnrf52": "~10.11.0", "raspberrypi": "~1.19.0"}
ARDUINO_ONLY = {"nano33ble", "pico"}
NO_ADDRESS_OF_ITS_OWN = {"nucleo_h753zi", "disco_f407vg"}
"""The manifests count one RAM of several."""

BOARDS = [board for board in list_boards() if board.platformio]


def test_every_real_board_has_its_platform() -> None:
    assert {board.id for board in BOARDS} == MANIFESTS.keys()


@pytest.mark.parametrize("board", BOARDS, ids=lambda board: board.id)
def test_board_agrees_with_the_manifest(board: Board) -> None:
    assert board.platformio
    platform, core, protocols, flash, ram = MANIFESTS[board.id]
    assert board.platformio.platform == f"platformio/{platform}@{VERSIONS[platform]}"
    assert board.platformio.board == board.id
    assert board.platformio.upload_protocol in protocols
    assert board.platformio.debug_tool in (None, *protocols)
    assert (board.platformio.framework == "arduino") == (board.id in ARDUINO_ONLY)
    assert board.core == core
    assert board.flash_bytes == flash
    if board.id in NO_ADDRESS_OF_ITS_OWN:
        assert ram in {m.size for m in board.memories if m.kind == "ram"}
    else:
        assert board.ram_bytes == ram


@pytest.mark.parametrize("board", [b for b in BOARDS if b.id in ("nucleo_h753zi", "pico")], ids=lambda board: board.id)
def test_platformio_knows_every_key_of_the_ini(board: Board, tmp_path: Path) -> None:
    project = tiny.write_project(board, tmp_path / "project")
    command = [sys.executable, "-m", "platformio", "project", "config", "--lint", "-d", str(project)]
    done = subprocess.run(
        command, env=environment_variables(project), capture_output=True, text=True, check=False, timeout=60
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "free from linting errors" in done.stdout


@pytest.mark.parametrize("board", BOARDS, ids=lambda board: board.id)
def test_upload_environment(board: Board) -> None:
    assert board.platformio
    assert board.uart
    ini = configparser.ConfigParser(interpolation=None, inline_comment_prefixes=None)
    ini.read_string(dict(tiny.project(board).shared_files)["platformio.ini"].decode())
    assert ini["platformio"]["default_envs"] == board.id
    section = ini[f"env:{board.id}_upload"]
    assert section["platform"] == board.platformio.platform
    assert section["extra_scripts"] == "pre:platform/official.py"
    assert section["monitor_speed"] == str(board.uart.baud)
    assert ("framework" in section) == (board.platformio.framework is not None)
    assert ("toolchain-gccarmnoneeabi" in section.get("platform_packages", "")) != ("framework" in section)


def test_emulated_boards_have_no_upload_environment() -> None:
    assert b"_upload" not in dict(tiny.project(load_board("mps2_an386")).shared_files)["platformio.ini"]


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        ({"platform": "ststm32"}, r"\$\.platformio\.platform: "),
        ({"framework": "mbed"}, r"\$\.platformio\.framework: "),
        ({"speed": 5}, r"\$\.platformio: .*speed"),
    ],
)
def test_bad_entries_are_located(change: dict[str, Any], problem: str, tmp_path: Path) -> None:
    folder = load_board("nucleo_f446re").folder
    assert folder
    data = json.loads((folder / "board.json").read_text())
    data["platformio"] |= change
    (tmp_path / "board.json").write_text(json.dumps(data))
    with pytest.raises(BoardError, match=problem):
        load_board(str(tmp_path))


def crc32_bzip2(data: bytes) -> int:
    """CRC-32 of polynomial 04C11DB7, most significant bit first, without the final inversion."""
    crc = 0xFFFFFFFF
    for byte in data:
        crc ^= byte << 24
        for _ in range(8):
            crc = (crc << 1 ^ (0x04C11DB7 if crc >> 31 else 0)) & 0xFFFFFFFF
    return crc


def test_the_boot_rom_of_the_rp2350_finds_its_block(tmp_path: Path) -> None:
    """A block in the first 4 KiB: it begins, one item for the type of image, the last item with the words before it,
    no other block, and it ends (RP2350 Datasheet, 5.9)."""
    folder = load_board("pico2").folder
    assert folder
    object_file, image = tmp_path / "image.o", tmp_path / "image.bin"
    source = ["-mcpu=cortex-m33", "-mthumb", "-c", str(folder / "image_definition.c"), "-o", str(object_file)]
    try:
        subprocess.run(["arm-none-eabi-gcc", *source], check=True)
        extract = ["arm-none-eabi-objcopy", "-O", "binary", "-j", ".tflmgen_image", str(object_file), str(image)]
        subprocess.run(extract, check=True)
    except FileNotFoundError:
        pytest.skip("arm-none-eabi-gcc is not installed")
    begin, item, last, link, end = struct.unpack("<5I", image.read_bytes())
    assert (begin, link, end) == (0xFFFFDED3, 0, 0xAB123579)
    assert item & 0xFF == 0x42  # IMAGE_TYPE
    assert item >> 8 & 0xFF == 1  # a word long
    executable, secure, arm, rp2350 = 1, 2 << 4, 0 << 8, 1 << 12
    assert item >> 16 == executable | secure | arm | rp2350
    assert (last & 0xFF, last >> 8 & 0xFFFF) == (0xFF, 1)


def test_the_boot_loader_of_the_pico_has_its_checksum(tmp_path: Path) -> None:
    folder = load_board("pico").folder
    assert folder
    object_file, image = tmp_path / "boot2.o", tmp_path / "boot2.bin"
    compile_it = [
        "arm-none-eabi-gcc",
        "-mcpu=cortex-m0plus",
        "-mthumb",
        "-c",
        str(folder / "boot2.c"),
        "-o",
        str(object_file),
    ]
    extract = ["arm-none-eabi-objcopy", "-O", "binary", "-j", ".tflmgen_boot", str(object_file), str(image)]
    try:
        subprocess.run(compile_it, check=True)
        subprocess.run(extract, check=True)
    except FileNotFoundError:
        pytest.skip("arm-none-eabi-gcc is not installed")
    data = image.read_bytes()
    assert len(data) == 256
    assert int.from_bytes(data[252:], "little") == crc32_bzip2(data[:252])
    listing = subprocess.run(
        ["arm-none-eabi-objdump", "-d", str(object_file)], capture_output=True, text=True, check=True
    )
    assert not re.search(r"\bbl\b|\bblx\b", listing.stdout)  # it runs from RAM, where nothing else of the program is
