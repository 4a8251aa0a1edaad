"""Element types that the references take, by operator; the differential tests hold this to them.

reference_types.json has, for each operator of TFLite, the types of the operand that decides on the kernel
(operator_table.main_operand). First those that TFLite Micro has a kernel for, with * where it is no reference: it loses
bits, sums in another order, or is wrong. Then those that LiteRT's reference kernels take beside these.
`pytest tests/differential/test_operator_table.py --update-golden` writes the file from the tests' cases.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import cache
from importlib.resources import files

from tflmgen.kernels.table import OPERATORS

FILE = "reference_types.json"


@cache
def _read_types() -> Mapping[str, tuple[str, str]]:
    taken: Mapping[str, tuple[str, str]] = json.loads(files("tflmgen.kernels").joinpath(FILE).read_text())
    return taken


def reference_runtimes(operator: str, label: str) -> str:
    """TFLM, TFLM* or LiteRT; empty where neither takes elements of this type, which the operator's rules let through.

    The custom operators of tflmgen's own table are TFLite Micro's, and have all of its types.
    """
    if operator.startswith("CUSTOM:") and operator in OPERATORS:
        return "TFLM"
    tflm, litert = (types.split() for types in _read_types().get(operator, ("", "")))
    if label in tflm:
        return "TFLM"
    return "TFLM*" if f"{label}*" in tflm else "LiteRT" if label in litert else ""
