"""Output of commands: tables that fit the terminal, lines, progress, and JSON for programs.

In: rows, sentences and values. Out: text on standard output and standard error.
Decided here: column widths, the columns that a narrow terminal hides, and the units of sizes.
"""

from tflmgen.terminal.console import Console, Progress, error_line, no_progress
from tflmgen.terminal.text_table import Column, Table
from tflmgen.terminal.units import count, readable, share, three_digits

__all__ = [
    "Column",
    "Console",
    "Progress",
    "Table",
    "count",
    "error_line",
    "no_progress",
    "readable",
    "share",
    "three_digits",
]
