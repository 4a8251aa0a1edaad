"""Imports a file's subgraphs as Functions and regions; TFLite's terms and quirks end here.

A subgraph with a single reference, by an IF or WHILE, becomes a region of that node. Every other subgraph becomes a
Function, imported once per set of argument types. Contents of variables become values that are threaded through
functions, branches and loops. All problems of the model are collected.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace

from tflmgen.errors import Location, ModelError, Problem
from tflmgen.frontend.bidirectional import without_bidirectional
from tflmgen.frontend.case_operators import without_cases
from tflmgen.frontend.fused_lstm_loops import with_fused_lstm
from tflmgen.frontend.import_build import Builder
from tflmgen.frontend.import_context import Context
from tflmgen.frontend.import_control import ControlFlowImporter
from tflmgen.frontend.model_graph.subgraphs import CALLS, call_order, references
from tflmgen.frontend.shape_bounds import NO_BOUNDS, Bounds, Shape, TensorKey, is_open, open_axes
from tflmgen.frontend.tflite.model import FileSignature, Model, SubGraph
from tflmgen.frontend.variables import find_variables
from tflmgen.frontend.wide_tiles import without_wide_tiles
from tflmgen.ir import Bound
from tflmgen.ir.graph import Block, Call, EntryPoint, Function, Module, Origin, Port, Value, Variable, uses_in, walk
from tflmgen.kernels import OPERATORS
from tflmgen.kernels.numeric import MAX_RANK
from tflmgen.kernels.specification import Operators


def import_model(model: Model, bounds: Bounds = NO_BOUNDS, operators: Operators = OPERATORS) -> Module:
    """Module of a file that the reader accepted, with dynamic dimensions limited to `bounds`.

    Raises ModelError with every unsupported operator, broken support rule, mismatch at an If or While, unbounded
    dynamic shape, and recursion (with its call chain).
    """
    return import_in_context(model, bounds, operators)[0]


def static_shapes(model: Model) -> Mapping[TensorKey, Shape]:
    """Shapes of the tensors that the file's operators compute, of static inputs; open inputs are as the file stores
    them.

    Raises ModelError as `import_model` does.
    """
    return import_in_context(model, NO_BOUNDS, OPERATORS)[1].shapes


def import_in_context(model: Model, bounds: Bounds, operators: Operators) -> tuple[Module, Context]:
    """Module of a file, and what is known of its values after the import. Raises ModelError as `import_model` does."""
    model = without_wide_tiles(without_cases(without_bidirectional(model)))
    entries = sorted({s.subgraph for s in model.signatures} or {0})
    call_order(model, entries)
    context = Context(model, find_variables(model, operators), bounds, operators)
    counts = Counter(index for s in model.subgraphs for op in s.operators for index in references(op))
    called = {i for s in model.subgraphs for op in s.operators if op.name in CALLS for i in references(op)}
    shared = {i for i, count in counts.items() if count > 1} | set(entries) | called
    importer = ControlFlowImporter(context, shared)
    imported = {index: _entry(context, importer, model.subgraphs[index]) for index in entries}
    entered = {index: _uncalled(context, importer, index, function) for index, function in imported.items()}
    signatures = tuple(_signature(context, model, s, entered) for s in _signatures(model))
    _report_open(context, importer.functions)
    if context.problems:
        raise ModelError(dict.fromkeys(context.problems))
    state = {
        name: Variable(context.value(name, v.type), _image(context, name, v.initial or bytes(v.type.bytes)))
        for name, v in context.variables.items()
    }
    notes = tuple(dict.fromkeys((*model.notes, *context.notes)))
    functions = tuple(importer.functions)
    module = Module(model.name, model.sha256, functions, signatures, context.constants, state, notes)
    return replace(module, windows=model.windows, stages=model.stages), context


def import_variants(model: Model, bounds: Bounds = NO_BOUNDS, operators: Operators = OPERATORS) -> tuple[Module, ...]:
    """Modules that compute what the file does: with its own loops, then with LSTM operators in place of some, if any.

    Raises ModelError as `import_model` does.
    """
    module, fused = import_model(model, bounds, operators), with_fused_lstm(model)
    return (module,) if fused is model else (module, import_model(fused, bounds, operators))


def _image(context: Context, name: str, data: bytes) -> str:
    key = f"state.{name}"
    context.constants[key] = data
    return key


def _entry(context: Context, importer: ControlFlowImporter, subgraph: SubGraph) -> Function:
    types = []
    for index in subgraph.inputs:
        tensor = subgraph.tensors[index]
        types.append(context.declared(subgraph, index))
        signature = tensor.shape_signature or ()
        bounds = {axis: context.bounds.of_input((subgraph.index, index), axis) for axis in open_axes(tensor)}
        dims = [
            d if (bound := bounds.get(axis)) is None else Bound("rows", bound) for axis, d in enumerate(tensor.shape)
        ]
        types[-1] = types[-1].with_shape(tuple(dims))
        open_dims = any(bound is None for bound in bounds.values()) or (is_open(tensor) and not signature)
        if open_dims:
            shape = "x".join(map(str, tensor.shape)) or "one element"
            context.notes.append(
                f"input '{tensor.name}' has a dynamic dimension; compiled for its stored shape, {shape}"
            )
    return importer.function(subgraph, types)


def _uncalled(context: Context, importer: ControlFlowImporter, subgraph: int, function: Function) -> Function:
    """Entry function of a signature: the function itself, or a wrapper that calls it.

    A wrapper is needed if other callers exist, since an entry function reads and writes the variables in place while a
    callee receives and returns them; and if inputs or results are sparse, since those of a signature are packed.
    """
    for value in (*function.inputs, *function.body.results):
        _check_rank(context, subgraph, function, value)
    nodes = (node for f in importer.functions for node in walk(f.body))
    is_called = any(isinstance(node, Call) and node.function == function.name for node in nodes)
    if not is_called and not any(_is_sparse(context, v) for v in (*function.inputs, *function.body.results)):
        return function
    inputs = _renamed(context, function.inputs, len(function.state))
    results = _renamed(context, function.body.results, len(function.state))
    origin = Origin(subgraph, function.body.name, 0, "ENTRY")
    start, end = Builder(context, origin), Builder(context, origin)
    arguments = tuple(_spread(context, start, v) for v in inputs)
    returned = tuple(end.dense(v) for v in results)
    call = Call(context.new_id(), function.name, arguments, results, origin)
    block = Block((*start.nodes, call, *end.nodes), returned, function.body.name)
    importer.functions.append(Function(importer.unique(f"{function.name}_entry"), inputs, block, function.state))
    return importer.functions[-1]


def _renamed(context: Context, values: Sequence[Value], states: int) -> tuple[Value, ...]:
    """New values with the names and types of a function's inputs or results; the last `states` are variables."""
    renamed = tuple(context.value(v.name, v.type) for v in values)
    axes = [
        (new, axis) for old, new in zip(values, renamed, strict=True) for axis in sorted(context.extents.get(old, {}))
    ]
    extents = renamed[len(values) - states - len(axes) :]
    for (value, axis), extent in zip(axes, extents, strict=False):
        context.extents.setdefault(value, {})[axis] = extent
    return renamed


def _check_rank(context: Context, subgraph: int, function: Function, value: Value) -> None:
    """Reports an input or output of a signature with a dynamic dimension behind the first MAX_RANK.

    Inputs and outputs are stored densely, and the kernels that pack rows have only so many loops.
    """
    last = max(context.extents.get(value, {}), default=0)
    if last >= MAX_RANK:
        rule = (
            f"dimension {last} of '{value.name}', an input or output, is known at run time only, which is possible of "
            f"the first {MAX_RANK} dimensions"
        )
        where = Location(context.model.name, subgraph, function.body.name)
        context.problems.append(Problem(where, rule, "Reshape it in the model, or convert it with static shapes"))


def _is_sparse(context: Context, value: Value) -> bool:
    """Whether a dimension other than the first is dynamic, so that elements in use are not contiguous."""
    return any(context.extents.get(value, {}))


def _spread(context: Context, builder: Builder, value: Value) -> Value:
    if not _is_sparse(context, value):
        return value
    return builder.spread(value, value.type, builder.shape(value), context.extents[value])


def _report_open(context: Context, functions: Sequence[Function]) -> None:
    """Reports the dynamic shapes without a bound that live operators read."""
    for function in functions:
        for value in uses_in(function.body):
            if value in context.open:
                context.problems.append(context.open[value])


def _signatures(model: Model) -> tuple[FileSignature, ...]:
    if model.signatures:
        return model.signatures
    return (FileSignature("", 0, (), ()),)


def _signature(context: Context, model: Model, signature: FileSignature, functions: dict[int, Function]) -> EntryPoint:
    subgraph, function = model.subgraphs[signature.subgraph], functions[signature.subgraph]

    def ports(indices: Sequence[int], values: Sequence[Value], named: Sequence[tuple[str, int]]) -> tuple[Port, ...]:
        handles = [i for i in indices if subgraph.tensors[i].dtype is None]
        for i in handles:
            context.tensor_problem(subgraph, subgraph.tensors[i], "a resource cannot be a model's input or output")
        tensors = [i for i in indices if i not in handles]
        names = _port_names(subgraph, tensors, named)
        return tuple(Port(name, context.bound_type(v)) for name, v in zip(names, values, strict=False))

    return EntryPoint(
        signature.key,
        function.name,
        ports(subgraph.inputs, function.inputs, signature.inputs),
        ports(subgraph.outputs, function.body.results, signature.outputs),
    )


def _port_names(subgraph: SubGraph, tensors: Sequence[int], named: Sequence[tuple[str, int]]) -> list[str]:
    """Names of a signature's ports; a tensor that stands at several places has a name for each, in their order."""
    remaining: dict[int, list[str]] = {}
    for name, tensor in named:
        remaining.setdefault(tensor, []).append(name)
    names = []
    for tensor in tensors:
        own = remaining.get(tensor, [])
        name = own.pop(0) if len(own) > 1 else own[0] if own else ""
        names.append(name or subgraph.tensors[tensor].name)
    return names
