"""Input products of recurrent loops move before the loop."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from support.quantize_models import FEATURES, STEPS, conv_recurrent_loop, recurrent_loop
from support.quantized_run import quantized_run
from tflmgen.quantize.model_quantization import prepare_float


@pytest.mark.parametrize("bound", ["constant", "operand"])
@pytest.mark.parametrize("pick", ["GATHER", "SLICE", "STRIDED_SLICE"])
def test_the_product_of_all_rows_is_before_the_loop(pick: str, bound: str, tmp_path: Path) -> None:
    model = recurrent_loop(pick, bound)
    main, _, body = prepare_float(model).subgraphs
    products = [[main.tensors[op.outputs[0]].shape for op in main.operators if op.name == "FULLY_CONNECTED"]]
    assert products == [[(STEPS, 4)]]
    assert sum(op.name == "FULLY_CONNECTED" for op in body.operators) == 1
    assert (STEPS, FEATURES) not in {body.tensors[tensor].shape for tensor in body.inputs}, "x goes through no loop"
    rng = np.random.default_rng(4)
    result = quantized_run(model, [(rng.uniform(-1, 1, (STEPS, FEATURES)).astype(np.float32),) for _ in range(16)])
    for (rewritten,), (exact,) in zip(result.after, result.before, strict=True):
        np.testing.assert_allclose(rewritten, exact, atol=0.15)
    if pick != "STRIDED_SLICE":  # TFLite Micro wants its operands constant, in float, too
        for (rewritten,), (other,) in zip(result.after, result.of_tflm(tmp_path), strict=True):
            np.testing.assert_array_equal(rewritten, other.reshape(rewritten.shape))


@pytest.mark.parametrize("product", ["CONV_2D", "BATCH_MATMUL"])
def test_other_products_are_before_the_loop(product: str, tmp_path: Path) -> None:
    """The convolutions of ConvLSTM, and products by a constant matrix, which become FULLY_CONNECTED."""
    model = conv_recurrent_loop() if product == "CONV_2D" else recurrent_loop(product=product)
    name = "FULLY_CONNECTED" if product == "BATCH_MATMUL" else product
    main, _, body = prepare_float(model).subgraphs
    (before,) = (main.tensors[op.outputs[0]].shape for op in main.operators if op.name == name)
    assert before == ((STEPS, 4, 6, 3) if product == "CONV_2D" else (STEPS, 4))
    assert sum(op.name == name for op in body.operators) == 1
    shape = main.tensors[main.inputs[0]].shape
    rng = np.random.default_rng(4)
    result = quantized_run(model, [(rng.uniform(-1, 1, shape).astype(np.float32),) for _ in range(16)])
    for (rewritten,), (exact,), (other,) in zip(result.after, result.before, result.of_tflm(tmp_path), strict=True):
        np.testing.assert_allclose(rewritten, exact, atol=0.15)
        np.testing.assert_array_equal(rewritten, other.reshape(rewritten.shape))


def test_a_trip_count_known_at_run_time_leaves_it_inside() -> None:
    main, _, body = prepare_float(recurrent_loop(bound="input")).subgraphs
    assert not any(op.name == "FULLY_CONNECTED" for op in main.operators)
    assert sum(op.name == "FULLY_CONNECTED" for op in body.operators) == 2
