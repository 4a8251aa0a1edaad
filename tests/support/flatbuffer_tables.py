"""Builds FlatBuffers tables of the TFLite schema from field names, by reflection over the `tflite` package."""

from __future__ import annotations

import importlib
from collections.abc import Mapping, Sequence
from typing import Any

import flatbuffers
import numpy as np
from tflite.BuiltinOperator import BuiltinOperator
from tflite.BuiltinOptions import BuiltinOptions
from tflite.BuiltinOptions2 import BuiltinOptions2
from tflite.TensorType import TensorType

_SHARED_OPTIONS = {
    "Conv3DOptions": ("CONV_3D_TRANSPOSE",),
    "Pool2DOptions": ("AVERAGE_POOL_2D", "MAX_POOL_2D", "L2_POOL_2D"),
    "ReducerOptions": ("MEAN", "SUM", "REDUCE_MAX", "REDUCE_MIN", "REDUCE_PROD", "REDUCE_ANY", "REDUCE_ALL"),
    "MaximumMinimumOptions": ("MAXIMUM", "MINIMUM"),
    "L2NormOptions": ("L2_NORMALIZATION",),
    "SequenceRNNOptions": ("UNIDIRECTIONAL_SEQUENCE_RNN",),
    "RandomOptions": ("RANDOM_UNIFORM", "RANDOM_STANDARD_NORMAL", "MULTINOMIAL"),
}
_NEWER_OPERATORS = {"STABLEHLO_CASE": 209}
_NEWER_OPTIONS = {"STABLEHLO_CASE": ("StablehloCaseOptions", 23)}
"""Options in BuiltinOptions2 that the package does not know: table and union type, by operator."""
_NEWER_TABLES = {"BlockwiseQuantization", *(table for table, _ in _NEWER_OPTIONS.values())}
_NEWER_TYPES = {"int2": 19, "uint4": 20, "float8_e4m3fn": 21, "float8_e5m2": 22}
_PLACEHOLDER_FOR_GREATER_OP_CODES = 127


class Offset(int):
    """Where a finished table, string or vector is in the builder."""


class _SizeProbe:
    """Stands in for a builder to learn a vector's element size."""

    def StartVector(self, size: int, count: int, alignment: int) -> int:  # noqa: N802, ARG002
        return size


def build(b: flatbuffers.Builder, table: str, **fields: Any) -> Offset:
    """Writes one table. Values: numbers, str, bytes, sequences of numbers or of Offset, Offset; None: absent."""
    if table in _NEWER_TABLES:
        return _numbers_table(b, list(fields.values()))
    module = importlib.import_module(f"tflite.{table}")
    stored = []
    for name, value in fields.items():
        if value is not None:
            camel = "".join(part[:1].upper() + part[1:] for part in name.split("_"))
            stored.append((getattr(module, f"{table}Add{camel}"), _store(b, module, table + "Start" + camel, value)))
    getattr(module, f"{table}Start")(b)
    for add, value in stored:
        add(b, value)
    return Offset(getattr(module, f"{table}End")(b))


def _numbers_table(b: flatbuffers.Builder, values: Sequence[int | Sequence[int]]) -> Offset:
    """A table whose fields, in the schema's order, are int32 or vectors of them."""
    stored = [v if isinstance(v, int) else Offset(b.CreateNumpyVector(np.asarray(v, "<i4"))) for v in values]
    b.StartObject(len(stored))
    for slot, value in enumerate(stored):
        if isinstance(value, Offset):
            b.PrependUOffsetTRelativeSlot(slot, value, 0)
        else:
            b.PrependInt32Slot(slot, value, 0)
    return Offset(b.EndObject())


def _store(b: flatbuffers.Builder, module: Any, start: str, value: Any) -> Any:
    if isinstance(value, str):
        return Offset(b.CreateString(value))
    if isinstance(value, bytes):
        return data_vector(b, value)
    if not isinstance(value, Sequence):
        return value
    if any(isinstance(v, Offset) for v in value):
        getattr(module, f"{start}Vector")(b, len(value))
        for offset in reversed(value):
            b.PrependUOffsetTRelative(offset)
        return Offset(b.EndVector())
    size = getattr(module, f"{start}Vector")(_SizeProbe(), 0)
    if any(isinstance(v, float) for v in value):
        return Offset(b.CreateNumpyVector(np.asarray(value, dtype=f"<f{size}")))
    return Offset(b.CreateNumpyVector(np.asarray(value, dtype="<i8").astype(f"<i{size}")))


def data_vector(b: flatbuffers.Builder, data: bytes) -> Offset:
    """A byte vector aligned to 16 bytes, as runtimes expect of constants."""
    b.StartVector(1, len(data), 16)
    b.head = b.Head() - len(data)
    b.Bytes[b.Head() : b.Head() + len(data)] = data
    return Offset(b.EndVector())


def type_number(dtype: str | int) -> int:
    if isinstance(dtype, int):
        return dtype
    return _NEWER_TYPES[dtype] if dtype in _NEWER_TYPES else int(getattr(TensorType, dtype.upper()))


def operator_code(name: str | int) -> tuple[int, int, str | None]:
    """deprecated_builtin_code, builtin_code and custom_code of an operator's name or number."""
    custom = None
    if isinstance(name, int):
        code = name
    elif name.startswith("CUSTOM"):
        code = BuiltinOperator.CUSTOM
        custom = name.removeprefix("CUSTOM:") if ":" in name else None
    else:
        code = _NEWER_OPERATORS.get(name) or getattr(BuiltinOperator, name)
    return min(code, _PLACEHOLDER_FOR_GREATER_OP_CODES), code, custom


def options_table(name: str | int, options: Mapping[str, Any]) -> tuple[str, str, int, Mapping[str, Any]] | None:
    """Table, union field, union type number and values of an operator's options; None where it has none."""
    if isinstance(name, int):
        return None
    if name in _NEWER_OPTIONS:
        table, number = _NEWER_OPTIONS[name]
        return table, "builtin_options_2", number, options
    shared = [table for table, names in _SHARED_OPTIONS.items() if name in names]
    wanted = shared[0] if shared else name.replace("_", "") + "Options"
    for union, types in (("builtin_options", BuiltinOptions), ("builtin_options_2", BuiltinOptions2)):
        for table, number in vars(types).items():
            if table.lower() == wanted.lower():
                return table, union, number, options
    if options:
        raise ValueError(f"the schema has no options for {name}")
    return None
