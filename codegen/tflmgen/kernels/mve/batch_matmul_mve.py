"""BATCH_MATMUL in int8 for cores with MVE: when the kernels are applicable, and their scratch."""

from __future__ import annotations

from dataclasses import replace

from tflmgen.ir.kernel import Kernel
from tflmgen.kernels.costs.cost_model import product_cost
from tflmgen.kernels.declaration import Cases, Computes, KernelDeclaration
from tflmgen.kernels.numeric.header_constants import header_constant
from tflmgen.kernels.numeric.turned_product import by_panels
from tflmgen.kernels.requests import BatchProduct

HEADER = "batch_matmul_mve.h"

ROWS, CHUNK = 4, 16
"""Rows that are multiplied at a time, and values of each. One row is multiplied by so many columns, where these are of
one piece each, or lie side by side."""

END_BYTES = header_constant(HEADER, "TFLMGEN_BATCH_MATMUL_MVE_END_BYTES")
"""Bytes behind the values of two columns."""

FEWEST = 8
"""Columns of the smallest panel."""

REACH = 2**16
"""Bytes to the end of what a gathering load or a scattering store reaches."""


def batch_matmul_mve(request: BatchProduct) -> list[Kernel]:
    """The kernels with either operand as panels; none where sums are not shifted to the right, or where values or
    outputs lie too far apart."""
    return [kernel for product in request.orientations if (kernel := _kernel(product)) is not None]


def _kernel(product: Kernel) -> Kernel | None:
    assert product.params is not None
    n = {name: value for name, value in product.params.fields if isinstance(value, int)}
    # Without a shift there is no second rounding, whose halves below zero the other one takes care of.
    fits = n["shift"] < 0 and 7 * max(n["left_depth_stride"], n["right_depth_stride"]) < REACH
    if not fits or (ROWS - 1) * n["output_row_stride"] + n["output_column_stride"] >= REACH:
        return None
    pieces = n["left_depth_stride"] == 1 == n["right_depth_stride"] and n["columns"] >= ROWS
    side_by_side = n["right_column_stride"] == 1 and n["columns"] >= CHUNK
    if n["rows"] == 1 and (pieces or side_by_side):
        return by_panels(product, "batch_matmul_row_mve", "mve", 0, 0)
    panels = dict.fromkeys([n["columns"], min(n["columns"], FEWEST)])
    whole, *parts = (_panels(product, panel, n["depth"]) for panel in panels)
    return replace(whole, smaller=tuple(parts))


def _panels(product: Kernel, panel: int, depth: int) -> Kernel:
    """panel: columns that are in order at once, beside four rows."""
    pairs, chunks = -(-panel // 2), -(-depth // CHUNK)
    scratch = CHUNK * chunks * (ROWS + 2 * pairs) + END_BYTES * pairs
    return by_panels(product, "batch_matmul_mve", "mve", panel, scratch)


KERNEL = KernelDeclaration(
    HEADER,
    "mve",
    (Computes(BatchProduct, batch_matmul_mve),),
    {
        "batch_matmul_mve": product_cost("batch_matmul", "group packed_value row row_step block step", ROWS, 2, CHUNK),
        "batch_matmul_row_mve": product_cost("batch_matmul row", "block value_step step", CHUNK, ROWS, CHUNK),
    },
    (Cases("batch_matmul"),),
    ("batch_matmul_row_mve.h",),
)
