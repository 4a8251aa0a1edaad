"""Quantised uint8 networks against LiteRT's uint8 kernels: every operator that becomes an int8 one, and chains of them.

The cases are those of int8 with each code and zero point 128 more, and weights with any zero point.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest
from support.case_models import model_bytes
from support.differential import Family, Rng, Run, draw, is_empty
from support.kernel_harness import Array, Case, Tensor
from support.litert import run_litert, run_litert_model
from support.model_writer import ModelWriter
from support.native import Invocation, build_native, run_native
from support.pipeline import compile_bytes
from tflmgen.frontend.model_graph import weight_places
from tflmgen.frontend.unsigned_tensors import SIGNED_OPERATORS
from tflmgen.ir.types import DType, TensorType

from differential import elementwise, mixed, picking, reduction, rescaled, weighted

pytest.importorskip("ai_edge_litert", reason="ai-edge-litert is the reference")

OFFSET = 128
STEPS_APART = {"RESIZE_BILINEAR": 1, "L2_NORMALIZATION": 1}
"""Operators whose uint8 kernels in LiteRT round otherwise than its int8 kernels -> steps of the output."""
MODULES = (elementwise, mixed, picking, reduction, rescaled, weighted)
FAMILIES = [f for m in MODULES for f in m.FAMILIES if "int8" in f.types and f.operator in SIGNED_OPERATORS and f.litert]


def unsigned(case: Case, values: Sequence[Array | None]) -> Run:
    """The case with uint8 for each quantised int8 tensor."""

    def kind(type_: TensorType) -> TensorType:
        if type_.dtype is not DType.INT8 or type_.quantization is None:
            return type_
        points = tuple(point + OFFSET for point in type_.quantization.zero_points)
        return replace(type_, dtype=DType.UINT8, quantization=replace(type_.quantization, zero_points=points))

    def codes(array: Array | None) -> Array | None:
        return (array.astype(np.int16) + OFFSET).astype(np.uint8) if array is not None else None

    inputs, moved = list(case.inputs), list(values)
    for place, item in enumerate(case.inputs):
        if item is not None and kind(item.type) != item.type:
            inputs[place] = Tensor(kind(item.type), codes(item.data))
            moved[place] = codes(values[place])
    return replace(case, inputs=tuple(inputs), outputs=tuple(map(kind, case.outputs))), moved


def with_zero_point(rng: Rng, case: Case) -> Case:
    """The case whose weights, if it has any of one scale, have any zero point."""
    places = weight_places(case.operator)
    item = case.inputs[places.weights] if places is not None else None
    if places is None or item is None or item.type.quantization is None or case.operator == "TRANSPOSE_CONV":
        return case
    quantization = replace(item.type.quantization, zero_points=(int(rng.integers(256)),))
    inputs = list(case.inputs)
    inputs[places.weights] = Tensor(replace(item.type, quantization=quantization), item.data)
    return replace(case, inputs=tuple(inputs))


def runs_of(family: Family, seed: int, count: int) -> list[tuple[Case, list[Array | None], list[Array]]]:
    """Cases that LiteRT has uint8 kernels for, which are no per-channel or int4 weights, with its outputs."""
    rng, runs = np.random.default_rng([seed, *family.operator.encode()]), []
    for _ in range(40 * count):
        signed, values = draw(family, "int8", rng)
        kinds = [*(item.type for item in signed.inputs if item), *signed.outputs]
        scales = [kind.quantization.scales for kind in kinds if kind.dtype is DType.INT8 and kind.quantization]
        if is_empty(signed) or any(len(each) > 1 for each in scales) or DType.INT4 in {kind.dtype for kind in kinds}:
            continue
        if not any(kind.dtype is DType.INT8 for kind in kinds[:-1]) or DType.FLOAT32 in {kind.dtype for kind in kinds}:
            continue
        case, moved = unsigned(signed, values)
        case = with_zero_point(rng, case)
        try:
            runs.append((case, moved, run_litert(case, moved)))
        except RuntimeError:
            continue
        if len(runs) == count:
            break
    return runs


def check(runs: Sequence[tuple[Case, list[Array | None], list[Array]]]) -> None:
    stages = [compile_bytes(model_bytes(case)) for case, *_ in runs]
    program = build_native({f"m{i}": stage.sources(f"m{i}") for i, stage in enumerate(stages)})
    calls = [Invocation(i, 0, tuple(v for v in values if v is not None)) for i, (_, values, _) in enumerate(runs)]
    results = run_native(program, calls, [stage.program.signatures for stage in stages])
    for (case, _, expected), outputs in zip(runs, results, strict=True):
        for got, want in zip(outputs, expected, strict=True):
            difference = np.abs(got.astype(np.int64) - want.astype(np.int64).reshape(got.shape)).max(initial=0)
            assert difference <= STEPS_APART.get(case.operator, 0), case


OPERATORS = sorted({family.operator for family in FAMILIES})


def runs_of_operator(operator: str, seed: int, count: int) -> list[tuple[Case, list[Array | None], list[Array]]]:
    runs = [run for f in FAMILIES if f.operator == operator for run in runs_of(f, seed, count)]
    assert runs, f"LiteRT takes no case of {operator}"
    return runs


def test_a_sample() -> None:
    check([run for operator in OPERATORS for run in runs_of_operator(operator, 0, 2)])


@pytest.mark.sweep
@pytest.mark.parametrize("operator", OPERATORS)
def test_many(operator: str) -> None:
    check(runs_of_operator(operator, 1, 60))


def network(rng: Rng) -> bytes:
    """Filters of images, a branch that joins again, a mean and classes, all with random scales and zero points."""
    writer = ModelWriter()
    graph = writer.subgraph("main")

    def value(shape: Sequence[int], scale: float = 0.0) -> int:
        name = f"t{len(graph.tensors)}"
        return graph.tensor(name, "uint8", list(shape), [scale or rng.uniform(0.02, 0.1)], [int(rng.integers(256))])

    def layer(operator: str, source: int, shape: Sequence[int], out: Sequence[int], **options: int) -> int:
        step, point = float(rng.uniform(0.001, 0.02)), int(rng.integers(256))
        codes = rng.integers(0, 256, shape).astype(np.uint8)
        weights = graph.constant(f"w{source}{operator}", codes, scale=[step], zero_point=[point])
        scale = float(np.float32(graph.tensors[source]["quantization"][0][0]) * np.float32(step))
        numbers = rng.integers(-3000, 3000, out[-1]).astype(np.int32)
        bias = graph.constant(f"b{source}{operator}", numbers, scale=[scale], zero_point=[0])
        result = value(out)
        graph.operator(operator, [source, weights, bias], [result], {"fused_activation_function": 3, **options})
        return result

    steps = {"padding": 0, "stride_h": 1, "stride_w": 1, "dilation_h_factor": 1, "dilation_w_factor": 1}
    image = value((1, 8, 8, 3))
    first = layer("CONV_2D", image, (6, 3, 3, 3), (1, 8, 8, 6), **steps)
    second = layer("DEPTHWISE_CONV_2D", first, (1, 3, 3, 6), (1, 8, 8, 6), depth_multiplier=1, **steps)
    added = value((1, 8, 8, 6))
    graph.operator("ADD", [first, second], [added], {})
    kind = graph.tensors[added]["quantization"]
    pooled, joined = (value(shape) for shape in ((1, 4, 4, 6), (1, 4, 4, 12)))
    graph.tensors[pooled]["quantization"] = graph.tensors[joined]["quantization"] = kind
    window = {"padding": 1, "stride_h": 2, "stride_w": 2, "filter_height": 2, "filter_width": 2}
    graph.operator("AVERAGE_POOL_2D", [added], [pooled], window)
    graph.operator("CONCATENATION", [pooled, pooled], [joined], {"axis": 3})
    mean, axes = value((1, 12)), graph.constant("axes", np.array([1, 2], np.int32))
    graph.operator("MEAN", [joined, axes], [mean], {"keep_dims": False})
    classes = layer("FULLY_CONNECTED", mean, (5, 12), (1, 5), weights_format=0)
    scores = graph.tensor("scores", "uint8", [1, 5], [1 / 256], [0])
    graph.operator("SOFTMAX", [classes], [scores], {"beta": 1.0})
    graph.inputs, graph.outputs = [image], [joined, classes, scores]
    return bytes(writer.finish())


@pytest.mark.parametrize("seed", range(4))
def test_a_network(seed: int) -> None:
    rng = np.random.default_rng(seed)
    model = network(rng)
    stage = compile_bytes(model)
    images = [rng.integers(0, 256, (1, 8, 8, 3)).astype(np.uint8) for _ in range(4)]
    program = build_native({"m0": stage.sources("m0")})
    results = run_native(program, [Invocation(0, 0, (image,)) for image in images], [stage.program.signatures])
    for image, outputs in zip(images, results, strict=True):
        for got, want in zip(outputs, run_litert_model(model, [image]), strict=True):
            np.testing.assert_array_equal(got, want)
