"""Runs C of a test's own beside a generated library, on the host, under sanitizers."""

from __future__ import annotations

import subprocess
from collections.abc import Sequence
from pathlib import Path

from tflmgen.backend.c_library import Sources

from support.native import FIRMWARE, SANITIZED, WARNINGS


def run_c(main: str, sources: Sources, folder: Path, flags: Sequence[str] = (), compiler: str = "gcc") -> str:
    """What a program of `main` and the library prints. The library's files and headers go to `folder`."""
    for path, text in {**sources.files, "main.c": main}.items():
        target = folder / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(text)
    include = folder / "include"
    if not (include / "tflmgen").exists():
        (include / "tflmgen").symlink_to(FIRMWARE / "kernels")
    files = ["main.c", *(path for path in sources.files if path.endswith(".c"))]
    command = [compiler, *WARNINGS, *SANITIZED, f"-I{include}", f"-I{FIRMWARE / 'runtime'}", *flags]
    built = subprocess.run(
        [*command, *files, "-o", "program", "-lm"], cwd=folder, capture_output=True, text=True, check=False
    )
    assert built.returncode == 0, built.stderr[:4000]
    ran = subprocess.run([folder / "program"], capture_output=True, text=True, check=False, timeout=60)
    assert ran.returncode == 0, ran.stderr[-3000:]
    return ran.stdout
