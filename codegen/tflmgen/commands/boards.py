"""tflmgen boards."""

from __future__ import annotations

from typing import Any

from tflmgen.architectures import ARCHITECTURES
from tflmgen.hardware import HOST, Board, list_boards
from tflmgen.options import OutputOptions
from tflmgen.terminal import Column, Console, Table, readable
from tflmgen.toolchain import find_renode, has_program


def boards_command(output: OutputOptions) -> None:
    """Prints the boards that come with tflmgen, and the host."""
    console = Console(output)
    installed = _installed_emulators()
    boards = [_describe(board, installed) for board in (*list_boards(), HOST)]
    console.json(boards)
    columns = (
        Column("board", min_width=16),
        Column("core"),
        Column("features", priority=4),
        Column("flash", numeric=True),
        Column("RAM", numeric=True),
        Column("emulators here", min_width=11, wraps=True),
        Column("flashed by", priority=3),
        Column("what it is", priority=2, min_width=20, wraps=True),
    )
    console.table(Table("", columns, [_row(b) for b in boards]))
    missing = [name for name in ("QEMU", "Renode") if name not in installed]
    if missing:
        console.line(f"Not installed here: {', '.join(missing)}.")


def _installed_emulators() -> set[str]:
    """Names of the emulators that are installed for any architecture."""
    renode = {"Renode"} if find_renode() is not None else set()
    return renode | ({"QEMU"} if any(has_program(a.qemu) for a in ARCHITECTURES) else set())


def _describe(board: Board, installed: set[str]) -> dict[str, Any]:
    runs_in = [name for name, model in (("QEMU", board.qemu), ("Renode", board.renode)) if model]
    return {
        "id": board.id,
        "title": board.title,
        "core": board.core,
        "features": sorted(board.features),
        "clock": None if board.is_host else board.clock,
        "flash_bytes": board.flash_bytes,
        "ram_bytes": board.ram_bytes,
        "memories": [{"name": m.name, "origin": m.origin, "size": m.size, "kind": m.kind} for m in board.memories],
        "upload": board.platformio.platform
        if board.platformio and not board.upload
        else " ".join(board.upload) or None,
        "notes": list(board.notes),
        "emulators": runs_in,
        "emulators_found": [name for name in runs_in if _is_installed(name, board, installed)],
    }


def _is_installed(emulator: str, board: Board, installed: set[str]) -> bool:
    return emulator in installed and (emulator != "QEMU" or has_program(board.architecture.qemu))


def _row(board: dict[str, Any]) -> tuple[str, ...]:
    sizes = [readable(board[key]) if board[key] else "-" for key in ("flash_bytes", "ram_bytes")]
    emulators = ", ".join(board["emulators_found"]) or ("none needed" if board["id"] == HOST.id else "none")
    uploader = (board["upload"] or "-").split("@")[0].removeprefix("platformio/")
    return (board["id"], board["core"], " ".join(board["features"]) or "-", *sizes, emulators, uploader, board["title"])
