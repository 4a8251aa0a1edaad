"""Layers in many shapes, in one model, and what their kernels take on a board: for the cost models."""

from __future__ import annotations

import contextlib
from collections.abc import Collection, Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from math import prod
from pathlib import Path
from types import ModuleType
from typing import Any, Protocol
from unittest import mock

import numpy as np
from tflmgen.explore import search
from tflmgen.explore.peak_order import Ordered
from tflmgen.ir.kernel.call import Kernel, Params, Target
from tflmgen.ir.kernel.kernel_choice import KernelChoice
from tflmgen.kernels.choice import choose_fastest
from tflmgen.kernels.costs.estimate import numbers_of
from tflmgen.kernels.costs.term import Numbers
from tflmgen.kernels.operators import (
    arithmetic,
    batch_matmul,
    conv,
    depthwise_conv,
    fully_connected,
    lookup,
    pool,
    transpose_conv,
)
from tflmgen.kernels.operators import lstm as lstm_operators
from tflmgen.kernels.operators import svdf as svdf_operators

from support.counted_calls import CountedCall, counted_calls
from support.model_writer import ModelWriter, SubgraphWriter
from support.recurrent_layers import lstm, svdf, weights_of

LSTM = "UNIDIRECTIONAL_SEQUENCE_LSTM"

MODULES = {
    "ADD": arithmetic,
    "AVERAGE_POOL_2D": pool,
    "BATCH_MATMUL": batch_matmul,
    "CONV_2D": conv,
    "DEPTHWISE_CONV_2D": depthwise_conv,
    "FULLY_CONNECTED": fully_connected,
    "LOGISTIC": lookup,
    "MAX_POOL_2D": pool,
    "MUL": arithmetic,
    "SVDF": svdf_operators,
    "TRANSPOSE_CONV": transpose_conv,
    LSTM: lstm_operators,
}
"""Operator of layers -> the module that chooses its kernel."""

CHOOSERS = tuple(dict.fromkeys(MODULES.values()))

INPUTS: dict[str, dict[str, Any]] = {
    "int8": {"scale": [0.05], "zero_point": [-1]},
    "int16": {"scale": [0.001], "zero_point": [0]},
    "float32": {},
}
"""Quantisation of the input, by type."""

SENT = 509
"""Values of the input that an emulated UART carries; the layers read them over and over."""


class Measured(Protocol):
    """One operator, or a few that become one, of inputs in these shapes."""

    @property
    def operator(self) -> str:
        """Its name in TFLite."""

    @property
    def dtype(self) -> str:
        """Element type of the inputs and of the output."""

    @property
    def inputs(self) -> Sequence[tuple[int, ...]]: ...

    def add_to(self, graph: SubgraphWriter, inputs: list[int], rng: np.random.Generator) -> int:
        """The output's tensor."""


@dataclass(frozen=True, slots=True)
class Layer:
    """A layer with weights: input [1, height, width, channels], or rows of `channels`; filter taps; outputs per pixel.

    outputs: of a depthwise layer as many as channels, or a multiple of them. six: with relu, clamped at 6, less than
    the output's scale allows. beyond: some weights are pairs that 16 bits do not hold; common: all outputs have one
    scale; groups: of channels, each with filters of its own. dtype: of input and output. Of SVDF and LSTM, size is
    (batches, steps), outputs the units; state: SVDF's type in int8.
    """

    operator: str
    size: tuple[int, int]
    channels: int
    taps: tuple[int, int] = (1, 1)
    outputs: int = 0
    stride: int = 1
    same: bool = True
    relu: bool = True
    six: bool = False
    beyond: bool = False
    common: bool = False
    dilation: int = 1
    groups: int = 1
    dtype: str = "int8"
    rank: int = 1
    memory: int = 1
    state: str = "int8"

    @property
    def inputs(self) -> Sequence[tuple[int, ...]]:
        if self.operator == LSTM:
            return [(*self.size, self.channels)]
        if self.operator in ("FULLY_CONNECTED", "SVDF"):
            return [(self.size[0], self.channels)]
        return [(1, *self.size, self.channels)]

    def add_to(self, graph: SubgraphWriter, inputs: list[int], rng: np.random.Generator) -> int:
        return _operator(graph, self, inputs, rng)


@dataclass(frozen=True, slots=True)
class Sample:
    """The call that a layer became, what terms count with, and what it took.

    alone: no other call of the model was of its family.
    """

    function: str
    family: str
    numbers: Numbers
    cycles: float
    alone: bool


def write_model(path: Path, layers: Iterable[Measured], rng: np.random.Generator, gives_all: bool = False) -> None:
    """All layers side by side: each reads from the beginning of one array on, which repeats the input, and one byte of
    each output is given back, or all of it."""
    layers = list(layers)
    writer = ModelWriter()
    graph = writer.subgraph("main")
    longest = max(prod(shape) + begin for layer in layers for begin, shape in enumerate(layer.inputs))
    dtype = layers[0].dtype
    sent = graph.tensor("x", dtype, [SENT], **INPUTS[dtype])
    copies = graph.constant("copies", np.array([longest // SENT + 1], np.int32))
    x = graph.tensor("repeated", dtype, [(longest // SENT + 1) * SENT], **INPUTS[dtype])
    graph.operator("TILE", [sent, copies], [x], {})
    outputs = []
    for number, layer in enumerate(layers):
        output = layer.add_to(
            graph, [_part(graph, x, begin, shape, dtype) for begin, shape in enumerate(layer.inputs)], rng
        )
        if gives_all:
            outputs.append(output)
            continue
        elements, ends = prod(graph.tensors[output]["shape"]), graph.tensors[output]["quantization"]
        flat = graph.tensor(f"flat{number}", dtype, [elements], *ends)
        graph.operator("RESHAPE", [output], [flat], {"new_shape": [elements]})
        begin, size = (graph.constant(n, np.array([v], np.int32)) for n, v in (("begin", 0), ("one", 1)))
        outputs.append(graph.tensor(f"y{number}", dtype, [1], *ends))
        graph.operator("SLICE", [flat, begin, size], [outputs[-1]])
    graph.inputs, graph.outputs = [sent], outputs
    path.write_bytes(writer.finish())


def _part(graph: SubgraphWriter, x: int, begin: int, shape: Sequence[int], dtype: str) -> int:
    """The values of x from `begin` on, in that shape."""
    count = prod(shape)
    at, size = (graph.constant(n, np.array([v], np.int32)) for n, v in (("begin", begin), ("size", count)))
    part = graph.tensor("part", dtype, [count], **INPUTS[dtype])
    shaped = graph.tensor("in", dtype, list(shape), **INPUTS[dtype])
    graph.operator("SLICE", [x, at, size], [part])
    graph.operator("RESHAPE", [part], [shaped], {"new_shape": list(shape)})
    return shaped


def _quantization(layer: Layer) -> dict[str, Any]:
    if layer.dtype == "float32":
        return {}
    if layer.dtype == "int16":
        return {"scale": [0.002], "zero_point": [0]}
    if layer.operator == LSTM:
        return {"scale": [0.01], "zero_point": [3]}
    return {"scale": [0.1], "zero_point": [-128 if layer.relu else 3]}


def _operator(graph: SubgraphWriter, layer: Layer, inputs: list[int], rng: np.random.Generator) -> int:
    taps, channels, outputs = layer.taps, layer.channels, layer.outputs
    activation = {"fused_activation_function": 3 if layer.six else int(layer.relu)}
    if layer.operator in (LSTM, "SVDF"):
        result = [*layer.size, outputs] if layer.operator == LSTM else [layer.size[0], outputs]
        y = graph.tensor("y", layer.dtype, result, **_quantization(layer))
        (lstm if layer.operator == LSTM else svdf)(graph, layer, inputs[0], y, rng)
        return y
    if layer.operator == "FULLY_CONNECTED":
        shape: tuple[int, ...] = (outputs, channels)
        axis, count, result = 0, outputs, [layer.size[0], outputs]
    else:
        output_shape = output_size(layer)
        is_deep = layer.operator == "DEPTHWISE_CONV_2D"
        count = outputs or channels
        shape = (1, *taps, count) if is_deep else (outputs, *taps, channels // layer.groups)
        axis, result = (3, [1, *output_shape, count]) if is_deep else (0, [1, *output_shape, count])
        activation |= {"padding": int(not layer.same), "stride_h": layer.stride, "stride_w": layer.stride}
        if layer.operator != "TRANSPOSE_CONV":
            activation |= {"dilation_h_factor": layer.dilation, "dilation_w_factor": layer.dilation}
        activation |= {"depth_multiplier": count // channels} if is_deep else {}
    y = graph.tensor("y", layer.dtype, result, **_quantization(layer))
    weights = weights_of(rng, shape, layer.dtype, layer.beyond)
    if layer.dtype == "float32":
        w, b = graph.constant("w", weights), graph.constant("b", rng.normal(0, 1, count).astype(np.float32))
        graph.operator(layer.operator, [*inputs, w, b], [y], activation)
        return y
    scales = rng.uniform(0.02, 0.03, count) / np.sqrt(weights.size / count)
    if layer.common:
        scales = scales[:1]
    w = graph.constant("w", weights, scale=list(scales), zero_point=[0] * len(scales), axis=axis)
    bias = rng.integers(-200, 200, count).astype(np.int64 if layer.dtype == "int16" else np.int32)
    b = graph.constant("b", bias, scale=list(scales * INPUTS[layer.dtype]["scale"][0]), zero_point=[0] * len(scales))
    if layer.operator == "TRANSPOSE_CONV":
        inputs, w = [graph.constant("shape", np.array(result, np.int32)), w], inputs[0]
    graph.operator(layer.operator, [*inputs, w, b], [y], activation)
    return y


def output_size(layer: Layer) -> list[int]:
    """Height and width of a convolution's output."""
    sizes = zip(layer.size, layer.taps, strict=True)
    if layer.operator == "TRANSPOSE_CONV":
        return [s * layer.stride if layer.same else (s - 1) * layer.stride + t for s, t in sizes]
    if layer.same:
        return [-(-s // layer.stride) for s in layer.size]
    return [(s - 1 - (t - 1) * layer.dilation) // layer.stride + 1 for s, t in sizes]


def _of_family(names: Container[str], kernels: Iterable[Kernel]) -> list[Kernel]:
    return [kernel for kernel in kernels if kernel.cost.family in names]


@contextlib.contextmanager
def only(names_of: Mapping[ModuleType, Collection[str]]) -> Iterator[dict[tuple[str, Params | None], Kernel]]:
    """Layers get a kernel of the families that their module has here, if there is one; of several, one in turn.

    Kernels for every Cortex-M are otherwise made only where there is no other. Value: the kernels, by what a call says.
    """
    turns: dict[tuple[str, Params | None], int] = {}
    taken: dict[tuple[str, Params | None], Kernel] = {}

    def chooser(names: Collection[str], kernels: Iterable[Kernel], _: Target) -> KernelChoice:
        candidates = list(kernels)
        others = [other for kernel in candidates for other in kernel.smaller]
        wanted = _of_family(names, candidates) or _of_family(names, others)
        in_turn = wanted and wanted[0].cost.family.startswith(("conv2d_dsp", "depthwise3x3", "fully_connected_mve"))
        # By layer, not by call: the proof of a build selects kernels anew, and is to find the same.
        turn = turns.setdefault((wanted[0].function, wanted[0].params), len(turns)) if in_turn else 0
        first = turn % len(wanted) if in_turn else 0
        kernel = replace((wanted or candidates)[first], backward=None)
        taken[kernel.function, kernel.params] = kernel
        return KernelChoice.of(kernel)

    with contextlib.ExitStack() as stack:
        for module, names in names_of.items():
            stack.enter_context(mock.patch.object(module, "choose_fastest", partial(chooser, names)))
        if any("thumb" in name for names in names_of.values() for name in names):
            thumb = property(lambda _: frozenset({"thumb"}))
            stack.enter_context(mock.patch.object(Target, "instructions", thumb))
        yield taken


def side_by_side(layers_of: Mapping[str, Sequence[Measured]]) -> list[dict[str, Sequence[Measured]]]:
    """The families in groups that one model can measure: of one type, each with operators of its own."""
    groups: list[tuple[str, set[str], dict[str, Sequence[Measured]]]] = []
    for name, layers in layers_of.items():
        dtype, operators = layers[0].dtype, {layer.operator for layer in layers}
        fitting = (group for group in groups if group[0] == dtype and operators.isdisjoint(group[1]))
        group = next(fitting, None) or (dtype, set(), {})
        if not group[2]:
            groups.append(group)
        group[1].update(operators)
        group[2][name] = layers
    return [group[2] for group in groups]


def measure(layers_of: Mapping[str, Sequence[Measured]], board: str, folder: Path, seed: int = 0) -> list[Sample]:
    """The layers of each family, of operators of its own, as its kernels; layers without such a kernel are left out."""
    path = folder / "layers.tflite"
    write_model(path, [layer for layers in layers_of.values() for layer in layers], np.random.default_rng(seed))
    names_of: dict[ModuleType, set[str]] = {module: set() for module in CHOOSERS}
    for name, layers in layers_of.items():
        for layer in layers:
            names_of[MODULES[layer.operator]].add(name)
    in_order = mock.patch.object(search, "order_for_peak", lambda module, _: Ordered(module, True))
    with in_order, only(names_of) as taken:  # the best order of so many layers side by side takes long to find
        counted = counted_calls(path, board, *(("--winograd",) if "conv2d_winograd_dsp" in layers_of else ()))
    return [sample for sample in samples(counted, taken) if sample.family in layers_of]


def measure_model(path: Path, board: str) -> list[Sample]:
    """The layers of a model as its chosen kernels."""
    taken: dict[tuple[str, Params | None], Kernel] = {}

    def chooser(kernels: Iterable[Kernel], target: Target) -> KernelChoice:
        choice = choose_fastest([replace(kernel, backward=None) for kernel in kernels], target)
        taken[choice.kernel.function, choice.kernel.params] = choice.kernel
        return KernelChoice(choice.chosen)

    with contextlib.ExitStack() as stack:
        for module in CHOOSERS:
            stack.enter_context(mock.patch.object(module, "choose_fastest", chooser))
        return samples(counted_calls(path, board, "--optimize", "speed"), taken)


def samples(counted: Iterable[CountedCall], taken: Mapping[tuple[str, Params | None], Kernel]) -> list[Sample]:
    """The counted calls of a model that have a family; `taken`: its kernels, by what a call says."""
    of_families = []
    for call in counted:
        kernel = taken.get((call.call.function, call.call.params))
        if kernel is not None and kernel.cost.family:
            others = (taken.get((other.function, other.params)) for other in call.beside)
            alone = all(other is None or other.cost.family != kernel.cost.family for other in others)
            of_families.append(Sample(kernel.function, kernel.cost.family, numbers_of(kernel), call.cycles, alone))
    return of_families
