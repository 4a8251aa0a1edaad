"""Dead code elimination: operators, control flow with its results and variables, functions with their ports."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace

from tflmgen.ir import keep
from tflmgen.ir.graph import Block, Call, Function, If, Module, Node, Op, Value, While, walk

Edges = Iterator[tuple[Value, Iterable[Value | None]]]


def prune(module: Module) -> Module:
    """Keeps only what the signatures' results depend on, across all functions.

    Optimistic marking: a value is dead until it is shown to be live, so that a loop variable read only by its own next
    value is removed (mark phase of dead code elimination on SSA form, Cytron et al., 1991). A While is assumed to end.
    """
    entries = {s.function for s in module.signatures}
    live = _live_values(module, entries)
    results = _live_results(module, entries, live)
    parameters = {
        f.name: [i for i, v in enumerate(f.inputs) if f.name in entries or v in live] for f in module.functions
    }
    pruner = _Pruner(live, results, parameters)
    return replace(module, functions=tuple(pruner.function(f) for f in module.functions if results[f.name] is not None))


def _live_values(module: Module, entries: set[str]) -> set[Value]:
    """Values that the entry functions' results depend on, and all inputs of the entry functions."""
    functions = {f.name: f for f in module.functions}
    reads: dict[Value, list[Value | None]] = {}
    for function in module.functions:
        for node in walk(function.body):
            for value, sources in _edges(node, functions, entries):
                reads.setdefault(value, []).extend(sources)
    live: set[Value] = set()
    pending: list[Value | None] = []
    for function in module.functions:
        if function.name in entries:
            pending += [*function.inputs, *function.body.results]
    while pending:
        source = pending.pop()
        if source is not None and source not in live:
            live.add(source)
            pending += reads.get(source, ())
    return live


def _edges(node: Node, functions: Mapping[str, Function], entries: set[str]) -> Edges:
    """(value, values that it depends on directly) of a node."""
    if isinstance(node, Op):
        for output in node.outputs:
            yield output, node.inputs
    elif isinstance(node, If):
        for output, *sources in zip(node.outputs, node.then.results, node.orelse.results, strict=True):
            yield output, [node.condition, *sources]
    elif isinstance(node, While):
        for output, variable, *sources in zip(node.outputs, node.variables, node.inits, node.body.results, strict=True):
            yield output, [variable]
            yield variable, [*node.condition.results, *sources]
    else:
        callee = functions[node.function]
        for output, result in zip(node.outputs, callee.body.results, strict=True):
            # An entry keeps its unread parameters, so whoever calls it must have all arguments.
            yield output, [result, *node.inputs] if node.function in entries else [result]
        for parameter, argument in zip(callee.inputs, node.inputs, strict=True):
            yield parameter, [argument]


def _live_results(module: Module, entries: set[str], live: set[Value]) -> dict[str, list[int] | None]:
    """Function -> positions of results that some call site reads; None for an unused function."""
    positions: dict[str, set[int]] = {f.name: set() for f in module.functions}
    for function in module.functions:
        for node in walk(function.body):
            if isinstance(node, Call):
                positions[node.function].update(i for i, v in enumerate(node.outputs) if v in live)
    results: dict[str, list[int] | None] = {name: sorted(indices) or None for name, indices in positions.items()}
    results.update((f.name, list(range(len(f.body.results)))) for f in module.functions if f.name in entries)
    return results


class _Pruner:
    def __init__(
        self, live: set[Value], results: Mapping[str, list[int] | None], parameters: Mapping[str, list[int]]
    ) -> None:
        self._live = live
        self._results = results
        self._parameters = parameters

    def function(self, function: Function) -> Function:
        body = replace(self._block(function.body), results=_pick(function.body.results, self._results[function.name]))
        inputs = _pick(function.inputs, self._parameters[function.name])
        # A callee that has lost ports of variables takes the remaining ones as ordinary values.
        is_unchanged = (len(inputs), len(body.results)) == (len(function.inputs), len(function.body.results))
        return replace(function, inputs=inputs, body=body, state=function.state if is_unchanged else ())

    def _block(self, block: Block) -> Block:
        live_nodes = (node for node in block.nodes if not self._live.isdisjoint(node.outputs))
        return replace(block, nodes=tuple(map(self._node, live_nodes)))

    def _node(self, node: Node) -> Node:
        if isinstance(node, Call):
            results = self._results[node.function]
            inputs = _pick(node.inputs, self._parameters[node.function])
            return replace(node, inputs=inputs, outputs=_pick(node.outputs, results))
        if isinstance(node, If):
            live_outputs = [i for i, v in enumerate(node.outputs) if v in self._live]
            then_block, else_block = (
                replace(self._block(branch), results=_pick(branch.results, live_outputs))
                for branch in (node.then, node.orelse)
            )
            return replace(node, then=then_block, orelse=else_block, outputs=_pick(node.outputs, live_outputs))
        if isinstance(node, While):
            node = keep(node, [i for i, v in enumerate(node.variables) if v in self._live])
            return replace(node, condition=self._block(node.condition), body=self._block(node.body))
        return node


def _pick(values: Sequence[Value], positions: Sequence[int] | None) -> tuple[Value, ...]:
    return tuple(values[i] for i in positions or ())
