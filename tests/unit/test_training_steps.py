"""Training steps: optimizers by Keras' formulas, accumulation and clipping, weights that train, what is refused."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from support.trained_model import TrainedReference, check_gradients, dense_model, gradients, trained_reference
from tflmgen.errors import ModelError, UsageError
from tflmgen.frontend.model_graph import CONTROL_FLOW
from tflmgen.frontend.tflite import BUILTIN_OPERATORS, Model, ModelBuilder
from tflmgen.gradients import derive_training_model, parse_training_options
from tflmgen.gradients.gradient_rules import RULES, WITHOUT_RULE, ZERO
from tflmgen.gradients.training_model import TrainingOptions
from tflmgen.gradients.update_step import StepOptions
from tflmgen.ir import DType
from tflmgen.kernels import OPERATORS
from tflmgen.options import Loss, OptimizerName, TrainOptions
from tflmgen.reference import RunTimeError

Array = NDArray[np.float64]
STEPS = 50
RATE = 0.05


def samples(count: int) -> Iterator[tuple[Array, Array]]:
    """Inputs and targets of mean squared errors."""
    rng = np.random.default_rng(1)
    return ((rng.standard_normal((2, 3)), rng.standard_normal((2, 4))) for _ in range(count))


def single(number: float) -> float:
    """A number as Keras casts it to the type of the weights."""
    return float(np.float32(number))


class KerasStep:
    """One weight's update by Keras 3's formulas (keras/src/optimizers), in float64 with numbers of float32."""

    def __init__(self, optimizer: OptimizerName, weight: Array) -> None:
        self.optimizer, self.weight, self.step = optimizer, weight, 0
        self.slots = [np.zeros_like(weight), np.zeros_like(weight)]

    def update(self, gradient: Array) -> None:
        """Changes the weight."""
        self.step += 1
        m, v = self.slots
        rate, kept, rest, beta, fuzz = map(single, (RATE, 0.9, 1 - 0.9, 0.999, 1e-7))
        match self.optimizer.value:
            case "sgd":
                self.weight = self.weight - rate * gradient
            case "momentum" | "nesterov":
                m = kept * m - rate * gradient
                is_plain = self.optimizer is OptimizerName.MOMENTUM
                self.weight = self.weight + (m if is_plain else kept * m - rate * gradient)
            case "rmsprop":
                v = kept * v + rest * gradient**2
                self.weight = self.weight - rate * gradient / np.sqrt(v + fuzz)
            case _:
                if self.optimizer is OptimizerName.ADAMW:
                    self.weight = self.weight - self.weight * (single(0.004) * rate)
                m, v = m + rest * (gradient - m), v + single(1 - 0.999) * (gradient**2 - v)
                alpha = rate * np.sqrt(1 - beta**self.step) / (1 - kept**self.step)
                self.weight = self.weight - alpha * m / (np.sqrt(v) + fuzz)
        self.slots = [m, v]


def clip(parts: dict[str, Array], each: float | None, together: float | None) -> dict[str, Array]:
    """Gradients scaled to norms that they exceed."""
    if each is not None:
        parts = {name: g * each / max(float(np.linalg.norm(g)), each) for name, g in parts.items()}
    if together is not None:
        norm = float(np.sqrt(sum((g**2).sum() for g in parts.values())))
        parts = {name: g * together / max(norm, together) for name, g in parts.items()}
    return parts


CASES: list[dict[str, Any]] = [{}, {"accumulate": 4}, {"clip": 0.3}, {"global_clip": 0.2, "l2": 0.01}]


@pytest.mark.parametrize("case", CASES, ids=lambda case: "-".join(case) or "plain")
@pytest.mark.parametrize("optimizer", OptimizerName)
def test_fifty_steps(optimizer: OptimizerName, case: dict[str, Any]) -> None:
    plain = trained_reference(dense_model(1), Loss.MSE)
    reference = trained_reference(dense_model(1), Loss.MSE, optimizer=optimizer, rate=RATE, **case)
    steps = {name: KerasStep(optimizer, weight) for name, weight in reference.weights.items()}
    sums = {name: np.zeros_like(step.weight) for name, step in steps.items()}
    count = case.get("accumulate", 1)
    for number, inputs in enumerate(samples(STEPS), start=1):
        plain.weights_become({name: step.weight for name, step in steps.items()})
        before = plain.weights
        plain.run("train", inputs)
        for name, after in plain.weights.items():
            sums[name] = sums[name] + before[name] - after
        reference.run("train", inputs)
        if number % count:
            continue
        parts = {name: total / count + 2 * case.get("l2", 0) * steps[name].weight for name, total in sums.items()}
        for name, gradient in clip(parts, case.get("clip"), case.get("global_clip")).items():
            steps[name].update(gradient)
        sums = {name: np.zeros_like(total) for name, total in sums.items()}
        for name, weight in reference.weights.items():
            np.testing.assert_allclose(weight, steps[name].weight, rtol=1e-5, atol=1e-6)


def test_every_operator_has_a_rule_or_a_reason() -> None:
    known = {*RULES, *ZERO, *WITHOUT_RULE}
    assert set(OPERATORS) & set(BUILTIN_OPERATORS) <= known
    assert len(known) == len(RULES) + len(ZERO) + len(WITHOUT_RULE)
    assert not known & set(CONTROL_FLOW)


def derived(model: Model, **options: Any) -> list[str]:
    """Names of the weights that train."""
    settings = parse_training_options(TrainOptions(loss=Loss.MSE, **options))
    return [weight.name for weight in derive_training_model(model, settings).weights if weight.trains]


def test_weights_are_chosen() -> None:
    assert derived(dense_model()) == ["w1", "b1", "w2"]
    assert derived(dense_model(), last=1) == ["w2"]
    assert derived(dense_model(), biases=True) == ["b1"]
    assert derived(dense_model(), freeze=["w*"]) == ["b1"]
    assert derived(dense_model(), trainable=["hidden"]) == ["w1", "b1"]


def convolutions(*biases: float) -> Model:
    """1x1 convolutions one after the other, each with a bias of one number; those of equal ones are one tensor."""
    builder = ModelBuilder()
    graph = builder.subgraph("main")
    value = graph.tensor("x", DType.FLOAT32, (1, 2, 2, 3))
    graph.inputs, constants = [value], {}
    for place, bias in enumerate(biases):
        if bias not in constants:
            constants[bias] = graph.constant(f"bias_{bias:g}", np.full(3, bias, np.float32))
        filters = np.random.default_rng(place).standard_normal((3, 1, 1, 3)).astype(np.float32)
        result = graph.tensor(f"y_{place}", DType.FLOAT32, (1, 2, 2, 3))
        operands = [value, graph.constant(f"w_{place}", filters), constants[bias]]
        graph.operator("CONV_2D", operands, [result], {"stride_h": 1, "stride_w": 1})
        value = result
    graph.outputs = [value]
    return builder.model()


def test_biases_that_begin_as_zeros_are_one_for_each_layer() -> None:
    rng = np.random.default_rng(1)
    reference = trained_reference(convolutions(0, 0), Loss.MSE)
    check_gradients(reference, [rng.standard_normal((1, 2, 2, 3)), rng.standard_normal((1, 2, 2, 3))])
    assert set(reference.weights) == {"w_0", "bias_0", "w_1", "bias_0_2"}


def test_zeros_that_the_converter_gave_a_trained_layer_train_if_named() -> None:
    assert derived(convolutions(0, 0.5, 0)) == ["w_0", "w_1", "bias_0.5", "w_2"]
    assert derived(convolutions(0, 0.5), trainable=["*"]) == ["w_0", "bias_0", "w_1", "bias_0.5"]
    assert derived(convolutions(0, 1)) == ["w_0", "bias_0", "w_1", "bias_1"]


@pytest.mark.parametrize("model", [dense_model(1), convolutions(0.1, 0.2)], ids=["dense", "convolutions"])
def test_adapters_train_beside_what_stays(model: Model) -> None:
    """At first the model is what it was; the gradients by adapters are those of their sums of products."""
    graph = model.subgraphs[0]
    shapes = [graph.tensors[place].shape for place in (*graph.inputs, *graph.outputs)]
    plain, adapted = trained_reference(model, Loss.MSE), trained_reference(model, Loss.MSE, adapter=2)
    inputs = [np.random.default_rng(2).standard_normal(shape) for shape in shapes]
    assert adapted.run("evaluate", inputs) == plain.run("evaluate", inputs)
    assert all(name.endswith(("/lora_a", "/lora_b")) for name in adapted.names)
    assert len(adapted.names) == 4
    check_gradients(adapted, inputs)
    slow = trained_reference(model, Loss.MSE, adapter=2, rate=0.01)
    before = slow.weights
    losses = [slow.run("train", inputs) for _ in range(5)]
    assert losses == sorted(losses, reverse=True)
    assert all((slow.weights[name] != before[name]).any() for name in slow.names)


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ({"freeze": ["nothing"]}, "--freeze nothing names no weight. Weights: w1, b1, w2"),
        ({"freeze": ["*"]}, "training requires a float constant in the role of weights or of a bias"),
        ({"target_output": "z"}, "there is no output 'z'. Outputs: y"),
        ({"signature": "z"}, "there is no signature 'z'"),
    ],
)
def test_bad_choices_are_refused(options: dict[str, Any], text: str) -> None:
    with pytest.raises(ModelError) as raised:
        derived(dense_model(), **options)
    assert text in str(raised.value)


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"loss": Loss.MSE, "loss_output": "y"},
        {"loss": Loss.MSE, "learning_rate": "x"},
        {"loss": Loss.MSE, "adapter": "lora:0"},
    ],
)
def test_bad_options_are_refused(options: dict[str, Any]) -> None:
    with pytest.raises(UsageError):
        parse_training_options(TrainOptions(**options))


def test_gradients_that_are_not_finite_change_no_weight() -> None:
    """A square root has no slope at 0, while the loss is finite."""
    builder = ModelBuilder()
    graph = builder.subgraph("main")
    x, moved, y = (graph.tensor(name, DType.FLOAT32, (1, 3)) for name in ("x", "moved", "y"))
    graph.operator("ADD", [x, graph.constant("w", np.array([1, 2, 3], np.float32))], [moved])
    graph.operator("SQRT", [moved], [y])
    graph.inputs, graph.outputs = [x], [y]
    step = StepOptions(OptimizerName.MOMENTUM, 0.1)
    trained = derive_training_model(builder.model(), TrainingOptions(Loss.MSE, step, check_gradients=True))
    reference = TrainedReference(trained)
    before = reference.weights["w"]
    reference.run("train", [np.array([[2.0, 1, 1]]), np.ones((1, 3))])
    changed = reference.weights["w"]
    assert (changed != before).all()
    with pytest.raises(RunTimeError):
        reference.run("train", [np.array([[2.0, -2, 1]]), np.ones((1, 3))])
    np.testing.assert_array_equal(reference.weights["w"], changed)


def test_a_file_without_the_contents_of_its_variables_is_refused() -> None:
    builder = ModelBuilder()
    graph = builder.subgraph("main")
    x, handle, w, y = (
        graph.tensor(name, dtype, shape)
        for name, dtype, shape in (
            ("x", DType.FLOAT32, (1, 3)),
            ("handle", None, ()),
            ("w", DType.FLOAT32, (3, 3)),
            ("y", DType.FLOAT32, (1, 3)),
        )
    )
    graph.operator("VAR_HANDLE", [], [handle], {"shared_name": "weights"})
    graph.operator("READ_VARIABLE", [handle], [w])
    bias = graph.constant("b", np.ones(3, np.float32))
    graph.operator("FULLY_CONNECTED", [x, w, bias], [y])
    graph.inputs, graph.outputs = [x], [y]
    with pytest.raises(ModelError, match="variable 'weights', which nothing initialises"):
        derived(builder.model())


def test_an_operator_without_rule_is_named() -> None:
    builder = ModelBuilder()
    graph = builder.subgraph("main")
    x, scaled, y = (graph.tensor(name, DType.FLOAT32, (1, 3)) for name in ("x", "scaled", "y"))
    graph.operator("MUL", [x, graph.constant("s", np.array([1, 2, 3], np.float32))], [scaled])
    graph.operator("CONV_3D", [scaled, x], [y])
    graph.inputs, graph.outputs = [x], [y]
    with pytest.raises(ModelError, match=r"operator 1 \(CONV_3D\): CONV_3D has no gradient: there is no rule"):
        derived(builder.model())


@pytest.mark.parametrize("label", [-1, 4])
def test_a_label_out_of_range_changes_no_weight(label: int) -> None:
    reference = trained_reference(dense_model(), Loss.SPARSE_CATEGORICAL_CROSSENTROPY, optimizer=OptimizerName.ADAM)
    before = reference.weights
    x = np.ones((2, 3))
    for key in ("train", "evaluate"):
        with pytest.raises(RunTimeError):
            reference.run(key, [x, np.array([0, label], np.int32)])
    assert all((reference.weights[name] == weight).all() for name, weight in before.items())
    reference.run("train", [x, np.array([0, 3], np.int32)])
    assert any((reference.weights[name] != weight).any() for name, weight in before.items())


@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_a_loss_that_is_not_finite_changes_no_weight(value: float) -> None:
    reference = trained_reference(dense_model(), Loss.MSE, optimizer=OptimizerName.MOMENTUM)
    before = reference.weights
    with pytest.raises(RunTimeError):
        reference.run("train", [np.full((2, 3), value), np.zeros((2, 4))])
    assert all((reference.weights[name] == weight).all() for name, weight in before.items())


def gate_model() -> Model:
    """y = x W0 where the sum of x is positive, else x W1."""
    rng, builder = np.random.default_rng(7), ModelBuilder()
    main = builder.subgraph("main")
    x, y = main.tensor("x", DType.FLOAT32, (1, 3)), main.tensor("y", DType.FLOAT32, (1, 3))
    total, positive = main.tensor("total", DType.FLOAT32, ()), main.tensor("positive", DType.BOOL, ())
    main.operator("SUM", [x, main.constant("axes", np.array([0, 1], np.int32))], [total])
    main.operator("GREATER", [total, main.constant("zero", np.float32(0))], [positive])
    for number in range(2):
        side = builder.subgraph(f"side{number}")
        operand, result = side.tensor("x", DType.FLOAT32, (1, 3)), side.tensor("y", DType.FLOAT32, (1, 3))
        weights = side.constant(f"w{number}", rng.standard_normal((3, 3)).astype(np.float32))
        side.operator("FULLY_CONNECTED", [operand, weights, -1], [result])
        side.inputs, side.outputs = [operand], [result]
    main.operator("IF", [positive, x], [y], {"then_subgraph_index": 1, "else_subgraph_index": 2})
    main.inputs, main.outputs = [x], [y]
    return builder.model()


def test_a_branch_that_is_not_taken_keeps_its_weights() -> None:
    """Momentum moves weights whose gradient is 0, but not those that a step does not use: Keras leaves them out."""
    reference = trained_reference(gate_model(), Loss.MSE, optimizer=OptimizerName.MOMENTUM, rate=RATE)
    for sign, used in ((1, "w0"), (-1, "w1"), (1, "w0")):
        before = reference.weights
        reference.run("train", [np.full((1, 3), sign), np.zeros((1, 3))])
        assert {name for name, weight in reference.weights.items() if (weight != before[name]).any()} == {used}


def test_gradients_are_those_of_a_product() -> None:
    reference = trained_reference(dense_model(), Loss.MSE)
    x, y = next(samples(1))
    w = reference.weights
    slope = 2 * ((x @ w["w1"].T + w["b1"]) @ w["w2"].T - y) / y.size
    by_weight = gradients(reference, [x, y])
    np.testing.assert_allclose(by_weight["w2"], slope.T @ (x @ w["w1"].T + w["b1"]), rtol=1e-9)
    np.testing.assert_allclose(by_weight["b1"], (slope @ w["w2"]).sum(axis=0), rtol=1e-9)


LOOPED = (("x", (1, 3)), ("w", (3, 3)), ("b", (3,)))
"""Floats that the loop of captured_model() carries."""


def captured_model() -> Model:
    """As TensorFlow's converter writes a branch: it gets its weights, transposed there, and a bias behind zeros.

    A loop within it passes them on: y = x + W x + b, twice, where the sum of x is positive, else x.
    """
    rng, builder = np.random.default_rng(8), ModelBuilder()
    main, taken, other, more, turn = (builder.subgraph(name) for name in ("main", "taken", "other", "more", "turn"))
    x, y = main.tensor("x", DType.FLOAT32, (1, 3)), main.tensor("y", DType.FLOAT32, (1, 3))
    total, positive = main.tensor("total", DType.FLOAT32, ()), main.tensor("positive", DType.BOOL, ())
    main.operator("SUM", [x, main.constant("axes", np.array([0, 1], np.int32))], [total])
    main.operator("GREATER", [total, main.constant("zero", np.float32(0))], [positive])
    captured = [main.constant(n, rng.standard_normal(s).astype(np.float32)) for n, s in (("w", (3, 3)), ("b", (3,)))]
    main.operator("IF", [positive, x, *captured], [y], {"then_subgraph_index": 1, "else_subgraph_index": 2})
    main.inputs, main.outputs = [x], [y]
    for side in (taken, other):
        side.inputs = [side.tensor(n, DType.FLOAT32, s) for n, s in (("x", (1, 3)), ("w", (3, 3)), ("b", (3,)))]
    other.outputs = other.inputs[:1]
    first = taken.constant("first", np.int32(0))
    results = [taken.tensor("count", DType.INT32, ()), *(taken.tensor(n, DType.FLOAT32, s) for n, s in LOOPED)]
    loop = {"cond_subgraph_index": 3, "body_subgraph_index": 4}
    taken.operator("WHILE", [first, *taken.inputs], results, loop)
    taken.outputs = [results[1]]
    for graph in (more, turn):
        graph.inputs = [graph.tensor("count", DType.INT32, ()), *(graph.tensor(n, DType.FLOAT32, s) for n, s in LOOPED)]
    more.outputs = [more.tensor("again", DType.BOOL, ())]
    more.operator("LESS", [more.inputs[0], more.constant("two", np.int32(2))], more.outputs)
    count, value, weights, bias = turn.inputs
    after = turn.tensor("after", DType.INT32, ())
    turn.operator("ADD", [count, turn.constant("one", np.int32(1))], [after])
    turned = turn.tensor("turned", DType.FLOAT32, (3, 3))
    product, sum_, result = (turn.tensor(n, DType.FLOAT32, (1, 3)) for n in ("product", "sum", "result"))
    turn.operator("TRANSPOSE", [weights, turn.constant("order", np.array([1, 0], np.int32))], [turned])
    zeros = turn.constant("zeros", np.zeros(3, np.float32))
    turn.operator("FULLY_CONNECTED", [value, turned, zeros], [product])
    turn.operator("ADD", [product, bias], [sum_])
    turn.operator("ADD", [sum_, value], [result])
    turn.outputs = [after, result, weights, bias]
    return builder.model()


def test_weights_that_a_branch_and_a_loop_get_from_outside_train() -> None:
    trained = derive_training_model(captured_model(), TrainingOptions(Loss.MSE, StepOptions(OptimizerName.SGD, 0.1)))
    assert [weight.tensor.shape for weight in trained.weights] == [(3, 3), (3,)]
    rng = np.random.default_rng(9)
    check_gradients(trained_reference(captured_model(), Loss.MSE), [np.ones((1, 3)), rng.uniform(0, 1, (1, 3))])
