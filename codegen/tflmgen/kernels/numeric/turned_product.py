"""Products of matrices by strides: (A B)^T = B^T A^T, the same with rows for columns, and panels of columns."""

from __future__ import annotations

from dataclasses import replace

from tflmgen.ir.kernel import Cost, Input, Kernel, Output, Params, Scratch

_PAIRS = (
    ("rows", "columns"),
    ("left_row_stride", "right_column_stride"),
    ("left_depth_stride", "right_depth_stride"),
    ("left_batch_strides", "right_batch_strides"),
    ("left_zero_point", "right_zero_point"),
    ("output_row_stride", "output_column_stride"),
)
_PARTNERS = {name: partner for pair in _PAIRS for name, partner in (pair, pair[::-1])}


def turned(product: Kernel) -> Kernel:
    """The kernel of a BATCH_MATMUL of inputs 0 and 1 with the operands exchanged, and rows for columns."""
    assert product.params is not None
    values = dict(product.params.fields)
    fields = tuple((name, values[_PARTNERS.get(name, name)]) for name in values)
    return replace(product, operands=(Input(1), Input(0), Output(0)), params=replace(product.params, fields=fields))


def by_panels(product: Kernel, name: str, variant: str, panel: int, scratch: int) -> Kernel:
    """The int8 kernel `name`, which puts `panel` columns in order at once (0: none), with so many bytes of scratch."""
    assert product.params is not None
    left, right, output = product.operands
    return replace(
        product,
        function=f"tflmgen_{name}_s8",
        header=f"{name}.h",
        operands=(left, right, *([Scratch(scratch)] if scratch else []), output),
        params=Params("tflmgen_batch_matmul_panels_s8", (*product.params.fields, ("panel", panel))),
        cost=Cost(product.macs, name),
        variant=variant,
    )
