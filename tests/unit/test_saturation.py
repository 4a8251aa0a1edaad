"""Ranges end where LOGISTIC and TANH in int8 have one result, also those of the operands of a sum before them.

Those of the operands of MINIMUM and MAXIMUM end where the results do.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
from support.quantized_run import QuantizedRun, quantized_run
from tflmgen.frontend.tflite import Model, ModelBuilder
from tflmgen.ir import DType

SHAPE = (1, 4)


def summed(ends: Sequence[str], is_output: bool = False) -> Model:
    """z = w + v, and each of `ends` of z; z may be an output, too."""
    builder = ModelBuilder()
    graph = builder.subgraph("main")
    graph.inputs = [graph.tensor(name, DType.FLOAT32, SHAPE) for name in "wv"]
    total = graph.tensor("total", DType.FLOAT32, SHAPE)
    graph.operator("ADD", graph.inputs, [total])
    graph.outputs = [graph.tensor(name.lower(), DType.FLOAT32, SHAPE) for name in ends]
    for name, output in zip(ends, graph.outputs, strict=True):
        graph.operator(name, [total], [output])
    graph.outputs += [total] if is_output else []
    return builder.model()


def run_of(model: Model) -> QuantizedRun:
    """With sums from far below to far above what makes a difference, and some between."""
    rng = np.random.default_rng(2)
    large = rng.uniform(-1000, 1000, (32, *SHAPE))
    large[::2] /= 500
    inputs = [(w.astype(np.float32), rng.uniform(-1, 1, SHAPE).astype(np.float32)) for w in large]
    return quantized_run(model, inputs)


def range_of(run: QuantizedRun, name: str) -> tuple[float, float]:
    graph = run.quantized.model.subgraphs[0]
    (tensor,) = (t for t in graph.tensors if t.name == name and t.dtype is DType.INT8)
    assert tensor.quantization is not None
    scale, zero = tensor.quantization.scale, tensor.quantization.zero_point
    return (-128 - zero) * scale, (127 - zero) * scale


@pytest.mark.parametrize(("name", "low", "high"), [("LOGISTIC", -6.24, 5.14), ("TANH", -3.12, 2.57)])
def test_the_range_ends_where_results_saturate(name: str, low: float, high: float, tmp_path: Path) -> None:
    run = run_of(summed([name]))
    step = (high - low) / 255
    assert range_of(run, "total") == pytest.approx((low, high), abs=step)
    assert range_of(run, "w_int8") == pytest.approx((low - 1, high + 1), abs=2 * step)
    worst = max(float(np.abs(a[0] - b[0]).max()) for a, b in zip(run.before, run.after, strict=True))
    assert worst < 0.05
    for ours, theirs in zip(run.after, run.of_tflm(tmp_path), strict=True):
        np.testing.assert_array_equal(ours[0], theirs[0])


def test_the_wider_of_two_readers_counts() -> None:
    assert range_of(run_of(summed(["TANH", "LOGISTIC"])), "total") == pytest.approx((-6.24, 5.14), abs=0.05)


@pytest.mark.parametrize(("ends", "is_output"), [(["TANH"], True), (["TANH", "ABS"], False)])
def test_a_value_that_something_else_reads_keeps_its_range(ends: list[str], is_output: bool) -> None:
    run = run_of(summed(ends, is_output))
    graph = run.quantized.model.subgraphs[0]
    scales = [graph.tensors[op.outputs[0]].quantization for op in graph.operators if op.name == "ADD"]
    assert [q.scale > 5 for q in scales if q is not None] == [True]


def clipped(least: float, is_read: bool = False) -> Model:
    """y = total from `least` to 1, by MAXIMUM and MINIMUM, of total = w + v, which may be an output, too."""
    builder = ModelBuilder()
    graph = builder.subgraph("main")
    graph.inputs = [graph.tensor(name, DType.FLOAT32, SHAPE) for name in "wv"]
    total, above, y = (graph.tensor(name, DType.FLOAT32, SHAPE) for name in ("total", "above", "y"))
    graph.operator("ADD", graph.inputs, [total])
    low = graph.constant("low", np.array(least, np.float32))
    graph.operator("MAXIMUM", [total, low], [above])
    graph.operator("MINIMUM", [above, graph.constant("high", np.array(1, np.float32))], [y])
    graph.outputs = [y, total] if is_read else [y]
    return builder.model()


@pytest.mark.parametrize(("least", "low", "end"), [(-1.0, -90.0, -1.0), (-1000.0, -1.0, -1.0)])
def test_operands_of_extremes_end_where_the_results_do(least: float, low: float, end: float, tmp_path: Path) -> None:
    """The greatest of -1000 and what is always more has no -1000 in its range."""
    rng = np.random.default_rng(4)
    sides = ((low, 90.0), (0.0, 0.01))
    inputs = [tuple(rng.uniform(*side, SHAPE).astype(np.float32) for side in sides) for _ in range(32)]
    inputs += [tuple(rng.uniform(-0.5, 0.5, SHAPE).astype(np.float32) for _ in "wv") for _ in range(32)]
    run = quantized_run(clipped(least), inputs)
    assert range_of(run, "total") == pytest.approx((end, 1.0), abs=0.2)
    worst = max(float(np.abs(a[0] - b[0]).max()) for a, b in zip(run.before, run.after, strict=True))
    assert worst < 0.05
    for ours, theirs in zip(run.after, run.of_tflm(tmp_path), strict=True):
        np.testing.assert_array_equal(ours[0], theirs[0])


def test_operands_of_extremes_that_are_read_keep_their_range() -> None:
    rng = np.random.default_rng(4)
    inputs = [tuple(rng.uniform(-900, 900, SHAPE).astype(np.float32) for _ in "wv") for _ in range(8)]
    low, high = range_of(quantized_run(clipped(-1, is_read=True), inputs), "total_int8")
    assert (low < -900, high > 900) == (True, True)
