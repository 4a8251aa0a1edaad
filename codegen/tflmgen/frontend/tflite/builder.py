"""Makes Models: front ends of other formats and rewrites add tensors and operators one by one.

builder = ModelBuilder("example")
graph = builder.subgraph("main")
x = graph.tensor("x", DType.FLOAT32, (1, 8))
y = graph.tensor("y", DType.FLOAT32, (1, 8))
graph.operator("ADD", [x, graph.constant("one", np.float32(1))], [y])
graph.inputs, graph.outputs = [x], [y]
model = builder.model()
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from flatbuffers import flexbuffers
from numpy.typing import NDArray

from tflmgen.frontend.tflite.model import ABSENT, FileOperator, FileSignature, FileTensor, Model, SubGraph
from tflmgen.frontend.tflite.names import CUSTOM, options_table
from tflmgen.frontend.tflite.operator_versions import operator_version
from tflmgen.frontend.tflite.schema import fields
from tflmgen.ir import DType, Quantization, contents

_DTYPES = {dtype.numpy: dtype for dtype in DType if dtype is not DType.INT4}
_RESOURCE = "resource"


class SubGraphBuilder:
    """One subgraph; tensors and operators get the indices of their order of creation, which is that of execution."""

    def __init__(self, model: ModelBuilder, index: int, name: str) -> None:
        self.index, self.name = index, name
        self.inputs: Sequence[int] = []
        self.outputs: Sequence[int] = []
        self.tensors: list[FileTensor] = []
        self.operators: list[FileOperator] = []
        self._model = model

    def tensor(
        self,
        name: str,
        dtype: DType | None,
        shape: Sequence[int],
        quantization: Quantization | None = None,
        variable: bool = False,
        shape_signature: Sequence[int] | None = None,
        has_rank: bool = True,
    ) -> int:
        """Adds a tensor without contents; `dtype` None: the handle of a variable. Returns its index."""
        signature = None if shape_signature is None else tuple(shape_signature)
        type_name = _RESOURCE if dtype is None else dtype.label
        return self._add(name, dtype, type_name, tuple(shape), signature, has_rank, quantization, None, variable, 0)

    def constant(
        self,
        name: str,
        values: NDArray[Any] | np.generic,
        quantization: Quantization | None = None,
        dtype: DType | None = None,
    ) -> int:
        """Adds a tensor with contents; returns its index. `dtype` int4 packs values of int8 two per byte.

        Equal contents are stored once. Raises KeyError for an array whose element type tensors don't have.
        """
        array = np.asarray(values)
        dtype = _DTYPES[array.dtype.newbyteorder("<")] if dtype is None else dtype
        data = contents(array, dtype)
        buffer = self._model.buffer(data)
        return self._add(name, dtype, dtype.label, array.shape, None, True, quantization, data, False, buffer)

    def _add(self, *fields_after_index: Any) -> int:
        self.tensors.append(FileTensor(len(self.tensors), *fields_after_index))
        return len(self.tensors) - 1

    def operator(
        self,
        name: str,
        inputs: Sequence[int],
        outputs: Sequence[int],
        options: Mapping[str, Any] | None = None,
        version: int | None = None,
        custom_options: bytes = b"",
        intermediates: Sequence[int] = (),
    ) -> int:
        """Adds an operator by TFLite's name; returns its index.

        options  fields of the schema, the others get the schema's defaults; None: all defaults. Of a custom operator
                 the fields of a FlexBuffers map, which becomes its `custom_options`
        version  None: the one that types, shapes and options ask for
        """
        filled = options if name.startswith(CUSTOM) else options_with_defaults(name, options or {})
        if name.startswith(CUSTOM) and options is not None:
            custom_options = bytes(flexbuffers.Dumps(dict(options)))
        if version is None:
            operands = [None if i == ABSENT else self.tensors[i] for i in inputs]
            version = operator_version(name, operands, [self.tensors[i] for i in outputs], filled)
        index = len(self.operators)
        self.operators.append(
            FileOperator(
                index, name, version, tuple(inputs), tuple(outputs), filled, custom_options, tuple(intermediates)
            )
        )
        return index

    def build(self) -> SubGraph:
        """The subgraph with the tensors and operators so far."""
        return SubGraph(
            self.index, self.name, tuple(self.tensors), tuple(self.inputs), tuple(self.outputs), tuple(self.operators)
        )


class ModelBuilder:
    """A Model in the making. `name` is the file that messages name."""

    def __init__(self, description: str = "", name: str = "") -> None:
        self.description, self.name = description, name
        self.subgraphs: list[SubGraphBuilder] = []
        self.signatures: list[FileSignature] = []
        self._buffers: dict[bytes, int] = {b"": 0}

    def subgraph(self, name: str) -> SubGraphBuilder:
        """A new empty subgraph, the next of the model."""
        self.subgraphs.append(SubGraphBuilder(self, len(self.subgraphs), name))
        return self.subgraphs[-1]

    def buffer(self, data: bytes) -> int:
        """Index of the buffer with these contents."""
        return self._buffers.setdefault(data, len(self._buffers))

    def signature(
        self,
        key: str,
        subgraph: int | SubGraphBuilder,
        inputs: Sequence[tuple[str, int]],
        outputs: Sequence[tuple[str, int]],
    ) -> None:
        """Adds an entry point: a subgraph, whose tensors get names for the caller."""
        index = subgraph if isinstance(subgraph, int) else subgraph.index
        self.signatures.append(FileSignature(key, index, tuple(inputs), tuple(outputs)))

    def model(self) -> Model:
        """The Model, unchecked: `parse_model(write_model(model), name)` checks it as if it were a file."""
        subgraphs = tuple(graph.build() for graph in self.subgraphs)
        return Model(self.name, "", self.description, subgraphs, tuple(self.signatures))


def options_with_defaults(name: str, options: Mapping[str, Any]) -> Mapping[str, Any] | None:
    """Options with the schema's defaults for missing ones; None if the schema has none for this operator.

    Raises KeyError for a field that the schema doesn't have.
    """
    table = options_table(name)
    defaults = {} if table is None else {field.name: field.default for field in fields(table)}
    unknown = sorted(options.keys() - defaults.keys())
    if unknown:
        raise KeyError(f"{name} has no option {unknown[0]}")
    values = {**defaults, **options}
    return None if table is None else {key: tuple(v) if isinstance(v, list) else v for key, v in values.items()}
