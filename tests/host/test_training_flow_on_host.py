"""The C of training steps whose control flow depends on weights and data: predicates that a step flips, no iteration.

Losses are those of the reference in float64, and where the weights are known those of the definition.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import tflmgen
from numpy.typing import NDArray
from support.trained_model import TrainedReference
from tflmgen.frontend.tflite import Model, ModelBuilder, SubGraphBuilder, write_model
from tflmgen.gradients import derive_training_model, parse_training_options
from tflmgen.ir import DType
from tflmgen.options import Loss, TrainOptions

Array = NDArray[np.float64]
SIZE = 3
FACTORS = np.array([0.5, 0.6, 0.4])
BOUND = 4
"""Iterations that a step takes at most of loop_model()."""


def vector(graph: SubGraphBuilder, name: str) -> int:
    return graph.tensor(name, DType.FLOAT32, (1, SIZE))


def compared(graph: SubGraphBuilder, value: int, least: float) -> int:
    """Whether the elements add up to more than a number."""
    total, more = graph.tensor("total", DType.FLOAT32, ()), graph.tensor("more", DType.BOOL, ())
    graph.operator("SUM", [value, graph.constant("axes", np.array([0, 1], np.int32))], [total])
    graph.operator("GREATER", [total, graph.constant("least", np.float32(least))], [more])
    return more


def scaled(graph: SubGraphBuilder, value: int, name: str, factors: Array) -> int:
    """The product with factors that train."""
    result = vector(graph, f"by_{name}")
    graph.operator("MUL", [value, graph.constant(name, factors.astype(np.float32))], [result])
    return result


def gate_model() -> Model:
    """h = x w; y = h a where h adds up to more than 0, else h b: an update of w may flip the predicate."""
    builder = ModelBuilder()
    main, taken, other = (builder.subgraph(name) for name in ("main", "taken", "other"))
    x, y = vector(main, "x"), vector(main, "y")
    value = scaled(main, x, "w", np.array([0.2, 0.1, 0.3]))
    for side, name, factors in ((taken, "a", [1, 2, 3]), (other, "b", [3, 1, 2])):
        side.inputs = [vector(side, "h")]
        side.outputs = [scaled(side, side.inputs[0], name, np.array(factors))]
    choice = {"then_subgraph_index": 1, "else_subgraph_index": 2}
    main.operator("IF", [compared(main, value, 0), value], [y], choice)
    main.inputs, main.outputs = [x], [y]
    return builder.model()


def loop_model() -> Model:
    """y is x, times a as often as the elements add up to more than 1."""
    builder = ModelBuilder()
    main, more, turn = (builder.subgraph(name) for name in ("main", "more", "turn"))
    x, y = vector(main, "x"), vector(main, "y")
    for graph in (more, turn):
        graph.inputs = [vector(graph, "h")]
    more.outputs = [compared(more, more.inputs[0], 1)]
    turn.outputs = [scaled(turn, turn.inputs[0], "a", FACTORS)]
    main.operator("WHILE", [x], [y], {"cond_subgraph_index": 1, "body_subgraph_index": 2})
    main.inputs, main.outputs = [x], [y]
    return builder.model()


def steps(
    model: Model, samples: list[Array], target: Array, options: TrainOptions, folder: Path
) -> tuple[list[set[str]], list[float]]:
    """Compares the losses of steps: (names of the weights that each has changed, losses)."""
    trained = derive_training_model(model, parse_training_options(options))
    (folder / "steps.tflite").write_bytes(write_model(trained.model))
    reference, changed, losses = TrainedReference(trained), [], []
    reference.reset()
    with tflmgen.compile(folder / "steps.tflite").session() as session:
        for x in samples:
            before = reference.weights
            expected = reference.run("train", [x, target])
            loss = session.run({"x": x.astype(np.float32), "y": target.astype(np.float32)}, "train")["loss"]
            np.testing.assert_allclose(loss, expected, rtol=1e-5)
            after = reference.weights
            losses.append(float(loss))
            changed.append({name for name, weight in after.items() if (weight != before[name]).any()})
    return changed, losses


def test_a_predicate_that_the_step_flips_is_that_of_the_forward_pass(tmp_path: Path) -> None:
    """The first step makes w negative; its gradient is that of the branch that it took, the next is of the other."""
    options = TrainOptions(loss=Loss.MSE, learning_rate="0.1")
    changed, _ = steps(gate_model(), [np.ones((1, SIZE))] * 3, np.full((1, SIZE), -5.0), options, tmp_path)
    assert changed[:2] == [{"w", "a"}, {"w", "b"}]


def test_a_loop_of_no_iteration_has_no_gradient_and_a_long_one_ends(tmp_path: Path) -> None:
    options = TrainOptions(loss=Loss.MSE, learning_rate="0.001", max_iterations=BOUND)
    samples = [np.full((1, SIZE), value) for value in (0.1, 30.0, 1.0, 0.1)]
    changed, losses = steps(loop_model(), samples, np.ones((1, SIZE)), options, tmp_path)
    assert changed == [set(), {"a"}, {"a"}, set()]
    bounded = np.mean((30 * FACTORS**BOUND - 1) ** 2)
    np.testing.assert_allclose([losses[0], losses[1], losses[3]], [0.81, bounded, 0.81], rtol=1e-5)
