"""Arguments and options that several commands have, outside groups."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer


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
Models = Annotated[
    list[Path],
    typer.Argument(
        readable=False,
        metavar="MODEL...",
        help="A .tflite or .onnx file, or what `tflmgen convert` takes; several become one library.",
    ),
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
FlashOf = Annotated[
    str | None,
    typer.Option(
        "--flash-of",
        metavar="BOARD",
        autocompletion=board_names,
        show_default="the board's own, if known",
        help="Also estimate cycles with the flash and at the rated clock of this board's chip.",
    ),
]
OptionalInputs = Annotated[
    Path | None,
    typer.Option("--inputs", readable=False, metavar="FILE", help="Inputs of the counted invokes."),
]
Inputs = Annotated[
    Path,
    typer.Option(
        "--inputs",
        readable=False,
        metavar="FILE",
        help=".npz: one array per input name, or sets: s0_in_0, s0_in_1, s1_in_0 and so on. Or .csv, .wav or .png, or "
        "a folder of such files.",
    ),
]
OptionalOutputs = Annotated[
    Path | None,
    typer.Option(
        "--outputs",
        metavar="OUT.npz",
        show_default="none of an application",
        help="Output file: one array per output, or s0_out_0 and so on.",
    ),
]
Vectors = Annotated[
    Path | None,
    typer.Option(
        "--vectors",
        readable=False,
        metavar="FILE",
        help="Inputs and expected outputs (.npz), or inputs (.csv, .wav, .png). "
        "Without: seeded inputs, compared with the host build and TFLite Micro.",
    ),
]
Expected = Annotated[
    Path | None,
    typer.Option(
        "--expect",
        readable=False,
        metavar="FILE",
        help="Decisions of an application on --vectors, with their times: a .csv or .toml file.",
    ),
]
Thresholds = Annotated[
    bool,
    typer.Option(
        "--thresholds",
        help="With --expect: decisions that smoothing stages miss, and unexpected ones, at other thresholds.",
    ),
]
Layers = Annotated[
    bool,
    typer.Option(
        "--layers",
        help="Compare each operator's output with TFLite Micro or the host build, and name the first difference.",
    ),
]
Current = Annotated[
    float | None,
    typer.Option(
        "--current",
        metavar="MA",
        min=0.0,
        help="What the processor draws while it computes, for an estimate of an application's energy.",
    ),
]
IdleCurrent = Annotated[
    float, typer.Option("--idle-current", metavar="MA", min=0.0, help="What it draws while it waits.")
]
Volts = Annotated[float, typer.Option("--volts", metavar="V", min=0.0, help="Of the supply, for the same estimate.")]
Calibration = Annotated[
    Path,
    typer.Option(
        "--calibration",
        readable=False,
        metavar="FILE",
        help="Typical inputs. .npz: one array per input name with the samples along a first dimension, or sets: "
        "s0_in_0, s1_in_0 and so on. Or .csv, .wav or .png, or a folder of such files.",
    ),
]
Report = Annotated[
    Path | None,
    typer.Option("--report", metavar="FILE.html", help="Also write the plan as an HTML page with pictures."),
]
