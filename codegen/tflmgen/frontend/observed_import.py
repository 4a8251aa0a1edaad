"""Import for builds that show values: which tensor each value is, and how many of its elements are in use.

A tensor with dynamic dimensions has memory for its largest shape. What lies beyond its extents is no value of the
model: stale bytes, or fillers of the importer. Behind each operator that computes such a tensor stand two more: one
computes the shape in use, one reads the elements in use, before which nothing overwrites them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from tflmgen.frontend.import_build import Builder
from tflmgen.frontend.import_context import Context
from tflmgen.frontend.importer import import_in_context
from tflmgen.frontend.shape_bounds import NO_BOUNDS, Bounds, TensorKey
from tflmgen.frontend.tflite.model import Model
from tflmgen.ir import Rewriter
from tflmgen.ir.graph import Module, Node, Op, Value
from tflmgen.kernels import OPERATORS
from tflmgen.kernels.specification import Operators


@dataclass(frozen=True, slots=True)
class ObservedModule:
    """A Module, and what its values are.

    tensors  values -> their tensors in the file, of those that operators of the file compute
    shapes   int32 vectors -> values with dynamic dimensions of which they are the shape in use
    ends     values that are computed of the elements in use of a value -> that value
    """

    module: Module
    tensors: Mapping[Value, TensorKey]
    shapes: Mapping[Value, Value] = field(default_factory=dict)
    ends: Mapping[Value, Value] = field(default_factory=dict)


def import_observed(model: Model, bounds: Bounds = NO_BOUNDS, operators: Operators = OPERATORS) -> ObservedModule:
    """The Module of `import_model` with shapes of dynamic tensors. Raises ModelError as that does."""
    module, context = import_in_context(model, bounds, operators)
    writer = _ShapeWriter(context)
    tensors = {value: tensor.key for value, tensor in context.tensors.items()}
    return ObservedModule(writer.run(module), tensors, writer.shapes, writer.ends)


class _ShapeWriter(Rewriter):
    """Adds the shape in use behind each operator that computes a dynamic tensor of the file."""

    def __init__(self, context: Context) -> None:
        super().__init__()
        self._context = context
        self.shapes: dict[Value, Value] = {}
        self.ends: dict[Value, Value] = {}

    def node(self, node: Node) -> Sequence[Node]:
        """The node with its regions rewritten, and the shapes in use of what it computes."""
        return [self.regions(node), *(new for value in node.outputs for new in self._shape(node, value))]

    def _shape(self, node: Node, value: Value) -> Iterator[Node]:
        tensor = self._context.tensors.get(value)
        if isinstance(node, Op) and tensor is not None and tensor.extents:
            builder = Builder(self._context, node.origin)
            sizes = enumerate(value.type.max_shape)
            shape = builder.packed([tensor.extents.get(axis) or builder.integers("rows", size) for axis, size in sizes])
            self.shapes[shape] = value
            self.ends[builder.elements_in_use(value, shape, max(tensor.extents))] = value
            yield from builder.nodes
