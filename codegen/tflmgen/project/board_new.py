"""Makes the folder of a board of the user's own: like one of tflmgen's, or any Cortex-M."""

from __future__ import annotations

import json
import re
import shutil
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tflmgen.errors import UsageError
from tflmgen.project.board import Board, BoardError, load_board

CORES: Mapping[str, tuple[str | None, tuple[str, ...]]] = {
    "cortex-m0": (None, ()),
    "cortex-m0plus": (None, ()),
    "cortex-m1": (None, ()),
    "cortex-m3": (None, ()),
    "cortex-m4": ("fpv4-sp-d16", ("dsp", "fpu")),
    "cortex-m7": ("fpv5-d16", ("dsp", "fpu")),
    "cortex-m23": (None, ()),
    "cortex-m33": ("fpv5-sp-d16", ("dsp", "fpu")),
    "cortex-m55": ("auto", ("dsp", "fpu", "mve")),
    "cortex-m85": ("auto", ("dsp", "fpu", "mve")),
}
"""GCC's -mcpu name -> its usual -mfpu, and what kernels may use."""

DEFAULT_BAUD = 115200
CHANGES = {
    "core": ("qemu", "renode", "platformio", "upload", "clock"),
    "memories": ("qemu", "renode", "placement"),
    "uart": ("qemu", "renode", "clock"),
}
"""What a new answer makes void of the board that the new one is like."""


@dataclass(frozen=True, slots=True)
class Answers:
    """What the user has said of the new board; None where nothing: as the board that it is like.

    memories  NAME=ORIGIN:SIZE:KIND each, KIND flash or ram    uart  DRIVER@BASE:CLOCK or DRIVER@BASE:CLOCK:BAUD
    qemu      MACHINE or MACHINE:SERIAL
    """

    like: str | None = None
    title: str | None = None
    core: str | None = None
    fpu: str | None = None
    memories: Sequence[str] = ()
    uart: str | None = None
    stack: int | None = None
    place: Sequence[str] = ()
    qemu: str | None = None


def missing(answers: Answers) -> list[str]:
    """The options without which there is no board; none where it is like another one."""
    if answers.like is not None:
        return []
    said = {"--core": answers.core, "--memory": answers.memories, "--uart": answers.uart}
    return [option for option, value in said.items() if not value]


def new_board(folder: Path, answers: Answers) -> Board:
    """Write `folder` with a board.json, and the files of the board that it is like. Nothing is left of a failure.

    UsageError for answers that are malformed or not enough, BoardError where they contradict each other.
    """
    lacking = missing(answers)
    if lacking:
        raise UsageError(f"boards new: say what it is like (--like BOARD), or all of it: {', '.join(lacking)} missing")
    if folder.exists() and any(folder.iterdir() if folder.is_dir() else [folder]):
        raise UsageError(f"{folder}: exists, and is not an empty folder")
    like = load_board(answers.like) if answers.like is not None else None
    if like is not None and like.folder is None:
        raise UsageError("boards new: this computer is no board that another one could be like")
    data, kept = _data(answers, like)
    with tempfile.TemporaryDirectory(prefix="tflmgen-") as temporary:
        made = Path(temporary) / folder.resolve().name
        made.mkdir()
        for path in _files(like, kept):
            shutil.copy(path, made)
        (made / "board.json").write_text(json.dumps(data, indent=2) + "\n", encoding="utf-8")
        try:
            load_board(str(made))
        except BoardError as error:
            raise BoardError(str(error).replace(str(made), str(folder))) from error
        shutil.copytree(made, folder, dirs_exist_ok=True)
    return load_board(str(folder.resolve()))


def _data(answers: Answers, like: Board | None) -> tuple[dict[str, Any], bool]:
    """board.json, and whether the emulators' descriptions of the board that it is like still hold."""
    data: dict[str, Any] = {}
    if like is not None and like.folder is not None:
        data = json.loads((like.folder / "board.json").read_text(encoding="utf-8"))
    void = {key for answer, keys in CHANGES.items() if getattr(answers, answer) for key in keys}
    data = _without(data, "$schema", "notes", "url", *void)
    data["title"] = answers.title or (f"Like {data['title']}" if like else f"A board with a {answers.core}")
    if answers.core is not None:
        data = {**_without(data, "fpu", "features"), **_core(answers.core)}
    if answers.fpu is not None:
        data = _with_fpu(data, answers.fpu)
    if answers.memories:
        data["memories"] = [_memory(text) for text in answers.memories]
    if answers.uart is not None:
        data["uart"] = _uart(answers.uart)
    if answers.stack is not None:
        data["stack"] = answers.stack
    if answers.place:
        data["placement"] = {**data.get("placement", {}), **dict(map(_place, answers.place))}
    if answers.qemu is not None:
        machine, _, serial = answers.qemu.partition(":")
        data["qemu"] = {"machine": machine, "serial": _number("--qemu", serial or "0")}
    return data, "renode" not in void


def _files(like: Board | None, kept: bool) -> list[Path]:
    """What belongs to the board that it is like: its C, and the emulator's description of the same hardware."""
    if like is None or like.folder is None:
        return []
    suffixes = {".c", ".h", ".repl"} if kept else {".c", ".h"}
    return [path for path in sorted(like.folder.iterdir()) if path.suffix in suffixes]


def _without(data: dict[str, Any], *keys: str) -> dict[str, Any]:
    return {key: value for key, value in data.items() if key not in keys}


def _core(core: str) -> dict[str, Any]:
    if core not in CORES:
        raise UsageError(f"--core {core}: not one of {', '.join(CORES)}")
    fpu, features = CORES[core]
    return {"core": core, **({"fpu": fpu} if fpu else {}), "features": list(features)}


def _with_fpu(data: dict[str, Any], fpu: str) -> dict[str, Any]:
    features = [feature for feature in data.get("features", ()) if feature != "fpu"]
    if fpu == "none":
        return {**_without(data, "fpu"), "features": features}
    return {**data, "fpu": fpu, "features": [*features, "fpu"]}


def _memory(text: str) -> dict[str, str]:
    found = re.fullmatch(r"(\w+)=(0x[0-9A-Fa-f]+):([1-9][0-9]*[KM]?):(flash|ram)", text)
    if not found:
        raise UsageError(f"--memory {text}: not of the form NAME=ORIGIN:SIZE:flash or :ram, as RAM=0x20000000:128K:ram")
    name, origin, size, kind = found.groups()
    return {"name": name.upper(), "origin": origin, "size": size, "kind": kind}


def _uart(text: str) -> dict[str, Any]:
    found = re.fullmatch(r"(\w+)@(0x[0-9A-Fa-f]+):([0-9]+)(?::([0-9]+))?", text)
    if not found:
        raise UsageError(f"--uart {text}: not of the form DRIVER@BASE:CLOCK[:BAUD], as stm32v2@0x40004800:16000000")
    driver, base, clock, baud = found.groups()
    return {"driver": driver, "base": base, "clock": int(clock), "baud": int(baud or DEFAULT_BAUD)}


def _place(text: str) -> tuple[str, str]:
    what, equals, name = text.partition("=")
    if not equals:
        raise UsageError(f"--place {text}: not of the form WHAT=MEMORY, as arena=dtcm")
    return what.lower(), name.upper()


def _number(option: str, text: str) -> int:
    if not text.isdigit():
        raise UsageError(f"{option}: '{text}' is not a number")
    return int(text)
