"""What an operator keeps, inside branches, functions and loops: delays that hear only what passes through them."""

from __future__ import annotations

import numpy as np
import pytest
from flatbuffers import flexbuffers
from support.model_writer import ModelWriter, SubgraphWriter
from support.native import Invocation, build_native, run_native
from support.pipeline import compile_bytes
from tflmgen.errors import ModelError


def test_state_in_a_branch_that_runs_now_and_then() -> None:
    """A delay inside an If: it hears only the frames of the invocations that take the branch."""
    writer = ModelWriter()
    main, then, other = (writer.subgraph(name) for name in ("main", "then", "else"))
    test, x = main.tensor("test", "bool", []), main.tensor("x", "int16", [3])
    main.inputs, main.outputs = [test, x], [main.tensor("y", "int16", [3])]
    main.operator("IF", [test, x], main.outputs, {"then_subgraph_index": 1, "else_subgraph_index": 2})
    for graph in (then, other):
        graph.inputs, graph.outputs = [graph.tensor("a", "int16", [3])], [graph.tensor("b", "int16", [3])]
    custom = bytes(flexbuffers.Dumps({"delay_length": 3}))
    then.operator("CUSTOM:SignalDelay", then.inputs, then.outputs, custom_options=custom)
    other.operator("CUSTOM:SignalDelay", other.inputs, other.outputs, custom_options=custom)
    stages = compile_bytes(bytes(writer.finish()))
    program = build_native({"m0": stages.sources("m0")})
    takes = [True, False, False, True, True, False]
    frames = [np.full(3, k + 1, np.int16) for k in range(len(takes))]
    calls = [Invocation(0, 0, (np.array(take), frame)) for take, frame in zip(takes, frames, strict=True)]
    results = run_native(program, calls, [stages.module.signatures])
    assert [int(y[0]) for (y,) in results] == [0, 0, 2, 1, 4, 3]


def delay_by_3(graph: SubgraphWriter, x: int) -> int:
    y = graph.tensor("delayed", "int16", [3])
    graph.operator("CUSTOM:SignalDelay", [x], [y], custom_options=bytes(flexbuffers.Dumps({"delay_length": 3})))
    return y


def frames_through(writer: ModelWriter, count: int) -> list[int]:
    """The first sample of each output for frames of 1, 2, 3 ..."""
    stages = compile_bytes(bytes(writer.finish()))
    program = build_native({"m0": stages.sources("m0")})
    calls = [Invocation(0, 0, (np.full(3, k + 1, np.int16),)) for k in range(count)]
    return [int(y[0]) for (y,) in run_native(program, calls, [stages.module.signatures])]


def test_state_of_a_function_that_is_called_twice() -> None:
    """One memory for both calls, as it is one operator: what the first put in, the second takes out."""
    writer = ModelWriter()
    main, inner = writer.subgraph("main"), writer.subgraph("inner")
    inner.inputs = [inner.tensor("x", "int16", [3])]
    inner.outputs = [delay_by_3(inner, inner.inputs[0])]
    main.inputs = [main.tensor("x", "int16", [3])]
    middle, last = main.tensor("middle", "int16", [3]), main.tensor("last", "int16", [3])
    main.operator("CALL", main.inputs, [middle], {"subgraph": 1})
    main.operator("CALL", [middle], [last], {"subgraph": 1})
    main.outputs = [last]
    assert frames_through(writer, 3) == [1, 2, 3]


def loop(writer: ModelWriter, in_condition: bool) -> None:
    """Twice around: x becomes its delayed self (in the body), or the condition delays it for nothing."""
    main, condition, body = (writer.subgraph(name) for name in ("main", "condition", "body"))
    for graph in (condition, body):
        graph.inputs = [graph.tensor("i", "int32", []), graph.tensor("x", "int16", [3])]
    go = condition.tensor("go", "bool", [])
    condition.operator("LESS", [condition.inputs[0], condition.constant("two", np.int32(2))], [go])
    condition.outputs = [go]
    more = body.tensor("more", "int32", [])
    body.operator("ADD", [body.inputs[0], body.constant("one", np.int32(1))], [more])
    body.outputs = [more, body.inputs[1] if in_condition else delay_by_3(body, body.inputs[1])]
    if in_condition:
        delay_by_3(condition, condition.inputs[1])
    main.inputs = [main.tensor("x", "int16", [3])]
    ends = [main.tensor("end", "int32", []), main.tensor("y", "int16", [3])]
    start = main.constant("zero", np.int32(0))
    main.operator("WHILE", [start, *main.inputs], ends, {"cond_subgraph_index": 1, "body_subgraph_index": 2})
    main.outputs = [ends[1]]


def test_state_in_a_loop() -> None:
    writer = ModelWriter()
    loop(writer, in_condition=False)
    assert frames_through(writer, 3) == [1, 2, 3]


def test_state_in_a_condition_is_refused() -> None:
    writer = ModelWriter()
    loop(writer, in_condition=True)
    with pytest.raises(ModelError, match="the condition 'condition' assigns a variable; move that into the body"):
        compile_bytes(bytes(writer.finish()))
