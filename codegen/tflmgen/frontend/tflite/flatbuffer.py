"""Decodes FlatBuffers tables of the TFLite schema into dicts, never reading outside the file.

The format: https://flatbuffers.dev/internals/. A table begins with a signed offset back to its vtable; the vtable holds
its own size, the table's size and, for each field, where the field is in the table (0: absent). All is little-endian.
"""

from __future__ import annotations

import struct
from typing import Any

from tflmgen.frontend.tflite.schema import Field, Kind, fields, union_tables

_ROOT_OFFSET_AND_IDENTIFIER = 8
"""Bytes that every file begins with."""
FOLLOWED_UNIONS = {
    "builtin_options": "BuiltinOptions",
    "builtin_options2": "BuiltinOptions2",
    "details": "QuantizationDetails",
    "array_segments": "SparseIndexVector",
    "array_indices": "SparseIndexVector",
}
"""Field of a table -> its union, for those whose contents are read."""


class DamagedFileError(Exception):
    """Offsets or lengths of the file contradict its contents. The text continues "the file is damaged: "."""


class TableDecoder:
    """Decoder of one file; `identifier` is its format's four characters.

    A budget bounds the work: a small file could otherwise take hours by many offsets to the same table.
    """

    def __init__(self, data: bytes) -> None:
        if len(data) < _ROOT_OFFSET_AND_IDENTIFIER:
            raise DamagedFileError(f"it has only {len(data)} bytes")
        self.data = data
        self.identifier = data[4:8]
        self._budget = 4 * len(data) + (1 << 20)

    def root(self, table: str) -> dict[str, Any]:
        """Root table of the file; see `table`."""
        return self.table(self._follow(0, table), table)

    def table(self, position: int, name: str) -> dict[str, Any]:
        """The table `name` at byte `at`: each field of the schema, with its default where the file leaves it out.

        Scalars are int, float or bool, strings are str, tables are dicts, vectors are tuples (of bytes: bytes).
        A union is a dict, or None where it is absent or of a type that the schema doesn't have.
        """
        vtable = position - self._scalar("i", position, name)
        size = self._scalar("H", vtable, name)
        self._need(vtable, size, name)
        self._spend(16 + self._scalar("H", vtable + 2, name))
        values: dict[str, Any] = {}
        for field in fields(name):
            offset = self._scalar("H", vtable + field.slot, name) if field.slot + 2 <= size else 0
            field_name = f"{name}.{field.name}"
            if not offset:
                values[field.name] = field.default
            elif field.kind is Kind.SCALAR:
                values[field.name] = self._scalar(field.format, position + offset, field_name)
            elif field.kind is Kind.UNION:
                values[field.name] = self._union(field.name, values, position + offset, field_name)
            else:
                values[field.name] = self._pointed_at(field, self._follow(position + offset, field_name), field_name)
        return values

    def slice(self, start: int, size: int, label: str) -> bytes:
        """`size` bytes from byte `start` of the file."""
        self._need(start, size, label)
        self._spend(size)
        return self.data[start : start + size]

    def _union(self, name: str, values: dict[str, Any], position: int, field_name: str) -> dict[str, Any] | None:
        if name not in FOLLOWED_UNIONS:
            return None
        table = union_tables(FOLLOWED_UNIONS[name]).get(values[f"{name}_type"])
        return None if table is None else self.table(self._follow(position, field_name), table)

    def _pointed_at(self, field: Field, position: int, field_name: str) -> Any:
        if field.kind is Kind.TABLE:
            return self.table(position, field.table)
        count = self._scalar("I", position, field_name)
        start = position + 4
        if field.kind is Kind.STRING:
            return self.slice(start, count, field_name).decode("utf-8", "replace")
        if field.kind is Kind.SCALARS:
            if field.format == "B":
                return self.slice(start, count, field_name)
            layout = f"<{count}{field.format}"
            return struct.unpack(layout, self.slice(start, count * struct.calcsize(f"<{field.format}"), field_name))
        self._need(start, 4 * count, field_name)
        pointers = range(start, start + 4 * count, 4)
        element = Field(field.name, field.slot, _ELEMENT[field.kind], table=field.table)
        return tuple(self._pointed_at(element, self._follow(pointer, field_name), field_name) for pointer in pointers)

    def _follow(self, position: int, field_name: str) -> int:
        return position + int(self._scalar("I", position, field_name))

    def _scalar(self, code: str, position: int, field_name: str) -> Any:
        layout = _SCALARS[code]
        self._need(position, layout.size, field_name)
        return layout.unpack_from(self.data, position)[0]

    def _need(self, start: int, size: int, field_name: str) -> None:
        if start < 0 or start + size > len(self.data):
            raise DamagedFileError(
                f"{field_name} would be at bytes {start} to {start + size}, but the file has {len(self.data)} bytes"
            )

    def _spend(self, size: int) -> None:
        self._budget -= size
        if self._budget < 0:
            raise DamagedFileError("its tables refer to the same bytes over and over")


_SCALARS = {code: struct.Struct(f"<{code}") for code in "?bBhHiIqQfd"}
_ELEMENT = {Kind.TABLES: Kind.TABLE, Kind.STRINGS: Kind.STRING}
