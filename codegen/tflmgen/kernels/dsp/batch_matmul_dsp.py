"""BATCH_MATMUL in int8 for cores with the DSP extension: when the kernels are applicable, and their scratch."""

from __future__ import annotations

from dataclasses import replace

from tflmgen.ir.kernel import Kernel
from tflmgen.kernels.costs.cost_model import product_cost
from tflmgen.kernels.declaration import Cases, Computes, KernelDeclaration
from tflmgen.kernels.numeric.turned_product import by_panels
from tflmgen.kernels.requests import BatchProduct

HEADER = "batch_matmul_dsp.h"

STEP = 4
"""Values of a row or column that are multiplied at a time; a row alone is multiplied by so many columns."""

MAX_DEPTH = 2**14 - 1
"""Products of two int8 values less their zero points whose sum is below 2^30."""

SHIFTS = range(1, 23)
"""Shifts to the right: of 0 there is no second rounding, and beyond these the zero point leaves 32 bits."""

FEWEST = 8
"""Columns of the smallest panel."""


def batch_matmul_dsp(request: BatchProduct) -> list[Kernel]:
    """The kernels with either operand as panels; none where an operand's values lie side by side neither in rows nor in
    columns, where vectors are shorter than a step, or sums are not as the C needs them."""
    return [kernel for product in request.orientations if (kernel := _kernel(product)) is not None]


def _kernel(product: Kernel) -> Kernel | None:
    assert product.params is not None
    n = {name: value for name, value in product.params.fields if isinstance(value, int)}
    if -n["shift"] not in SHIFTS or not STEP <= n["depth"] <= MAX_DEPTH:
        return None
    columns_fit = 1 in (n["right_column_stride"], n["right_depth_stride"])
    rows_fit = 1 in (n["left_row_stride"], n["left_depth_stride"])
    if n["rows"] == 1 and columns_fit and n["columns"] >= STEP:
        return _of(product, "batch_matmul_row_dsp", n["depth"], 0)
    if min(n["rows"], n["columns"]) < 2 or not columns_fit or not rows_fit:
        return None
    panels = dict.fromkeys([n["columns"], min(n["columns"], FEWEST)])
    whole, *parts = (_of(product, "batch_matmul_dsp", n["depth"], panel) for panel in panels)
    return replace(whole, smaller=tuple(parts))


def _of(product: Kernel, name: str, depth: int, panel: int) -> Kernel:
    """panel: columns that become words at once, beside two rows; 0 for one row alone."""
    vectors = 2 + panel + panel % 2 if panel else 1
    return by_panels(product, name, "dsp", panel, 2 * STEP * -(-depth // STEP) * vectors)


KERNEL = KernelDeclaration(
    HEADER,
    "dsp",
    (Computes(BatchProduct, batch_matmul_dsp),),
    {
        "batch_matmul_dsp": product_cost(
            "batch_matmul", "row packed_value packed_step row_step block step", 2, 2, STEP
        ),
        "batch_matmul_row_dsp": product_cost("batch_matmul row", "block value_step step", STEP, STEP, STEP),
    },
    (Cases("batch_matmul"),),
    ("batch_matmul_row_dsp.h",),
)
