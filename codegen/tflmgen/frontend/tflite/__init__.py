"""A .tflite file as a Model, typed and range-checked: reader, writer and builder; the only users of FlatBuffers.

In: bytes. Out: a Model, or a ModelError; bytes of a Model.
Decided here: validity of a file, and the names of its operators.
"""

from tflmgen.frontend.tflite.builder import ModelBuilder, SubGraphBuilder, options_with_defaults
from tflmgen.frontend.tflite.metadata_labels import label_lines, read_metadata_labels
from tflmgen.frontend.tflite.model import FileOperator, FileSignature, FileTensor, Model, SubGraph
from tflmgen.frontend.tflite.names import BUILTIN_OPERATORS, CUSTOM, printable
from tflmgen.frontend.tflite.reader import parse_model, read_model
from tflmgen.frontend.tflite.unused_tensors import without_unused
from tflmgen.frontend.tflite.writer import write_model

__all__ = [
    "BUILTIN_OPERATORS",
    "CUSTOM",
    "FileOperator",
    "FileSignature",
    "FileTensor",
    "Model",
    "ModelBuilder",
    "SubGraph",
    "SubGraphBuilder",
    "label_lines",
    "options_with_defaults",
    "parse_model",
    "printable",
    "read_metadata_labels",
    "read_model",
    "without_unused",
    "write_model",
]
