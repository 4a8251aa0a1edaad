"""Moves QUANTIZE across the boundaries of control flow, so that quantised values cross them instead of floats."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from tflmgen.ir import Block, Ids, If, Module, Node, Op, Rewriter, Value, While, blocks_of, operands_of, walk


def narrow(module: Module) -> Module:
    """Moves QUANTIZE into the branches of an If, or before a loop and to the end of its body.

    An output, or a loop variable, that only QUANTIZEs to one type read gets that type. Only if a DEQUANTIZE produces
    the float, so that the two cancel.
    """
    return _Narrow(module).run(module)


class _Narrow(Rewriter):
    def __init__(self, module: Module) -> None:
        super().__init__()
        self._ids = Ids(module)
        self._readers: dict[Value, Op | None] = {}
        self._dequantized: set[Value] = set()
        self._narrowed: dict[Value, Value] = {}
        for function in module.functions:
            self._read_by_others(function.body)
            for node in walk(function.body):
                self._note(node)

    def _note(self, node: Node) -> None:
        if isinstance(node, Op) and node.operator == "QUANTIZE":
            for value in operands_of(node):
                reader = self._readers.setdefault(value, node if value.type.is_static else None)
                if reader is not None and reader.outputs[0].type != node.outputs[0].type:
                    self._readers[value] = None
            return
        self._readers.update((value, None) for value in operands_of(node))
        for region in blocks_of(node):
            self._read_by_others(region)
        if isinstance(node, Op) and node.operator == "DEQUANTIZE":
            self._dequantized.add(node.outputs[0])

    def _read_by_others(self, block: Block) -> None:
        self._readers.update((value, None) for value in block.results)

    def node(self, node: Node) -> Sequence[Node]:
        if isinstance(node, If):
            return (self._if(node),)
        if isinstance(node, While):
            return self._while(node)
        if isinstance(node, Op) and node.operator == "QUANTIZE" and node.inputs[0] in self._narrowed:
            self.mapping[node.outputs[0]] = self._narrowed[node.inputs[0]]
            return ()
        return (node,)

    def _if(self, node: If) -> If:
        then_block, else_block = self.block(node.then), self.block(node.orelse)
        outputs = list(node.outputs)
        for index, output in enumerate(node.outputs):
            reader = self._readers.get(output)
            if reader is None or self._dequantized.isdisjoint((then_block.results[index], else_block.results[index])):
                continue
            outputs[index] = self._narrowed[output] = self._quantized_value(reader, output)
            then_block, else_block = (
                self._quantize_result(then_block, index, reader),
                self._quantize_result(else_block, index, reader),
            )
        return replace(node, then=then_block, orelse=else_block, outputs=tuple(outputs))

    def _while(self, node: While) -> Sequence[Node]:
        before: list[Node] = []
        readers_by_index: dict[int, Op] = {}
        variables, inits, outputs = list(node.variables), list(node.inits), list(node.outputs)
        for index, variable in enumerate(node.variables):
            reader = self._readers.get(variable)
            after = self._readers.get(outputs[index], reader)
            if reader is None or after is None or after.outputs[0].type != reader.outputs[0].type:
                continue
            if node.body.results[index] in self._dequantized:
                readers_by_index[index] = reader
                variables[index] = self._narrowed[variable] = self._quantized_value(reader, variable)
                outputs[index] = self._narrowed[node.outputs[index]] = self._quantized_value(reader, outputs[index])
                before.append(self._quantize(inits[index], reader))
                inits[index] = before[-1].outputs[0]
        condition, body = self.block(node.condition), self.block(node.body)
        for index, reader in readers_by_index.items():
            body = self._quantize_result(body, index, reader)
        loop = replace(
            node,
            variables=tuple(variables),
            inits=tuple(inits),
            condition=condition,
            body=body,
            outputs=tuple(outputs),
        )
        return (*before, loop)

    def _quantize_result(self, block: Block, index: int, reader: Op) -> Block:
        op = self._quantize(block.results[index], reader)
        results = (*block.results[:index], op.outputs[0], *block.results[index + 1 :])
        return replace(block, nodes=(*block.nodes, op), results=results)

    def _quantize(self, value: Value, reader: Op) -> Op:
        return replace(reader, id=self._ids.take(), inputs=(value,), outputs=(self._quantized_value(reader, value),))

    def _quantized_value(self, reader: Op, value: Value) -> Value:
        """A new value with the output type of the QUANTIZE `reader`."""
        return Value(self._ids.take(), value.name, reader.outputs[0].type)
