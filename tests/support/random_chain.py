"""Random networks of convolutions, pools and additions, for tests of streams."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from support.model_writer import ModelWriter, SubgraphWriter

Shape = tuple[int, int, int]
"""Height, width, channels."""


@dataclass
class _Network:
    rng: np.random.Generator
    g: SubgraphWriter
    dtype: str
    outputs: list[tuple[int, Shape]]

    def pick(self, *choices: int) -> int:
        return int(self.rng.choice(choices))

    def tensor(self, shape: Shape) -> int:
        index = len(self.outputs)
        if self.dtype == "float32":
            return self.g.tensor(f"t{index}", "float32", [1, *shape])
        zero = int(self.rng.integers(-20, 20))
        return self.g.tensor(f"t{index}", "int8", [1, *shape], scale=[0.1], zero_point=[zero])

    def add(self, shape: Shape) -> int:
        self.outputs.append((self.tensor(shape), shape))
        return self.outputs[-1][0]

    def weights(self, shape: list[int], axis: int) -> tuple[int, int]:
        channels = shape[axis]
        terms = int(np.prod(shape)) // channels
        name = f"w{len(self.g.tensors)}"
        if self.dtype == "float32":
            weights = self.g.constant(name, self.rng.normal(size=shape) / np.sqrt(terms), "float32")
            return weights, self.g.constant(f"b{name}", self.rng.normal(size=channels), "float32")
        scales = (self.rng.uniform(0.5, 1.5, channels) / (70 * np.sqrt(terms))).astype(np.float32)
        values = self.rng.integers(-127, 128, shape)
        weights = self.g.constant(name, values, "int8", scale=scales, zero_point=[0] * channels, axis=axis)
        bias = self.rng.integers(-2000, 2000, channels)
        return weights, self.g.constant(f"b{name}", bias, "int32", scale=scales * np.float32(0.1), axis=0)

    def window(self, shape: Shape) -> tuple[int, int, dict[str, int], tuple[int, int]] | None:
        kernel, stride, same = self.pick(1, 2, 3, 3, 5), self.pick(1, 1, 2), self.pick(0, 1)
        tall = self.pick(kernel, 1, 3)
        out = [
            (-(-n // stride) if same == 0 else (n - k) // stride + 1) for n, k in ((shape[0], tall), (shape[1], kernel))
        ]
        if min(out) < 1 or (same == 0 and (tall > shape[0] or kernel > shape[1])):
            return None
        return tall, kernel, {"padding": same, "stride_h": stride, "stride_w": stride}, (out[0], out[1])

    def conv(self, depthwise: bool) -> None:
        source, shape = self.outputs[-1]
        window = self.window(shape)
        if window is None:
            return
        tall, kernel, options, out = window
        channels = shape[2] if depthwise else self.pick(3, 4, 8, 12)
        activation = self.pick(0, 1, 3)
        if depthwise:
            operands = self.weights([1, tall, kernel, channels], 3)
            options |= {"depth_multiplier": 1}
        else:
            operands = self.weights([channels, tall, kernel, shape[2]], 0)
        name = "DEPTHWISE_CONV_2D" if depthwise else "CONV_2D"
        options |= {"fused_activation_function": activation, "dilation_h_factor": 1, "dilation_w_factor": 1}
        self.g.operator(name, [source, *operands], [self.add((*out, channels))], options)

    def pool(self) -> None:
        source, shape = self.outputs[-1]
        window = self.window(shape)
        if window is None or (self.dtype != "float32" and self.g.tensors[source] is None):
            return
        tall, kernel, options, out = window
        quantization = self.g.tensors[source]["quantization"]
        options |= {"filter_height": tall, "filter_width": kernel}
        kind = "AVERAGE_POOL_2D" if self.pick(0, 1) else "MAX_POOL_2D"
        result = self.add((*out, shape[2]))
        self.g.tensors[result]["quantization"] = quantization
        self.g.operator(kind, [source], [result], options)

    def skip(self) -> None:
        """Adds an earlier tensor of the same shape."""
        last, shape = self.outputs[-1]
        same = [tensor for tensor, other in self.outputs[-4:-1] if other == shape]
        if same:
            other = int(self.rng.choice(same))
            self.g.operator("ADD", [other, last], [self.add(shape)], {"pot_scale_int16": True})

    def mean(self) -> None:
        source, shape = self.outputs[-1]
        options = {"padding": 1, "stride_h": 1, "stride_w": 1, "filter_height": shape[0], "filter_width": shape[1]}
        result = self.add((1, 1, shape[2]))
        self.g.tensors[result]["quantization"] = self.g.tensors[source]["quantization"]
        self.g.operator("AVERAGE_POOL_2D", [source], [result], options)


def random_chain(seed: int, dtype: str = "int8") -> bytes:
    """A network of 2 to 8 operators on one image."""
    rng = np.random.default_rng(seed)
    w = ModelWriter()
    network = _Network(rng, w.subgraph("main"), dtype, [])
    shape = (int(rng.integers(3, 14)), int(rng.integers(2, 9)), network.pick(1, 3, 4, 8))
    first = network.add(shape)
    count = int(rng.integers(2, 9))
    while len(network.outputs) <= count:
        before = len(network.outputs)
        kind = network.pick(0, 0, 1, 1, 2, 3)
        if kind == 0:
            network.conv(depthwise=False)
        elif kind == 1:
            network.conv(depthwise=True)
        elif kind == 2:
            network.pool()
        else:
            network.skip()
        if len(network.outputs) == before:
            network.conv(depthwise=False)
            count -= len(network.outputs) == before
    if network.pick(0, 1):
        network.mean()
    network.g.inputs, network.g.outputs = [first], [network.outputs[-1][0]]
    return w.finish()
