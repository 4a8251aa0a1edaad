"""What the neural-network operators refuse, and the sentence with which they do."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from support.kernel_harness import Case, Tensor, broken_rules, constant, make_case, tensor
from tflmgen.ir.types import BlockQuantization, DType, TensorType
from tflmgen.kernels.table import OPERATORS

CONV_OPTIONS = {"padding": 0, "stride_w": 1, "stride_h": 1}


def conv(**changes: Any) -> Case:
    """A good CONV_2D: 2 channels to 4, 3 x 3, with any of x, w, b, y, options replaced."""
    parts: dict[str, Any] = {
        "x": tensor("int8", (1, 5, 5, 2), 0.5, 3),
        "w": constant("int8", np.ones((4, 3, 3, 2)), [0.1] * 4),
        "b": constant("int32", np.zeros(4), [0.05] * 4),
        "y": tensor("int8", (1, 5, 5, 4), 0.25, -1),
        "options": CONV_OPTIONS,
    }
    parts |= changes
    return Case("CONV_2D", (parts["x"], parts["w"], parts["b"]), (parts["y"].type,), parts["options"])


def test_the_good_case_is_good() -> None:
    assert broken_rules(conv()) == []
    assert broken_rules(conv(w=constant("int8", np.ones((4, 3, 3, 2)), 0.1, 1))) == []


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"w": None}, "an input and a filter"),
        ({"w": tensor("int4", (4, 3, 3, 2), [0.1] * 4)}, "an int4 filter to be constant"),
        ({"x": tensor("uint8", (1, 5, 5, 2), 0.5, 3)}, "an int8 input, filter"),
        ({"w": constant("float32", np.ones((4, 3, 3, 2)))}, "an int8 input, filter"),
        ({"y": tensor("int16", (1, 5, 5, 4), 0.25)}, "an int8 input, filter"),
        ({"b": constant("float32", np.zeros(4))}, "a bias, if any, of int32"),
        ({"x": tensor("int8", (1, 0, 5, 2), 0.5, 3)}, "dimensions other than 0"),
        ({"x": tensor("int8", (5, 5, 2), 0.5, 3)}, "of 4 dimensions"),
        ({"w": constant("int8", np.ones((4, 9, 2)), 0.1)}, "of 4 dimensions"),
        ({"w": constant("int8", np.ones((4, 3, 3, 3)), 0.1)}, "a multiple of the filter's"),
        (
            {"w": constant("int8", np.ones((3, 3, 3, 1)), 0.1), "y": tensor("int8", (1, 5, 5, 3), 1)},
            "input channels that",
        ),
        ({"b": constant("int32", np.zeros(5))}, "one value per output channel"),
        ({"x": tensor("int8", (1, 5, 5, 2))}, "one scale and one zero point each"),
        ({"x": tensor("int8", (1, 5, 5, 2), [0.1, 0.2], 0, 3)}, "one scale and one zero point each"),
        ({"y": tensor("int8", (1, 5, 5, 4))}, "one scale and one zero point each"),
        ({"w": constant("int8", np.ones((4, 3, 3, 2)))}, "filter to be quantised"),
        ({"w": constant("int8", np.ones((4, 3, 3, 2)), [0.1] * 2, 0, 3)}, "for each index of dimension 0"),
        ({"y": tensor("int8", (1, 5, 5, 4), 1e-30)}, "less than 2^30 output scales"),
        ({"options": CONV_OPTIONS | {"padding": 1, "dilation_h_factor": 3}}, "fits into the input"),
        ({"y": tensor("int8", (1, 5, 4, 4), 0.25)}, "an output of the shape that follows from the input"),
    ],
)
def test_conv_refuses(changes: dict[str, Any], sentence: str) -> None:
    (broken,) = broken_rules(conv(**changes))
    assert sentence in broken


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"b": constant("int32", np.zeros(4))}, "a bias, if any, of int32"),
        ({"w": constant("int8", np.ones((4, 3, 3, 2)))}, "filter to be quantised"),
        ({"w": constant("int8", np.ones((4, 3, 3, 2)), 0.1, 1)}, "with a filter whose zero point is not 0"),
        ({"w": constant("int8", np.ones((4, 3, 3, 2)), [0.1] * 2, 0, 3)}, "for each index of dimension 0"),
        ({"w": constant("uint8", np.ones((4, 3, 3, 2)), 0.1)}, "float32 with an int8 filter"),
    ],
)
def test_conv_of_float32_by_int8_refuses(changes: dict[str, Any], sentence: str) -> None:
    parts = {"x": tensor("float32", (1, 5, 5, 2)), "b": constant("float32", np.zeros(4))}
    parts["y"] = tensor("float32", (1, 5, 5, 4))
    assert broken_rules(conv(**parts)) == []
    (broken,) = broken_rules(conv(**(parts | changes)))
    assert sentence in broken


def test_only_fully_connected_of_float32_takes_blocks() -> None:
    def by_blocks(shape: tuple[int, ...], dtype: str = "int8") -> Tensor:
        kind = TensorType(DType[dtype.upper()], shape, None, BlockQuantization((0.5,) * 8, 2))
        return Tensor(kind, np.ones(shape, np.int8))

    refused = conv(x=tensor("float32", (1, 5, 5, 2)), y=tensor("float32", (1, 5, 5, 4)), b=None)
    refused = replace(refused, inputs=(refused.inputs[0], by_blocks((4, 1, 1, 4)), None))
    refused = replace(refused, inputs=(tensor("float32", (1, 5, 5, 4)), *refused.inputs[1:]))
    assert broken_rules(refused) == ["an int8 or int4 filter to be quantised"]
    layer = [tensor("float32", (1, 4)), by_blocks((4, 4), "int4")]
    assert broken_rules(make_case("FULLY_CONNECTED", layer, [tensor("float32", ())])) == []
    layer[0] = tensor("int8", (1, 4), 0.5)
    (broken,) = broken_rules(make_case("FULLY_CONNECTED", layer, [tensor("int8", (), 0.5)]))
    assert broken.endswith("with a float32 input, also blockwise along its rows")


def test_sums_that_may_leave_32_bits_are_refused() -> None:
    x = tensor("int8", (1, 1, 1, 70000), 0.5)
    y = tensor("int8", (1, 1, 1, 1), 0.5)
    small = conv(x=x, y=y, b=None, w=constant("int8", np.ones((1, 1, 1, 70000)), 0.1))
    large = conv(x=x, y=y, b=None, w=constant("int8", np.full((1, 1, 1, 70000), 127), 0.1))
    unknown = conv(x=x, y=y, b=None, w=tensor("int8", (1, 1, 1, 70000), 0.1))
    assert broken_rules(small) == []
    assert broken_rules(large) == broken_rules(unknown) == ["sums of int8 products that fit into 32 bits"]


@pytest.mark.parametrize(
    ("operator", "options", "sentence"),
    [
        ("CONV_2D", None, "the operator's options are missing"),
        ("CONV_2D", CONV_OPTIONS | {"padding": 2}, "padding is 2, but only 0 .SAME. and 1 .VALID. exist"),
        ("CONV_2D", CONV_OPTIONS | {"stride_w": 0}, "stride_w is 0, but must be at least 1"),
        ("CONV_2D", CONV_OPTIONS | {"dilation_h_factor": -1}, "dilation_h_factor is -1"),
        ("CONV_2D", CONV_OPTIONS | {"fused_activation_function": 4}, "fused activation tanh is not supported"),
        ("DEPTHWISE_CONV_2D", CONV_OPTIONS | {"stride_h": -2}, "stride_h is -2"),
        ("AVERAGE_POOL_2D", CONV_OPTIONS | {"filter_height": 0, "filter_width": 1}, "filter_height is 0"),
        ("FULLY_CONNECTED", {"weights_format": 1}, "the weights are shuffled"),
        ("SOFTMAX", {"beta": 0.0}, "beta is 0, but must be a positive number"),
        ("SOFTMAX", {"beta": float("nan")}, "beta is nan"),
        ("MEAN", None, "the operator's options are missing"),
    ],
)
def test_bad_options(operator: str, options: dict[str, Any] | None, sentence: str) -> None:
    with pytest.raises(ValueError, match=sentence):
        OPERATORS[operator].attributes(options)


def _reduce(operator: str, x: Tensor, axes: Tensor, y: Tensor, keep_dims: bool = False) -> Case:
    return Case(operator, (x, axes), (y.type,), {"keep_dims": keep_dims})


@pytest.mark.parametrize(
    ("case", "sentence"),
    [
        (
            _reduce("MEAN", tensor("bool", (2, 3)), constant("int32", [1]), tensor("bool", (2,))),
            "an input and an output of one type: float32",
        ),
        (_reduce("SUM", tensor("float32", (2, 3)), tensor("int32", (1,)), tensor("float32", (2,))), "to be constant"),
        (
            _reduce("SUM", tensor("float32", (2, 3)), constant("int64", [1]), tensor("float32", (2,))),
            "axes to be int32",
        ),
        (
            _reduce("SUM", tensor("float32", (2, 3)), constant("int32", [2]), tensor("float32", (2,))),
            "axes within the rank of its input",
        ),
        (_reduce("SUM", tensor("float32", (1,) * 7), constant("int32", [2]), tensor("float32", (1,) * 6)), "at most 6"),
        (
            _reduce("SUM", tensor("float32", (2, 3)), constant("int32", [1]), tensor("float32", (3,))),
            "of the shape that",
        ),
        (
            _reduce("REDUCE_MAX", tensor("int8", (2, 3), 0.5), constant("int32", [1]), tensor("int8", (2,), 0.25)),
            "one scale and zero point for an",
        ),
    ],
)
def test_reductions_refuse(case: Case, sentence: str) -> None:
    (broken,) = broken_rules(case)
    assert sentence in broken


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"x": tensor("int8", (1, 3, 3, 3, 2), 0.5)}, "a float32 input"),
        ({"x": tensor("float32", (3, 3, 3, 2))}, "an input, a filter and an output of 5"),
        ({"w": tensor("float32", (2, 2, 2, 2, 4))}, "the filter to be constant"),
        ({"w": constant("float32", np.ones((2, 2, 2, 3, 4)))}, "as many channels as the input"),
        ({"b": constant("float32", np.zeros(3))}, "one value per output channel"),
        ({"options": {"padding": 1, "dilation_d_factor": 3}}, "fits into the input"),
        ({"y": tensor("float32", (1, 3, 3, 2, 4))}, "an output of the shape that follows from the input"),
    ],
)
def test_conv3d_refuses(changes: dict[str, Any], sentence: str) -> None:
    parts: dict[str, Any] = {
        "x": tensor("float32", (1, 3, 3, 3, 2)),
        "w": constant("float32", np.ones((2, 2, 2, 2, 4))),
        "b": constant("float32", np.zeros(4)),
        "y": tensor("float32", (1, 3, 3, 3, 4)),
        "options": {},
    }
    steps = {f"stride_{axis}": 1 for axis in "dhw"}

    def case(p: dict[str, Any]) -> Case:
        return Case("CONV_3D", (p["x"], p["w"], p["b"]), (p["y"].type,), steps | p["options"])

    assert broken_rules(case(parts)) == []
    (broken,) = broken_rules(case(parts | changes))
    assert sentence in broken


@pytest.mark.parametrize(
    ("dtype", "right", "sentence"),
    [
        ("int16", constant("int8", np.ones((3, 4)), [0.1] * 3, 0, 0), "may have one per column"),
        (
            "int8",
            constant("int8", np.ones((3, 4)), [0.1] * 4, [1, 0, 0, 0], 1),
            "one scale for each int8 and int16 tensor",
        ),
        ("int16", constant("int16", np.ones((3, 4)), [0.1] * 4, 0, 1), "one scale for each"),
        ("float32", constant("int8", np.ones((3, 4)), [0.1] * 3, 0, 0), "may have one per column"),
        ("float32", constant("int8", np.ones((3, 4)), 0.1, 1), "one scale for each int8 and int16 tensor"),
        ("float32", constant("int8", np.ones((3, 4))), "one scale for each int8 and int16 tensor"),
        ("int8", constant("float32", np.ones((3, 4))), "all int8, int16 or float32"),
    ],
)
def test_batch_matmul_refuses(dtype: str, right: Tensor, sentence: str) -> None:
    scale = None if dtype == "float32" else 0.5
    case = make_case("BATCH_MATMUL", [tensor(dtype, (2, 3), scale), right], [tensor(dtype, (), scale)])
    (broken,) = broken_rules(case)
    assert sentence in broken


FC_OPTIONS = {"keep_num_dims": False}


@pytest.mark.parametrize(
    ("x", "w", "y", "options", "sentence"),
    [
        ((2, 6), (4, 3, 2), (2, 4), FC_OPTIONS, "a filter of 2"),
        ((2, 7), (4, 6), (2, 4), FC_OPTIONS, "rows as long as the filter's"),
        ((2, 12), (4, 6), (4, 4), {"keep_num_dims": True}, "with keep_num_dims"),
        ((2, 6), (4, 6), (2, 5), FC_OPTIONS, "one row for each row of the input"),
    ],
)
def test_fully_connected_refuses(
    x: tuple[int, ...], w: tuple[int, ...], y: tuple[int, ...], options: dict[str, Any], sentence: str
) -> None:
    case = Case("FULLY_CONNECTED", (tensor("float32", x), tensor("float32", w)), (tensor("float32", y).type,), options)
    (broken,) = broken_rules(case)
    assert sentence in broken


@pytest.mark.parametrize(
    ("dtype", "w"),
    [
        ("int8", constant("int8", np.ones((4, 6)), [0.1] * 4, 3)),
        ("int16", constant("int8", np.ones((4, 6)), 0.1, 3)),
        ("float32", constant("int8", np.ones((4, 6)), 0.1, 3)),
    ],
)
def test_fully_connected_refuses_zero_points_of_filters(dtype: str, w: Tensor) -> None:
    scale = None if dtype == "float32" else 0.5
    case = make_case("FULLY_CONNECTED", [tensor(dtype, (2, 6), scale), w], [tensor(dtype, (), scale)], FC_OPTIONS)
    (broken,) = broken_rules(case)
    assert broken == "an int8 input, and one zero point for all channels, with a filter whose zero point is not 0"


@pytest.mark.parametrize(
    ("operator", "x", "y", "sentence"),
    [
        ("SOFTMAX", tensor("int8", (1, 4), 0.1), tensor("int8", (1, 4), 0.1, -128), "scale 1/256"),
        ("SOFTMAX", tensor("int8", (1, 4), 0.1), tensor("float32", (1, 4)), "a float32 output for"),
        ("SOFTMAX", tensor("int8", (1, 4), 1e-9), tensor("int8", (1, 4), 1 / 256, -128), "more than 2^-26"),
        ("SOFTMAX", tensor("int8", (1, 5000), 0.1), tensor("int8", (1, 5000), 1 / 256, -128), "at most 4095"),
        ("SOFTMAX", tensor("float32", ()), tensor("float32", ()), "at least 1 dimension"),
        ("SOFTMAX", tensor("float32", (1, 4)), tensor("float32", (4, 1)), "the input's shape"),
        ("LOG_SOFTMAX", tensor("int8", (1, 4), 0.1), tensor("int8", (1, 4), 0.1, 127), "scale 1/16"),
        ("LOG_SOFTMAX", tensor("int8", (1, 4), 64.0), tensor("int8", (1, 4), 1 / 16, 127), "less than 32"),
    ],
)
def test_softmax_refuses(operator: str, x: Tensor, y: Tensor, sentence: str) -> None:
    (broken,) = broken_rules(Case(operator, (x,), (y.type,), {"beta": 1.0}))
    assert sentence in broken


def test_depthwise_multiplies_channels() -> None:
    x, w = tensor("float32", (1, 4, 4, 2)), constant("float32", np.ones((1, 2, 2, 4)))
    good = make_case("DEPTHWISE_CONV_2D", [x, w], [tensor("float32", ())], CONV_OPTIONS)
    assert broken_rules(good) == []
    odd = constant("float32", np.ones((1, 2, 2, 3)))
    (broken,) = broken_rules(replace(good, inputs=(x, odd)))
    assert broken == "filter channels that are a multiple of the input channels"
    stacked = constant("float32", np.ones((2, 2, 2, 4)))
    (broken,) = broken_rules(replace(good, inputs=(x, stacked)))
    assert broken == "a filter with a first dimension of 1"


@pytest.mark.parametrize("y", [tensor("int8", (1, 4, 4, 2), 0.6), tensor("int8", (1, 4, 4, 2), 0.5, 4)])
def test_pools_do_not_requantise(y: Tensor) -> None:
    x: TensorType = tensor("int8", (1, 4, 4, 2), 0.5, 3).type
    options = CONV_OPTIONS | {"filter_height": 2, "filter_width": 2}
    (broken,) = broken_rules(Case("MAX_POOL_2D", (Tensor(x),), (y.type,), options))
    assert broken == "one scale (to 1e-6) and zero point for the input and the output"
