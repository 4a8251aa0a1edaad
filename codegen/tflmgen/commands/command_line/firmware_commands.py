"""Commands that build firmware, run it, and talk to boards."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from tflmgen.commands.command_line.application import command
from tflmgen.commands.command_line.arguments import (
    BoardName,
    Current,
    Expected,
    FlashOf,
    IdleCurrent,
    Inputs,
    Layers,
    Models,
    OptionalInputs,
    OptionalOutputs,
    Report,
    Thresholds,
    Vectors,
    Volts,
)
from tflmgen.errors import UsageError
from tflmgen.options import BuildOptions, MonitorOptions, OutputOptions, SessionOptions


@command(epilog="Example:  tflmgen build kws.tflite --board mps2_an386 -o kws-firmware")
def build(
    models: Models,
    *,
    board: BoardName,
    directory: Annotated[
        Path | None,
        typer.Option("--output", "-o", metavar="DIR", show_default="MODEL-BOARD", help="The project's folder."),
    ] = None,
    no_compile: Annotated[bool, typer.Option("--no-compile", help="Write the project without compiling it.")] = False,
    options: BuildOptions,
    output: OutputOptions,
) -> None:
    """Write a PlatformIO project with MODEL as C, compile it, and compare its memory with the board's."""
    from tflmgen.commands.build import build_command
    from tflmgen.commands.prepared_model import prepared_model

    build_command(prepared_model(models, board, options, output), directory, not no_compile)


@command(epilog="Example:  tflmgen run kws.tflite --board host --inputs in.npz --outputs out.npz")
def run(
    models: Models,
    *,
    board: BoardName,
    inputs: Inputs,
    outputs: OptionalOutputs = None,
    report: Annotated[
        Path | None,
        typer.Option("--report", metavar="FILE.html", help="Also write an application's plan and scores as HTML."),
    ] = None,
    options: BuildOptions,
    session: SessionOptions,
    output: OutputOptions,
) -> None:
    """Run MODEL's firmware on given inputs, on an emulated board or on this computer, and save its outputs.

    Of an application (app.toml) with sound or tables it prints what is decided when, and which stages ran.
    """
    from tflmgen.commands.prepared_model import prepared_model
    from tflmgen.commands.run import run_command

    run_command(prepared_model(models, board, options, output, session), inputs, outputs, report)


@command("test", epilog="Example:  tflmgen test kws.tflite --board mps2_an386 --vectors golden.npz")
def compare(
    models: Models,
    *,
    board: BoardName,
    vectors: Vectors = None,
    atol: Annotated[float, typer.Option("--atol", metavar="A", min=0.0, help="Absolute tolerance for floats.")] = 1e-5,
    rtol: Annotated[float, typer.Option("--rtol", metavar="R", min=0.0, help="Relative tolerance for floats.")] = 1e-5,
    junit: Annotated[
        Path | None, typer.Option("--junit", metavar="FILE", help="Write the results as JUnit XML too.")
    ] = None,
    expect: Expected = None,
    thresholds: Thresholds = False,
    layers: Layers = False,
    options: BuildOptions,
    session: SessionOptions,
    output: OutputOptions,
) -> None:
    """Compare the outputs of MODEL's firmware with references: integers exactly, floats within a tolerance."""
    from tflmgen.commands.prepared_model import prepared_model
    from tflmgen.commands.test import test_command
    from tflmgen.commands.test_layers import layers_command
    from tflmgen.compare import Tolerance

    prepared = prepared_model(models, board, options, output, session)
    if expect is not None:
        from tflmgen.commands.test_decisions import decisions_command

        if vectors is None or layers:
            raise UsageError("--expect needs --vectors with the application's inputs, and excludes --layers")
        decisions_command(prepared, vectors, expect, thresholds, junit)
        return
    if thresholds:
        raise UsageError("--thresholds needs --expect: decisions that should be made, and their times")
    run_comparison = layers_command if layers else test_command
    run_comparison(prepared, vectors, Tolerance(atol, rtol), junit)


@command(epilog="Example:  tflmgen accuracy kws.tflite kws-int8.tflite --inputs test.npz --labels-of classes.npy")
def accuracy(
    models: Annotated[
        list[Path],
        typer.Argument(
            readable=False, metavar="MODEL...", help="Models that are compared: the float one, and quantised ones."
        ),
    ],
    *,
    inputs: Inputs,
    labels_of: Annotated[
        str,
        typer.Option(
            "--labels-of",
            metavar="LABELS",
            help="Labels of the samples: a .npy file, or the name of an array of --inputs' .npz or of a column of its "
            ".csv. Integers are classes, other numbers what the first output should be.",
        ),
    ],
    board: BoardName = "host",
    options: BuildOptions,
    session: SessionOptions,
    output: OutputOptions,
) -> None:
    """Compare models on labelled samples: top-1, each class and confusion, or the errors of numbers."""
    from tflmgen.commands.accuracy import accuracy_command
    from tflmgen.commands.prepared_model import prepared_model

    prepared = [prepared_model([model], board, options, output, session) for model in models]
    accuracy_command(prepared, inputs, labels_of)


@command(epilog="Example:  tflmgen bench kws.tflite --board mps2_an386")
def bench(
    models: Models,
    *,
    board: BoardName,
    inputs: OptionalInputs = None,
    flash_of: FlashOf = None,
    report: Report = None,
    current: Current = None,
    idle_current: IdleCurrent = 0.0,
    volts: Volts = 3.3,
    options: BuildOptions,
    session: SessionOptions,
    output: OutputOptions,
) -> None:
    """Count the instructions of MODEL's firmware, per operator and in total, and measure its stack, flash and RAM."""
    from tflmgen.actions import Supply
    from tflmgen.commands.bench import bench_command
    from tflmgen.commands.prepared_model import prepared_model

    supply = None if current is None else Supply(current, idle_current, volts)
    bench_command(prepared_model(models, board, options, output, session), inputs, report, supply, flash_of)


@command(epilog="Example:  tflmgen flash kws.tflite --board nucleo_f446re")
def flash(
    models: Models,
    *,
    board: BoardName,
    port: Annotated[
        str | None, typer.Option("--port", metavar="PORT", help="Port of the uploader, if it does not find it.")
    ] = None,
    directory: Annotated[
        Path | None,
        typer.Option("--output", "-o", metavar="DIR", show_default="none that is kept", help="The project's folder."),
    ] = None,
    options: BuildOptions,
    output: OutputOptions,
) -> None:
    """Build MODEL's firmware and put it on an attached board."""
    from tflmgen.commands.flash import flash_command
    from tflmgen.commands.prepared_model import prepared_model

    flash_command(prepared_model(models, board, options, output), port, directory)


@command(epilog="Example:  tflmgen monitor --port /dev/ttyACM0")
def monitor(*, options: MonitorOptions, output: OutputOptions) -> None:
    """Show what an attached board sends: text, and frames of the protocol decoded."""
    from tflmgen.commands.monitor import monitor_command

    monitor_command(options.port, options.board, options.baud, options.seconds, output)
