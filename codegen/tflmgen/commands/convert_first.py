"""A source of TensorFlow's for a command that goes on with a .tflite file: converted first, and kept."""

from __future__ import annotations

from dataclasses import fields, replace
from pathlib import Path

from tflmgen.conversion import TensorFlowSource, tensorflow_source
from tflmgen.errors import UsageError
from tflmgen.options import BuildOptions, ConvertOptions, OutputOptions, SourceOptions
from tflmgen.project import load_board
from tflmgen.terminal import Console


def prepared(
    model: Path, options: BuildOptions, output: OutputOptions, board: str | None = None
) -> tuple[Path, BuildOptions]:
    """The file to go on with, converted and quantised where that is asked for, and the options that remain.

    A `board` that does not exist is an error before any of this.
    """
    if board is not None:
        load_board(board)
    path, source = convert_source_first(model, options.source, output, options.plugin)
    also = [convert_source_first(other, options.source, output, options.plugin)[0] for other in options.also or ()]
    options = replace(options, **{field.name: getattr(source, field.name) for field in fields(source)})
    options = replace(options, also=also or None)
    if options.quantize is None:
        return path, options
    if also:
        raise UsageError("--quantize is for one model: quantise each of several by tflmgen quantize")
    from tflmgen.commands.quantize import quantize_first

    return quantize_first(path, options, output)


def convert_source_first(
    model: Path, options: SourceOptions, output: OutputOptions, plugins: list[Path] | None = None
) -> tuple[Path, SourceOptions]:
    """The same for a command without build options.

    Raises UsageError where the file's place is taken by one that was not converted, and for --keras-objects of another
    source than a Keras file.
    """
    source = tensorflow_source(model)
    if options.keras_objects is not None and (source is None or source.kind != "keras"):
        raise UsageError(f"--keras-objects is for Keras files; {model} is of another format")
    if options.keras_objects is not None and not options.keras_objects.is_file():
        raise UsageError(f"--keras-objects {options.keras_objects}: there is no such file")
    if source is None:
        return model, options
    _convert(source, path := Path(f"{source.stem}.tflite"), options, output, plugins)
    return path, SourceOptions()


def _convert(
    source: TensorFlowSource, path: Path, options: SourceOptions, output: OutputOptions, plugins: list[Path] | None
) -> None:
    from tflmgen.api import converted, digest_of, is_conversion, proof_lines

    console, choices = Console(output), ConvertOptions(plugin=plugins)
    if path.exists():
        known = is_conversion(path, digest_of(source, options, plugins))
        if known is None:
            raise UsageError(
                f"{path} is in the way of what {source.path.name} becomes. Name another: "
                f"tflmgen convert {source.path} -o OTHER.tflite"
            )
        if known:
            console.line(f"{path} is {source.path.name}, converted before.")
            return
    result = converted(source, path, choices, options, console)
    for line in proof_lines(result, choices.tolerance):
        console.line(line)
    console.line(f"Wrote {path}.")
