"""The texts of every problem that the importer reports, each with its place."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import pytest
from support.model_writer import ModelWriter, SubgraphWriter
from tflmgen.errors import ModelError
from tflmgen.frontend.importer import import_model
from tflmgen.frontend.tflite.reader import parse_model

Fault = Callable[[SubgraphWriter], object]
"""Writes a faulty model around its empty entry `g`."""

CASES: dict[str, tuple[Fault, str]] = {}
"""Name of a fault -> the fault, the whole message."""


def case(*expected: str) -> Callable[[Fault], Fault]:
    def register(fault: Fault) -> Fault:
        CASES[fault.__name__] = (fault, "\n".join(f"m.tflite: {text}" for text in expected))
        return fault

    return register


Kind = tuple[str, Sequence[int]]
X: Kind = ("int32", [4])


def new(g: SubgraphWriter, *kinds: Kind) -> list[int]:
    return [g.tensor(f"t{len(g.tensors) + i}", *kind) for i, kind in enumerate(kinds)]


def subgraph(g: SubgraphWriter, name: str, inputs: Sequence[Kind], outputs: Sequence[Kind]) -> int:
    """A subgraph that returns constants of the given kinds; its index."""
    s = g.model.subgraph(name)
    s.inputs = [s.tensor(f"{name}_in{i}", *kind) for i, kind in enumerate(inputs)]
    s.outputs = [s.constant(f"{name}_out{i}", np.zeros(kind[1], kind[0])) for i, kind in enumerate(outputs)]
    return s.index


def entry(g: SubgraphWriter, *kinds: Kind) -> list[int]:
    g.inputs = new(g, *kinds)
    return g.inputs


def call(g: SubgraphWriter, inputs: list[int], outputs: Sequence[Kind], target: int) -> None:
    g.outputs = new(g, *outputs)
    g.operator("CALL", inputs, g.outputs, {"subgraph": target})


def branch(g: SubgraphWriter, inputs: list[int], outputs: Sequence[Kind], then: int, orelse: int) -> None:
    g.outputs = new(g, *outputs)
    g.operator("IF", inputs, g.outputs, {"then_subgraph_index": then, "else_subgraph_index": orelse})


def loop(g: SubgraphWriter, inputs: list[int], outputs: Sequence[Kind], condition: int, body: int) -> None:
    g.outputs = new(g, *outputs)
    g.operator("WHILE", inputs, g.outputs, {"cond_subgraph_index": condition, "body_subgraph_index": body})


BOOL: Kind = ("bool", [1])


@case("subgraph 0 'main', operator 0 (RFFT2D): operator RFFT2D is not supported")
def unsupported_operator(g: SubgraphWriter) -> None:
    g.outputs = new(g, X)
    g.operator("RFFT2D", entry(g, X), g.outputs)


@case(
    "subgraph 0 'main', operator 0 (CUSTOM:Foo): custom operator 'Foo' is not supported. "
    "Add it with --plugin FILE: see docs/use/custom-operators.md"
)
def custom_operator(g: SubgraphWriter) -> None:
    g.outputs = new(g, X)
    g.operator("CUSTOM:Foo", entry(g, X), g.outputs)


@case(
    "subgraph 0 'main', operator 0 (CUSTOM:FlexErf): "
    "FlexErf is a TensorFlow operator (SELECT_TF_OPS). Convert the model with TFLITE_BUILTINS only"
)
def flex_operator(g: SubgraphWriter) -> None:
    g.outputs = new(g, X)
    g.operator("CUSTOM:FlexErf", entry(g, X), g.outputs)


@case("subgraph 0 'main', operator 0 (ADD): ADD requires 2 inputs; this one has 1")
def too_few_inputs(g: SubgraphWriter) -> None:
    g.outputs = new(g, X)
    g.operator("ADD", entry(g, X), g.outputs)


@case("subgraph 0 'main', operator 0 (PAD): PAD requires its first 2 inputs; one of them is absent")
def absent_input(g: SubgraphWriter) -> None:
    g.outputs = new(g, X)
    g.operator("PAD", [*entry(g, X), -1], g.outputs)


@case("subgraph 0 'main', operator 0 (ADD): ADD requires 1 outputs; this one has 2")
def too_many_outputs(g: SubgraphWriter) -> None:
    g.outputs = new(g, X, X)
    g.operator("ADD", entry(g, X, X), g.outputs)


@case("subgraph 0 'main', operator 0 (ADD): output 0 of ADD is declared [3], its operands make it [4]")
def wrong_output_shape(g: SubgraphWriter) -> None:
    g.outputs = new(g, ("int32", [3]))
    g.operator("ADD", entry(g, X, X), g.outputs)


@case(
    "subgraph 0 'main', operator 0 (ADD): ADD requires inputs of equal shapes, or with a 1 in each pair of "
    "unequal dimensions; this one has int32[4], int32[3] -> int32[4]"
)
def broken_rule(g: SubgraphWriter) -> None:
    g.outputs = new(g, X)
    g.operator("ADD", entry(g, X, ("int32", [3])), g.outputs)


@case(
    "subgraph 0 'main', operator 0 (CONCATENATION): CONCATENATION requires an axis within the rank of its "
    "input; this one has axis 4 and rank 1"
)
def axis_out_of_rank(g: SubgraphWriter) -> None:
    g.outputs = new(g, ("int32", [8]))
    g.operator("CONCATENATION", entry(g, X, X), g.outputs, {"axis": 4})


@case("subgraph 0 'main', operator 0 (IF): the condition of IF must be one bool, not int32[4]")
def if_condition_type(g: SubgraphWriter) -> None:
    branch(g, entry(g, X), [X], subgraph(g, "yes", [], [X]), subgraph(g, "no", [], [X]))


@case("subgraph 0 'main', operator 0 (IF): the condition of IF must be one bool, not bool[2]")
def if_condition_size(g: SubgraphWriter) -> None:
    branch(g, entry(g, ("bool", [2])), [X], subgraph(g, "yes", [], [X]), subgraph(g, "no", [], [X]))


@case("subgraph 0 'main', operator 0 (IF): the condition of IF must be one bool, not nothing")
def if_without_condition(g: SubgraphWriter) -> None:
    branch(g, [], [X], subgraph(g, "yes", [], [X]), subgraph(g, "no", [], [X]))


@case(
    "subgraph 0 'main', operator 0 (IF): then branch's input count: IF has 1 operands, 'yes' has 0",
    "subgraph 0 'main', operator 0 (IF): else branch's input count: IF has 1 operands, 'no' has 2",
)
def if_input_count(g: SubgraphWriter) -> None:
    branch(g, entry(g, BOOL, X), [X], subgraph(g, "yes", [], [X]), subgraph(g, "no", [X, X], [X]))


@case("subgraph 0 'main', operator 0 (IF): else branch's output count: IF has 1 results, 'no' has 2")
def if_output_count(g: SubgraphWriter) -> None:
    branch(g, entry(g, BOOL), [X], subgraph(g, "yes", [], [X]), subgraph(g, "no", [], [X, X]))


@case("subgraph 0 'main', operator 0 (IF): then branch's input 0 ('yes_in0'): element type int64, but int32 outside")
def if_input_type(g: SubgraphWriter) -> None:
    yes = subgraph(g, "yes", [("int64", [4])], [X])
    branch(g, entry(g, BOOL, X), [X], yes, subgraph(g, "no", [X], [X]))


@case("subgraph 0 'main', operator 0 (IF): else branch's input 0 ('no_in0'): shape [2, 2], but [4] outside")
def if_input_shape(g: SubgraphWriter) -> None:
    no = subgraph(g, "no", [("int32", [2, 2])], [X])
    branch(g, entry(g, BOOL, X), [X], subgraph(g, "yes", [X], [X]), no)


@case("subgraph 0 'main', operator 0 (IF): then branch's output 0 ('yes_out0'): element type bool, but int32 outside")
def if_output_type(g: SubgraphWriter) -> None:
    branch(g, entry(g, BOOL), [X], subgraph(g, "yes", [], [("bool", [4])]), subgraph(g, "no", [], [X]))


@case("subgraph 0 'main', operator 0 (IF): else branch's output 0 ('no_out0'): shape [3], but [4] outside")
def if_output_shape(g: SubgraphWriter) -> None:
    branch(g, entry(g, BOOL), [X], subgraph(g, "yes", [], [X]), subgraph(g, "no", [], [("int32", [3])]))


@case("subgraph 0 'main', operator 0 (IF): then branch's input 0 ('x'): quantised otherwise than outside")
def if_quantization(g: SubgraphWriter) -> None:
    condition, x = g.tensor("p", "bool", [1]), g.tensor("x", "int8", [4], [0.5], [1])
    g.inputs = [condition, x]
    y = g.tensor("y", "int8", [4], [0.5], [1])
    g.outputs = [y]
    for zero_point in (2, 1):
        s = g.model.subgraph("side")
        s.inputs = s.outputs = [s.tensor("x", "int8", [4], [0.5], [zero_point])]
    g.operator("IF", [condition, x], [y], {"then_subgraph_index": 1, "else_subgraph_index": 2})


@case("subgraph 0 'main', operator 0 (IF): IF requires options that name its subgraphs")
def if_without_options(g: SubgraphWriter) -> None:
    g.outputs = new(g, X)
    g.operator("IF", entry(g, BOOL), g.outputs, None)


@case("subgraph 0 'main', operator 0 (WHILE): WHILE has 1 operands and 2 results; each variable needs both")
def while_results(g: SubgraphWriter) -> None:
    condition, body = subgraph(g, "again", [X], [BOOL]), subgraph(g, "body", [X], [X])
    loop(g, entry(g, X), [X, X], condition, body)


@case("subgraph 0 'main', operator 0 (WHILE): body's output count: WHILE has 1 operands, 'body' has 2")
def while_body_count(g: SubgraphWriter) -> None:
    condition, body = subgraph(g, "again", [X], [BOOL]), subgraph(g, "body", [X], [X, X])
    loop(g, entry(g, X), [X], condition, body)


@case(
    "subgraph 0 'main', operator 0 (WHILE): condition's input 0 ('again_in0'): shape [3], but [4] outside",
    "subgraph 0 'main', operator 0 (WHILE): body's input 0 ('body_in0'): element type bool, but int32 outside",
)
def while_inputs(g: SubgraphWriter) -> None:
    condition, body = subgraph(g, "again", [("int32", [3])], [BOOL]), subgraph(g, "body", [("bool", [4])], [X])
    loop(g, entry(g, X), [X], condition, body)


@case("subgraph 0 'main', operator 0 (WHILE): the condition of WHILE must return one bool; 'again' returns int32[4]")
def while_condition_type(g: SubgraphWriter) -> None:
    loop(g, entry(g, X), [X], subgraph(g, "again", [X], [X]), subgraph(g, "body", [X], [X]))


@case("subgraph 0 'main', operator 0 (WHILE): the condition of WHILE must return one bool; 'again' returns nothing")
def while_condition_nothing(g: SubgraphWriter) -> None:
    loop(g, entry(g, X), [X], subgraph(g, "again", [X], []), subgraph(g, "body", [X], [X]))


@case("subgraph 0 'main', operator 0 (WHILE): body's output 0 ('body_out0'): shape [2, 2], but [4] outside")
def while_body_shape(g: SubgraphWriter) -> None:
    loop(g, entry(g, X), [X], subgraph(g, "again", [X], [BOOL]), subgraph(g, "body", [X], [("int32", [2, 2])]))


@case("subgraph 0 'main', operator 0 (CALL): input of count: CALL has 1 operands, 'f' has 2")
def call_input_count(g: SubgraphWriter) -> None:
    call(g, entry(g, X), [X], subgraph(g, "f", [X, X], [X]))


@case("subgraph 0 'main', operator 0 (CALL): output of 0 ('f_out0'): element type bool, but int32 outside")
def call_output_type(g: SubgraphWriter) -> None:
    call(g, entry(g, X), [X], subgraph(g, "f", [X], [("bool", [4])]))


@case("subgraph 0 'main': calls itself: 'main' -> 'f' -> 'main'. Recursion cannot be compiled; write it as a While")
def recursion(g: SubgraphWriter) -> None:
    f = g.model.subgraph("f")
    call(g, entry(g, X), [X], f.index)
    f.inputs = new(f, X)
    call(f, f.inputs, [X], g.index)


@case("subgraph 1 'f': calls itself: 'f' -> 'f'. Recursion cannot be compiled; write it as a While")
def self_recursion(g: SubgraphWriter) -> None:
    f = g.model.subgraph("f")
    call(g, entry(g, X), [X], f.index)
    f.inputs = new(f, X)
    branch(f, [f.constant("p", np.array([True])), *f.inputs], [X], f.index, f.index)


@case(
    "subgraph 0 'main', operator 0 (RFFT2D): operator RFFT2D is not supported",
    "subgraph 1 'f', operator 0 (RFFT2D): operator RFFT2D is not supported",
    "subgraph 0 'main', operator 2 (ADD): output 0 of ADD is declared [3], its operands make it [4]",
)
def several(g: SubgraphWriter) -> None:
    """All problems of a model come in one run, also those behind a faulty operator and in other subgraphs."""
    x = entry(g, X)
    y, z, total = new(g, X, X, ("int32", [3]))
    g.operator("RFFT2D", x, [y])
    g.operator("CALL", [y], [z], {"subgraph": 1})
    g.operator("ADD", [z, y], [total])
    g.outputs = [total]
    f = g.model.subgraph("f")
    f.inputs = new(f, X)
    f.outputs = new(f, X)
    f.operator("RFFT2D", f.inputs, f.outputs)


def handle(g: SubgraphWriter, name: str = "v") -> int:
    index = g.tensor("handle", "resource", [])
    g.operator("VAR_HANDLE", [], [index], {"container": "", "shared_name": name})
    return index


def initialized(g: SubgraphWriter, values: np.ndarray[tuple[int, ...], np.dtype[np.int32]]) -> None:
    """Gives variable 'v' its first contents."""
    s = g.model.subgraph("initialize")
    s.operator("ASSIGN_VARIABLE", [handle(s), s.constant("values", values)], [])
    g.operator("CALL_ONCE", [], [], {"init_subgraph_index": s.index})


@case(
    "subgraph 0 'main', operator 1 (READ_VARIABLE): reads variable 'v' before anything initialises or assigns it. "
    "Convert the model with its variables initialised, or frozen"
)
def uninitialized(g: SubgraphWriter) -> None:
    g.outputs = new(g, X)
    g.operator("READ_VARIABLE", [handle(g)], g.outputs)


@case("subgraph 0 'main', operator 3 (ASSIGN_VARIABLE): variable 'v' holds int32[4], but is assigned int32[3]")
def assigned_other_shape(g: SubgraphWriter) -> None:
    g.outputs = new(g, X)
    initialized(g, np.zeros(4, np.int32))
    v = handle(g)
    g.operator("READ_VARIABLE", [v], g.outputs)
    g.operator("ASSIGN_VARIABLE", [v, *entry(g, ("int32", [3]))], [])


@case(
    "subgraph 1 'initialize', operator 1 (ASSIGN_VARIABLE): variable 'v' holds int32[4], "
    "but is initialised with int32[3]"
)
def initialized_other_shape(g: SubgraphWriter) -> None:
    g.outputs = new(g, X)
    initialized(g, np.zeros(3, np.int32))
    g.operator("READ_VARIABLE", [handle(g)], g.outputs)


@case(
    "subgraph 1 'initialize', operator 2 (ADD): an initialisation (CALL_ONCE) may only assign constants "
    "to variables. Initialise the variable with a constant value"
)
def initialized_by_computation(g: SubgraphWriter) -> None:
    initialized(g, np.zeros(4, np.int32))
    s = g.model.subgraphs[1]
    s.operators[1]["inputs"][1] = s.tensor("computed", "int32", [4])
    ones = s.constant("one", np.ones(4, np.int32))
    s.operator("ADD", [ones, ones], s.operators[1]["inputs"][1:])


@case("subgraph 0 'main', operator 1 (READ_VARIABLE): READ_VARIABLE requires 1 inputs and 1 outputs")
def read_without_output(g: SubgraphWriter) -> None:
    g.operator("READ_VARIABLE", [handle(g)], [])


@case("subgraph 0 'main', operator 0 (VAR_HANDLE): VAR_HANDLE requires 0 inputs and 1 outputs")
def handle_without_output(g: SubgraphWriter) -> None:
    g.operator("VAR_HANDLE", [], [])


@case("subgraph 0 'main', operator 1 (ASSIGN_VARIABLE): ASSIGN_VARIABLE requires 2 inputs and 0 outputs")
def assign_of_absent_value(g: SubgraphWriter) -> None:
    g.operator("ASSIGN_VARIABLE", [handle(g), -1], [])


@case("subgraph 0 'main', tensor 0 'handle': a resource cannot be a model's input or output")
def resource_output(g: SubgraphWriter) -> None:
    g.outputs = [handle(g)]


@case(
    "subgraph 0 'main', tensor 1 'r': it is a resource, the handle of a variable, which has no contents; "
    "here it has 16 bytes"
)
def resource_constant(g: SubgraphWriter) -> None:
    (y,) = new(g, X)
    g.operator("ADD", [g.constant("r", np.zeros(4, np.int32), dtype=13), *entry(g, X)], [y])
    g.outputs = [y]


@case("subgraph 0 'main', operator 0 (CALL): CALL requires all operands; operand 0 is absent")
def absent_operand(g: SubgraphWriter) -> None:
    call(g, [-1], [X], subgraph(g, "f", [X], [X]))


@case(
    "subgraph 0 'main', operator 0 (READ_VARIABLE): the first input of READ_VARIABLE must be the handle of a variable"
)
def no_handle(g: SubgraphWriter) -> None:
    g.outputs = new(g, X)
    g.operator("READ_VARIABLE", entry(g, X), g.outputs)


@case("subgraph 0 'main', operator 0 (WHILE): the condition 'again' assigns a variable; move that into the body")
def condition_assigns(g: SubgraphWriter) -> None:
    condition, body = subgraph(g, "again", [X], [BOOL]), subgraph(g, "body", [X], [X])
    loop(g, entry(g, X), [X], condition, body)
    initialized(g, np.zeros(4, np.int32))
    graph = g.model.subgraphs[condition]
    graph.operator("ASSIGN_VARIABLE", [handle(graph), *graph.inputs], [])


@pytest.mark.parametrize("name", CASES)
def test_message(name: str) -> None:
    fault, expected = CASES[name]
    writer = ModelWriter()
    fault(writer.subgraph("main"))
    with pytest.raises(ModelError) as caught:
        import_model(parse_model(writer.finish(), "m.tflite"))
    assert str(caught.value) == expected
