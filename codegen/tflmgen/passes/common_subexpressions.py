"""Computes equal values once: constants of equal contents and operators on equal operands."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import replace

from tflmgen.ir import Rewriter, TensorType, substitute
from tflmgen.ir.graph import Block, Call, Function, If, Module, Node, Op, Value, While, uses_in


def merge_common(module: Module) -> Module:
    """Replaces each Op or Call by an earlier equal one with the same inputs: hash-based value numbering over the
    dominator tree, which in structured control flow is the nesting of blocks (Briggs, Cooper and Simpson, Value
    Numbering, 1997)."""
    return _Common().run(module)


def expression(node: Op | Call) -> Hashable:
    """Key of a node, equal for nodes that compute the same values."""
    if isinstance(node, Call):
        return (node.function, node.inputs)
    return (node.operator, node.inputs, node.attributes, tuple(v.type for v in node.outputs))


class _Common(Rewriter):
    def __init__(self) -> None:
        super().__init__()
        self._known: dict[Hashable, tuple[Value, ...]] = {}

    def function(self, function: Function) -> Function:
        self._known = {}
        return super().function(function)

    def block(self, block: Block) -> Block:
        outer: Mapping[Hashable, tuple[Value, ...]] = self._known
        self._known = dict(outer)
        block = super().block(block)
        self._known = dict(outer)
        return block

    def node(self, node: Node) -> Sequence[Node]:
        if isinstance(node, If | While):
            return (self.regions(node),)
        earlier = self._known.setdefault(expression(node), node.outputs)
        if earlier is node.outputs or not node.outputs:
            return (node,)
        self.mapping.update(zip(node.outputs, earlier, strict=True))
        return ()


def unify_constants(module: Module) -> Module:
    """Replaces every constant by the first one of the same type and bytes."""
    first: dict[tuple[TensorType, bytes], Value] = {}
    mapping: dict[Value, Value] = {}
    for function in module.functions:
        for value in uses_in(function.body):
            if value.constant is not None and value not in mapping:
                representative = first.setdefault((value.type, module.constants[value.constant]), value)
                if representative != value:
                    mapping[value] = representative
    functions = tuple(replace(f, body=substitute(f.body, mapping)) for f in module.functions)
    return replace(module, functions=functions)
