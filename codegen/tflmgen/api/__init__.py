"""The work of commands as functions of Python: compile, run, compare, bench and save a model.

In: a model, a board and options. Out: a CompiledModel, its plan, outputs of runs and counts, as values; files.
Decided here: the Python interface that `import tflmgen` gives, and the JSON of the commands.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tflmgen.api.application_figures import Supply, energy_json
    from tflmgen.api.application_run import ApplicationRun, Stream, run_application
    from tflmgen.api.board_fit import BoardFit, fit_boards, fit_of, named_boards
    from tflmgen.api.build_choices import CompileOptions, build_options
    from tflmgen.api.build_diff import (
        BuildDiff,
        BuildFigures,
        Change,
        GrownError,
        compare_builds,
        figures_of_plan,
        parse_allowances,
        read_build,
    )
    from tflmgen.api.compile_source import compile
    from tflmgen.api.compiled_model import CompiledModel
    from tflmgen.api.convert_tensorflow import (
        ConvertedPort,
        converted,
        digest_of,
        is_conversion,
        ports_of,
        proof_json,
        proof_lines,
    )
    from tflmgen.api.float_comparison import model_error
    from tflmgen.api.invokes import (
        GENERATED,
        bench_attached,
        bench_inputs,
        bench_sets,
        check_countable,
        invoke_sets,
    )
    from tflmgen.api.layer_comparison import LayerCheck, LayerComparison, check_static, compare_layers
    from tflmgen.api.measurements import Bench, FirmwareSizes, FlashCycles, OperatorCost
    from tflmgen.api.model_session import ModelSession
    from tflmgen.api.output_comparison import Check, Comparison, MismatchError, compare_outputs
    from tflmgen.api.plan_records import Buffer, Operator, Plan, Signature, Tensor
    from tflmgen.api.planned_model import PlannedModel, plan_file
    from tflmgen.api.project_build import (
        check_export,
        export_library,
        flash_project,
        save_project,
    )
    from tflmgen.api.python_source import quantize_to, source_file
    from tflmgen.api.quantization_results import quantization_json, quantization_lines
    from tflmgen.api.quantize_costs import Costs, board_of, measured_costs
    from tflmgen.api.quantize_warnings import operators_in_float, quantization_warnings
    from tflmgen.api.ram_curve import pareto_points
    from tflmgen.api.records import MissingPackageError, Records

_MODULES = {
    "application_figures": "Supply energy_json",
    "application_run": "ApplicationRun Stream run_application",
    "board_fit": "BoardFit fit_boards fit_of named_boards",
    "build_diff": "BuildDiff BuildFigures Change GrownError compare_builds figures_of_plan parse_allowances read_build",
    "build_choices": "CompileOptions build_options",
    "compile_source": "compile",
    "compiled_model": "CompiledModel",
    "measurements": "Bench FirmwareSizes FlashCycles OperatorCost",
    "float_comparison": "model_error",
    "model_session": "ModelSession",
    "plan_records": "Buffer Operator Plan Signature Tensor",
    "records": "MissingPackageError Records",
    "python_source": "quantize_to source_file",
    "output_comparison": "Check Comparison MismatchError compare_outputs",
    "convert_tensorflow": "ConvertedPort converted digest_of is_conversion ports_of proof_json proof_lines",
    "invokes": "GENERATED bench_attached bench_inputs bench_sets check_countable invoke_sets",
    "layer_comparison": "LayerCheck LayerComparison check_static compare_layers",
    "planned_model": "PlannedModel plan_file",
    "project_build": "check_export export_library flash_project save_project",
    "quantization_results": "quantization_json quantization_lines",
    "quantize_warnings": "operators_in_float quantization_warnings",
    "ram_curve": "pareto_points",
    "quantize_costs": "Costs board_of measured_costs",
}
"""Module -> its names here. It is imported when one of them is asked for, so that a command loads what it needs."""

__all__ = [
    "GENERATED",
    "ApplicationRun",
    "Bench",
    "BoardFit",
    "Buffer",
    "BuildDiff",
    "BuildFigures",
    "Change",
    "Check",
    "Comparison",
    "CompileOptions",
    "CompiledModel",
    "ConvertedPort",
    "Costs",
    "FirmwareSizes",
    "FlashCycles",
    "GrownError",
    "LayerCheck",
    "LayerComparison",
    "MismatchError",
    "MissingPackageError",
    "ModelSession",
    "Operator",
    "OperatorCost",
    "Plan",
    "PlannedModel",
    "Records",
    "Signature",
    "Stream",
    "Supply",
    "Tensor",
    "bench_attached",
    "bench_inputs",
    "bench_sets",
    "board_of",
    "build_options",
    "check_countable",
    "check_export",
    "check_static",
    "compare_builds",
    "compare_layers",
    "compare_outputs",
    "compile",
    "converted",
    "digest_of",
    "energy_json",
    "export_library",
    "figures_of_plan",
    "fit_boards",
    "fit_of",
    "flash_project",
    "invoke_sets",
    "is_conversion",
    "measured_costs",
    "model_error",
    "named_boards",
    "operators_in_float",
    "pareto_points",
    "parse_allowances",
    "plan_file",
    "ports_of",
    "proof_json",
    "proof_lines",
    "quantization_json",
    "quantization_lines",
    "quantization_warnings",
    "quantize_to",
    "read_build",
    "run_application",
    "save_project",
    "source_file",
]


def __getattr__(name: str) -> object:
    for module, names in _MODULES.items():
        if name in names.split():
            return getattr(import_module(f"{__name__}.{module}"), name)
    raise AttributeError(f"module '{__name__}' has no attribute '{name}'")
