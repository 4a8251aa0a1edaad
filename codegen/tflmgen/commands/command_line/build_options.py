"""Help and names of the options of builds, sessions and output."""

from __future__ import annotations

from collections.abc import Mapping

from tflmgen.commands.command_line.option_help import OptionHelp
from tflmgen.options import BuildOptions, OutputOptions, SessionOptions, SourceOptions

_SOURCE: Mapping[str, OptionHelp] = {
    "shape": OptionHelp(
        "Shape of an input of a model that is converted, for its dynamic dimensions. Repeatable.", "NAME=1,3,32,32"
    ),
    "constant": OptionHelp(
        "Make an input of an ONNX model a constant: a number or a list, axes=[1,2]. Repeatable.", "NAME=VALUE"
    ),
    "nhwc_inputs": OptionHelp(
        "Take an ONNX model's inputs of four dimensions with channels last (NHWC): nothing is reordered."
    ),
    "keras_objects": OptionHelp(
        "Python file with the classes and functions of your own that a Keras file names.", "FILE.py"
    ),
}

BUILD_GROUPS: Mapping[type, Mapping[str, OptionHelp]] = {
    SourceOptions: _SOURCE,
    BuildOptions: {
        "name": OptionHelp("Prefix of all names.", "NAME", shown_default="the file's name"),
        "optimize": OptionHelp("Goal of the generated code."),
        "max_iterations": OptionHelp(
            "Return an error once a loop runs more than N times: every loop, or LOOP, the subgraph of its "
            "body or SUBGRAPH:OPERATOR. Repeatable.",
            "[LOOP=]N",
        ),
        "max_shape": OptionHelp(
            "Upper bound of a dynamic shape: of an input, an output, or SUBGRAPH:TENSOR. Repeatable.", "NAME=4,3"
        ),
        "max_dim": OptionHelp("Upper bound of every dynamic dimension without --max-shape.", "N", min=1),
        "progress_hook": OptionHelp("Run the macro TFLMGEN_PROGRESS(step) after each operator, for a watchdog."),
        "labels": OptionHelp(
            "Names of an output's classes, a line each, for a header NAME_labels.h; or 'metadata': those "
            "that the model's file has. Repeatable.",
            "[OUTPUT=]FILE",
        ),
        "check_memory": OptionHelp("Put guard bytes beside arena and state; each invoke checks them."),
        "check_weights": OptionHelp(
            "Compare the CRC-32 of the constants in flash at the first invoke (start), or at each (invoke)."
        ),
        "reentrant": OptionHelp(
            "Let every function take a handle: several instances of the model, each with its own state and arena."
        ),
        "no_overlap": OptionHelp("Keep every output disjoint from its inputs, to see what overlap saves."),
        "no_range_analysis": OptionHelp(
            "Compute dead channels and branches too, which value-range analysis removes by default."
        ),
        "winograd": OptionHelp(
            "Allow Winograd kernels for 3x3 convolutions: fewer multiplications, 3.6 times the weights. Used "
            "where they are faster and fit the board's flash."
        ),
        "plugin": OptionHelp("A Python file that defines custom operators. Repeatable.", "FILE.py"),
        "ram_budget": OptionHelp(
            "Generate the fastest code whose arena and state fit into BYTES: 20000, 32K.", "BYTES"
        ),
        "max_slowdown": OptionHelp(
            "Generate the smallest arena for at most so many more estimated cycles than the fastest plan's: 10%.",
            "PERCENT",
        ),
        "push_rows": OptionHelp("Accept this input row by row, so that it is never stored whole. Repeatable.", "INPUT"),
        "slide": OptionHelp(
            "Slide the window of this input along an axis: each invoke takes HOP new rows, and computes only "
            "what they change: features=1,1. Repeatable.",
            "INPUT=AXIS,HOP",
        ),
        "slide_phases": OptionHelp(
            "Slide by a HOP that strides do not divide, too: keep rows of several windows, which takes RAM."
        ),
        "also": OptionHelp("As a further MODEL: one more for the same library. Repeatable.", "MODEL"),
        "place": OptionHelp(
            "Memory of the board for the arena, state, weights, code or data: arena=dtcm. Repeatable.", "WHAT=MEMORY"
        ),
        "quantize": OptionHelp(
            "Quantise MODEL first with this calibration data, as `tflmgen quantize` does, to MODEL-int8.tflite.",
            "CAL.npz",
        ),
        "validate": OptionHelp(
            "Evaluate the file and the graph that is compiled on test inputs, and compare: off, about 1 s of "
            "CPU (quick), or about 2 minutes (full)."
        ),
        **_SOURCE,
    },
    SessionOptions: {
        "emulator": OptionHelp(
            "Emulator to use; auto is the one installed; of both Renode, or QEMU for MVE and bench."
        ),
        "signature": OptionHelp("Signature of the model to run.", "KEY"),
        "timeout": OptionHelp("Time limit of each reply.", "SECONDS", min=0.001),
        "renode": OptionHelp("Path of Renode.", "PROGRAM", shown_default="renode of PATH", envvar="TFLMGEN_RENODE"),
        "port": OptionHelp(
            "Serial port of an attached board, which `tflmgen flash` has flashed with the same model and options.",
            "PORT",
        ),
        "real": OptionHelp("A .csv has real numbers for quantised inputs; floats of an .npz are real anyway."),
    },
    OutputOptions: {
        "json": OptionHelp("Print JSON instead of text for people."),
        "quiet": OptionHelp("Print nothing but errors (and --json).", short="-q"),
        "wide": OptionHelp("Print tables in full, however wide they get."),
        "strict": OptionHelp("Fail, and write nothing, where there would be a warning."),
    },
}
