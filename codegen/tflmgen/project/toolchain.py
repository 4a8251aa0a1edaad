"""Finding and running compilers and their like. A program that is missing is named with the package that has it."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, Any

from tflmgen.errors import TflmgenError

ARM_PACKAGES = "gcc-arm-none-eabi libnewlib-arm-none-eabi"
PACKAGES = {"arm-none-eabi-addr2line": "binutils-arm-none-eabi", "qemu-system-arm": "qemu-system-arm", "cc": "gcc"}
RENODE_VARIABLE = "TFLMGEN_RENODE"


class ToolchainError(TflmgenError):
    """A program that is needed is not installed."""


def find_program(name: str) -> Path:
    """The program `name` of PATH."""
    found = shutil.which(name)
    if found is None:
        packages = ARM_PACKAGES if name.startswith("arm-none-eabi-g") else PACKAGES.get(name, name)
        raise ToolchainError(f"{name} is not installed. On Debian: apt install {packages}")
    return Path(found)


def find_host_compiler() -> Path:
    """The C compiler of this computer: $CC, else cc, gcc or clang of PATH."""
    for name in (os.environ.get("CC", ""), "cc", "gcc", "clang"):
        found = shutil.which(name) if name else None
        if found:
            return Path(found)
    return find_program("cc")


def find_arm_compiler() -> Path:
    """arm-none-eabi-gcc, with newlib's nano variant beside it."""
    compiler = find_program("arm-none-eabi-gcc")
    command = [str(compiler), "-print-file-name=nano.specs"]
    specs = subprocess.run(command, capture_output=True, text=True, check=False).stdout.strip()
    if not Path(specs).is_absolute():
        raise ToolchainError(f"{compiler} has no newlib (nano.specs). On Debian: apt install {ARM_PACKAGES}")
    return compiler


def find_renode(asked: str | None = None) -> Path | None:
    """Renode: `asked` (a path or program name), else $TFLMGEN_RENODE, else renode of PATH; None if not installed.

    What the user names must exist.
    """
    for source, name in (("--renode", asked), (RENODE_VARIABLE, os.environ.get(RENODE_VARIABLE))):
        if name:
            found = shutil.which(name)
            if found is None:
                raise ToolchainError(f"{source}: there is no program {name}")
            return Path(found)
    found = shutil.which("renode")
    return Path(found) if found else None


@contextmanager
def tool_process(
    command: Sequence[str], stderr: int | IO[Any], variables: Mapping[str, str] = os.environ
) -> Iterator[subprocess.Popen[str]]:
    """A compiler or build system, its standard output piped, that leaves nothing behind where the body fails.

    It and what it starts are one process group, which ends with the body; their temporary files (TMPDIR) are in a
    folder that goes away.
    """
    with (
        tempfile.TemporaryDirectory(prefix="tflmgen-", ignore_cleanup_errors=True) as folder,
        subprocess.Popen(
            command,
            env={**variables, "TMPDIR": folder},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=stderr,
            text=True,
            start_new_session=True,
        ) as process,
    ):
        try:
            yield process
        except BaseException:
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)  # the compilers too
            raise


def run_tool(command: Sequence[str]) -> subprocess.CompletedProcess[str]:
    """A compiler's run to its end; see tool_process()."""
    with tool_process(command, subprocess.PIPE) as process:
        out, err = process.communicate()
    return subprocess.CompletedProcess(command, process.returncode, out, err)
