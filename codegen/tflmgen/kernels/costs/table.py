"""Coefficients of the cost models in estimate.py, fitted to counts by tests/kernel_costs.py."""

from __future__ import annotations

from collections.abc import Mapping

from tflmgen.kernels.costs import table_m0, table_m3, table_m4, table_m7, table_m55

Coefficients = tuple[float, ...]

_TABLES = {
    "cortex-m0": table_m0.COSTS,
    "cortex-m3": table_m3.COSTS,
    "cortex-m4": table_m4.COSTS,
    "cortex-m7": table_m7.COSTS,
    "cortex-m55": table_m55.COSTS,
}

COSTS: Mapping[tuple[str, str], tuple[Coefficients, Coefficients]] = {
    (family, core): costs for core, table in _TABLES.items() for family, costs in table.items()
}
"""(family, core) -> what each term takes in instructions, and in cycles."""
