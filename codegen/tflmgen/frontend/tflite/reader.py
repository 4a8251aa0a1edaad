"""Reads a .tflite file: bytes to a Model that is typed and range-checked, or a ModelError."""

from __future__ import annotations

import hashlib
import io
import zipfile
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from tflmgen.errors import Location, ModelError, Problem
from tflmgen.frontend.model_graph.model_rewrite import with_own_buffers
from tflmgen.frontend.stablehlo_operators import without_stablehlo
from tflmgen.frontend.tensor_forms import without_complex_tensors, without_densify
from tflmgen.frontend.tflite.circle import CIRCLE_IDENTIFIER, CIRCLE_VERSIONS, lower_own_operators
from tflmgen.frontend.tflite.flatbuffer import DamagedFileError, TableDecoder
from tflmgen.frontend.tflite.model import FileSignature, Model, SubGraph
from tflmgen.frontend.tflite.names import CUSTOM, IDENTIFIER, VERSION, printable
from tflmgen.frontend.tflite.operator_reader import OperatorReader
from tflmgen.frontend.tflite.problems import Complain, ProblemList
from tflmgen.frontend.tflite.sparse_tensors import check_dense_size
from tflmgen.frontend.tflite.tensor_uses import order_operators
from tflmgen.frontend.tflite.tensors import read_tensor
from tflmgen.frontend.unsigned_tensors import with_signed_tensors
from tflmgen.user_files import DAMAGED_ZIP, read_limited

_CONVERT = "Convert the model with tf.lite.TFLiteConverter"
_EXPORT = "Export the module: torch.export.save(torch.export.export(module, inputs), 'net.pt2')"
_STARTS = (
    (b"\x89HDF", f"It is an HDF5 file, perhaps Keras weights. {_CONVERT}"),
    (b"\x1f\x8b", "It is compressed with gzip. Unpack it first"),
    (b"\x80\x02", f"It is a Python pickle, perhaps of torch.save, which could run code and is not read. {_EXPORT}"),
)
_MEMBERS = (
    ("constants.pkl", f"It is a TorchScript archive, which could run code and is not read. {_EXPORT}"),
    ("data.pkl", f"It is a PyTorch pickle of torch.save, which could run code and is not read. {_EXPORT}"),
    ("models/model.json", "It is a program of torch.export. Give it the suffix .pt2"),
    ("model.weights.h5", "It is a Keras model. Give it the suffix .keras"),
)
"""End of a zip member's name that a format has, and what to say; the first that fits counts."""


def other_format(data: bytes) -> str:
    """A sentence on the contents of a file of another format, with advice; empty if it is unknown."""
    if data.startswith(b"PK\x03\x04"):
        names = _member_names(data)
        text = next((text for end, text in _MEMBERS if any(name.endswith(end) for name in names)), None)
        return text or f"It is a zip archive, perhaps a .keras file. {_CONVERT}"
    return next((text for start, text in _STARTS if data.startswith(start)), "")


def _member_names(data: bytes) -> list[str]:
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            return archive.namelist()
    except DAMAGED_ZIP:
        return []


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
        decoder = TableDecoder(data)
        if decoder.identifier not in (IDENTIFIER, CIRCLE_IDENTIFIER):
            raise _error(name, _NO_TFLITE)
        return _model(decoder, name)
    except DamagedFileError as error:
        raise _error(name, f"the file is damaged: {error}", "Get it again or convert the model anew") from None


def _model(decoder: TableDecoder, name: str) -> Model:
    file = decoder.root("Model")
    problems = ProblemList(name)
    is_circle = decoder.identifier == CIRCLE_IDENTIFIER
    if file["version"] not in (CIRCLE_VERSIONS if is_circle else (VERSION,)):
        problems.add(f"schema version {file['version']} is not supported", f"Only {VERSION} is")
    if not file["subgraphs"]:
        problems.add("it has no subgraphs")
    check_dense_size(file["subgraphs"], problems)
    buffers = [_contents(decoder, index, raw) for index, raw in enumerate(file["buffers"])]
    operators = OperatorReader(decoder, file, problems)
    subgraphs = tuple(_subgraph(i, raw, buffers, operators, problems) for i, raw in enumerate(file["subgraphs"]))
    original = subgraphs
    if is_circle:
        subgraphs = lower_own_operators(subgraphs, problems)
    subgraphs = tuple(without_complex_tensors(without_densify(graph), problems) for graph in subgraphs)
    signatures = tuple(_signature(raw, subgraphs, problems) for raw in file["signature_defs"])
    for key, count in Counter(signature.key for signature in signatures).items():
        if count > 1:
            problems.add(f"{count} signatures are named '{key}'")
    problems.raise_if_any()
    digest = hashlib.sha256(decoder.data).hexdigest()
    subgraphs = tuple(with_signed_tensors(without_stablehlo(graph, subgraphs)) for graph in subgraphs)
    model = Model(name, digest, printable(file["description"]), subgraphs, signatures)
    # Constants that were added have no numbers of buffers yet.
    return model if subgraphs == original else with_own_buffers(model)


def _contents(decoder: TableDecoder, index: int, raw: Mapping[str, Any]) -> bytes:
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


def _signature(raw: Mapping[str, Any], subgraphs: Sequence[SubGraph], problems: ProblemList) -> FileSignature:
    key, index = printable(raw["signature_key"]), raw["subgraph_index"]
    inputs, outputs = (
        tuple((printable(port["name"]), port["tensor_index"]) for port in raw[side]) for side in ("inputs", "outputs")
    )
    if index >= len(subgraphs):
        problems.add(f"signature '{key}' is of subgraph {index}, but there are {len(subgraphs)}")
        return FileSignature(key, index, inputs, outputs)
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
    return FileSignature(key, index, inputs, outputs)


def _ignore(rule: str, advice: str = "") -> None:
    """Discards a problem of an unused tensor."""


def _error(name: str, rule: str, advice: str = "") -> ModelError:
    return ModelError([Problem(Location(name), rule, advice)])
