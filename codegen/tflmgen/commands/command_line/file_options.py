"""Help and names of the options of commands that write or compare files."""

from __future__ import annotations

from collections.abc import Mapping

from tflmgen.commands.command_line.option_help import OptionHelp
from tflmgen.options import ConvertOptions, DiffOptions, QuantizeOptions

FILE_GROUPS: Mapping[type, Mapping[str, OptionHelp]] = {
    QuantizeOptions: {
        "activations": OptionHelp(
            "Element type of activations. auto: int8, and int16 or float32 where int8 exceeds --max-error or "
            "--min-agreement."
        ),
        "io": OptionHelp("Inputs and outputs: float32 as before, or integers, which need no conversions on the board."),
        "max_error": OptionHelp("Largest absolute error of an output on --calibration's samples.", "E", min=0.0),
        "min_agreement": OptionHelp(
            "Least share of results (the largest output) and of branches and trip counts that stay the same.",
            "SHARE",
            shown_default="0.99 with auto",
            min=0.0,
            max=1.0,
        ),
        "margin": OptionHelp(
            "Range of all outputs, or of the tensor NAME, in multiples of what samples reach. Repeatable.",
            "[NAME=]FACTOR",
        ),
        "split_outputs": OptionHelp("Make an output of each part of an output that joins several: a scale for each."),
        "fuse_lstm": OptionHelp(
            "Make one operator of a loop that is an LSTM layer. Its state persists: reset it before each invoke."
        ),
        "report": OptionHelp("Write a page with ranges, errors and costs, as pictures and tables.", "FILE.html"),
        "board": OptionHelp("Measure flash, RAM and instructions on this board before and after.", "BOARD"),
    },
    ConvertOptions: {
        "inputs": OptionHelp("Nodes of a frozen graph that are inputs.", "A,B", shown_default="its placeholders"),
        "outputs": OptionHelp("Nodes of a frozen graph that are outputs.", "C,D", shown_default="what nothing reads"),
        "signature": OptionHelp("Signature of a SavedModel to convert.", "KEY", shown_default="all"),
        "calibration": OptionHelp("Inputs on which the result is compared with SOURCE, beside seeded ones.", "CAL.npz"),
        "tolerance": OptionHelp(
            "Largest difference of floats, relative to the largest magnitude in the tensor.", "R", min=0.0
        ),
        "quantize": OptionHelp("Quantise the result with this calibration data, too, to OUT-int8.tflite.", "CAL.npz"),
        "keep": OptionHelp("Folder for the intermediate files.", "DIR", shown_default="none are kept"),
        "plugin": OptionHelp(
            "A Python file with custom operators: composites of their names become these. Repeatable.", "FILE.py"
        ),
    },
    DiffOptions: {
        "board": OptionHelp("Board that OLD and NEW, two models, are planned for.", "BOARD", short="-b"),
        "allow": OptionHelp(
            "Growth that is no failure: flash=2%, all=1%. Repeatable.", "WHAT=PERCENT", shown_default="all=0"
        ),
        "old_outputs": OptionHelp("Outputs of OLD, as `tflmgen run` writes them.", "OLD.npz"),
        "new_outputs": OptionHelp("Outputs of NEW.", "NEW.npz"),
        "max_error": OptionHelp("Largest difference of outputs.", "E", min=0.0),
        "markdown": OptionHelp("Write the tables as Markdown, for a comment.", "FILE.md"),
    },
}
