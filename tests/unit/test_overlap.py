"""Distances between outputs and inputs, where an input is constant."""

from __future__ import annotations

import numpy as np
from support.model_writer import ModelWriter
from support.pipeline import HOST
from tflmgen.explore.search import best_candidate
from tflmgen.frontend.importer import import_model
from tflmgen.frontend.tflite.reader import parse_model
from tflmgen.ir.graph.module import Module, Op, walk
from tflmgen.ir.kernel.call import Kernel, Target
from tflmgen.kernels.selection import Selector
from tflmgen.memory.overlap import has_multiples

M55 = Target("cortex-m55", frozenset({"dsp", "mve", "fpu"}))


def depthwise_of_constant() -> Module:
    """DEPTHWISE_CONV_2D of a constant image."""
    rng, w = np.random.default_rng(0), ModelWriter()
    g = w.subgraph("main")
    x, y, z = (g.tensor(name, "int8", [1, 7, 3, 24], scale=[0.05], zero_point=[0]) for name in "xyz")
    image = g.constant("k", rng.integers(-128, 128, (1, 7, 3, 24)).astype(np.int8), scale=[0.05], zero_point=[0])
    weights = g.constant("w", rng.integers(-127, 128, (1, 3, 3, 24)).astype(np.int8), scale=[0.01], zero_point=[0])
    bias = g.constant("b", rng.integers(-900, 900, 24).astype(np.int32), scale=[0.0005], zero_point=[0])
    strides = {"stride_h": 1, "stride_w": 1, "dilation_h_factor": 1, "dilation_w_factor": 1, "depth_multiplier": 1}
    g.operator("DEPTHWISE_CONV_2D", [image, weights, bias], [y], {"padding": 0, **strides})
    g.operator("ADD", [y, x], [z])
    g.inputs, g.outputs = [x], [z]
    return import_model(parse_model(w.finish(), "m.tflite"))


def test_constants_keep_any_distance() -> None:
    module = depthwise_of_constant()
    selection = Selector(M55).select(module)
    (depthwise, _) = [selection.of(node) for node in walk(module.functions[0].body) if isinstance(node, Op)]
    assert isinstance(depthwise, Kernel)
    assert has_multiples(depthwise)
    on_host = best_candidate(module, Selector(HOST).select(module))
    assert best_candidate(module, selection).bytes == on_host.bytes
