"""`tflmgen.compile`: a model to C, as a value."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tflmgen.actions import plan_file
from tflmgen.api.build_choices import CompileOptions, PathLike, build_options, path_of
from tflmgen.api.compiled_model import SILENT, CompiledModel
from tflmgen.api.python_source import source_file
from tflmgen.errors import os_errors_for_users
from tflmgen.hardware import board_for

if TYPE_CHECKING:
    from typing_extensions import Unpack


def compile(
    source: PathLike | bytes | bytearray | memoryview | Any,
    board: PathLike = "host",
    *,
    inputs: PathLike | None = None,
    **options: Unpack[CompileOptions],
) -> CompiledModel:
    """Compiles a model to C for a board.

    Nothing is printed, and nothing written but temporary files and tflmgen's cache. Equal arguments give equal C, in
    any thread.

    Args:
        source: Path of a .tflite, .onnx, .keras, .h5, .pb, .circle or .pt2 file or of a SavedModel's folder; the bytes
            of such a file; or a Keras model.
        board: Id of a board that `tflmgen boards` lists, the folder of a board of your own, or `host`: this computer.
        inputs: File of inputs (.npz) whose arrays say how large dynamic dimensions get.
        **options: See `CompileOptions`: `optimize="ram"`, `ram_budget=20_000` and so on.

    Returns:
        The compiled model. It need not fit the board: see `CompiledModel.fits`.

    Raises:
        ModelError: The model is invalid or unsupported; `problems` has each reason with its place in the model.
        UsageError: An option is malformed, or contradicts another.
        TflmgenError: The base of both, and of all others, such as an unknown board.
    """
    choices = build_options(options)
    target = board_for(str(board), choices)
    arrays = None if inputs is None else path_of("inputs", inputs)
    with os_errors_for_users(), source_file(source, choices, SILENT) as (path, remaining):
        return CompiledModel(plan_file(path, target, remaining, SILENT, inputs=arrays, must_fit=False))
