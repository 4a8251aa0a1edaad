"""Model files: .tflite, Circle, ONNX and PyTorch to a Model, the Model to a Module, and a Model back to bytes.

In: a path, and bounds of dynamic dimensions. Out: a Module that verify() accepts, or a ModelError; bytes of a file.
Decided here: validity of a file; control flow becomes regions, variables become values. TFLite's terms end here.
"""

from tflmgen.frontend.bidirectional import LAYERS
from tflmgen.frontend.carried_states import without_operators
from tflmgen.frontend.constant_cuts import constant_cut
from tflmgen.frontend.fused_lstm_loops import lstm_operator
from tflmgen.frontend.importer import import_model, import_variants
from tflmgen.frontend.label_files import class_labels
from tflmgen.frontend.lstm_loops import LstmLoop, find_lstm_loops
from tflmgen.frontend.model_source import (
    CIRCLE,
    TFLITE_ONLY,
    is_lowered,
    is_tflite,
    read_source,
    shape_options,
    source_inputs,
    source_program,
    source_types,
)
from tflmgen.frontend.observed_import import ObservedModule, import_observed
from tflmgen.frontend.onnx.located import ShapeInputError
from tflmgen.frontend.onnx_program import ONNX_EVALUATOR, ONNX_WORKER, OnnxProgram
from tflmgen.frontend.shape_bounds import Shape, ShapeLimit, TensorKey, find_bounds, parse_shape_limit
from tflmgen.frontend.source_function import file_of_source, is_torch_function, stem_of_source
from tflmgen.frontend.subgraphs import CONTROL_FLOW, Binding, OperatorKey, bindings, fused_activation, is_loop
from tflmgen.frontend.tensor_lists import RowStore, row_stores
from tflmgen.frontend.tensor_values import along_axis, constant_values
from tflmgen.frontend.tflite.builder import ModelBuilder, SubGraphBuilder, options_with_defaults
from tflmgen.frontend.tflite.model import Model, Operator, Signature, SubGraph, Tensor
from tflmgen.frontend.tflite.names import BUILTIN_OPERATORS, CUSTOM, printable
from tflmgen.frontend.tflite.operator_versions import operator_version
from tflmgen.frontend.tflite.reader import parse_model, read_model
from tflmgen.frontend.tflite.unused_tensors import unread_after, without_unused
from tflmgen.frontend.tflite.writer import write_model
from tflmgen.frontend.trips import Counter, counters, first_failure, trip_count
from tflmgen.ir import contents

__all__ = [
    "BUILTIN_OPERATORS",
    "CIRCLE",
    "CONTROL_FLOW",
    "CUSTOM",
    "LAYERS",
    "ONNX_EVALUATOR",
    "ONNX_WORKER",
    "TFLITE_ONLY",
    "Binding",
    "Counter",
    "LstmLoop",
    "Model",
    "ModelBuilder",
    "ObservedModule",
    "OnnxProgram",
    "Operator",
    "OperatorKey",
    "RowStore",
    "Shape",
    "ShapeInputError",
    "ShapeLimit",
    "Signature",
    "SubGraph",
    "SubGraphBuilder",
    "Tensor",
    "TensorKey",
    "along_axis",
    "bindings",
    "class_labels",
    "constant_cut",
    "constant_values",
    "contents",
    "counters",
    "file_of_source",
    "find_bounds",
    "find_lstm_loops",
    "first_failure",
    "fused_activation",
    "import_model",
    "import_observed",
    "import_variants",
    "is_loop",
    "is_lowered",
    "is_tflite",
    "is_torch_function",
    "lstm_operator",
    "operator_version",
    "options_with_defaults",
    "parse_model",
    "parse_shape_limit",
    "printable",
    "read_model",
    "read_source",
    "row_stores",
    "shape_options",
    "source_inputs",
    "source_program",
    "source_types",
    "stem_of_source",
    "trip_count",
    "unread_after",
    "without_operators",
    "without_unused",
    "write_model",
]
