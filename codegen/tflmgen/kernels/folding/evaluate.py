"""Operators evaluated at compile time: the same bits that their kernels give.

What moves elements is evaluated by the loops or pieces of its kernel.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.lib.stride_tricks import as_strided
from numpy.typing import NDArray

from tflmgen.ir.kernel import ConstantArray, Input, Kernel, KernelChoice, OperatorInstance, Pieces, Target, View
from tflmgen.kernels.folding.fold_elements import operands
from tflmgen.kernels.specification.operator import Operators, OperatorSpec
from tflmgen.kernels.table import OPERATORS


def moved(kernel: Kernel | View | Pieces, op: OperatorInstance) -> list[NDArray[Any]] | None:
    """The outputs of a view, of pieces, or of a kernel of firmware/kernels/copy.h or concatenation.h."""
    if isinstance(kernel, View):
        return _typed(op, [np.asarray(op.constants[kernel.input])])
    inputs = [np.frombuffer(array.tobytes(), np.uint8) for array in operands(op)]
    if isinstance(kernel, Pieces):
        outputs = [np.zeros(t.bytes, np.uint8) for t in op.outputs]
        for part in kernel.parts:
            source = inputs[part.input][part.input_offset : part.input_offset + part.bytes]
            outputs[part.output][part.output_offset : part.output_offset + part.bytes] = source
        return _typed(op, outputs)
    if kernel.function in ("tflmgen_concatenation", "tflmgen_split"):
        return _typed(op, _joined_or_split(kernel, inputs))
    if kernel.function.startswith("tflmgen_copy_") and kernel.params is not None:
        return _typed(op, [_copied(kernel.function, dict(kernel.params.fields), inputs[0], op)])
    return None


def _typed(op: OperatorInstance, outputs: Sequence[NDArray[Any]]) -> list[NDArray[Any]]:
    """Raw bytes as the outputs that they are."""
    return [
        np.frombuffer(array.tobytes(), t.dtype.numpy).reshape(t.max_shape)
        for array, t in zip(outputs, op.outputs, strict=True)
    ]


def _joined_or_split(kernel: Kernel, inputs: Sequence[NDArray[Any]]) -> list[NDArray[Any]]:
    """Rows of blocks: one tensor has them side by side, the others one kind each."""
    layout = kernel.operands[0]
    assert isinstance(layout, ConstantArray)
    repeats, _, *blocks = np.frombuffer(layout.data, np.int32).tolist()
    operands = [inputs[operand.index] for operand in kernel.operands if isinstance(operand, Input)]
    if kernel.function == "tflmgen_concatenation":
        rows = [array.reshape(repeats, size) for array, size in zip(operands, blocks, strict=True)]
        return [np.concatenate(rows, axis=1)]
    return list(np.split(operands[0].reshape(repeats, sum(blocks)), np.cumsum(blocks)[:-1], axis=1))


def _copied(function: str, fields: dict[str, Any], source: NDArray[Any], op: OperatorInstance) -> NDArray[Any]:
    """A copy along a nest of loops, whose elements are bytes where it copies rows."""
    size = 1 if function == "tflmgen_copy_rows" else op.outputs[0].dtype.bits // 8
    extents = fields["extent"][: fields["rank"]]
    target = np.zeros(op.outputs[0].bytes // size, f"V{size}")

    def walk(array: NDArray[Any], side: str) -> NDArray[Any]:
        strides = [stride * size for stride in fields[f"{side}_stride"][: fields["rank"]]]
        return as_strided(array[fields[f"{side}_offset"] :], extents, strides)

    walk(target, "output")[...] = walk(source.view(target.dtype), "input")
    return target


def fold(name: str, op: OperatorInstance, operators: Operators = OPERATORS) -> Sequence[NDArray[Any]] | None:
    """The outputs of operator `name`, in their own types and shapes; None where they are not known at compile time.

    An operator's `fold` decides which of its inputs must be known; a view needs the input that it renames, what moves
    elements every one.
    """
    entry = operators[name]
    if not all(t.is_static for t in op.outputs):
        return None
    with np.errstate(all="ignore"):
        if entry.fold is not None and (folded := entry.fold(op)) is not None:
            return folded
        if (view := _view_of_constant(entry, op)) is not None:
            return moved(view, op)
        if not entry.traits.moves or any(array is None for array in op.constants):
            return None
        kernel = entry.kernel(op, Target("generic"))
        return moved(kernel.kernel if isinstance(kernel, KernelChoice) else kernel, op)


def _view_of_constant(entry: OperatorSpec, op: OperatorInstance) -> View | None:
    """The view that the operator is, where what it renames is constant: a constant has no place in RAM to rename."""
    inputs = zip(op.inputs, op.constants, strict=True)
    same_size = (t.bytes == op.outputs[0].bytes for t, array in inputs if t is not None and array is not None)
    if len(op.outputs) != 1 or not any(same_size):
        return None
    kernel = entry.kernel(op, Target("generic"))
    return kernel if isinstance(kernel, View) and op.constants[kernel.input] is not None else None
