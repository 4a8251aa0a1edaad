"""The command line: arguments, options and help of each command, whose work is in commands/.

In: the words of a command line. Out: a call of a command's function with typed options.
Decided here: names of commands and options. A command's module is imported when the command runs.
"""

from __future__ import annotations

# The help lists the commands in the order of these imports.
# isort: off
from tflmgen.command_line.application import app
from tflmgen.command_line import firmware_commands
from tflmgen.command_line import model_commands
from tflmgen.command_line import board_commands
from tflmgen.command_line import report_commands
from tflmgen.command_line import sweep_command
# isort: on

__all__ = ["app", "board_commands", "firmware_commands", "model_commands", "report_commands", "sweep_command"]
