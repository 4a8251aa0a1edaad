"""What kernels take: instructions and cycles of a call, as sums over the loops that a shape makes of them.

Each family of kernels has its terms: how often its loops run at each depth. What one pass takes is fitted to counts of
measured layers, per core (table.py). Cycles are those that `bench` estimates, see docs/understand/counting.md.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from math import prod

from tflmgen.ir import Kernel
from tflmgen.kernels.costs.dsp import conv_dsp, depthwise_window, planes, winograd
from tflmgen.kernels.costs.dsp_direct import conv_dot, conv_offset, groups_dsp, transpose_dsp
from tflmgen.kernels.costs.dsp_split import conv_split
from tflmgen.kernels.costs.elements import (
    average_dsp,
    average_mve,
    elements,
    max_dsp,
    max_mve,
    portable_average,
    portable_rows,
    rows,
    table,
)
from tflmgen.kernels.costs.float import FLOATS
from tflmgen.kernels.costs.int16 import conv_int16, depthwise_int16, matrix_int16
from tflmgen.kernels.costs.mve import (
    conv_mve,
    depthwise_mve,
    depthwise_patches,
    depthwise_quads,
    groups_mve,
    matrix_mve,
    products_mve,
    transpose_mve,
    windows_mve,
)
from tflmgen.kernels.costs.recurrent import RECURRENT
from tflmgen.kernels.costs.shapes import Shape, Terms, clamped, up, windows
from tflmgen.kernels.costs.table import COSTS
from tflmgen.kernels.costs.thumb import (
    channel_planes,
    conv_thumb,
    direct_thumb,
    few_thumb,
    matrix_thumb,
    pixels_thumb,
    transposed_thumb,
)
from tflmgen.kernels.numeric.quantize_math import FLOAT_MAX

CORES = {
    "cortex-m0": "cortex-m0",
    "cortex-m0plus": "cortex-m0",
    "cortex-m1": "cortex-m0",
    "cortex-m23": "cortex-m0",
    "cortex-m3": "cortex-m3",
    "cortex-m4": "cortex-m4",
    "cortex-m33": "cortex-m4",
    "cortex-m35p": "cortex-m4",
    "cortex-m7": "cortex-m7",
    "cortex-m52": "cortex-m55",
    "cortex-m55": "cortex-m55",
    "cortex-m85": "cortex-m55",
}
"""By GCC's name of a core the one that was measured: itself, or its nearest relative."""


@dataclass(frozen=True, slots=True)
class Estimate:
    instructions: int
    cycles: int


def estimate(kernel: Kernel, core: str) -> Estimate | None:
    """None for kernels, and for cores, that there is no model of."""
    found = family(kernel)
    if found is None or core not in CORES or (kernel.function.endswith("_f32") and kernel.variant != "fpu"):
        return None
    name, terms = found
    table = COSTS.get((name, CORES[core]))
    if table is None:
        return None
    shape = _shape(kernel)
    counts, clamps = terms(shape), _clamping(name, shape, CORES[core])
    instructions, cycles = (
        sum(c * f for c, f in zip(counts, factors, strict=True)) + clamp
        for factors, clamp in zip(table, clamps, strict=True)
    )
    return Estimate(max(1, round(instructions)), max(1, round(cycles)))


WEIGHTED = re.compile(r"(conv2d|depthwise|transpose_conv|fully_connected)(?!.*_s16).*_(dsp|mve|thumb)(_|$)")
"""Families with weights, whose outputs of int8 are clamped after all are computed."""


def _clamping(name: str, shape: Shape, core: str) -> tuple[float, float]:
    """What it takes to clamp the outputs of a layer with weights, in a pass that ADD's are clamped by, too.

    The layers that tables are fitted to have no such pass.
    """
    found = WEIGHTED.match(name)
    if found is None or not clamped(shape):
        return 0, 0
    sizes = ("units",) if name.startswith("fully") else ("output_height", "output_width", "output_channels")
    count, by_ones = shape["batches"] * prod(shape[size] for size in sizes), found[2] == "thumb"
    passes = (1, count) if by_ones else (1, *divmod(count, 4))
    instructions, cycles = (
        sum(c * f for c, f in zip(passes, factors[-len(passes) :], strict=True))
        for factors in COSTS["add_thumb" if by_ones else "add_dsp", core]
    )
    return instructions, cycles


def terms_of(kernel: Kernel) -> tuple[str, Terms] | None:
    """A kernel's family, and how often its loops run."""
    found = family(kernel)
    return None if found is None else (found[0], found[1](_shape(kernel)))


def _shape(kernel: Kernel) -> Shape:
    assert kernel.params is not None
    shape: dict[str, int] = {}
    for name, value in kernel.params.fields:
        if isinstance(value, tuple):
            shape |= {f"{name}{place}": int(part) for place, part in enumerate(value)}
        elif isinstance(value, (int, bool)):
            shape[name] = int(value)
    limits = {name: value for name, value in kernel.params.fields if isinstance(value, float)}
    return {
        **shape,
        "zeros": int("zeros" in kernel.function),
        "rectified": int(limits.get("output_min", -FLOAT_MAX) > -FLOAT_MAX),
        "limited": int(limits.get("output_max", FLOAT_MAX) < FLOAT_MAX),
        "signed": int("signed" in kernel.function),
        "offset": int("offset" in kernel.function),
        "own_scales": int("common" not in kernel.function),
        "stack": int("stack" in kernel.function),
        "own_shifts": int("shift" not in kernel.function),
        "by_values": int("any" in kernel.function),
        "jumps": int(re.search(r"_of\d", kernel.function) is None),
        "any_count": int("_any_" in kernel.function or "_offset_" in kernel.function),
        "wide": int("s16" in kernel.function),
    }


def _portable_conv(shape: Shape) -> Terms:
    w, outputs = windows(shape), shape["output_channels"]
    return (
        1,
        w.pixels,
        w.pixels * outputs,
        w.rows * outputs,
        w.taps * outputs,
        w.taps * shape.get("filter_channels", 1) * outputs,
    )


DOT_ROWS_UNROLLED = 16
"""TFLMGEN_DOT_ROWS_UNROLLED."""


def _portable_matrix(shape: Shape) -> Terms:
    batches, units = shape["batches"], shape["units"]
    outputs, values = batches * units, batches * shape["depth"]
    return 1, batches, values, outputs, values * units, shape["signed"] * outputs, 0


def _matrix(group: int, step: int, unrolled: int = 8) -> Callable[[Shape], Terms]:
    """Rows of the input; groups of units, the last one perhaps with fewer; steps of values, unrolled."""

    def terms(shape: Shape) -> Terms:
        batches, groups, steps = shape["batches"], up(shape["units"], group), up(shape["depth"], step)
        left = shape["units"] % group
        return (
            1,
            batches,
            batches * shape["depth"],
            batches * (shape["depth"] % step),
            batches * (shape["depth"] % step != 0),
            batches * groups,
            batches * groups * steps,
            batches * groups * up(steps, unrolled),
            shape["signed"] * batches * groups,
            batches * (shape["units"] >= group),
            batches * (left > 0),
            batches * left,
        )

    return terms


def _paired_matrix(shape: Shape) -> Terms:
    """Of offset pairs, each row has a correction, which goes to each group's sums."""
    groups, steps = up(shape["units"], 4), up(shape["depth"], 4)
    rows, apart = shape["offset"] * shape["batches"], shape["own_scales"] * shape["batches"]
    left = shape["units"] % 4 != 0
    return (
        *_matrix(4, 4, DOT_ROWS_UNROLLED)(shape),
        rows,
        rows * steps,
        rows * groups,
        apart,
        apart * groups,
        apart * left,
    )


def _long_matrix(shape: Shape) -> Terms:
    """Rows are widened in parts for every 64 units."""
    batches, units, steps = shape["batches"], shape["units"], up(shape["depth"], 4)
    blocks, groups, parts = up(units, 64), up(units, 4), up(steps, 72)
    most = 8 * up(up(steps, parts), 8)
    passes = sum(up(min(most, steps - step), DOT_ROWS_UNROLLED) for step in range(0, steps, most))
    return (
        1,
        batches,
        batches * blocks * parts,
        batches * blocks * steps,
        batches * groups * parts,
        batches * groups * steps,
        batches * groups * passes,
        batches * units,
        shape["own_scales"] * batches * units,
        shape["own_scales"] * batches * groups,
        shape["signed"] * batches * units,
        shape["offset"] * batches * blocks * steps,
        shape["offset"] * batches * units,
    )


FAMILIES: tuple[tuple[str, Callable[[Shape], Terms]], ...] = (
    (r"conv2d_s8", _portable_conv),
    (r"depthwise_conv2d_s8", _portable_conv),
    (r"fully_connected_s8", _portable_matrix),
    (r"fully_connected_channels_s8", _portable_matrix),
    (r"add_s8", portable_rows),
    (r"mul_s8", portable_rows),
    (r"average_pool2d_s8", portable_average),
    (r"conv2d_pixel_thumb", pixels_thumb),
    (r"conv2d_thumb", conv_thumb),
    (r"conv2d_dsp_offset", conv_offset),
    (r"conv2d_dsp", conv_dsp),
    (r"conv2d_split_dsp", conv_split),
    (r"conv2d_winograd_dsp", winograd),
    (r"conv2d_dot_dsp", conv_dot),
    (r"conv2d_groups_dsp", groups_dsp),
    (r"transpose_conv_dsp", transpose_dsp),
    (r"conv2d_mve", conv_mve),
    (r"conv2d_groups_mve", groups_mve),
    (r"conv2d_windows_mve", windows_mve),
    (r"batch_matmul_mve", products_mve),
    (r"transpose_conv_mve", transpose_mve),
    (r"depthwise_thumb_3x3", channel_planes),
    (r"depthwise_thumb_window", channel_planes),
    (r"depthwise_direct_thumb", direct_thumb),
    (r"transpose_conv_thumb", transposed_thumb),
    (r"depthwise3x3_dsp", planes(1)),
    (r"depthwise3x3_pairs_dsp", planes(2)),
    (r"depthwise_window_dsp", depthwise_window),
    (r"depthwise_nine_dsp", depthwise_window),
    (r"depthwise_window_mve", depthwise_mve),
    (r"depthwise_quads_mve", depthwise_quads),
    (r"depthwise_squares_mve", depthwise_patches),
    (r"depthwise_line_mve", depthwise_patches),
    (r"depthwise_half_line_mve", depthwise_patches),
    (r"fully_connected_few_thumb", few_thumb),
    (r"fully_connected_thumb_copied", matrix_thumb),
    (r"fully_connected_thumb_plain", matrix_thumb),
    (r"fully_connected_dsp_widened", _paired_matrix),
    (r"fully_connected_dsp_long", _long_matrix),
    (r"fully_connected_mve", matrix_mve),
    (r"add_thumb", elements(1, 1)),
    (r"add_dsp", elements(4, 4)),
    (r"add_mve", elements(8, 4)),
    (r"add_rows_thumb", rows(1, 1, 1)),
    (r"add_rows_dsp", rows(4, 4, 4)),
    (r"mul_thumb", rows(1, 1, 1)),
    (r"mul_dsp", rows(4, 4, 4)),
    (r"mul_mve", rows(8, 8, 4, signs=(0,))),
    (r"average_pool2d_dsp", average_dsp),
    (r"average_pool2d_mve", average_mve),
    (r"max_pool2d_dsp", max_dsp),
    (r"max_pool2d_mve", max_mve),
    (r"lookup_mve", table),
    (r"conv2d_s16_dsp", conv_int16),
    (r"depthwise_conv2d_s16_dsp", depthwise_int16),
    (r"fully_connected_s16_dsp", matrix_int16),
    *RECURRENT,
    *FLOATS,
)
"""Kernels by how their names begin, behind tflmgen_, whether padding is zeros or not."""


def family(kernel: Kernel) -> tuple[str, Callable[[Shape], Terms]] | None:
    name = kernel.function.removeprefix("tflmgen_").replace("_zeros", "").replace("sub_s8", "add_s8")
    return next(((f, terms) for f, terms in FAMILIES if re.match(rf"{f}(_|$)", name)), None)
