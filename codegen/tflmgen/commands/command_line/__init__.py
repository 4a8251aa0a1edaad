"""Arguments, options and help of each command, whose module is imported when the command runs."""

from __future__ import annotations

# The help lists the commands in the order of these imports.
# isort: off
from tflmgen.commands.command_line.application import app
from tflmgen.commands.command_line import firmware_commands
from tflmgen.commands.command_line import model_commands
from tflmgen.commands.command_line import board_commands
from tflmgen.commands.command_line import report_commands
# isort: on

__all__ = ["app", "board_commands", "firmware_commands", "model_commands", "report_commands"]
