"""The product's reference (reference/) equals TFLite Micro, else LiteRT, on random cases of every operator."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
from support.case_models import model_bytes
from support.differential import Family, NoReferenceError, draw, is_empty, reference
from support.random_chain import random_chain
from tflmgen.frontend.tflite.reader import parse_model
from tflmgen.kernels import OPERATORS
from tflmgen.reference import Interpreter, UnsupportedError
from tflmgen.reference.definitions.evaluations import EVALUATIONS

from differential import elementwise, keyed, mixed, movement, picking, randoms, recurrent, reduction, rescaled, weighted

pytest.importorskip("tflite_micro", reason="tflite-micro is the reference")
from tflite_micro.python.tflite_micro import runtime

ROOMS = (elementwise, keyed, mixed, movement, picking, randoms, recurrent, reduction, rescaled, weighted)
STEP_FAMILIES = recurrent.FAMILIES
FAMILIES = [family for room in ROOMS for family in room.FAMILIES if isinstance(family, Family)]
NOT_EVALUATED = "CUSTOM:"
"""Prefix of operators that the reference leaves out: validation says so."""


def test_every_operator_of_the_table_is_evaluated() -> None:
    assert {name for name in OPERATORS if not name.startswith(NOT_EVALUATED)} <= set(EVALUATIONS)


def compare(family: Family, dtype: str, seed: int) -> str:
    """ "equal", or why the case says nothing. Fails where the outputs differ."""
    rng = np.random.default_rng([seed, *family.operator.encode()])
    case, values = draw(family, dtype, rng)
    if is_empty(case):
        return "empty"
    try:
        _, expected = reference(family, case, values)
    except NoReferenceError:
        return "no reference"
    updates = OPERATORS[case.operator].updates
    files = len(case.without_state.inputs)
    inputs = [v for i, v in enumerate(values[:files]) if v is not None and i not in updates]
    try:
        outputs = Interpreter(parse_model(model_bytes(case.without_state), "case.tflite")).invoke(None, inputs)
    except UnsupportedError:
        return "not evaluated"
    for got, want in zip(outputs, expected, strict=False):
        rtol, atol = (max(family.rtol, 2e-5), max(family.atol, 1e-5)) if want.dtype.kind == "f" else (0.0, 0.0)
        np.testing.assert_allclose(got, want, rtol, atol, err_msg=f"{seed}: {case}")
    return "equal"


@pytest.mark.parametrize("count", [1, pytest.param(60, marks=pytest.mark.sweep)])
def test_random_cases(count: int) -> None:
    results: Counter[str] = Counter()
    for family in FAMILIES:
        for dtype in family.types:
            results.update(compare(family, dtype, seed) for seed in range(count))
    print(f"reference: {dict(results)}")
    assert results["equal"] > 0.7 * results.total()


@pytest.mark.parametrize("count", [2, pytest.param(40, marks=pytest.mark.sweep)])
def test_layers_with_state(count: int) -> None:
    """Step after step on one interpreter."""
    results: Counter[str] = Counter()
    for family in STEP_FAMILIES:
        results.update(compare_steps(family, seed) for seed in range(count))
    print(f"reference: {dict(results)}")
    assert results["equal"] > 0.5 * results.total()


def compare_steps(family: recurrent.StepFamily, seed: int) -> str:
    case, inputs = family.make(np.random.default_rng([seed, *family.name.encode()]))
    interpreter = Interpreter(parse_model(model_bytes(case.without_state), "case.tflite"))
    for step, (value, want) in enumerate(zip(inputs, family.reference(case, inputs), strict=True)):
        try:
            got = interpreter.invoke(None, [value])[0]
        except UnsupportedError:
            return "not evaluated"
        tolerance = family.tolerance if want.dtype.kind == "f" else {"rtol": 0, "atol": 0}
        np.testing.assert_allclose(got, want, **tolerance, err_msg=f"{family.name} {seed}, step {step}: {case}")
    return "equal"


@pytest.mark.parametrize("seeds", [range(10), pytest.param(range(10, 200), marks=pytest.mark.sweep)], ids=len)
def test_random_networks(seeds: range) -> None:
    for seed in seeds:
        data, rng = random_chain(seed), np.random.default_rng(seed)
        model = parse_model(data, "network.tflite")
        graph = model.subgraphs[0]
        values = rng.integers(-128, 128, graph.tensors[graph.inputs[0]].shape).astype(np.int8)
        interpreter = runtime.Interpreter.from_bytes(data, arena_size=1_000_000)
        interpreter.set_input(values, 0)
        interpreter.invoke()
        np.testing.assert_array_equal(
            Interpreter(model).invoke(None, [values])[0], interpreter.get_output(0), str(seed)
        )
