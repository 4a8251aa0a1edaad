"""Help and names of the options of builds, sessions and output."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import typer

from tflmgen.options import BuildOptions, OutputOptions, SessionOptions, SourceOptions

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
    "keras_objects": typer.Option(
        "--keras-objects",
        readable=False,
        metavar="FILE.py",
        show_default=False,
        help="Python file with the classes and functions of your own that a Keras file names.",
    ),
}

BUILD_GROUPS: Mapping[type, Mapping[str, Any]] = {
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
        "labels": typer.Option(
            "--labels",
            metavar="[OUTPUT=]FILE",
            show_default=False,
            help="Names of an output's classes, a line each, for a header NAME_labels.h; or 'metadata': those that the "
            "model's file has. Repeatable.",
        ),
        "check_memory": typer.Option(
            "--check-memory",
            help="Put guard bytes beside arena and state; each invoke checks them.",
        ),
        "check_weights": typer.Option(
            "--check-weights",
            help="Compare the CRC-32 of the constants in flash at the first invoke (start), or at each (invoke).",
        ),
        "reentrant": typer.Option(
            "--reentrant",
            help="Let every function take a handle: several instances of the model, each with its own state and arena.",
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
        "slide_phases": typer.Option(
            "--slide-phases",
            help="Slide by a HOP that strides do not divide, too: keep rows of several windows, which takes RAM.",
        ),
        "also": typer.Option(
            "--also",
            readable=False,
            metavar="MODEL",
            show_default=False,
            help="As a further MODEL: one more for the same library. Repeatable.",
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
    OutputOptions: {
        "json": typer.Option("--json", help="Print JSON instead of text for people."),
        "quiet": typer.Option("--quiet", "-q", help="Print nothing but errors (and --json)."),
        "wide": typer.Option("--wide", help="Print tables in full, however wide they get."),
    },
}
