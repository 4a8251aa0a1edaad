"""Sources that are a function in a Python file, given as net.py:make."""

from __future__ import annotations

import re
from pathlib import Path

from tflmgen.user_files import TEXT_LIMIT, read_limited


def is_torch_function(path: Path) -> bool:
    """Whether the source is a function, given as net.py:make, in a file that imports torch."""
    file, function = file_of_source(path), str(path).rpartition(":")[2]
    if file == path or not function.isidentifier() or not file.is_file():
        return False
    text = read_limited(file, TEXT_LIMIT).decode(errors="replace")
    return re.search(r"^\s*(import|from) torch\b", text, re.MULTILINE) is not None


def file_of_source(path: Path) -> Path:
    """The file that a source is in: of net.py:make, net.py."""
    file, colon, _ = str(path).rpartition(":")
    return Path(file) if colon and file.endswith(".py") else path


def stem_of_source(path: Path) -> str:
    """The name, without suffix, of what is made of a source: of net.py:make, make."""
    return path.stem if file_of_source(path) == path else str(path).rpartition(":")[2]
