"""Scales from 1e-30 to 1e30 and zero points at both ends, of every operator that has them, on every kind of core."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

import numpy as np
import pytest
from support.case_models import model_bytes
from support.differential import Family, Run, draw, is_empty
from support.extreme_scales import ELEMENTS, at_the_ends
from support.kernel_harness import Array, Case, broken_rules, make_case, run_kernels, run_tflm, tensor
from tflmgen.compiler import compile_module
from tflmgen.frontend.importer import import_model
from tflmgen.frontend.tflite.reader import parse_model
from tflmgen.ir.kernel import Kernel, Target
from tflmgen.options import BuildOptions
from tflmgen.reference import Interpreter

from differential import elementwise, mixed, recurrent, reduction, rescaled, weighted

TARGETS = (
    Target("host"),
    Target("cortex-m0plus"),
    Target("cortex-m4", frozenset({"dsp", "fpu"})),
    Target("cortex-m55", frozenset({"dsp", "mve", "fpu"})),
)
ROOMS = (elementwise, mixed, reduction, rescaled, weighted)
FAMILIES = [family for room in ROOMS for family in room.FAMILIES if isinstance(family, Family)]


def is_quantized(case: Case) -> bool:
    kinds = [t.type for t in case.inputs if t] + list(case.outputs)
    return any(kind.quantization and kind.dtype in ELEMENTS for kind in kinds)


def drawn(seed: int, count: int) -> Iterator[Run]:
    """Cases that the rules let through; what they refuse is an error of the model, with its place."""
    for family in FAMILIES:
        for dtype in family.types:
            rng = np.random.default_rng([seed, *family.operator.encode(), *dtype.encode()])
            for _ in range(count):
                case, values = draw(family, dtype, rng)
                case = at_the_ends(rng, case) if is_quantized(case) else case
                if is_quantized(case) and not broken_rules(case) and not is_empty(case):
                    yield case, values


def build(case: Case, target: Target) -> None:
    """The operator alone with its proof; an InternalError says what the proof does not accept."""
    module = import_model(parse_model(model_bytes(case), "case.tflite"))
    compile_module(module, "case", target, BuildOptions())


def check_outputs(runs: list[Run]) -> None:
    """The portable kernels equal the reference."""
    plain = [run for run in runs if isinstance(run[0].kernel, Kernel)]
    for (case, values), outputs in zip(plain, run_kernels(plain), strict=True):
        inputs = [value for value in values if value is not None]
        expected = Interpreter(parse_model(model_bytes(case), "case.tflite")).invoke(None, inputs)
        for got, want in zip(outputs, expected, strict=True):
            if divides_by_zero(case, values):
                continue
            tolerance = (2e-5, 1e-5) if want.dtype.kind == "f" else (0.0, 0.0)
            np.testing.assert_allclose(got.reshape(-1), want.reshape(-1), *tolerance, err_msg=str(case))


def divides_by_zero(case: Case, values: list[Array | None]) -> bool:
    """Whether a DIV has a divisor of 0, for which no result is defined."""
    if case.operator != "DIV":
        return False
    item = case.inputs[1]
    assert item is not None
    divisor = values[1] if item.data is None else item.data
    point = item.type.quantization.zero_point if item.type.quantization else 0
    return divisor is not None and bool((divisor == point).any())


def test_a_sample_of_every_operator() -> None:
    runs = list(drawn(0, 2))
    for place, (case, _) in enumerate(runs):
        build(case, TARGETS[place % len(TARGETS)])
    assert len({case.operator for case, _ in runs}) > 50
    check_outputs(runs[::5])


@pytest.mark.sweep
@pytest.mark.parametrize("seed", range(1, 9))
def test_many_of_every_operator(seed: int) -> None:
    runs = list(drawn(seed, 12))
    for case, _ in runs:
        for target in TARGETS:
            build(case, target)
    for start in range(0, len(runs), 150):
        check_outputs(runs[start : start + 150])


def test_recurrent_layers() -> None:
    built = Counter[str]()
    for family in recurrent.FAMILIES:
        rng = np.random.default_rng([3, *family.name.encode()])
        for place in range(8):
            case = at_the_ends(rng, family.make(rng)[0])
            if is_quantized(case) and not broken_rules(case):
                build(case, TARGETS[place % len(TARGETS)])
                built[family.operator] += 1
    assert built["UNIDIRECTIONAL_SEQUENCE_LSTM"]
    assert built["SVDF"]


@pytest.mark.parametrize("operator", ["SOFTMAX", "LOGISTIC", "TANH"])
def test_a_mask_in_the_range_of_what_is_normalised(operator: str) -> None:
    """As TensorFlow quantises masked attention: one step of the input is millions. Equal to TFLite Micro."""
    pytest.importorskip("tflite_micro", reason="tflite-micro is the reference")
    output = tensor("int8", (), *(1 / 128, 0) if operator == "TANH" else (1 / 256, -128))
    options = {"beta": 1.0} if operator == "SOFTMAX" else {}
    values = np.clip(np.random.default_rng(2).integers(-300, 300, (5, 6)), -128, 127).astype(np.int8)
    runs: list[Run] = []
    for scale in (1e-7, 4.0, 16.0, 100.0, 3.9e6, 1e30):
        for point in (-128, 0, 127):
            runs.append((make_case(operator, [tensor("int8", (5, 6), scale, point)], [output], options), [values]))
            build(runs[-1][0], TARGETS[0])
    for (case, _), (got,) in zip(runs, run_kernels(runs), strict=True):
        np.testing.assert_array_equal(got, run_tflm(case, [values])[0], err_msg=str(case))
