"""The compiler's work on a chain of operators grows with its length: twice as many take twice as many calls."""

from __future__ import annotations

import cProfile
import pstats
from collections.abc import Callable
from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
from support.model_writer import ModelWriter
from tflmgen.compiler import compile_module
from tflmgen.frontend.importer import import_model
from tflmgen.frontend.tflite.reader import parse_model
from tflmgen.ir.kernel import Target
from tflmgen.options import BuildOptions

TARGET = Target("cortex-m4", frozenset({"dsp", "fpu"}))
WAITING = replace(TARGET, constant_waits=5.0)
"""Its weights are copied to the arena ahead."""

SHORT = 120
"""Operators of the shorter chain; below, what is done once for each build hides the rest."""


def of_floats(count: int) -> bytes:
    """Functions of one element, each written over the one before."""
    writer = ModelWriter()
    graph = writer.subgraph("main")
    values = [graph.tensor(f"v{i}", "float32", [1, 16]) for i in range(count + 1)]
    for i, pair in enumerate(pairwise(values)):
        graph.operator(("RELU", "ABS", "NEG", "TANH")[i % 4], [pair[0]], [pair[1]])
    graph.inputs, graph.outputs = values[:1], values[-1:]
    return bytes(writer.finish())


def of_layers(count: int) -> bytes:
    """int8 convolutions, residual sums with the input, and pools."""
    writer, rng = ModelWriter(), np.random.default_rng(0)
    graph = writer.subgraph("main")
    values = [graph.tensor(f"v{i}", "int8", [1, 4, 4, 4], [0.05], [3]) for i in range(count + 1)]
    window = {"padding": 0, "stride_w": 1, "stride_h": 1, "fused_activation_function": 1}
    for i, (source, result) in enumerate(pairwise(values)):
        if i % 3 == 0:
            weights = rng.integers(-127, 128, (4, 1, 1, 4)).astype(np.int8)
            filters = graph.constant(f"w{i}", weights, scale=[0.01], zero_point=[0])
            options = {**window, "dilation_h_factor": 1, "dilation_w_factor": 1}
            graph.operator("CONV_2D", [source, filters, -1], [result], options)
        elif i % 3 == 1:
            graph.operator("ADD", [source, values[0]], [result], {"fused_activation_function": 0})
        else:
            graph.operator("MAX_POOL_2D", [source], [result], {**window, "filter_width": 2, "filter_height": 2})
    graph.inputs, graph.outputs = values[:1], values[-1:]
    return bytes(writer.finish())


def of_fetched_layers(count: int) -> bytes:
    """int8 convolutions of an image that one pool made small, so that the arena has room for their weights."""
    writer, rng = ModelWriter(), np.random.default_rng(0)
    graph = writer.subgraph("main")
    image = graph.tensor("image", "int8", [1, 32, 32, 16], [0.05], [3])
    values = [graph.tensor(f"v{i}", "int8", [1, 8, 8, 16], [0.05], [3]) for i in range(count + 1)]
    window = {"padding": 0, "fused_activation_function": 0}
    pool = {**window, "stride_w": 4, "stride_h": 4, "filter_width": 4, "filter_height": 4}
    graph.operator("MAX_POOL_2D", [image], values[:1], pool)
    for i, (source, result) in enumerate(pairwise(values)):
        weights = rng.integers(-127, 128, (16, 1, 1, 16)).astype(np.int8)
        filters = graph.constant(f"w{i}", weights, scale=[0.01], zero_point=[0])
        options = {**window, "stride_w": 1, "stride_h": 1, "dilation_w_factor": 1, "dilation_h_factor": 1}
        graph.operator("CONV_2D", [source, filters, -1], [result], options)
    graph.inputs, graph.outputs = [image], values[-1:]
    return bytes(writer.finish())


def calls(data: bytes, target: Target = TARGET) -> int:
    """Python calls of a compilation, which no clock has a part in."""
    module = import_model(parse_model(data, "chain.tflite"))
    with cProfile.Profile() as profile:
        compile_module(module, "chain", target, BuildOptions())
    return int(pstats.Stats(profile).total_calls)  # type: ignore[attr-defined]


@pytest.mark.parametrize(("chain", "target"), [(of_floats, TARGET), (of_layers, TARGET), (of_fetched_layers, WAITING)])
def test_a_chain_twice_as_long_takes_twice_the_calls(chain: Callable[[int], bytes], target: Target) -> None:
    calls(chain(4), target)
    short, long = calls(chain(SHORT), target), calls(chain(2 * SHORT), target)
    assert long < 2.1 * short
