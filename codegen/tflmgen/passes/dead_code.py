"""What no result depends on goes away: operators, control flow, its results and variables, functions, their ports."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace

from tflmgen.ir import Block, Call, Function, If, Module, Node, Op, Value, While, keep, walk

Edges = Iterator[tuple[Value, Iterable[Value | None]]]


def prune(module: Module) -> Module:
    """Keeps what the signatures' results need, over all functions at once.

    Optimistic: nothing is needed before it is shown to be, so that a loop variable that only its own next value reads
    goes away (the mark phase of dead code elimination on SSA form, Cytron et al., 1991). A While is assumed to end.
    """
    entries = {s.function for s in module.signatures}
    needed = _needed(module, entries)
    results = _needed_results(module, entries, needed)
    parameters = {
        f.name: [i for i, v in enumerate(f.inputs) if f.name in entries or v in needed] for f in module.functions
    }
    pruner = _Pruner(needed, results, parameters)
    return replace(module, functions=tuple(pruner.function(f) for f in module.functions if results[f.name] is not None))


def _needed(module: Module, entries: set[str]) -> set[Value]:
    """The values that the results of the entries depend on, and their inputs, which all callers must give them."""
    functions = {f.name: f for f in module.functions}
    reads: dict[Value, list[Value | None]] = {}
    for function in module.functions:
        for node in walk(function.body):
            for value, sources in _edges(node, functions, entries):
                reads.setdefault(value, []).extend(sources)
    needed: set[Value] = set()
    pending: list[Value | None] = []
    for function in module.functions:
        if function.name in entries:
            pending += [*function.inputs, *function.body.results]
    while pending:
        one = pending.pop()
        if one is not None and one not in needed:
            needed.add(one)
            pending += reads.get(one, ())
    return needed


def _edges(node: Node, functions: Mapping[str, Function], entries: set[str]) -> Edges:
    """Value -> the values that it depends on directly."""
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


def _needed_results(module: Module, entries: set[str], needed: set[Value]) -> dict[str, list[int] | None]:
    """Function -> the positions of results that a call site needs; None for a function that nothing needs."""
    positions: dict[str, set[int]] = {f.name: set() for f in module.functions}
    for function in module.functions:
        for node in walk(function.body):
            if isinstance(node, Call):
                positions[node.function].update(i for i, v in enumerate(node.outputs) if v in needed)
    results: dict[str, list[int] | None] = {name: sorted(found) or None for name, found in positions.items()}
    results.update((f.name, list(range(len(f.body.results)))) for f in module.functions if f.name in entries)
    return results


class _Pruner:
    def __init__(
        self, needed: set[Value], results: Mapping[str, list[int] | None], parameters: Mapping[str, list[int]]
    ) -> None:
        self._needed = needed
        self._results = results
        self._parameters = parameters

    def function(self, function: Function) -> Function:
        body = replace(self._block(function.body), results=_pick(function.body.results, self._results[function.name]))
        inputs = _pick(function.inputs, self._parameters[function.name])
        # A callee that loses ports of variables gets the rest of them like any other value.
        whole = (len(inputs), len(body.results)) == (len(function.inputs), len(function.body.results))
        return replace(function, inputs=inputs, body=body, state=function.state if whole else ())

    def _block(self, block: Block) -> Block:
        kept = (node for node in block.nodes if not self._needed.isdisjoint(node.outputs))
        return replace(block, nodes=tuple(map(self._node, kept)))

    def _node(self, node: Node) -> Node:
        if isinstance(node, Call):
            results = self._results[node.function]
            inputs = _pick(node.inputs, self._parameters[node.function])
            return replace(node, inputs=inputs, outputs=_pick(node.outputs, results))
        if isinstance(node, If):
            live = [i for i, v in enumerate(node.outputs) if v in self._needed]
            then, orelse = (
                replace(self._block(side), results=_pick(side.results, live)) for side in (node.then, node.orelse)
            )
            return replace(node, then=then, orelse=orelse, outputs=_pick(node.outputs, live))
        if isinstance(node, While):
            node = keep(node, [i for i, v in enumerate(node.variables) if v in self._needed])
            return replace(node, condition=self._block(node.condition), body=self._block(node.body))
        return node


def _pick(values: Sequence[Value], positions: Sequence[int] | None) -> tuple[Value, ...]:
    return tuple(values[i] for i in positions or ())
