"""What a .tflite file means: its control flow and a few integer operators, evaluated by name on numpy arrays.

Written from the schema's semantics alone, straight from the reader's Model, so that it shares nothing with the
compiler: IF, WHILE and CALL are function calls with values for arguments, and every tensor is a value that never
changes.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from tflmgen.tflite.model import Model, Operator, SubGraph

Array = NDArray[Any]

STEPS_LIMIT = 200_000


class TooLongError(Exception):
    """The model runs more operators than a test should."""


BINARY: Mapping[str, Callable[[Array, Array], Any]] = {
    "ADD": np.add,
    "SUB": np.subtract,
    "MUL": np.multiply,
    "MAXIMUM": np.maximum,
    "MINIMUM": np.minimum,
    "LESS": np.less,
    "LESS_EQUAL": np.less_equal,
    "GREATER": np.greater,
    "GREATER_EQUAL": np.greater_equal,
    "EQUAL": np.equal,
    "NOT_EQUAL": np.not_equal,
    "LOGICAL_AND": np.logical_and,
    "LOGICAL_OR": np.logical_or,
}


def run_reference(model: Model, subgraph: int, inputs: Sequence[Array]) -> tuple[Array, ...]:
    """The outputs of one subgraph. Integers wrap. Raises TooLongError beyond STEPS_LIMIT operators."""
    with np.errstate(all="ignore"):
        return _Evaluator(model).subgraph(subgraph, inputs)


class _Evaluator:
    def __init__(self, model: Model) -> None:
        self._model = model
        self._steps = 0

    def subgraph(self, index: int, inputs: Sequence[Array]) -> tuple[Array, ...]:
        graph = self._model.subgraphs[index]
        values: dict[int, Array] = {
            t.index: np.frombuffer(t.data, t.dtype.numpy).reshape(t.shape)
            for t in graph.tensors
            if t.data is not None and t.dtype is not None
        }
        values.update(zip(graph.inputs, inputs, strict=True))
        for op in graph.operators:
            self._steps += 1
            if self._steps > STEPS_LIMIT:
                raise TooLongError
            results = self._operator(graph, op, [values[i] for i in op.inputs])
            values.update(zip(op.outputs, results, strict=True))
        return tuple(values[i] for i in graph.outputs)

    def _operator(self, graph: SubGraph, op: Operator, inputs: list[Array]) -> tuple[Array, ...]:
        options = op.options or {}
        if op.name == "IF":
            side = "then_subgraph_index" if inputs[0].item() else "else_subgraph_index"
            return self.subgraph(options[side], inputs[1:])
        if op.name == "WHILE":
            variables: tuple[Array, ...] = tuple(inputs)
            while self.subgraph(options["cond_subgraph_index"], variables)[0].item():
                variables = self.subgraph(options["body_subgraph_index"], variables)
            return variables
        if op.name == "CALL":
            return self.subgraph(options["subgraph"], inputs)
        if op.name in BINARY:
            return (np.asarray(BINARY[op.name](inputs[0], inputs[1])),)
        output = graph.tensors[op.outputs[0]]
        assert output.dtype is not None
        if op.name == "RESHAPE":
            return (inputs[0].reshape(output.shape),)
        if op.name == "CAST":
            return (inputs[0].astype(output.dtype.numpy),)
        raise NotImplementedError(op.name)
