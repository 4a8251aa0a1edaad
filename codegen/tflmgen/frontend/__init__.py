"""Model files: .tflite and Circle to a Model, the Model to a Module, and a Model back to bytes.

In: a path, and bounds of dynamic dimensions. Out: a Module that verify() accepts, or a ModelError; bytes of a file.
Decided here: validity of a file; control flow becomes regions, variables become values. TFLite's terms end here.
"""

from tflmgen.frontend.bidirectional import LAYERS
from tflmgen.frontend.carried_states import without_operators
from tflmgen.frontend.constant_cuts import constant_cut
from tflmgen.frontend.importer import import_model, import_variants, static_shapes
from tflmgen.frontend.lstm_loops import LstmLoop, find_lstm_loops, lstm_operator
from tflmgen.frontend.observed_import import ObservedModule, import_observed
from tflmgen.frontend.shape_bounds import Shape, ShapeLimit, TensorKey, find_bounds, parse_row_limit, parse_shape_limit
from tflmgen.frontend.tensor_lists import RowStore, row_stores
from tflmgen.frontend.trips import Counter, counters, first_failure, trip_count

__all__ = [
    "LAYERS",
    "Counter",
    "LstmLoop",
    "ObservedModule",
    "RowStore",
    "Shape",
    "ShapeLimit",
    "TensorKey",
    "constant_cut",
    "counters",
    "find_bounds",
    "find_lstm_loops",
    "first_failure",
    "import_model",
    "import_observed",
    "import_variants",
    "lstm_operator",
    "parse_row_limit",
    "parse_shape_limit",
    "row_stores",
    "static_shapes",
    "trip_count",
    "without_operators",
]
