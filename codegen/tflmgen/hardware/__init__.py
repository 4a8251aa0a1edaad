"""Boards: their files, processor, memories and flash, and which memory holds what.

In: board.json files, and options. Out: a Board, with regions of memory and estimated waits for the flash.
Decided here: which boards there are, and what a board's file may say.
"""

from tflmgen.hardware.board import HOST, PLACED, Board, Memory, list_boards, load_board
from tflmgen.hardware.board_files import read_c_files, read_repl
from tflmgen.hardware.board_new import known_cores, missing, new_board
from tflmgen.hardware.flash_timing import FlashTiming, estimated_waits
from tflmgen.hardware.memory_regions import AUTO_CODE, board_for, memory_use, with_code_in_ram, with_flash_of

__all__ = [
    "AUTO_CODE",
    "HOST",
    "PLACED",
    "Board",
    "FlashTiming",
    "Memory",
    "board_for",
    "estimated_waits",
    "known_cores",
    "list_boards",
    "load_board",
    "memory_use",
    "missing",
    "new_board",
    "read_c_files",
    "read_repl",
    "with_code_in_ram",
    "with_flash_of",
]
