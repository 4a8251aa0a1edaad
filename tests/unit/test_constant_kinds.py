"""Every kind of constant array that kernels have, and what checks it; a new one has to be entered here."""

from __future__ import annotations

import ast

from support.repository import ROOT
from tflmgen.kernels.registry import declarations
from tflmgen.proof.layer_arrays import CHECKS

KERNELS = ROOT / "codegen" / "tflmgen" / "kernels"

READ_BACK = {"bias", "biases", "multipliers", "shifts", "weights"}
"""Of layers, by the readers beside packers and proof/packed_constants.py."""

COMPARED = {
    *("exps", "offsets", "reciprocals", "recurrent_biases", "scales", "sigmoid", "table", "time_weights"),
    *("element", "layout", "logarithms", "map", "norms", "padding", "peepholes", "thresholds", "values", "zero"),
    *("halves", "order", "roots"),
}
"""By proof/layer_arrays.py, proof/table_arrays.py and proof/transform_arrays.py."""


def names_of_arrays() -> set[str]:
    """The literal names of ConstantArray.of() in operators, and in what they share."""
    return {
        node.args[0].value
        for folder in ("operators", "numeric")
        for path in (KERNELS / folder).glob("*.py")
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.Call)
        and isinstance(node.func, ast.Attribute)
        and ast.unparse(node.func) == "ConstantArray.of"
        and isinstance(node.args[0], ast.Constant)
        and isinstance(node.args[0].value, str)
    }


def test_every_kind_of_array_is_accounted_for() -> None:
    assert names_of_arrays() == READ_BACK | COMPARED


def test_every_kernel_that_packs_has_a_reader() -> None:
    """Or a check: packed arrays of instruction sets are those of modules that call ConstantArray.of."""
    packing = {
        path.stem
        for folder in ("thumb", "dsp", "mve")
        for path in (KERNELS / folder).glob("*.py")
        if "ConstantArray.of(" in path.read_text(encoding="utf-8")
    }
    read = {header.removesuffix(".h") for d in declarations() if d.read is not None for header in d.headers}
    read |= {header.removesuffix(".h") for header in CHECKS}
    # These modules pack for several kernels, whose own modules have the readers.
    packers = {f"{name}_requantisation" for name in ("dsp", "mve", "thumb")} | {"sums_mve", "sums_thumb"}
    assert packing - read - packers == set()


def test_headers_of_checks_are_kernels() -> None:
    headers = {path.name for path in (ROOT / "firmware" / "kernels").glob("*.h")}
    assert set(CHECKS) <= headers
