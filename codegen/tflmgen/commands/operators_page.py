"""docs/use/operators.md, made from the operator table; its test writes it with --update-golden."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Mapping, Sequence

from tflmgen.commands.operator_table import CONTROL, SPLIT_UP, VARIABLES, OperatorRow, type_lines
from tflmgen.ir import DType
from tflmgen.kernels import declarations

COLUMNS = (DType.FLOAT32, DType.INT8, DType.INT16, DType.UINT8, DType.INT32, DType.INT64, DType.BOOL)

_HEAD = """\
# Operators

This page is made from the support rules in `codegen/tflmgen/kernels/` and the lowering of ONNX; `tflmgen operators`
prints the same, `tflmgen operators NAME` one operator with its rules. A test holds the page to the code, and the
differential tests hold the code to the references.

{count} operators have kernels. Each is compared with a reference in each type: **TFLM** is TFLite Micro, integers bit
for bit, floats within 1e-5; **LiteRT**, its reference kernels, where TFLite Micro has no kernel or not for this type; ✓
where neither takes the type, and the operator's definition says what comes out. **TFLM\\*** is the same where TFLite
Micro has a kernel that loses bits, is wrong or sums in another order.

{control} are compiled without kernels: they become C's own control flow, calls, or nothing. {variables} become the
model's state, {split_up} two layers of one direction each. `RFFT2D` of single rows, `COMPLEX_ABS`, `REAL` and `IMAG`
are computed on pairs of floats, `DENSIFY` when the file is read. `STABLEHLO_ADD`, `STABLEHLO_MULTIPLY`,
`STABLEHLO_MAXIMUM`, `STABLEHLO_MINIMUM`, `STABLEHLO_AND` of Booleans, `STABLEHLO_PAD`, `STABLEHLO_GATHER`,
`STABLEHLO_REDUCE_WINDOW` and `DILATE` become TFLite's operators; LiteRT has no kernel of other operators of StableHLO.

Not compiled are `HASHTABLE`, `HASHTABLE_FIND`, `HASHTABLE_IMPORT`, `HASHTABLE_SIZE`, `LSH_PROJECTION` and `SKIP_GRAM`:
they work on strings, which have no place in a static arena (tables from numbers to numbers are rewritten when a model
is converted from TensorFlow). LiteRT itself has no kernel of `CONCAT_EMBEDDINGS`.

Indices that lead outside do no harm: of `GATHER`, `GATHER_ND` and `EMBEDDING_LOOKUP`, where LiteRT reports an error,
the nearest element is taken; what `SCATTER_ND`, `SPARSE_TO_DENSE` and `STABLEHLO_SCATTER` would put outside is left
out, and slices are moved inside. `SEGMENT_SUM` reports indices that descend.

Quantised uint8 networks, as TensorFlow 1 made them, are read as int8 ones, codes and zero points 128 less: layers,
pools, arithmetic, activations and comparisons. Weights keep their zero points where the rest does not fit into int8 (in
convolutions and FULLY_CONNECTED). The results are those of LiteRT's uint8 kernels bit for bit; of `RESIZE_BILINEAR` and
`L2_NORMALIZATION`, which round like those of int8, at most one step away; `DIV` is as exact as that of int8.

Random numbers are TensorFlow's for the same seeds; both of them 0 are seeds like others here. The generator is a part
of the model's state: it is saved with it, and `NAME_reset()` begins the same numbers again.

[Custom operators](custom-operators.md) come from
plug-ins; any other operator is refused by name.

## Types

The element type is that of the operand that decides on the kernel: mostly the first input. ONNX: operators of ONNX
that become this one alone in a quarter of ONNX's own tests of them or more; If becomes `IF`, Loop and Scan `WHILE`,
others several operators ([all of them](onnx-operators.md)).

"""

_FASTER = """\
## Faster kernels

The kernels of `firmware/kernels/` that are written for instruction sets. They give what the portable ones give, or are
not taken: where a layer's numbers don't suit one, another computes it. Of several the one of fewest
[estimated cycles](../understand/counting.md#which-kernel-and-why) is taken. float32 has loops for floating-point units
in the portable kernels.
"""

SETS = {"thumb": "every Cortex-M", "dsp": "DSP extension", "mve": "MVE", "rv32m": "RISC-V with multiplications"}


_REFUSED = """\
## What LiteRT takes beside

Found by trying: files of each operator in every type, given to LiteRT and to tflmgen (`python tests/litert_types.py`).
Operands are i0, i1 and so on, results o0; those of one cell have the type together. Why tflmgen refuses them: float64
and complex numbers, and arithmetic of float16 (whose constants are widened), are slow on microcontrollers beyond use;
elements of int4 that are computed have no address of their own; integers without scales in other operators, and index
types beyond int32 and int64, are not what converters write.
"""


def page(
    rows: list[OperatorRow], onnx: Mapping[str, Sequence[str]], refused: Mapping[str, Mapping[str, Sequence[str]]]
) -> str:
    """Markdown text of the page.

    onnx     names of ONNX's operators, by the operator that each becomes
    refused  types that LiteRT takes and tflmgen does not, by operator and operands
    """
    names = [[f"`{name}`" for name in group] for group in (CONTROL, VARIABLES, SPLIT_UP)]
    control, variables, split_up = (", ".join(group[:-1]) + " and " + group[-1] for group in names)
    head = _wrapped(_HEAD.format(count=len(rows), control=control, variables=variables, split_up=split_up))
    titles = ["operator", *(dtype.label for dtype in COLUMNS), "other types", "ONNX"]
    grid = [
        _line(titles),
        _line(["---"] * len(titles)),
        *(_line([*_cells(row), ", ".join(onnx.get(row.name, ()))]) for row in rows),
    ]
    details = [_section(row) for row in rows]
    beside = [_line(["operator", "operands", "types"]), _line(["---"] * 3)]
    beside += [
        _line([name, operands.replace("+", " "), ", ".join(types)])
        for name, groups in sorted(refused.items())
        for operands, types in groups.items()
    ]
    parts = (
        head + "\n".join(grid),
        _wrapped(_FASTER) + "\n\n" + "\n".join(_faster_kernels()),
        _wrapped(_REFUSED)
        + "\n\n"
        + "\n".join([_line(["operator", "operands", "types"]), _line(["---"] * 3), *beside]),
        "## Signatures and rules",
    )
    return "\n\n".join(parts) + "\n\n" + "\n".join(details)


def _faster_kernels() -> list[str]:
    """A table of what kernels compute, by instruction set the names of their headers."""
    headers: dict[str, dict[str, list[str]]] = {}
    for declaration in declarations():
        for computes in declaration.computes:
            row = headers.setdefault(computes.request.WHAT, {})
            row.setdefault(declaration.instructions, []).append(f"`{declaration.header.removesuffix('.h')}`")
    rows = [
        [operator_name, *(", ".join(row.get(name, [])) for name in SETS)]
        for operator_name, row in sorted(headers.items())
    ]
    return [_line(cells) for cells in (["operators", *SETS.values()], ["---"] * (1 + len(SETS)), *rows)]


def _cells(row: OperatorRow) -> list[str]:
    main_columns = [_cell(row, dtype) for dtype in COLUMNS]
    rest = ((dtype.label, runtimes) for dtype, runtimes in row.references.items() if dtype not in COLUMNS)
    return [
        f"[{row.name}](#{_anchor(row)})",
        *main_columns,
        ", ".join(f"{label} ({runtimes})" if runtimes else label for label, runtimes in rest),
    ]


def _cell(row: OperatorRow, dtype: DType) -> str:
    return (row.references[dtype] or "✓") if dtype in row.references else ""


def _section(row: OperatorRow) -> str:
    types = [f"- {line}" for line in type_lines(row.signatures)]
    rules = [f"  - {rule}" for rule in row.rules]
    fault = [f"- TFLM\\*: {row.fault}"] if row.fault else []
    return "\n".join([f"### {row.name}", "", *types, *fault, "- requires:", *rules, ""])


def _anchor(row: OperatorRow) -> str:
    return "".join(c for c in row.name.lower() if c.isalnum() or c == "_")


def _line(cells: Iterable[str]) -> str:
    return "| " + " | ".join(cells) + " |"


def _wrapped(text: str) -> str:
    """Paragraphs of at most 120 columns."""
    blocks = text.split("\n\n")
    filled = (b if b.startswith("#") else textwrap.fill(b, 120, break_long_words=False) for b in blocks)
    return "\n\n".join(filled)
