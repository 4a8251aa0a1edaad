"""Weights with blockwise quantisation: one scale per block of consecutive elements of a row, in a tensor of scales."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from tflmgen.frontend.tflite.names import DTYPES, tensor_type_name
from tflmgen.frontend.tflite.problems import Complain
from tflmgen.ir import BlockQuantization, DType

_BLOCKWISE = 2
"""Type number of BlockwiseQuantization in the union QuantizationDetails."""


def read_blocks(
    index: int, tensors: Sequence[Mapping[str, Any]], buffers: Sequence[bytes], complain: Complain
) -> BlockQuantization | None:
    """Blockwise quantisation of tensor `index`; None if it has none, or an invalid one, which is reported."""
    raw = tensors[index]["quantization"]
    if raw is None or raw["details_type"] != _BLOCKWISE or raw["details"] is None:
        return None
    details, shape = raw["details"], tensors[index]["shape"]
    block = details["block_shape"] or (details["block_size"],)
    size = block[-1]
    if any(extent != 1 for extent in block[:-1]) or details["block_size"] not in (0, size):
        complain(
            f"it is quantised by blocks of shape {list(block)}; only blocks along the last dimension are supported"
        )
    elif size < 1 or not shape or shape[-1] % size:
        complain(f"it is quantised by blocks of {size}, which do not divide shape {list(shape)}")
    elif (scales := _scales(details["scales"], math.prod(shape) // size, tensors, buffers, complain)) is not None:
        if _has_zero_points(details, index, tensors, buffers, complain):
            complain("its blocks have zero points other than 0, which is not supported")
        return BlockQuantization(scales, size)
    return None


def _scales(
    index: int, count: int, tensors: Sequence[Mapping[str, Any]], buffers: Sequence[bytes], complain: Complain
) -> tuple[float, ...] | None:
    if not 0 <= index < len(tensors):
        complain(f"the scales of its blocks are tensor {index}, but there are {len(tensors)} tensors")
        return None
    dtype, data = DTYPES.get(tensor_type_name(tensors[index]["type"]) or ""), _contents(tensors[index], buffers)
    if dtype not in (DType.FLOAT16, DType.FLOAT32):
        complain(f"the scales of its blocks, tensor {index}, are neither float16 nor float32")
        return None
    if len(data) != count * dtype.bits // 8:
        complain(f"it has {count:,} blocks, but their scales, tensor {index}, have {len(data):,} bytes")
        return None
    scales = tuple(map(float, np.frombuffer(data, dtype.numpy)))
    bad = [scale for scale in scales if not (math.isfinite(scale) and scale > 0)]
    if bad:
        complain(f"scale {bad[0]:g} of a block is not a positive number")
    return scales


def _has_zero_points(
    details: Mapping[str, Any],
    index: int,
    tensors: Sequence[Mapping[str, Any]],
    buffers: Sequence[bytes],
    complain: Complain,
) -> bool:
    """Whether a block has a nonzero zero point. The field's default is tensor 0, which may be an unrelated tensor."""
    points = details["zero_points"]
    if points >= len(tensors):
        complain(f"the zero points of its blocks are tensor {points}, but there are {len(tensors)} tensors")
        return False
    is_meant = points > 0 or (points == 0 != index and tensors[0]["shape"] == tensors[details["scales"]]["shape"])
    return is_meant and points != details["scales"] and any(_contents(tensors[points], buffers))


def _contents(raw: Mapping[str, Any], buffers: Sequence[bytes]) -> bytes:
    return buffers[raw["buffer"]] if raw["buffer"] < len(buffers) else b""
