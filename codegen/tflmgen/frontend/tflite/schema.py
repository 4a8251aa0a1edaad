"""Tables of the TFLite schema, derived from the accessors that `flatc` generated for the `tflite` package.

Each accessor is called twice on a stand-in for its table: once with the field absent, for its slot and default, and
once with the field present, for its type.
"""

from __future__ import annotations

import importlib
import re
from dataclasses import dataclass
from enum import Enum, auto
from functools import cache
from inspect import isfunction
from typing import Any


class Kind(Enum):
    """Storage kind of a field."""

    SCALAR = auto()
    STRING = auto()
    TABLE = auto()
    UNION = auto()
    SCALARS = auto()
    STRINGS = auto()
    TABLES = auto()


@dataclass(frozen=True, slots=True)
class Field:
    """One field of a table.

    slot     byte offset of its entry in the vtable
    format   `struct` code of scalars
    default  value of an absent field
    table    name of the table, for TABLE and TABLES
    """

    name: str
    slot: int
    kind: Kind
    format: str = ""
    default: Any = None
    table: str = ""


class _Probe:
    """Stand-in for `flatbuffers.table.Table`, with its method names, that records an accessor's calls.

    Only the first slot and type count: OperatorCode.BuiltinCode, written by hand, reads another field after its own.
    """

    Bytes = b""
    Pos = 0

    def __init__(self, present: bool) -> None:
        self.present = present
        self.slot = 0
        self.format = ""
        self.asked: set[str] = set()

    def Offset(self, slot: int) -> int:  # noqa: N802
        self.slot = self.slot or slot
        return int(self.present)

    def Get(self, flags: Any, at: int) -> Any:  # noqa: N802
        self.format = self.format or flags.packer_type.format
        return flags.py_type(at)

    def Vector(self, at: int) -> int:  # noqa: N802
        self.asked.add("vector")
        return at

    def Indirect(self, at: int) -> int:  # noqa: N802
        self.asked.add("table")
        return at

    def String(self, at: int) -> bytes:  # noqa: N802
        self.asked.add("string")
        return bytes(at)

    def Union(self, table: Any, at: int) -> None:  # noqa: N802
        table.Pos = at
        self.asked.add("union")


_KINDS = {
    frozenset[str](): Kind.SCALAR,
    frozenset({"string"}): Kind.STRING,
    frozenset({"table"}): Kind.TABLE,
    frozenset({"union"}): Kind.UNION,
    frozenset({"vector"}): Kind.SCALARS,
    frozenset({"vector", "string"}): Kind.STRINGS,
    frozenset({"vector", "table"}): Kind.TABLES,
}

_ABSENT = {Kind.STRING: "", Kind.TABLE: None, Kind.UNION: None}


_NEWER_FIELDS = {
    "BlockwiseQuantization": (
        Field("scales", 4, Kind.SCALAR, "i", 0),
        Field("zero_points", 6, Kind.SCALAR, "i", 0),
        Field("block_size", 8, Kind.SCALAR, "i", 0),
        Field("block_shape", 10, Kind.SCALARS, "i", ()),
    ),
    "InstanceNormOptions": (
        Field("epsilon", 4, Kind.SCALAR, "f", 0.0),
        Field("fused_activation_function", 6, Kind.SCALAR, "b", 0),
    ),
    "GRUOptions": (
        Field("fused_activation_function", 4, Kind.SCALAR, "b", 0),
        Field("return_sequences", 6, Kind.SCALAR, "?", False),
        Field("time_major", 8, Kind.SCALAR, "?", False),
    ),
    "BCQGatherOptions": (Field("input_hidden_size", 4, Kind.SCALAR, "i", 0), Field("axis", 6, Kind.SCALAR, "i", 0)),
    "BCQFullyConnectedOptions": (
        Field("weights_hidden_size", 4, Kind.SCALAR, "i", 0),
        Field("fused_activation_function", 6, Kind.SCALAR, "b", 0),
    ),
    "RmsNormOptions": (Field("epsilon", 4, Kind.SCALAR, "f", 0.0),),
    "RoPEOptions": (Field("mode", 4, Kind.SCALAR, "i", 0),),
    "StablehloCaseOptions": (Field("branch_subgraph_indices", 4, Kind.SCALARS, "i", ()),),
}
_NEWER_TABLES = {
    "BuiltinOptions": {
        249: "RoPEOptions",
        250: "RmsNormOptions",
        251: "GRUOptions",
        252: "BCQGatherOptions",
        253: "BCQFullyConnectedOptions",
        254: "InstanceNormOptions",
    },
    "BuiltinOptions2": {23: "StablehloCaseOptions"},
    "QuantizationDetails": {2: "BlockwiseQuantization"},
}
"""Union members that the `tflite` package lacks: newer ones of the schema, and Circle's from 249 on."""


@cache
def fields(table: str) -> tuple[Field, ...]:
    """Fields of a table, in slot order; `table` is spelled as in the schema."""
    if table in _NEWER_FIELDS:
        return _NEWER_FIELDS[table]
    cls = getattr(importlib.import_module(f"tflite.{table}"), table)
    accessors = {name for name, member in vars(cls).items() if isfunction(member) and name != "Init"}
    vectors = {name.removesuffix("IsNone") for name in accessors if name.endswith("IsNone")}
    helpers = {name + part for name in vectors for part in ("AsNumpy", "Length", "IsNone")}
    result = (_probe(cls, name, name in vectors) for name in accessors - helpers)
    return tuple(sorted(result, key=lambda field: field.slot))


def _probe(cls: type[Any], name: str, is_vector: bool) -> Field:
    element = (0,) if is_vector else ()

    def ask(present: bool) -> tuple[_Probe, Any]:
        instance, probe = cls(), _Probe(present)
        instance._tab = probe
        return probe, getattr(instance, name)(*element)

    _, default = ask(present=False)
    probe, value = ask(present=True)
    kind, code = _KINDS[frozenset(probe.asked)], probe.format.removeprefix("<")
    return Field(
        name=re.sub(r"(?<!^)(?=[A-Z])", "_", name).lower(),
        slot=probe.slot,
        kind=kind,
        format=code,
        default=default if kind is Kind.SCALAR else b"" if code == "B" else _ABSENT.get(kind, ()),
        table=type(value).__name__ if kind in (Kind.TABLE, Kind.TABLES) else "",
    )


@cache
def union_tables(union: str) -> dict[int, str]:
    """Type number -> table name of a union, without NONE."""
    members = vars(getattr(importlib.import_module(f"tflite.{union}"), union))
    tables = {number: name for name, number in members.items() if isinstance(number, int) and number}
    return {**_NEWER_TABLES.get(union, {}), **tables}
