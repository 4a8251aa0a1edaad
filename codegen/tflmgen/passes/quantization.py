"""Conversions between floats and integers: cancelled, moved across control flow, and moved behind look-ups."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from tflmgen.ir import DType, Ids, Rewriter, TensorType
from tflmgen.ir.graph import Block, If, Module, Node, Op, Value, While, blocks_of, operands_of, walk
from tflmgen.kernels import NumberConversion, traits_of
from tflmgen.passes.def_use import input_at
from tflmgen.passes.operator_rewriter import OperatorRewriter, Replacement

GREATEST_SCALE = 1e30
"""Largest scale for which no dequantised 16-bit element overflows float32."""


def cancel_quantization(module: Module) -> Module:
    """Replaces QUANTIZE(DEQUANTIZE(x)) by x if the types are equal, and by one requantisation from int8 to int8.

    The first is bit-exact: scale * n has a relative error of at most 2**-24, and its quotient by scale one of at most
    2**-23, so that it rounds to n for |n| < 2**16.
    """
    return _Cancel(module).rewritten()


class _Cancel(OperatorRewriter):
    def op(self, op: Op) -> Replacement:
        if traits_of(op.operator).converts is not NumberConversion.QUANTIZES:
            return None
        dequantize = self.flow.producer(op.inputs[0], lambda traits: traits.converts is NumberConversion.DEQUANTIZES)
        quantized, output = None if dequantize is None else dequantize.inputs[0], op.outputs[0]
        if quantized is None or not _is_simple(quantized) or not _is_simple(output):
            return None
        if quantized.type == output.type:
            return quantized
        is_int8 = quantized.type.dtype is output.type.dtype is DType.INT8
        return replace(op, operator=NumberConversion.REQUANTIZES.operator, inputs=(quantized,)) if is_int8 else None


def _is_simple(value: Value) -> bool:
    quantization = value.type.quantization
    if quantization is None or quantization.per_channel or not value.type.is_static:
        return False
    return quantization.scale < GREATEST_SCALE


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
        if isinstance(node, Op) and traits_of(node.operator).converts is NumberConversion.QUANTIZES:
            for value in operands_of(node):
                reader = self._readers.setdefault(value, node if value.type.is_static else None)
                if reader is not None and reader.outputs[0].type != node.outputs[0].type:
                    self._readers[value] = None
            return
        self._readers.update((value, None) for value in operands_of(node))
        for region in blocks_of(node):
            self._read_by_others(region)
        if isinstance(node, Op) and traits_of(node.operator).converts is NumberConversion.DEQUANTIZES:
            self._dequantized.add(node.outputs[0])

    def _read_by_others(self, block: Block) -> None:
        self._readers.update((value, None) for value in block.results)

    def node(self, node: Node) -> Sequence[Node]:
        if isinstance(node, If):
            return (self._if(node),)
        if isinstance(node, While):
            return self._while(node)
        if (
            isinstance(node, Op)
            and traits_of(node.operator).converts is NumberConversion.QUANTIZES
            and node.inputs[0] in self._narrowed
        ):
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


def dequantize_late(module: Module) -> Module:
    """Moves GATHER and EMBEDDING_LOOKUP before the DEQUANTIZE of a constant table.

    Bit-exact: elements are dequantised independently. A table with other readers, or with fewer elements than the
    output, is dequantised at compile time instead.
    """
    return _Tables(module).rewritten()


class _Tables(OperatorRewriter):
    def op(self, op: Op) -> Replacement:
        table_index = traits_of(op.operator).roles.table
        dequantized = input_at(op, table_index)
        dequantize = self.flow.producer(dequantized, lambda traits: traits.converts is NumberConversion.DEQUANTIZES)
        table = dequantize.inputs[0] if dequantize is not None else None
        if table_index is None or dequantized is None or dequantize is None or table is None or not table.is_constant:
            return None
        if not self._is_only_gathered(dequantized) or op.outputs[0].type.elements > table.type.elements:
            return None
        row_type = TensorType(table.type.dtype, op.outputs[0].type.shape, table.type.quantization)
        rows = Value(self.pool.ids.take(), op.outputs[0].name, row_type)
        inputs = (*op.inputs[:table_index], table, *op.inputs[table_index + 1 :])
        gather = replace(op, id=self.pool.ids.take(), inputs=inputs, outputs=(rows,))
        dequantize_rows = replace(dequantize, id=self.pool.ids.take(), inputs=(rows,), outputs=op.outputs)
        return (gather, dequantize_rows) if self.legal(gather) and self.legal(dequantize_rows) else None

    def _is_only_gathered(self, dequantized: Value) -> bool:
        readers = self.flow.readers(dequantized)
        return bool(readers) and all(
            op.inputs.index(dequantized) == traits_of(op.operator).roles.table for op in readers or ()
        )
