"""Sequences of values, which exist while a model is lowered only: their lengths and places are known at build time."""

from __future__ import annotations

from collections.abc import Sequence

from tflmgen.frontend.onnx.element_graph import F32, I64
from tflmgen.frontend.onnx.layout_graph import OnnxValue, constant
from tflmgen.frontend.onnx.lowerings import lowers
from tflmgen.frontend.onnx.node import OnnxNode, normal_axis
from tflmgen.frontend.onnx.node_error import NodeError


def _sequence(parts: Sequence[OnnxValue]) -> OnnxValue:
    return OnnxValue(parts[0].dtype if parts else F32, (), (), parts=tuple(parts))


def _parts(node: OnnxNode) -> list[OnnxValue]:
    """The values of the first operand. Raises NodeError for a tensor."""
    parts = node[0].parts
    if parts is None:
        raise NodeError("takes a sequence, but its operand is a tensor")
    return list(parts)


def _place(node: OnnxNode, index: int, count: int) -> int:
    """A place among so many, from 0 on; the last one where it is left out. Raises NodeError for one beyond them."""
    place = int(node.known(index, "its place").reshape(-1)[0]) if node.has(index) else count - 1
    if not -count <= place < count:
        raise NodeError(f"has the place {place} in a sequence of {count}")
    return place % count


@lowers("SequenceConstruct", "SequenceEmpty")
def sequence_construct(node: OnnxNode) -> OnnxValue:
    """SequenceConstruct of its operands, and SequenceEmpty of none."""
    return _sequence([node[index] for index in range(len(node.inputs))])


@lowers("SequenceInsert")
def sequence_insert(node: OnnxNode) -> OnnxValue:
    """SequenceInsert: the value before a known place, or at the end."""
    parts = _parts(node)
    parts.insert(_place(node, 2, len(parts) + 1) if node.has(2) else len(parts), node[1])
    return _sequence(parts)


@lowers("SequenceErase")
def sequence_erase(node: OnnxNode) -> OnnxValue:
    """SequenceErase: without the value at a known place, or the last."""
    parts = _parts(node)
    del parts[_place(node, 1, len(parts))]
    return _sequence(parts)


@lowers("SequenceAt")
def sequence_at(node: OnnxNode) -> OnnxValue:
    """SequenceAt: the value at a known place."""
    parts = _parts(node)
    return parts[_place(node, 1, len(parts))]


@lowers("SequenceLength")
def sequence_length(node: OnnxNode) -> OnnxValue:
    """SequenceLength: a constant."""
    return constant(len(_parts(node)), I64)


@lowers("ConcatFromSequence")
def concat_from_sequence(node: OnnxNode) -> OnnxValue:
    """ConcatFromSequence along an axis, which is a new one with `new_axis`."""
    g, parts = node.graph, _parts(node)
    if not parts:
        raise NodeError("joins an empty sequence")
    is_new = bool(node.attribute("new_axis", 0))
    axis = normal_axis(int(node.attribute("axis")), parts[0].rank + is_new)
    return g.concat([g.unsqueeze(value, axis) for value in parts] if is_new else parts, axis)


@lowers("SplitToSequence")
def split_to_sequence(node: OnnxNode) -> OnnxValue:
    """SplitToSequence: parts of known sizes, or of one each, whose axis goes without `keepdims`."""
    g, value = node.graph, node[0]
    axis = node.axis(value.rank)
    whole, sizes = value.shape[axis], node.integers(1, "its parts")
    keeps = bool(node.attribute("keepdims", 1)) or sizes is not None
    if sizes is None:
        sizes = [1] * whole
    elif node[1].rank == 0:
        if sizes[0] < 1:
            raise NodeError(f"splits into parts of {sizes[0]}")
        sizes = [min(sizes[0], whole - start) for start in range(0, whole, sizes[0])]
    if sum(sizes) != whole or min(sizes, default=0) < 0:
        raise NodeError(f"splits a dimension of {whole} into {'+'.join(map(str, sizes))}")
    parts = [g.part(value, axis, sum(sizes[:k]), size) for k, size in enumerate(sizes)]
    return _sequence(parts if keeps else [g.squeeze(piece, [axis]) for piece in parts])
