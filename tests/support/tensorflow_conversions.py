"""Sources of TensorFlow's as .tflite files, by a TensorFlow that runs for many tests."""

from __future__ import annotations

from pathlib import Path

from tflmgen.conversion import ConversionSettings, SourceConversion, tensorflow_source
from tflmgen.conversion.source_conversion import convert_in
from tflmgen.conversion.tensorflow_process import TensorFlowProcess
from tflmgen.errors import ModelError


def converted(
    tensorflow: TensorFlowProcess, source: Path | str, choices: ConversionSettings | None = None
) -> SourceConversion:
    """What a source becomes in a running TensorFlow. Raises ModelError."""
    recognized = tensorflow_source(Path(source))
    assert recognized is not None
    try:
        return convert_in(tensorflow, recognized, choices or ConversionSettings(), lambda _: None)
    except ModelError as error:
        # Functions that TensorFlow names alike in two sources are one to it: such a source has a process of its own.
        if "duplicate function" not in str(error):
            raise
    with TensorFlowProcess("") as own:
        return convert_in(own, recognized, choices or ConversionSettings(), lambda _: None)
