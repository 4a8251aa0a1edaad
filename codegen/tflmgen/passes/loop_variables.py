"""Loop variables that need be none: those that never change, copies of others, and reshaped copies."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import replace

from tflmgen.ir import Ids, Rewriter, keep, resolve, resolve_operands, substitute, with_regions
from tflmgen.ir.graph import Block, Module, Node, Op, Value, While, uses_in
from tflmgen.kernels import traits_of
from tflmgen.passes.common_subexpressions import expression
from tflmgen.passes.constant_pool import Pool


def substitute_invariants(module: Module) -> Module:
    """Drops each variable whose next value is itself or its initial value, and uses the initial value instead."""
    return _Invariants().run(module)


class _Invariants(Rewriter):
    def node(self, node: Node) -> Sequence[Node]:
        node = self.regions(node)
        if not isinstance(node, While):
            return (node,)
        mapping = {}
        for variable, init, following, output in zip(
            node.variables, node.inits, node.body.results, node.outputs, strict=True
        ):
            if following in (variable, init) and init.type == variable.type == output.type:
                mapping[variable] = mapping[output] = init
        if not mapping:
            return (node,)
        self.mapping.update(mapping)
        regions = [substitute(block, mapping) for block in (node.condition, node.body)]
        node = with_regions(node, regions)
        assert isinstance(node, While)
        return (keep(node, [i for i, v in enumerate(node.variables) if v not in mapping]),)


def merge_variables(module: Module) -> Module:
    """Merges loop variables with equal initial values and equal next values.

    Optimistic: variables with equal initial values are assumed equal until value numbering of the body under this
    assumption gives different next values (partition refinement: Alpern, Wegman and Zadeck, Detecting Equality of
    Variables in Programs, 1988).
    """
    return _Duplicates().run(module)


class _Duplicates(Rewriter):
    def node(self, node: Node) -> Sequence[Node]:
        node = self.regions(node)
        if not isinstance(node, While):
            return (node,)
        leader = _leaders(node)
        mapping = {v: equal for v, equal in leader.items() if v != equal}
        if not mapping:
            return (node,)
        output = dict(zip(node.variables, node.outputs, strict=True))
        self.mapping.update((output[v], output[equal]) for v, equal in mapping.items())
        node = with_regions(node, [substitute(block, mapping) for block in (node.condition, node.body)])
        assert isinstance(node, While)
        return (keep(node, [i for i, v in enumerate(node.variables) if v not in mapping]),)


def _leaders(node: While) -> dict[Value, Value]:
    """Variable -> the first variable that it equals."""
    leader = _first_of_each_key(node.variables, node.inits)
    while True:
        numbers = _numbers(node.body, leader)
        following = [resolve(v, numbers) for v in node.body.results]
        old = [leader[v] for v in node.variables]
        refined = _first_of_each_key(node.variables, list(zip(old, following, strict=True)))
        if refined == leader:
            return leader
        leader = refined


def _first_of_each_key(variables: Sequence[Value], keys: Sequence[Hashable]) -> dict[Value, Value]:
    first: dict[Hashable, Value] = {}
    return {v: first.setdefault((v.type, key), v) for v, key in zip(variables, keys, strict=True)}


def _numbers(body: Block, leader: dict[Value, Value]) -> dict[Value, Value]:
    """Value -> an equal value, assuming that each variable equals its leader. Nested control flow is never equal."""
    mapping = {v: equal for v, equal in leader.items() if v != equal}
    expressions: dict[Hashable, tuple[Value, ...]] = {}
    for node in body.nodes:
        node = resolve_operands(node, mapping)
        if isinstance(node, Op):
            equal_outputs = expressions.setdefault(expression(node), node.outputs)
            mapping.update((v, equal) for v, equal in zip(node.outputs, equal_outputs, strict=True) if v != equal)
    return mapping


def view_after_loop(module: Module) -> Module:
    """Drops variables that the loop only writes, with a view of another variable's next value and an equal start."""
    return _ViewVariables(module).run(module)


class _ViewVariables(Rewriter):
    def __init__(self, module: Module) -> None:
        super().__init__()
        self._pool = Pool(module)
        self._ids = Ids(module)

    def node(self, node: Node) -> Sequence[Node]:
        node = self.regions(node)
        if not isinstance(node, While):
            return (node,)
        inner = [*node.condition.nodes, *node.body.nodes]
        read = set(uses_in(replace(node.condition, nodes=tuple(inner))))
        views = {n.outputs[0]: n for n in node.body.nodes if isinstance(n, Op) and traits_of(n.operator).view}
        carried, after = [], []
        for index, variable in enumerate(node.variables):
            view = views.get(node.body.results[index])
            original = self._original(node, index, view) if view is not None and variable not in read else None
            if view is None or original is None:
                carried.append(index)
                continue
            inputs = (node.outputs[original], *view.inputs[1:])
            after.append(replace(view, id=self._ids.take(), inputs=inputs, outputs=(node.outputs[index],)))
        return (keep(node, carried), *after) if after else (node,)

    def _original(self, node: While, index: int, view: Op) -> int | None:
        """Index of the variable that variable `index` is a reshaped copy of; else None."""
        for candidate, following in enumerate(node.body.results):
            if candidate != index and following == view.inputs[0]:
                init, candidate_init = node.inits[index], node.inits[candidate]
                if self._equal(init, candidate_init):
                    return candidate
        return None

    def _equal(self, first: Value, second: Value) -> bool:
        if first.constant is None or second.constant is None:
            return False
        return self._pool.constants[first.constant] == self._pool.constants[second.constant]
