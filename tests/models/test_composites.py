"""Composites as converters leave them: what the passes make of their decompositions, compared with LiteRT.

Names, attributes and decompositions are those of litert-torch (generative/layers: normalization,
scaled_dot_product_attention; the composites of aten operators) and of LiteRT's converter.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import sqrt
from typing import Any

import numpy as np
import pytest
from flatbuffers import flexbuffers
from numpy.typing import ArrayLike, NDArray
from support.model_writer import ModelWriter, SubgraphWriter
from support.native import Invocation, build_native, run_native
from support.pipeline import Stages, compile_bytes
from tflmgen.ir.graph.module import Op, walk

Array = NDArray[Any]


class Graph:
    """A decomposition in the making: float32 tensors with their shapes."""

    def __init__(self, writer: SubgraphWriter) -> None:
        self.writer = writer

    def input(self, *shape: int) -> int:
        self.writer.inputs.append(self.tensor(shape))
        return self.writer.inputs[-1]

    def tensor(self, shape: Sequence[int]) -> int:
        return self.writer.tensor(f"t{len(self.writer.tensors)}", "float32", list(shape))

    def numbers(self, values: ArrayLike, dtype: str = "float32") -> int:
        return self.writer.constant(f"c{len(self.writer.tensors)}", np.asarray(values, dtype))

    def op(self, name: str, shape: Sequence[int], *inputs: int, **options: Any) -> int:
        output = self.tensor(shape)
        self.writer.operator(name, list(inputs), [output], options)
        return output

    def mean(self, x: int, shape: Sequence[int], axes: Sequence[int]) -> int:
        return self.op("MEAN", shape, x, self.numbers(axes, "int32"), keep_dims=True)

    def reshape(self, x: int, *shape: int) -> int:
        return self.op("RESHAPE", shape, x, self.numbers(shape, "int32"))

    def transpose(self, x: int, shape: Sequence[int], order: Sequence[int]) -> int:
        return self.op("TRANSPOSE", shape, x, self.numbers(order, "int32"))


@dataclass(frozen=True)
class Composite:
    """`weights` are constants of the caller, after the run-time inputs of these `shapes`."""

    name: str
    attributes: dict[str, Any]
    shapes: tuple[tuple[int, ...], ...]
    weights: tuple[tuple[int, ...], ...]
    output: tuple[int, ...]
    build: Callable[[Graph], int]
    becomes: tuple[str, ...]

    def model(self, calls: int) -> bytes:
        """`calls` of one decomposition, each on the result of the last."""
        rng = np.random.default_rng(1)
        writer = ModelWriter()
        main, inner = writer.subgraph("main"), Graph(writer.subgraph(f"{self.name}.impl"))
        inner.writer.outputs = [self.build(inner)]
        main.inputs = [main.tensor(f"x{i}", "float32", list(shape)) for i, shape in enumerate(self.shapes)]
        first, *others = main.inputs
        for call in range(calls):
            weights = [rng.normal(size=shape).astype(np.float32) for shape in self.weights]
            constants = [main.constant(f"w{call}.{i}", w) for i, w in enumerate(weights)]
            output = main.tensor(f"y{call}", "float32", list(self.output))
            main.operator(
                "STABLEHLO_COMPOSITE",
                [first, *others, *constants],
                [output],
                {
                    "name": self.name,
                    "decomposition_subgraph_index": 1,
                    "composite_attributes": bytes(flexbuffers.Dumps(self.attributes)),
                },
            )
            first = output
        main.outputs = [first]
        return bytes(writer.finish())


def rms_norm(g: Graph) -> int:
    x, weight = g.input(5, 16), g.input(16)
    mean = g.mean(g.op("MUL", (5, 16), x, x), (5, 1), [1])
    root = g.op("RSQRT", (5, 1), g.op("ADD", (5, 1), mean, g.numbers(1e-6)))
    return g.op("MUL", (5, 16), g.op("MUL", (5, 16), x, root), weight)


def l2_norm(g: Graph) -> int:
    x = g.input(3, 20)
    total = g.op("SUM", (3, 1), g.op("MUL", (3, 20), x, x), g.numbers([1], "int32"), keep_dims=True)
    return g.op("MUL", (3, 20), x, g.op("RSQRT", (3, 1), g.op("ADD", (3, 1), total, g.numbers([[1e-6]]))))


def normalized(g: Graph, x: int, rows: int, depth: int) -> int:
    whole, row = (rows, depth), (rows, 1)
    centred = g.op("SUB", whole, x, g.mean(x, row, [1]))
    variance = g.mean(g.op("MUL", whole, centred, centred), row, [1])
    return g.op("MUL", whole, centred, g.op("RSQRT", row, g.op("ADD", row, variance, g.numbers(1e-5))))


def group_norm(g: Graph) -> int:
    """Two groups of three channels; the composite is NHWC, its decomposition NCHW."""
    x, weight, bias = g.input(1, 2, 4, 6), g.input(6), g.input(6)
    planes = g.transpose(x, (1, 6, 2, 4), (0, 3, 1, 2))
    rows = normalized(g, g.reshape(planes, 2, 24), 2, 24)
    gained = g.op("MUL", (1, 6, 2, 4), g.reshape(rows, 1, 6, 2, 4), g.reshape(weight, 1, 6, 1, 1))
    biased = g.op("ADD", (1, 6, 2, 4), gained, g.reshape(bias, 1, 6, 1, 1))
    return g.transpose(biased, (1, 2, 4, 6), (0, 2, 3, 1))


def layer_norm(g: Graph) -> int:
    x, weight, bias = g.input(4, 12), g.input(12), g.input(12)
    return g.op("ADD", (4, 12), g.op("MUL", (4, 12), normalized(g, x, 4, 12), weight), bias)


def gelu(g: Graph) -> int:
    x = g.input(2, 30)
    whole = (2, 30)
    cube = g.op("MUL", whole, g.op("MUL", whole, x, x), x)
    inner = g.op("ADD", whole, x, g.op("MUL", whole, cube, g.numbers(0.044715)))
    bent = g.op("TANH", whole, g.op("MUL", whole, inner, g.numbers(sqrt(2 / np.pi))))
    half = g.op("MUL", whole, x, g.numbers(0.5))
    return g.op("MUL", whole, half, g.op("ADD", whole, bent, g.numbers(1.0)))


def hard_swish(g: Graph) -> int:
    x = g.input(2, 30)
    clipped = g.op("RELU6", (2, 30), g.op("ADD", (2, 30), x, g.numbers(3.0)))
    return g.op("DIV", (2, 30), g.op("MUL", (2, 30), x, clipped), g.numbers(6.0))


def attention(g: Graph) -> int:
    """One batch, three queries, two heads of four, as litert-torch has them: [batch, time, heads, depth]."""
    q, k, v, mask = g.input(1, 3, 2, 4), g.input(1, 3, 2, 4), g.input(1, 3, 2, 4), g.input(1, 1, 3, 3)
    heads = [g.transpose(x, (1, 2, 3, 4), (0, 2, 1, 3)) for x in (q, k, v)]
    scaled = g.op("MUL", (1, 2, 3, 4), heads[0], g.numbers(0.5))
    scores = g.op("BATCH_MATMUL", (1, 2, 3, 3), scaled, heads[1], adj_y=True)
    weights = g.op("SOFTMAX", (1, 2, 3, 3), g.op("ADD", (1, 2, 3, 3), scores, mask), beta=1.0)
    return g.transpose(g.op("BATCH_MATMUL", (1, 2, 3, 4), weights, heads[2]), (1, 3, 2, 4), (0, 2, 1, 3))


def misnamed(g: Graph) -> int:
    """Called RMS normalisation, but without the mean."""
    x, weight = g.input(5, 16), g.input(16)
    return g.op("MUL", (5, 16), g.op("SIN", (5, 16), x), weight)


FRAMES = ((1, 3, 2, 4),) * 3
COMPOSITES = (
    Composite("odml.rms_norm", {"epsilon": 1e-6}, ((5, 16),), ((16,),), (5, 16), rms_norm, ("NORMALIZE",)),
    Composite("odml.l2_norm", {"axis": -1, "epsilon": 1e-6}, ((3, 20),), (), (3, 20), l2_norm, ("NORMALIZE",)),
    Composite(
        "odml.group_norm",
        {"num_groups": 2, "eps": 1e-5, "reduction_axes": 3, "channel_axis": 3},
        ((1, 2, 4, 6),),
        ((6,), (6,)),
        (1, 2, 4, 6),
        group_norm,
        ("TRANSPOSE", "RESHAPE", "NORMALIZE", "RESHAPE", "MUL", "ADD", "TRANSPOSE"),
    ),
    Composite(
        "odml.group_norm",
        {"num_groups": 1, "eps": 1e-5, "channel_axis": 1},
        ((4, 12),),
        ((12,), (12,)),
        (4, 12),
        layer_norm,
        ("NORMALIZE",),
    ),
    Composite("aten.gelu.default", {"approximate": "tanh"}, ((2, 30),), (), (2, 30), gelu, ("GELU",)),
    Composite("aten.hardswish.default", {}, ((2, 30),), (), (2, 30), hard_swish, ("HARD_SWISH",)),
    Composite(
        "odml.scaled_dot_product_attention",
        {"scale": 0.5},
        FRAMES,
        ((1, 1, 3, 3),),
        (1, 3, 2, 4),
        attention,
        ("TRANSPOSE", "MUL", "BATCH_MATMUL", "ADD", "SOFTMAX", "BATCH_MATMUL"),
    ),
    Composite("odml.rms_norm", {"epsilon": 1e-6}, ((5, 16),), ((16,),), (5, 16), misnamed, ("SIN", "MUL")),
)
NAMES = [f"{c.name}-{c.build.__name__}" for c in COMPOSITES]


def operators(stages: Stages) -> tuple[str, ...]:
    return tuple(n.operator for f in stages.module.functions for n in walk(f.body) if isinstance(n, Op))


@pytest.mark.parametrize("composite", COMPOSITES, ids=NAMES)
def test_what_becomes_of_it(composite: Composite) -> None:
    assert operators(compile_bytes(composite.model(1))) == composite.becomes


@pytest.mark.parametrize("composite", [c for c in COMPOSITES if len(c.becomes) == 1], ids=lambda c: c.build.__name__)
def test_two_calls_of_one_decomposition(composite: Composite) -> None:
    assert operators(compile_bytes(composite.model(2))) == composite.becomes * 2


def test_equals_litert() -> None:
    models = [composite.model(calls) for composite in COMPOSITES for calls in (1, 2)]
    stages = [compile_bytes(model) for model in models]
    program = build_native({f"m{i}": s.sources(f"m{i}") for i, s in enumerate(stages)})
    rng = np.random.default_rng(2)
    inputs = [
        tuple(rng.normal(size=shape).astype(np.float32) for shape in composite.shapes)
        for composite in COMPOSITES
        for _ in (1, 2)
    ]
    calls = [Invocation(i, 0, values) for i, values in enumerate(inputs)]
    results = run_native(program, calls, [s.module.signatures for s in stages])
    for model, values, (got,) in zip(models, inputs, results, strict=True):
        want = litert(model, values)
        np.testing.assert_allclose(got, want, rtol=1e-5, atol=1e-5 * float(np.abs(want).max()))


def litert(model: bytes, values: Sequence[Array]) -> Array:
    module = pytest.importorskip("ai_edge_litert.interpreter", reason="ai-edge-litert is not installed")
    interpreter = module.Interpreter(
        model_content=model, experimental_op_resolver_type=module.OpResolverType.BUILTIN_REF, num_threads=1
    )
    interpreter.allocate_tensors()
    for detail, value in zip(interpreter.get_input_details(), values, strict=True):
        interpreter.set_tensor(detail["index"], value)
    interpreter.invoke()
    return np.array(interpreter.get_tensor(interpreter.get_output_details()[0]["index"]))
