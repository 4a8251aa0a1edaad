"""Runs C of a test's own beside a generated library, on the host, under sanitizers."""

from __future__ import annotations

import subprocess
from collections.abc import Sequence
from pathlib import Path

from tflmgen.backend.c_library import Sources

from support.native import SANITIZED, WARNINGS, compile_in


def run_c(main: str, sources: Sources, folder: Path, flags: Sequence[str] = (), compiler: str = "gcc") -> str:
    """What a program of `main` and the library prints. The library's files and headers go to `folder`."""
    texts = {path: text for path, text in {**sources.files, "main.c": main}.items() if isinstance(text, str)}
    compile_in(folder, texts, [compiler, *WARNINGS, *SANITIZED, *flags], folder / "program")
    ran = subprocess.run([folder / "program"], capture_output=True, text=True, check=False, timeout=60)
    assert ran.returncode == 0, ran.stderr[-3000:]
    return ran.stdout
