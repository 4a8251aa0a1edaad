"""Groups of options that commands share: each group is a dataclass, each of its fields one option."""

from __future__ import annotations

import functools
import inspect
import shlex
from collections.abc import Callable, Mapping
from dataclasses import MISSING, fields
from enum import Enum
from pathlib import Path
from typing import Annotated, Any, get_type_hints

import typer

from tflmgen.options import (
    BuildOptions,
    ConvertOptions,
    DiffOptions,
    MonitorOptions,
    NewBoardOptions,
    OutputOptions,
    QuantizeOptions,
    SessionOptions,
    SourceOptions,
)


def board_names(incomplete: str) -> list[str]:
    """Ids of boards that begin with what is typed, for the shell's completion."""
    from importlib.resources import files

    folders = files("tflmgen.boards").iterdir()
    names = sorted(folder.name for folder in folders if folder.joinpath("board.json").is_file())
    return [name for name in (*names, "host") if name.startswith(incomplete)]


# Files are tried when they are opened: one that may not be read is bad input (1), like one that is absent.
Model = Annotated[
    Path,
    typer.Argument(readable=False, metavar="MODEL", help="A .tflite or .onnx file, or what `tflmgen convert` takes."),
]
BoardName = Annotated[
    str,
    typer.Option(
        "--board",
        "-b",
        metavar="BOARD",
        autocompletion=board_names,
        help="A board that `tflmgen boards` lists, the folder of a board of your own, or host: this computer.",
    ),
]
OptionalInputs = Annotated[
    Path | None, typer.Option("--inputs", readable=False, metavar="IN.npz", help="Inputs of the counted invokes.")
]
Inputs = Annotated[
    Path,
    typer.Option(
        "--inputs",
        readable=False,
        metavar="IN.npz",
        help="One array per input name, or sets: s0_in_0, s0_in_1, s1_in_0 and so on.",
    ),
]
Outputs = Annotated[
    Path,
    typer.Option("--outputs", metavar="OUT.npz", help="Output file: one array per output, or s0_out_0 and so on."),
]
Calibration = Annotated[
    Path,
    typer.Option(
        "--calibration",
        readable=False,
        metavar="CAL.npz",
        help="Typical inputs: one array per input name with the samples along a first dimension, or sets: s0_in_0, "
        "s1_in_0 and so on.",
    ),
]
BoardList = Annotated[
    str, typer.Option("--boards", metavar="A,B", help="Boards with commas between, or all that come with tflmgen.")
]
CsvFile = Annotated[Path | None, typer.Option("--csv", metavar="FILE.csv", help="Also write the table as CSV.")]
Report = Annotated[
    Path | None,
    typer.Option("--report", metavar="FILE.html", help="Also write the plan as an HTML page with pictures."),
]


_SOURCE: Mapping[str, Any] = {
    "shape": typer.Option(
        "--shape",
        metavar="NAME=1,3,32,32",
        show_default=False,
        help="Shape of an input of a model that is converted, for its dynamic dimensions. Repeatable.",
    ),
    "constant": typer.Option(
        "--constant",
        metavar="NAME=VALUE",
        show_default=False,
        help="Make an input of an ONNX model a constant: a number or a list, axes=[1,2]. Repeatable.",
    ),
    "nhwc_inputs": typer.Option(
        "--nhwc-inputs",
        help="Take an ONNX model's inputs of four dimensions with channels last (NHWC): nothing is reordered.",
    ),
}

OPTIONS: Mapping[type, Mapping[str, Any]] = {
    SourceOptions: _SOURCE,
    BuildOptions: {
        "name": typer.Option("--name", metavar="NAME", show_default="the file's name", help="Prefix of all names."),
        "optimize": typer.Option("--optimize", help="Goal of the generated code."),
        "max_iterations": typer.Option(
            "--max-iterations",
            metavar="[LOOP=]N",
            show_default=False,
            help="Return an error once a loop runs more than N times: every loop, or LOOP, the subgraph of its body "
            "or SUBGRAPH:OPERATOR. Repeatable.",
        ),
        "max_shape": typer.Option(
            "--max-shape",
            metavar="NAME=4,3",
            show_default=False,
            help="Upper bound of a dynamic shape: of an input, an output, or SUBGRAPH:TENSOR. Repeatable.",
        ),
        "max_dim": typer.Option(
            "--max-dim", metavar="N", min=1, help="Upper bound of every dynamic dimension without --max-shape."
        ),
        "progress_hook": typer.Option(
            "--progress-hook", help="Run the macro TFLMGEN_PROGRESS(step) after each operator, for a watchdog."
        ),
        "check_memory": typer.Option(
            "--check-memory",
            help="Put guard bytes beside arena and state; each invoke checks them.",
        ),
        "check_weights": typer.Option(
            "--check-weights",
            help="Compare the CRC-32 of the constants in flash at the first invoke (start), or at each (invoke).",
        ),
        "no_overlap": typer.Option(
            "--no-overlap",
            help="Keep every output disjoint from its inputs, to see what overlap saves.",
        ),
        "no_range_analysis": typer.Option(
            "--no-range-analysis",
            help="Compute dead channels and branches too, which value-range analysis removes by default.",
        ),
        "winograd": typer.Option(
            "--winograd",
            help="Allow Winograd kernels for 3x3 convolutions: fewer multiplications, 3.6 times the weights. Used "
            "where they are faster and fit the board's flash.",
        ),
        "plugin": typer.Option(
            "--plugin",
            readable=False,
            metavar="FILE.py",
            show_default=False,
            help="A Python file that defines custom operators. Repeatable.",
        ),
        "ram_budget": typer.Option(
            "--ram-budget",
            metavar="BYTES",
            show_default=False,
            help="Generate the fastest code whose arena and state fit into BYTES: 20000, 32K.",
        ),
        "max_slowdown": typer.Option(
            "--max-slowdown",
            metavar="PERCENT",
            show_default=False,
            help="Generate the smallest arena for at most so many more estimated cycles than the fastest plan's: 10%.",
        ),
        "push_rows": typer.Option(
            "--push-rows",
            metavar="INPUT",
            show_default=False,
            help="Accept this input row by row, so that it is never stored whole. Repeatable.",
        ),
        "slide": typer.Option(
            "--slide",
            metavar="INPUT=AXIS,HOP",
            show_default=False,
            help="Slide the window of this input along an axis: each invoke takes HOP new rows, and computes only what "
            "they change: features=1,1. Repeatable.",
        ),
        "place": typer.Option(
            "--place",
            metavar="WHAT=MEMORY",
            show_default=False,
            help="Memory of the board for the arena, state, weights, code or data: arena=dtcm. Repeatable.",
        ),
        "quantize": typer.Option(
            "--quantize",
            readable=False,
            metavar="CAL.npz",
            show_default=False,
            help="Quantise MODEL first with this calibration data, as `tflmgen quantize` does, to MODEL-int8.tflite.",
        ),
        "validate": typer.Option(
            "--validate",
            help="Evaluate the file and the graph that is compiled on test inputs, and compare: off, about 1 s of CPU "
            "(quick), or about 2 minutes (full).",
        ),
        **_SOURCE,
    },
    SessionOptions: {
        "emulator": typer.Option(
            "--emulator", help="Emulator to use; auto is Renode, or QEMU for MVE and if Renode is not installed."
        ),
        "signature": typer.Option("--signature", metavar="KEY", help="Signature of the model to run."),
        "timeout": typer.Option("--timeout", metavar="SECONDS", min=0.001, help="Time limit of each reply."),
        "renode": typer.Option(
            "--renode",
            metavar="PROGRAM",
            show_default="renode of PATH",
            envvar="TFLMGEN_RENODE",
            help="Path of Renode.",
        ),
        "port": typer.Option(
            "--port",
            metavar="PORT",
            help="Serial port of an attached board, which `tflmgen flash` has flashed with the same model and options.",
        ),
    },
    QuantizeOptions: {
        "activations": typer.Option(
            "--activations",
            help="Element type of activations. auto: int8, and int16 or float32 where int8 exceeds --max-error or "
            "--min-agreement.",
        ),
        "io": typer.Option(
            "--io", help="Inputs and outputs: float32 as before, or integers, which need no conversions on the board."
        ),
        "max_error": typer.Option(
            "--max-error",
            metavar="E",
            min=0.0,
            help="Largest absolute error of an output on --calibration's samples.",
        ),
        "min_agreement": typer.Option(
            "--min-agreement",
            metavar="SHARE",
            min=0.0,
            max=1.0,
            show_default="0.99 with auto",
            help="Least share of results (the largest output) and of branches and trip counts that stay the same.",
        ),
        "strict": typer.Option("--strict", help="Fail if an operator would stay in float."),
        "fuse_lstm": typer.Option(
            "--fuse-lstm",
            help="Make one operator of a loop that is an LSTM layer. Its state persists: reset it before each invoke.",
        ),
        "report": typer.Option(
            "--report", metavar="FILE.html", help="Write a page with ranges, errors and costs, as pictures and tables."
        ),
        "board": typer.Option(
            "--board", metavar="BOARD", help="Measure flash, RAM and instructions on this board before and after."
        ),
    },
    ConvertOptions: {
        "inputs": typer.Option(
            "--inputs", metavar="A,B", show_default="its placeholders", help="Nodes of a frozen graph that are inputs."
        ),
        "outputs": typer.Option(
            "--outputs",
            metavar="C,D",
            show_default="what nothing reads",
            help="Nodes of a frozen graph that are outputs.",
        ),
        "signature": typer.Option(
            "--signature", metavar="KEY", show_default="all", help="Signature of a SavedModel to convert."
        ),
        "calibration": typer.Option(
            "--calibration",
            readable=False,
            metavar="CAL.npz",
            help="Inputs on which the result is compared with SOURCE, beside seeded ones.",
        ),
        "tolerance": typer.Option(
            "--tolerance",
            metavar="R",
            min=0.0,
            help="Largest difference of floats, relative to the largest magnitude in the tensor.",
        ),
        "quantize": typer.Option(
            "--quantize",
            readable=False,
            metavar="CAL.npz",
            show_default=False,
            help="Quantise the result with this calibration data, too, to OUT-int8.tflite.",
        ),
        "keep": typer.Option(
            "--keep", metavar="DIR", show_default="none are kept", help="Folder for the intermediate files."
        ),
    },
    DiffOptions: {
        "allow": typer.Option(
            "--allow",
            metavar="WHAT=PERCENT",
            show_default="all=0",
            help="Growth that is no failure: flash=2%, all=1%. Repeatable.",
        ),
        "old_outputs": typer.Option(
            "--old-outputs", readable=False, metavar="OLD.npz", help="Outputs of OLD, as `tflmgen run` writes them."
        ),
        "new_outputs": typer.Option("--new-outputs", readable=False, metavar="NEW.npz", help="Outputs of NEW."),
        "max_error": typer.Option("--max-error", metavar="E", min=0.0, help="Largest difference of outputs."),
        "markdown": typer.Option("--markdown", metavar="FILE.md", help="Write the tables as Markdown, for a comment."),
    },
    NewBoardOptions: {
        "like": typer.Option("--like", metavar="BOARD", help="Board to copy what other options leave out."),
        "title": typer.Option("--title", metavar="TEXT", help="One-line description."),
        "core": typer.Option("--core", metavar="CORE", help="Its processor, cortex-m4 for example."),
        "fpu": typer.Option("--fpu", metavar="NAME", help="GCC's -mfpu name where it isn't the usual one, or none."),
        "memory": typer.Option(
            "--memory",
            metavar="NAME=ORIGIN:SIZE:KIND",
            help="A memory, KIND flash or ram: RAM=0x20000000:128K:ram. Repeatable.",
        ),
        "uart": typer.Option(
            "--uart", metavar="DRIVER@BASE:CLOCK", help="Its serial port: stm32v2@0x40004800:16000000[:BAUD]."
        ),
        "stack": typer.Option("--stack", metavar="BYTES", help="RAM reserved for the stack."),
        "place": typer.Option("--place", metavar="WHAT=MEMORY", help="Memory of a section: arena=dtcm. Repeatable."),
        "qemu": typer.Option("--qemu", metavar="MACHINE[:SERIAL]", help="QEMU machine that runs its firmware."),
    },
    MonitorOptions: {
        "port": typer.Option(
            "--port", metavar="PORT", show_default="the only USB one", help="The board's serial port."
        ),
        "board": typer.Option("--board", "-b", metavar="BOARD", help="The board, for its baud rate."),
        "baud": typer.Option("--baud", metavar="N", min=300, show_default="115200", help="The baud rate."),
        "seconds": typer.Option(
            "--seconds", metavar="N", min=0.0, show_default="until Ctrl-C", help="Stop after N seconds."
        ),
    },
    OutputOptions: {
        "json": typer.Option("--json", help="Print JSON instead of text for people."),
        "quiet": typer.Option("--quiet", "-q", help="Print nothing but errors (and --json)."),
        "wide": typer.Option("--wide", help="Print tables in full, however wide they get."),
    },
}


def command_line(command: str, model: Path, board: str, *groups: Any, suffix: str = "") -> str:
    """Shell command line for a command with the model, the board and the options of these groups.

    suffix  appended without quoting, for placeholders
    """
    path = f"./{model}" if str(model).startswith("-") else str(model)
    words = ["tflmgen", command, path, "--board", board, *(word for group in groups for word in option_words(group))]
    return " ".join([shlex.join(words), *([suffix] if suffix else [])])


def option_words(group: Any) -> list[str]:
    """Command-line words for the options of a group that differ from their defaults."""
    words: list[str] = []
    for field in fields(group):
        value = getattr(group, field.name)
        if value == field.default or value == []:
            continue
        option = "--" + field.name.replace("_", "-")
        for item in value if isinstance(value, list) else [value]:
            words += [option] if item is True else [option, str(item.value if isinstance(item, Enum) else item)]
    return words


def with_groups(function: Callable[..., None]) -> Callable[..., None]:
    """Wraps `function` for typer: each parameter whose type is a group becomes one parameter per option."""
    hints = get_type_hints(function, include_extras=True)
    parameters = inspect.signature(function).parameters
    groups = {name: hints[name] for name in parameters if hints[name] in OPTIONS}
    plain = [p.replace(annotation=hints[p.name]) for p in parameters.values() if p.name not in groups]

    @functools.wraps(function)
    def expanded(**values: Any) -> None:
        group_values = {
            name: group(**{f.name: values.pop(f.name) for f in fields(group)}) for name, group in groups.items()
        }
        function(**values, **group_values)

    flat_parameters = [*plain, *(parameter for group in groups.values() for parameter in _parameters(group))]
    expanded.__signature__ = inspect.Signature(flat_parameters)  # type: ignore[attr-defined]
    expanded.__annotations__ = {p.name: p.annotation for p in flat_parameters}
    return expanded


def _parameters(group: Any) -> list[inspect.Parameter]:
    hints = get_type_hints(group)
    return [
        inspect.Parameter(
            f.name,
            inspect.Parameter.KEYWORD_ONLY,
            default=inspect.Parameter.empty if f.default is MISSING else f.default,
            annotation=Annotated[hints[f.name], OPTIONS[group][f.name]],
        )
        for f in fields(group)
    ]
