"""Recognises one row that is stored into a tensor, however converters spell it out: a cache of keys, a table, a list.

A mask is 1 in the row and 0 elsewhere: SCATTER_ND of ones, ONE_HOT, or the comparison of an index with 0, 1, 2 ...
The stored tensor is then SELECT(mask, row, old), or old * (1 - mask) + row in its place.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from tflmgen.ir import DType
from tflmgen.ir.graph import Module, Op, Value
from tflmgen.kernels import Comparison, traits_of
from tflmgen.kernels.numeric import Activation
from tflmgen.passes.operator_rewriter import OperatorRewriter, Replacement
from tflmgen.passes.permutation import compose, is_identity, permuted, transpose, transposed, transposition, view

Shape = tuple[int, ...]


def store_rows(module: Module) -> Module:
    """Replaces masks over a whole tensor by ROW_STORE, which writes one row in place.

    An index out of range stores nothing, either way. A SELECT is exact; products with 0 and 1 are, but for infinities
    and NaN in either row, and for the sign of zero.
    """
    return _RowStores(module).rewritten()


@dataclass(frozen=True, slots=True)
class _Mask:
    """`on` where the place along `axis` is `index`, `off` elsewhere."""

    index: Value
    axis: int
    on: float
    off: float


class _RowStores(OperatorRewriter):
    def op(self, op: Op) -> Replacement:
        traits = traits_of(op.operator)
        if not op.outputs or not op.outputs[0].type.is_static:
            return None
        if op.operator == "ROW_STORE":
            return self._turned(op)
        if traits.selects:
            return self._selected(op)
        if traits.adds == 1 and op.attributes.activation is Activation.NONE and not op.outputs[0].type.quantization:
            return self._added(op)
        return None

    def _turned(self, op: Op) -> Replacement:
        """A store into a transposed tensor that is transposed back: into the tensor itself."""
        inward, reader = transposition(self.flow, op.inputs[0]), self.flow.only_reader(op.outputs[0])
        outward = transposed(self.flow, reader) if reader is not None else None
        row, output = op.inputs[2], op.outputs[0].type
        if inward is None or outward is None or reader is None or row is None:
            return None
        if not is_identity(compose(inward[1], outward[1])) or len(row.type.shape) != len(output.shape):
            return None
        turned = Value(self.pool.ids.take(), row.name, row.type.with_shape(permuted(row.type.shape, outward[1])))
        turn = transpose(op, self.pool.ids.take(), row, outward[1], turned, self.pool)
        store = self.legal(replace(op, inputs=(inward[0], op.inputs[1], turned), outputs=reader.outputs))
        if store is None:
            return None
        self.absorbed.add(reader.id)
        return turn, store

    def _selected(self, op: Op) -> Replacement:
        condition, *choices = op.inputs
        mask = self._mask(condition, op.outputs[0].type.max_shape)
        if mask is None or {mask.on, mask.off} != {0, 1}:
            return None
        new, old = choices if mask.on else choices[::-1]
        return self._stored(op, old, mask, new)

    def _added(self, op: Op) -> Replacement:
        for kept, added in (op.inputs, op.inputs[::-1]):
            for factor, old in self._factors(kept):
                mask = self._mask(factor, op.outputs[0].type.max_shape)
                if mask is not None and (mask.on, mask.off) == (0, 1):
                    for new in (added, self._masked(added, mask, op.outputs[0].type.max_shape)):
                        stored = self._stored(op, old, mask, new, is_scattered=new is added)
                        if stored is not None:
                            return stored
        return None

    def _stored(
        self, op: Op, old: Value | None, mask: _Mask, new: Value | None, is_scattered: bool = False
    ) -> Replacement:
        """The store of the row that `new` has at the mask's place. is_scattered: `new` must be 0 elsewhere."""
        output = op.outputs[0]
        if old is None or new is None or not old.type == output.type == new.type.with_shape(output.type.shape):
            return None
        row = None if is_scattered else self._broadcast(op, new, mask, output.type.max_shape)
        row = row or self._scattered(op, new, mask, output.type.max_shape)
        if row is None:
            return None
        place, narrowing = self._narrowed(op, mask.index, output.type.max_shape[mask.axis])
        store = replace(op, operator="ROW_STORE", inputs=(old, place, row[0]), attributes=None)
        return None if self.legal(store) is None else (*narrowing, *row[1], store)

    def _narrowed(self, op: Op, index: Value, rows: int) -> tuple[Value, tuple[Op, ...]]:
        """The index as int32, which one out of the range of int32 leaves out of range."""
        if index.type.dtype is not DType.INT64:
            return index, ()
        wide, narrow = index.type, replace(index.type, dtype=DType.INT32)
        ends = [self.pool.add(np.full(wide.max_shape, end), Value(0, "end", wide)) for end in (-1, rows)]
        above, within, place = (Value(self.pool.ids.take(), index.name, kind) for kind in (wide, wide, narrow))
        steps = (
            ("MAXIMUM", (index, ends[0]), above),
            ("MINIMUM", (above, ends[1]), within),
            ("CAST", (within,), place),
        )
        nodes = (Op(self.pool.ids.take(), name, read, (result,), None, op.origin) for name, read, result in steps)
        return place, tuple(nodes)

    # -- the new row

    def _broadcast(self, op: Op, new: Value, mask: _Mask, shape: Shape) -> tuple[Value, tuple[Op, ...]] | None:
        """A row that is the same at every place."""
        row = _row_shape(shape, mask.axis)
        return self._shaped(op, new, row) if _padded(new.type.max_shape, len(shape)) == row else None

    def _scattered(self, op: Op, new: Value, mask: _Mask, shape: Shape) -> tuple[Value, tuple[Op, ...]] | None:
        """Row of a tensor of zeros into which it was scattered at the mask's place, and which may be transposed."""
        source, permutation = transposition(self.flow, new) or (new, tuple(range(len(shape))))
        scatter = self._scatter(source)
        if scatter is None or scatter.inputs[0] != mask.index or new.type.max_shape != shape:
            return None
        update = scatter.inputs[1]
        if update is None or permutation.index(0) != mask.axis:
            return None
        value, nodes = self._shaped(op, update, _row_shape(source.type.max_shape, 0))
        if source is new:
            return value, nodes
        row = Value(self.pool.ids.take(), update.name, new.type.with_shape(_row_shape(shape, mask.axis)))
        return row, (*nodes, transpose(op, self.pool.ids.take(), value, permutation, row, self.pool))

    def _shaped(self, op: Op, row: Value, shape: Shape) -> tuple[Value, tuple[Op, ...]]:
        if row.type.max_shape == shape:
            return row, ()
        shaped = Value(self.pool.ids.take(), row.name, row.type.with_shape(shape))
        return shaped, (view(op, self.pool.ids.take(), row, shaped),)

    def _masked(self, value: Value | None, wanted: _Mask, shape: Shape) -> Value | None:
        """Row of the product of a mask of 0 and 1 with a row."""
        for factor, row in self._factors(value):
            if self._mask(factor, shape) == replace(wanted, on=1, off=0):
                return row
        return None

    # -- masks

    def _factors(self, value: Value | None) -> Iterator[tuple[Value | None, Value | None]]:
        """The factors of a product, in either order."""
        product = self.flow.producer(value, lambda traits: traits.multiplies == 1)
        if product is not None and product.attributes.activation is Activation.NONE:
            yield from ((product.inputs[0], product.inputs[1]), (product.inputs[1], product.inputs[0]))

    def _mask(self, value: Value | None, shape: Shape) -> _Mask | None:
        """The mask that a value is, which is broadcast to `shape`."""
        if value is None or not value.type.is_static or len(value.type.max_shape) > len(shape):
            return None
        mask, own = self._own_mask(value), _padded(value.type.max_shape, len(shape))
        if mask is None:
            return None
        axis = mask.axis + len(shape) - len(value.type.max_shape)
        is_whole = own == shape or own == tuple(size if place == axis else 1 for place, size in enumerate(shape))
        return replace(mask, axis=axis) if is_whole and shape[axis] > 1 else None

    def _own_mask(self, value: Value) -> _Mask | None:
        """The mask that a value is in its own shape."""
        shape, op = value.type.max_shape, self.flow.producers.get(value)
        if op is None or op.inputs[0] is None:
            return None
        traits = traits_of(op.operator)
        if traits.compares in (Comparison.EQUAL, Comparison.NOT_EQUAL):
            return self._compared(op, shape, traits.compares is Comparison.EQUAL)
        if traits.adds == -1 and op.attributes.activation is Activation.NONE:
            return self._subtracted(op, shape)
        if traits.view:
            return _viewed(self._own_mask(op.inputs[0]), op.inputs[0].type.max_shape, shape)
        if turned := transposition(self.flow, value):
            mask = self._own_mask(turned[0])
            return mask and replace(mask, axis=turned[1].index(mask.axis))
        if op.operator == "CAST":
            mask = self._own_mask(op.inputs[0])
            # Other numbers may become others: 0.5 is 0 as an integer, 2 is 1 as a bool.
            return mask if mask is None or {mask.on, mask.off} <= {0, 1} else None
        if op.operator == "ONE_HOT":
            return self._one_hot(op, shape)
        scatter = self._scatter(value)
        number = self.flow.number(scatter.inputs[1]) if scatter is not None else None
        return None if number is None else _Mask(op.inputs[0], 0, number, 0)

    def _compared(self, op: Op, shape: Shape, equal: bool) -> _Mask | None:
        """The comparison of 0, 1, 2 ... with one index, or of a mask with the number that it is elsewhere."""
        for left, right in (op.inputs, op.inputs[::-1]):
            numbers = self.flow.array(right)
            if left is None or numbers is None or left.type.quantization is not None:
                continue
            if left.type.elements == 1 and left.type.dtype in (DType.INT32, DType.INT64):
                axis = _axis(shape)
                if numbers.size == shape[axis] > 1 and (numbers.reshape(-1) == np.arange(shape[axis])).all():
                    return _Mask(left, axis, float(equal), float(not equal))
            mask, number = self._mask(left, shape), self.flow.number(right)
            if mask is not None and number == mask.off != mask.on:
                return replace(mask, on=float(not equal), off=float(equal))
        return None

    def _subtracted(self, op: Op, shape: Shape) -> _Mask | None:
        """1 or 0 less a mask of such numbers."""
        number, mask = self.flow.number(op.inputs[0]), self._mask(op.inputs[1], shape)
        if number is None or mask is None or {number, mask.on, mask.off} - {0, 1}:
            return None
        return replace(mask, on=number - mask.on, off=number - mask.off)

    def _one_hot(self, op: Op, shape: Shape) -> _Mask | None:
        index, _, on, off = op.inputs
        values = self.flow.number(on), self.flow.number(off)
        if index is None or index.type.elements != 1 or None in values:
            return None
        return _Mask(index, _axis(shape), *(float(value or 0) for value in values))

    def _scatter(self, value: Value) -> Op | None:
        """The SCATTER_ND of one row that makes a value."""
        op = self.flow.producers.get(value)
        if op is None or op.operator != "SCATTER_ND" or op.inputs[0] is None or not value.type.is_static:
            return None
        return op if op.inputs[0].type.elements == 1 and value.type.max_shape[0] > 1 else None


def _axis(shape: Shape) -> int:
    """The first dimension of several elements."""
    return next((axis for axis, size in enumerate(shape) if size != 1), 0)


def _row_shape(shape: Shape, axis: int) -> Shape:
    return (*shape[:axis], 1, *shape[axis + 1 :])


def _padded(shape: Shape, rank: int) -> Shape:
    return (*[1] * (rank - len(shape)), *shape)


def _viewed(mask: _Mask | None, before: Shape, after: Shape) -> _Mask | None:
    """A mask of one element for each place, under another shape."""
    if mask is None or [size for size in before if size != 1] != [size for size in after if size != 1]:
        return None
    long = [axis for axis, size in enumerate(before) if size != 1]
    if mask.axis not in long:
        return None
    return replace(mask, axis=[axis for axis, size in enumerate(after) if size != 1][long.index(mask.axis)])
