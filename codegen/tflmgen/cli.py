"""The command line: options and help here, the work in commands/, which is imported when a command runs."""

from __future__ import annotations

import io
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Annotated

import typer

from tflmgen import __version__
from tflmgen.failure import guarded, leave_on_sigterm
from tflmgen.option_groups import (
    BoardName,
    Calibration,
    Inputs,
    Model,
    OptionalInputs,
    Outputs,
    Report,
    with_groups,
)
from tflmgen.options import (
    BuildOptions,
    ConvertOptions,
    DiffOptions,
    Format,
    MonitorOptions,
    NewBoardOptions,
    OutputOptions,
    QuantizeOptions,
    SessionOptions,
    SourceOptions,
)
from tflmgen.typer_classes import Command, Group

app = typer.Typer(
    name="tflmgen",
    cls=Group,
    no_args_is_help=True,
    add_completion=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
    epilog="Start with:  tflmgen build model.tflite --board mps2_an386",
)


def command(name: str | None = None, *, epilog: str) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """A decorator that makes a function a command, of its own name by default."""
    add = app.command(name, cls=Command, epilog=epilog)
    return lambda function: add(with_groups(guarded(function)))


def main() -> None:
    """Run the command line; exits with the code that docs/use/commands.md gives."""
    leave_on_sigterm()
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="backslashreplace")  # a model's names may hold what the terminal cannot show
    app()


def _print_version(requested: bool) -> None:
    if requested:
        print(f"tflmgen {__version__}")
        raise typer.Exit


def _prepared(model: Path, options: BuildOptions, output: OutputOptions) -> tuple[Path, BuildOptions]:
    """The file to go on with and the options that remain: a source of TensorFlow's is converted, --quantize done."""
    from tflmgen.commands.convert_first import prepared

    return prepared(model, options, output)


@app.callback()
def _tflmgen(
    version: Annotated[
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Print the version and exit.")
    ] = False,
) -> None:
    """Compile TensorFlow Lite models to C for microcontrollers, and test in an emulator that the outputs are equal."""


@command(epilog="Example:  tflmgen build kws.tflite --board mps2_an386 -o kws-firmware")
def build(
    model: Model,
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

    model, options = _prepared(model, options, output)
    build_command(model, board, directory, not no_compile, options, output)


@command(epilog="Example:  tflmgen run kws.tflite --board host --inputs in.npz --outputs out.npz")
def run(
    model: Model,
    *,
    board: BoardName,
    inputs: Inputs,
    outputs: Outputs,
    options: BuildOptions,
    session: SessionOptions,
    output: OutputOptions,
) -> None:
    """Run MODEL's firmware on given inputs, on an emulated board or on this computer, and save its outputs."""
    from tflmgen.commands.run import run_command

    model, options = _prepared(model, options, output)
    run_command(model, board, inputs, outputs, options, session, output)


@command("test", epilog="Example:  tflmgen test kws.tflite --board mps2_an386 --vectors golden.npz")
def compare(
    model: Model,
    *,
    board: BoardName,
    vectors: Annotated[
        Path | None,
        typer.Option(
            "--vectors",
            readable=False,
            metavar="V.npz",
            help="Inputs and expected outputs. Without: seeded inputs, compared with the host build and TFLite Micro.",
        ),
    ] = None,
    atol: Annotated[float, typer.Option("--atol", metavar="A", min=0.0, help="Absolute tolerance for floats.")] = 1e-5,
    rtol: Annotated[float, typer.Option("--rtol", metavar="R", min=0.0, help="Relative tolerance for floats.")] = 1e-5,
    junit: Annotated[
        Path | None, typer.Option("--junit", metavar="FILE", help="Write the results as JUnit XML too.")
    ] = None,
    layers: Annotated[
        bool,
        typer.Option(
            "--layers",
            help="Compare each operator's output with TFLite Micro or the host build, and name the first difference.",
        ),
    ] = False,
    options: BuildOptions,
    session: SessionOptions,
    output: OutputOptions,
) -> None:
    """Compare the outputs of MODEL's firmware with references: integers exactly, floats within a tolerance."""
    from tflmgen.commands.test import test_command
    from tflmgen.commands.test_layers import layers_command
    from tflmgen.compare import Tolerance

    run_comparison = layers_command if layers else test_command
    model, options = _prepared(model, options, output)
    run_comparison(model, board, vectors, Tolerance(atol, rtol), junit, options, session, output)


@command(epilog="Example:  tflmgen bench kws.tflite --board mps2_an386")
def bench(
    model: Model,
    *,
    board: BoardName,
    inputs: OptionalInputs = None,
    report: Report = None,
    options: BuildOptions,
    session: SessionOptions,
    output: OutputOptions,
) -> None:
    """Count the instructions of MODEL's firmware, per operator and in total, and measure its stack, flash and RAM."""
    from tflmgen.commands.bench import bench_command

    model, options = _prepared(model, options, output)
    bench_command(model, board, inputs, report, options, session, output)


@command(epilog="Example:  tflmgen flash kws.tflite --board nucleo_f446re")
def flash(
    model: Model,
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

    model, options = _prepared(model, options, output)
    flash_command(model, board, port, directory, options, output)


@command(epilog="Example:  tflmgen monitor --port /dev/ttyACM0")
def monitor(*, options: MonitorOptions, output: OutputOptions) -> None:
    """Show what an attached board sends: text, and frames of the protocol decoded."""
    from tflmgen.commands.monitor import monitor_command

    monitor_command(options.port, options.board, options.baud, options.seconds, output)


@command(epilog="Example:  tflmgen inspect kws.tflite")
def inspect(
    model: Model,
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
    model, options = _prepared(model, options, output)
    if pareto:
        from tflmgen.commands.pareto import pareto_command

        pareto_command(model, board, options, output)
        return
    from tflmgen.commands.inspect import inspect_command

    inspect_command(model, board, dump_graph, report, options, output)


@command("export", epilog="Example:  tflmgen export kws.tflite --format cmake -o kws")
def export_library(
    model: Model,
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

    model, options = _prepared(model, options, output)
    export_command(model, board, form, directory, options, output)


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
    from tflmgen.commands.convert_first import convert_source_first
    from tflmgen.commands.quantize import quantize_command

    model, source = convert_source_first(model, source, output)
    quantize_command(model, calibration, file, choices, signature, source, output)


@command(epilog="Example:  tflmgen convert kws.keras -o kws.tflite")
def convert(
    source: Annotated[
        Path,
        typer.Argument(
            readable=False,
            metavar="SOURCE",
            help="A .keras, .h5, .pb, .pbtxt, .circle, .onnx or .pt2 file, a SavedModel's folder, or FILE.py:FUNCTION.",
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


boards_app = typer.Typer(cls=Group, invoke_without_command=True, context_settings=app.info.context_settings)
app.add_typer(boards_app, name="boards")


@boards_app.callback(epilog="Example:  tflmgen boards")
@with_groups
@guarded
def boards(context: typer.Context, *, output: OutputOptions) -> None:
    """List the boards, their memory, and the emulators found here that run them."""
    from tflmgen.commands.boards import boards_command

    if context.invoked_subcommand is None:
        boards_command(output)


@boards_app.command("new", cls=Command, epilog="Example:  tflmgen boards new my_board --like nucleo_f446re")
@with_groups
@guarded
def boards_new(
    directory: Annotated[Path, typer.Argument(metavar="DIR", help="The new board's folder; its name is the board's.")],
    *,
    answers: NewBoardOptions,
    output: OutputOptions,
) -> None:
    """Write the folder of a board of your own, for --board DIR."""
    from tflmgen.commands.boards_new import boards_new_command

    boards_new_command(directory, answers, output)


@command(epilog="Example:  tflmgen fit kws.tflite --boards all")
def fit(
    model: Model,
    *,
    boards: Annotated[
        str, typer.Option("--boards", metavar="A,B", help="Boards, or all that come with tflmgen.")
    ] = "all",
    csv: Annotated[Path | None, typer.Option("--csv", metavar="FILE.csv", help="Also write the table as CSV.")] = None,
    options: BuildOptions,
    output: OutputOptions,
) -> None:
    """Show which boards MODEL fits: RAM, weights and estimated time on each. Nothing is compiled."""
    from tflmgen.commands.fit import fit_command

    model, options = _prepared(model, options, output)
    fit_command(model, boards, csv, options, output)


@command(epilog="Example:  tflmgen diff before/bench.json bench.json --allow flash=2%")
def diff(
    old: Annotated[Path, typer.Argument(readable=False, help="A project's folder, or a file that --json filled.")],
    new: Annotated[Path, typer.Argument(readable=False, help="The same of the build after it.")],
    *,
    choices: DiffOptions,
    output: OutputOptions,
) -> None:
    """Show what changed between two builds, and fail if a size or cost grew."""
    from tflmgen.commands.diff import diff_command

    diff_command(old, new, choices, output)


@command(epilog="Example:  tflmgen operators CONV_2D")
def operators(
    names: Annotated[
        list[str] | None, typer.Argument(metavar="[NAME]...", help="Only those whose names contain NAME.")
    ] = None,
    *,
    plugin: Annotated[
        list[Path] | None,
        typer.Option(
            "--plugin",
            readable=False,
            metavar="FILE.py",
            show_default=False,
            help="Also list this plug-in's operators. Repeatable.",
        ),
    ] = None,
    output: OutputOptions,
) -> None:
    """List the operators that tflmgen compiles: element types, references, rules."""
    from tflmgen.commands.operators import operators_command

    operators_command(names or (), plugin or (), output)
