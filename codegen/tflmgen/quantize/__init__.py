"""Quantisation: calibration on the host build, and the rewrite of a float Model to int8 or int16.

In: a Model and sets of inputs. Out: a quantised Model, and what it costs in accuracy.
Decided here: the type and scale of each tensor, across branches, loops, calls and variables.
"""

from tflmgen.quantize.block_weights import BlockedFile, quantize_weights, weight_format
from tflmgen.quantize.cycle_estimates import CORE
from tflmgen.quantize.evaluation import Evaluation, certain_agreement, compare_runs, run_sets, with_types
from tflmgen.quantize.file_quantization import QuantizedFile, quantize_file
from tflmgen.quantize.list_rows import with_row_operators
from tflmgen.quantize.model_quantization import is_quantized_file
from tflmgen.quantize.observed_build import observed_build
from tflmgen.quantize.output_errors import MeanNoise, OutputError
from tflmgen.quantize.token_losses import TokenLoss
from tflmgen.quantize.web_costs import operator_work
from tflmgen.quantize.web_summary import WebSummary, summarize_webs

__all__ = [
    "CORE",
    "BlockedFile",
    "Evaluation",
    "MeanNoise",
    "OutputError",
    "QuantizedFile",
    "TokenLoss",
    "WebSummary",
    "certain_agreement",
    "compare_runs",
    "is_quantized_file",
    "observed_build",
    "operator_work",
    "quantize_file",
    "quantize_weights",
    "run_sets",
    "summarize_webs",
    "weight_format",
    "with_row_operators",
    "with_types",
]
