"""Webs: which tensors of a whole program are one value."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
from support.lstm_models import LstmStyle, lstm_loop
from tflmgen.frontend import row_stores
from tflmgen.frontend.tflite import Model, ModelBuilder, SubGraphBuilder
from tflmgen.ir import DType
from tflmgen.quantize.web_constraints import find_webs, result_key

SHAPE = (1, 4)


def graph_with(builder: ModelBuilder, name: str, inputs: int) -> tuple[SubGraphBuilder, list[int]]:
    graph = builder.subgraph(name)
    graph.inputs = [graph.tensor(f"{name}_{i}", DType.FLOAT32, SHAPE) for i in range(inputs)]
    return graph, list(graph.inputs)


def branch_model(then_result: Callable[[SubGraphBuilder, list[int]], int]) -> Model:
    """y = If(c, then(a, b), b + b)."""
    builder = ModelBuilder()
    main, (a, b) = graph_with(builder, "main", 2)
    condition = main.tensor("c", DType.BOOL, ())
    main.inputs = [condition, a, b]
    then, operands = graph_with(builder, "then", 2)
    then.outputs = [then_result(then, operands)]
    other, operands = graph_with(builder, "else", 2)
    other.outputs = [other.tensor("sum", DType.FLOAT32, SHAPE)]
    other.operator("ADD", [operands[1], operands[1]], other.outputs)
    main.outputs = [main.tensor("y", DType.FLOAT32, SHAPE)]
    main.operator("IF", [condition, a, b], main.outputs, {"then_subgraph_index": 1, "else_subgraph_index": 2})
    return builder.model()


def loop_model(body_results: Callable[[list[int]], list[int]]) -> Model:
    """y, z = While(true, (a, b), (a, b) -> body_results(a, b))."""
    builder = ModelBuilder()
    main, operands = graph_with(builder, "main", 2)
    condition, _ = graph_with(builder, "cond", 2)
    condition.outputs = [condition.constant("true", np.array(True))]
    body, variables = graph_with(builder, "body", 2)
    body.outputs = body_results(variables)
    main.outputs = [main.tensor(name, DType.FLOAT32, SHAPE) for name in "yz"]
    main.operator("WHILE", operands, main.outputs, {"cond_subgraph_index": 1, "body_subgraph_index": 2})
    return builder.model()


def doubled(graph: SubGraphBuilder, operands: list[int]) -> int:
    result = graph.tensor("doubled", DType.FLOAT32, SHAPE)
    graph.operator("ADD", [operands[0], operands[0]], [result])
    return result


def test_an_operand_is_one_with_both_branches_inputs() -> None:
    webs = find_webs(branch_model(doubled))
    assert len({webs.root(key) for key in ((0, 0), (1, 0), (2, 0))}) == 1
    assert webs.root((0, 0)) != webs.root((0, 1))


def test_a_result_is_one_with_both_branches_outputs() -> None:
    model = branch_model(doubled)
    webs = find_webs(model)
    outputs = {(0, model.subgraphs[0].outputs[0]), (1, 2), (2, 2), result_key(1, 0), result_key(2, 0)}
    assert len({webs.root(key) for key in outputs}) == 1
    assert webs.called == {1, 2}


def test_a_branch_that_passes_an_operand_through_joins_it_with_the_result() -> None:
    webs = find_webs(branch_model(lambda _, operands: operands[1]))
    assert webs.root((0, 1)) == webs.root((0, 3)) != webs.root((0, 0))


def test_a_constant_result_belongs_to_the_web_without_being_in_it() -> None:
    model = branch_model(lambda graph, _: graph.constant("half", np.full(SHAPE, 0.5, np.float32)))
    webs = find_webs(model)
    constant = (1, model.subgraphs[1].outputs[0])
    assert [(webs.root(target), key) for target, key in webs.constants] == [(webs.root((0, 3)), constant)]
    assert webs.root(constant) != webs.root((0, 3))


def test_a_loop_variable_is_one_web() -> None:
    webs = find_webs(loop_model(lambda variables: variables))
    for place, result in ((0, 2), (1, 3)):
        assert len({webs.root(key) for key in ((0, place), (1, place), (2, place), (0, result))}) == 1
    assert webs.root((0, 0)) != webs.root((0, 1))


def test_variables_that_change_places_are_one_web() -> None:
    webs = find_webs(loop_model(lambda variables: variables[::-1]))
    assert len({webs.root((0, tensor)) for tensor in range(4)}) == 1


def test_a_tensor_that_becomes_both_variables_does_not_join_them() -> None:
    webs = find_webs(loop_model(lambda variables: [variables[0], variables[0]]))
    assert webs.root((2, 0)) != webs.root((2, 1))


def test_a_constant_operand_has_one_type_in_condition_and_body() -> None:
    model = loop_model(lambda variables: variables)
    main = model.subgraphs[0]
    zeros = replace(main.tensors[0], data=np.zeros(SHAPE, np.float32).tobytes(), buffer=1)
    main = replace(main, tensors=(zeros, *main.tensors[1:]), inputs=(1,))
    webs = find_webs(replace(model, subgraphs=(main, *model.subgraphs[1:])))
    assert webs.root((1, 0)) == webs.root((2, 0)) != webs.root((0, 0))


def test_reads_and_assignments_of_one_variable_are_one_web() -> None:
    builder = ModelBuilder()
    main, (x,) = graph_with(builder, "main", 1)
    handle, read = main.tensor("handle", None, ()), main.tensor("read", DType.FLOAT32, SHAPE)
    main.operator("VAR_HANDLE", [], [handle], {"shared_name": "state"})
    main.operator("READ_VARIABLE", [handle], [read])
    total = main.tensor("total", DType.FLOAT32, SHAPE)
    main.operator("ADD", [read, x], [total])
    main.operator("ASSIGN_VARIABLE", [handle, total], [])
    main.outputs = [read]
    webs = find_webs(builder.model())
    assert webs.root((0, read)) == webs.root((0, total)) != webs.root((0, x))


def test_a_list_and_the_rows_stored_in_it_are_one() -> None:
    """Also where a search for types wants only some of them wider: the store must stay one of a row."""
    model = lstm_loop(LstmStyle(result="all"))
    (body,) = (graph for graph in model.subgraphs if row_stores(graph))
    ((index, store),) = row_stores(body).items()
    webs = find_webs(model)
    tensors = [store.list, *body.operators[index].inputs, *body.operators[index].outputs]
    assert len({webs.root((body.index, tensor)) for tensor in tensors}) == 1
