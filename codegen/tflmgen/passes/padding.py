"""Fuses a PAD of an image into the padding of the convolutions and pools that read it."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np

from tflmgen.ir.graph import Module, Op, Value
from tflmgen.kernels import Sliding, traits_of
from tflmgen.kernels.numeric import Activation
from tflmgen.kernels.operators import paddings
from tflmgen.kernels.specification import Steps, Window, four
from tflmgen.passes.operator_rewriter import OperatorRewriter, Replacement
from tflmgen.passes.permutation import view

POSITIVE = frozenset({Activation.RELU, Activation.RELU6})

Pair = tuple[int, int]


def fuse_padding(module: Module) -> Module:
    """Removes PADs of height and width if only convolutions and pools read them, which then pad themselves.

    The padding must be 0; before MAX_POOL_2D it may be any lower bound of the elements. Views in between move before
    the PAD if they add or drop dimensions of size 1. Bit-exact.
    """
    return _Padding(module).rewritten()


@dataclass(frozen=True, slots=True)
class _Padded:
    """Unpadded input of an operator.

    source         the value before the PAD
    image          its NHWC shape
    before, after  padding of (height, width)
    zeros          of a pool: the padding counts as pixels of value 0
    """

    source: Value
    image: tuple[int, int, int, int]
    before: Pair
    after: Pair
    zeros: bool = False


class _Padding(OperatorRewriter):
    def op(self, op: Op) -> Replacement:
        padded = self._padded(op)
        if padded is None:
            return None
        source, views = padded.source, list[Op]()
        if source.type.shape != padded.image:
            image = Value(self.pool.ids.take(), source.name, source.type.with_shape(padded.image))
            views.append(view(op, self.pool.ids.take(), source, image))
            source = image
        return *views, _with_padding(op, source, padded)

    def _padded(self, op: Op) -> _Padded | None:
        """Unpadded input of `op` if all readers of its padded input can read an unpadded one; else None."""
        padded = self._padded_input(op)
        if padded is None or op.inputs[0] is None:
            return None
        readers = self.flow.readers(op.inputs[0]) or ()
        return padded if readers and all(self._padded_input(reader) is not None for reader in readers) else None

    def _padded_input(self, op: Op) -> _Padded | None:
        if traits_of(op.operator).window is None:
            return None
        value = op.inputs[0]
        index = value
        while (between := self.flow.view(index)) is not None:
            index = between.inputs[0]
            if index is None or self.flow.only_reader(index) != between:
                return None
        pad = self.flow.producers.get(index) if index is not None else None
        if (
            pad is None
            or not traits_of(pad.operator).pads
            or value is None
            or (pad.inputs[0] or value).type.quantization != value.type.quantization
        ):
            return None
        padded, fits = self._image(pad, value), self._fits(op, pad)
        if padded is None or fits is None:
            return None
        padded = replace(padded, zeros=fits)
        image = Value(0, "", padded.source.type.with_shape(padded.image))
        return padded if self.legal(_with_padding(op, image, padded)) else None

    def _image(self, pad: Op, read: Value) -> _Padded | None:
        """Source and padding of a PAD of height and width, in the dimensions of `read`; else None."""
        source, sides = pad.inputs[0], paddings(self.flow.instance(pad))
        assert source is not None
        larger = pad.outputs[0].type.max_shape
        dims = [(d, pair) for d, size, pair in zip(source.type.max_shape, larger, sides, strict=True) if size != 1]
        sizes = read.type.max_shape
        if len(sizes) != 4 or [d + sum(pair) for d, pair in dims] != [size for size in sizes if size != 1]:
            return None
        remaining = iter(dims)
        image, pairs = zip(*(next(remaining) if size != 1 else (1, (0, 0)) for size in sizes), strict=True)
        if any(pairs[0]) or any(pairs[3]):
            return None
        befores, afters = zip(*pairs[1:3], strict=True)
        return _Padded(source, four(image), befores, afters)

    def _fits(self, op: Op, pad: Op) -> bool | None:
        """Meaning of the fill value: True: pixels of 0 of a pool; False: the operator's own padding; None: neither."""
        source = pad.inputs[0]
        assert source is not None
        quantization = source.type.quantization
        zero = quantization.zero_point if quantization is not None and not source.type.dtype.is_float else 0
        filled = self.flow.number(pad.inputs[2]) if len(pad.inputs) > 2 else zero
        if traits_of(op.operator).window is Sliding.FILTER:
            return False if filled == zero else None
        if op.attributes.zeros:
            return None
        lowest = np.finfo(np.float32).min if source.type.dtype.is_float else source.type.dtype.limits[0]
        never_wins = filled is not None and (filled <= lowest or (filled == zero and self._is_positive(source)))
        if traits_of(op.operator).neutral == -math.inf and never_wins:
            return False
        return True if filled == zero and not _window(op).reaches_out else None

    def _is_positive(self, value: Value) -> bool:
        """Whether all elements are at least 0, as after RELU."""
        op = self.flow.producers.get(self.flow.through_views(value))
        return op is not None and getattr(op.attributes, "activation", None) in POSITIVE


def _with_padding(op: Op, image: Value, padded: _Padded) -> Op:
    """The operator on `image` with its own padding and that of the PAD as explicit padding."""
    window = _window(op)
    before, after = [], []
    spans = zip(
        (window.height, window.width),
        (window.steps.stride_height, window.steps.stride_width),
        window.reach,
        padded.image[1:3],
        padded.before,
        strict=True,
    )
    for total, stride, reach, size, outer in spans:
        before.append(outer + total.padding)
        after.append(max(0, (total.output - 1) * stride + reach - size - before[-1]))
    steps = replace(window.steps, same=False, before=(before[0], before[1]), after=(after[0], after[1]))
    attributes = replace(op.attributes, steps=steps)
    if padded.zeros:
        attributes = replace(attributes, zeros=True)
    return replace(op, inputs=(image, *op.inputs[1:]), attributes=attributes)


def _window(op: Op) -> Window:
    shapes = [four(v.type.max_shape) for v in op.inputs[:2] if v is not None]
    steps: Steps = op.attributes.steps
    return Window(
        steps, shapes[0], op.attributes.taps if traits_of(op.operator).window is Sliding.POOL else shapes[1][1:3]
    )
