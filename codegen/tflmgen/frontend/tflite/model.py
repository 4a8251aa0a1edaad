"""Contents of a .tflite file as typed values: the reader's result and the importer's input.

In a Model from `read_model` every index is in range, and each tensor is written before it is read. Each tensor used by
an operator, an input or an output has a supported type, a valid shape, valid quantisation, and contents of the right
size. Unused tensors are unchecked.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from tflmgen.ir import BlockQuantization, DType, Quantization
from tflmgen.ir.graph import StagePart, StageWindow

ABSENT = -1
"""Index of a tensor, among the inputs of an operator, that stands for an optional input that is not there."""


@dataclass(frozen=True, slots=True)
class FileTensor:
    """One tensor of a subgraph.

    dtype            None for a resource handle, which has no contents, and for an unused tensor of unsupported type
    type_name        TFLite's name of the element type: "int8", "resource"
    shape            dimensions, outermost first, none negative
    shape_signature  the same with -1 for dynamic dimensions; None if the file has none
    has_rank         False: the shape is unknown, or it is a scalar of a file older than this field
    data             contents of a constant, little-endian, int4 two per byte, the first in the low nibble; else None
    buffer           index of the contents in the file; tensors with the same index share their bytes
    blocks           blockwise quantisation of a constant
    recorded_range   least and greatest value of a float tensor, if training with quantisation recorded them
    parameters       names of the source's parameters that a constant's elements were made of; None: the source, such as
                     a .tflite file, does not say which of its constants are parameters
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
    recorded_range: tuple[float, float] | None = None
    parameters: tuple[str, ...] | None = None

    @staticmethod
    def added(
        index: int,
        name: str,
        dtype: DType,
        shape: tuple[int, ...],
        data: bytes | None = None,
        quantization: Quantization | None = None,
    ) -> FileTensor:
        """A tensor of known shape that a rewrite of the file adds; with `data` a constant."""
        return FileTensor(index, name, dtype, dtype.label, shape, None, True, quantization, data, False, 0)


@dataclass(frozen=True, slots=True)
class FileOperator:
    """One operator; `index` is its position in the file, which need not be in execution order.

    name           TFLite's: "CONV_2D"; "CUSTOM:Foo" for a custom one
    inputs         tensor indices, -1 where an optional input is absent
    options        field name of the schema -> value, absent fields with their defaults; None where the file has none.
                   Custom operators: fields of the custom options; None if these are no FlexBuffers map
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
    """One subgraph, with operators in execution order; inputs and outputs are tensor indices."""

    index: int
    name: str
    tensors: tuple[FileTensor, ...]
    inputs: tuple[int, ...]
    outputs: tuple[int, ...]
    operators: tuple[FileOperator, ...]


@dataclass(frozen=True, slots=True)
class FileSignature:
    """A named entry point; inputs and outputs are (name, tensor index) in the file's order."""

    key: str
    subgraph: int
    inputs: tuple[tuple[str, int], ...]
    outputs: tuple[tuple[str, int], ...]


@dataclass(frozen=True, slots=True)
class Model:
    """A whole file. `name` is the path as the user gave it, `sha256` the hexadecimal digest of all its bytes.

    windows  of an application's stages, which are to slide; a file has none
    stages   of an application; a file has none
    notes    what its user should know of how it was read, a sentence each
    class_names  output -> names of its classes, which a source had as strings; a .tflite file has none here
    tells_parameters  whether the source tells parameters from its other constants, as PyTorch does
    """

    name: str
    sha256: str
    description: str
    subgraphs: tuple[SubGraph, ...]
    signatures: tuple[FileSignature, ...]
    windows: tuple[StageWindow, ...] = ()
    stages: tuple[StagePart, ...] = ()
    notes: tuple[str, ...] = ()
    class_names: Mapping[str | int, tuple[str, ...]] = field(default_factory=dict)
    tells_parameters: bool = False

    @property
    def operator_names(self) -> tuple[str, ...]:
        """Names of all operators, subgraph by subgraph in order of execution; with repetitions."""
        return tuple(op.name for subgraph in self.subgraphs for op in subgraph.operators)
