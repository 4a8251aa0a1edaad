"""Options of builds: how the model's source is read, and what the generated code is like."""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import Enum
from pathlib import Path
from typing import Any

from tflmgen.options.option_declaration import declared_options, option, option_words
from tflmgen.options.python_values import ARRAYS, BYTES, LABELS, LIMITS, MEMORIES, PERCENTAGE, ROWS, SHAPES, WINDOWS


class Optimize(str, Enum):
    """Goal of the generated code: speed with little RAM, speed alone, small code, or least RAM."""

    BALANCED = "balanced"
    SPEED = "speed"
    SIZE = "size"
    RAM = "ram"


class Validate(str, Enum):
    """Effort of validation by evaluating file and graph: none, about a second of CPU, or two minutes."""

    OFF = "off"
    QUICK = "quick"
    FULL = "full"


class CheckWeights(str, Enum):
    """When the device compares its constants in flash with their CRC-32: never, at the first invoke, or at each."""

    OFF = "off"
    START = "start"
    INVOKE = "invoke"


@dataclass(frozen=True)
class SourceOptions:
    """Options that say how a model that is no .tflite file is read."""

    shape: list[str] | None = option(
        None,
        "Shape of an input of a model that is converted, for its dynamic dimensions. Repeatable.",
        "NAME=1,3,32,32",
        python=SHAPES,
    )
    constant: list[str] | None = option(
        None,
        "Make an input of an ONNX model a constant: a number or a list, axes=[1,2]. Repeatable.",
        "NAME=VALUE",
        python=ARRAYS,
    )
    nhwc_inputs: bool = option(
        False, "Take an ONNX model's inputs of four dimensions with channels last (NHWC): nothing is reordered."
    )
    keras_objects: Path | None = option(
        None,
        "Python file with the classes and functions of your own that a Keras file names.",
        "FILE.py",
        in_header=False,
    )


@dataclass(frozen=True)
class CodeOptions:
    """Options that change the generated code, or how its build is made and checked."""

    name: str = option("", "Prefix of all names.", "NAME", shown_default="the file's name", in_header=False)
    optimize: Optimize = option(Optimize.BALANCED, "Goal of the generated code.")
    max_iterations: list[str] | None = option(
        None,
        "Return an error once a loop runs more than N times: every loop, or LOOP, the subgraph of its "
        "body or SUBGRAPH:OPERATOR. Repeatable.",
        "[LOOP=]N",
        python=LIMITS,
    )
    max_shape: list[str] | None = option(
        None,
        "Upper bound of a dynamic shape: of an input, an output, or SUBGRAPH:TENSOR. Repeatable.",
        "NAME=4,3",
        python=SHAPES,
    )
    max_rows: list[str] | None = option(
        None,
        "Upper bound of the first dimension of an output or SUBGRAPH:TENSOR whose rows the data decide. Repeatable.",
        "NAME=N",
        python=ROWS,
    )
    max_dim: int | None = option(None, "Upper bound of every dynamic dimension without --max-shape.", "N", min=1)
    progress_hook: bool = option(False, "Run the macro TFLMGEN_PROGRESS(step) after each operator, for a watchdog.")
    labels: list[str] | None = option(
        None,
        "Names of an output's classes, a line each, for a header NAME_labels.h; or 'metadata': those "
        "that the model's file has. Repeatable.",
        "[OUTPUT=]FILE",
        python=LABELS,
        in_header=False,
    )
    check_memory: bool = option(False, "Put guard bytes beside arena and state; each invoke checks them.")
    check_weights: CheckWeights = option(
        CheckWeights.OFF,
        "Compare the CRC-32 of the constants in flash at the first invoke (start), or at each (invoke).",
    )
    reentrant: bool = option(
        False, "Let every function take a handle: several instances of the model, each with its own state and arena."
    )
    no_overlap: bool = option(False, "Keep every output disjoint from its inputs, to see what overlap saves.")
    no_range_analysis: bool = option(
        False, "Compute dead channels and branches too, which value-range analysis removes by default."
    )
    winograd: bool = option(
        False,
        "Allow Winograd kernels for 3x3 convolutions: fewer multiplications, 3.6 times the weights. Used "
        "where they are faster and fit the board's flash.",
    )
    plugin: list[Path] | None = option(None, "A Python file that defines custom operators. Repeatable.", "FILE.py")
    ram_budget: str | None = option(
        None,
        "Generate the fastest code whose arena and state fit into BYTES: 20000, 32K.",
        "BYTES",
        python=BYTES,
    )
    max_slowdown: str | None = option(
        None,
        "Generate the smallest arena for at most so many more estimated cycles than the fastest plan's: 10%.",
        "PERCENT",
        python=PERCENTAGE,
    )
    push_rows: list[str] | None = option(
        None, "Accept this input row by row, so that it is never stored whole. Repeatable.", "INPUT"
    )
    slide: list[str] | None = option(
        None,
        "Slide the window of this input along an axis: each invoke takes HOP new rows, and computes only "
        "what they change: features=1,1. Repeatable.",
        "INPUT=AXIS,HOP",
        python=WINDOWS,
    )
    slide_phases: bool = option(
        False, "Slide by a HOP that strides do not divide, too: keep rows of several windows, which takes RAM."
    )
    also: list[Path] | None = option(None, "As a further MODEL: one more for the same library. Repeatable.", "MODEL")
    place: list[str] | None = option(
        None,
        "Memory of the board for the arena, state, weights, code or data: arena=dtcm. Repeatable.",
        "WHAT=MEMORY",
        python=MEMORIES,
        in_header=False,
    )
    quantize: Path | None = option(
        None,
        "Quantise MODEL first with this calibration data, as `tflmgen quantize` does, to MODEL-int8.tflite.",
        "CAL.npz",
        in_header=False,
    )
    validate: Validate = option(
        Validate.QUICK,
        "Evaluate the file and the graph that is compiled on test inputs, and compare: off, about 1 s of "
        "CPU (quick), or about 2 minutes (full).",
        in_header=False,
    )


@dataclass(frozen=True)
class BuildOptions(SourceOptions, CodeOptions):
    """Options of a build, those of the code before those of the source."""

    @property
    def without_source(self) -> BuildOptions:
        """The options for a .tflite file that was made of the source."""
        return replace(self, **{o.name: o.default for o in declared_options(SourceOptions).values()})

    @property
    def text(self) -> str:
        """The options as the header of generated files quotes them: those that change it, paths by their last part."""
        unquoted: dict[str, Any] = {o.name: o.default for o in declared_options(self).values() if not o.in_header}
        quoted = replace(
            self,
            optimize=Optimize.BALANCED,
            also=[Path(path.name) for path in self.also or ()],
            plugin=[Path(path.name) for path in self.plugin or ()],
            **unquoted,
        )
        return " ".join([f"--optimize {self.optimize.value}", *option_words(quoted)])
