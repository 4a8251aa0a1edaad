"""Random STABLEHLO_GATHER, REDUCE_WINDOW and PAD, and DILATE, which become other operators: compiled, against LiteRT.

STABLEHLO_SCATTER, AND and SHIFT_LEFT have kernels, and families in windows.py.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from support.case_models import add_body
from support.differential import Rng, shape_of
from support.kernel_harness import Array
from support.litert import run_litert_model
from support.model_writer import ModelWriter, SubgraphWriter
from support.native import Invocation, build_native, run_native
from support.pipeline import compile_bytes
from tflmgen.frontend.tflite.reader import parse_model
from tflmgen.reference import Interpreter

litert = pytest.importorskip("ai_edge_litert.interpreter", reason="ai-edge-litert is the reference")

TYPES = ("float32", "int8", "int16", "int32", "int64")
BODIES = ("ADD", "MAXIMUM", "MINIMUM", "MULTIPLY")
Drawn = tuple[bytes, list[Array]]


def _model(dtype: str, shape: tuple[int, ...]) -> tuple[ModelWriter, SubgraphWriter]:
    writer = ModelWriter()
    graph = writer.subgraph("main")
    graph.inputs = [graph.tensor("x", dtype, shape)]
    return writer, graph


def _data(rng: Rng, dtype: str, shape: tuple[int, ...]) -> Array:
    return np.asarray(rng.integers(-9, 10, shape)).astype(dtype)


def _finish(writer: ModelWriter, graph: SubgraphWriter, name: str, shape: Any, options: dict[str, Any]) -> bytes:
    dtype = graph.tensors[graph.inputs[0]]["type"]
    graph.outputs = [graph.tensor("y", dtype, [int(n) for n in shape])]
    constants = [i for i, tensor in enumerate(graph.tensors) if tensor["buffer"]]
    graph.operator(name, [*graph.inputs, *constants], graph.outputs, options)
    return bytes(writer.finish())


def gather(rng: Rng, dtype: str) -> Drawn:
    """Pieces of any size that begin at indices in range or not, of some dimensions of the input, in any order."""
    shape = shape_of(rng, 1, 4)
    writer, graph = _model(dtype, shape)
    sizes = [int(rng.integers(1, n + 1)) if rng.random() < 0.5 else n for n in shape]
    collapsed = [d for d, n in enumerate(sizes) if n == 1 and rng.random() < 0.6]
    chosen = [int(d) for d in rng.permutation(len(shape))[: rng.integers(1, len(shape) + 1)]]
    points = shape_of(rng, 0, 2, 3)
    axis = int(rng.integers(len(points) + 1))
    vectors = (*points[:axis], len(chosen), *points[axis:])
    kept = [n for d, n in enumerate(sizes) if d not in collapsed]
    rank = len(points) + len(kept)
    offsets = sorted(int(d) for d in rng.permutation(rank)[: len(kept)])
    pieces, counts = iter(kept), iter(points)
    result = [next(pieces) if d in offsets else next(counts) for d in range(rank)]
    kind = ("int32", "int64")[int(rng.integers(2))]
    indices = rng.integers(-3, max(shape) + 3, vectors).astype(kind)
    values = [_data(rng, dtype, shape)]
    if rng.random() < 0.5:
        graph.constant("i", indices)
    else:
        graph.inputs.append(graph.tensor("i", kind, vectors))
        values.append(indices)
    options = {
        "offset_dims": offsets,
        "collapsed_slice_dims": collapsed,
        "start_index_map": chosen,
        "index_vector_dim": axis,
        "slice_sizes": sizes,
    }
    return _finish(writer, graph, "STABLEHLO_GATHER", result, options), values


def _padding(rng: Rng, size: int) -> list[int]:
    """Numbers below, above and between elements; some edges cut elements off."""
    between = int(rng.integers(3)) if rng.random() < 0.4 else 0
    whole = size + (size - 1) * between
    low, high = (int(n) for n in rng.integers(-((whole - 1) // 2), 4, 2))
    return [low, high, between] if rng.random() < 0.7 else [0, 0, between]


def _spread(shape: tuple[int, ...], edges: list[list[int]]) -> list[int]:
    return [n + (n - 1) * i + a + b for n, (a, b, i) in zip(shape, edges, strict=True)]


def pad(rng: Rng, dtype: str) -> Drawn:
    shape = shape_of(rng, 1, 4)
    writer, graph = _model(dtype, shape)
    edges = [_padding(rng, n) for n in shape]
    graph.constant("number", np.array(rng.integers(-3, 4), dtype))
    low, high, between = (list(column) for column in zip(*edges, strict=True))
    options = {"edge_padding_low": low, "edge_padding_high": high, "interior_padding": between}
    return _finish(writer, graph, "STABLEHLO_PAD", _spread(shape, edges), options), [_data(rng, dtype, shape)]


def reduce_window(rng: Rng, dtype: str) -> Drawn:
    shape = shape_of(rng, 1, 4)
    writer, graph = _model(dtype, shape)
    edges = [_padding(rng, n) for n in shape]
    padded = _spread(shape, edges)
    window = [int(rng.integers(1, min(n, 3) + 1)) for n in padded]
    dilations = [
        int(rng.integers(1, (n - 1) // (k - 1) + 1)) if k > 1 else 1 for n, k in zip(padded, window, strict=True)
    ]
    dilations = [min(d, 2) for d in dilations]
    steps = [int(n) for n in rng.integers(1, 4, len(shape))]
    numbers = zip(padded, window, dilations, steps, strict=True)
    result = [(n - (k - 1) * d - 1) // s + 1 for n, k, d, s in numbers]
    body = BODIES[int(rng.integers(len(BODIES)))]
    graph.constant("number", np.array(rng.integers(0, 3), dtype))
    options = {
        "window_dimensions": window,
        "window_strides": steps,
        "base_dilations": [i + 1 for _, _, i in edges],
        "window_dilations": dilations,
        "padding": [n for a, b, _ in edges for n in (a, b)],
        "body_subgraph_index": add_body(writer, f"STABLEHLO_{body}", dtype),
    }
    return _finish(writer, graph, "STABLEHLO_REDUCE_WINDOW", result, options), [_data(rng, dtype, shape)]


def dilate(rng: Rng, dtype: str) -> Drawn:
    shape = shape_of(rng, 1, 4)
    writer, graph = _model(dtype, shape)
    dilations = rng.integers(1, 4, len(shape)).astype(np.int32)
    graph.constant("dilations", dilations)
    graph.constant("number", np.array(rng.integers(-3, 4), dtype))
    result = (np.array(shape) - 1) * dilations + 1
    return _finish(writer, graph, "DILATE", result, {}), [_data(rng, dtype, shape)]


MAKERS: tuple[Callable[[Rng, str], Drawn], ...] = (gather, pad, reduce_window, dilate)


def check(drawn: list[Drawn], compiled: int) -> None:
    """All through the reference interpreter, and the first of them compiled."""
    resolver = litert.OpResolverType.BUILTIN_WITHOUT_DEFAULT_DELEGATES
    wanted = [run_litert_model(data, values, resolver)[0] for data, values in drawn]
    for (data, values), want in zip(drawn, wanted, strict=True):
        (got,) = Interpreter(parse_model(data, "m.tflite")).invoke(None, values)
        np.testing.assert_allclose(got, want.reshape(got.shape), rtol=1e-6)
    stages = [compile_bytes(data) for data, _ in drawn[:compiled]]
    program = build_native({f"m{i}": stage.sources(f"m{i}") for i, stage in enumerate(stages)}, flags=("-O0",))
    calls = [Invocation(i, 0, tuple(values)) for i, (_, values) in enumerate(drawn[:compiled])]
    results = run_native(program, calls, [stage.program.signatures for stage in stages])
    for (got,), want in zip(results, wanted, strict=False):
        np.testing.assert_allclose(got, want.reshape(got.shape), rtol=1e-6)


def test_a_sample() -> None:
    rng = np.random.default_rng(1)
    drawn = [draw_model(rng, dtype) for dtype in TYPES * 2 for draw_model in MAKERS]
    check(drawn, len(MAKERS))


@pytest.mark.sweep
@pytest.mark.parametrize("seed", range(2, 22))
@pytest.mark.parametrize("draw_model", MAKERS)
def test_many(draw_model: Callable[[Rng, str], Drawn], seed: int) -> None:
    rng = np.random.default_rng(seed)
    check([draw_model(rng, TYPES[i % len(TYPES)]) for i in range(100)], 5)
