"""Models that train, evaluated by the reference in float64: their gradients, and those of central differences."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from tflmgen.frontend.tflite import Model, ModelBuilder, parse_model, write_model
from tflmgen.gradients.adapters import ADAPTERS
from tflmgen.gradients.training_model import TrainingModel, TrainingOptions, derive_training_model
from tflmgen.gradients.update_step import StepOptions
from tflmgen.gradients.weight_choice import WeightChoice
from tflmgen.ir import DType
from tflmgen.options import Loss, OptimizerName
from tflmgen.reference import Interpreter

Array = NDArray[Any]
STEP = 1e-6
"""Distance of central differences: their error is about its square, and rounding 1e-10."""


def dense_model(activation: int = 0) -> Model:
    """y = activation(x W1 + b1) W2, float32[2, 3] to float32[2, 4]."""
    rng, builder = np.random.default_rng(5), ModelBuilder()
    graph = builder.subgraph("main")
    x, hidden, y = (graph.tensor(name, DType.FLOAT32, (2, size)) for name, size in (("x", 3), ("hidden", 5), ("y", 4)))
    first = [graph.constant(n, rng.standard_normal(s).astype(np.float32)) for n, s in (("w1", (5, 3)), ("b1", (5,)))]
    second = graph.constant("w2", rng.standard_normal((4, 5)).astype(np.float32))
    graph.operator("FULLY_CONNECTED", [x, *first], [hidden], {"fused_activation_function": activation})
    graph.operator("FULLY_CONNECTED", [hidden, second, -1], [y])
    graph.inputs, graph.outputs = [x], [y]
    return builder.model()


class TrainedReference:
    """A model of `tflmgen train`, as the file has it, with its weights."""

    def __init__(self, trained: TrainingModel) -> None:
        self.model = parse_model(write_model(trained.model), "trained.tflite")
        self.names = [weight.name for weight in trained.weights if weight.trains]
        self.interpreter = Interpreter(self.model, wide=True)

    @property
    def weights(self) -> dict[str, Array]:
        """Contents of the weights."""
        return {name: np.array(self.interpreter._variables[f"/{name}"], np.float64) for name in self.names}

    def reset(self, name: str = "", contents: Array | None = None) -> None:
        """Initial weights, but one with other contents."""
        self.interpreter.reset()
        if contents is not None:
            self.interpreter._variables[f"/{name}"] = contents

    def weights_become(self, contents: Mapping[str, Array]) -> None:
        """Gives weights other contents."""
        self.interpreter._variables.update({f"/{name}": array for name, array in contents.items()})

    def run(self, key: str, inputs: Sequence[Array]) -> float:
        """The first output of a signature."""
        return float(np.ravel(self.interpreter.invoke(key, list(inputs))[0])[0])


def trained_reference(model: Model, loss: Loss | None, **options: Any) -> TrainedReference:
    """The model trained by plain gradients of rate 1: a weight's change is its gradient."""
    adapter = options.pop("adapter", None)
    choice = WeightChoice(trainable=ADAPTERS if adapter else ())
    step = StepOptions(options.pop("optimizer", OptimizerName.SGD), options.pop("rate", 1.0), **options)
    return TrainedReference(derive_training_model(model, TrainingOptions(loss, step, choice, adapter=adapter)))


def gradients(reference: TrainedReference, inputs: Sequence[Array]) -> dict[str, Array]:
    """Gradients of the loss by each weight, as the training step has them."""
    reference.reset()
    before = reference.weights
    reference.run("train", inputs)
    return {name: before[name] - after for name, after in reference.weights.items()}


def differences(reference: TrainedReference, inputs: Sequence[Array], name: str) -> Array:
    """The gradient by a weight from central differences of `evaluate`."""
    reference.reset()
    initial = reference.weights[name]
    result = np.zeros(initial.shape)
    for place in np.ndindex(initial.shape):
        losses = []
        for sign in (1, -1):
            moved = initial.copy()
            moved[place] += sign * STEP
            reference.reset(name, moved)
            losses.append(reference.run("evaluate", inputs))
        result[place] = (losses[0] - losses[1]) / (2 * STEP)
    return result


def check_gradients(reference: TrainedReference, inputs: Sequence[Array]) -> None:
    """Each weight's gradient is within 1e-5 of that by central differences, relative to the largest of all."""
    derived = gradients(reference, inputs)
    expected = {name: differences(reference, inputs, name) for name in derived}
    largest = max(np.abs(array).max() for array in expected.values())
    for name, array in derived.items():
        np.testing.assert_allclose(array, expected[name], rtol=0, atol=1e-5 * largest + 1e-9, err_msg=name)
