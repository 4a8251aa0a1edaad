"""Fuses SPACE_TO_BATCH_ND, a convolution and BATCH_TO_SPACE_ND into a dilated convolution."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from tflmgen.ir.graph import Module, Op, Value
from tflmgen.kernels import Sliding, traits_of
from tflmgen.kernels.operators import constants_of
from tflmgen.kernels.specification import Window, four
from tflmgen.passes.operator_rewriter import OperatorRewriter, Replacement
from tflmgen.passes.permutation import view


def fuse_dilation(module: Module) -> Module:
    """Replaces SPACE_TO_BATCH_ND, a convolution, BATCH_TO_SPACE_ND by one convolution with dilation and padding.

    Frameworks decompose dilated convolutions in this way; 1D ones have views as images in between. Bit-exact.
    """
    return _Dilation(module).rewritten()


@dataclass(frozen=True, slots=True)
class _Spread:
    """One image dimension that is split into batches: block size, leading padding, leading crop."""

    block: int = 1
    padding: int = 0
    crop: int = 0


class _Dilation(OperatorRewriter):
    def op(self, op: Op) -> Replacement:
        if traits_of(op.operator).window is not Sliding.FILTER:
            return None
        cut, joined = self._space_to_batch_before(op), self._chain_to_batch_to_space(op)
        if cut is None or joined is None or cut.inputs[0] is None or op.inputs[0] is None:
            return None
        source, result = cut.inputs[0], joined[-1].outputs[0]
        axes = self._axes(cut, op)
        quantizations = {v.type.quantization for v in (source, op.inputs[0])}
        output_quantizations = {v.type.quantization for v in (op.outputs[0], result)}
        if axes is None or len(quantizations) > 1 or len(output_quantizations) > 1:
            return None
        blocks = [constants_of(self.flow.instance(boundary), 1) for boundary in (cut, joined[-1])]
        if blocks[0] != blocks[1]:
            return None
        spreads = self._spreads(cut, joined[-1], axes)
        return self._convolution(op, source, result, axes, spreads, joined)

    def _space_to_batch_before(self, op: Op) -> Op | None:
        """The SPACE_TO_BATCH_ND whose output only `op` reads, perhaps through views; else None."""
        value, reader = op.inputs[0], op
        while value is not None and self.flow.only_reader(value) == reader:
            producer = self.flow.producers.get(value)
            if producer is None or not traits_of(producer.operator).view:
                return producer if producer is not None and producer.operator == "SPACE_TO_BATCH_ND" else None
            value, reader = producer.inputs[0], producer
        return None

    def _chain_to_batch_to_space(self, op: Op) -> list[Op] | None:
        """Chain of only readers of `op`: views, then a BATCH_TO_SPACE_ND; else None."""
        chain = [op]
        while (reader := self.flow.only_reader(chain[-1].outputs[0])) is not None:
            chain.append(reader)
            if reader.operator == "BATCH_TO_SPACE_ND":
                return chain[1:]
            if not traits_of(reader.operator).view:
                return None
        return None

    def _axes(self, cut: Op, op: Op) -> tuple[int, ...] | None:
        """Image axes (0: height, 1: width) of the split dimensions; None if a view does more than add an axis."""
        assert op.inputs[0] is not None
        batches, images = cut.outputs[0].type.max_shape, four(op.inputs[0].type.max_shape)
        count = len(constants_of(self.flow.instance(cut), 1))
        if len(batches) == len(images):
            return tuple(range(count)) if batches == images else None
        added = [axis for axis in (1, 2) if images[axis] == 1 and batches == images[:axis] + images[axis + 1 :]]
        return (2 - added[0],) if added and len(batches) == 3 and count == 1 else None

    def _spreads(self, cut: Op, join: Op, axes: tuple[int, ...]) -> list[_Spread]:
        spreads = [_Spread(), _Spread()]
        space_to_batch, batch_to_space = self.flow.instance(cut), self.flow.instance(join)
        for index, axis in enumerate(axes):
            before, after = constants_of(space_to_batch, 2)[2 * index], constants_of(batch_to_space, 2)[2 * index]
            spreads[axis] = _Spread(constants_of(space_to_batch, 1)[index], before, after)
        return spreads

    def _convolution(
        self, op: Op, source: Value, result: Value, axes: tuple[int, ...], spreads: list[_Spread], joined: list[Op]
    ) -> Sequence[Op] | None:
        weights, steps = op.inputs[1], op.attributes.steps
        if weights is None or op.inputs[0] is None or (steps.stride_height, steps.stride_width) != (1, 1):
            return None
        window = Window(steps, four(op.inputs[0].type.max_shape), four(weights.type.max_shape)[1:3])
        shapes = [_as_image(v.type.max_shape, axes) for v in (source, result)]
        sizes, outputs = (shape[1:3] for shape in shapes)
        before, after, dilations = [], [], []
        for axis, (spread, extent, reach) in enumerate(
            zip(spreads, (window.height, window.width), window.reach, strict=True)
        ):
            span = (reach - 1) * spread.block + 1
            before.append(spread.padding + extent.padding * spread.block - spread.crop)
            after.append(max(0, outputs[axis] - 1 + span - sizes[axis] - before[-1]))
            dilations.append((steps.dilation_height, steps.dilation_width)[axis] * spread.block)
        if min(before) < 0:
            return None
        dilated_steps = replace(
            steps,
            same=False,
            dilation_height=dilations[0],
            dilation_width=dilations[1],
            before=(before[0], before[1]),
            after=(after[0], after[1]),
        )
        nodes: list[Op] = []
        image = self._viewed(op, source, shapes[0], nodes)
        is_image = result.type.max_shape == shapes[1]
        convolved = result if is_image else Value(self.pool.ids.take(), result.name, result.type.with_shape(shapes[1]))
        attributes = replace(op.attributes, steps=dilated_steps)
        fused = replace(op, inputs=(image, *op.inputs[1:]), outputs=(convolved,), attributes=attributes)
        if self.legal(fused) is None:
            return None
        self.absorbed.update(member.id for member in joined)
        nodes.append(fused)
        if not is_image:
            nodes.append(view(op, self.pool.ids.take(), convolved, result))
        return nodes

    def _viewed(self, op: Op, value: Value, shape: tuple[int, ...], nodes: list[Op]) -> Value:
        if value.type.max_shape == shape:
            return value
        image = Value(self.pool.ids.take(), value.name, value.type.with_shape(shape))
        nodes.append(view(op, self.pool.ids.take(), value, image))
        return image


def _as_image(shape: tuple[int, ...], axes: tuple[int, ...]) -> tuple[int, int, int, int]:
    """NHWC shape of an image; a shape of rank 3 gets a dimension of 1 as the axis that is not split."""
    if len(shape) == 4:
        return four(shape)
    n, length, channels = shape
    return (n, length, 1, channels) if axes == (0,) else (n, 1, length, channels)
