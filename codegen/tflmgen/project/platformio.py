"""Compiles a generated project with PlatformIO, as a subprocess."""

from __future__ import annotations

import os
import re
import socket
import subprocess
import sys
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from tflmgen.errors import TflmgenError
from tflmgen.hardware import Board
from tflmgen.toolchain import find_compiler, read_elf, tool_process
from tflmgen.user_cache import cache_folder

Progress = Callable[[str], None]

PLATFORMS = "PLATFORMIO_PLATFORMS_DIR"
REGISTRY_HOSTS = "from platformio import __registry_mirror_hosts__ as hosts; print(*hosts)"
"""Python program that prints the download hosts of the installed PlatformIO."""


class BuildError(TflmgenError):
    """The project does not compile or link; the text is the compiler's."""


class UploadError(TflmgenError):
    """The firmware could not be built or uploaded; the text is the tools'."""


@dataclass(frozen=True, slots=True)
class Firmware:
    """A linked firmware and its sections in bytes.

    text  code and constants
    data  initialised variables, in flash and RAM
    bss   other static RAM, including arena and state, without the stack
    """

    elf: Path
    text: int
    data: int
    bss: int


def build(directory: Path, board: Board, progress: Progress | None = None) -> Firmware:
    """Compiles the project in `directory` for its board; calls `progress` with a line per compiled file."""
    find_compiler(board.architecture)
    failure = _run(directory, board.id, (), environment_variables(directory), progress)
    if failure is not None:
        raise BuildError(f"{directory}: PlatformIO cannot build it\n{failure}")
    path = directory / ".pio" / "build" / board.id / "firmware.elf"
    elf = read_elf(path)
    return Firmware(path, elf.text, elf.data, elf.bss)


def upload(directory: Path, environment: str, port: str | None, progress: Progress | None = None) -> None:
    """Builds an environment of the project and uploads its firmware with the environment's uploader.

    port  of the programmer or boot loader, for uploaders that need one
    """
    words = ["-t", "upload", *(["--upload-port", port] if port else [])]
    variables = environment_variables(directory)
    del variables[PLATFORMS]  # what is downloaded is for all projects
    failure = _run(directory, environment, words, variables, progress)
    if failure is not None:
        raise UploadError(f"environment {environment}: PlatformIO cannot build and upload it\n{failure}")


def check_registry(platform: str) -> None:
    """Raises UploadError if `platform` (owner/name@version) is not installed and cannot be downloaded.

    PlatformIO would report it after a minute, without the name of the platform.
    """
    name = platform.split("@")[0]
    if (_core_folder() / "platforms" / name.split("/")[-1]).exists():
        return
    probe = subprocess.run([sys.executable, "-c", REGISTRY_HOSTS], capture_output=True, text=True, check=False)
    hosts = probe.stdout.split()
    if hosts and not any(map(_is_known, hosts)):
        raise UploadError(f"{hosts[0]} cannot be reached, from where PlatformIO has to download {name} first")


def _is_known(host: str) -> bool:
    try:
        socket.getaddrinfo(f"api.{host}", 443)
    except OSError:
        return False
    return True


def _run(
    directory: Path, environment: str, words: Sequence[str], variables: Mapping[str, str], progress: Progress | None
) -> str | None:
    """Runs PlatformIO on an environment of the project; returns its output if it fails, else None.

    Raises BuildError for a folder in whose path it cannot build.
    """
    if "$" in str(directory.resolve()):  # where SCons puts a variable's value
        raise BuildError(f"{directory.resolve()}: PlatformIO cannot build in a folder whose path has $")
    if not _is_utf8(str(directory.resolve())):
        raise BuildError(f"{directory.resolve()}: PlatformIO cannot build in a folder whose path is not UTF-8")
    command = [sys.executable, "-m", "platformio", "run", "-d", str(directory), "-e", environment, *words]
    with tempfile.TemporaryFile("w+", encoding="utf-8", errors="replace") as errors:
        with tool_process(command, errors, variables) as process:
            output = _follow(process, progress)
        errors.seek(0)
        return None if process.returncode == 0 else _readable(errors.read()) or output


def _is_utf8(path: str) -> bool:
    """Whether all bytes of a path are UTF-8; Python keeps others as surrogates."""
    try:
        path.encode()
    except UnicodeEncodeError:
        return False
    return True


def _follow(process: subprocess.Popen[str], progress: Progress | None) -> str:
    """Last lines of the process's output; reports each build step to `progress`."""
    lines: list[str] = []
    for line in process.stdout or ():
        lines = [*lines[-19:], line]
        if progress and line.startswith(
            ("Compiling ", "Archiving ", "Linking ", "Downloading ", "Unpacking ", "Uploading ")
        ):
            progress(line.strip())
    return "".join(lines)


def _readable(errors: str) -> str:
    """The errors without PlatformIO's advice to search its library registry; of a traceback its last line."""
    if "Traceback (most recent call last)" in errors:
        return errors.strip().splitlines()[-1]
    return "\n".join(line for line in errors.splitlines() if not re.match(r"\s*$|\*\*\*\*|\* |\*$", line))


def environment_variables(directory: Path) -> dict[str, str]:
    """Environment of PlatformIO: no telemetry, upgrade checks or colours; tflmgen's core folder unless set by the user.

    The platforms folder is the project's own: two concurrent builds would conflict in a shared one.
    """
    settings = {
        "PLATFORMIO_CORE_DIR": str(_core_folder()),
        PLATFORMS: str(directory.resolve() / ".pio" / "platforms"),
        "PLATFORMIO_SETTING_ENABLE_TELEMETRY": "No",
        "PLATFORMIO_DISABLE_UPGRADE_CHECK": "true",
        "PLATFORMIO_SETTING_CHECK_PLATFORMIO_INTERVAL": "36500",
        "PLATFORMIO_NO_ANSI": "true",
        "PLATFORMIO_DISABLE_PROGRESSBAR": "true",
    }
    return {**os.environ, **settings}


def _core_folder() -> Path:
    return Path(os.environ.get("PLATFORMIO_CORE_DIR") or cache_folder("platformio"))
