"""Options that commands share, as the command line gives them."""

from __future__ import annotations

import shlex
from dataclasses import dataclass, fields, replace
from enum import Enum
from pathlib import Path
from typing import Any, Literal


class Optimize(str, Enum):
    """Goal of the generated code: speed with little RAM, speed alone, small code, or least RAM."""

    BALANCED = "balanced"
    SPEED = "speed"
    SIZE = "size"
    RAM = "ram"


class Format(str, Enum):
    """Build system of an exported library."""

    PLATFORMIO = "platformio"
    ARDUINO = "arduino"
    CMAKE = "cmake"
    ZEPHYR = "zephyr"
    ESP_IDF = "esp-idf"
    CMSIS_PACK = "cmsis-pack"
    KEIL = "keil"
    IAR = "iar"
    STM32CUBEIDE = "stm32cubeide"
    PLAIN = "plain"


FormatName = Literal[
    "platformio", "arduino", "cmake", "zephyr", "esp-idf", "cmsis-pack", "keil", "iar", "stm32cubeide", "plain"
]
"""Values of Format, for callers of the Python API."""


class Validate(str, Enum):
    """How much of a build is validated by evaluating file and graph: nothing, about a second of CPU, or two minutes."""

    OFF = "off"
    QUICK = "quick"
    FULL = "full"


class CheckWeights(str, Enum):
    """When the device compares its constants in flash with their CRC-32: never, at the first invoke, or at each."""

    OFF = "off"
    START = "start"
    INVOKE = "invoke"


@dataclass(frozen=True, slots=True)
class SourceOptions:
    """What the user decides about a model that is not a .tflite file, as texts.

    shape          NAME=1,3,32,32: an input's shape
    constant       NAME=JSON: the value of an input that becomes a constant
    nhwc_inputs    inputs of four dimensions come with channels last
    keras_objects  Python file with the classes and functions of a Keras file's own
    """

    shape: list[str] | None = None
    constant: list[str] | None = None
    nhwc_inputs: bool = False
    keras_objects: Path | None = None


NOT_QUOTED = frozenset({"name", "labels", "place", "quantize", "validate", "keras_objects"})
"""Options of builds that leave the header of generated files as it is."""


@dataclass(frozen=True, slots=True)
class BuildOptions:
    """Options that change the generated code.

    name               prefix of all generated names; empty: the stem of the model's file name
    max_iterations     limits of loops; passes/loop_limits.py has the syntax
    max_shape          upper bounds of dynamic shapes; frontend/shape_bounds.py has the syntax
    max_dim            upper bound of every other dynamic dimension
    progress_hook      call a macro after each operator
    labels             files with names of classes, as compiler.py reads them; they make a header of their own
    check_memory       guard bytes beside arena and state, which each invoke checks
    check_weights      when the CRC-32 of the constants in flash is checked
    reentrant          every function takes a handle: several instances of the model
    no_overlap         keep outputs disjoint from inputs, and choose the fastest kernels whatever their scratch
    no_range_analysis  keep channels and branches that value-range analysis would remove
    winograd           allow Winograd kernels for 3x3 convolutions
    plugin             Python files with custom operators
    ram_budget         bytes of arena and state, as explore.parse_budget reads them
    max_slowdown       percentage of the fastest plan's cycles, as explore.parse_slowdown reads it
    push_rows          inputs that arrive row by row
    slide              inputs whose windows slide, as sliding.parse_slides reads them
    slide_phases       keep rows of several windows behind strides that the hop is no multiple of
    also               further models of the same library, each an entry of its own
    shape              with the next three: SourceOptions
    place              memory of each section; the C code is the same in any memory
    quantize           calibration data; commands quantise the model first, and go on with that file
    validate           how much is compared with the file
    """

    name: str = ""
    optimize: Optimize = Optimize.BALANCED
    max_iterations: list[str] | None = None
    max_shape: list[str] | None = None
    max_dim: int | None = None
    progress_hook: bool = False
    labels: list[str] | None = None
    check_memory: bool = False
    check_weights: CheckWeights = CheckWeights.OFF
    reentrant: bool = False
    no_overlap: bool = False
    no_range_analysis: bool = False
    winograd: bool = False
    plugin: list[Path] | None = None
    ram_budget: str | None = None
    max_slowdown: str | None = None
    push_rows: list[str] | None = None
    slide: list[str] | None = None
    slide_phases: bool = False
    also: list[Path] | None = None
    place: list[str] | None = None
    quantize: Path | None = None
    validate: Validate = Validate.QUICK
    shape: list[str] | None = None
    constant: list[str] | None = None
    nhwc_inputs: bool = False
    keras_objects: Path | None = None

    @property
    def source(self) -> SourceOptions:
        """The options that say how a model that is no .tflite file is read."""
        return SourceOptions(self.shape, self.constant, self.nhwc_inputs, self.keras_objects)

    @property
    def text(self) -> str:
        """The options as the header of generated files quotes them: those that change it, paths by their last part."""
        defaults: dict[str, Any] = {field.name: field.default for field in fields(self) if field.name in NOT_QUOTED}
        quoted = replace(
            self,
            optimize=Optimize.BALANCED,
            also=[Path(path.name) for path in self.also or ()],
            plugin=[Path(path.name) for path in self.plugin or ()],
            **defaults,
        )
        return " ".join([f"--optimize {self.optimize.value}", *option_words(quoted)])


@dataclass(frozen=True, slots=True)
class ConvertOptions:
    """What the user decides about a conversion.

    inputs, outputs  nodes of a frozen graph, names with commas between; None: placeholders, and what nothing reads
    signature        signature of a SavedModel; None: all
    calibration      input sets on which source and result are compared, too
    tolerance        greatest difference of floats, relative to the greatest magnitude of the tensor
    quantize         calibration data: the result is quantised, to another file
    keep             folder for the intermediate files
    plugin           Python files with custom operators, which composites of their names become
    """

    inputs: str | None = None
    outputs: str | None = None
    signature: str | None = None
    calibration: Path | None = None
    tolerance: float = 1e-4
    quantize: Path | None = None
    keep: Path | None = None
    plugin: list[Path] | None = None


@dataclass(frozen=True, slots=True)
class DiffOptions:
    """What may grow from one build to the next.

    board                     id of the board that two models are planned for; None: both are builds
    allow                     WHAT=PERCENT each: growth that is no error
    old_outputs, new_outputs  files that `run` has written, compared with each other
    max_error                 largest difference of outputs that is no error
    markdown                  file for the tables as Markdown
    """

    board: str | None = None
    allow: list[str] | None = None
    old_outputs: Path | None = None
    new_outputs: Path | None = None
    max_error: float = 0.0
    markdown: Path | None = None


class Activations(str, Enum):
    """Element type of activations; auto: int8, and int16 or float32 where int8 costs too much accuracy."""

    INT8 = "int8"
    INT16 = "int16"
    AUTO = "auto"


class QuantizedIo(str, Enum):
    """Element type of the inputs and outputs of a quantised model: float32 as before, or that of the activations."""

    FLOAT = "float"
    INT8 = "int8"


@dataclass(frozen=True, slots=True)
class QuantizeOptions:
    """What a quantised model is to be.

    max_error      largest absolute difference of an output on the sets that errors are measured on; None: any
    min_agreement  least share of outputs' rows whose largest element stays, and of control flow's decisions; None: any
    margin         FACTOR of the ranges of all outputs, or NAME=FACTOR of a tensor's: room for what samples lack
    split_outputs  the parts of an output that joins several become outputs, each with a scale of its own
    fuse_lstm      loops that are LSTM layers become one operator, whose state persists between invokes
    report         page to write, with tables and pictures
    board          id of a board on which flash, RAM and instructions are measured before and after
    """

    activations: Activations = Activations.INT8
    io: QuantizedIo = QuantizedIo.FLOAT
    max_error: float | None = None
    min_agreement: float | None = None
    margin: list[str] | None = None
    split_outputs: bool = False
    fuse_lstm: bool = False
    report: Path | None = None
    board: str | None = None


class Emulator(str, Enum):
    """Emulator that runs a board's firmware; auto is Renode, or QEMU for MVE and if Renode is not installed."""

    AUTO = "auto"
    RENODE = "renode"
    QEMU = "qemu"


@dataclass(frozen=True, slots=True)
class SessionOptions:
    """Options that run a firmware.

    signature  key of the signature to run; None: the only one
    timeout    seconds to wait for each reply
    renode     path of Renode; None: searched in PATH
    port       serial port of an attached board that already runs the firmware
    real       tables of inputs hold real numbers for quantised inputs
    """

    emulator: Emulator = Emulator.AUTO
    signature: str | None = None
    timeout: float = 60.0
    renode: str | None = None
    port: str | None = None
    real: bool = False


@dataclass(frozen=True, slots=True)
class MonitorOptions:
    """Options of `monitor`.

    port     serial port; None: the only USB one
    board    id of the board, for its baud rate
    seconds  None: until Ctrl-C
    """

    port: str | None = None
    board: str | None = None
    baud: int | None = None
    seconds: float | None = None


@dataclass(frozen=True, slots=True)
class OutputOptions:
    """Options of a command's output; see their help texts."""

    json: bool = False
    quiet: bool = False
    wide: bool = False
    strict: bool = False


@dataclass(frozen=True, slots=True)
class NewBoardOptions:
    """The user's answers about a new board; None: as the template board.

    like    the template board
    memory  NAME=ORIGIN:SIZE:KIND each, KIND flash or ram
    uart    DRIVER@BASE:CLOCK or DRIVER@BASE:CLOCK:BAUD
    qemu    MACHINE or MACHINE:SERIAL
    """

    like: str | None = None
    title: str | None = None
    core: str | None = None
    fpu: str | None = None
    memory: list[str] | None = None
    uart: str | None = None
    stack: int | None = None
    place: list[str] | None = None
    qemu: str | None = None


class Measured(str, Enum):
    """What a sweep measures beside estimates: nothing, compiled firmware's flash, or that and counted instructions."""

    ESTIMATE = "estimate"
    FLASH = "flash"
    INSTRUCTIONS = "instructions"


@dataclass(frozen=True, slots=True)
class SweepOptions:
    """What a sweep computes, and where.

    boards     names with commas between, or all; None: those that the Python file names
    options    sets of build options, as KEY=VALUE words each
    workers    processes of a cluster here; 0: one per processor core
    scheduler  address of a Dask scheduler; None: a cluster here
    cache      folder or fsspec URL of figures by content
    timeout    seconds of wall-clock time per task
    memory     bytes of address space per task, as texts: 4G
    report     page to write
    """

    boards: str | None = None
    options: list[str] | None = None
    measure: Measured = Measured.ESTIMATE
    workers: int = 0
    scheduler: str | None = None
    cache: str | None = None
    timeout: float = 300.0
    memory: str | None = None
    report: Path | None = None


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
