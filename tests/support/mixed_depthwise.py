"""Mixed depthwise layers: channels split into groups, each convolved with a filter of its own size, and joined."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from support.model_writer import ModelWriter

COLUMNS = 3
INPUT: dict[str, Any] = {"scale": [0.25], "zero_point": [-3]}
RESULT: dict[str, Any] = {"scale": [0.5], "zero_point": [4]}


def mixed(
    rng: np.random.Generator,
    taps: Sequence[int],
    channels: Sequence[int],
    positions: int = 1,
    activations: Sequence[int] = (0, 0, 0),
    returned: bool = False,
    biases: bool = True,
) -> bytes:
    """Channels split into groups, each cut to the last rows that its filter needs, convolved and joined."""
    w = ModelWriter()
    g = w.subgraph("main")
    rows, total = max(taps) + positions - 1, sum(channels)
    x = g.tensor("x", "int8", [1, rows, COLUMNS, total], **INPUT)
    sizes, axis = g.constant("sizes", list(channels), "int32"), g.constant("axis", 3, "int32")
    parts = [g.tensor(f"part{i}", "int8", [1, rows, COLUMNS, c], **INPUT) for i, c in enumerate(channels)]
    g.operator("SPLIT_V", [x, sizes, axis], parts, {"num_splits": len(parts)})
    results = []
    for i, (part, k, c, activation) in enumerate(zip(parts, taps, channels, activations, strict=False)):
        data = part
        if k < max(taps):
            begin = g.constant(f"begin{i}", [0, max(taps) - k, 0, 0], "int32")
            size = g.constant(f"size{i}", [1, rows - max(taps) + k, COLUMNS, c], "int32")
            data = g.tensor(f"rows{i}", "int8", [1, rows - max(taps) + k, COLUMNS, c], **INPUT)
            g.operator("SLICE", [part, begin, size], [data])
        scales = rng.uniform(0.001, 0.02, c).astype(np.float32)
        weights = g.constant(
            f"w{i}", rng.integers(-127, 128, (1, k, 2, c)), "int8", scale=scales, zero_point=[0] * c, axis=3
        )
        operands = [data, weights]
        if biases or i:
            operands.append(g.constant(f"b{i}", rng.integers(-500, 500, c), "int32", scale=scales * 0.25))
        result = g.tensor(f"y{i}", "int8", [1, positions, COLUMNS - 1, c], **RESULT)
        options = {
            "padding": 1,
            "stride_h": 1,
            "stride_w": 1,
            "depth_multiplier": 1,
            "fused_activation_function": activation,
        }
        g.operator("DEPTHWISE_CONV_2D", operands, [result], options)
        results.append(result)
    y = g.tensor("y", "int8", [1, positions, COLUMNS - 1, total], **RESULT)
    g.operator("CONCATENATION", results, [y], {"axis": -1})
    g.inputs, g.outputs = [x], [y, results[1]] if returned else [y]
    return w.finish()
