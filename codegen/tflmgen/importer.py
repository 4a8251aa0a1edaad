"""A file's subgraphs become Functions and regions; TFLite's words and quirks end here.

A subgraph that one IF or WHILE refers to becomes a region inside that node, its inputs renamed to the operands. Every
other one becomes a Function that is imported once per set of argument types. Variables become values: the contents of
each are threaded through functions, branches and loops. All problems of the model are collected.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from tflmgen.bidirectional import without_bidirectional
from tflmgen.bounds import NO_BOUNDS, Bounds, is_open
from tflmgen.case_operators import without_cases
from tflmgen.errors import ModelError
from tflmgen.graph import Block, Call, Function, Module, Origin, Port, Signature, Value, Variable, uses_in, walk
from tflmgen.import_context import Context
from tflmgen.import_control import ControlFlowImporter
from tflmgen.subgraphs import CALLS, call_order, references
from tflmgen.tflite import model as file
from tflmgen.tflite.model import Model, SubGraph
from tflmgen.types import Bound
from tflmgen.variables import find_variables


def import_model(model: Model, bounds: Bounds = NO_BOUNDS) -> Module:
    """The Module of a file that the reader accepted, with room for dimensions up to `bounds`.

    Raises ModelError with every operator that is unsupported, every broken rule of an operator, every If or While whose
    sides don't agree, every shape that stays open, and every recursion, with its call chain.
    """
    model = without_cases(without_bidirectional(model))
    entries = sorted({s.subgraph for s in model.signatures} or {0})
    call_order(model, entries)
    context = Context(model, find_variables(model), bounds)
    counts = Counter(index for s in model.subgraphs for op in s.operators for index in references(op))
    called = {i for s in model.subgraphs for op in s.operators if op.name in CALLS for i in references(op)}
    shared = {i for i, count in counts.items() if count > 1} | set(entries) | called
    importer = ControlFlowImporter(context, shared)
    imported = {index: _entry(context, importer, model.subgraphs[index]) for index in entries}
    functions = {index: _uncalled(context, importer, index, function) for index, function in imported.items()}
    signatures = tuple(_signature(context, model, s, functions) for s in _signatures(model))
    _report_open(context, importer.functions)
    if context.problems:
        raise ModelError(dict.fromkeys(context.problems))
    state = {
        name: Variable(context.value(name, v.type), _image(context, name, v.initial or bytes(v.type.bytes)))
        for name, v in context.variables.items()
    }
    notes = tuple(dict.fromkeys(context.notes))
    return Module(model.name, model.sha256, tuple(importer.functions), signatures, context.constants, state, notes)


def _image(context: Context, name: str, data: bytes) -> str:
    key = f"state.{name}"
    context.constants[key] = data
    return key


def _entry(context: Context, importer: ControlFlowImporter, subgraph: SubGraph) -> Function:
    types = []
    for index in subgraph.inputs:
        tensor = subgraph.tensors[index]
        types.append(context.declared(subgraph, index))
        most = context.bounds.of_input((subgraph.index, index))
        if (tensor.shape_signature or ())[:1] == (-1,) and most is not None:
            types[-1] = types[-1].with_shape((Bound("rows", most), *types[-1].shape[1:]))
            open_dims = (tensor.shape_signature or ())[1:].count(-1)
        else:
            open_dims = is_open(tensor)
        if open_dims:
            shape = "x".join(map(str, tensor.shape)) or "one element"
            context.notes.append(f"input '{tensor.name}' has an open dimension; compiled for its stored shape, {shape}")
    return importer.function(subgraph, types)


def _uncalled(context: Context, importer: ControlFlowImporter, subgraph: int, function: Function) -> Function:
    """The function, or where others call it, one that only calls it.

    What a signature enters takes the variables from their homes and leaves them there; a callee gets and returns them.
    """
    nodes = (node for f in importer.functions for node in walk(f.body))
    if not any(isinstance(node, Call) and node.function == function.name for node in nodes):
        return function
    inputs = tuple(context.value(v.name, v.type) for v in function.inputs)
    results = tuple(context.value(v.name, v.type) for v in function.body.results)
    for old, new in ((function.inputs, inputs), (function.body.results, results)):
        here = dict(zip(old, new, strict=True))
        context.extents.update((here[v], here[context.extents[v]]) for v in old if v in context.extents)
    origin = Origin(subgraph, function.body.name, 0, "ENTRY")
    block = Block((Call(context.new_id(), function.name, inputs, results, origin),), results, function.body.name)
    importer.functions.append(Function(importer.unique(f"{function.name}_entry"), inputs, block, function.state))
    return importer.functions[-1]


def _report_open(context: Context, functions: Sequence[Function]) -> None:
    """Shapes that stay open are problems where something that is needed reads them."""
    for function in functions:
        for value in uses_in(function.body):
            if value in context.open:
                context.problems.append(context.open[value])


def _signatures(model: Model) -> tuple[file.Signature, ...]:
    if model.signatures:
        return model.signatures
    return (file.Signature("", 0, (), ()),)


def _signature(context: Context, model: Model, signature: file.Signature, functions: dict[int, Function]) -> Signature:
    subgraph, function = model.subgraphs[signature.subgraph], functions[signature.subgraph]
    inputs = {index: name for name, index in signature.inputs}
    outputs = {index: name for name, index in signature.outputs}

    def ports(indices: Sequence[int], values: Sequence[Value], names: dict[int, str]) -> tuple[Port, ...]:
        handles = [i for i in indices if subgraph.tensors[i].dtype is None]
        for i in handles:
            context.tensor_problem(subgraph, subgraph.tensors[i], "a resource cannot be a model's input or output")
        tensors = [i for i in indices if i not in handles]
        return tuple(
            Port(names.get(i) or subgraph.tensors[i].name, context.bound_type(v))
            for i, v in zip(tensors, values, strict=False)
        )

    return Signature(
        signature.key,
        function.name,
        ports(subgraph.inputs, function.inputs, inputs),
        ports(subgraph.outputs, function.body.results, outputs),
    )
