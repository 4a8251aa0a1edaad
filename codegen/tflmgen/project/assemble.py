"""Assembles a PlatformIO project from generated C, runtime, kernels and the board's files: as a value, then on disk."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from typing import Any

from tflmgen.backend import render
from tflmgen.hardware import Board, read_c_files, read_repl
from tflmgen.project.folder import BEGIN, END, PROJECT, Content, write_folder
from tflmgen.version import VERSION

LIBRARY = "lib/tflmgen"
PLATFORM = "platform"
MAIN = "src/main.c"
OPTIMIZATION = {"balanced": "-O2", "speed": "-O2", "size": "-Os", "ram": "-O2"}
HOST_LINK = "link_host.c"
PROCESSOR_FILES = ("startup.c", "processor.c")
"""Files of the firmware that each architecture has its own of."""
BOARD_CONFIG = "tflmgen_board_config.h"
RUNTIME_HEADERS = {"tflmgen.h": "include", "tflmgen_flash.h": "include", "tflmgen_values.h": "include"}
TEST_CONTENTS = {
    "int32": "WORDS_0_OR_1",
    "uint32": "WORDS_0_OR_1",
    "int64": "LONGS_0_OR_1",
    "bool": "BOOLS",
    "float32": "FLOATS",
}


@dataclass(frozen=True, slots=True)
class Project:
    """Files of a project by path relative to its folder; folder.Content explains the three kinds."""

    name: str
    board: str
    files: tuple[tuple[str, bytes], ...]
    shared_files: tuple[tuple[str, bytes], ...]
    user_files: tuple[tuple[str, bytes], ...]


def assemble(
    sources: Mapping[str, str | bytes],
    kernels: Iterable[str],
    board: Board,
    name: str,
    plan: Mapping[str, Any],
    optimize: str = "balanced",
    report: str = "",
    reentrant: bool = False,
) -> Project:
    """The project of model `name` for `board`; a pure function of its arguments.

    sources   the model's library: path in the project (lib/NAME/...) -> text
    kernels   headers of firmware/kernels, in addition to those that the library includes as tflmgen/...; headers in
              `sources` (lib/tflmgen/include/tflmgen/...) take precedence
    reentrant whether functions of the library take a handle, which main.c's comment has then
    report    text of report.html; empty: none
    plan      contents of plan.json; its `signatures` determine main.c and the project's test
    """
    generated: dict[str, str | bytes] = {**sources, **_runtime(), **_platform(board, name)}
    generated |= _kernels({*kernels, *_kernels_of(sources)}, sources)
    generated |= _renode(board, name, len(plan["signatures"]))
    generated["plan.json"] = json.dumps(plan, indent=2) + "\n"
    if report:
        generated["report.html"] = report
    generated[".gitignore"] = ".pio/\n"
    generated["test/test_custom_runner.py"] = _resource("templates", "project/test/test_custom_runner.py")
    test, main = _mains(board, name, plan["signatures"], reentrant)
    generated["test/test_model/test_main.c"] = test
    flags = {"optimization": OPTIMIZATION[optimize], "test_command": board.qemu_command}
    ini = render("project/platformio.ini.j2", begin=BEGIN, end=END, board=board, **flags)
    ini += render("project/user.ini.j2", board=board)
    return Project(
        name,
        board.id,
        files=tuple(sorted((path, _bytes(text)) for path, text in generated.items())),
        shared_files=(("platformio.ini", ini.encode()),),
        user_files=((MAIN, main.encode()),),
    )


def _mains(board: Board, name: str, signatures: Sequence[Mapping[str, Any]], reentrant: bool) -> tuple[str, str]:
    """The project's own test, and the user's main.c."""
    arduino = board.platformio is not None and board.platformio.framework == "arduino"
    common = {"name": name, "signatures": signatures, "arduino": arduino}
    single = len(signatures) == 1 and len(signatures[0]["inputs"]) == len(signatures[0]["outputs"]) == 1
    test = render("project/test/test_model/test_main.c.j2", contents=_Contents(TEST_CONTENTS), **common)
    return test, render("project/src/main.c.j2", single=single, model="&model" if reentrant else "", **common)


def write(project: Project, directory: Path) -> tuple[str, ...]:
    """Writes `project` to `directory`; returns the files kept with the user's changes. See folder.write_folder()."""
    about = {"tflmgen": VERSION, "name": project.name, "board": project.board}
    content = Content(PROJECT, dict(project.files), dict(project.shared_files), dict(project.user_files), about)
    return write_folder(content, directory)


class _Contents(dict[str, str]):
    def __missing__(self, dtype: str) -> str:
        return "BYTES"


def _runtime() -> dict[str, str | bytes]:
    runtime: dict[str, str | bytes] = {}
    for name in _names("runtime"):
        if name != HOST_LINK:
            runtime[f"{LIBRARY}/{RUNTIME_HEADERS.get(name, 'src')}/{name}"] = _firmware(f"runtime/{name}")
    for name in _names("runtime/tflmgen"):
        runtime[f"{LIBRARY}/include/tflmgen/{name}"] = _firmware(f"runtime/tflmgen/{name}")
    runtime[f"{LIBRARY}/library.json"] = render("project/lib/tflmgen/library.json.j2", version=VERSION)
    return runtime


def _kernels_of(sources: Mapping[str, str | bytes]) -> set[str]:
    mentioned = {h for text in sources.values() for h in re.findall(rb'#include [<"]tflmgen/([^">]+)', _bytes(text))}
    return {h.decode() for h in mentioned} - set(_names("runtime/tflmgen"))


def _kernels(headers: Iterable[str], sources: Mapping[str, str | bytes]) -> dict[str, bytes]:
    kernels: dict[str, bytes] = {}
    pending = sorted(headers, reverse=True)
    while pending:
        header = pending.pop()
        path = f"{LIBRARY}/include/tflmgen/{header}"
        if path not in kernels:
            kernels[path] = _bytes(sources[path]) if path in sources else _firmware(f"kernels/{header}")
            pending += _includes(kernels[path])
    return kernels


def _includes(text: str | bytes) -> list[str]:
    """Headers that a C file includes from its own folder."""
    return re.findall(r'^#include "([^"]+)"', _bytes(text).decode(), re.MULTILINE)


def _platform(board: Board, name: str) -> dict[str, str | bytes]:
    copied = ["platform.json", "platform.py", "builder/main.py", "builder/frameworks/baremetal.py"]
    if board.platformio is not None:
        copied += ["official.py", *(["arduino/board_arduino.cpp"] if board.platformio.framework else [])]
    out: dict[str, str | bytes] = {f"{PLATFORM}/{path}": _firmware(f"platform/{path}") for path in copied}
    out[f"{PLATFORM}/boards/{board.id}.json"] = _platformio_board(board)
    runtime = f"{PLATFORM}/runtime"
    if board.uart is None:
        return out | {f"{runtime}/{HOST_LINK}": _firmware(f"runtime/{HOST_LINK}")}
    board_files = read_c_files(board.folder) if board.folder else {}
    own = {file: f"{Path(file).stem}_{board.architecture.name}.c" for file in PROCESSOR_FILES}
    needed = [*own, "board.c", "runtime.h", f"uart_{board.uart.driver}.c"]
    while needed:
        file = needed.pop()
        if file not in board_files and f"{runtime}/{file}" not in out and file != BOARD_CONFIG:
            out[f"{runtime}/{file}"] = _firmware(f"platform/runtime/{own.get(file, file)}")
            needed += _includes(out[f"{runtime}/{file}"])
    out |= {f"{runtime}/{file}": data for file, data in board_files.items()}
    out[f"{runtime}/{BOARD_CONFIG}"] = render(f"project/platform/runtime/{BOARD_CONFIG}.j2", board=board)
    out[f"{PLATFORM}/ldscripts/sections.ld"] = _firmware("platform/ldscripts/sections.ld")
    out[f"{PLATFORM}/ldscripts/board.ld"] = render("project/platform/ldscripts/board.ld.j2", board=board, name=name)
    return out


def _renode(board: Board, name: str, signatures: int) -> dict[str, str | bytes]:
    """Platform description for Renode, start script, and Robot Framework suite."""
    if board.renode is None or board.folder is None:
        return {}
    described, platform = {}, board.renode.platform
    script_platform = suite_platform = platform
    if not platform.startswith("@"):
        described[f"renode/{platform}"] = read_repl(board.folder, platform)
        script_platform, suite_platform = f"$ORIGIN/{platform}", f"${{CURDIR}}/{platform}"
    suite = f"{name}-{board.id}.robot"  # renode-test requires unique names
    values = {"board": board, "name": name, "signatures": signatures, "suite": suite}
    return {
        **described,
        "renode/board.resc": render("project/renode/board.resc.j2", platform=script_platform, **values),
        "renode/test.resc": render("project/renode/test.resc.j2", platform=script_platform, **values),
        f"renode/{suite}": render("project/renode/suite.robot.j2", platform=suite_platform, **values),
        "renode/firmware.py": _resource("templates", "project/renode/firmware.py"),
        "renode/link.py": files("tflmgen.emulators").joinpath("link.py").read_bytes(),
    }


def _platformio_board(board: Board) -> str:
    build: dict[str, Any] = {"cpu": board.core, "cpu_flags": board.cpu_flags, "mcu": board.id}
    if chain := board.architecture.toolchain:
        build |= {"toolchain": chain.prefix, "specs": chain.specs}
        build["header_flags"] = board.header_flags
    build["f_cpu"] = f"{board.clock}L"
    if not board.is_host:
        build["ldscript"] = "board.ld"
    if board.qemu:
        build["qemu"] = {"command": board.qemu_command}
    limits = {"maximum_size": board.flash_bytes, "maximum_ram_size": board.ram_bytes}
    data = {"name": board.title, "vendor": "tflmgen", "url": board.url, "build": build, "frameworks": ["baremetal"]}
    return json.dumps({**data, "upload": limits}, indent=2) + "\n"


def _names(folder: str) -> list[str]:
    root = files("tflmgen.firmware").joinpath(folder)
    return sorted(entry.name for entry in root.iterdir() if entry.name.endswith((".c", ".h")))


def _firmware(path: str) -> bytes:
    return _resource("firmware", path)


def _resource(package: str, path: str) -> bytes:
    return files(f"tflmgen.{package}").joinpath(path).read_bytes()


def _bytes(text: str | bytes) -> bytes:
    return text.encode() if isinstance(text, str) else text
