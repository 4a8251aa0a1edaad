"""tflmgen operators."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from tflmgen.commands.operator_table import OperatorRow, operator_rows, type_lines
from tflmgen.errors import TflmgenError
from tflmgen.ir import DType
from tflmgen.kernels import ANY, OPERATORS, Types
from tflmgen.options import OutputOptions
from tflmgen.plugins import installed_names, load_operators
from tflmgen.terminal import Column, Console, Table

ALIASES: Mapping[str, tuple[str, ...]] = {
    "BATCHNORMALIZATION": ("MUL", "ADD"),
    "CLIP": ("MAXIMUM", "MINIMUM", "RELU6"),
    "CONVTRANSPOSE": ("TRANSPOSE_CONV",),
    "DENSE": ("FULLY_CONNECTED",),
    "FLATTEN": ("RESHAPE",),
    "GEMM": ("FULLY_CONNECTED",),
    "GLOBALAVERAGEPOOL": ("MEAN",),
    "GLOBALMAXPOOL": ("REDUCE_MAX",),
    "LAYERNORMALIZATION": ("MEAN", "SQUARED_DIFFERENCE", "RSQRT", "MUL", "ADD"),
    "LINEAR": ("FULLY_CONNECTED",),
    "MATMUL": ("BATCH_MATMUL", "FULLY_CONNECTED"),
    "REDUCEMEAN": ("MEAN",),
    "REDUCESUM": ("SUM",),
    "SIGMOID": ("LOGISTIC",),
    "SWISH": ("LOGISTIC", "MUL"),
    "UPSAMPLE": ("RESIZE_BILINEAR", "RESIZE_NEAREST_NEIGHBOR"),
}
"""A name without underscores, in capitals -> operators."""


def spelled(name: str) -> str:
    """The name as names are compared: Conv2D is CONV_2D."""
    return name.upper().replace("_", "")


def matches(name: str, operator: str) -> bool:
    """Whether the operator's name contains this one, or the operator is what another framework's name becomes."""
    return spelled(name) in spelled(operator) or operator in ALIASES.get(spelled(name), ())


RULES = (Column(), Column(min_width=40, wraps=True))
COMPARED = (Column("element type"), Column("reference", min_width=24, wraps=True))


def operators_command(names: Sequence[str], plugins: Sequence[Path], output: OutputOptions) -> None:
    """Prints the operators whose names contain one of `names`, or all; a single one with its types and rules.

    Names of ONNX, Keras and PyTorch find what they become.
    """
    console = Console(output)
    added = load_operators(plugins, installed_names())
    operators = [*OPERATORS.values(), *added]
    matching = [o for o in operators if not names or any(matches(name, o.name) for name in names)]
    exact = [o for o in operators if [spelled(o.name)] == [spelled(name) for name in names]]
    rows = operator_rows(exact or matching)
    if not rows:
        words = " or ".join(names)
        raise TflmgenError(f"no operator's name contains {words}; `tflmgen operators` lists all")
    console.json([_describe(row) for row in rows])
    if len(rows) == 1:
        _print_operator(console, rows[0])
        return
    columns = (Column("operator", min_width=28), Column("in TFLM"), Column("element types", min_width=24, wraps=True))
    cells = [(row.name, "yes" if row.in_tflm else "no", ", ".join(t.label for t in row.references)) for row in rows]
    console.table(Table("", columns, cells))
    console.line(f"{len(rows)} operators. `tflmgen operators NAME` shows the types and rules of one.")


def _print_operator(console: Console, row: OperatorRow) -> None:
    console.line(row.name)
    for line in type_lines(row.signatures):
        console.line(f"  {line}")
    console.line("")
    console.table(Table("Compared with", COMPARED, [(t.label, w or "-") for t, w in row.references.items()]))
    if row.fault:
        console.line(f"TFLM*: {row.fault}")
        console.line("")
    console.table(Table("Requires", RULES, [("-", rule) for rule in row.rules]))


def _describe(row: OperatorRow) -> dict[str, Any]:
    return {
        "name": row.name,
        "custom": row.is_custom,
        "in_tflm": row.in_tflm,
        "types": {dtype.label: runtimes or None for dtype, runtimes in row.references.items()},
        "signatures": [
            {"inputs": [_labels(t) for t in s.inputs], "outputs": [_labels(t) for t in s.outputs]}
            for s in row.signatures
        ],
        "rules": list(row.rules),
    }


def _labels(types: Types) -> list[str | None]:
    """Labels of the types, None where the operand may be absent; empty if any type is accepted."""
    if types == ANY:
        return []
    return [*(t.label for t in DType if t in types), *([None] if None in types else [])]
