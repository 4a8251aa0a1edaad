"""Terms of cost models (costs.py): how often the loops of the kernels for the DSP extension run."""

from __future__ import annotations

from collections.abc import Callable

from tflmgen.ops.cost_shapes import Shape, Terms, alone_pixels, up

UNROLLED = 16
"""TFLMGEN_CONV2D_DSP_UNROLLED."""


def conv_dsp(shape: Shape) -> Terms:
    """Blocks of three pixels, pairs of output channels, steps of four values; one pixel that is left, or two of two."""
    pixels = shape["batches"] * shape["output_height"] * shape["output_width"]
    pairs, steps, rows = up(shape["output_channels"], 2), shape["steps"], shape["filter_height"]
    words, rest = divmod(shape["row_pitch"], 4)
    blocks, left = divmod(pixels, 3)
    moved = int(left == 2 and blocks > 0)
    blocks, left = blocks + moved, 0 if moved else left
    alone = alone_pixels(shape, 3, True)
    together = (pixels - alone) // 3
    copied = alone if shape["input_channels"] % 4 else 0
    passes = max(1, up(steps - 1, UNROLLED))
    one_byte, more = int(rest == 1), int(rest > 1)
    return (
        1,
        blocks,
        together,
        together * (words > 0) * rows,
        together * words * rows,
        together * one_byte * rows,
        together * one_byte * up(rows, 4),
        together * more * rows * rest,
        alone,
        alone * rows,
        alone * rows * words,
        copied,
        copied * rows,
        copied * rows * shape["row_pitch"],
        copied * rows * rest,
        moved * steps,
        blocks * pairs,
        blocks * pairs * passes,
        blocks * pairs * steps,
        shape["own_shifts"] * blocks * pairs,
        shape["signed"] * blocks * pairs,
        left * pairs,
        left * pairs * steps,
    )


def planes(together: int) -> Callable[[Shape], Terms]:
    """Depthwise kernels for 3x3 filters over planes of channels, in strips of lines, `together` of them at a time."""

    def terms(shape: Shape) -> Terms:
        channels, made = shape["input_channels"], shape["batches"] * shape["input_channels"]
        height, words = shape["output_height"], up(shape["output_width"], 2)
        strips = [min(shape["strip"], height - y) for y in range(0, height, shape["strip"])]
        if together > 1 and len(strips) > 1 and strips[-1] == 1:
            strips[-2:] = [strips[-2] - 1, 2]
        groups = sum(up(lines, together) for lines in strips)
        held = (height - 1) * shape["stride_height"] + shape["filter_height"]
        inside = min(shape["input_height"], held - shape["padding_top"])
        # Of a single strip the padding stays from channels to channels, and at the lines' ends of all.
        ends = shape["batches"] * min(channels, 4)
        padded = made if len(strips) > 1 else ends
        return (
            1,
            made,
            made * len(strips),
            made * inside,
            made * inside * words,
            ends * min(inside, strips[0] + 2),
            padded * (held - inside) * words,
            made * groups,
            made * groups * words,
            shape["signed"] * made * groups * words,
            made * (shape["output_width"] % 2),
            made * (len(strips) - 1) * words,
        )

    return terms
