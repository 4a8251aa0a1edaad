"""The commands: each takes what cli.py parsed, and prints its result.

In: typed options. Out: text for people or JSON for programs, files, and an exit code.
Decided here: what users see.
"""

from tflmgen.commands.bench import bench_command
from tflmgen.commands.boards import boards_command
from tflmgen.commands.boards_new import boards_new_command
from tflmgen.commands.build import build_command
from tflmgen.commands.export import export_command
from tflmgen.commands.flash import flash_command
from tflmgen.commands.inspect import inspect_command
from tflmgen.commands.monitor import monitor_command
from tflmgen.commands.operators import operators_command
from tflmgen.commands.pareto import pareto_command
from tflmgen.commands.run import run_command
from tflmgen.commands.test import test_command
from tflmgen.commands.test_layers import layers_command

__all__ = [
    "bench_command",
    "boards_command",
    "boards_new_command",
    "build_command",
    "export_command",
    "flash_command",
    "inspect_command",
    "layers_command",
    "monitor_command",
    "operators_command",
    "pareto_command",
    "run_command",
    "test_command",
]
