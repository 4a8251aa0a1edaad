"""Ranges that SLICE and STRIDED_SLICE with constant bounds take of a tensor whose shape is known."""

from __future__ import annotations

from collections.abc import Sequence

from tflmgen.frontend.model_graph.tensor_values import constant_values
from tflmgen.frontend.tflite.model import FileOperator, SubGraph
from tflmgen.ir import DType
from tflmgen.kernels import traits_of


def constant_cut(op: FileOperator, graph: SubGraph) -> tuple[range, ...] | None:
    """Indices along each dimension of the input; None for another operator, or what is known at run time only.

    None, too, for new dimensions, an ellipsis, ends that count from the beginnings, and bounds that do not fit.
    """
    if not traits_of(op.name).cuts:
        return None
    rows, *bounds = (graph.tensors[i] for i in op.inputs)
    is_static = all(dim > 0 for dim in rows.shape_signature or rows.shape)
    if not is_static or any(bound.data is None or bound.dtype is not DType.INT32 for bound in bounds):
        return None
    begins, *others = (constant_values(bound).reshape(-1).tolist() for bound in bounds)
    if any(len(begins) != len(other) for other in others) or len(begins) > len(rows.shape):
        return None
    return _strided(op, rows.shape, begins, *others) if len(others) > 1 else _plain(rows.shape, begins, *others)


def _plain(shape: Sequence[int], begins: Sequence[int], sizes: Sequence[int]) -> tuple[range, ...] | None:
    if len(begins) != len(shape):
        return None
    ends = [dim if size == -1 else begin + size for dim, begin, size in zip(shape, begins, sizes, strict=True)]
    is_inside = all(0 <= begin <= end <= dim for dim, begin, end in zip(shape, begins, ends, strict=True))
    return tuple(range(begin, end) for begin, end in zip(begins, ends, strict=True)) if is_inside else None


def _strided(
    op: FileOperator, shape: Sequence[int], begins: Sequence[int], ends: Sequence[int], steps: Sequence[int]
) -> tuple[range, ...] | None:
    options = op.options or {}
    if 0 in steps or any(options.get(name) for name in ("ellipsis_mask", "new_axis_mask", "offset")):
        return None
    first, last, shrunk = (int(options.get(f"{name}_mask", 0)) for name in ("begin", "end", "shrink_axis"))
    cut = [range(dim) for dim in shape]
    for axis, (begin, end, step) in enumerate(zip(begins, ends, steps, strict=True)):
        if shrunk >> axis & 1:
            # TensorFlow ignores the mask of such a dimension's beginning; its Lite runtimes do not.
            start = 0 if first >> axis & 1 else begin % shape[axis]
            cut[axis] = range(start, start + 1)
        else:
            cut[axis] = cut[axis][None if first >> axis & 1 else begin : None if last >> axis & 1 else end : step]
    return tuple(cut)
