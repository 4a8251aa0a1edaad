"""Projects and libraries on disk: written, compiled, exported and flashed."""

from __future__ import annotations

import tempfile
from dataclasses import dataclass
from pathlib import Path

from tflmgen.actions.board_fit import time_of
from tflmgen.actions.planned_model import Json, PlannedModel
from tflmgen.backend import entry_names
from tflmgen.errors import UsageError
from tflmgen.hardware import Board, memory_use
from tflmgen.options import BuildOptions, Format
from tflmgen.project import (
    PROJECT,
    Firmware,
    check_folder,
    code_bytes,
    compile_project,
    export,
    flash,
    kept_if_whole,
    project_of,
    require_compiler,
    write,
    write_export,
)
from tflmgen.report import report_html
from tflmgen.terminal import Console
from tflmgen.toolchain import stack_worst_case


@dataclass(frozen=True, slots=True)
class ProjectBuild:
    """A project on disk.

    plan        contents of plan.json, with `time`, and `firmware` if it was compiled
    firmware    None if it was not compiled
    kept_files  paths of files with the user's changes, which were not updated
    """

    plan: Json
    firmware: Firmware | None
    kept_files: tuple[str, ...]


def save_project(model: PlannedModel, directory: Path, is_compiled: bool, console: Console) -> ProjectBuild:
    """Writes the model's project to `directory`, and compiles it if asked to.

    Raises FolderError for a folder that is not tflmgen's, ToolchainError without a compiler, BudgetError for a firmware
    that does not fit. A folder that was not there before is then not there after.
    """
    check_folder(directory, PROJECT)
    if is_compiled:
        require_compiler(model.board)
    compilation, board, options = model.compilation, model.board, model.options
    plan, firmware = {**model.plan, "time": time_of(board, model.plan)}, None
    with kept_if_whole(directory):
        kept_files = write(project_of(compilation, board, options, report_html(plan, board)), directory)
        if is_compiled:
            firmware = compile_project(directory, compilation, board, console)
            plan = {**plan, "firmware": firmware_json(firmware, model, console)}
            write(project_of(compilation, board, options, report_html(plan, board, plan["firmware"])), directory)
    return ProjectBuild(plan, firmware, kept_files)


def measure_firmware(model: PlannedModel, console: Console) -> Json:
    """plan.json's `firmware` of a project that is compiled in a temporary folder."""
    require_compiler(model.board)
    with tempfile.TemporaryDirectory(prefix="tflmgen-") as folder:
        directory = Path(folder) / model.compilation.name
        write(project_of(model.compilation, model.board, model.options), directory)
        firmware = compile_project(directory, model.compilation, model.board, console)
        return firmware_json(firmware, model, console)


def firmware_json(firmware: Firmware, model: PlannedModel, console: Console) -> Json:
    """plan.json's `firmware`: sizes in bytes."""
    board = model.board
    stack = stack_worst_case(firmware.elf, board.architecture, firmware.elf.parent, _entries(model))
    return {
        "elf": str(firmware.elf),
        "text": firmware.text,
        "data": firmware.data,
        "bss": firmware.bss,
        "code_bytes": code_bytes(firmware, model.compilation, board, model.options, console),
        "stack_worst_case": stack,
        "memories": memory_use(firmware.elf, board),
    }


def _entries(model: PlannedModel) -> tuple[str, ...]:
    """Names of the C functions that run the model, one per signature."""
    keys = [signature.key for signature in model.compilation.module.signatures]
    return tuple(
        f"{model.compilation.name}{infix or '_invoke'}" for infix in entry_names(keys, model.options.reentrant)
    )


def flash_project(
    model: PlannedModel, directory: Path | None, port: str | None, console: Console
) -> tuple[Path, str, tuple[str, ...]]:
    """Builds the project and flashes the attached board: the project's folder, the uploader, and files that were kept.

    directory  None: a temporary one
    """
    with tempfile.TemporaryDirectory(prefix="tflmgen-") as folder:
        target = directory or Path(folder) / model.compilation.name
        with kept_if_whole(target):
            kept_files = write(project_of(model.compilation, model.board, model.options), target)
            uploader = flash(target, model.compilation, model.board, port, console)
    return target, uploader, kept_files


def check_export(board: Board, form: Format, options: BuildOptions, directory: Path) -> None:
    """Raises UsageError for options that an exported library cannot have, FolderError for a folder in the way."""
    if form is Format.ESP_IDF and not board.is_host:
        raise UsageError("--format esp-idf is for processors that take portable C: leave --board out")
    if options.place:
        raise UsageError(
            "--place is for the linker script of a project: an exported library has macros for its sections"
        )
    check_folder(directory, form.value)


def export_library(model: PlannedModel, form: Format, directory: Path) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Writes the model's library: paths of its files and examples, and of files with the user's changes."""
    check_export(model.board, form, model.options, directory)
    project = project_of(model.compilation, model.board, model.options)
    exported = export(model.compilation, project, model.board, form)
    kept_files = write_export(exported, directory)
    return tuple(sorted({*exported.files, *exported.examples})), kept_files
