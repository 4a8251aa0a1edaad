"""A file's subgraphs become Functions and regions; TFLite's words and quirks end here.

A subgraph that one IF or WHILE refers to becomes a region inside that node, its inputs renamed to the operands. Every
other one becomes a Function that is imported once, however often it is called. All problems of the model are collected.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from tflmgen.errors import Location, ModelError, Problem
from tflmgen.graph import Block, Call, Function, If, Module, Node, Op, Origin, Port, Signature, Value, While
from tflmgen.subgraphs import CONTROL_FLOW, call_order, references
from tflmgen.support import check_operator
from tflmgen.tflite.model import Model, Operator, SubGraph
from tflmgen.types import DType, TensorType


def import_model(model: Model) -> Module:
    """The Module of a file that the reader accepted.

    Raises ModelError with every operator that is unsupported, every broken rule of an operator, every If or While whose
    sides don't agree, and every recursion, with its call chain.
    """
    return _Importer(model).run()


class _Importer:
    def __init__(self, model: Model) -> None:
        self._model = model
        self._problems: list[Problem] = []
        self._notes: list[str] = []
        self._constants: dict[str, bytes] = {}
        self._next_id = 0
        counts = Counter(index for s in model.subgraphs for op in s.operators for index in references(op))
        called = {index for s in model.subgraphs for op in s.operators if op.name == "CALL" for index in references(op)}
        entries = {s.subgraph for s in model.signatures} or {0}
        self._functions = {i: "" for i in range(len(model.subgraphs)) if i in entries or i in called or counts[i] > 1}
        names = Counter(model.subgraphs[i].name for i in self._functions)
        for i in self._functions:
            name = model.subgraphs[i].name or "subgraph"
            self._functions[i] = name if names[model.subgraphs[i].name] == 1 and name != "subgraph" else f"{name}_{i}"
        self._entries = entries

    def run(self) -> Module:
        order = call_order(self._model, sorted(self._entries))
        functions = tuple(self._function(i) for i in order if i in self._functions)
        signatures = self._signatures({f.name: f for f in functions})
        if self._problems:
            raise ModelError(self._problems)
        return Module(
            self._model.name,
            self._model.sha256,
            functions,
            signatures,
            self._constants,
            tuple(dict.fromkeys(self._notes)),
        )

    def _id(self) -> int:
        self._next_id += 1
        return self._next_id

    def _value(self, name: str, type_: TensorType) -> Value:
        return Value(self._id(), name, type_)

    def _problem(self, origin: Origin, rule: str, advice: str = "") -> None:
        where = Location(self._model.name, origin.subgraph, origin.subgraph_name, origin.operator, origin.operator_name)
        self._problems.append(Problem(where, rule, advice))

    def _function(self, index: int) -> Function:
        subgraph = self._model.subgraphs[index]
        inputs = []
        for tensor_index in subgraph.inputs:
            tensor = subgraph.tensors[tensor_index]
            inputs.append(self._value(tensor.name, self._type(subgraph, tensor_index)))
            if index in self._entries and tensor.shape_signature and -1 in tensor.shape_signature:
                shape = "x".join(map(str, tensor.shape))
                self._notes.append(
                    f"input '{tensor.name}' has an open dimension; compiled for its stored shape {shape}"
                )
        return Function(self._functions[index], tuple(inputs), self._block(subgraph, inputs))

    def _type(self, subgraph: SubGraph, index: int) -> TensorType:
        tensor = subgraph.tensors[index]
        if tensor.dtype is None:
            where = Location(self._model.name, subgraph.index, subgraph.name, tensor=index, tensor_name=tensor.name)
            self._problems.append(Problem(where, f"element type {tensor.type_name} is not supported"))
            return TensorType(DType.INT8, tensor.shape)
        if 0 in tensor.shape and tensor.data is None:
            where = Location(self._model.name, subgraph.index, subgraph.name, tensor=index, tensor_name=tensor.name)
            self._problems.append(
                Problem(where, "has no elements", "Remove it from the model, or give it its real shape")
            )
        return TensorType(tensor.dtype, tensor.shape, tensor.quantization)

    def _block(self, subgraph: SubGraph, arguments: Sequence[Value]) -> Block:
        scope = _Scope(self, subgraph, arguments)
        nodes = tuple(node for op in subgraph.operators for node in self._node(scope, op))
        return Block(nodes, tuple(scope.read(i) for i in subgraph.outputs), subgraph.name)

    def _node(self, scope: _Scope, op: Operator) -> tuple[Node, ...]:
        subgraph = scope.subgraph
        origin = Origin(subgraph.index, subgraph.name, op.index, op.name)
        if op.name not in CONTROL_FLOW:
            inputs = tuple(scope.read(i) if i >= 0 else None for i in op.inputs)
            declared = tuple(self._type(subgraph, i) for i in op.outputs)
            open_shapes = tuple(-1 in (subgraph.tensors[i].shape_signature or ()) for i in op.outputs)
            checked = check_operator(op, inputs, declared, open_shapes, self._constants)
            for sentence in checked.problems:
                self._problem(origin, sentence)
            outputs = tuple(scope.define(i, t) for i, t in zip(op.outputs, checked.outputs, strict=True))
            return (Op(self._id(), op.name, inputs, outputs, checked.attributes, origin),)
        if len(references(op)) != len(CONTROL_FLOW[op.name]):
            self._problem(origin, f"the options of {op.name} are missing: it names no subgraphs")
            for i in op.outputs:
                scope.define(i)
            return ()
        operands = [scope.read(i) for i in op.inputs]
        targets = [self._model.subgraphs[i] for i in references(op)]
        if op.name == "IF":
            return self._if(scope, op, origin, operands, targets)
        if op.name == "WHILE":
            return self._while(scope, op, origin, operands, targets)
        return self._call(scope, op, origin, operands, targets[0])

    def _region(self, target: SubGraph, arguments: Sequence[Value], origin: Origin) -> Block:
        if target.index not in self._functions:
            return self._block(target, arguments)
        results = tuple(self._value(target.tensors[i].name, self._type(target, i)) for i in target.outputs)
        call = Call(self._id(), self._functions[target.index], tuple(arguments), results, origin)
        return Block((call,), results, target.name)

    def _if(
        self, scope: _Scope, op: Operator, origin: Origin, operands: list[Value], targets: list[SubGraph]
    ) -> tuple[Node, ...]:
        outputs = tuple(scope.define(i) for i in op.outputs)
        sides = {"then branch": targets[0], "else branch": targets[1]}
        if not operands:
            self._problem(origin, "IF has no condition")
            return ()
        condition = operands[0].type
        fine = condition.dtype is DType.BOOL and condition.elements == 1
        if not fine:
            self._problem(origin, f"the condition of IF must be one bool, not {condition}")
        for side, target in sides.items():
            fine &= self._agree(
                origin, f"{side}'s input", [v.type for v in operands[1:]], target, target.inputs, "operand"
            )
            fine &= self._agree(origin, f"{side}'s output", [v.type for v in outputs], target, target.outputs, "result")
        if not fine:
            return ()
        then, orelse = (self._region(target, operands[1:], origin) for target in sides.values())
        return (If(self._id(), operands[0], then, orelse, outputs, origin),)

    def _while(
        self, scope: _Scope, op: Operator, origin: Origin, operands: list[Value], targets: list[SubGraph]
    ) -> tuple[Node, ...]:
        outputs = tuple(scope.define(i) for i in op.outputs)
        condition, body = targets
        types = [v.type for v in operands]
        fine = self._agree(origin, "condition's input", types, condition, condition.inputs, "operand")
        fine &= self._agree(origin, "body's input", types, body, body.inputs, "operand")
        fine &= self._agree(origin, "body's output", types, body, body.outputs, "operand")
        if len(outputs) != len(operands):
            self._problem(
                origin, f"WHILE has {len(operands)} operands and {len(outputs)} results; each variable needs both"
            )
            fine = False
        test = [self._type(condition, i) for i in condition.outputs]
        if len(test) != 1 or test[0].dtype is not DType.BOOL or test[0].elements != 1:
            found = ", ".join(map(str, test)) or "nothing"
            self._problem(origin, f"the condition of WHILE must return one bool; '{condition.name}' returns {found}")
            fine = False
        if not fine:
            return ()
        variables = tuple(self._value(body.tensors[i].name, v.type) for i, v in zip(body.inputs, operands, strict=True))
        regions = (self._region(condition, variables, origin), self._region(body, variables, origin))
        return (While(self._id(), variables, tuple(operands), *regions, outputs, origin),)

    def _call(
        self, scope: _Scope, op: Operator, origin: Origin, operands: list[Value], target: SubGraph
    ) -> tuple[Node, ...]:
        outputs = tuple(scope.define(i) for i in op.outputs)
        fine = self._agree(origin, "input of", [v.type for v in operands], target, target.inputs, "operand")
        fine &= self._agree(origin, "output of", [v.type for v in outputs], target, target.outputs, "result")
        if not fine:
            return ()
        return (Call(self._id(), self._functions[target.index], tuple(operands), outputs, origin),)

    def _agree(
        self, origin: Origin, what: str, outer: list[TensorType], target: SubGraph, indices: Sequence[int], noun: str
    ) -> bool:
        """Whether a subgraph's inputs or outputs match what its caller has in their place; says so where they don't."""
        if len(outer) != len(indices):
            self._problem(
                origin,
                f"{what} count: {origin.operator_name} has {len(outer)} {noun}s, '{target.name}' has {len(indices)}",
            )
            return False
        fine = True
        for position, (here, index) in enumerate(zip(outer, indices, strict=True)):
            there = self._type(target, index)
            difference = _difference(here, there)
            if difference:
                self._problem(origin, f"{what} {position} ('{target.tensors[index].name}'): {difference}")
                fine = False
        return fine

    def _signatures(self, functions: dict[str, Function]) -> tuple[Signature, ...]:
        if not self._model.signatures:
            return (self._signature("", 0, {}, {}, functions),)
        return tuple(
            self._signature(
                s.key,
                s.subgraph,
                {index: name for name, index in s.inputs},
                {index: name for name, index in s.outputs},
                functions,
            )
            for s in self._model.signatures
        )

    def _signature(
        self, key: str, index: int, inputs: dict[int, str], outputs: dict[int, str], functions: dict[str, Function]
    ) -> Signature:
        subgraph = self._model.subgraphs[index]
        function = functions[self._functions[index]]

        def ports(indices: Sequence[int], values: Sequence[Value], names: dict[int, str]) -> tuple[Port, ...]:
            return tuple(
                Port(names.get(i) or subgraph.tensors[i].name, v.type) for i, v in zip(indices, values, strict=True)
            )

        return Signature(
            key,
            function.name,
            ports(subgraph.inputs, function.inputs, inputs),
            ports(subgraph.outputs, function.body.results, outputs),
        )


class _Scope:
    """The values of one subgraph while it is imported, by tensor index."""

    def __init__(self, importer: _Importer, subgraph: SubGraph, arguments: Sequence[Value]) -> None:
        self.subgraph = subgraph
        self._importer = importer
        self._values = dict(zip(subgraph.inputs, arguments, strict=True))

    def read(self, index: int) -> Value:
        if index not in self._values:
            tensor = self.subgraph.tensors[index]
            data = tensor.data if tensor.data is not None else b"" if 0 in tensor.shape else None
            if data is None:
                # An operator before failed its checks; its outputs stand in so that the rest is checked too.
                return self.define(index)
            key = f"{self.subgraph.index}.{index}"
            self._importer._constants[key] = data
            type_ = TensorType(tensor.dtype or DType.INT8, tensor.shape, tensor.quantization)
            self._values[index] = Value(self._importer._id(), tensor.name, type_, key)
        return self._values[index]

    def define(self, index: int, type_: TensorType | None = None) -> Value:
        name = self.subgraph.tensors[index].name
        type_ = type_ or self._importer._type(self.subgraph, index)
        self._values[index] = self._importer._value(name, type_)
        return self._values[index]


def _difference(here: TensorType, there: TensorType) -> str:
    if here.dtype is not there.dtype:
        return f"element type {there.dtype.label}, but {here.dtype.label} outside"
    if here.shape != there.shape:
        return f"shape {list(there.max_shape)}, but {list(here.max_shape)} outside"
    if here.quantization and there.quantization and here.quantization != there.quantization:
        return "quantised otherwise than outside"
    return ""
