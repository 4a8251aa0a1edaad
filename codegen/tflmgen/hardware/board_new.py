"""Creates the folder of a user's board, from a template board or for any known core."""

from __future__ import annotations

import json
import re
import shutil
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tflmgen.architectures import ARCHITECTURES, architecture_of
from tflmgen.errors import UsageError
from tflmgen.hardware.board import Board, load_board, memory_size
from tflmgen.hardware.board_files import BoardError, read_c_files, read_repl
from tflmgen.hardware.board_json import read_board_json
from tflmgen.options import NewBoardOptions

UART = "uart0"
"""The UART's name in the description."""

UARTS = {
    "cmsdk": ("UART.CMSDK_APB_UART", "frequency: {clock}"),
    "stm32v1": ("UART.STM32_UART", ""),
    "stm32v2": ("UART.STM32F7_USART", "frequency: {clock}"),
    "stm32_lpuart": ("UART.STM32F7_USART", "frequency: {clock}"),
    "nrf51": ("UART.NRF52840_UART", "easyDMA: false"),
    "nrf_uarte": ("UART.NRF52840_UART", "easyDMA: true"),
    "pl011": ("UART.PL011", ""),
}
"""UART driver -> Renode's class for the peripheral, as of 1.16.1, and its attribute."""

PAGE = 0x1000
"""Bytes of which Renode's mapped memories are multiples."""


def platform_description(data: Mapping[str, Any], memories: Mapping[str, tuple[int, int]]) -> str | None:
    """The text of a .repl; None where Renode has no such UART, or start-up waits for registers that nothing models.

    data      contents of a board.json
    memories  name -> origin and bytes
    """
    uart, core = data["uart"], data["core"].partition("+")[0]
    if uart["driver"] not in UARTS or any("wait" in register for register in uart.get("setup", ())):
        return None
    clock = data.get("clock", uart["clock"])
    kind, attribute = UARTS[uart["driver"]]
    parts = list(architecture_of(core).renode(core, clock))
    if not parts:
        return None
    for name, (origin, size) in memories.items():
        mapped = -(-size // PAGE) * PAGE
        parts.append(f"{name.lower()}_memory: Memory.MappedMemory @ sysbus 0x{origin:08X}\n    size: 0x{mapped:X}")
    described = f"{UART}: {kind} @ sysbus {uart['base']}"
    parts.append(described + (f"\n    {attribute.format(clock=uart['clock'])}" if attribute else ""))
    return "\n\n".join(parts) + "\n"


REPL = "board.repl"
"""File of a board's folder that describes it for Renode."""
DEFAULT_BAUD = 115200
"""Rate of a UART that names none."""
CHANGES = {
    "core": ("qemu", "renode", "platformio", "upload", "clock", "flash"),
    "memory": ("qemu", "renode", "placement", "flash"),
    "uart": ("qemu", "renode", "clock"),
}
"""Answer -> fields of the template board that it invalidates."""


def missing(answers: NewBoardOptions) -> list[str]:
    """Required options that have no answer; none if there is a template board."""
    if answers.like is not None:
        return []
    required = {"--core": answers.core, "--memory": answers.memory, "--uart": answers.uart}
    return [option for option, value in required.items() if not value]


def new_board(folder: Path, answers: NewBoardOptions) -> Board:
    """Writes `folder` with a board.json and the template board's files, atomically.

    Raises UsageError for malformed or missing answers, BoardError if they contradict each other.
    """
    lacking = missing(answers)
    if lacking:
        raise UsageError(
            f"boards new: name a similar board with --like BOARD, or give what is missing: {', '.join(lacking)}"
        )
    if folder.exists() and any(folder.iterdir() if folder.is_dir() else [folder]):
        raise UsageError(f"{folder}: exists, and is not an empty folder")
    template = load_board(answers.like) if answers.like is not None else None
    if template is not None and template.folder is None:
        raise UsageError("boards new: this computer is no board that another one could be like")
    data, emulators_hold = _data(answers, template)
    with tempfile.TemporaryDirectory(prefix="tflmgen-") as temporary:
        written = Path(temporary) / folder.resolve().name
        written.mkdir()
        for name, content in _files(template, emulators_hold).items():
            (written / name).write_bytes(content)
        if "renode" not in data and (text := platform_description(data, _sizes(data))):
            data["renode"] = {"platform": REPL, "uart": f"sysbus.{UART}"}
            (written / REPL).write_text(text, encoding="utf-8")
        (written / "board.json").write_text(json.dumps(data, indent=2) + "\n", encoding="utf-8")
        try:
            load_board(str(written))
        except BoardError as error:
            raise BoardError(str(error).replace(str(written), str(folder))) from error
        shutil.copytree(written, folder, dirs_exist_ok=True)
    return load_board(str(folder.resolve()))


def _data(answers: NewBoardOptions, template: Board | None) -> tuple[dict[str, Any], bool]:
    """Contents of board.json, and whether the template's emulator descriptions are still valid."""
    data: dict[str, Any] = {}
    if template is not None and template.folder is not None:
        data = read_board_json(template.folder)
    void = {key for answer, keys in CHANGES.items() if getattr(answers, answer) for key in keys}
    data = _without_keys(data, "$schema", "notes", "url", *void)
    data["title"] = answers.title or (f"Like {data['title']}" if template else f"A board with a {answers.core}")
    if answers.core is not None:
        data = {**_without_keys(data, "fpu", "features"), **_core(answers.core)}
    if answers.fpu is not None:
        data = _with_fpu(data, answers.fpu)
    if answers.memory:
        data["memories"] = [_memory(text) for text in answers.memory]
    if answers.uart is not None:
        data["uart"] = _uart(answers.uart)
    if answers.stack is not None:
        data["stack"] = answers.stack
    if answers.place:
        data["placement"] = {**data.get("placement", {}), **dict(map(_place, answers.place))}
    if answers.qemu is not None:
        machine, _, serial = answers.qemu.partition(":")
        data["qemu"] = {"machine": machine, "serial": _serial(serial or "0")}
    return data, "renode" not in void


def _files(template: Board | None, emulators_hold: bool) -> dict[str, bytes]:
    """Files of the template board to copy: its C files, and the emulator description if the hardware is the same."""
    if template is None or template.folder is None:
        return {}
    own_repl = template.renode.platform if template.renode and emulators_hold else "@"
    repl = {} if own_repl.startswith("@") else {own_repl: read_repl(template.folder, own_repl)}
    return {**read_c_files(template.folder), **repl}


def _sizes(data: dict[str, Any]) -> dict[str, tuple[int, int]]:
    """Origin and bytes of each memory of a board.json."""
    return {m["name"]: (int(m["origin"], 16), memory_size(m["size"])) for m in data["memories"]}


def _without_keys(data: dict[str, Any], *keys: str) -> dict[str, Any]:
    return {key: value for key, value in data.items() if key not in keys}


def _core(core: str) -> dict[str, Any]:
    known = architecture_of(core).cores.get(core)
    if known is None:
        raise UsageError(f"--core {core}: not one of {', '.join(known_cores())}")
    return {"core": core, **({"fpu": known.fpu} if known.fpu else {}), "features": list(known.features)}


def known_cores() -> list[str]:
    """Names of the cores that a board may have."""
    return [core for architecture in ARCHITECTURES for core in architecture.cores]


def _with_fpu(data: dict[str, Any], fpu: str) -> dict[str, Any]:
    features = [feature for feature in data.get("features", ()) if feature != "fpu"]
    if fpu == "none":
        return {**_without_keys(data, "fpu"), "features": features}
    return {**data, "fpu": fpu, "features": [*features, "fpu"]}


def _memory(text: str) -> dict[str, str]:
    match = re.fullmatch(r"(\w+)=(0x[0-9A-Fa-f]+):([1-9][0-9]*[KM]?):(flash|ram)", text)
    if not match:
        raise UsageError(f"--memory {text}: not of the form NAME=ORIGIN:SIZE:flash or :ram, as RAM=0x20000000:128K:ram")
    name, origin, size, kind = match.groups()
    return {"name": name.upper(), "origin": origin, "size": size, "kind": kind}


def _uart(text: str) -> dict[str, Any]:
    match = re.fullmatch(r"(\w+)@(0x[0-9A-Fa-f]+):([0-9]+)(?::([0-9]+))?", text)
    if not match:
        raise UsageError(f"--uart {text}: not of the form DRIVER@BASE:CLOCK[:BAUD], as stm32v2@0x40004800:16000000")
    driver, base, clock, baud = match.groups()
    return {"driver": driver, "base": base, "clock": int(clock), "baud": int(baud or DEFAULT_BAUD)}


def _place(text: str) -> tuple[str, str]:
    section, equals, name = text.partition("=")
    if not equals:
        raise UsageError(f"--place {text}: not of the form WHAT=MEMORY, as arena=dtcm")
    return section.lower(), name.upper()


def _serial(text: str) -> int:
    if not text.isdigit():
        raise UsageError(f"--qemu: '{text}' is not a number")
    return int(text)
