"""Random .tflite models of the operators that passes fuse, in the arrangements that converters leave behind.

A model is a chain of pieces, each a few operators; now and then a value in the middle is a result, too, which a pass
must then leave alone.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from tflmgen.ir.types import TensorType

from support.kernel_harness import Case, Tensor, broken_rules, constant, make_case, tensor
from support.model_writer import ModelWriter

Array = NDArray[Any]
ACTIVATIONS = ("RELU", "RELU6", "RELU_N1_TO_1")


@dataclass(frozen=True)
class Node:
    """A tensor of the model under construction."""

    index: int
    tensor: Tensor

    @property
    def shape(self) -> tuple[int, ...]:
        return self.tensor.type.max_shape


class Layers:
    """One model under construction: `at` is where the chain is."""

    def __init__(self, rng: np.random.Generator, dtype: str, shape: tuple[int, ...]) -> None:
        self.rng = rng
        self.dtype = dtype
        self._writer = ModelWriter()
        self._graph = self._writer.subgraph("main")
        self._nodes: list[Node] = []
        self.limit = 4000
        """Elements of a tensor, at most."""
        self.at = self.node(self.like(shape))
        self._inputs = [self.at]

    def pick(self, *choices: Any) -> Any:
        return choices[self.rng.integers(len(choices))]

    def like(self, shape: tuple[int, ...] = (), scale: float | None = None, zero_point: int | None = None) -> Tensor:
        """A tensor of the model's element type, at random where it is quantised."""
        if self.dtype == "float32":
            return tensor("float32", shape)
        scale = float(self.rng.uniform(0.02, 0.1)) if scale is None else scale
        if self.dtype == "int16":
            return tensor("int16", shape, scale / 256, 0)
        point = int(self.pick(-128, 0, self.rng.integers(-128, 128))) if zero_point is None else zero_point
        return tensor("int8", shape, scale, point)

    def node(self, operand: Tensor) -> Node:
        """A tensor of the file, constant if it has data."""
        q = operand.type.quantization
        known: dict[str, Any] = (
            {"scale": list(q.scales), "zero_point": list(q.zero_points), "axis": q.axis} if q else {}
        )
        name, label = f"t{len(self._graph.tensors)}", operand.type.dtype.label
        if operand.data is not None:
            return Node(self._graph.constant(name, operand.data, dtype=label, **known), operand)
        return Node(self._graph.tensor(name, label, list(operand.type.max_shape), **known), operand)

    def constant(self, values: Any, dtype: str = "int32") -> Node:
        return self.node(constant(dtype, values))

    def number(self, real: float | Array) -> Node:
        """A constant of the model's type, quantised such that it is near `real`."""
        if self.dtype == "float32":
            return self.constant(real, "float32")
        scale = float(np.abs(real).max()) / 100 or 1.0
        return self.node(constant(self.dtype, np.rint(np.asarray(real) / scale), scale, 0))

    def add(
        self, operator: str, inputs: list[Node | None], output: Tensor, options: Mapping[str, Any] | None = None
    ) -> Node | None:
        """Appends an operator; None where it isn't supported as it is."""
        tensors = [None if n is None else n.tensor for n in inputs]
        bare = Case(operator, tuple(tensors), (output.type,), options or {})
        if any(t is not None and 0 in t.type.max_shape for t in tensors):
            return None
        case = make_case(operator, tensors, [output], options) if operator == "TRANSPOSE" else _inferred(bare)
        if case is None or broken_rules(case) or case.outputs[0].elements > self.limit:
            return None
        node = self.node(Tensor(case.outputs[0]))
        indices = [-1 if n is None else n.index for n in inputs]
        self._graph.operator(operator, indices, [node.index], dict(options or {}))
        self._nodes.append(node)
        return node

    def step(self, operator: str, *others: Node | None, output: Tensor | None = None, **options: Any) -> bool:
        """Appends an operator on the chain's end; whether it was possible."""
        node = self.add(operator, [self.at, *others], output or self.like(), options)
        if node is not None:
            self.at = node
        return node is not None

    def finish(self, extras: bool = True) -> tuple[bytes, TensorType]:
        """The file, and the type of its input. extras: some values in the middle may be results, too."""
        self._graph.inputs = [node.index for node in self._inputs]
        extra = [n.index for n in self._nodes[:-1] if extras and self.rng.random() < 0.06]
        self._graph.outputs = [self.at.index, *(i for i in extra if i != self.at.index)]
        return bytes(self._writer.finish()), self._inputs[0].tensor.type


def _inferred(case: Case) -> Case | None:
    try:
        return make_case(case.operator, case.inputs, [Tensor(case.outputs[0])], case.options)
    except (ValueError, IndexError, AssertionError):
        return None


def same(layers: Layers) -> Tensor:
    """A tensor quantised as the chain's end."""
    return Tensor(layers.at.tensor.type)


def convolution(layers: Layers) -> None:
    rng, shape = layers.rng, layers.at.shape
    if len(shape) != 4:
        return
    if rng.random() < 0.6:
        pad(layers)
    shape = layers.at.shape
    taps = int(rng.integers(1, 5)), int(rng.integers(1, 5))
    options = {
        "padding": int(rng.integers(2)),
        "stride_h": int(rng.integers(1, 3)),
        "stride_w": int(rng.integers(1, 3)),
        "dilation_h_factor": int(layers.pick(1, 1, 2)),
        "dilation_w_factor": int(layers.pick(1, 1, 2)),
        "fused_activation_function": int(layers.pick(0, 0, 0, 1, 3)),
    }
    kind = layers.pick("CONV_2D", "DEPTHWISE_CONV_2D", "MAX_POOL_2D", "AVERAGE_POOL_2D")
    if kind.endswith("POOL_2D"):
        options |= {"filter_height": taps[0], "filter_width": taps[1]}
        del options["dilation_h_factor"], options["dilation_w_factor"]
        layers.step(kind, output=same(layers), **options)
        return
    channels = int(rng.integers(1, 5))
    axis = 0 if kind == "CONV_2D" else 3
    weights = (channels, *taps, shape[3]) if axis == 0 else (1, *taps, shape[3])
    weigh(layers, kind, weights, axis, options)


def dilated(layers: Layers) -> None:
    """A convolution between SPACE_TO_BATCH_ND and BATCH_TO_SPACE_ND."""
    rng, shape = layers.rng, layers.at.shape
    if len(shape) != 4:
        return
    block, before = rng.integers(1, 4, 2), rng.integers(0, 3, 2)
    after = -(np.array(shape[1:3]) + before) % block
    edges = np.stack([before, after], axis=1)
    if not layers.step("SPACE_TO_BATCH_ND", layers.constant(block), layers.constant(edges), output=same(layers)):
        return
    taps, options = rng.integers(1, 4, 2), {"padding": int(rng.integers(2)), "stride_h": 1, "stride_w": 1}
    options |= {"dilation_h_factor": 1, "dilation_w_factor": 1}
    weigh(layers, "CONV_2D", (2, int(taps[0]), int(taps[1]), shape[3]), 0, options)
    crops = layers.constant(rng.integers(0, 3, (2, 2)))
    if layers.at.shape[0] % np.prod(block) == 0:
        layers.step("BATCH_TO_SPACE_ND", layers.constant(block), crops, output=same(layers))


def weigh(layers: Layers, kind: str, shape: tuple[int, ...], axis: int, options: dict[str, Any]) -> None:
    """An operator with weights of `shape`, output channels along `axis`, and now and then a bias."""
    rng, x = layers.rng, layers.at.tensor.type.quantization
    wide = "int64" if layers.dtype == "int16" else "int32"
    if x is None:
        w = layers.constant(rng.normal(size=shape), "float32")
        b = layers.constant(rng.normal(size=shape[axis]), "float32")
    else:
        scales = rng.uniform(0.002, 0.02, layers.pick(1, shape[axis]))
        w = layers.node(constant("int8", rng.integers(-127, 128, shape), scales, 0, axis))
        bias = rng.integers(-3000, 3000, shape[axis])
        b = layers.node(constant(wide, bias, np.resize(x.scale * scales, shape[axis]), 0, 0))
    layers.step(kind, w, *([b] if rng.random() < 0.7 else []), **options)


def dense(layers: Layers) -> None:
    units, depth = int(layers.rng.integers(1, 6)), layers.at.shape[-1]
    weigh(layers, "FULLY_CONNECTED", (units, depth), 0, {"keep_num_dims": True, "fused_activation_function": 0})


def pad(layers: Layers) -> None:
    rng, shape = layers.rng, layers.at.shape
    table = np.zeros((len(shape), 2), int)
    inner = layers.pick(slice(1, -1), slice(1, -1), slice(0, None))
    table[inner] = rng.integers(0, 3, table[inner].shape)
    if rng.random() < 0.3:
        q = layers.at.tensor.type.quantization
        lowest = layers.at.tensor.type.dtype.limits[0] if q else -3.4028234663852886e38
        filled = layers.pick(lowest, q.zero_point if q else 0.0, 1)
        value = layers.node(Tensor(layers.at.tensor.type.with_shape(()), np.array(filled, _numpy(layers))))
        layers.step("PADV2", layers.constant(table), value, output=same(layers))
    else:
        layers.step("PAD", layers.constant(table), output=same(layers))


def _numpy(layers: Layers) -> Any:
    return layers.at.tensor.type.dtype.numpy


def squeezed(layers: Layers) -> None:
    """A sequence of vectors that is padded, then viewed as an image."""
    shape = layers.at.shape
    if len(shape) != 4:
        return
    vectors = (shape[0], shape[1] * shape[2], shape[3])
    layers.step("RESHAPE", layers.constant(vectors), output=same(layers))
    pad(layers)
    n, length, channels = layers.at.shape
    layers.step(
        "RESHAPE", layers.constant(layers.pick((n, 1, length, channels), (n, length, 1, channels))), output=same(layers)
    )


def activation(layers: Layers) -> None:
    """One after another operator, with the same or another quantisation."""
    name = layers.pick(*ACTIVATIONS)
    layers.step(name, output=layers.pick(same(layers), layers.like()))


def transposed(layers: Layers) -> None:
    """Dimensions in another order."""
    order = layers.rng.permutation(len(layers.at.shape))
    layers.step("TRANSPOSE", layers.constant(order.astype(np.int32)), output=same(layers))


def between_transposes(layers: Layers) -> None:
    """Adds a TRANSPOSE, operators on elements, and mostly a sum or the TRANSPOSE back."""
    order = layers.rng.permutation(len(layers.at.shape)).astype(np.int32)
    if not layers.step("TRANSPOSE", layers.constant(order), output=same(layers)):
        return
    for _ in range(int(layers.rng.integers(1, 4))):
        layers.pick(elementwise, elementwise, activation, pad)(layers)
    if layers.rng.random() < 0.3:
        reduced(layers)
    elif layers.rng.random() < 0.8:
        layers.step("TRANSPOSE", layers.constant(np.argsort(order).astype(np.int32)), output=same(layers))


def elementwise(layers: Layers) -> None:
    """A constant or an earlier value of the same shape and the chain's end, in either order."""
    rng, shape = layers.rng, layers.at.shape
    name = layers.pick("ADD", "SUB", "MUL", "MAXIMUM", "MINIMUM", "SQUARED_DIFFERENCE")
    equals = [n for n in layers._nodes if n.shape == shape and n.tensor.type.dtype == layers.at.tensor.type.dtype]
    if equals and rng.random() < 0.4:
        other = layers.pick(*equals)
    else:
        sizes = [layers.pick(1, d) for d in shape][int(rng.integers(len(shape) + 1)) :]
        other = layers.number(rng.uniform(-3, 3, sizes))
    alike = name in ("MAXIMUM", "MINIMUM")
    if alike and layers.at.tensor.type.quantization != other.tensor.type.quantization:
        return
    output = same(layers) if alike else layers.like()
    pair = [layers.at, other] if rng.random() < 0.7 else [other, layers.at]
    layers.at = layers.add(name, pair, output) or layers.at


def gated(layers: Layers) -> None:
    """x times a function of x, spelled out: swish, hard-swish, and with other constants neither."""
    x = layers.at
    if layers.rng.random() < 0.5:
        unit = layers.like((), 1 / 256, -128)
        gate = layers.add("LOGISTIC", [x], unit if layers.dtype == "int8" else same(layers))
    else:
        three = layers.number(float(layers.pick(3.0, 3.0, 2.0)))
        gate = layers.add("ADD", [x, three], layers.like(), {"fused_activation_function": 3})
    product = layers.add("MUL", layers.pick([x, gate], [gate, x]), layers.like()) if gate else None
    if product is not None:
        layers.at = product
        layers.step("MUL", layers.number(1 / 6), output=layers.like())


def curved(layers: Layers) -> None:
    """The approximation of GELU by a hyperbolic tangent, in one of its groupings."""
    if layers.dtype != "float32":
        return
    x, number = layers.at, layers.number
    square = layers.add("MUL", [x, x], layers.like())
    cube = layers.add("MUL", [x, square], layers.like())
    small = layers.add("MUL", [cube, number(0.044715)], layers.like())
    inner = layers.add("MUL", [layers.add("ADD", [small, x], layers.like()), number(0.79788456)], layers.like())
    raised = layers.add("ADD", [number(1.0), layers.add("TANH", [inner], layers.like())], layers.like())
    half = layers.add("MUL", [number(0.5), x], layers.like())
    layers.at = layers.add("MUL", [half, raised], layers.like()) or layers.at


def normalised(layers: Layers) -> None:
    """Layer or RMS normalisation of rows, or their softmax, spelled out."""
    rng, x, rank = layers.rng, layers.at, len(layers.at.shape)
    if layers.dtype != "float32" or rank < 2 or x.shape[-1] < 2:
        return
    axis, keep = layers.constant(np.array([rank - 1], np.int32)), {"keep_dims": True}

    def add(name: str, *inputs: Node | None, **options: Any) -> Node | None:
        return layers.add(name, list(inputs), layers.like(), options)

    if rng.random() < 0.25:
        exps = add("EXP", add("SUB", x, add("REDUCE_MAX", x, axis, **keep)))
        layers.at = add("DIV", exps, add("SUM", exps, axis, **keep)) or layers.at
        return
    mean = add("MEAN", x, axis, **keep)
    centred = add("SUB", x, mean) if rng.random() < 0.6 else x
    squares = add("SQUARED_DIFFERENCE", x, mean) if centred is not x and rng.random() < 0.5 else add("SQUARE", centred)
    variance = add(layers.pick("MEAN", "SUM"), squares, axis, **keep)
    root = add("RSQRT", add("ADD", variance, layers.number(layers.pick(1e-3, 1e-6))))
    layers.at = add("MUL", centred, root) or layers.at
    if rng.random() < 0.5:
        layers.step("MUL", layers.number(rng.normal(size=x.shape[-1])))
        layers.step("ADD", layers.number(rng.normal(size=x.shape[-1])))


def heads(layers: Layers) -> None:
    """Products of transposed matrices, as in attention, and perhaps their softmax."""
    rank = len(layers.at.shape)
    if not 2 <= rank <= 4:
        return
    order = layers.constant(layers.rng.permutation(rank).astype(np.int32))
    x = layers.at
    if layers.rng.random() < 0.3:
        matrix = layers.number(layers.rng.normal(size=(x.shape[-1], 3)))
        layers.step("BATCH_MATMUL", matrix, output=layers.like((), 1.0))
        return
    left = layers.add("TRANSPOSE", [x, order], same(layers)) if layers.rng.random() < 0.7 else x
    other = layers.add("TRANSPOSE", [x, order], same(layers)) if layers.rng.random() < 0.7 else left
    options = layers.pick({"adj_y": True}, {"adj_x": True}, {})
    product = layers.add("BATCH_MATMUL", [left, other], layers.like((), 2.0), options)
    if product is None:
        return
    layers.at = product
    transposed(layers)
    if layers.dtype == "float32" and layers.rng.random() < 0.5:
        layers.step("MUL", layers.number(0.25))
        layers.step("SOFTMAX", beta=1.0)


def reduced(layers: Layers) -> None:
    rank = len(layers.at.shape)
    if rank < 2:
        return
    axes = layers.rng.permutation(rank)[: int(layers.rng.integers(1, rank))].astype(np.int32)
    name = layers.pick("MEAN", "SUM", "REDUCE_MAX")
    output = same(layers) if name == "REDUCE_MAX" else layers.like()
    layers.step(name, layers.constant(axes), output=output, keep_dims=bool(layers.rng.integers(2)))


PIECES: tuple[Callable[[Layers], None], ...] = (
    convolution,
    convolution,
    dilated,
    squeezed,
    activation,
    dense,
    elementwise,
    reduced,
    transposed,
    between_transposes,
    between_transposes,
    gated,
    gated,
    curved,
    normalised,
    heads,
)


def random_layers(
    rng: np.random.Generator, dtype: str, pieces: tuple[Callable[[Layers], None], ...] = PIECES
) -> tuple[bytes, TensorType]:
    """A file with one input and one signature, and the type of the input."""
    shape = (1, int(rng.integers(2, 8)), int(rng.integers(2, 8)), int(rng.integers(1, 5)))
    layers = Layers(rng, dtype, shape)
    for _ in range(int(rng.integers(2, 6))):
        layers.pick(*pieces)(layers)
    if layers.at is layers._inputs[0]:
        layers.step("RESHAPE", layers.constant([1, -1]), output=same(layers))
    return layers.finish()
