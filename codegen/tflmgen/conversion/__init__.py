"""Models of other frameworks as .tflite files, proved on data: TensorFlow's are converted in a process of their own.

In: a source and the options for it. Out: a Model, its bytes, and how the comparison with the source went.
Decided here: which files are TensorFlow's; names and order of inputs and outputs; how far a conversion may differ.
"""

from tflmgen.conversion.source_conversion import ConversionSettings, SourceConversion, convert_lowered, convert_source
from tflmgen.conversion.source_kind import TensorFlowSource, tensorflow_source

__all__ = [
    "ConversionSettings",
    "SourceConversion",
    "TensorFlowSource",
    "convert_lowered",
    "convert_source",
    "tensorflow_source",
]
