"""Random small models whose operators read constants: as data, weights and tables, as what branches capture, as first
values of loops and what loops leave alone; in the entry, in nested Ifs and Whiles, and where nothing reads the result.
"""

from __future__ import annotations

import numpy as np

from support.constant_operators import OPERATORS, Kind, Scope, Value
from support.model_writer import ModelWriter

DTYPES = ("float32", "int32", "int8", "int8", "int8", "int16")
DEPTH_LIMIT = 2
TRIPS_LIMIT = 3


def constant_program(seed: int) -> bytes:
    """Two inputs: numbers of any shape, and the condition of Ifs. The first output depends on the first input."""
    rng, writer = np.random.default_rng(seed), ModelWriter()
    main = Scope(rng, DTYPES[int(rng.integers(len(DTYPES)))], writer.subgraph("main"))
    x = main.input(main.kind())
    main.condition = main.graph.tensor("condition", "bool", [1])
    _statements(main, 0)
    last, any_value = main.values[-1], main.pick()
    total = main.apply("MAXIMUM", [main.fitted(main.pick(), x.kind).index, x.index], x.kind)
    main.graph.inputs = [x.index, main.condition]
    main.graph.outputs = [total.index, *sorted({last.index, any_value.index} - {x.index})]
    return writer.finish()


def _statements(s: Scope, depth: int) -> None:
    """One to five operators more, control flow among them."""
    for _ in range(s.integer(1, 5 - depth)):
        is_control = depth < DEPTH_LIMIT and s.chance(0.25)
        if is_control:
            s.choose((_if, _while))(s, depth)
        else:
            s.choose(OPERATORS[s.dtype])(s, s.operand())


def _condition(s: Scope) -> int:
    return s.table([s.integer(0, 1)], "bool") if s.chance(0.25) else s.condition


def _inner(s: Scope, name: str, kinds: list[Kind]) -> Scope:
    """A subgraph whose first inputs are a condition and values of `kinds`."""
    inner = Scope(s.rng, s.dtype, s.graph.model.subgraph(name))
    inner.condition = inner.graph.tensor("condition", "bool", [1])
    inner.graph.inputs = [inner.condition, *(inner.input(kind).index for kind in kinds)]
    return inner


def _captured(s: Scope) -> list[Value]:
    """Values that a subgraph gets, the first of them small."""
    return [s.pick(), *(s.operand() for _ in range(s.integer(0, 2)))]


def _if(s: Scope, depth: int) -> None:
    captured = _captured(s)
    kinds = [value.kind for value in captured]
    wanted = [kinds[0], *([s.kind()] if s.chance(0.5) else [])]
    branches = [_inner(s, name, kinds) for name in ("then", "else")]
    for branch in branches:
        _statements(branch, depth + 1)
        branch.graph.outputs = [branch.fitted(branch.pick(), kind).index for kind in wanted]
    results = [s.tensor(kind) for kind in wanted]
    subgraphs = {
        f"{key}_subgraph_index": branch.graph.index for key, branch in zip(("then", "else"), branches, strict=True)
    }
    operands = [_condition(s), _condition(s), *(value.index for value in captured)]
    s.graph.operator("IF", operands, [result.index for result in results], subgraphs)
    s.values += results


def _while(s: Scope, depth: int) -> None:
    """A counter, a condition for Ifs in the body, and values of which some stay as they are."""
    captured = _captured(s)
    kinds = [value.kind for value in captured]
    test, body = (_inner(s, name, kinds) for name in ("test", "body"))
    counters = [region.graph.tensor("counter", "int32", [1]) for region in (test, body)]
    for region, counter in zip((test, body), counters, strict=True):
        region.graph.inputs.append(counter)
    goes_on = test.graph.tensor("goes_on", "bool", [1])
    test.graph.operator("LESS", [counters[0], test.table([s.integer(0, TRIPS_LIMIT)])], [goes_on])
    test.graph.outputs = [goes_on]
    _statements(body, depth + 1)
    following = body.graph.tensor("next", "int32", [1])
    body.graph.operator("ADD", [counters[1], body.table([1])], [following])
    carried = [
        index if s.chance(0.4) else body.fitted(body.pick(), kind).index
        for index, kind in zip(body.graph.inputs[1:-1], kinds, strict=True)
    ]
    body.graph.outputs = [body.condition, *carried, following]
    results = [s.tensor(kind) for kind in kinds]
    ends = [s.graph.tensor(f"t{len(s.graph.tensors)}", dtype, [1]) for dtype in ("bool", "int32")]
    operands = [_condition(s), *(value.index for value in captured), s.table([0])]
    subgraphs = {"cond_subgraph_index": test.graph.index, "body_subgraph_index": body.graph.index}
    s.graph.operator("WHILE", operands, [ends[0], *(r.index for r in results), ends[1]], subgraphs)
    s.values += results
