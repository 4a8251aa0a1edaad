"""Programs of others: compilers, emulators and binutils, found, run, and read.

In: names of programs, ELF files. Out: paths and outputs, sections and symbols, the deepest stack of a call graph.
Decided here: where programs are looked for, and what a user is told of a missing one.
"""

from tflmgen.toolchain.code_flow import region_entries
from tflmgen.toolchain.elf import SHF_ALLOC, SHT_NOBITS, read_elf
from tflmgen.toolchain.programs import (
    find_compiler,
    find_host_compiler,
    find_program,
    find_renode,
    has_program,
    run_tool,
    tool_process,
)
from tflmgen.toolchain.stack import stack_worst_case

__all__ = [
    "SHF_ALLOC",
    "SHT_NOBITS",
    "find_compiler",
    "find_host_compiler",
    "find_program",
    "find_renode",
    "has_program",
    "read_elf",
    "region_entries",
    "run_tool",
    "stack_worst_case",
    "tool_process",
]
