"""Writes .tflite files for tests, the bad ones too: it checks nothing.

w = ModelWriter()
g = w.subgraph("main")
x = g.tensor("x", "int8", [1, 8], scale=[0.5], zero_point=[3])
y = g.tensor("y", "int8", [1, 8], scale=[0.5], zero_point=[3])
g.operator("ADD", [x, x], [y], {"fused_activation_function": 1})
g.inputs, g.outputs = [x], [y]
data = w.finish()
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import flatbuffers
import numpy as np
from numpy.typing import ArrayLike, NDArray

from support.flatbuffer_tables import Offset, build, data_vector, operator_code, options_table, type_number

BLOCKWISE = 2
"""The type of BlockwiseQuantization in the union QuantizationDetails."""
DEFAULTS: Mapping[str, Any] = {}
"""An options table with the schema's defaults, where the operator has one."""


@dataclass
class SubgraphWriter:
    """One subgraph; tensors and operators get the indices of their order of creation."""

    model: ModelWriter
    index: int
    name: str
    inputs: list[int] = field(default_factory=list)
    outputs: list[int] = field(default_factory=list)
    tensors: list[dict[str, Any]] = field(default_factory=list)
    operators: list[dict[str, Any]] = field(default_factory=list)

    def tensor(
        self,
        name: str,
        dtype: str | int,
        shape: Sequence[int],
        scale: Sequence[float] | NDArray[Any] | None = None,
        zero_point: Sequence[int] | None = None,
        axis: int = 0,
        shape_signature: Sequence[int] | None = None,
        variable: bool = False,
        buffer: int = 0,
        has_rank: bool = True,
        sparse: bool = False,
        blocks: Mapping[str, Any] | None = None,
    ) -> int:
        """Adds a tensor (`dtype`: TFLite's name in lower case, or its number); returns its index.

        blocks: the fields of BlockwiseQuantization, all before the last one that counts
        """
        self.tensors.append(
            {
                "name": name,
                "type": type_number(dtype),
                "shape": list(shape),
                "quantization": (scale, zero_point, axis),
                "blocks": blocks,
                "shape_signature": shape_signature,
                "is_variable": variable,
                "buffer": buffer,
                "has_rank": has_rank,
                "sparsity": sparse,
            }
        )
        return len(self.tensors) - 1

    def constant(
        self,
        name: str,
        values: ArrayLike,
        dtype: str | int | None = None,
        scale: Sequence[float] | NDArray[Any] | None = None,
        zero_point: Sequence[int] | None = None,
        axis: int = 0,
        shape: Sequence[int] | None = None,
        blocks: Mapping[str, Any] | None = None,
    ) -> int:
        """Adds a tensor with contents; int4 is packed two per byte, the first in the low nibble."""
        array = np.asarray(values)
        dtype = array.dtype.name if dtype is None else dtype
        if dtype == "int4":
            nibbles = np.append(array.astype(np.int8).ravel(), np.zeros(array.size % 2, np.int8)).view(np.uint8) & 15
            data = (nibbles[0::2] | nibbles[1::2] << 4).tobytes()
        elif isinstance(dtype, str):
            data = array.astype(dtype).tobytes()
        else:
            data = array.tobytes()
        buffer = self.model.buffer(data)
        shape = array.shape if shape is None else shape
        return self.tensor(name, dtype, shape, scale, zero_point, axis, buffer=buffer, blocks=blocks)

    def blocks(self, scales: ArrayLike, size: int) -> Mapping[str, int]:
        """Adds the scales of blocks of `size` elements as a tensor of float16; returns what `constant` takes."""
        return {"scales": self.constant("scales", scales, "float16"), "zero_points": -1, "block_size": size}

    def operator(
        self,
        name: str | int,
        inputs: Sequence[int],
        outputs: Sequence[int],
        options: Mapping[str, Any] | None = DEFAULTS,
        custom_options: bytes = b"",
        version: int = 1,
        intermediates: Sequence[int] | None = None,
    ) -> int:
        """Adds an operator: a builtin's name or number, "CUSTOM:Foo", or "CUSTOM" for a custom one without a name.

        `options` are fields of the schema in snake_case; the others keep the schema's defaults; None: no options table.
        """
        self.operators.append(
            {
                "code": self.model.code(name, version),
                "inputs": list(inputs),
                "outputs": list(outputs),
                "options": None if options is None else options_table(name, options),
                "custom_options": custom_options or None,
                "intermediates": intermediates,
            }
        )
        return len(self.operators) - 1


@dataclass
class ModelWriter:
    """A model in the making. `version` and `identifier` are free, for files with wrong ones."""

    description: str = ""
    version: int = 3
    identifier: bytes = b"TFL3"
    subgraphs: list[SubgraphWriter] = field(default_factory=list)
    buffers: list[tuple[bytes, int, int]] = field(default_factory=lambda: [(b"", 0, 0)])
    codes: list[tuple[int, int, str | None, int]] = field(default_factory=list)
    signatures: list[tuple[str, Mapping[str, int], Mapping[str, int], int]] = field(default_factory=list)
    metadata: dict[str, int] = field(default_factory=dict)

    def subgraph(self, name: str) -> SubgraphWriter:
        self.subgraphs.append(SubgraphWriter(self, len(self.subgraphs), name))
        return self.subgraphs[-1]

    def buffer(self, data: bytes, offset: int = 0, size: int = 0) -> int:
        """Adds a buffer: contents in the table, or `offset` and `size` of contents elsewhere in the file."""
        self.buffers.append((data, offset, size))
        return len(self.buffers) - 1

    def code(self, name: str | int, version: int) -> int:
        row = (*operator_code(name), version)
        if row not in self.codes:
            self.codes.append(row)
        return self.codes.index(row)

    def signature(self, key: str, inputs: Mapping[str, int], outputs: Mapping[str, int], subgraph: int = 0) -> None:
        self.signatures.append((key, inputs, outputs, subgraph))

    def finish(self) -> bytes:
        b = flatbuffers.Builder(1024)
        buffers = [
            build(b, "Buffer", data=data_vector(b, data) if data else None, offset=offset, size=size)
            for data, offset, size in self.buffers
        ]
        codes = [
            build(
                b, "OperatorCode", deprecated_builtin_code=old, builtin_code=code, custom_code=custom, version=version
            )
            for old, code, custom, version in self.codes
        ]
        signatures = [
            build(
                b,
                "SignatureDef",
                signature_key=key,
                inputs=[build(b, "TensorMap", name=n, tensor_index=i) for n, i in inputs.items()],
                outputs=[build(b, "TensorMap", name=n, tensor_index=i) for n, i in outputs.items()],
                subgraph_index=subgraph,
            )
            for key, inputs, outputs, subgraph in self.signatures
        ]
        root = build(
            b,
            "Model",
            version=self.version,
            operator_codes=codes,
            subgraphs=[_subgraph(b, g) for g in self.subgraphs],
            description=self.description,
            buffers=buffers,
            metadata=[build(b, "Metadata", name=n, buffer=i) for n, i in self.metadata.items()],
            signature_defs=signatures,
        )
        b.Finish(root, file_identifier=self.identifier)
        return bytes(b.Output())


def _subgraph(b: flatbuffers.Builder, g: SubgraphWriter) -> Offset:
    return build(
        b,
        "SubGraph",
        name=g.name,
        tensors=[_tensor(b, t) for t in g.tensors],
        operators=[_operator(b, o) for o in g.operators],
        inputs=g.inputs,
        outputs=g.outputs,
    )


def _tensor(b: flatbuffers.Builder, tensor: Mapping[str, Any]) -> Offset:
    fields = dict(tensor)
    blocks, (scale, zero_point, axis) = fields.pop("blocks"), fields["quantization"]
    quantization = None
    if scale is not None and zero_point is None:
        zero_point = [0] * len(scale)
    if zero_point is not None or blocks is not None:
        quantization = build(
            b,
            "QuantizationParameters",
            scale=None if scale is None else [float(s) for s in scale],
            zero_point=None if zero_point is None else [int(z) for z in zero_point],
            details_type=0 if blocks is None else BLOCKWISE,
            details=None if blocks is None else build(b, "BlockwiseQuantization", **blocks),
            quantized_dimension=axis,
        )
    sparsity = build(b, "SparsityParameters", traversal_order=[0]) if tensor["sparsity"] else None
    return build(b, "Tensor", **{**fields, "quantization": quantization, "sparsity": sparsity})


def _operator(b: flatbuffers.Builder, operator: Mapping[str, Any]) -> Offset:
    fields: dict[str, Any] = {k: operator[k] for k in ("inputs", "outputs", "custom_options", "intermediates")}
    if operator["options"] is not None:
        table, union, number, values = operator["options"]
        fields |= {f"{union}_type": number, union: build(b, table, **values)}
    return build(b, "Operator", opcode_index=operator["code"], **fields)
