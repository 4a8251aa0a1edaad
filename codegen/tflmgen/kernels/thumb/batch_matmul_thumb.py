"""BATCH_MATMUL in int8 for every Cortex-M: when the kernel is applicable, and its scratch."""

from __future__ import annotations

from dataclasses import replace

from tflmgen.ir.kernel import Kernel
from tflmgen.kernels.costs.cost_model import product_cost
from tflmgen.kernels.declaration import Cases, Computes, KernelDeclaration
from tflmgen.kernels.numeric.header_constants import header_constant
from tflmgen.kernels.numeric.turned_product import by_panels
from tflmgen.kernels.requests import BatchProduct

HEADER = "batch_matmul_thumb.h"

COLUMNS = header_constant(HEADER, "TFLMGEN_BATCH_MATMUL_THUMB_COLUMNS")
"""Columns that lie side by side in a panel."""

ROWS, STEP = 4, 4
"""Rows that are multiplied at a time, and values of each."""


def batch_matmul_thumb(request: BatchProduct) -> list[Kernel]:
    """The kernels with either operand as panels; none of few rows or values, which are not worth being ordered, or
    of sums that are not shifted to the right."""
    return [kernel for product in request.orientations if (kernel := _kernel(product)) is not None]


def _kernel(product: Kernel) -> Kernel | None:
    assert product.params is not None
    n = {name: value for name, value in product.params.fields if isinstance(value, int)}
    if min(n["rows"], n["columns"]) < 2 or n["depth"] < STEP or n["shift"] >= 0:
        return None
    steps, whole = -(-n["depth"] // STEP), -(-n["columns"] // COLUMNS) * COLUMNS

    def with_panel(panel: int) -> Kernel:
        scratch = STEP * steps * (2 * ROWS + panel) + 4 * panel
        return by_panels(product, "batch_matmul_thumb", "thumb", panel, scratch)

    largest, *smaller = (with_panel(panel) for panel in dict.fromkeys([whole, COLUMNS]))
    return replace(largest, smaller=tuple(smaller))


KERNEL = KernelDeclaration(
    HEADER,
    "thumb",
    (Computes(BatchProduct, batch_matmul_thumb),),
    {"batch_matmul_thumb": product_cost("batch_matmul", "packed_step row_step block step", ROWS, 1, STEP)},
    (Cases("batch_matmul"),),
)
