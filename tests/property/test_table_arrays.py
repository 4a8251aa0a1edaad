"""Maps, layouts, paddings and thresholds: the operator's own are accepted, each changed element is refused."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest
from differential.mixed import batch_matmul, by_blocks, embedding_lookup, per_column
from support.conv_cases import conv2d, conv3d, depthwise_conv2d, fully_connected, with_int4_filter
from support.kernel_harness import Case, Tensor, constant, make_case, tensor
from support.mutate_packing import packing_of
from support.recurrent_cases import fixed_lstm, float_lstm, quantized_lstm, svdf
from tflmgen.ir import DType, Quantization, TensorType
from tflmgen.ir.kernel import ConstantArray, Kernel, OperatorInstance
from tflmgen.ir.kernel.call import Target
from tflmgen.kernels import OPERATORS
from tflmgen.kernels.operators.dynamic_rows import Filler
from tflmgen.proof.array_calls import ArrayCall
from tflmgen.proof.layer_arrays import arrays_problem
from tflmgen.proof.layer_numbers import layer_numbers

HOST = Target(core="host")
SOFT = Target(core="cortex-m0")
"""Without floating-point instructions."""

BLOCKS = (constant("int32", [2, 2]), constant("int32", [[1, 0], [0, 1]]))
PADS = constant("int32", [[0, 0], [1, 2], [0, 1], [0, 0]])


def image(dtype: str = "int8", shape: Sequence[int] = (1, 3, 5, 2)) -> Tensor:
    return tensor(dtype, shape, None if dtype in ("float32", "int32") else 0.1, 7 if dtype == "int8" else 0)


def transform(name: str, dtype: str) -> Case:
    """Of 16 real numbers: radix 4, and 2 inside; of 64 in int32."""
    length = 64 if dtype == "int32" else 16
    shapes = [(2, length), (2, length + 2)] if name == "SignalRfft" else [(2, length + 2), (2, length)]
    options = {"fft_length": length, "T": 0}
    return make_case(f"CUSTOM:{name}", [tensor(dtype, shapes[0])], [tensor(dtype, shapes[1])], options)


def several(count: int, dtype: str) -> list[Tensor]:
    return [image(dtype) for _ in range(count)]


CASES = {
    "pad int8": lambda: make_case("PAD", [image(), PADS], [image()]),
    "pad int16": lambda: make_case("PAD", [image("int16"), PADS], [image("int16")]),
    "pad float": lambda: make_case("PAD", [image("float32"), PADS], [image("float32")]),
    "space to batch int8": lambda: make_case("SPACE_TO_BATCH_ND", [image(), *BLOCKS], [image()]),
    "space to batch float": lambda: make_case("SPACE_TO_BATCH_ND", [image("float32"), *BLOCKS], [image("float32")]),
    "zeros": lambda: make_case("ZEROS_LIKE", [image("int32")], [image("int32")]),
    "shape": lambda: make_case("SHAPE", [image()], [tensor("int32", (4,))], {"out_type": 2}),
    "rank": lambda: make_case("RANK", [image()], [tensor("int32", ())]),
    "mirror int8": lambda: make_case("MIRROR_PAD", [image(), PADS], [image()], {"mode": 1}),
    "reflect float": lambda: make_case("MIRROR_PAD", [image("float32"), PADS], [image("float32")], {"mode": 0}),
    "nearest int8": lambda: make_case("RESIZE_NEAREST_NEIGHBOR", [image(), constant("int32", [7, 3])], [image()]),
    "nearest int16": lambda: make_case(
        "RESIZE_NEAREST_NEIGHBOR", [image("int16"), constant("int32", [2, 9])], [image("int16")]
    ),
    "concatenation": lambda: make_case("CONCATENATION", several(3, "int8"), [image()], {"axis": -1}),
    "pack": lambda: make_case("PACK", several(2, "float32"), [image("float32")], {"axis": 2, "values_count": 2}),
    "unpack": lambda: make_case("UNPACK", [image("float32")], several(5, "float32"), {"axis": 2, "num": 5}),
    "split": lambda: make_case("SPLIT", [constant("int32", 3), image()], several(2, "int8"), {"num_splits": 2}),
    "split in two": lambda: make_case(
        "SPLIT_V", [image(), constant("int32", [1, 4]), constant("int32", 2)], several(2, "int8"), {"num_splits": 2}
    ),
    "add n int8": lambda: make_case("ADD_N", several(3, "int8"), [tensor("int8", (1, 3, 5, 2), 0.2, -9)]),
    "add n float": lambda: make_case("ADD_N", several(3, "float32"), [image("float32")]),
    "logarithm": lambda: make_case(
        "CUSTOM:SignalFilterBankLog",
        [tensor("uint32", (9,))],
        [tensor("int16", (9,))],
        {"input_correction_bits": 3, "output_scale": 1600},
    ),
    "Fourier int16": lambda: transform("SignalRfft", "int16"),
    "Fourier int32": lambda: transform("SignalRfft", "int32"),
    "Fourier float": lambda: transform("SignalRfft", "float32"),
    "inverse Fourier int16": lambda: transform("SignalIrfft", "int16"),
    "inverse Fourier int32": lambda: transform("SignalIrfft", "int32"),
    "inverse Fourier float": lambda: transform("SignalIrfft", "float32"),
    "bilinear int8": lambda: make_case("RESIZE_BILINEAR", [image(), constant("int32", [7, 3])], [image()]),
    "bilinear float": lambda: make_case(
        "RESIZE_BILINEAR",
        [image("float32"), constant("int32", [5, 9])],
        [image("float32")],
        {"half_pixel_centers": True},
    ),
    "bilinear, corners aligned": lambda: make_case(
        "RESIZE_BILINEAR", [image("float32"), constant("int32", [5, 2])], [image("float32")], {"align_corners": True}
    ),
    "quantize on a core without floats": lambda: replace(
        make_case("QUANTIZE", [image("float32", (40, 40))], [image("int8", (40, 40))]), target=SOFT
    ),
}


def filled() -> tuple[OperatorInstance, Kernel]:
    """Rows out of use become the zero point."""
    rows, extent = TensorType(DType.INT8, (6, 4)), TensorType(DType.INT32, ())
    op = OperatorInstance((rows, extent), (rows,), (None, None), Filler(-7, 0))
    kernel = OPERATORS["FILL_ROWS"].kernel(op, HOST)
    assert isinstance(kernel, Kernel)
    return op, kernel


def problem(operator: str, op: OperatorInstance, kernel: Kernel, arrays: dict[int, bytes]) -> str | None:
    """What the proof says of a kernel with other bytes at some arguments."""
    own = packing_of(operator, op, kernel).data
    data = tuple(arrays.get(i, contents) for i, contents in enumerate(own))
    try:
        return arrays_problem(kernel.header, ArrayCall(operator, op, kernel.function, data))
    except ValueError as error:
        return str(error)


def check(operator: str, op: OperatorInstance, kernel: Kernel) -> None:
    assert problem(operator, op, kernel, {}) == ""
    mutants = 0
    for argument, array in enumerate(kernel.operands):
        if not isinstance(array, ConstantArray):
            continue
        elements = np.frombuffer(array.data, array.dtype.numpy)
        for change in (1, -1):
            for at in range(len(elements)):
                changed = elements.copy()
                changed[at] += np.array(change).astype(changed.dtype)
                assert problem(operator, op, kernel, {argument: changed.tobytes()}), (argument, at, change)
                mutants += 1
        assert problem(operator, op, kernel, {argument: np.append(elements, elements[-1]).tobytes()})
    assert mutants >= 2


RECURRENT = {
    "int8 LSTM": lambda rng: quantized_lstm(rng, "int8"),
    "int16 LSTM": lambda rng: quantized_lstm(rng, "int16"),
    "int8 LSTM with variants": lambda rng: fixed_lstm(rng, "UNIDIRECTIONAL_SEQUENCE_LSTM"),
    "float LSTM": lambda rng: float_lstm(rng, False),
    "float LSTM with variants": lambda rng: float_lstm(rng, True),
    "hybrid LSTM with variants": lambda rng: float_lstm(rng, True, hybrid=True),
    "int8 SVDF": lambda rng: svdf(rng, "int8"),
    "int16 SVDF": lambda rng: svdf(rng, "int16"),
    "hybrid SVDF": lambda rng: svdf(rng, "hybrid"),
}


WEIGHTED = {
    "CONV_3D": lambda rng: conv3d(rng, "float32"),
    "hybrid convolution": lambda rng: conv2d(rng, "hybrid"),
    "hybrid depthwise": lambda rng: depthwise_conv2d(rng, "hybrid"),
    "hybrid fully connected": lambda rng: fully_connected(rng, "hybrid"),
    "int4 convolution": lambda rng: with_int4_filter(rng, conv2d(rng, "hybrid")),
    "int4 fully connected": lambda rng: with_int4_filter(rng, fully_connected(rng, "hybrid")),
    "scales by blocks": lambda rng: by_blocks(rng, "float32"),
    "hybrid product": lambda rng: batch_matmul(rng, "float32"),
    "int8 product with scales of columns": lambda rng: per_column(rng, "int8"),
    "int16 product with scales of columns": lambda rng: per_column(rng, "int16"),
    "int8 table as floats": lambda rng: embedding_lookup(rng, "int8"),
    "int4 table as floats": lambda rng: embedding_lookup(rng, "int4"),
}

PARTLY_CONSTANT = {
    "CONV_2D": lambda rng: conv2d(rng, "int8"),
    "CONV_2D int4": lambda rng: with_int4_filter(rng, conv2d(rng, "int8")),
    "DEPTHWISE_CONV_2D": lambda rng: depthwise_conv2d(rng, "int8"),
    "DEPTHWISE_CONV_2D int16": lambda rng: depthwise_conv2d(rng, "int16"),
    "FULLY_CONNECTED int4": lambda rng: with_int4_filter(rng, fully_connected(rng, "int8")),
}
"""Layers whose filter or bias may come at run time."""


@pytest.mark.parametrize("name", PARTLY_CONSTANT)
def test_changed_numbers_of_layers_that_are_partly_constant_are_refused(name: str) -> None:
    layers = 0
    for seed in range(60):
        case, _ = PARTLY_CONSTANT[name](np.random.default_rng(seed))
        has_arrays = any(isinstance(operand, ConstantArray) for operand in case.kernel.operands)
        if has_arrays and layer_numbers(case.operator, case.instance) is None:
            check(case.operator, case.instance, case.kernel)
            layers += 1
    assert layers > 1


@pytest.mark.parametrize("name", WEIGHTED)
def test_changed_scales_are_refused(name: str) -> None:
    layers = 0
    for seed in range(8):
        case, _ = WEIGHTED[name](np.random.default_rng(seed))
        if any(isinstance(operand, ConstantArray) for operand in case.kernel.operands):
            check(case.operator, case.instance, case.kernel)
            layers += 1
    assert layers > 1


@pytest.mark.parametrize("name", RECURRENT)
def test_changed_numbers_of_recurrent_layers_are_refused(name: str) -> None:
    for seed in range(6):
        case, _ = RECURRENT[name](np.random.default_rng(seed))
        check(case.operator, case.instance, case.kernel)


@pytest.mark.parametrize("name", CASES)
def test_changed_elements_are_refused(name: str) -> None:
    case: Case = CASES[name]()
    kernel = case.kernel
    if not any(isinstance(operand, ConstantArray) for operand in kernel.operands):
        kernel = next(other.kernel for other in case.choice_for(case.target).alternatives)
    check(case.operator, case.instance, kernel)


def test_a_changed_filler_is_refused() -> None:
    check("FILL_ROWS", *filled())


@pytest.mark.parametrize(("source", "output"), [("int8", "int8"), ("int8", "int16"), ("int16", "int16")])
def test_changed_exponentials_of_rows_in_use_are_refused(source: str, output: str) -> None:
    scale, point = {"int8": (1 / 256, -128), "int16": (1 / 65536, -32768)}[output]
    if source == "int16":
        scale, point = 1 / 32768, 0
    types = [
        TensorType(DType[dtype.upper()], (2, 5), Quantization((s,), (p,)))
        for dtype, s, p in ((source, 0.05, 3 if source == "int8" else 0), (output, scale, point))
    ]
    extent = TensorType(DType.INT32, ())
    beta = OPERATORS["SOFTMAX"].attributes({"beta": 1.0})
    op = OperatorInstance((types[0], extent), (types[1],), (None, None), beta)
    kernel = OPERATORS["SOFTMAX_IN_USE"].kernel(op, HOST)
    assert isinstance(kernel, Kernel)
    check("SOFTMAX_IN_USE", op, kernel)
