"""Folders on disk: boards, PlatformIO projects, exported libraries, and the sizes of compiled firmware.

In: generated sources and a board. Out: a project folder, and a Firmware with its sizes.
Decided here: the files of a project, and the files that may be overwritten or removed.
"""

from tflmgen.project.assemble import write
from tflmgen.project.board import HOST, Board, Memory, list_boards, load_board
from tflmgen.project.board_new import missing, new_board
from tflmgen.project.budget import check_plan, has_room, peak_operator, state_bytes
from tflmgen.project.code_size import code_bytes
from tflmgen.project.cores import CORES
from tflmgen.project.elf import read_elf
from tflmgen.project.files import check_writable, write_whole
from tflmgen.project.firmware_build import (
    compile_for,
    compile_project,
    estimated_plan,
    kept_if_whole,
    plan_for,
    print_kept,
    project_of,
    require_compiler,
)
from tflmgen.project.flash_timing import FlashTiming
from tflmgen.project.flash_waits import estimated_waits
from tflmgen.project.folder import PROJECT, check_folder, read_about
from tflmgen.project.library_export import export, next_step, write_export
from tflmgen.project.memory_regions import board_for, memory_use, with_flash_of
from tflmgen.project.platformio import Firmware, build
from tflmgen.project.stack import stack_worst_case
from tflmgen.project.toolchain import (
    QEMU_PROGRAM,
    ToolchainError,
    find_host_compiler,
    find_program,
    find_renode,
    has_program,
    run_tool,
)
from tflmgen.project.upload import check_flashable, flash

__all__ = [
    "CORES",
    "HOST",
    "PROJECT",
    "QEMU_PROGRAM",
    "Board",
    "Firmware",
    "FlashTiming",
    "Memory",
    "ToolchainError",
    "board_for",
    "build",
    "check_flashable",
    "check_folder",
    "check_plan",
    "check_writable",
    "code_bytes",
    "compile_for",
    "compile_project",
    "estimated_plan",
    "estimated_waits",
    "export",
    "find_host_compiler",
    "find_program",
    "find_renode",
    "flash",
    "has_program",
    "has_room",
    "kept_if_whole",
    "list_boards",
    "load_board",
    "memory_use",
    "missing",
    "new_board",
    "next_step",
    "peak_operator",
    "plan_for",
    "print_kept",
    "project_of",
    "read_about",
    "read_elf",
    "require_compiler",
    "run_tool",
    "stack_worst_case",
    "state_bytes",
    "with_flash_of",
    "write",
    "write_export",
    "write_whole",
]
