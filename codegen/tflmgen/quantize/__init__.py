"""Quantisation: calibration on the host build, and the rewrite of a float Model to int8 or int16.

In: a Model and sets of inputs. Out: a quantised Model, and what it costs in accuracy.
Decided here: the type and scale of each tensor, across branches, loops, calls and variables.
"""

from tflmgen.quantize.calibration import calibrate, measure
from tflmgen.quantize.calibration_data import read_calibration, split
from tflmgen.quantize.cycle_estimates import CORE, cycles_of_invoke, operator_cycles
from tflmgen.quantize.equalization import ChannelWatcher, equalized, find_pairs
from tflmgen.quantize.evaluation import Evaluation, compare_runs, run_sets, with_types
from tflmgen.quantize.file_quantization import QuantizedFile, quantize_file
from tflmgen.quantize.layer_inputs import LayerWatcher, input_rows
from tflmgen.quantize.model_quantization import (
    QuantizationChoice,
    QuantizedModel,
    prepare_float,
    quantize_model,
)
from tflmgen.quantize.observed_build import ObservedBuild, observed_build
from tflmgen.quantize.range_choice import (
    Affine,
    RangeMethod,
    affine_for,
    affine_of,
    choose_range,
    clipped_share,
    sqnr_db,
    squared_error,
)
from tflmgen.quantize.sensitivity import (
    measure_sensitivity,
    web_values,
)
from tflmgen.quantize.statistics import Calibration, TensorStatistics, statistics_of
from tflmgen.quantize.type_search import Limits, choose_types, evaluate, promotion_order
from tflmgen.quantize.web_constraints import Webs, find_webs
from tflmgen.quantize.web_costs import widening_costs
from tflmgen.quantize.web_summary import WebSummary, summarize_webs
from tflmgen.quantize.weight_rounding import compensated, corrected_layers

__all__ = [
    "CORE",
    "Affine",
    "Calibration",
    "ChannelWatcher",
    "Evaluation",
    "LayerWatcher",
    "Limits",
    "ObservedBuild",
    "QuantizationChoice",
    "QuantizedFile",
    "QuantizedModel",
    "RangeMethod",
    "TensorStatistics",
    "WebSummary",
    "Webs",
    "affine_for",
    "affine_of",
    "calibrate",
    "choose_range",
    "choose_types",
    "clipped_share",
    "compare_runs",
    "compensated",
    "corrected_layers",
    "cycles_of_invoke",
    "equalized",
    "evaluate",
    "find_pairs",
    "find_webs",
    "input_rows",
    "measure",
    "measure_sensitivity",
    "observed_build",
    "operator_cycles",
    "prepare_float",
    "promotion_order",
    "quantize_file",
    "quantize_model",
    "read_calibration",
    "run_sets",
    "split",
    "sqnr_db",
    "squared_error",
    "statistics_of",
    "summarize_webs",
    "web_values",
    "widening_costs",
    "with_types",
]
