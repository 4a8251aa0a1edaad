"""Code size of a model: flash of its firmware, minus its weights, minus the firmware of an empty model."""

from __future__ import annotations

import hashlib
import json
import subprocess
import tempfile
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

from tflmgen.compiler import Compilation, compile_module
from tflmgen.hardware import Board
from tflmgen.ir.graph import Block, EntryPoint, Function, Module
from tflmgen.options import BuildOptions
from tflmgen.project.assemble import Project, write
from tflmgen.project.firmware_build import compile_project, project_of
from tflmgen.project.platformio import Firmware
from tflmgen.terminal import Console
from tflmgen.toolchain import find_compiler
from tflmgen.user_cache import cache_folder, write_cached

EMPTY = Module(
    path="empty",
    sha256="0" * 64,
    functions=(Function("main", (), Block((), ())),),
    signatures=(EntryPoint("serving_default", "main", (), ()),),
    constants={},
)


def code_bytes(
    firmware: Firmware, compilation: Compilation, board: Board, options: BuildOptions, console: Console
) -> int:
    """Bytes of code of the model alone."""
    weights = int(compilation.plan["weights"]["bytes"])
    return firmware.text + firmware.data - weights - _empty_flash(board, options, console)


def _empty_flash(board: Board, options: BuildOptions, console: Console) -> int:
    """Bytes of flash of an empty model's firmware; cached by the project's text and the compiler."""
    compilation = _empty_compilation(board, options)
    project = project_of(compilation, board, options)
    cache = _cache_file(project, board)
    with suppress(OSError, ValueError):
        return int(cache.read_text(encoding="utf-8"))
    with tempfile.TemporaryDirectory(prefix="tflmgen-") as folder:
        directory = Path(folder) / "empty"
        write(project, directory)
        built = compile_project(directory, compilation, board, console)
    flash = built.text + built.data
    write_cached(cache, str(flash))
    return flash


def _empty_compilation(board: Board, options: BuildOptions) -> Compilation:
    target = replace(board.target, optimize=options.optimize.value)
    return compile_module(EMPTY, "empty", target, BuildOptions(optimize=options.optimize))


def _cache_file(project: Project, board: Board) -> Path:
    compiler = find_compiler(board.architecture)
    version = subprocess.run([str(compiler), "--version"], capture_output=True, check=False).stdout
    digest = hashlib.sha256(version)
    for path, data in (*project.files, *project.shared_files, *project.user_files):
        digest.update(json.dumps([path, len(data)]).encode() + data)
    return cache_folder("empty-model") / digest.hexdigest()[:32]
