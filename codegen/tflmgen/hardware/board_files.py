"""Files of a board's folder: plain names, regular files of the folder itself, of bounded size."""

from __future__ import annotations

import re
from functools import cache
from importlib.resources import files
from pathlib import Path

from tflmgen.errors import TflmgenError
from tflmgen.user_files import read_limited

LARGEST = 1 << 20
"""Bytes of the largest file that is read; board.json, a .repl and a UART driver have some thousand."""
MOST = 64
"""C files of a folder, at most."""
PLAIN_NAME = re.compile(r"\w[\w.+-]*", re.ASCII)
REPL_COMMANDS = re.compile(
    r"\b(?:((?:pre)?init|reset)(?:\s+add)?\s*:|(script|\w*file\w*)\s*:|\b(using)\b|(Python|\w*CoSimulat\w*|\w*Verilat\w*)\b)",
    re.IGNORECASE,
)
"""Words of a .repl with which Renode runs commands, scripts or libraries, or reads further files."""


class BoardError(TflmgenError):
    """An unknown board, or a board.json that violates its schema."""


@cache
def boards_folder() -> Path:
    """Folder of the boards that come with tflmgen."""
    return Path(str(files("tflmgen.boards"))).resolve()


def read_board_file(folder: Path, name: str) -> bytes:
    """Contents of file `name` of a board's folder. Raises BoardError for anything but a small regular file in it."""
    path = folder / name
    if not PLAIN_NAME.fullmatch(name):
        raise BoardError(f"{folder}: {name!r} is not the plain name of a file")
    try:
        if path.resolve().parent != folder.resolve() and folder.resolve().parent != boards_folder():
            raise BoardError(f"{path}: a link out of the board's folder")
        return read_limited(path, LARGEST)
    except OSError as error:
        raise BoardError(f"{path}: {error.strerror}") from None


def read_c_files(folder: Path) -> dict[str, bytes]:
    """The .c and .h files of a board's folder, which travel into projects, by name."""
    names = sorted(path.name for path in folder.glob("*.[ch]"))
    if len(names) > MOST:
        raise BoardError(f"{folder}: {len(names):,} C files; at most {MOST} are taken")
    return {name: read_board_file(folder, name) for name in names}


def read_repl(folder: Path, name: str) -> bytes:
    """A .repl of a board's folder, which describes hardware and runs nothing in Renode. Raises BoardError otherwise."""
    data = read_board_file(folder, name)
    text = data.decode("utf-8", "replace")
    without_comments = re.sub(r"/\*.*?\*/|//[^\n]*", " ", text, flags=re.DOTALL)
    command = REPL_COMMANDS.search(text) or REPL_COMMANDS.search(without_comments)
    if command and folder.resolve().parent != boards_folder():
        raise BoardError(
            f"{folder / name}: '{command[command.lastindex or 0]}' runs commands or reads files in Renode, and a "
            "board's .repl describes hardware alone"
        )
    return data
