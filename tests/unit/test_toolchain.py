from __future__ import annotations

from pathlib import Path

import pytest
from tflmgen.emulators.open_session import open_session
from tflmgen.emulators.session import EmulatorError
from tflmgen.hardware.board import load_board
from tflmgen.toolchain.programs import ToolchainError, find_binutil, find_host_compiler, find_program, find_renode


def program(folder: Path, name: str, output: str = "") -> Path:
    path = folder / name
    path.write_text(f"#!/bin/sh\necho {output}\n")
    path.chmod(0o755)
    return path


@pytest.fixture(autouse=True)
def _empty_path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.delenv("TFLMGEN_RENODE", raising=False)
    monkeypatch.delenv("CC", raising=False)


@pytest.mark.parametrize(
    ("name", "packages"),
    [
        ("qemu-system-arm", "qemu-system-arm"),
        ("arm-none-eabi-gcc", "gcc-arm-none-eabi libnewlib-arm-none-eabi"),
        ("arm-none-eabi-addr2line", "binutils-arm-none-eabi"),
        ("arm-none-eabi-objdump", "binutils-arm-none-eabi"),
    ],
)
def test_missing_program_names_its_package(name: str, packages: str) -> None:
    with pytest.raises(ToolchainError, match=f"{name} is not installed. On Debian: apt install {packages}$"):
        find_program(name)


def test_missing_host_compiler() -> None:
    with pytest.raises(ToolchainError, match="apt install gcc"):
        find_host_compiler()


def test_host_compiler_is_cc_of_the_environment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    mine = program(tmp_path, "my-cc")
    program(tmp_path, "cc")
    monkeypatch.setenv("CC", "my-cc")
    assert find_host_compiler() == mine


def test_objdump_is_the_compilers_own_though_the_compiler_stands_elsewhere(tmp_path: Path) -> None:
    """As with ccache, whose folder has compilers and nothing else."""
    compiler = program(tmp_path, "arm-none-eabi-gcc", "/opt/arm/bin/objdump")
    assert find_binutil(compiler, "objdump") == Path("/opt/arm/bin/objdump")


def test_objdump_is_in_the_path_where_the_compiler_knows_no_other(tmp_path: Path) -> None:
    compiler = program(tmp_path, "arm-none-eabi-gcc", "objdump")
    with pytest.raises(ToolchainError, match="arm-none-eabi-objdump is not installed"):
        find_binutil(compiler, "objdump")
    objdump = program(tmp_path, "arm-none-eabi-objdump")
    assert find_binutil(compiler, "objdump") == objdump


def test_renode_is_sought_in_order(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert find_renode() is None
    on_path = program(tmp_path, "renode")
    assert find_renode() == on_path
    named = program(tmp_path, "renode-named")
    monkeypatch.setenv("TFLMGEN_RENODE", str(named))
    assert find_renode() == named
    asked = program(tmp_path, "renode-asked")
    assert find_renode(str(asked)) == asked


def test_renode_that_is_named_must_exist(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(ToolchainError, match="--renode: there is no program nowhere"):
        find_renode("nowhere")
    monkeypatch.setenv("TFLMGEN_RENODE", "gone")
    with pytest.raises(ToolchainError, match="TFLMGEN_RENODE: there is no program gone"):
        find_renode()


def test_emulators_asked_for_by_name_must_be_there(tmp_path: Path) -> None:
    board = load_board("mps2_an386")
    with (
        pytest.raises(EmulatorError, match="Renode is not installed"),
        open_session(board, tmp_path, tmp_path / "x.elf", "renode"),
    ):
        pass
    with (
        pytest.raises(ToolchainError, match="apt install qemu-system-arm"),
        open_session(board, tmp_path, tmp_path / "x.elf", "qemu"),
    ):
        pass
