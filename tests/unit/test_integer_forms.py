"""Forms of operators in integers: shared scales, fixed results, and reasons to stay in float."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from tflmgen.frontend.tflite import ModelBuilder
from tflmgen.ir import DType, Quantization
from tflmgen.kernels import OPERATORS, reference_runtimes, traits_of
from tflmgen.quantize.integer_forms import Form, find_form

NO_REAL_RESULTS = ("ARG_MAX", "ARG_MIN", "CAST", "QUANTIZE", "RANK", "SHAPE", "ZEROS_LIKE")
ROW, IMAGE, SIZE = (1, 4), (1, 4, 4, 4), np.array([8, 8], np.int32)


def form_of(name: str, inputs: list[Any], outputs: list[tuple[int, ...]], dtype: DType, **options: Any) -> Form | str:
    """Form of an operator; inputs are shapes of float tensors, or arrays."""
    graph = ModelBuilder().subgraph("main")
    operands = [
        graph.constant(f"c{i}", value) if isinstance(value, np.ndarray) else graph.tensor(f"x{i}", DType.FLOAT32, value)
        for i, value in enumerate(inputs)
    ]
    results = [graph.tensor(f"y{i}", DType.FLOAT32, shape) for i, shape in enumerate(outputs)]
    graph.operator(name, operands, results, options)
    built = graph.build()
    return find_form(built.operators[0], built, dtype)


@pytest.mark.parametrize(
    ("name", "inputs", "outputs", "form"),
    [
        ("ADD", [ROW, ROW], [ROW], Form(DType.INT8, False)),
        ("MAXIMUM", [ROW, ROW], [ROW], Form(DType.INT8, True)),
        ("RESIZE_BILINEAR", [IMAGE, SIZE], [(1, 8, 8, 4)], Form(DType.INT8, True)),
        ("RESIZE_NEAREST_NEIGHBOR", [IMAGE, SIZE], [(1, 8, 8, 4)], Form(DType.INT8, True)),
        ("RESHAPE", [ROW, np.array([4], np.int32)], [(4,)], Form(DType.INT8, True)),
        ("TRANSPOSE", [ROW, np.array([1, 0], np.int32)], [(4, 1)], Form(DType.INT8, True)),
        ("LOGISTIC", [ROW], [ROW], Form(DType.INT8, False, Quantization((1 / 256,), (-128,)))),
        ("TANH", [ROW], [ROW], Form(DType.INT8, False, Quantization((1 / 128,), (0,)))),
        ("FULLY_CONNECTED", [ROW, np.ones((3, 4), np.float32)], [(1, 3)], Form(DType.INT8, False)),
    ],
)
def test_forms_in_int8(name: str, inputs: list[Any], outputs: list[tuple[int, ...]], form: Form) -> None:
    options = {"beta": 1.0} if name == "SOFTMAX" else {}
    assert form_of(name, inputs, outputs, DType.INT8, **options) == form


@pytest.mark.parametrize("name", sorted(OPERATORS))
def test_operators_whose_rules_name_no_scale_have_one(name: str) -> None:
    """Runtimes take any scales of operators whose kernels know none, and give results of another scale then."""
    is_scaled = any("scale" in rule.requirement for rule in OPERATORS[name].rules) or name.startswith("CUSTOM:")
    traits, labels = traits_of(name), (DType.INT8.label, DType.FLOAT32.label)
    if is_scaled or traits.compares or name in NO_REAL_RESULTS or not all(reference_runtimes(name, x) for x in labels):
        return
    assert traits.moves or traits.view or traits.cuts or traits.same_if_typed or traits.ignores_scales


def test_tanh_of_int16_has_its_own_scale() -> None:
    assert form_of("TANH", [ROW], [ROW], DType.INT16) == Form(DType.INT16, False, Quantization((1 / 32768,), (0,)))


@pytest.mark.parametrize(
    ("name", "dtype", "reason"),
    [
        ("ADD_N", DType.INT8, "TFLite Micro's kernel of ADD_N is wrong where the zero point is not 0"),
        ("EXP", DType.INT8, "TFLite Micro has no int8 kernel of EXP"),
        ("DIV", DType.INT8, "TFLite Micro has no int8 kernel of DIV"),
        ("CAST", DType.INT8, "CAST has no form in int8"),
    ],
)
def test_operators_that_stay_in_float(name: str, dtype: DType, reason: str) -> None:
    inputs: list[Any] = [ROW, ROW] if name == "DIV" else [ROW]
    assert form_of(name, inputs, [ROW], dtype) == reason
