"""Terms of cost models (estimate.py): how often the loops of the kernel run that goes through windows in parts."""

from __future__ import annotations

from collections.abc import Iterator

from tflmgen.kernels.costs.dsp import STEPS
from tflmgen.kernels.costs.shapes import Shape, Terms, axis, blocks_of, up


def conv_split(shape: Shape) -> Terms:
    """Blocks of three pixels; parts of their windows; pairs of output channels.

    Windows side by side are widened in threes, others each for itself, by pieces of rows where they lie inside, by what
    lies inside otherwise. The last block has three windows, too.
    """
    y, x, blocks = axis(shape, "height"), axis(shape, "width"), blocks_of({**shape, "dilation_width": 1}, 3, True)
    parts = list(_parts(shape))
    pieces = [piece for part in parts for piece in part]
    steps, rows = shape["steps"], shape["filter_width"] * shape["input_channels"] // 4
    threes, pixels = int(blocks.together.sum()), len(blocks.line)
    number = up(pixels, 3)
    at, column = blocks.line[blocks.alone], blocks.column[blocks.alone]
    left = pixels % 3
    # A window that the last block repeats is the last one.
    lines = [*at.tolist(), *[int(at[-1])] * (3 - left if left else 0)] if len(at) else []
    columns = [*column.tolist(), *[int(column[-1])] * (3 - left if left else 0)] if len(at) else []
    whole = cut = words = inside = outside = 0
    for line, across in zip(lines, columns, strict=True):
        if y.whole[line] and x.whole[across]:
            whole += 1
            continue
        cut += 1
        found = int(y.inside[line])
        inside, outside = inside + found, outside + shape["filter_height"] - found
        words += found * int(x.inside[across]) * shape["input_channels"] // 4
    in_rows = [sum(count for _, count in part) for part in parts]
    together = [max(1, count // rows) for count in in_rows]
    pairs, channels = up(shape["output_channels"], 2), shape["output_channels"]
    passes = sum(up(count, STEPS) for count in in_rows)
    per_row = len(pieces) / shape["filter_height"]
    return (
        1,
        number,
        number * len(parts),
        threes * len(parts),
        threes * sum(together),
        threes * steps,
        threes * sum(n * up(count // n, 2) for n, count in zip(together, in_rows, strict=True)),
        whole + cut,
        (whole + cut) * len(parts),
        whole * len(pieces),
        whole * steps,
        whole * sum(count // 4 for _, count in pieces),
        inside * per_row,
        outside * per_row,
        words,
        cut * steps - words,
        number * pairs,
        number * pairs * len(parts),
        number * pairs * passes,
        number * pairs * steps,
        shape["own_shifts"] * number * pairs,
        shape["signed"] * number * pairs,
        int(left > 0),
        left * channels,
    )


def _parts(shape: Shape) -> Iterator[list[tuple[int, int]]]:
    """Of each part, the pieces of rows that it consists of: where they begin, and how long they are, in fours."""
    row, steps, most = shape["filter_width"] * shape["input_channels"] // 4, shape["steps"], shape["part_steps"]
    first = 0
    while first < steps:
        count = min(most, row - first % row if most < row else steps - first)
        pieces, at, left = [], first % row, count
        while left:
            here = min(row - at, left)
            pieces.append((at, here))
            at, left = 0, left - here
        yield pieces
        first += count
