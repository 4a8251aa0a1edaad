"""One-operator files of the differential families in every element type, and who takes them: LiteRT and tflmgen.

A family's case has tensors of a few types. For each of these types, all of its tensors get another one in turn; a file
in which the others are as they were is put to LiteRT, in a process of its own because some kernels crash, and to the
importer. Many of LiteRT's kernels do not look at a type and read bytes as what they expect. So a type counts as taken
where the outputs have the types that the file says and, without scales, the numbers that they have in the type that the
case had, for inputs that both can hold.
"""

from __future__ import annotations

import faulthandler
import importlib
import json
import multiprocessing
import os
from collections.abc import Iterator
from dataclasses import dataclass
from multiprocessing.connection import Connection
from typing import Any

import flatbuffers
import numpy as np
import pytest
from tflmgen.errors import ModelError
from tflmgen.frontend.importer import import_model
from tflmgen.frontend.tflite.names import TENSOR_TYPES
from tflmgen.frontend.tflite.reader import parse_model

from support.kernel_harness import Array

ELEMENTS = {
    "float32": "<f4", "float16": "<f2", "float64": "<f8", "int8": "|i1", "uint8": "|u1", "int16": "<i2",
    "uint16": "<u2", "int32": "<i4", "uint32": "<u4", "int64": "<i8", "uint64": "<u8", "bool": "|b1",
    "complex64": "<c8", "complex128": "<c16", "bfloat16": "<u2", "int4": "|i1",
}  # fmt: skip
"""Element types that are tried -> NumPy's of as many bytes; int4 is packed two to a byte."""
INDICES = ("int8", "int16", "int32", "int64", "uint32", "uint64")
"""Types that are tried for operands that are neither data nor of its type: indices, axes, shapes."""
QUANTIZED = ("int8", "uint8", "int16", "int4")
SECONDS = 20
"""Time that LiteRT gets for one file."""


@dataclass(frozen=True)
class Trial:
    """A file of one operator, its inputs, which tensors were changed, and to which type.

    group   the tensors that have the type, as i0 for input 0 and o1 for output 1
    """

    operator: str
    group: str
    dtype: str
    types: tuple[str, ...]
    model: bytes
    values: tuple[Array, ...]
    before: bytes
    before_values: tuple[Array, ...]
    has_scales: bool

    @property
    def pair(self) -> tuple[str, str, str]:
        return self.operator, self.group, self.dtype


def variants(operator: str, model: bytes, values: list[Array]) -> Iterator[Trial]:
    """The file with each type of its tensors replaced by every other one, with and without scales."""
    schema: Any = pytest.importorskip("ai_edge_litert.schema_py_generated")
    file = schema.ModelT.InitFromPackedBuf(model, 0)
    graph = file.subgraphs[0]
    op = graph.operators[-1]
    names = [*(f"i{k}" for k in range(len(op.inputs))), *(f"o{k}" for k in range(len(op.outputs)))]
    places = dict(zip(names, map(int, [*op.inputs, *op.outputs]), strict=True))
    for kind in sorted({int(graph.tensors[i].type) for i in places.values() if i >= 0}):
        group = [name for name, i in places.items() if i >= 0 and graph.tensors[i].type == kind]
        chosen = {places[name] for name in group}
        is_data = any(name.startswith("o") for name in group) or TENSOR_TYPES[kind] not in ("int32", "int64")
        for dtype in ELEMENTS if is_data else INDICES:
            for has_scales in (False, True) if dtype in QUANTIZED else (False,):
                yield _variant(operator, model, values, chosen, "+".join(group), dtype, has_scales)


def _variant(
    operator: str, model: bytes, values: list[Array], chosen: set[int], group: str, dtype: str, has_scales: bool
) -> Trial:
    schema: Any = pytest.importorskip("ai_edge_litert.schema_py_generated")
    file = schema.ModelT.InitFromPackedBuf(model, 0)
    graph, op = file.subgraphs[0], file.subgraphs[0].operators[-1]
    fed = dict(zip(map(int, graph.inputs), values, strict=True))
    for index in chosen & fed.keys():
        fed[index] = _tame(fed[index], dtype)
    before_values = tuple(fed[int(i)] for i in graph.inputs)
    for index in chosen:
        tensor = graph.tensors[index]
        before = ELEMENTS.get(TENSOR_TYPES[tensor.type], "|i1")
        same = TENSOR_TYPES[tensor.type] == dtype
        tensor.type = TENSOR_TYPES.index(dtype)
        _set_scales(schema, tensor, has_scales, same)
        if index in fed:
            fed[index] = _converted(fed[index], dtype)
        buffer = file.buffers[tensor.buffer]
        if buffer.data is not None and len(buffer.data):
            array = np.frombuffer(bytes(buffer.data), before)
            buffer.data = list(_packed(_converted(array, dtype), dtype))
    builder = flatbuffers.Builder(len(model))
    builder.Finish(file.Pack(builder), b"TFL3")
    types = tuple(TENSOR_TYPES[graph.tensors[int(i)].type] if i >= 0 else "-" for i in [*op.inputs, *op.outputs])
    inputs = tuple(fed[int(i)] for i in graph.inputs)
    file_bytes = bytes(builder.Output())
    return Trial(operator, group, dtype, types, file_bytes, inputs, model, before_values, has_scales)


def _tame(array: Array, dtype: str) -> Array:
    """Numbers that every type can hold; Booleans where one of the types is bool. Indices are as they were."""
    if array.dtype.kind not in "fb" and dtype != "bool":
        return array
    numbers = np.nan_to_num(array.astype(np.float64), nan=0.0, posinf=2.0, neginf=1.0)
    return (np.abs(np.round(numbers)) % (2 if "bool" in (dtype, array.dtype.name) else 4)).astype(array.dtype)


def _set_scales(schema: Any, tensor: Any, has_scales: bool, same: bool) -> None:
    if not has_scales:
        tensor.quantization = None
    elif tensor.quantization is None or not same or tensor.quantization.scale is None:
        quantization = schema.QuantizationParametersT()
        quantization.scale, quantization.zeroPoint = [0.5], [0]
        tensor.quantization = quantization


def _converted(array: Array, dtype: str) -> Array:
    kind = np.dtype(ELEMENTS[dtype])
    with np.errstate(all="ignore"):
        if kind.kind in "iu" and array.dtype.kind == "f":
            low, high = (0, 100) if kind.kind == "u" else (-7, 7) if dtype == "int4" else (-100, 100)
            array = np.clip(np.nan_to_num(array), low, high)
        if array.dtype.kind == "c" and kind.kind != "c":
            array = array.real
        return np.ascontiguousarray(array.astype(kind))


def _packed(array: Array, dtype: str) -> bytes:
    if dtype != "int4":
        return bytes(array.tobytes())
    nibbles = np.append(array.ravel(), np.zeros(array.size % 2, np.int8)).view(np.uint8) & 15
    return bytes((nibbles[0::2] | nibbles[1::2] << 4).tobytes())


def built(trial: Trial) -> str:
    """Empty where tflmgen takes the file; else what it says."""
    try:
        import_model(parse_model(trial.model, "m.tflite"))
    except ModelError as error:
        return str(error.problems[0].rule)
    return ""


class LiteRt:
    """LiteRT's reference kernels in a process that may die; it is started anew for the next file."""

    def __init__(self) -> None:
        self._start()

    def _start(self) -> None:
        self._pipe, end = multiprocessing.Pipe()
        self._process = multiprocessing.get_context("fork").Process(target=_serve, args=(end,), daemon=True)
        self._process.start()
        end.close()

    def takes(self, trial: Trial) -> bool:
        """Whether it allocates and invokes the file."""
        self._pipe.send(trial)
        try:
            if self._pipe.poll(SECONDS):
                return bool(self._pipe.recv())
        except (EOFError, OSError):
            pass
        self.close()
        self._start()
        return False

    def close(self) -> None:
        self._process.kill()
        self._process.join()
        self._pipe.close()


def _serve(pipe: Connection) -> None:
    os.dup2(os.open(os.devnull, os.O_WRONLY), 2)
    faulthandler.disable()  # a kernel that crashes is a result here
    while True:
        pipe.send(_is_taken(pipe.recv()))


def _is_taken(trial: Trial) -> bool:
    try:
        outputs = _outputs(trial.model, trial.values, trial.types[-1:])
        if trial.has_scales:
            return True
        expected = _outputs(trial.before, trial.before_values)
    except (RuntimeError, ValueError, TypeError, KeyError):
        return False
    return all(
        got.shape == want.shape and np.allclose(got.astype(complex), want.astype(complex), 2e-2, 2e-2, equal_nan=True)
        for got, want in zip(outputs, expected, strict=True)
    )


def _outputs(model: bytes, values: tuple[Array, ...], types: tuple[str, ...] = ()) -> list[Array]:
    """Raises ValueError where LiteRT gives an output another type than the file does."""
    litert: Any = importlib.import_module("ai_edge_litert.interpreter")
    resolver = litert.OpResolverType.BUILTIN_REF
    try:
        run = litert.Interpreter(model_content=model, experimental_op_resolver_type=resolver, num_threads=1)
        run.allocate_tensors()
    except (RuntimeError, ValueError):
        resolver = litert.OpResolverType.BUILTIN_WITHOUT_DEFAULT_DELEGATES
        run = litert.Interpreter(model_content=model, experimental_op_resolver_type=resolver, num_threads=1)
        run.allocate_tensors()
    for detail, value in zip(run.get_input_details(), values, strict=True):
        run.set_tensor(detail["index"], value.astype(detail["dtype"]))
    run.invoke()
    details = run.get_output_details()
    for detail, dtype in zip(details[-1:], types, strict=False):
        if np.dtype(detail["dtype"]) != np.dtype(ELEMENTS[dtype]):
            raise ValueError(dtype)
    return [np.array(run.get_tensor(detail["index"])) for detail in details]


def dump(rows: dict[str, dict[str, list[str]]]) -> str:
    """Rows as JSON, one operator a line."""
    lines = [f"  {json.dumps(name)}: {json.dumps(rows[name])}" for name in sorted(rows)]
    return "{\n" + ",\n".join(lines) + "\n}\n"
