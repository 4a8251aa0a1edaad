"""Shapes of lists that loops and branches keep: where the file leaves them open, those of the operands they get.

The list in which `tf.map_fn` stores its results is an operand of known shape, but of unknown length everywhere in the
loop. Storing a row keeps the length, and so do handing the list on and computing with each element.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import replace

from tflmgen.frontend import Binding, Model, Operator, Tensor, TensorKey, bindings, is_loop, row_stores
from tflmgen.kernels import traits_of

Shape = tuple[int, ...]


def with_list_shapes(model: Model) -> Model:
    """The Model with the shapes of lists that come from outside of loops and branches; itself where none is open."""
    lists = _Lists(model)
    graphs = [list(graph.tensors) for graph in model.subgraphs]
    while True:
        known = {key: shape for key, shape in lists.shapes(graphs) if _is_open(graphs[key[0]][key[1]])}
        if not known:
            break
        for (graph, place), shape in known.items():
            graphs[graph][place] = replace(graphs[graph][place], shape=shape, shape_signature=None)
    subgraphs = tuple(replace(g, tensors=tuple(t)) for g, t in zip(model.subgraphs, graphs, strict=True))
    return model if subgraphs == model.subgraphs else replace(model, subgraphs=subgraphs)


def _is_open(tensor: Tensor) -> bool:
    """Whether the file leaves a dimension open; not so of a tensor whose rank it leaves open, too."""
    return -1 in (tensor.shape_signature or ())


class _Lists:
    """Where lists come from, in a model whose operators stay as they are."""

    def __init__(self, model: Model) -> None:
        self._model = model
        self._users = Counter(b.subgraph for g in model.subgraphs for op in g.operators for b in bindings(op))
        self._stores = [row_stores(graph) for graph in model.subgraphs]
        self._producers = [{tensor: op for op in g.operators for tensor in op.outputs} for g in model.subgraphs]

    def shapes(self, graphs: list[list[Tensor]]) -> Iterator[tuple[TensorKey, Shape]]:
        """Shapes that follow from those of the tensors of each subgraph."""
        for graph in self._model.subgraphs:
            tensors = graphs[graph.index]
            for tensor in tensors:
                source = tensors[self._source(graph.index, tensor.index)]
                if _is_open(tensor) and not _is_open(source):
                    yield (graph.index, tensor.index), source.shape
            for op in graph.operators:
                for key, operand in self._entered(op):
                    if not _is_open(tensors[operand]):
                        yield key, tensors[operand].shape

    def _entered(self, op: Operator) -> Iterator[tuple[TensorKey, int]]:
        """Inputs of the subgraphs that an operator alone runs, with the operands that they have in every iteration."""
        bound = bindings(op)
        for binding in bound:
            inputs = self._model.subgraphs[binding.subgraph].inputs
            if self._users[binding.subgraph] == 1:
                for place, (tensor, operand) in enumerate(zip(inputs, binding.operands, strict=True)):
                    if not is_loop(op) or self._kept(bound[-1], place) == place:
                        yield (binding.subgraph, tensor), operand

    def _source(self, graph: int, tensor: int) -> int:
        """The tensor of the same subgraph that has the shape of this one, as a list before rows were stored in it."""
        while (op := self._producers[graph].get(tensor)) is not None:
            store, bound = self._stores[graph].get(op.index), [b for b in bindings(op) if b.results]
            place = op.outputs.index(tensor)
            kept = {self._kept(binding, place) for binding in bound}
            operand = kept.pop() if len(kept) == 1 else None
            if store is not None:
                tensor = store.list
            elif traits_of(op.name).elementwise and len(op.inputs) == 1:
                tensor = op.inputs[0]
            elif operand is not None and (operand == place or not is_loop(op)):
                tensor = bound[0].operands[operand]
            else:
                break
        return tensor

    def _kept(self, binding: Binding, place: int) -> int | None:
        """The input of a subgraph, by its place, whose shape the output at `place` has; None if no input's."""
        graph = self._model.subgraphs[binding.subgraph]
        source = self._source(graph.index, graph.outputs[place])
        return graph.inputs.index(source) if source in graph.inputs else None
