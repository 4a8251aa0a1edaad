"""What a .tflite file means: its control flow and operators, evaluated by name on numpy arrays.

Written from the schema's semantics alone, straight from the reader's Model, so that it shares nothing with the
compiler: IF, WHILE and CALL are function calls with values for arguments, and every tensor is a value that never
changes.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from tflmgen.frontend.tflite.model import Model, Operator, SubGraph

from support.reference_arithmetic import FUSED_RANGES, QUANTIZED, REQUANTIZING, WINDOWED, Call
from support.reference_operators import EVALUATIONS

Array = NDArray[Any]

STEPS_LIMIT = 100_000


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


class Reference:
    """A model with the contents of its variables."""

    def __init__(self, model: Model) -> None:
        self._model = model
        self._steps = 0
        self._variables: dict[str, Array] = {}
        self._done: set[int] = set()
        for graph in model.subgraphs:
            for op in graph.operators:
                if op.name == "CALL_ONCE":
                    # Another signature may be the first to run; variables have their contents then too.
                    self.operator(graph, op, [], {})

    def run(self, subgraph: int, inputs: Sequence[Array]) -> tuple[Array, ...]:
        """The outputs of one subgraph. Integers wrap. Raises TooLongError beyond STEPS_LIMIT operators."""
        self._steps = 0
        with np.errstate(all="ignore"):
            return self._subgraph(subgraph, inputs)

    def _subgraph(self, index: int, inputs: Sequence[Array]) -> tuple[Array, ...]:
        graph = self._model.subgraphs[index]
        handles: dict[int, str] = {}
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
            if op.name == "VAR_HANDLE":
                handles[op.outputs[0]] = str((op.options or {})["shared_name"])
                continue
            results = self.operator(graph, op, [values[i] for i in op.inputs if i >= 0 and i not in handles], handles)
            values.update(zip(op.outputs, results, strict=True))
        return tuple(values[i] for i in graph.outputs)

    def operator(
        self, graph: SubGraph, op: Operator, inputs: list[Array], handles: Mapping[int, str]
    ) -> tuple[Array, ...]:
        options = op.options or {}
        if op.name == "READ_VARIABLE":
            return (self._variables[handles[op.inputs[0]]],)
        if op.name == "ASSIGN_VARIABLE":
            self._variables[handles[op.inputs[0]]] = inputs[0]
            return ()
        if op.name == "CALL_ONCE":
            if options["init_subgraph_index"] not in self._done:
                self._done.add(options["init_subgraph_index"])
                self._subgraph(options["init_subgraph_index"], ())
            return ()
        if op.name == "IF":
            side = "then_subgraph_index" if inputs[0].item() else "else_subgraph_index"
            return self._subgraph(options[side], inputs[1:])
        if op.name == "WHILE":
            variables: tuple[Array, ...] = tuple(inputs)
            while self._subgraph(options["cond_subgraph_index"], variables)[0].item():
                variables = self._subgraph(options["body_subgraph_index"], variables)
            return variables
        if op.name == "CALL":
            return self._subgraph(options["subgraph"], inputs)
        output = graph.tensors[op.outputs[0]]
        assert output.dtype is not None
        arithmetic = WINDOWED.get(op.name)
        if output.type_name in QUANTIZED and output.quantization is not None:
            arithmetic = REQUANTIZING.get(op.name, arithmetic)
        if arithmetic is not None:
            call = Call(inputs, [graph.tensors[i] for i in op.inputs if i >= 0], output, options)
            return (arithmetic(call).reshape(output.shape),)
        if op.name in BINARY:
            result = np.asarray(BINARY[op.name](inputs[0], inputs[1]))
            activation = options.get("fused_activation_function", 0)
            return (np.clip(result, *FUSED_RANGES[activation]) if activation else result,)
        if op.name == "RESHAPE":
            return (inputs[0].reshape(output.shape),)
        if op.name == "CAST":
            return (inputs[0].astype(output.dtype.numpy),)
        if op.name == "CONCATENATION":
            return (np.concatenate(inputs, axis=options["axis"]),)
        if op.name == "SPLIT":
            return tuple(np.split(inputs[1], options["num_splits"], axis=inputs[0].item()))
        if op.name == "SLICE":
            begin, size = inputs[1].item(), inputs[2].item()
            return (inputs[0][begin : begin + size],)
        return (np.asarray(EVALUATIONS[op.name](inputs, options, output.shape)),)
