"""Finds and runs compilers and other tools. Errors name the package of a missing program."""

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

from tflmgen.architectures import ARCHITECTURES, Architecture
from tflmgen.errors import TflmgenError

PACKAGES = {
    "cc": "gcc",
    **{architecture.qemu: architecture.qemu_package for architecture in ARCHITECTURES},
    **{a.toolchain.compiler: a.toolchain.packages for a in ARCHITECTURES if a.toolchain},
}
"""Program -> Debian's packages, where they have another name."""
RENODE_VARIABLE = "TFLMGEN_RENODE"


class ToolchainError(TflmgenError):
    """A required program is not installed."""


def find_program(name: str) -> Path:
    """Path of program `name` in PATH. Raises ToolchainError if it is missing."""
    path = shutil.which(name)
    if path is None:
        chains = [a.toolchain for a in ARCHITECTURES if a.toolchain and name.startswith(a.toolchain.prefix)]
        packages = PACKAGES.get(name) or next((chain.binutils for chain in chains), name)
        raise ToolchainError(f"{name} is not installed. On Debian: apt install {packages}")
    return Path(path)


def has_program(name: str) -> bool:
    """Whether program `name` is in PATH."""
    return shutil.which(name) is not None


def find_host_compiler() -> Path:
    """C compiler of the host: $CC, else cc, gcc or clang in PATH. Raises ToolchainError."""
    for name in (os.environ.get("CC", ""), "cc", "gcc", "clang"):
        path = shutil.which(name) if name else None
        if path:
            return Path(path)
    return find_program("cc")


def find_compiler(architecture: Architecture) -> Path:
    """Path of the C compiler for an architecture. Raises ToolchainError if it or its C library is missing."""
    chain = architecture.toolchain
    if chain is None:
        return find_host_compiler()
    compiler = find_program(chain.compiler)
    command = [str(compiler), f"-print-file-name={chain.specs}"]
    specs = subprocess.run(command, capture_output=True, text=True, check=False).stdout.strip()
    if not Path(specs).is_absolute():
        missing = f"{chain.library} ({chain.specs})"
        raise ToolchainError(f"{compiler} has no {missing}. On Debian: apt install {chain.packages}")
    return compiler


def find_binutil(compiler: Path, name: str) -> Path:
    """Path of a program of binutils as GCC knows it: beside `compiler`, which may be a link to ccache, there is none.

    Raises ToolchainError if it is missing.
    """
    command = [str(compiler), f"-print-prog-name={name}"]
    path = Path(subprocess.run(command, capture_output=True, text=True, check=False).stdout.strip())
    return path if path.is_absolute() else find_program(compiler.name.replace("gcc", name))


def find_renode(requested: str | None = None) -> Path | None:
    """Path of Renode: `requested` (a path or program name), else $TFLMGEN_RENODE, else in PATH; None if not installed.

    Raises ToolchainError if a program named by the user does not exist.
    """
    for source, name in (("--renode", requested), (RENODE_VARIABLE, os.environ.get(RENODE_VARIABLE))):
        if name:
            path = shutil.which(name)
            if path is None:
                raise ToolchainError(f"{source}: there is no program {name}")
            return Path(path)
    path = shutil.which("renode")
    return Path(path) if path else None


@contextmanager
def tool_process(
    command: Sequence[str], stderr: int | IO[Any], variables: Mapping[str, str] = os.environ
) -> Iterator[subprocess.Popen[str]]:
    """Runs a compiler or build system, with standard output as a pipe, and cleans up after the body.

    It runs in a process group of its own, which ends with the body, and with a temporary TMPDIR.
    """
    with (
        tempfile.TemporaryDirectory(prefix="tflmgen-", ignore_cleanup_errors=True) as folder,
        subprocess.Popen(
            command,
            env={**variables, "TMPDIR": folder},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=stderr,
            encoding="utf-8",
            errors="replace",  # names of files may have bytes that are no UTF-8
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
    """Runs a compiler to its end; see tool_process()."""
    with tool_process(command, subprocess.PIPE) as process:
        out, err = process.communicate()
    return subprocess.CompletedProcess(command, process.returncode, out, err)
