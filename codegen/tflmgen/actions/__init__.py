"""Actions on a model that is planned for a board: build, run, count, compare and export, for commands and Python alike.

In: a model, a board and options. Out: a PlannedModel, outputs of runs and counts, as values; files.
Decided here: what each action does before and after it starts a compiler or an emulator, and the JSON of its figures.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tflmgen.actions.application_figures import Supply, energy_json
    from tflmgen.actions.board_fit import BoardFit, fit_boards, fit_of, named_boards
    from tflmgen.actions.convert_tensorflow import converted, digest_of, is_conversion
    from tflmgen.actions.invokes import (
        GENERATED,
        Invokes,
        bench_attached,
        bench_inputs,
        bench_sets,
        check_countable,
        invoke_sets,
    )
    from tflmgen.actions.output_comparison import Check, MismatchError, OutputComparison, compare_outputs, sets_of
    from tflmgen.actions.planned_model import PlannedModel, plan_file
    from tflmgen.actions.project_build import (
        check_export,
        export_library,
        flash_project,
        measure_firmware,
        save_project,
    )
    from tflmgen.actions.quantize_warnings import operators_in_float, quantization_warnings

_MODULES = {
    "application_figures": "Supply energy_json",
    "board_fit": "BoardFit fit_boards fit_of named_boards",
    "convert_tensorflow": "converted digest_of is_conversion",
    "invokes": "GENERATED bench_attached bench_inputs bench_sets check_countable invoke_sets Invokes",
    "output_comparison": "Check OutputComparison MismatchError compare_outputs sets_of",
    "planned_model": "PlannedModel plan_file",
    "project_build": "check_export export_library flash_project save_project measure_firmware",
    "quantize_warnings": "operators_in_float quantization_warnings",
}
"""Module -> its names here. It is imported when one of them is asked for, so that a command loads what it needs."""

__all__ = [
    "GENERATED",
    "BoardFit",
    "Check",
    "Invokes",
    "MismatchError",
    "OutputComparison",
    "PlannedModel",
    "Supply",
    "bench_attached",
    "bench_inputs",
    "bench_sets",
    "check_countable",
    "check_export",
    "compare_outputs",
    "converted",
    "digest_of",
    "energy_json",
    "export_library",
    "fit_boards",
    "fit_of",
    "flash_project",
    "invoke_sets",
    "is_conversion",
    "measure_firmware",
    "named_boards",
    "operators_in_float",
    "plan_file",
    "quantization_warnings",
    "save_project",
    "sets_of",
]


def __getattr__(name: str) -> object:
    for module, names in _MODULES.items():
        if name in names.split():
            return getattr(import_module(f"{__name__}.{module}"), name)
    raise AttributeError(f"module '{__name__}' has no attribute '{name}'")
