"""The operator table says which types operators take and who takes them too: the families' cases show both."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Callable, Sequence
from functools import cache
from importlib.resources import files
from pathlib import Path

import numpy as np
import pytest
from support.differential import Family, askings, draw
from support.kernel_harness import Array, Case, run_tflm
from support.litert import run_litert
from support.recurrent_runs import tflm_steps
from tflmgen.commands.operator_table import OperatorRow, main_operand, operator_rows
from tflmgen.ir.types import DType
from tflmgen.kernels import reference_types
from tflmgen.kernels.table import OPERATORS

from differential import recurrent
from differential.test_differential import FAMILIES, IN_FILES, PACKED

pytest.importorskip("tflite_micro", reason="tflite-micro is the reference")
pytest.importorskip("ai_edge_litert", reason="ai-edge-litert is the reference")

OF: dict[str, list[Family]] = defaultdict(list)
for _family in FAMILIES:
    OF[_family.operator].append(_family)
STEPS: dict[str, list[recurrent.StepFamily]] = defaultdict(list)
for _steps in recurrent.FAMILIES:
    STEPS[_steps.operator].append(_steps)
DRAWS = 12
WHO = ("TFLM", "TFLM*", "LiteRT", "")
TABLE = Path(str(files("tflmgen.kernels"))) / reference_types.FILE
ONLY_CONSTANT = {"DEQUANTIZE"}
"""Of their int4 inputs the rules want constants, which the compiler evaluates."""


@cache
def table_rows() -> dict[str, OperatorRow]:
    return {row.name: row for row in operator_rows(OPERATORS.values())}


def main_type(name: str, case: Case) -> DType:
    operand = main_operand(table_rows()[name].signatures)
    inputs = len(table_rows()[name].signatures[0].inputs)
    if operand >= inputs:
        return case.outputs[operand - inputs].dtype
    item = case.inputs[operand]
    assert item is not None
    return item.type.dtype


@pytest.mark.parametrize("name", IN_FILES)
def test_types_and_references(name: str, update_golden: bool) -> None:
    """Each type of the table has a case that every rule lets through, and no case has another type."""
    recorded = table_rows()[name].references
    seen: dict[DType, set[str]] = defaultdict(set)
    for step_family in STEPS[name]:
        case, _ = step_family.make(np.random.default_rng(5))
        seen[main_type(name, case)].add("TFLM" if step_family.reference is tflm_steps else "LiteRT")
    for family in OF[name]:
        for dtype in family.types:
            rng = np.random.default_rng([5, *dtype.encode()])
            for _ in range(DRAWS):
                case, values = draw(family, dtype, rng)
                kind = main_type(name, case)
                if recorded.get(kind, "") not in seen[kind]:
                    seen[kind].add(_taken_by(family, case, values))
    best = {
        kind: recorded[kind] if recorded.get(kind) in runtime else min(runtime, key=WHO.index)
        for kind, runtime in seen.items()
    }
    if update_golden and any(recorded.get(kind) != runtime for kind, runtime in best.items()):
        _write(name, best)
        return
    untested = {DType.INT4} if name in PACKED or name in ONLY_CONSTANT else set()
    assert set(recorded) - untested == set(seen) - untested
    assert {kind: recorded.get(kind) for kind in best} == best


def test_the_file_has_no_other_operators(update_golden: bool) -> None:
    rows = json.loads(TABLE.read_text(encoding="utf-8"))
    if update_golden:
        _save(rows)
    assert rows.keys() <= set(IN_FILES)


def _write(name: str, best: dict[DType, str]) -> None:
    """Puts one operator's row into the file."""
    tflm = [t.label + best[t].removeprefix("TFLM") for t in DType if best.get(t, "").startswith("TFLM")]
    litert = [t.label for t in DType if best.get(t) == "LiteRT"]
    rows = json.loads(TABLE.read_text(encoding="utf-8"))
    _save({**rows, name: [" ".join(tflm), " ".join(litert)]})


def _save(rows: dict[str, list[str]]) -> None:
    lines = [f"  {json.dumps(name)}: {json.dumps(rows[name])}" for name in sorted(rows) if name in IN_FILES]
    TABLE.write_text("{\n" + ",\n".join(lines) + "\n}\n", encoding="utf-8")


def _taken_by(family: Family, case: Case, values: list[Array | None]) -> str:
    """Who takes the case as it is, in the table's words."""
    case, values = askings(family, case, values)[0]
    for runtime, run, is_asked in (("TFLM", run_tflm, True), ("LiteRT", run_litert, family.litert)):
        if is_asked and _runs(run, case, values):
            return runtime if family.tflm or runtime != "TFLM" else "TFLM*"
    return ""


def _runs(run: Callable[[Case, Sequence[Array | None]], list[Array]], case: Case, values: list[Array | None]) -> bool:
    try:
        outputs = run(case, values)
    except (RuntimeError, ValueError):
        return False
    return [array.size for array in outputs] == [kind.elements for kind in case.outputs]
