"""Reads a .tflite file: bytes to a Model that is typed and range-checked, or a ModelError."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from tflmgen.errors import Location, ModelError, Problem
from tflmgen.frontend.tflite.circle import CIRCLE_IDENTIFIER, CIRCLE_VERSIONS, lower_own_operators
from tflmgen.frontend.tflite.flatbuffer import DamagedFileError, Decoder
from tflmgen.frontend.tflite.model import Model, Signature, SubGraph
from tflmgen.frontend.tflite.names import CUSTOM, IDENTIFIER, VERSION, printable
from tflmgen.frontend.tflite.operator_reader import OperatorReader
from tflmgen.frontend.tflite.other_formats import other_format
from tflmgen.frontend.tflite.problems import Complain, ProblemList
from tflmgen.frontend.tflite.tensor_uses import order_operators
from tflmgen.frontend.tflite.tensors import read_tensor
from tflmgen.user_files import read_limited

_MAX_FILE_BYTES = 1 << 29
"""Largest file that is read: far beyond the flash of any microcontroller."""

_NO_TFLITE = f"this is not a TensorFlow Lite file: it lacks the identifier {IDENTIFIER.decode()}"

_DECODE = f"{CUSTOM}TFLM_DECODE"
"""Operator whose inputs are encoded bytes with the quantisation of the decoded tensor."""


def read_model(path: Path) -> Model:
    """Model in the file `path`. Raises ModelError with every problem of the file."""
    name = str(path)
    try:
        data = read_limited(path, _MAX_FILE_BYTES)
    except IsADirectoryError:
        raise _error(name, "it is a directory", "Give the path of a .tflite file") from None
    except FileNotFoundError:
        raise _error(name, "there is no such file", "Give the path of a .tflite file") from None
    except OSError as error:
        raise _error(name, f"it cannot be read: {error.strerror}") from None
    return parse_model(data, name)


def parse_model(data: bytes, name: str) -> Model:
    """Model in the bytes of a file; `name` is for messages. Raises ModelError with every problem of the file."""
    if not data:
        raise _error(name, "the file is empty")
    if data[4:8] not in (IDENTIFIER, CIRCLE_IDENTIFIER) and (other := other_format(data)):
        raise _error(name, _NO_TFLITE, other)
    try:
        decoder = Decoder(data)
        if decoder.identifier not in (IDENTIFIER, CIRCLE_IDENTIFIER):
            raise _error(name, _NO_TFLITE)
        return _model(decoder, name)
    except DamagedFileError as error:
        raise _error(name, f"the file is damaged: {error}", "Get it again or convert the model anew") from None


def _model(decoder: Decoder, name: str) -> Model:
    file = decoder.root("Model")
    problems = ProblemList(name)
    is_circle = decoder.identifier == CIRCLE_IDENTIFIER
    if file["version"] not in (CIRCLE_VERSIONS if is_circle else (VERSION,)):
        problems.add(f"schema version {file['version']} is not supported", f"Only {VERSION} is")
    if not file["subgraphs"]:
        problems.add("it has no subgraphs")
    buffers = [_contents(decoder, index, raw) for index, raw in enumerate(file["buffers"])]
    operators = OperatorReader(decoder, file, problems)
    subgraphs = tuple(_subgraph(i, raw, buffers, operators, problems) for i, raw in enumerate(file["subgraphs"]))
    if is_circle:
        subgraphs = lower_own_operators(subgraphs, problems)
    signatures = tuple(_signature(raw, subgraphs, problems) for raw in file["signature_defs"])
    for key, count in Counter(signature.key for signature in signatures).items():
        if count > 1:
            problems.add(f"{count} signatures are named '{key}'")
    problems.raise_if_any()
    digest = hashlib.sha256(decoder.data).hexdigest()
    return Model(name, digest, printable(file["description"]), subgraphs, signatures)


def _contents(decoder: Decoder, index: int, raw: Mapping[str, Any]) -> bytes:
    """Bytes of a buffer: in its own table or, if the file uses offsets (as over 2 GB), after all tables."""
    if raw["offset"] > 1:
        return decoder.slice(raw["offset"], raw["size"], f"Buffer {index}")
    return bytes(raw["data"])


def _subgraph(
    index: int, raw: Mapping[str, Any], buffers: Sequence[bytes], operators: OperatorReader, problems: ProblemList
) -> SubGraph:
    place = (index, printable(raw["name"]))
    count = len(raw["tensors"])
    ops = tuple(operators.read(i, op, place, count) for i, op in enumerate(raw["operators"]))
    inputs, outputs = (_ports(raw, side, count, problems.located(place)) for side in ("inputs", "outputs"))
    produced = {*inputs, *(i for op in ops for i in op.outputs)}
    used = {*produced, *outputs, *(i for op in ops for i in (*op.inputs, *op.intermediates))}
    packed = {i for op in ops if op.name == _DECODE for i in op.inputs}
    tables = [{**table, "quantization": None} if i in packed else table for i, table in enumerate(raw["tensors"])]
    tensors = []
    for i, table in enumerate(tables):
        name = printable(table["name"])
        complain = problems.located(place, tensor=(i, name)) if i in used else _ignore
        tensors.append(read_tensor(i, tables, name, buffers, i in produced, complain))
    subgraph = SubGraph(*place, tuple(tensors), inputs, outputs, ops)
    return replace(subgraph, operators=order_operators(subgraph, len(buffers), problems))


def _ports(raw: Mapping[str, Any], side: str, tensors: int, complain: Complain) -> tuple[int, ...]:
    for i in raw[side]:
        if not 0 <= i < tensors:
            complain(f"its {side} name tensor {i}, but it has {tensors} tensors")
    return tuple(i for i in raw[side] if 0 <= i < tensors)


def _signature(raw: Mapping[str, Any], subgraphs: Sequence[SubGraph], problems: ProblemList) -> Signature:
    key, index = printable(raw["signature_key"]), raw["subgraph_index"]
    inputs, outputs = (
        tuple((printable(port["name"]), port["tensor_index"]) for port in raw[side]) for side in ("inputs", "outputs")
    )
    if index >= len(subgraphs):
        problems.add(f"signature '{key}' is of subgraph {index}, but there are {len(subgraphs)}")
        return Signature(key, index, inputs, outputs)
    own_inputs, own_outputs = set(subgraphs[index].inputs), set(subgraphs[index].outputs)
    for label, ports, tensors_inside in (("input", inputs, own_inputs), ("output", outputs, own_outputs)):
        for name, tensor in ports:
            if tensor not in tensors_inside:
                problems.add(
                    f"{label} '{name}' of signature '{key}' is tensor {tensor}, no {label} of subgraph {index}"
                )
        for name, count in Counter(name for name, _ in ports).items():
            if count > 1:
                problems.add(f"signature '{key}' has {count} {label}s named '{name}'")
    for tensor in sorted(own_inputs - {tensor for _, tensor in inputs}):
        problems.add(f"signature '{key}' leaves out input tensor {tensor} of subgraph {index}")
    return Signature(key, index, inputs, outputs)


def _ignore(rule: str, advice: str = "") -> None:
    """Discards a problem of an unused tensor."""


def _error(name: str, rule: str, advice: str = "") -> ModelError:
    return ModelError([Problem(Location(name), rule, advice)])
