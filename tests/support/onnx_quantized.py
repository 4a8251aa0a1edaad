"""Random layers between QuantizeLinear and DequantizeLinear, as ONNX Runtime's quantiser writes them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnxruntime
from numpy.typing import NDArray
from onnx import TensorProto, helper, numpy_helper
from tflmgen.compiler import Compilation, compile_model
from tflmgen.ir.graph import Op, walk
from tflmgen.ir.kernel import Target
from tflmgen.options import BuildOptions

from support.native import Invocation, build_native, run_native

Array = NDArray[Any]
OPSET = 21
LIMITS = {"int8": (-128, 127), "uint8": (0, 255)}


@dataclass(slots=True)
class QdqModel:
    """A model in the making: nodes, constants, and names of values.

    dtype  of activations, "int8" or "uint8"
    """

    rng: np.random.Generator
    dtype: str = "int8"
    nodes: list[onnx.NodeProto] = field(default_factory=list)
    constants: list[onnx.TensorProto] = field(default_factory=list)
    inputs: dict[str, tuple[int, ...]] = field(default_factory=dict)

    def name(self) -> str:
        return f"v{len(self.nodes) + len(self.constants)}"

    def constant(self, array: Array | np.generic, data_type: int | None = None) -> str:
        name, array = self.name(), np.asarray(array)
        proto = numpy_helper.from_array(array, name)
        if data_type is not None:
            proto = helper.make_tensor(name, data_type, array.shape, array.reshape(-1))
        self.constants.append(proto)
        return name

    def node(self, op: str, inputs: Sequence[str], **attributes: Any) -> str:
        name = self.name()
        self.nodes.append(helper.make_node(op, list(inputs), [name], **attributes))
        return name

    def scales(self, low: float, high: float) -> tuple[str, str]:
        """Names of a scale and a zero point for a range."""
        least, greatest = LIMITS[self.dtype]
        low, high = min(low, 0.0), max(high, 0.0)
        scale = max((high - low) / 255, 1e-6)
        zero = int(np.clip(np.rint(least - low / scale), least, greatest))
        return self.constant(np.array(scale, np.float32)), self.constant(np.array(zero, self.dtype))

    def quantised(self, value: str, low: float, high: float) -> str:
        """The value through QuantizeLinear and DequantizeLinear."""
        kind = self.scales(low, high)
        return self.node("DequantizeLinear", [self.node("QuantizeLinear", [value, *kind]), *kind])

    def input(self, *shape: int) -> str:
        name = f"x{len(self.inputs)}"
        self.inputs[name] = shape
        low, high = -self.rng.uniform(0, 2), self.rng.uniform(0.2, 2)
        return self.quantised(name, low, high)

    def weights(self, *shape: int, axis: int | None = 0, bits: int = 8) -> tuple[str, Array]:
        """Dequantised weights, symmetric, and their scales; axis: along which these differ."""
        limit = 2 ** (bits - 1) - 1
        integers = self.rng.integers(-limit, limit + 1, shape)
        scales = self.rng.uniform(0.2, 1.0, 1 if axis is None else shape[axis]).astype(np.float32) / limit
        data_type = TensorProto.INT4 if bits == 4 else None
        kept = self.constant(integers.astype(np.int8), data_type)
        shown = scales.reshape(()) if axis is None else scales
        zero = self.constant(np.zeros(shown.shape, np.int8), data_type)
        attributes = {} if axis is None else {"axis": axis}
        return self.node("DequantizeLinear", [kept, self.constant(shown), zero], **attributes), scales

    def bias(self, scales: Array, size: int) -> str:
        """int32 by the scale of the last input and the weights' scales."""
        first = next(c for c in self.constants if not c.dims)
        steps = scales * numpy_helper.to_array(first)
        steps = np.broadcast_to(steps, size) if steps.size > 1 else steps.reshape(())
        integers = self.rng.integers(-2000, 2000, size).astype(np.int32)
        return self.node("DequantizeLinear", [self.constant(integers), self.constant(steps.astype(np.float32))], axis=0)

    def model(self, output: str) -> onnx.ModelProto:
        entries = [helper.make_tensor_value_info(n, TensorProto.FLOAT, s) for n, s in self.inputs.items()]
        outputs = [helper.make_empty_tensor_value_info(output)]
        graph = helper.make_graph(self.nodes, "layer", entries, outputs, self.constants)
        opset = [helper.make_opsetid("", OPSET), helper.make_opsetid("com.microsoft", 1)]
        return onnx.shape_inference.infer_shapes(helper.make_model(graph, opset_imports=opset, ir_version=10))

    def samples(self, count: int) -> list[dict[str, Array]]:
        return [
            {n: self.rng.uniform(-2, 2, s).astype(np.float32) for n, s in self.inputs.items()} for _ in range(count)
        ]

    def finished(self, value: str) -> onnx.ModelProto:
        """The model with its value quantised by the range that it has for some samples."""
        session = exact_session(self.model(value))
        values = np.concatenate([session.run(None, feed)[0].reshape(-1) for feed in self.samples(4)])
        if self.nodes[-1].op_type in ("Softmax", "Sigmoid"):
            values = np.array([0.0, 1.0])
        return self.model(self.quantised(value, float(values.min()), float(values.max())))


def exact_session(model: onnx.ModelProto) -> Any:
    """ONNX Runtime without its optimisations."""
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.log_severity_level = 3
    return onnxruntime.InferenceSession(model.SerializeToString(), options)


def _convolution(m: QdqModel, groups: int, channels: int, out: int, bits: int = 8) -> str:
    rng, size = m.rng, int(m.rng.integers(1, 4))
    x = m.input(1, channels, int(rng.integers(5, 9)), int(rng.integers(5, 9)))
    axis = 0 if rng.integers(2) else None
    weights, scales = m.weights(out, channels // groups, size, size, axis=axis, bits=bits)
    attributes = {"strides": [int(rng.integers(1, 3))] * 2, "pads": [size // 2] * 4, "group": groups}
    convolved = m.node("Conv", [x, weights, m.bias(scales, out)][: int(rng.integers(2, 4))], **attributes)
    return m.node("Relu", [convolved]) if rng.integers(2) else convolved


def _gemm(m: QdqModel, bits: int = 8) -> str:
    depth, units = (int(n) for n in m.rng.integers(3, 40, 2))
    x = m.input(2, depth)
    weights, scales = m.weights(units, depth, axis=0 if m.rng.integers(2) else None, bits=bits)
    return m.node("Gemm", [x, weights, m.bias(scales, units)], transB=1)


def _matmul(m: QdqModel) -> str:
    depth, units = (int(n) for n in m.rng.integers(3, 40, 2))
    weights, _ = m.weights(depth, units, axis=1 if m.rng.integers(2) else None)
    return m.node("MatMul", [m.input(1, 3, depth), weights])


def _transposed(m: QdqModel) -> str:
    weights, _ = m.weights(4, 3, 2, 2, axis=1 if m.rng.integers(2) else None)
    return m.node("ConvTranspose", [m.input(1, 4, 5, 5), weights], strides=[2, 2])


def _pooled(m: QdqModel, op: str) -> str:
    x = m.input(1, 4, 6, 7)
    if op.startswith("Global"):
        return m.node(op, [x])
    pads = [1, 1, 1, 1] if op == "MaxPool" and m.rng.integers(2) else [0] * 4
    return m.node(op, [x], kernel_shape=[2, 3], strides=[int(m.rng.integers(1, 3))] * 2, pads=pads)


def _joined(m: QdqModel) -> str:
    return m.node("Concat", [m.input(1, 3, 4, 4), m.input(1, 2, 4, 4)], axis=1)


def _resized(m: QdqModel, mode: str) -> str:
    scales = m.constant(np.array([1, 1, 2, 2], np.float32))
    x = m.input(1, 3, 4, 5)
    return m.node("Resize", [x, "", scales], mode=mode, coordinate_transformation_mode="half_pixel")


def _padded(m: QdqModel) -> str:
    return m.node("Pad", [m.input(1, 3, 4, 5), m.constant(np.array([0, 0, 1, 0, 0, 0, 2, 1]))])


def _scaled(m: QdqModel, op: str) -> str:
    weights, _ = m.weights(3, 1, 1, axis=None)
    return m.node(op, [m.input(1, 3, 4, 4), weights])


LAYERS: dict[str, Callable[[QdqModel], str]] = {
    "CONV_2D": lambda m: _convolution(m, 1, int(m.rng.integers(1, 9)), int(m.rng.integers(1, 9))),
    "DEPTHWISE_CONV_2D": lambda m: _convolution(m, 8, 8, 8),
    "CONV_2D of groups": lambda m: _convolution(m, 2, 8, 6),
    "CONV_2D of int4": lambda m: _convolution(m, 1, 4, 6, bits=4),
    "FULLY_CONNECTED": _gemm,
    "FULLY_CONNECTED of int4": lambda m: _gemm(m, bits=4),
    "FULLY_CONNECTED of MatMul": _matmul,
    "TRANSPOSE_CONV": _transposed,
    "BATCH_MATMUL": lambda m: m.node("MatMul", [m.input(2, 3, 8), m.input(2, 8, 5)]),
    "ADD": lambda m: m.node("Add", [m.input(1, 3, 4, 4), m.input(1, 3, 4, 4)]),
    "ADD of a constant": lambda m: _scaled(m, "Add"),
    "SUB": lambda m: m.node("Sub", [m.input(1, 3, 4, 4), m.input(1, 3, 1, 1)]),
    "MUL": lambda m: m.node("Mul", [m.input(1, 3, 4, 4), m.input(1, 3, 1, 1)]),
    "MUL of a constant": lambda m: _scaled(m, "Mul"),
    "MAX_POOL_2D": lambda m: _pooled(m, "MaxPool"),
    "AVERAGE_POOL_2D/DEPTHWISE_CONV_2D": lambda m: _pooled(m, "AveragePool"),
    "MEAN": lambda m: _pooled(m, "GlobalAveragePool"),
    "CONCATENATION": _joined,
    "SOFTMAX": lambda m: m.node("Softmax", [m.input(2, 10)], axis=-1),
    "LOOKUP of Sigmoid": lambda m: m.node("Sigmoid", [m.input(2, 30)]),
    "HARD_SWISH": lambda m: m.node("HardSwish", [m.input(1, 3, 4, 4)]),
    "LEAKY_RELU": lambda m: m.node("LeakyRelu", [m.input(1, 3, 4, 4)], alpha=0.1),
    "GATHER of Resize": lambda m: _resized(m, "nearest"),
    "REDUCE_MAX": lambda m: m.node("ReduceMax", [m.input(1, 3, 4, 4)], keepdims=0),
    "PAD": _padded,
    "TRANSPOSE": lambda m: m.node("Transpose", [m.input(2, 3, 4)], perm=[2, 0, 1]),
}
"""The operator of integers that a layer becomes -> the layer; one random layer a call."""


def random_layer(kind: str, seed: int) -> tuple[onnx.ModelProto, list[dict[str, Array]]]:
    """A layer with int8 or uint8 activations, and samples."""
    rng = np.random.default_rng([seed, *kind.encode()])
    builder = QdqModel(rng, "uint8" if rng.integers(2) else "int8")
    model = builder.finished(LAYERS[kind](builder))
    return model, builder.samples(3)


def runtime_layer(kind: str, dtype: str) -> tuple[onnx.ModelProto, list[dict[str, Array]]]:
    """A layer of ONNX Runtime's own operators, and samples."""
    builder = QdqModel(np.random.default_rng([*kind.encode()]), dtype)
    model = builder.model(RUNTIME_LAYERS[kind](builder))
    samples = builder.samples(3)
    # ONNX doesn't know these operators' shapes.
    shape = exact_session(model).run(None, samples[0])[0].shape
    model.graph.output[0].CopyFrom(helper.make_tensor_value_info(model.graph.output[0].name, TensorProto.FLOAT, shape))
    return model, samples


def compiled(model: onnx.ModelProto, path: Path, name: str) -> Compilation:
    onnx.save(model, path)
    return compile_model(path, Target(core="host"), BuildOptions(name=name))


def operators(compilation: Compilation) -> list[str]:
    return [node.operator for f in compilation.module.functions for node in walk(f.body) if isinstance(node, Op)]


def float_operators(compilation: Compilation) -> list[str]:
    """Operators but conversions that compute floats."""
    nodes = [node for f in compilation.module.functions for node in walk(f.body) if isinstance(node, Op)]
    kinds = [n.operator for n in nodes if any(v.type.dtype.is_float for v in n.outputs)]
    return [kind for kind in kinds if kind != "DEQUANTIZE"]


def outputs_of(models: Sequence[Compilation], samples: Sequence[Sequence[dict[str, Array]]]) -> list[list[Array]]:
    """First output of each model for its samples, all in one program."""
    program = build_native({model.name: model.sources for model in models}, flags=("-O0",))
    calls = [
        Invocation(number, 0, tuple(feed[port.name] for port in model.module.signatures[0].inputs))
        for number, (model, feeds) in enumerate(zip(models, samples, strict=True))
        for feed in feeds
    ]
    results = iter(run_native(program, calls, [model.module.signatures for model in models]))
    return [[next(results)[0] for _ in feeds] for feeds in samples]


def step_differences(ours: Array, theirs: Array, model: onnx.ModelProto) -> Array:
    """Differences in steps of the last scale by which the model dequantises."""
    values = {c.name: numpy_helper.to_array(c) for c in model.graph.initializer}
    last = [node for node in model.graph.node if node.op_type == "DequantizeLinear"] or model.graph.node
    scale = float(values[last[-1].input[1]].reshape(()))
    distance: Array = np.rint(np.abs(ours.astype(np.float64) - theirs) / scale)
    return distance


def _codes(m: QdqModel, *shape: int) -> tuple[str, str, str]:
    """Codes of an input with their scale and zero point, as QLinear operators take them."""
    m.input(*shape)
    quantize = m.nodes[-2]
    return quantize.output[0], quantize.input[1], quantize.input[2]


def _linear(m: QdqModel, op: str, operands: Sequence[str], limits: tuple[float, float], **attributes: Any) -> str:
    """An operator of ONNX Runtime with the result's scale and zero point as its last operands."""
    kind = m.scales(*limits)
    result = m.node(op, [*operands, *kind], domain="com.microsoft", **attributes)
    return m.node("DequantizeLinear", [result, *kind])


def _concatenated(m: QdqModel) -> str:
    kind = m.scales(-2, 2)
    parts = [*_codes(m, 1, 3, 4), *_codes(m, 1, 2, 4)]
    joined = m.node("QLinearConcat", [*kind, *parts], domain="com.microsoft", axis=1)
    return m.node("DequantizeLinear", [joined, *kind])


def _product(m: QdqModel) -> str:
    # Of 7 bits: on x86-64 without VNNI, ONNX Runtime adds two products of uint8 and int8 in 16 bits, which saturate.
    weights = m.constant(m.rng.integers(-64, 65, (12, 7)).astype(np.int8))
    operands = [*_codes(m, 2, 12), weights, m.constant(np.float32(0.01)), m.constant(np.int8(0))]
    bias = m.constant(m.rng.integers(-500, 500, 7).astype(np.int32))
    return _linear(m, "QGemm", [*operands, bias], (-4, 4))


RUNTIME_LAYERS: dict[str, Callable[[QdqModel], str]] = {
    "ADD": lambda m: _linear(m, "QLinearAdd", [*_codes(m, 1, 3, 8), *_codes(m, 1, 3, 8)], (-3, 3)),
    "MUL": lambda m: _linear(m, "QLinearMul", [*_codes(m, 1, 3, 8), *_codes(m, 1, 1, 8)], (-3, 3)),
    "LOOKUP": lambda m: _linear(m, "QLinearSigmoid", _codes(m, 2, 30), (0, 1)),
    "LEAKY_RELU": lambda m: _linear(m, "QLinearLeakyRelu", _codes(m, 2, 30), (-1, 2), alpha=0.1),
    "MEAN": lambda m: _linear(m, "QLinearGlobalAveragePool", _codes(m, 1, 4, 5, 5), (-1, 1)),
    "AVERAGE_POOL_2D/DEPTHWISE_CONV_2D": lambda m: _linear(
        m, "QLinearAveragePool", _codes(m, 1, 4, 5, 5), (-1, 1), kernel_shape=[2, 2]
    ),
    "SOFTMAX": lambda m: _linear(m, "QLinearSoftmax", _codes(m, 2, 10), (0, 1), axis=-1, opset=13),
    "CONCATENATION": _concatenated,
    "FULLY_CONNECTED": _product,
}
"""As LAYERS, of ONNX Runtime's own operators."""
