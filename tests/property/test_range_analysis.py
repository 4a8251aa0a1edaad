"""What range analysis removes changes no bit; what it says of values holds."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray
from support.case_models import model_bytes
from support.dead_channels import dead_channels
from support.kernel_harness import constant, make_case, tensor
from support.native import Invocation, build_native, run_native
from support.pipeline import compile_bytes
from support.random_program import Seeded, random_inputs, random_program
from tflmgen.frontend.importer import import_model
from tflmgen.frontend.tflite.reader import parse_model
from tflmgen.ir.types import TensorType
from tflmgen.passes.pipeline import run_passes, with_ranges, without_ranges
from tflmgen.passes.range_analysis import analyze_ranges
from tflmgen.reference import Budget, WorkError
from tflmgen.reference.module_interpreter import ModuleInterpreter

COUNT = 10
SETS = 4
MULTIPLES = (1, 2, 4)


def inputs_of(kind: TensorType, rng: np.random.Generator, number: int) -> NDArray[np.generic]:
    """At random; the first two are all least, all greatest."""
    low, high = kind.dtype.limits
    if number < 2:
        return np.full(kind.max_shape, (low, high)[number], kind.dtype.numpy)
    return rng.integers(low, high, kind.max_shape, kind.dtype.numpy, endpoint=True)


def check(dtype: str, seed: int, count: int) -> tuple[int, int]:
    """Compares `count` random models; how many channels and multiply-accumulates range analysis has removed."""
    rng = np.random.default_rng(seed)
    drawn = [dead_channels(rng, dtype) for _ in range(count)]
    pairs = [
        (compile_bytes(data, without_ranges()), compile_bytes(data, with_ranges(MULTIPLES[i % len(MULTIPLES)])))
        for i, (data, _) in enumerate(drawn)
    ]
    models = {
        f"m{i}_{'ab'[j]}": s.sources(f"m{i}_{'ab'[j]}") for i, pair in enumerate(pairs) for j, s in enumerate(pair)
    }
    program = build_native(models)
    calls = []
    for i, (_, kind) in enumerate(drawn):
        for number in range(SETS):
            inputs = (inputs_of(kind, rng, number),)
            calls += [Invocation(2 * i, 0, inputs), Invocation(2 * i + 1, 0, inputs)]
    outputs = run_native(program, calls, [s.program.signatures for pair in pairs for s in pair])
    for number, (output, other) in enumerate(zip(outputs[::2], outputs[1::2], strict=True)):
        for a, b in zip(output, other, strict=True):
            np.testing.assert_array_equal(b, a, err_msg=f"{dtype}, seed {seed}, model {number // SETS}")
    removed = [entry for _, stages in pairs for entry in stages.module.removed]
    return sum(entry.channels for entry in removed), sum(entry.macs for entry in removed)


@pytest.mark.parametrize("dtype", ["int8", "int16"])
def test_dead_channels(dtype: str) -> None:
    channels, macs = check(dtype, 0, COUNT)
    assert channels > 20
    assert macs > 1000


@pytest.mark.sweep
@pytest.mark.parametrize("seed", range(1, 40))
@pytest.mark.parametrize("dtype", ["int8", "int16"])
def test_many_dead_channels(dtype: str, seed: int) -> None:
    check(dtype, seed, 25)


def check_program(seed: int) -> int:
    """That a random program with control flow gives what the analysis says; of how many results it says anything.

    Every other program goes through the passes that come before the analysis: these count the turns of loops.
    """
    module = import_model(parse_model(random_program(Seeded(seed)), "m.tflite"))
    if seed % 2:
        module = run_passes(module, without_ranges())
    ranges, rng, checked = analyze_ranges(module), np.random.default_rng(seed), 0
    for signature in module.signatures:
        function = module.function(signature.function)
        for _ in range(3):
            inputs = random_inputs([(v.type.dtype.label, v.type.max_shape) for v in function.inputs], rng)
            try:
                results = ModuleInterpreter(module, budget=Budget(1e9)).call(function.name, inputs)
            except WorkError:
                continue
            for value, result in zip(function.body.results, results, strict=True):
                interval = ranges.of(value)
                if interval is None or value.is_constant:
                    continue
                rows = np.asarray(result).astype(np.int64).reshape(-1, len(interval.low))
                assert (rows >= interval.low).all(), f"seed {seed}, '{value.name}'"
                assert (rows <= interval.high).all(), f"seed {seed}, '{value.name}'"
                checked += interval.hull != value.type.dtype.limits
    return checked


def test_results_are_in_their_intervals() -> None:
    assert sum(check_program(seed) for seed in range(100)) > 20


@pytest.mark.sweep
@pytest.mark.parametrize("first", range(100, 3000, 100))
def test_results_of_many_are_in_their_intervals(first: int) -> None:
    for seed in range(first, first + 100):
        check_program(seed)


def test_a_second_analysis_finds_nothing_more() -> None:
    rng = np.random.default_rng(7)
    for _ in range(20):
        data, _ = dead_channels(rng, "int8")
        module = run_passes(import_model(parse_model(data, "m.tflite")))
        repeated = run_passes(module)
        assert repeated.functions == module.functions


def test_a_scalar_is_a_row_of_one() -> None:
    """FULLY_CONNECTED of a tensor without dimensions."""
    weights = constant("int8", np.array([[3], [-9], [100]]), 0.02)
    case = make_case("FULLY_CONNECTED", [tensor("int8", (), 0.1, 3), weights, None], [tensor("int8", (1, 3), 0.1, 3)])
    module = import_model(parse_model(model_bytes(case), "scalar.tflite"))
    interval = analyze_ranges(module).of(module.functions[0].body.results[0])
    assert interval is not None
    assert interval.low.tolist() == [-5, -19, -128]
    assert interval.high.tolist() == [10, 27, 127]
