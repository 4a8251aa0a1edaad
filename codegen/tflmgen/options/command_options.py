"""Options of commands beside those of builds: sessions, output, quantisation, conversion, boards, sweeps."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from pathlib import Path
from typing import Literal

from tflmgen.options.option_declaration import option


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


@dataclass(frozen=True, slots=True)
class ConvertOptions:
    """Options of a conversion."""

    inputs: str | None = option(
        None, "Nodes of a frozen graph that are inputs.", "A,B", shown_default="its placeholders"
    )
    outputs: str | None = option(
        None, "Nodes of a frozen graph that are outputs.", "C,D", shown_default="what nothing reads"
    )
    signature: str | None = option(None, "Signature of a SavedModel to convert.", "KEY", shown_default="all")
    calibration: Path | None = option(
        None, "Inputs on which the result is compared with SOURCE, beside seeded ones.", "CAL.npz"
    )
    tolerance: float = option(
        1e-4, "Largest difference of floats, relative to the largest magnitude in the tensor.", "R", min=0.0
    )
    quantize: Path | None = option(
        None, "Quantise the result with this calibration data, too, to OUT-int8.tflite.", "CAL.npz"
    )
    keep: Path | None = option(None, "Folder for the intermediate files.", "DIR", shown_default="none are kept")
    max_iterations: int | None = option(
        None,
        "Iterations of loops whose condition does not bound them and of which a gradient keeps values; they end there.",
        "N",
        min=1,
    )
    plugin: list[Path] | None = option(
        None,
        "A Python file with custom operators: composites of their names become these. Repeatable.",
        "FILE.py",
    )


@dataclass(frozen=True, slots=True)
class DiffOptions:
    """Options of a comparison of builds: growth that is allowed."""

    board: str | None = option(None, "Board that OLD and NEW, two models, are planned for.", "BOARD", short="-b")
    allow: list[str] | None = option(
        None, "Growth that is no failure: flash=2%, all=1%. Repeatable.", "WHAT=PERCENT", shown_default="all=0"
    )
    old_outputs: Path | None = option(None, "Outputs of OLD, as `tflmgen run` writes them.", "OLD.npz")
    new_outputs: Path | None = option(None, "Outputs of NEW.", "NEW.npz")
    max_error: float = option(0.0, "Largest difference of outputs.", "E", min=0.0)
    markdown: Path | None = option(None, "Write the tables as Markdown, for a comment.", "FILE.md")


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
    """Options of a quantisation: types, accuracy, and reports."""

    activations: Activations = option(
        Activations.INT8,
        "Element type of activations. auto: int8, and int16 or float32 where int8 exceeds --max-error or "
        "--min-agreement.",
    )
    io: QuantizedIo = option(
        QuantizedIo.FLOAT,
        "Inputs and outputs: float32 as before, or integers, which need no conversions on the board.",
    )
    max_error: float | None = option(
        None, "Largest absolute error of an output on --calibration's samples.", "E", min=0.0
    )
    min_agreement: float | None = option(
        None,
        "Least share of results (the largest output) and of branches and trip counts that stay the same.",
        "SHARE",
        shown_default="0.99 with auto",
        min=0.0,
        max=1.0,
    )
    weights: str | None = option(
        None,
        "Weights alone, with a scale for each 32, 64 or 128 of a row: int4:32. Activations stay float32.",
        "TYPE:BLOCK",
    )
    next_token: str | None = option(
        None,
        "Input that has a text's token in each sample: measures the loss of the token that follows, before and after.",
        "INPUT",
    )
    max_loss: float | None = option(
        None, "Largest part of --next-token's loss that quantisation may add, as 0.01.", "R", min=0.0
    )
    margin: list[str] | None = option(
        None,
        "Range of all outputs, or of the tensor NAME, in multiples of what samples reach. Repeatable.",
        "[NAME=]FACTOR",
    )
    split_outputs: bool = option(
        False, "Make an output of each part of an output that joins several: a scale for each."
    )
    fuse_lstm: bool = option(
        False, "Make one operator of a loop that is an LSTM layer. Its state persists: reset it before each invoke."
    )
    report: Path | None = option(
        None, "Write a page with ranges, errors and costs, as pictures and tables.", "FILE.html"
    )
    board: str | None = option(None, "Measure flash, RAM and instructions on this board before and after.", "BOARD")


class Loss(str, Enum):
    """Loss between a model's output and what it should be."""

    SPARSE_CATEGORICAL_CROSSENTROPY = "sparse_categorical_crossentropy"
    CATEGORICAL_CROSSENTROPY = "categorical_crossentropy"
    BINARY_CROSSENTROPY = "binary_crossentropy"
    MSE = "mse"
    MAE = "mae"
    HUBER = "huber"
    COSINE = "cosine"
    CONTRASTIVE = "contrastive"


class OptimizerName(str, Enum):
    """Rules by which weights follow from gradients, with Keras' definitions and defaults."""

    SGD = "sgd"
    MOMENTUM = "momentum"
    NESTEROV = "nesterov"
    RMSPROP = "rmsprop"
    ADAM = "adam"
    ADAMW = "adamw"


@dataclass(frozen=True, slots=True)
class TrainOptions:
    """Options of training: what a model is to learn, which of its weights, and how."""

    loss: Loss | None = option(None, "Loss of the model's output. Crossentropy is of logits, or of a softmax's output.")
    loss_output: str | None = option(None, "Output that is the loss, of a model that computes its own.", "NAME")
    target_output: str | None = option(
        None, "Output that --loss is of; of two, both: A,B.", "NAME", shown_default="the model's own"
    )
    optimizer: OptimizerName = option(OptimizerName.SGD, "How weights follow from gradients, as Keras defines it.")
    learning_rate: str | None = option(
        None, "Learning rate; input: it becomes an input of `train`.", "R", shown_default="Keras' for the optimizer"
    )
    batch: int | None = option(
        None, "Samples of a step, of a model whose inputs have an open first dimension.", "N", shown_default="1", min=1
    )
    l2: float = option(0.0, "Minimise also F times the sum of the squares of all weights that train.", "F", min=0.0)
    clip_norm: float | None = option(None, "Greatest norm of each weight's gradient.", "N", min=0.0)
    global_clip_norm: float | None = option(None, "Greatest norm of all gradients together.", "N", min=0.0)
    accumulate: int = option(1, "Update once for N calls of `train`, with the mean of their gradients.", "N", min=1)
    trainable: list[str] | None = option(
        None, "Train only weights of these names: of their tensors or their layers' results. Repeatable.", "PATTERN"
    )
    freeze: list[str] | None = option(None, "Do not train weights of these names. Repeatable.", "PATTERN")
    last: int | None = option(None, "Train only the last N layers.", "N", min=1)
    biases: bool = option(False, "Train only biases.")
    adapter: str | None = option(
        None, "Train only matrices of this rank beside those of layers, which stay as they are.", "lora:RANK"
    )
    max_iterations: int | None = option(
        None, "Iterations of loops whose condition does not bound them; training ends them there.", "N", min=1
    )
    portable: bool = option(False, "Leave out the check of labels and of the loss, which other runtimes lack.")
    check_gradients: bool = option(
        False, "Return an error, and change no weight, where a gradient is not finite; keeps them all until then."
    )
    signature: str | None = option(None, "Signature to train.", "KEY", shown_default="the model's only one")
    ram_budget: str | None = option(
        None, "Compute values of the forward pass again until arena and state fit into BYTES: 20000, 32K.", "BYTES"
    )


class Emulator(str, Enum):
    """Emulator that runs a board's firmware; auto is Renode, or QEMU for MVE and if Renode is not installed."""

    AUTO = "auto"
    RENODE = "renode"
    QEMU = "qemu"


@dataclass(frozen=True, slots=True)
class SessionOptions:
    """Options that run a firmware."""

    emulator: Emulator = option(
        Emulator.AUTO, "Emulator to use; auto is the one installed; of both Renode, or QEMU for MVE and bench."
    )
    signature: str | None = option(None, "Signature of the model to run.", "KEY")
    timeout: float = option(60.0, "Time limit of each reply.", "SECONDS", min=0.001)
    renode: str | None = option(
        None, "Path of Renode.", "PROGRAM", shown_default="renode of PATH", envvar="TFLMGEN_RENODE"
    )
    port: str | None = option(
        None,
        "Serial port of an attached board, which `tflmgen flash` has flashed with the same model and options.",
        "PORT",
    )
    real: bool = option(False, "A .csv has real numbers for quantised inputs; floats of an .npz are real anyway.")


@dataclass(frozen=True, slots=True)
class MonitorOptions:
    """Options of `monitor`."""

    port: str | None = option(None, "The board's serial port.", "PORT", shown_default="the only USB one")
    board: str | None = option(None, "The board, for its baud rate.", "BOARD", short="-b")
    baud: int | None = option(None, "The baud rate.", "N", shown_default="115200", min=300)
    seconds: float | None = option(None, "Stop after N seconds.", "N", shown_default="until Ctrl-C", min=0.0)


@dataclass(frozen=True, slots=True)
class OutputOptions:
    """Options of a command's output."""

    json: bool = option(False, "Print JSON instead of text for people.")
    quiet: bool = option(False, "Print nothing but errors (and --json).", short="-q")
    wide: bool = option(False, "Print tables in full, however wide they get.")
    strict: bool = option(False, "Fail, and write nothing, where there would be a warning.")


@dataclass(frozen=True, slots=True)
class NewBoardOptions:
    """The user's answers about a new board; None: as the template board."""

    like: str | None = option(None, "Board to copy what other options leave out.", "BOARD")
    title: str | None = option(None, "One-line description.", "TEXT")
    core: str | None = option(None, "Its processor, cortex-m4 for example.", "CORE")
    fpu: str | None = option(None, "GCC's -mfpu name where it isn't the usual one, or none.", "NAME")
    memory: list[str] | None = option(
        None,
        "A memory, KIND flash or ram: RAM=0x20000000:128K:ram. Repeatable.",
        "NAME=ORIGIN:SIZE:KIND",
    )
    uart: str | None = option(None, "Its serial port: stm32v2@0x40004800:16000000[:BAUD].", "DRIVER@BASE:CLOCK")
    stack: int | None = option(None, "RAM reserved for the stack.", "BYTES")
    place: list[str] | None = option(None, "Memory of a section: arena=dtcm. Repeatable.", "WHAT=MEMORY")
    qemu: str | None = option(None, "QEMU machine that runs its firmware.", "MACHINE[:SERIAL]")


class Measured(str, Enum):
    """Measurements of a sweep beside estimates: none, compiled firmware's flash, or flash and counted instructions."""

    ESTIMATE = "estimate"
    FLASH = "flash"
    INSTRUCTIONS = "instructions"


@dataclass(frozen=True, slots=True)
class SweepOptions:
    """Options of a sweep: its space, measurements and machines."""

    boards: str | None = option(
        None, "Boards, or all that come with tflmgen.", "A,B", shown_default="BOARDS of SPACE.py"
    )
    options: list[str] | None = option(
        None,
        'A set of build options, words of tflmgen.compile: "optimize=ram max_dim=8". Repeatable.',
        "KEY=VALUE...",
        shown_default="OPTIONS of SPACE.py, or none",
    )
    measure: Measured = option(Measured.ESTIMATE, "What is measured beside estimates; flash and instructions compile.")
    workers: int = option(0, "Processes of a cluster here.", "N", short="-j", shown_default="one per core", min=0)
    scheduler: str | None = option(None, "Dask scheduler of a cluster elsewhere: tcp://host:8786.", "ADDRESS")
    cache: str | None = option(None, "Folder or URL of figures by content, which sweeps share.", "DIR")
    timeout: float = option(300.0, "Time limit of each row.", "SECONDS", min=0.001)
    memory: str | None = option(None, "Address space of each row's process: 4G.", "BYTES")
    report: Path | None = option(None, "Write a page with RAM, time and score of all rows, too.", "FILE.html")
