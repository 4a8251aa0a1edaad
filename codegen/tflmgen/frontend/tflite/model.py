"""What a .tflite file says, in values: the reader's result and the importer's input.

In what `read_model` returns every index is in range, operators are in an order in which each tensor is written before
it is read, and each tensor that an operator, an input or an output uses has a supported type, a valid shape, valid
quantisation and contents of the right size. Tensors that nothing uses are unchecked.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from tflmgen.ir import BlockQuantization, DType, Quantization


@dataclass(frozen=True, slots=True)
class Tensor:
    """One tensor of a subgraph.

    dtype            None for a resource handle, which has no contents of its own (and for an unused tensor's odd type)
    type_name        the file's element type in TFLite's words: "int8", "resource"
    shape            dimensions, outermost first, none negative
    shape_signature  the same with -1 for dimensions unknown before run time; None where the file has none
    has_rank         False: the shape is unknown, or it is a scalar of a file older than this field
    data             contents of a constant, little-endian, int4 two per byte, the first in the low nibble; else None
    buffer           the file's index of these contents; tensors that share it have the same bytes
    blocks           of a constant that is quantised by blocks
    """

    index: int
    name: str
    dtype: DType | None
    type_name: str
    shape: tuple[int, ...]
    shape_signature: tuple[int, ...] | None
    has_rank: bool
    quantization: Quantization | None
    data: bytes | None
    is_variable: bool
    buffer: int
    blocks: BlockQuantization | None = None


@dataclass(frozen=True, slots=True)
class Operator:
    """One operator; `index` is its place in the file, whose order need not be the order of execution.

    name           TFLite's: "CONV_2D"; "CUSTOM:Foo" for a custom one
    inputs         tensor indices, -1 where an optional input is absent
    options        field name of the schema -> value, absent fields with their defaults; None where the file has none.
                   Of a custom operator: the fields of its custom options, None where they are no FlexBuffers map
    intermediates  tensors that only carry the quantisation of inner values, -1 where absent
    """

    index: int
    name: str
    version: int
    inputs: tuple[int, ...]
    outputs: tuple[int, ...]
    options: Mapping[str, Any] | None
    custom_options: bytes
    intermediates: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class SubGraph:
    """One subgraph, its operators in an order of execution; inputs and outputs are tensor indices."""

    index: int
    name: str
    tensors: tuple[Tensor, ...]
    inputs: tuple[int, ...]
    outputs: tuple[int, ...]
    operators: tuple[Operator, ...]


@dataclass(frozen=True, slots=True)
class Signature:
    """A named entry point: (name, tensor index) of inputs and outputs in the file's order."""

    key: str
    subgraph: int
    inputs: tuple[tuple[str, int], ...]
    outputs: tuple[tuple[str, int], ...]


@dataclass(frozen=True, slots=True)
class Model:
    """A whole file. `name` is the path as the user gave it, `sha256` the hexadecimal digest of all its bytes."""

    name: str
    sha256: str
    description: str
    subgraphs: tuple[SubGraph, ...]
    signatures: tuple[Signature, ...]

    @property
    def operator_names(self) -> tuple[str, ...]:
        return tuple(op.name for subgraph in self.subgraphs for op in subgraph.operators)
