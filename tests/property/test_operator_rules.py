"""Operators put together at random: rules answer, and what they let through has a shape and a kernel."""

from __future__ import annotations

import numpy as np
import pytest
from tflmgen.frontend.tflite.names import BUILTIN_OPERATORS
from tflmgen.ir.kernel.call import OperatorInstance, Target
from tflmgen.ir.types import DType, Quantization, TensorType
from tflmgen.kernels.table import OPERATORS

OPTIONS = (
    *("axis", "batch_dims", "num_splits", "num", "values_count", "block_size", "mode", "fused_activation_function"),
    *("begin_mask", "end_mask", "ellipsis_mask", "new_axis_mask", "shrink_axis_mask", "offset", "exclusive", "reverse"),
    *("align_corners", "half_pixel_centers", "keep_dims", "padding", "stride_w", "stride_h", "filter_width"),
    *("filter_height", "dilation_w_factor", "dilation_h_factor", "depth_multiplier", "adj_x", "adj_y", "approximate"),
)
COMMON_TYPES = (DType.INT8, DType.FLOAT32, DType.INT32, DType.INT16, DType.BOOL)


def random_tensor(rng: np.random.Generator, dtype: DType) -> TensorType:
    shape = tuple(int(d) for d in rng.choice([0, 1, 1, 2, 2, 3, 4], rng.integers(0, 5)))
    if rng.random() < 0.3:
        return TensorType(dtype, shape)
    low, high = (0, 0) if dtype.is_float else dtype.limits
    count = 1 if rng.random() < 0.8 else int(rng.integers(1, 4))
    points = tuple(int(np.clip(p, low, high)) for p in rng.integers(-20, 20, count))
    return TensorType(
        dtype, shape, Quantization(tuple(10.0 ** rng.uniform(-12, 4, count)), points, int(rng.integers(0, 4)))
    )


def random_instance(rng: np.random.Generator, name: str) -> OperatorInstance | None:
    """An operator of the right arity, whose tensors often agree by chance; None where its options are refused."""
    entry = OPERATORS[name]
    least, fewest = entry.inputs
    count = int(rng.integers(least, (least + 3 if fewest < 0 else fewest) + 1))
    main = COMMON_TYPES[int(rng.integers(0, len(COMMON_TYPES)))]

    def any_type() -> DType:
        return main if rng.random() < 0.6 else list(DType)[int(rng.integers(0, len(DType)))]

    first = random_tensor(rng, any_type())
    inputs, constants = [], []
    for i in range(count):
        tensor: TensorType | None = (
            first if rng.random() < 0.4 else random_tensor(rng, DType.INT32 if rng.random() < 0.4 else any_type())
        )
        tensor = None if i >= least and rng.random() < 0.1 else tensor
        known = tensor is not None and rng.random() < 0.5
        inputs.append(tensor)
        constants.append(rng.integers(-2, 5, tensor.max_shape).astype(tensor.dtype.numpy) if tensor and known else None)
    results = entry.outputs if entry.outputs >= 0 else int(rng.integers(0, 4))
    outputs = tuple(first if rng.random() < 0.5 else random_tensor(rng, any_type()) for _ in range(results))
    options = {key: int(rng.integers(-2, 4)) for key in OPTIONS if rng.random() < 0.4}
    try:
        attributes = entry.attributes(options if rng.random() < 0.9 else None)
    except ValueError:
        return None
    return OperatorInstance(tuple(inputs), outputs, tuple(constants), attributes)


def try_operators(name: str, seed: int, rounds: int) -> int:
    """How many of `rounds` random operators every rule lets through."""
    rng = np.random.default_rng([seed, *name.encode()])
    accepted = 0
    for _ in range(rounds):
        op = random_instance(rng, name)
        if op is None or not all(rule.holds(op) for rule in OPERATORS[name].rules):
            continue
        accepted += 1
        shapes = OPERATORS[name].infer(op)
        assert len(shapes) == len(op.outputs)
        outputs = tuple(t if s is None else t.with_shape(s) for t, s in zip(op.outputs, shapes, strict=True))
        assert all(d >= 0 for t in outputs for d in t.max_shape)
        settled = OperatorInstance(op.inputs, outputs, op.constants, op.attributes)
        if all(rule.holds(settled) for rule in OPERATORS[name].rules):
            OPERATORS[name].kernel(settled, Target("generic"))
    return accepted


IN_FILES = sorted(set(OPERATORS) & set(BUILTIN_OPERATORS))
"""The operators that files can name; those that the importer and the passes make come with what they need."""


@pytest.mark.parametrize("name", IN_FILES)
def test_rules_guard_shape_and_kernel(name: str) -> None:
    try_operators(name, 1, 150)


@pytest.mark.sweep
@pytest.mark.parametrize("seed", range(2, 6))
@pytest.mark.parametrize("name", IN_FILES)
def test_many(name: str, seed: int) -> None:
    try_operators(name, seed, 1500)


def test_some_are_accepted() -> None:
    accepted = sum(try_operators(name, 1, 150) > 0 for name in IN_FILES)
    assert accepted > len(IN_FILES) // 2
