"""Rewriting a Model: rules put operators and tensors in place of others, one subgraph at a time.

A rule gets the subgraph in the making and one operator, adds what stands for it, and says whether it did:

    def square_as_product(graph: SubGraphRewrite, op: Operator) -> bool:
        if op.name != "SQUARE":
            return False
        graph.add("MUL", (*op.inputs, *op.inputs), op.outputs)
        return True

    model = rewrite_model(model, square_as_product)
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from tflmgen.frontend.model_graph.subgraphs import bindings
from tflmgen.frontend.tflite.builder import options_with_defaults
from tflmgen.frontend.tflite.model import ABSENT, FileOperator, FileTensor, Model, SubGraph
from tflmgen.frontend.tflite.operator_versions import operator_version
from tflmgen.ir import DType, Quantization, contents


@dataclass(frozen=True, slots=True)
class TensorUses:
    """Producers and readers of a subgraph's tensors.

    producers  tensor -> the operator that computes it
    readers    tensor -> the operators that read it, once for each operand that it is; for an output of the subgraph
               there is a None behind them
    """

    producers: Mapping[int, FileOperator]
    readers: Mapping[int, Sequence[FileOperator | None]]

    @staticmethod
    def of(graph: SubGraph) -> TensorUses:
        """Uses of a subgraph's tensors."""
        readers: dict[int, list[FileOperator | None]] = {}
        for op in graph.operators:
            for tensor in op.inputs:
                readers.setdefault(tensor, []).append(op)
        for tensor in graph.outputs:
            readers.setdefault(tensor, []).append(None)
        return TensorUses({tensor: op for op in graph.operators for tensor in op.outputs}, readers)

    def sole_reader(self, tensor: int) -> FileOperator | None:
        """The operator that alone reads a tensor; None if it is an output, or none or several operands are it."""
        readers = self.readers.get(tensor, ())
        return readers[0] if len(readers) == 1 else None

    def sole_producer(self, tensor: int) -> FileOperator | None:
        """The operator that computes a tensor which is read once; None for other tensors."""
        return self.producers.get(tensor) if len(self.readers.get(tensor, ())) == 1 else None


class SubGraphRewrite:
    """A subgraph in the making: its tensors and new ones behind them, and its operators in order of execution.

    graph   as it was
    buffer  gives contents their number in the file; by default 0, for models whose buffers are numbered at the end
    """

    def __init__(self, graph: SubGraph, buffer: Callable[[bytes], int] = lambda data: 0 * len(data)) -> None:
        self.graph, self.tensors, self.operators = graph, list(graph.tensors), list(graph.operators)
        self._buffer = buffer
        self._replaced: dict[int, int] = {}
        self._place = 0

    def apply(self, *rules: Rule) -> None:
        """Takes each operator to the first rule that writes something for it; others stay as they are."""
        before, self.operators = self.operators, []
        for original in before:
            self._place = original.index
            op = original
            if not self._replaced.keys().isdisjoint(op.inputs):
                op = replace(op, inputs=tuple(map(self.current, op.inputs)))
            if not any(rule(self, op) for rule in rules):
                self.operators.append(op)

    @property
    def is_changed(self) -> bool:
        """Whether any operator or tensor is another one than at first."""
        return tuple(self.operators) != self.graph.operators or tuple(self.tensors) != self.graph.tensors

    def uses(self) -> TensorUses:
        """Uses of tensors by the operators so far."""
        return TensorUses.of(replace(self.graph, operators=tuple(self.operators)))

    def current(self, tensor: int) -> int:
        """The tensor that readers of a tensor read now."""
        return self._replaced.get(tensor, tensor)

    def use_instead(self, source: int, result: int) -> None:
        """Has what reads a result, which nothing computes any more, read another tensor."""
        self._replaced[result] = self.current(source)

    def add_tensor(self, tensor: FileTensor, **changes: Any) -> int:
        """Adds a tensor like this one but for these fields; its index."""
        self.tensors.append(replace(tensor, index=len(self.tensors), **changes))
        return len(self.tensors) - 1

    def value(
        self,
        name: str,
        shape: tuple[int, ...],
        dtype: DType = DType.FLOAT32,
        quantization: Quantization | None = None,
    ) -> int:
        """Adds a tensor without contents; its index."""
        return self.add_tensor(FileTensor.added(0, name, dtype, shape, quantization=quantization))

    def constant(
        self, name: str, values: ArrayLike, dtype: DType = DType.INT32, quantization: Quantization | None = None
    ) -> int:
        """Adds a constant of these elements; its index."""
        array = np.asarray(values)
        data = contents(array, dtype)
        return self.add_tensor(
            FileTensor.added(0, name, dtype, array.shape, data, quantization), buffer=self._buffer(data)
        )

    def operator(
        self, name: str, inputs: Sequence[int], outputs: Sequence[int], options: Mapping[str, Any] | None = None
    ) -> FileOperator:
        """An operator, which is not added, in the version that it needs; options left out have the schema's
        defaults.
        """
        filled = options_with_defaults(name, options or {})
        return self.versioned(FileOperator(self._place, name, 1, tuple(inputs), tuple(outputs), filled, b"", ()))

    def versioned(self, op: FileOperator, **changes: Any) -> FileOperator:
        """An operator with these fields changed, in the version that its tensors need."""
        op = replace(op, **changes)
        operands = [None if index == ABSENT else self.tensors[index] for index in op.inputs]
        version = operator_version(op.name, operands, [self.tensors[index] for index in op.outputs], op.options)
        return replace(op, version=version)

    def add(
        self, name: str, inputs: Sequence[int], outputs: Sequence[int], options: Mapping[str, Any] | None = None
    ) -> None:
        """Adds an operator behind those so far."""
        self.operators.append(self.operator(name, inputs, outputs, options))

    def like(self, tensor: int, name: str, shape: tuple[int, ...], dtype: DType | None = None) -> int:
        """Adds a tensor without contents in the type of another, or in a plain one; its name is behind the other's."""
        source = self.tensors[tensor]
        assert source.dtype is not None
        quantization = source.quantization if dtype is None else None
        return self.value(f"{source.name}_{name}", shape, dtype or source.dtype, quantization)

    def fill(self, tensor: int, values: ArrayLike) -> None:
        """Makes a tensor that was computed a constant of float32."""
        data = contents(np.asarray(values), DType.FLOAT32)
        self.tensors[tensor] = replace(self.tensors[tensor], data=data)

    def reshape(self, source: int, result: int, name: str = "shape") -> None:
        """Adds a RESHAPE of a tensor to one that exists; `name` is that of the shape's constant."""
        self.add("RESHAPE", [source, self.constant(name, self.tensors[result].shape)], [result])

    def convert(self, source: int, result: int) -> None:
        """Adds the conversion of a tensor to the type of another: DEQUANTIZE to floats, QUANTIZE to integers."""
        dtype = self.tensors[result].dtype
        self.add("DEQUANTIZE" if dtype is DType.FLOAT32 else "QUANTIZE", [source], [result])

    def cut(self, source: int, begin: int, size: int, result: int) -> None:
        """Adds a SLICE, from the places to the sizes that two tensors say, to a tensor that exists."""
        self.add("SLICE", [source, begin, size], [result])

    def replace(self, before: FileOperator, *operators: FileOperator) -> None:
        """Puts operators in the place of one that is there already."""
        place = next(place for place, op in enumerate(self.operators) if op is before)
        self.operators[place : place + 1] = operators

    def drop_unread(self, is_candidate: Callable[[FileOperator], bool]) -> None:
        """Removes candidates whose results nothing reads, and candidates that only these read."""
        read, kept = set(map(self.current, self.graph.outputs)), list[FileOperator]()
        for op in reversed(self.operators):
            if not read.isdisjoint(op.outputs) or not is_candidate(op):
                kept.append(op)
                read.update(op.inputs)
        self.operators = kept[::-1]

    def result(self, renumber: bool = True) -> SubGraph:
        """The subgraph as rewritten so far, without operators whose results were read before and are no more.

        renumber  operators are numbered in order of execution; else they keep the number of the one they stand for
        """
        before = {tensor for op in self.graph.operators for tensor in op.inputs}
        self.drop_unread(lambda op: not before.isdisjoint(op.outputs) and not self._has_effects(op))
        operators = self.operators
        if renumber:
            operators = [replace(op, index=index) for index, op in enumerate(operators)]
        outputs = tuple(map(self.current, self.graph.outputs))
        return replace(self.graph, tensors=tuple(self.tensors), operators=tuple(operators), outputs=outputs)

    def _has_effects(self, op: FileOperator) -> bool:
        """Whether an operator may do more than compute its results: it runs subgraphs, or keeps state."""
        return bool(bindings(op)) or any(index >= 0 and self.tensors[index].is_variable for index in op.inputs)


Rule = Callable[[SubGraphRewrite, FileOperator], bool]
"""Adds what stands for an operator, and says whether it did."""


def rewrite_subgraph(graph: SubGraph, *rules: Rule, renumber: bool = True) -> SubGraph:
    """The subgraph as rules rewrite it; itself where none takes an operator. renumber: see SubGraphRewrite.result."""
    rewrite = SubGraphRewrite(graph)
    rewrite.apply(*rules)
    return rewrite.result(renumber) if rewrite.is_changed else graph


def rewrite_model(model: Model, *rules: Rule, renumber: bool = True) -> Model:
    """The Model with each subgraph as rules rewrite it; itself where none takes an operator."""
    return with_subgraphs(model, [rewrite_subgraph(graph, *rules, renumber=renumber) for graph in model.subgraphs])


def with_subgraphs(model: Model, graphs: Sequence[SubGraph]) -> Model:
    """The Model with other subgraphs, whose outputs the signatures name; itself where all are the same."""
    if all(new is old for new, old in zip(graphs, model.subgraphs, strict=True)):
        return model
    outputs = [
        dict(zip(old.outputs, new.outputs, strict=True)) for old, new in zip(model.subgraphs, graphs, strict=True)
    ]
    signatures = tuple(
        replace(signature, outputs=tuple((name, outputs[signature.subgraph][t]) for name, t in signature.outputs))
        for signature in model.signatures
    )
    return replace(model, subgraphs=tuple(graphs), signatures=signatures)


def with_own_buffers(model: Model) -> Model:
    """The Model with buffers numbered anew: one for each content, 0 for tensors without."""
    numbers: dict[bytes, int] = {b"": 0}
    subgraphs = []
    for graph in model.subgraphs:
        buffers = [numbers.setdefault(tensor.data or b"", len(numbers)) for tensor in graph.tensors]
        tensors = tuple(replace(t, buffer=buffer) for t, buffer in zip(graph.tensors, buffers, strict=True))
        subgraphs.append(replace(graph, tensors=tensors))
    return replace(model, subgraphs=tuple(subgraphs))
