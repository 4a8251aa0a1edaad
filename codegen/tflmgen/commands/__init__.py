"""The command line: arguments, options and help of each command (command_line/), and what the command prints.

In: the words of a command line. Out: text for people or JSON for programs, files, and an exit code.
Decided here: names of commands and options, and what users see. A command's module is imported when the command runs.
"""

from tflmgen.commands.command_line import app

__all__ = ["app"]
