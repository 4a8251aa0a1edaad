"""Commands that show a model, and write it as a library or another file."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from tflmgen.commands.command_line.application import command
from tflmgen.commands.command_line.arguments import BoardName, Calibration, Model, Models, Report
from tflmgen.options import (
    BuildOptions,
    ConvertOptions,
    Format,
    OutputOptions,
    QuantizeOptions,
    SourceOptions,
    TrainOptions,
)


@command(epilog="Example:  tflmgen inspect kws.tflite")
def inspect(
    models: Models,
    *,
    board: BoardName = "host",
    dump_graph: Annotated[
        bool,
        typer.Option(
            "--dump-graph", help="Print the graph as the passes leave it, one line per node, or with --json its nodes."
        ),
    ] = False,
    pareto: Annotated[
        bool, typer.Option("--pareto", help="Print the Pareto front of RAM and estimated cycles.")
    ] = False,
    report: Report = None,
    options: BuildOptions,
    output: OutputOptions,
) -> None:
    """Show MODEL's subgraphs, operators, tensors and signatures, and the plan of its arena."""
    from tflmgen.commands.inspect import inspect_command
    from tflmgen.commands.pareto import pareto_command
    from tflmgen.commands.prepared_model import prepared_model

    prepared = prepared_model(models, board, options, output)
    if pareto:
        pareto_command(prepared)
    else:
        inspect_command(prepared, dump_graph, report)


@command("export", epilog="Example:  tflmgen export kws.tflite --format cmake -o kws")
def export_library(
    models: Models,
    *,
    form: Annotated[Format, typer.Option("--format", "-f", help="Build system of the library.")],
    directory: Annotated[
        Path | None,
        typer.Option("--output", "-o", metavar="DIR", show_default="MODEL-FORMAT", help="The library's folder."),
    ] = None,
    board: Annotated[
        str,
        typer.Option(
            "--board", "-b", metavar="BOARD", help="Board whose processor the kernels are for; host: portable C."
        ),
    ] = "host",
    options: BuildOptions,
    output: OutputOptions,
) -> None:
    """Write MODEL as a C library for a build system, with an example that runs it."""
    from tflmgen.commands.export import export_command
    from tflmgen.commands.prepared_model import prepared_model

    export_command(prepared_model(models, board, options, output), form, directory)


@command(epilog="Example:  tflmgen quantize kws.tflite --calibration samples.npz -o kws-int8.tflite")
def quantize(
    model: Model,
    *,
    calibration: Calibration,
    file: Annotated[
        Path | None,
        typer.Option("--output", "-o", metavar="OUT.tflite", show_default="MODEL-int8.tflite", help="Output file."),
    ] = None,
    choices: QuantizeOptions,
    signature: Annotated[
        str | None, typer.Option("--signature", metavar="KEY", help="Signature of sets that name none.")
    ] = None,
    source: SourceOptions,
    output: OutputOptions,
) -> None:
    """Quantise a float MODEL with any control flow: a .tflite file in int8 or int16 that TFLite Micro runs, too."""
    from tflmgen.commands.prepared_model import converted_first
    from tflmgen.commands.quantize import quantize_command

    path = converted_first(model, source, output)
    source = source if path == model else SourceOptions()
    if choices.weights is not None:
        from tflmgen.commands.quantize_weights import quantize_weights_command

        quantize_weights_command(path, calibration, file, choices, signature, source, output)
    else:
        quantize_command(path, calibration, file, choices, signature, source, output)


@command(epilog="Example:  tflmgen train kws.tflite --loss sparse_categorical_crossentropy --optimizer adam")
def train(
    model: Model,
    *,
    file: Annotated[
        Path | None,
        typer.Option("--output", "-o", metavar="OUT.tflite", show_default="MODEL-train.tflite", help="Output file."),
    ] = None,
    board: BoardName = "mps2_an386",
    pareto: Annotated[
        bool, typer.Option("--pareto", help="Print the Pareto front of RAM and of work that is done again.")
    ] = False,
    choices: TrainOptions,
    source: SourceOptions,
    output: OutputOptions,
) -> None:
    """Write a float MODEL as one that learns on the device: signatures infer, train and evaluate."""
    from tflmgen.commands.train import train_command, training_curve_command

    if pareto:
        training_curve_command(model, board, choices, source, output)
    else:
        train_command(model, file, board, choices, source, output)


@command(epilog="Example:  tflmgen tokenizer tokenizer.bin -o src")
def tokenizer(
    source: Annotated[
        Path,
        typer.Argument(readable=False, metavar="FILE", help="llama2.c's tokenizer.bin: byte pairs with scores."),
    ],
    *,
    directory: Annotated[
        Path | None,
        typer.Option("--output", "-o", metavar="DIR", show_default="(current folder)", help="Folder for the C files."),
    ] = None,
    name: Annotated[
        str | None,
        typer.Option("--name", metavar="NAME", show_default="FILE's name", help="Name of the tokenizer in C."),
    ] = None,
    output: OutputOptions,
) -> None:
    """Write a tokenizer as tables in C, with functions that make tokens of text and text of tokens."""
    from tflmgen.commands.tokenizer import tokenizer_command

    tokenizer_command(source, directory, name, output)


@command(epilog="Example:  tflmgen convert kws.keras -o kws.tflite")
def convert(
    source: Annotated[
        Path,
        typer.Argument(
            readable=False,
            metavar="SOURCE",
            help="A .keras, .h5, .pb, .pbtxt, .circle, .onnx, .pt2, .safetensors or llama2.c .bin file, a SavedModel's "
            "folder, or FILE.py:FUNCTION.",
        ),
    ],
    *,
    file: Annotated[
        Path | None,
        typer.Option("--output", "-o", metavar="OUT.tflite", show_default="SOURCE.tflite", help="Output file."),
    ] = None,
    choices: ConvertOptions,
    options: SourceOptions,
    output: OutputOptions,
) -> None:
    """Write SOURCE, a model of TensorFlow, ONNX or PyTorch, as a .tflite file, which TFLite's runtimes run, too."""
    from tflmgen.commands.convert import convert_command

    convert_command(source, file, choices, options, output)
