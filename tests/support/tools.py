"""Marks of tests that need a program which may be missing. In CI, which installs them all, such tests run and fail."""

from __future__ import annotations

import os
import shutil
import subprocess

import pytest
from tflmgen.hardware.board import Board
from tflmgen.toolchain.programs import find_renode


def may_lack(*programs: str) -> bool:
    """Whether none of these programs is installed, and the environment variable CI doesn't say that one has to be."""
    return not any(map(shutil.which, programs)) and not os.environ.get("CI")


def requires(*programs: str) -> pytest.MarkDecorator:
    """Skips where none of these programs is installed, but not in CI."""
    return pytest.mark.skipif(may_lack(*programs), reason=f"needs {programs[0]}")


def binutils(board: Board, program: str) -> str:
    """Name of a program of the toolchain for a board: "objdump", "readelf"."""
    assert board.architecture.toolchain
    return f"{board.architecture.toolchain.prefix}{program}"


def requires_compiler_for(board: Board) -> pytest.MarkDecorator:
    """Skips where the compiler for a board's architecture is missing, but not in CI."""
    return requires(binutils(board, "gcc"))


def requires_qemu_for(board: Board) -> pytest.MarkDecorator:
    """Skips where the QEMU for a board's architecture is missing, but not in CI."""
    return requires(board.architecture.qemu)


def compiler_version() -> str:
    """Version of arm-none-eabi-gcc; "none" if it is not installed."""
    if shutil.which("arm-none-eabi-gcc") is None:
        return "none"
    return subprocess.run(["arm-none-eabi-gcc", "-dumpfullversion"], capture_output=True, text=True, check=True).stdout


COMPILER = "12.2"
"""Sizes and counts in the README and the pages are those of this arm-none-eabi-gcc."""

requires_compiler_of_figures = pytest.mark.skipif(
    not compiler_version().startswith(COMPILER), reason=f"needs arm-none-eabi-gcc {COMPILER}"
)
requires_compiler = requires("arm-none-eabi-gcc")
requires_qemu = requires("qemu-system-arm")
requires_renode = pytest.mark.skipif(find_renode() is None, reason="needs Renode")
"""A real one, which no package index has: .ci/setup cannot bring it, so CI may lack it."""
