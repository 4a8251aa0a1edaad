"""Tensors of a subgraph as affine functions of some of its tensors, whichever operators compute them."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tflmgen.frontend.constant_cuts import constant_cut
from tflmgen.frontend.model_graph.subgraphs import fused_activation
from tflmgen.frontend.model_graph.tensor_values import constant_values
from tflmgen.frontend.tflite.model import FileOperator, SubGraph
from tflmgen.ir import DType
from tflmgen.kernels import traits_of

Array = NDArray[Any]


@dataclass(slots=True)
class AffineFunctions:
    """Tensors of a body as affine functions of leaves: of each element the coefficients and the constant term, last."""

    body: SubGraph
    producers: Mapping[int, FileOperator]
    terms: int
    leaves: dict[int, Array]
    _known: dict[int, Array | None] = field(init=False, default_factory=dict)

    def of(self, tensor: int) -> Array | None:
        """[*shape, terms]; None for a tensor that is no such function, or not known to be."""
        if tensor in self.leaves:
            return self.leaves[tensor]
        if tensor not in self._known:
            self._known[tensor] = self._evaluated(tensor)
        return self._known[tensor]

    def _evaluated(self, tensor: int) -> Array | None:
        declared = self.body.tensors[tensor]
        if declared.data is not None and declared.dtype is DType.FLOAT32:
            constant = np.zeros((*declared.shape, self.terms))
            constant[..., -1] = constant_values(declared)
            return constant
        op = self.producers.get(tensor)
        if op is None or fused_activation(op):
            return None
        traits = traits_of(op.name)
        if traits.is_matrix_layer:
            return self._product(op)
        is_joined = traits.adds == 1 or traits.concatenates
        data = op.inputs if is_joined else op.inputs[traits.roles.data :][:1]
        operands = [self.of(part) for part in data]
        known = [operand for operand in operands if operand is not None]
        if len(known) < len(operands):
            return None
        shape = (*declared.shape, self.terms)
        if traits.view:
            return known[0].reshape(shape)
        if traits.adds == 1:
            return known[0] + known[1]
        if traits.concatenates:
            axis = int((op.options or {}).get("axis", 0))
            return np.concatenate(known, axis % len(declared.shape))
        cut = self._cut(op, known[0], tensor)
        return cut.reshape(shape) if cut is not None and cut.size == math.prod(shape) else None

    def _product(self, op: FileOperator) -> Array | None:
        source, weights = self.of(op.inputs[0]), self.body.tensors[op.inputs[1]]
        bias = self.of(op.inputs[2]) if len(op.inputs) > 2 and op.inputs[2] >= 0 else np.zeros(self.terms)
        if source is None or weights.data is None or bias is None:
            return None
        matrix = constant_values(weights).astype(np.float64)
        rows = source.reshape(-1, matrix.shape[1], self.terms)
        result: Array = np.einsum("rkt,nk->rnt", rows, matrix) + bias
        return result.reshape(*self.body.tensors[op.outputs[0]].shape, self.terms)

    def _cut(self, op: FileOperator, data: Array, tensor: int) -> Array | None:
        """A part of `data` with constant bounds."""
        if traits_of(op.name).splits and len(op.inputs) == 2:  # into equal parts
            axis = self.body.tensors[op.inputs[0]]
            if axis.data is None:
                return None
            parts = np.split(data, len(op.outputs), int(constant_values(axis).reshape(-1)[0]) % (data.ndim - 1))
            return parts[op.outputs.index(tensor)]
        cut = constant_cut(op, self.body)
        return data[np.ix_(*cut)] if cut is not None else None
