"""The file of an application (TOML) as typed values; every error names the line and the key."""

from __future__ import annotations

import math
import re
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NoReturn

from tflmgen.errors import Location, ModelError, Problem
from tflmgen.frontend.onnx import file_of_source
from tflmgen.ir import DType, Quantization
from tflmgen.user_files import read_text_limited

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

SUFFIX = ".toml"
BUILTIN = "builtin:"
_NAME = re.compile(r"[A-Za-z_]\w*")
_VALUE = re.compile(r"\w+(\.\w+)?")
MAX_ELEMENTS = 1 << 24
"""Elements of a tensor that a file may ask for: 16 MB in int8, more than any board of this kind has."""
UNITS = {"s": 1.0, "ms": 1e-3, "us": 1e-6}
_INPUT_KEYS = {"period", "type", "shape", "scale", "zero_point"}
_STAGE_KEYS = {"model", "builtin", "input", "when", "every", "slide", "catch_up", "reuse"}


@dataclass(frozen=True, slots=True)
class AppInput:
    """An input of the application, passed in each call.

    dtype, shape  None: those of the first stage that reads it
    period        seconds between calls; None: not given
    quantization  None: that of the first stage that reads it
    """

    name: str
    dtype: DType | None
    shape: tuple[int, ...] | None
    period: float | None
    quantization: Quantization | None


@dataclass(frozen=True, slots=True)
class AppStage:
    """A stage of an application.

    model     path of a model; None for a built-in
    builtin   name of a built-in; empty for a model
    inputs    what it reads: NAME or NAME.OUTPUT
    when      condition; empty: always
    every     of the calls in which it could run, it runs in the first of so many
    slide     axis and rows per call of its first input's window; None: it takes whole inputs
    restarts  its window begins anew after a call in which the stage was skipped
    reuses    a run computes what is new in its window; else the whole window
    settings  further keys, which the built-in knows
    """

    name: str
    model: Path | None
    builtin: str
    inputs: tuple[str, ...]
    when: str
    every: int
    slide: tuple[int, int] | None
    restarts: bool
    reuses: bool
    settings: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Application:
    """A whole file. outputs: NAME.OUTPUT of each output of the whole; empty: those of stages that no stage reads."""

    file: AppFile
    inputs: tuple[AppInput, ...]
    stages: tuple[AppStage, ...]
    outputs: tuple[str, ...]

    @property
    def period(self) -> float | None:
        """Seconds between calls: the first that an input names; None if none does."""
        return next((i.period for i in self.inputs if i.period is not None), None)


class AppFile:
    """The text of the file, for messages with lines."""

    def __init__(self, path: Path, text: str) -> None:
        self.path, self._lines = path, text.splitlines()

    def fail(self, key: str, rule: str, advice: str = "") -> NoReturn:
        """Raises ModelError. key: TABLE.NAME.KEY, whose line the message names, or that of its table."""
        raise ModelError([Problem(Location(self.place(key)), rule, advice)])

    def place(self, key: str) -> str:
        """PATH:LINE: KEY, for messages."""
        line = self._line(key)
        return f"{self.path}:{line}: {key}" if line else f"{self.path}: {key}" if key else str(self.path)

    def _line(self, key: str) -> int:
        """The line that sets a key, counted from 1; that of its table, or 0 where there is none."""
        table, _, last = key.rpartition(".")
        current, best = "", 0
        for number, line in enumerate(self._lines, 1):
            header = re.match(r"\s*\[\[?\s*([^\]]+?)\s*\]", line)
            if header:
                current = re.sub(r"\s*[\"']\s*|\s*(?=\.)|(?<=\.)\s*", "", header[1])
                if current == key:
                    return number
                is_within = current == table or (not best and current.startswith(f"{key}."))
                best = number if is_within else best
            elif current == table and re.match(rf"\s*[\"']?{re.escape(last)}[\"']?\s*=", line):
                return number
        return best


def read_application(path: Path) -> Application:
    """The file's contents. Raises ModelError with the line and the key of what is wrong."""
    try:
        text = read_text_limited(path)
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else error
        raise ModelError([Problem(Location(str(path)), f"cannot be read: {reason}")]) from None
    file = AppFile(path, text)
    try:
        contents = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise ModelError([Problem(Location(str(path)), f"is not TOML: {error}")]) from None
    _check_keys(file, "", contents, {"input", "stage", "outputs"})
    stages = contents.get("stage")
    for name, table in stages.items() if isinstance(stages, dict) else ():
        if isinstance(table, dict) and table.get("builtin") == "generate":
            return _generator(file, contents, name)
    inputs = tuple(_input(file, name, table) for name, table in _tables(file, contents, "input"))
    stages = tuple(_stage(file, name, table) for name, table in _tables(file, contents, "stage"))
    for name in {i.name for i in inputs} & {s.name for s in stages}:
        file.fail(f"stage.{name}", "is called like an input")
    _check_periods(file, inputs)
    outputs = contents.get("outputs", [])
    if not _is_texts(outputs):
        file.fail("outputs", 'is a list of outputs, as in ["decide.detected"]')
    for text in outputs:
        _check_value(file, "outputs", text)
    return Application(file, inputs, stages, tuple(outputs))


def _generator(file: AppFile, contents: Mapping[str, Any], name: str) -> Application:
    """An application of one stage, `generate`, whose inputs are its own; `decoder` is the path of its model."""
    where, (table, *others) = f"stage.{name}", list(contents["stage"].values())
    if others or "input" in contents or "outputs" in contents:
        file.fail(where, "generate is an application of its own: no other stages, no inputs, no outputs")
    decoder = table.get("decoder")
    if not isinstance(decoder, str) or not decoder:
        file.fail(f"{where}.decoder", "is the path of a decoder's model")
    path = file.path.parent / decoder
    if file_of_source(path) != path:
        file.fail(f"{where}.decoder", "is Python code, which an application does not run. Convert it first")
    settings = {key: value for key, value in table.items() if key != "builtin"}
    return Application(file, (), (AppStage(name, path, "generate", (), "", 1, None, False, False, settings),), ())


def _tables(file: AppFile, contents: Mapping[str, Any], kind: str) -> list[tuple[str, Mapping[str, Any]]]:
    tables = contents.get(kind)
    if not isinstance(tables, dict) or not tables:
        file.fail("", f"has no table [{kind}.NAME]")
    for name, table in tables.items():
        if not _NAME.fullmatch(name):
            file.fail(f"{kind}.{name}", "a name has letters, digits and _, and begins with no digit")
        if not isinstance(table, dict):
            file.fail(f"{kind}.{name}", f"is a table: [{kind}.{name}]")
    return list(tables.items())


def _check_keys(file: AppFile, where: str, table: Mapping[str, Any], known: set[str]) -> None:
    for key in table:
        if key not in known:
            file.fail(f"{where}.{key}" if where else key, f"is not a key here; there are {', '.join(sorted(known))}")


def _check_periods(file: AppFile, inputs: Sequence[AppInput]) -> None:
    """All inputs come with each call: their periods are one."""
    periods = [(i.name, i.period) for i in inputs if i.period is not None]
    for name, period in periods[1:]:
        if period != periods[0][1]:
            file.fail(f"input.{name}.period", f"is another than that of '{periods[0][0]}': a call brings all inputs")


def _check_value(file: AppFile, key: str, text: str) -> None:
    if not _VALUE.fullmatch(text):
        file.fail(key, f"'{text}' is neither NAME nor NAME.OUTPUT")


def _is_texts(value: object) -> bool:
    return isinstance(value, list) and all(isinstance(item, str) for item in value)


def _input(file: AppFile, name: str, table: Mapping[str, Any]) -> AppInput:
    where = f"input.{name}"
    _check_keys(file, where, table, _INPUT_KEYS)
    dtype, shape = table.get("type"), table.get("shape")
    known = None if dtype is None else element_type(file, f"{where}.type", dtype)
    dims = None if shape is None else dimensions(file, f"{where}.shape", shape)
    period = None if "period" not in table else seconds(file, f"{where}.period", table["period"])
    return AppInput(name, known, dims, period, _quantization(file, where, table, known))


def element_type(file: AppFile, key: str, label: object) -> DType:
    """The type that a label names. Raises ModelError."""
    types = {d.label: d for d in DType if d is not DType.INT4}
    if not isinstance(label, str) or label not in types:
        file.fail(key, f"{label!r} is not an element type; there are {', '.join(types)}")
    return types[label]


def dimensions(file: AppFile, key: str, shape: object) -> tuple[int, ...]:
    """A shape. Raises ModelError."""
    if not isinstance(shape, list) or not shape or not all(type(dim) is int and dim > 0 for dim in shape):
        file.fail(key, "is a list of dimensions of at least 1, as in [160]")
    if math.prod(shape) > MAX_ELEMENTS:
        file.fail(key, f"has more than {MAX_ELEMENTS:,} elements")
    return tuple(shape)


def _quantization(file: AppFile, where: str, table: Mapping[str, Any], dtype: DType | None) -> Quantization | None:
    scale, zero_point = table.get("scale"), table.get("zero_point", 0)
    if scale is None:
        if "zero_point" in table:
            file.fail(f"{where}.zero_point", "needs a scale")
        return None
    if dtype not in (DType.INT8, DType.UINT8, DType.INT16):
        file.fail(f"{where}.scale", "is for inputs with the type int8, uint8 or int16")
    if type(scale) not in (int, float) or not 1e-30 < scale < 1e30:
        file.fail(f"{where}.scale", "is a number above 0")
    if type(zero_point) is not int or not dtype.limits[0] <= zero_point <= dtype.limits[1]:
        file.fail(f"{where}.zero_point", f"is a whole number from {dtype.limits[0]} to {dtype.limits[1]}")
    return Quantization((float(scale),), (zero_point,))


def seconds(file: AppFile, key: str, text: object) -> float:
    """A time: "10 ms", "1 s". Raises ModelError."""
    match = re.fullmatch(r"\s*(\d{1,9}(?:\.\d{1,9})?)\s*(s|ms|us)\s*", text) if isinstance(text, str) else None
    if match is None or float(match[1]) == 0:
        file.fail(key, f"{text!r} is not a time", 'Write "10 ms" or "1 s"')
    return float(match[1]) * UNITS[match[2]]


def _stage(file: AppFile, name: str, table: Mapping[str, Any]) -> AppStage:
    where = f"stage.{name}"
    model, builtin = table.get("model", ""), table.get("builtin", "")
    if not isinstance(model, str) or not isinstance(builtin, str) or bool(model) == bool(builtin):
        file.fail(where, "a stage has either a model or a builtin")
    if model.startswith(BUILTIN):
        model, builtin = "", model.removeprefix(BUILTIN)
    sources = [table["input"]] if isinstance(table.get("input"), str) else table.get("input")
    if not _is_texts(sources) or not sources:
        file.fail(f"{where}.input", 'is what the stage reads: "audio", "vad.scores", or a list of several')
    for text in sources:
        _check_value(file, f"{where}.input", text)
    every, when, slide, catch_up, reuse = (table.get(k, d) for k, d in _DEFAULTS.items())
    if type(every) is not int or not 0 < every < 1 << 30:
        file.fail(f"{where}.every", "is a whole number of at least 1")
    if not isinstance(when, str) or ("when" in table and not when.strip()):
        file.fail(f"{where}.when", 'is a condition, as in "vad.scores[1] > 0.6"')
    if slide is not None and not (
        isinstance(slide, list) and len(slide) == 2 and all(type(n) is int for n in slide) and 0 < slide[1] < 1 << 30
    ):
        file.fail(f"{where}.slide", "is [axis, rows per call], as in [1, 1]")
    if catch_up not in ("keep", "restart"):
        file.fail(f"{where}.catch_up", f'{catch_up!r} is neither "keep" nor "restart"')
    if not isinstance(reuse, bool):
        file.fail(f"{where}.reuse", "is true or false")
    for key in ("catch_up", "reuse"):
        if key in table and slide is None:
            file.fail(f"{where}.{key}", "is for stages that slide")
    if builtin and "reuse" in table:
        file.fail(f"{where}.reuse", "is for models: a builtin computes its whole window")
    settings = {key: value for key, value in table.items() if key not in _STAGE_KEYS}
    if model and settings:
        _check_keys(file, where, table, _STAGE_KEYS)
    path = file.path.parent / model if model else None
    if path is not None and file_of_source(path) != path:
        file.fail(f"{where}.model", "is Python code, which an application does not run. Convert it first")
    window = None if slide is None else (slide[0], slide[1])
    restarts, reuses = catch_up == "restart", bool(model) and window is not None and reuse
    return AppStage(name, path, builtin, tuple(sources), when, every, window, restarts, reuses, settings)


_DEFAULTS: Mapping[str, Any] = {"every": 1, "when": "", "slide": None, "catch_up": "keep", "reuse": True}
