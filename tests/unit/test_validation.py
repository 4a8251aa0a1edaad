"""Validation finds wrong graphs: branches exchanged, activations dropped, constants folded wrongly, and more."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support.model_writer import ModelWriter
from support.repository import ROOT
from tflmgen.compiler import compile_model
from tflmgen.errors import InternalError
from tflmgen.frontend import import_model
from tflmgen.frontend.tflite import Model
from tflmgen.frontend.tflite.reader import parse_model
from tflmgen.ir.graph import Block, If, Module, Node, Op, While, uses_in
from tflmgen.ir.kernel import Target
from tflmgen.ir.rewrite import Ids, Rewriter
from tflmgen.kernels.operators.dynamic_rows import Cut
from tflmgen.kernels.operators.signal_frames import SignalOverlapAdd
from tflmgen.options import BuildOptions, Validate
from tflmgen.passes import claims_of_ranges, run_passes
from tflmgen.reference import Budget, Claims, Interpreter, WorkError
from tflmgen.reference import validation_cache as cache
from tflmgen.reference.attribute_options import options_of_attributes
from tflmgen.reference.first_difference import are_equal, is_scatter
from tflmgen.reference.validation import validate
from tflmgen.reference.validation_result import Effort, Validation

EFFORT = Effort(12, 20.0)
Edit = Callable[[Node], Node]


def layers() -> Model:
    """int8: an If on a comparison of one element, a convolution with RELU, and a loop that adds."""
    writer = ModelWriter()
    main, then, orelse = (writer.subgraph(name) for name in ("main", "then", "orelse"))
    quantized: dict[str, Any] = {"scale": [0.1], "zero_point": [3]}
    for branch, name in ((then, "ADD"), (orelse, "SUB")):
        x = branch.tensor("x", "int8", [1, 4, 4, 2], **quantized)
        weights = branch.constant("w", np.arange(-16, 16).reshape(1, 4, 4, 2), "int8", scale=[0.02], zero_point=[0])
        out = branch.tensor(f"{name} of x", "int8", [1, 4, 4, 2], **quantized)
        branch.operator(name, [x, weights], [out], {"fused_activation_function": 0})
        branch.inputs, branch.outputs = [x], [out]
    image = main.tensor("image", "int8", [1, 4, 4, 2], **quantized)
    level = main.tensor("level", "int32", [1])
    flag, chosen = main.tensor("flag", "bool", [1]), main.tensor("chosen", "int8", [1, 4, 4, 2], **quantized)
    main.operator("GREATER", [level, main.constant("limit", [700], "int32")], [flag])
    main.operator("IF", [flag, image], [chosen], {"then_subgraph_index": 1, "else_subgraph_index": 2})
    rng = np.random.default_rng(0)
    filters = main.constant("f", rng.integers(-127, 128, (3, 1, 1, 2)), "int8", scale=[0.01], zero_point=[0])
    bias = main.constant("b", [100, -200, 300], "int32", scale=[0.001], zero_point=[0])
    out = main.tensor("out", "int8", [1, 4, 4, 3], scale=[0.05], zero_point=[-10])
    options = {"padding": 1, "stride_w": 1, "stride_h": 1, "fused_activation_function": 1}
    main.operator("CONV_2D", [chosen, filters, bias], [out], options)
    main.inputs, main.outputs = [image, level], [out]
    return parse_model(bytes(writer.finish()), "layers.tflite")


def checked(model: Model, module: Module) -> Validation:
    return validate(model, module, EFFORT, claims_of_ranges(module))


def edited(module: Module, edit: Edit) -> Module:
    """The module with every node replaced by what `edit` makes of it."""

    def block(old: Block) -> Block:
        return replace(old, nodes=tuple(edit(node(node_before)) for node_before in old.nodes))

    def node(old: Node) -> Node:
        if isinstance(old, If):
            return replace(old, then=block(old.then), orelse=block(old.orelse))
        if isinstance(old, While):
            return replace(old, condition=block(old.condition), body=block(old.body))
        return old

    return replace(module, functions=tuple(replace(f, body=block(f.body)) for f in module.functions))


def exchanged(node: Node) -> Node:
    return replace(node, then=node.orelse, orelse=node.then) if isinstance(node, If) else node


def frozen(node: Node) -> Node:
    """Loops whose variables do not change: one that has begun does not end."""
    return replace(node, body=replace(node.body, results=node.variables)) if isinstance(node, While) else node


def without_stride(node: Node) -> Node:
    """What divides by zero."""
    if not isinstance(node, Op) or node.operator != "CONV_2D":
        return node
    return replace(node, attributes=replace(node.attributes, steps=replace(node.attributes.steps, stride_height=0)))


def without_activation(node: Node) -> Node:
    if not isinstance(node, Op) or not hasattr(node.attributes, "activation"):
        return node
    none = type(node.attributes.activation)(0)
    return replace(node, attributes=replace(node.attributes, activation=none))


def operands_exchanged(node: Node) -> Node:
    is_difference = isinstance(node, Op) and node.operator == "SUB"
    return replace(node, operator="ADD") if isinstance(node, Op) and is_difference else node


def wrong_shape(node: Node) -> Node:
    if not isinstance(node, Op) or node.operator != "CONV_2D":
        return node
    return replace(node, attributes=replace(node.attributes, steps=replace(node.attributes.steps, stride_height=2)))


def test_a_right_graph_is_equal_and_both_branches_are_reached() -> None:
    model = layers()
    result = checked(model, run_passes(import_model(model)))
    assert result.equal == result.sets >= EFFORT.sets
    assert result.branches == (2, 2)
    assert result.is_complete


@pytest.mark.parametrize("edit", [exchanged, without_activation, operands_exchanged, wrong_shape])
def test_a_wrong_graph_is_found(edit: Edit) -> None:
    model = layers()
    module = run_passes(import_model(model))
    wrong = edited(module, edit)
    assert wrong.functions != module.functions
    with pytest.raises(InternalError, match="validation: input set"):
        checked(model, wrong)


@pytest.mark.parametrize("key", range(4))
def test_a_constant_that_is_folded_wrongly_is_found(key: int) -> None:
    model = layers()
    module = run_passes(import_model(model))
    used = {v.constant for f in module.functions for v in uses_in(f.body) if v.constant and v.type.elements > 1}
    name = sorted(used)[key % len(used)]
    data = bytearray(module.constants[name])
    data[0] ^= 0x40
    with pytest.raises(InternalError, match="validation: input set"):
        checked(model, with_constant(module, name, bytes(data)))


def with_constant(module: Module, key: str, data: bytes) -> Module:
    """The graph with other bytes instead of a constant, under a name that says nothing of them."""
    rewriter = Rewriter()
    for value in {v for f in module.functions for v in uses_in(f.body) if v.constant == key}:
        rewriter.mapping[value] = replace(value, id=Ids(module).take(), constant="other")
    return replace(rewriter.run(module), constants={**module.constants, "other": data})


@pytest.mark.parametrize("key", range(4))
def test_a_constant_that_is_not_what_its_name_says_is_found(key: int) -> None:
    """Whatever it does: the least bit of one element differs."""
    model = layers()
    module = run_passes(import_model(model))
    name = sorted(key for key in module.constants if module.constants[key])[key]
    data = bytearray(module.constants[name])
    data[-1] ^= 1
    with pytest.raises(InternalError, match=r"validation: (the constant of subgraph \d, tensor \d|constant folded\.)"):
        checked(model, replace(module, constants={**module.constants, name: bytes(data)}))


def test_an_element_that_may_overflow_excuses_no_other() -> None:
    want = np.array([1.0, np.inf, 2.0], np.float32)
    runs = [np.array([1.0, value, 2.000001], np.float32) for value in (np.inf, np.nan, 3e38)]
    assert is_scatter(np.array([1.0, 5.0, 2.0], np.float32), want, runs)
    assert not is_scatter(np.array([1.0, np.inf, 2.1], np.float32), want, runs)
    assert not is_scatter(np.array([np.inf, np.inf, 2.0], np.float32), want, runs)


def test_padding_of_the_least_float_hides_no_difference() -> None:
    want = np.array([1.0, np.finfo(np.float32).min], np.float32)
    assert are_equal(want, want)
    assert not are_equal(np.array([1.1, want[1]], np.float32), want)


def test_the_first_tensor_that_differs_is_named() -> None:
    model = layers()
    wrong = edited(import_model(model), operands_exchanged)
    with pytest.raises(InternalError, match=r"subgraph 2, tensor 2 'SUB of x'.* elements differ; element \d+ is"):
        checked(model, wrong)


def test_a_range_that_is_left_is_found() -> None:
    model = layers()
    module = import_model(model)
    ranges = {v.id: (np.array([5]), np.array([6])) for f in module.functions for n in f.body.nodes for v in n.outputs}
    with pytest.raises(InternalError, match="leaves the range"):
        validate(model, module, EFFORT, Claims(ranges))


def claimed(module: Module, place: str) -> Claims:
    """A claim that the runs of `endless` break, though not at its end."""
    (loop,) = (node for node in module.functions[0].body.nodes if isinstance(node, While))
    zero = (np.array([0]), np.array([0]))
    if place == "variable":
        return Claims({loop.variables[0].id: zero})
    if place == "operand":
        return Claims(operands={op.id: (zero, None) for op in loop.condition.nodes})
    if place == "argument":
        return Claims({module.functions[0].inputs[0].id: zero})
    return Claims(never=frozenset({loop.id}))


@pytest.mark.parametrize("place", ["variable", "operand", "argument", "turn"])
def test_claims_are_asserted_wherever_a_value_comes_from(place: str) -> None:
    model = endless()
    module = import_model(model)
    expected = "never does" if place == "turn" else "leaves the range"
    with pytest.raises(InternalError, match=expected):
        validate(model, module, Effort(12, 1.0), claimed(module, place))


def test_an_operator_that_is_not_evaluated_is_named() -> None:
    writer = ModelWriter()
    graph = writer.subgraph("main")
    x, y = graph.tensor("x", "float32", [2]), graph.tensor("y", "float32", [2])
    graph.operator("ABS", [x], [y])
    graph.inputs, graph.outputs = [x], [y]
    model = parse_model(bytes(writer.finish()), "custom.tflite")
    (subgraph,) = model.subgraphs
    custom = replace(subgraph.operators[0], name="CUSTOM:Foo")
    other = replace(model, subgraphs=(replace(subgraph, operators=(custom,)),))
    result = checked(other, import_model(model))
    assert (result.equal, result.text) == (0, "not validated: CUSTOM:Foo is not evaluated")


def test_a_budget_that_is_over_is_told() -> None:
    model = layers()
    result = validate(model, import_model(model), Effort(12, 0.0), Claims())
    assert result.over_budget
    assert result.text.startswith("0 of 12 input sets equal, budget")


def endless() -> Model:
    """A loop of as many iterations as the input says."""
    writer = ModelWriter()
    main, test, body = (writer.subgraph(name) for name in ("main", "test", "body"))
    n, out = main.tensor("n", "int32", []), main.tensor("out", "int32", [])
    main.operator("WHILE", [n], [out], {"cond_subgraph_index": 1, "body_subgraph_index": 2})
    main.inputs, main.outputs = [n], [out]
    i, flag = test.tensor("i", "int32", []), test.tensor("flag", "bool", [])
    test.operator("GREATER", [i, test.constant("zero", 0, "int32")], [flag])
    test.inputs, test.outputs = [i], [flag]
    i, less = body.tensor("i", "int32", []), body.tensor("less", "int32", [])
    body.operator("SUB", [i, body.constant("one", 1, "int32")], [less], {"fused_activation_function": 0})
    body.inputs, body.outputs = [i], [less]
    return parse_model(bytes(writer.finish()), "endless.tflite")


def test_a_graph_that_does_not_end_is_found() -> None:
    """Only the graph: a file that runs long is cut."""
    model = endless()
    wrong = edited(import_model(model), frozen)
    with pytest.raises(InternalError, match="a loop may not end"):
        validate(model, wrong, Effort(12, 1.0), Claims())


def test_a_graph_that_cannot_be_evaluated_is_found() -> None:
    model = layers()
    with pytest.raises(InternalError, match="the graph cannot be evaluated"):
        validate(model, edited(import_model(model), without_stride), EFFORT, Claims())


class Clock:
    """A machine on which the clock goes on so many seconds with each look at it."""

    def __init__(self, seconds: float) -> None:
        self.seconds, self.now = seconds, 0.0

    def process_time(self) -> float:
        self.now += self.seconds
        return self.now


@pytest.mark.parametrize(("make", "seconds"), [(layers, 0.004), (endless, 0.05)])
def test_how_much_is_validated_does_not_depend_on_the_machine(
    make: Callable[[], Model], seconds: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where the budget ends in the middle of the sets, and where it cuts a loop."""
    model = make()
    module = import_model(model)
    validations = []
    for pace in (0.0, 1e-6, seconds / 1000):
        clock = Clock(pace)
        monkeypatch.setattr("time.process_time", clock.process_time)
        validations.append(validate(model, module, Effort(12, seconds), Claims()))
    assert validations[0].over_budget or validations[0].cut
    assert 0 < validations[0].equal < 12
    assert validations == [validations[0]] * 3


def test_two_builds_prove_the_same_on_machines_of_any_speed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    proofs = []
    monkeypatch.setattr(cache, "EFFORTS", {"quick": Effort(12, 0.004)})
    for number, pace in enumerate((0.0, 1e-5)):
        monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / str(number)))
        with monkeypatch.context() as patch:
            patch.setattr("time.process_time", Clock(pace).process_time)
            model = ROOT / "examples" / "gate.tflite"
            proofs.append(compile_model(model, Target("host"), BuildOptions()).plan["proof"])
    assert proofs[0] == proofs[1]
    assert proofs[0][0]["over_budget"]
    assert proofs[0][0]["text"].startswith(f"{proofs[0][0]['equal']} of 12 input sets equal, ")


def test_a_clock_that_ends_the_validation_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    model = layers()
    monkeypatch.setattr("time.process_time", Clock(1.0).process_time)
    result = validate(model, import_model(model), Effort(12, 1.0), Claims())
    assert result.out_of_time
    assert not result.over_budget
    assert not result.is_complete
    assert "ended by the clock" in result.text


def test_work_follows_shapes_and_iterations() -> None:
    """An estimate grows with what an operator multiplies, and with the turns of a loop."""
    model = endless()
    spent = []
    for turns in (1, 10, 100):
        budget = Budget(1e9)
        Interpreter(model, budget=budget).invoke(None, [np.array(turns, np.int32)])
        spent.append(1e9 - budget.nanoseconds)
    assert spent[2] - spent[1] == pytest.approx(10 * (spent[1] - spent[0]), rel=1e-6)
    whole = Budget(1000.0)
    with pytest.raises(WorkError):
        whole.share(4).spend(300.0)
    assert whole.nanoseconds == 700


def test_a_build_validates_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    runs: list[Validation] = []

    def counted(*arguments: Any) -> Validation:
        runs.append(validate(*arguments))
        return runs[-1]

    monkeypatch.setattr(cache, "validate", counted)
    plans = [compile_model(ROOT / "examples" / "gate.tflite", Target("host"), BuildOptions()).plan for _ in range(2)]
    assert plans[0]["proof"] == plans[1]["proof"]
    assert plans[0]["proof"][0]["equal"] >= 12
    assert len(runs) == 1
    off = compile_model(ROOT / "examples" / "gate.tflite", Target("host"), BuildOptions(validate=Validate.OFF)).plan
    assert off["proof"] == []


def on_edge(threshold: float) -> tuple[Model, Module]:
    """A third of the input is compared with a number; in the graph the third is one unit in the last place larger."""
    writer = ModelWriter()
    main, then, orelse = (writer.subgraph(name) for name in ("main", "then", "orelse"))
    none = {"fused_activation_function": 0}
    for branch, factor in ((then, 2.0), (orelse, -2.0)):
        x, out = branch.tensor("x", "float32", [1]), branch.tensor(f"times {factor}", "float32", [1])
        branch.operator("MUL", [x, branch.constant("f", [factor], "float32")], [out], none)
        branch.inputs, branch.outputs = [x], [out]
    x = main.tensor("x", "float32", [1])
    scaled, flag = main.tensor("scaled", "float32", [1]), main.tensor("flag", "bool", [1])
    out = main.tensor("out", "float32", [1])
    main.operator("MUL", [x, main.constant("third", [1 / 3], "float32")], [scaled], none)
    main.operator("GREATER", [scaled, main.constant("limit", [threshold], "float32")], [flag])
    main.operator("IF", [flag, scaled], [out], {"then_subgraph_index": 1, "else_subgraph_index": 2})
    main.inputs, main.outputs = [x], [out]
    model = parse_model(bytes(writer.finish()), "edge.tflite")
    module = import_model(model)
    third = np.array([1 / 3], np.float32)
    product = next(n for n in module.functions[0].body.nodes if isinstance(n, Op) and n.operator == "MUL")
    key = next(v.constant for v in product.inputs if v is not None and v.constant)
    nudged = np.nextafter(third, np.float32(1)).tobytes()
    return model, with_constant(module, key, nudged)


def test_what_rounding_decides_is_no_error() -> None:
    """The set of ones is exactly on the edge: one unit in the last place takes the other branch."""
    model, module = on_edge(float(np.float32(1 / 3)))
    third = np.nextafter(np.float32(1 / 3), np.float32(1)).tobytes()
    assert third in module.constants.values()
    result = checked(model, module)
    assert result.undecided >= 1
    assert "undecided" in result.text


def test_what_rounding_does_not_decide_is_an_error() -> None:
    model, module = on_edge(0.5)
    with pytest.raises(InternalError, match="validation"):
        checked(model, edited(module, exchanged))


def test_a_name_that_attributes_of_several_operators_have_means_the_same_in_each() -> None:
    """`step` is that of a cut through dynamic rows and of a stream's frames; each is read under its own name."""
    cut = Cut(axis=0, from_first=False, to_last=False, step=3, exact=False, sized=False)
    assert options_of_attributes(cut)["step"] == 3
    assert options_of_attributes(SignalOverlapAdd().attributes({"frame_step": 5}))["frame_step"] == 5
