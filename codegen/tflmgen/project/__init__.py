"""Folders on disk: PlatformIO projects, exported libraries, and the sizes of compiled firmware.

In: generated sources and a board. Out: a project folder, and a Firmware with its sizes.
Decided here: the files of a project, and the files that may be overwritten or removed.
"""

from tflmgen.project.assemble import write
from tflmgen.project.budget import arena_parts, check_plan, has_room, peak_operator, state_bytes
from tflmgen.project.code_size import code_bytes
from tflmgen.project.firmware_build import (
    InputShapes,
    compile_for,
    compile_project,
    estimated_plan,
    kept_if_whole,
    plan_for,
    print_kept,
    project_of,
    require_compiler,
)
from tflmgen.project.folder import PROJECT, check_folder, read_about
from tflmgen.project.library_export import export, next_step, write_export
from tflmgen.project.platformio import Firmware, build
from tflmgen.project.upload import check_flashable, flash

__all__ = [
    "PROJECT",
    "Firmware",
    "InputShapes",
    "arena_parts",
    "build",
    "check_flashable",
    "check_folder",
    "check_plan",
    "code_bytes",
    "compile_for",
    "compile_project",
    "estimated_plan",
    "export",
    "flash",
    "has_room",
    "kept_if_whole",
    "next_step",
    "peak_operator",
    "plan_for",
    "print_kept",
    "project_of",
    "read_about",
    "require_compiler",
    "state_bytes",
    "write",
    "write_export",
]
