"""Training steps that compute values again instead of keeping them: the same weights, in less memory."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support.commands import tflmgen
from support.random_trainable import SHAPE, RandomTrainable
from support.trained_model import TrainedReference
from support.training_models import recurrent_network, separable_network
from tflmgen.compiler import estimate_model
from tflmgen.frontend.tflite import Model, write_model
from tflmgen.gradients import TrainingModel, checkpointed_loops, derive_training_model, loop_gradients
from tflmgen.gradients.checkpointed_loops import LoopCut
from tflmgen.gradients.flow_graph import FlowGraph, graphs_of
from tflmgen.gradients.loop_parts import Passes, Stored
from tflmgen.gradients.recomputed_segments import plan_segments
from tflmgen.gradients.tape import KEEP_ALL
from tflmgen.gradients.training_model import TrainingOptions
from tflmgen.gradients.update_step import StepOptions
from tflmgen.gradients.weight_choice import find_weights
from tflmgen.hardware import load_board
from tflmgen.options import BuildOptions, Loss, OptimizerName


def _trained(model: Model, limit: int, optimizer: OptimizerName = OptimizerName.SGD) -> TrainingModel:
    return derive_training_model(
        model, TrainingOptions(Loss.MSE, StepOptions(optimizer, 0.1), kept_limit=limit, loop_limit=limit)
    )


def _weights_after(
    model: Model, limit: int, optimizer: OptimizerName, inputs: list[np.ndarray]
) -> dict[str, np.ndarray]:
    reference = TrainedReference(_trained(model, limit, optimizer))
    for _ in range(2):
        reference.run("train", inputs)
    return reference.weights


def _check(seed: int) -> None:
    model, rng = RandomTrainable(seed).model(), np.random.default_rng(seed)
    if not find_weights(graphs_of(model)[0]).weights:
        return
    inputs = [rng.standard_normal(SHAPE) for _ in range(2)]
    for optimizer in (OptimizerName.SGD, OptimizerName.MOMENTUM):
        expected = _weights_after(model, KEEP_ALL, optimizer, inputs)
        for name, actual in _weights_after(model, 0, optimizer, inputs).items():
            np.testing.assert_allclose(actual, expected[name], rtol=1e-9, atol=1e-12, err_msg=f"{seed}: {name}")


@pytest.mark.parametrize("seed", [*range(2), *(pytest.param(n, marks=pytest.mark.sweep) for n in range(2, 200))])
def test_steps_are_the_same(seed: int) -> None:
    """With segments and loops that keep least."""
    _check(seed)


@pytest.mark.parametrize("seed", [*range(4), *(pytest.param(n, marks=pytest.mark.sweep) for n in range(4, 200))])
def test_loops_of_any_spacing_are_the_same(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of loops that keep less without checkpoints, too, and of several spacings."""
    own = checkpointed_loops.loop_cut

    def cut(passes: Passes, body: FlowGraph, stored: list[Stored], _: int, limit: int) -> LoopCut | None:
        if limit:
            return None
        # With rows of no bytes any cut is worth it.
        chosen = own(passes, body, stored, 1 << 20, limit)
        return None if chosen is None else LoopCut(1 + seed % 3, chosen.varying, chosen.invariant)

    monkeypatch.setattr(loop_gradients, "loop_cut", cut)
    _check(seed)


def _arena(model: Model, folder: Path, **limits: Any) -> int:
    file = folder / "trained.tflite"
    options = TrainingOptions(Loss.MSE, StepOptions(OptimizerName.SGD, 0.1), **limits)
    file.write_bytes(write_model(derive_training_model(model, options).model))
    return int(estimate_model(file, load_board("mps2_an386").target, BuildOptions())["arena"]["bytes"])


@pytest.mark.parametrize(
    ("make", "limits"), [(separable_network, {"kept_limit": 140_000}), (recurrent_network, {"loop_limit": 0})]
)
def test_half_of_the_arena(make: Callable[[], Model], limits: dict[str, int], tmp_path: Path) -> None:
    """The figures of docs/use/train.md."""
    model = make()
    assert _arena(model, tmp_path, **limits) <= _arena(model, tmp_path) / 2


def test_segments_of_a_chain() -> None:
    """Of nine tensors of 4 bytes four are kept at a time: those of a segment, and the checkpoints before it."""
    graph = FlowGraph("chain")
    value = graph.input("x", ())
    for _ in range(9):
        value = graph.compute("ABS", [value], ())
    graph.outputs = [value]
    kept = set(range(1, 10))
    assert plan_segments(graph, kept, 36) is None
    for limit, last_cut in ((28, 3), (20, 5), (16, 7)):
        plan = plan_segments(graph, kept, limit)
        assert plan is not None
        assert plan.cuts[-1] == last_cut
        bounds = pairwise([0, *plan.cuts, 9])
        assert max(4 * (number + end - begin) for number, (begin, end) in enumerate(bounds)) <= limit


def test_a_budget_and_the_curve(tmp_path: Path) -> None:
    (tmp_path / "net.tflite").write_bytes(write_model(recurrent_network(20)))
    words = ("train", tmp_path / "net.tflite", "--loss", "mse")
    points = tflmgen(*words, "--pareto", "--json").json["points"]
    assert [point["done_again"] > 0 for point in points] == [False, True]
    least = points[-1]["ram_bytes"]
    file = tmp_path / "trained.tflite"
    assert tflmgen(*words, "--ram-budget", least, "-o", file).code == 0
    refused = tflmgen(*words, "--ram-budget", least - 1, "-o", file)
    assert refused.code == 1
    assert f"training needs {least:,} bytes" in refused.err
    assert tflmgen(*words, "--ram-budget", "much", "-o", file).code == 2
