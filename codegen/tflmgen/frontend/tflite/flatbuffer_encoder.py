"""Encodes dicts as FlatBuffers tables of the TFLite schema: the inverse of `flatbuffer.Decoder`.

The format: https://flatbuffers.dev/internals/. Children are written before the table that points to them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import flatbuffers
import numpy as np
from flatbuffers import number_types

from tflmgen.frontend.tflite.flatbuffer import FOLLOWED_UNIONS
from tflmgen.frontend.tflite.schema import Field, Kind, fields, union_tables

_FLAGS = {
    "?": number_types.BoolFlags,
    "b": number_types.Int8Flags,
    "B": number_types.Uint8Flags,
    "h": number_types.Int16Flags,
    "H": number_types.Uint16Flags,
    "i": number_types.Int32Flags,
    "I": number_types.Uint32Flags,
    "q": number_types.Int64Flags,
    "Q": number_types.Uint64Flags,
    "f": number_types.Float32Flags,
    "d": number_types.Float64Flags,
}
_DATA_ALIGNMENT = 16
"""Bytes that contents of tensors are aligned to, as runtimes expect that read them where they lie."""


class Union(dict[str, Any]):
    """Fields of a union's member, with the name of its table."""

    def __init__(self, table: str, values: Mapping[str, Any]) -> None:
        super().__init__(values)
        self.table = table


class Encoder:
    """Encoder of one file. The same values give the same bytes."""

    def __init__(self) -> None:
        self._builder = flatbuffers.Builder(1 << 16)

    def finish(self, table: str, values: Mapping[str, Any], identifier: bytes) -> bytes:
        """Bytes of a file with the root `table`; see `_table`."""
        self._builder.Finish(self._table(table, values), file_identifier=identifier)
        return bytes(self._builder.Output())

    def _table(self, name: str, values: Mapping[str, Any]) -> int:
        """Writes a table; returns its offset.

        Values are those that `Decoder.table` returns. A field that is None, missing, or a scalar with the schema's
        default is left out. A union's value is a Union, which sets the field of its type.
        """
        layout = {field.name: field for field in fields(name)}
        unknown = sorted(values.keys() - layout.keys())
        if unknown:
            raise KeyError(f"{name} has no field {unknown[0]}")
        present = {field: values.get(field.name) for field in layout.values()}
        for field, value in list(present.items()):
            if isinstance(value, Union):
                members = {table: number for number, table in _union(field).items()}
                present[layout[f"{field.name}_type"]] = members[value.table]
        stored = [
            (field, value if field.kind is Kind.SCALAR else self._stored(field, value))
            for field, value in present.items()
            if value is not None and not (field.kind is Kind.SCALAR and value == field.default)
        ]
        builder = self._builder
        builder.StartObject(max(map(_slot, layout.values()), default=-1) + 1)
        for field, value in sorted(stored, key=lambda item: -_size(item[0])):
            if field.kind is Kind.SCALAR:
                builder.Prepend(_FLAGS[field.format], value)
            else:
                builder.PrependUOffsetTRelative(value)
            builder.Slot(_slot(field))
        return int(builder.EndObject())

    def _stored(self, field: Field, value: Any) -> int:
        """Writes what a field points to; returns its offset."""
        if field.kind is Kind.UNION:
            return self._table(value.table, value)
        if field.kind is Kind.TABLE:
            return self._table(field.table, value)
        if field.kind is Kind.STRING:
            return int(self._builder.CreateString(value))
        if field.kind is Kind.TABLES:
            return self._pointers([self._table(field.table, element) for element in value])
        if field.kind is Kind.STRINGS:
            return self._pointers([int(self._builder.CreateString(element)) for element in value])
        return self._numbers(field, value)

    def _numbers(self, field: Field, value: bytes | Sequence[float]) -> int:
        if field.format == "B":
            alignment, data, count = _DATA_ALIGNMENT, bytes(value), len(value)  # type: ignore[arg-type]
        else:
            array = np.asarray(value, f"<{field.format}")
            alignment, data, count = array.itemsize, array.tobytes(), array.size
        builder = self._builder
        builder.StartVector(max(len(data) // count, 1) if count else 1, count, alignment)
        builder.head = builder.Head() - len(data)
        builder.Bytes[builder.Head() : builder.Head() + len(data)] = data
        return int(builder.EndVector())

    def _pointers(self, offsets: Sequence[int]) -> int:
        self._builder.StartVector(4, len(offsets), 4)
        for offset in reversed(offsets):
            self._builder.PrependUOffsetTRelative(offset)
        return int(self._builder.EndVector())


def _slot(field: Field) -> int:
    """Number of a field among its table's; its entry in the vtable comes after two sizes of 2 bytes each."""
    return (field.slot - 4) // 2


def _size(field: Field) -> int:
    return np.dtype(field.format).itemsize if field.kind is Kind.SCALAR else 4


def _union(field: Field) -> dict[int, str]:
    return union_tables(FOLLOWED_UNIONS[field.name])
