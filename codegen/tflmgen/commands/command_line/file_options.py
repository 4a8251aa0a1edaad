"""Help and names of the options of commands that write or compare files."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import typer

from tflmgen.options import ConvertOptions, DiffOptions, QuantizeOptions

FILE_GROUPS: Mapping[type, Mapping[str, Any]] = {
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
        "plugin": typer.Option(
            "--plugin",
            readable=False,
            metavar="FILE.py",
            show_default=False,
            help="A Python file with custom operators: composites of their names become these. Repeatable.",
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
}
