"""Random fully convolutional models of int8 whose height and width are open."""

from __future__ import annotations

from collections.abc import Sequence
from random import Random
from typing import Any

import numpy as np

from support.dynamic_axes import vary
from support.dynamic_models import one_graph
from support.model_writer import SubgraphWriter

CHANNELS = 3
LEAST = 5
"""Images are at least so high and wide, so that every window fits into what is left of them."""
SCALE: dict[str, Any] = {"scale": [0.05], "zero_point": [-7]}
PROBABILITY: dict[str, Any] = {"scale": [1 / 256], "zero_point": [-128]}


def random_image_model(random: Random) -> bytes:
    """Two to four layers that keep the channels, and a mean or a softmax at the end."""
    return one_graph(lambda g: _Layers(random, g).build(random.randint(2, 4)))


class _Layers:
    """One graph in the making; all images are [1, height, width, CHANNELS]."""

    def __init__(self, random: Random, graph: SubgraphWriter) -> None:
        self._random = random
        self._graph = graph
        self._least: tuple[int, ...] = (LEAST, LEAST)

    def build(self, layers: int) -> None:
        graph = self._graph
        image = self._image("x")
        graph.inputs = [image]
        layer_kinds = [
            self._filter,
            self._filter,
            self._pool,
            self._residual,
            self._padded,
            self._turned,
            self._resized,
        ]
        enlarged = self._random.choice([None, *range(layers)])
        for layer in range(layers):
            image = (self._enlarged if layer == enlarged else self._random.choice(layer_kinds))(image)
        graph.outputs = [image, self._end(image)]

    def _image(self, name: str = "") -> int:
        return vary(self._graph, name or f"t{len(self._graph.tensors)}", "int8", (1, -1, -1, CHANNELS), **SCALE)

    def _constant(self, values: Any, dtype: str = "int32", **quantization: Any) -> int:
        return self._graph.constant(f"c{len(self._graph.tensors)}", np.array(values), dtype, **quantization)

    def _filter(self, image: int, strides: tuple[int, int] | None = None, padding: int | None = None) -> int:
        random, rng = self._random, np.random.default_rng(self._random.randint(0, 999))
        depthwise = random.random() < 0.5
        taps = random.randint(1, 3), random.randint(1, 3)
        shape = (1, *taps, CHANNELS) if depthwise else (CHANNELS, *taps, CHANNELS)
        scales = rng.uniform(0.002, 0.01, CHANNELS).tolist()
        axis = 3 if depthwise else 0
        zeros = [0] * CHANNELS
        weights = self._constant(rng.integers(-127, 128, shape), "int8", scale=scales, zero_point=zeros, axis=axis)
        biases = [SCALE["scale"][0] * scale for scale in scales]
        bias = self._constant(rng.integers(-500, 500, CHANNELS), "int32", scale=biases, zero_point=zeros)
        strides = strides or (random.randint(1, 3), random.randint(1, 3))
        options = {
            "padding": self._slide(taps, strides) if padding is None else padding,
            "stride_h": strides[0],
            "stride_w": strides[1],
            "dilation_h_factor": 1,
            "dilation_w_factor": 1,
            **({"depth_multiplier": 1} if depthwise else {}),
        }
        out = self._image()
        name = "DEPTHWISE_CONV_2D" if depthwise else "CONV_2D"
        self._graph.operator(name, [image, weights, bias], [out], options)
        return out

    def _slide(self, taps: Sequence[int], strides: Sequence[int]) -> int:
        """A padding, VALID (1) only where the window fits into every image."""
        valid = tuple((size - tap) // step + 1 for size, tap, step in zip(self._least, taps, strides, strict=True))
        if min(valid) > 0 and self._random.random() < 0.5:
            self._least = valid
            return 1
        self._least = tuple(-(-size // step) for size, step in zip(self._least, strides, strict=True))
        return 0

    def _pool(self, image: int) -> int:
        random, out = self._random, self._image()
        names = ("padding", "stride_h", "stride_w", "filter_height", "filter_width")
        strides, taps = [(random.randint(1, 3), random.randint(1, 3)) for _ in range(2)]
        sizes = (self._slide(taps, strides), *strides, *taps)
        name = random.choice(["AVERAGE_POOL_2D", "MAX_POOL_2D"])
        self._graph.operator(name, [image], [out], dict(zip(names, sizes, strict=True)))
        return out

    def _residual(self, image: int) -> int:
        strides = (self._random.randint(1, 2), self._random.randint(1, 2))
        self._least = tuple(-(-size // stride) for size, stride in zip(self._least, strides, strict=True))
        first, second, out = self._filter(image, strides, 0), self._filter(image, strides, 0), self._image()
        self._graph.operator("ADD", [first, second], [out])
        return out

    def _enlarged(self, image: int) -> int:
        """Twice as high and wide, or by one pixel less: the size is computed from the image's."""
        random, rng, graph = self._random, np.random.default_rng(self._random.randint(0, 999)), self._graph
        taps = random.randint(1, 4), random.randint(1, 4)
        less = random.randint(0, 1), random.randint(0, 1)
        scales, zeros = rng.uniform(0.002, 0.01, CHANNELS).tolist(), [0] * CHANNELS
        shape = (CHANNELS, *taps, CHANNELS)
        weights = self._constant(rng.integers(-127, 128, shape), "int8", scale=scales, zero_point=zeros)
        sizes = [graph.tensor(f"size{len(graph.tensors)}_{i}", "int32", [4]) for i in range(3)]
        graph.operator("SHAPE", [image], [sizes[0]], {"out_type": 2})
        graph.operator("MUL", [sizes[0], self._constant([1, 2, 2, 1])], [sizes[1]])
        graph.operator("SUB", [sizes[1], self._constant([0, *less, 0])], [sizes[2]])
        out = self._image()
        graph.operator(
            "TRANSPOSE_CONV", [sizes[2], weights, image], [out], {"padding": 0, "stride_h": 2, "stride_w": 2}
        )
        self._least = (2 * self._least[0] - less[0], 2 * self._least[1] - less[1])
        return out

    def _padded(self, image: int) -> int:
        out = self._image()
        pads = [[0, 0], *([self._random.randint(0, 2), self._random.randint(0, 2)] for _ in range(2)), [0, 0]]
        self._graph.operator("PAD", [image, self._constant(pads)], [out], {})
        return out

    def _turned(self, image: int) -> int:
        out = self._image()
        self._graph.operator("REVERSE_V2", [image, self._constant([self._random.randint(1, 2)])], [out], {})
        return out

    def _resized(self, image: int) -> int:
        out = self._image()
        name = self._random.choice(["RESIZE_BILINEAR", "RESIZE_NEAREST_NEIGHBOR"])
        self._least = (self._random.randint(4, 9), self._random.randint(4, 9))
        size = self._constant(self._least)
        self._graph.operator(name, [image, size], [out], self._random.choice([{}, {"half_pixel_centers": True}]))
        return out

    def _end(self, image: int) -> int:
        if self._random.random() < 0.5:
            mean = self._graph.tensor("mean", "int8", [1, CHANNELS], **SCALE)
            self._graph.operator("MEAN", [image, self._constant([1, 2])], [mean], {"keep_dims": False})
            return mean
        graph = self._graph
        turned = vary(graph, "turned", "int8", (1, CHANNELS, -1, -1), **SCALE)
        out = vary(graph, "probabilities", "int8", (1, CHANNELS, -1, -1), **PROBABILITY)
        graph.operator("TRANSPOSE", [image, self._constant([0, 3, 1, 2])], [turned], {})
        graph.operator("SOFTMAX", [turned], [out], {"beta": 1.0})
        return out
