"""Errors of a model against float, one web at a time, and the search for types: on a loop that a comparison ends."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from support.quantize_models import decaying_loop, f32
from tflmgen.frontend import TensorKey
from tflmgen.frontend.tflite import Model, ModelBuilder
from tflmgen.input_sets import Vectors, VectorSet
from tflmgen.ir import DType, Quantization
from tflmgen.quantize import compare_runs, observed_build, run_sets, type_search
from tflmgen.quantize.calibration import measure
from tflmgen.quantize.observed_build import ObservedBuild
from tflmgen.quantize.output_errors import rows_that_agree
from tflmgen.quantize.range_choice import Affine, RangeMethod
from tflmgen.quantize.sensitivity import measure_sensitivity, web_values
from tflmgen.quantize.type_search import (
    ErrorLimits,
    TypeChoice,
    TypeTrials,
    choose_types,
    evaluate,
    most_models,
    promotion_order,
)

SETS = 12
LOOP = (2, 0), (2, 2), (0, 2)
"""The loop variable, what the body makes of it, and the loop's result: one web."""


def vectors() -> Vectors:
    rng = np.random.default_rng(1)
    return Vectors(tuple(VectorSet("", 0, (f32(rng.normal(0, 8, (1, 4))), f32([1]))) for _ in range(SETS)))


@pytest.fixture(scope="module")
def build() -> Iterator[ObservedBuild]:
    with observed_build(decaying_loop()) as loaded:
        yield loaded


def steps_of(width: float) -> Affine:
    return Affine(width, 0, -128, 127)


def test_a_run_without_changes_has_no_error(build: ObservedBuild) -> None:
    reference, repeated = run_sets(build, vectors()), run_sets(build, vectors())
    evaluation = compare_runs(build, vectors(), reference, repeated, build.model)
    assert (evaluation.max_abs, evaluation.sqnr_db) == (0, float("inf"))
    assert (evaluation.agreement, evaluation.branch_agreement) == (1, 1)
    assert [(d.operator, d.total) for d in evaluation.decisions] == [((0, 0), SETS), ((0, 3), SETS)]


def test_errors_are_those_of_the_outputs_themselves(build: ObservedBuild) -> None:
    reference, run = run_sets(build, vectors()), run_sets(build, vectors(), {(0, 6): steps_of(0.25)})
    evaluation = compare_runs(build, vectors(), reference, run, build.model)
    exact, rounded = (np.stack([outputs[0] for outputs in r.outputs]).astype(float) for r in (reference, run))
    assert evaluation.max_abs == 0  # the If's output is what the branches compute: nothing writes it
    run = run_sets(build, vectors(), {(3, 1): steps_of(0.25), (4, 1): steps_of(0.25)})
    rounded = np.stack([outputs[0] for outputs in run.outputs]).astype(float)
    np.testing.assert_array_equal(rounded, np.round(exact * 4) / 4)
    evaluation = compare_runs(build, vectors(), reference, run, build.model)
    assert evaluation.max_abs == np.abs(rounded - exact).max()
    noise = ((rounded - exact) ** 2).sum()
    assert evaluation.sqnr_db == pytest.approx(10 * np.log10((exact**2).sum() / noise))
    agreeing = (rounded.argmax(axis=-1) == exact.argmax(axis=-1)).mean()
    assert evaluation.agreement == pytest.approx(agreeing)


@pytest.mark.parametrize(
    ("shape", "agreeing"),
    [((1, 4), 0), ((2, 4), 1), ((1, 2, 4), 1), ((2, 2, 4), None), ((1, 1), None)],
    ids=["classes", "batch", "sequence", "image", "number"],
)
def test_rows_are_compared(shape: tuple[int, ...], agreeing: int | None) -> None:
    """The last row's largest element is elsewhere."""
    wanted = np.tile(np.arange(shape[-1], dtype=np.float64), (*shape[:-1], 1))
    got = wanted.copy()
    got.reshape(-1, shape[-1])[-1, 0] = 9
    rows = rows_that_agree(wanted, got)
    assert rows == ([] if agreeing is None else [True] * agreeing + [False])


def test_flipped_decisions_are_counted(build: ObservedBuild) -> None:
    """With steps of 4 the loop variable becomes 0 early, or never gets from 4 to 2."""
    reference, run = run_sets(build, vectors()), run_sets(build, vectors(), dict.fromkeys(LOOP, steps_of(1.5)))
    evaluation = compare_runs(build, vectors(), reference, run, build.model)
    trips = [a != b for a, b in zip(reference.decisions[0, 0], run.decisions[0, 0], strict=True)]
    sides = [a != b for a, b in zip(reference.decisions[0, 3], run.decisions[0, 3], strict=True)]
    assert sum(trips) > 0
    assert [d.differing for d in evaluation.decisions] == [sum(trips), sum(sides)]
    assert evaluation.branch_agreement == pytest.approx(1 - (sum(trips) + sum(sides)) / (2 * SETS))


def test_webs_that_flip_decisions_are_promoted_first(build: ObservedBuild) -> None:
    calibration = measure(build, vectors())
    webs = web_values(calibration, {(0, 0): [(0, 0)], LOOP[0]: list(LOOP), (3, 1): [(3, 1), (4, 1)], (1, 9): [(1, 9)]})
    assert (1, 9) not in webs
    measured = measure_sensitivity(build, vectors(), list(webs.values()), methods=tuple(RangeMethod))
    assert len(measured) == 3 * len(RangeMethod)
    by_min_max = [s for s in measured if s.method is RangeMethod.MIN_MAX]
    flips = {s.root: s.evaluation.branch_agreement for s in by_min_max}
    order = promotion_order(webs, by_min_max, {})
    assert sorted(order) == sorted(webs)
    assert [flips[root] for root in order] == sorted(flips.values())
    last = order[-1]
    tied = [replace(s, root=root, evaluation=by_min_max[0].evaluation) for root in order for s in by_min_max[:1]]
    assert promotion_order(webs, tied, dict.fromkeys(order, 9) | {last: 3})[0] == last, "the cheapest of equal gain"


def _rounded_model(widths: Mapping[str, float]) -> Model:
    """x -> x + a + b, with x, a and b rounded to steps of these widths."""
    builder = ModelBuilder("sum", name="sum.tflite")
    graph = builder.subgraph("main")
    names = ("x", "a", "b")
    tensors = [graph.tensor(name, DType.FLOAT32, (1, 4)) for name in names]
    graph.inputs = tensors
    rounded = []
    for name, tensor in zip(names, tensors, strict=True):
        if widths.get(name):
            integer = graph.tensor(f"{name}_q", DType.INT16, (1, 4), Quantization((widths[name],), (0,)))
            real = graph.tensor(f"{name}_r", DType.FLOAT32, (1, 4))
            graph.operator("QUANTIZE", [tensor], [integer])
            graph.operator("DEQUANTIZE", [integer], [real])
            tensor = real
        rounded.append(tensor)
    half, y = graph.tensor("half", DType.FLOAT32, (1, 4)), graph.tensor("y", DType.FLOAT32, (1, 4))
    graph.operator("ADD", rounded[:2], [half])
    graph.operator("ADD", [half, rounded[2]], [y])
    graph.outputs = [y]
    return builder.model()


WIDTHS = {DType.INT8: 1 / 16, DType.INT16: 1 / 4096, DType.FLOAT32: 0.0}
ROOTS: dict[TensorKey, str] = {(0, 0): "x", (0, 1): "a", (0, 2): "b"}


def quantized(wanted: Mapping[TensorKey, DType]) -> Model:
    return _rounded_model({name: WIDTHS[wanted.get(root, DType.INT8)] for root, name in ROOTS.items()})


def scaled_inputs(scales: tuple[float, float, float]) -> Vectors:
    rng = np.random.default_rng(2)
    draws: list[list[NDArray[Any]]] = [[f32(rng.uniform(-s, s, (1, 4))) for s in scales] for _ in range(8)]
    return Vectors(tuple(VectorSet("", 0, tuple(draw)) for draw in draws))


@pytest.mark.parametrize(
    ("max_error", "expected"),
    [
        (0.2, {}),
        (0.05, {DType.INT16: 2}),  # of three webs with errors up to 1/32 each, one may stay
        (0.005, {DType.INT16: 3}),
        (1e-5, {DType.FLOAT32: 3}),
        (0.0, {DType.FLOAT32: 3}),
    ],
)
def test_the_search_takes_as_few_wide_webs_as_the_limit_wants(max_error: float, expected: dict[DType, int]) -> None:
    held_out, tried, shares = scaled_inputs((1, 1, 1)), [], []

    def quantize(wanted: Mapping[TensorKey, DType]) -> Model:
        tried.append(dict(wanted))
        return quantized(wanted)

    with observed_build(_rounded_model({})) as build:
        webs = web_values(measure(build, held_out), {root: [root] for root in ROOTS})
        measured = measure_sensitivity(build, held_out, list(webs.values()))
        limits, total = ErrorLimits(max_error, None), most_models(len(webs))
        trials = TypeTrials(build, held_out, quantize, limits, lambda *share: shares.append(share[1:]), total)
        choice = choose_types(trials, webs, lambda: measured)
        dtypes = list(choice.wanted.values())
        assert {dtype: dtypes.count(dtype) for dtype in set(dtypes)} == expected
        assert choice.is_within
        assert choice.evaluation.max_abs <= max_error
        evaluation = evaluate(build, run_sets(build, held_out), quantized(choice.wanted), held_out)
        assert evaluation == choice.evaluation
    assert all(tried.count(wanted) == 1 for wanted in tried)
    assert shares == [(done, total) for done in range(len(tried))]
    assert len(tried) <= total


@pytest.mark.parametrize(
    ("coarse", "step", "costs", "expected"),
    [
        ((0, 2), 1 / 16, (1, 1, 100), {(0, 0): DType.INT16, (0, 1): DType.INT16, (0, 2): DType.FLOAT32}),
        ((0, 0), 1 / 4096, (1, 100, 100), {(0, 0): DType.FLOAT32}),
    ],
    ids=["int16 for float32", "int8 for int16"],
)
def test_a_web_in_float32_makes_no_others_wider_than_they_need(
    coarse: TensorKey,
    step: float,
    costs: tuple[int, int, int],
    expected: dict[TensorKey, DType],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The web `coarse` has steps of 1/16 in int16, too. It ranks last or first, by costs; the others have `step` in
    int8. The second case has no removals, as if the model had hundreds of webs.
    """
    if len(expected) == 1:
        monkeypatch.setattr(type_search, "_MAX_REMOVALS", 0)

    def width(root: TensorKey, dtype: DType) -> float:
        if dtype is DType.FLOAT32:
            return 0.0
        return 1 / 16 if root == coarse else {DType.INT8: step, DType.INT16: 1 / 4096}[dtype]

    def quantize(wanted: Mapping[TensorKey, DType]) -> Model:
        return _rounded_model({name: width(root, wanted.get(root, DType.INT8)) for root, name in ROOTS.items()})

    held_out = scaled_inputs((1, 1, 1))
    with observed_build(_rounded_model({})) as build:
        webs = web_values(measure(build, held_out), {root: [root] for root in ROOTS})
        measured = measure_sensitivity(build, held_out, list(webs.values()))
        by_root = dict(zip(ROOTS, costs, strict=True))
        choice = choose_types(
            TypeTrials(build, held_out, quantize, ErrorLimits(0.01, None)), webs, lambda: measured, by_root
        )
    assert choice.is_within
    assert choice.wanted == expected


def test_limits_of_nobody_s_leave_most_of_the_work_in_integers() -> None:
    held_out = scaled_inputs((1, 1, 1))
    with observed_build(_rounded_model({})) as build:
        webs = web_values(measure(build, held_out), {root: [root] for root in ROOTS})
        measured = measure_sensitivity(build, held_out, list(webs.values()))
        reference = run_sets(build, held_out)
        in_int16 = evaluate(build, reference, quantized(dict.fromkeys(ROOTS, DType.INT16)), held_out)

        def chosen(costs: tuple[int, int, int], limits: ErrorLimits) -> TypeChoice:
            by_root = dict(zip(ROOTS, costs, strict=True))
            return choose_types(TypeTrials(build, held_out, quantized, limits), webs, lambda: measured, by_root)

        required = chosen((1, 1, 1), ErrorLimits(1e-5, None))
        assert set(required.wanted.values()) == {DType.FLOAT32}
        choice = chosen((1, 1, 1), ErrorLimits(1e-5, 0.99, is_required=False))
        assert DType.FLOAT32 not in choice.wanted.values()
        assert not choice.is_within  # of the limits that were given up
        assert choice.evaluation.agreement >= in_int16.agreement
