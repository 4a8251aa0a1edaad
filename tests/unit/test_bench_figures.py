from __future__ import annotations

import json
from dataclasses import replace
from importlib.resources import files
from pathlib import Path
from typing import Any

import jsonschema  # type: ignore[import-untyped]
import pytest
from support.commands import write_adder
from support.repository import ROOT
from tflmgen.actions.bench_figures import MeasuredInvoke, bench_json, operator_figures
from tflmgen.actions.invokes import with_flash
from tflmgen.api.measurements import FlashCycles, bench_of
from tflmgen.commands.bench import _worst_case_line
from tflmgen.emulators.cycle_models import CYCLE_MODELS
from tflmgen.emulators.invoke_cost import Cycles, OperatorCount, Waits
from tflmgen.emulators.session import Invocation
from tflmgen.hardware.board import load_board
from tflmgen.options import BuildOptions
from tflmgen.project.firmware_build import plan_for

CLOCK = 25_000_000


@pytest.fixture(scope="module")
def plan(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    model = write_adder(tmp_path_factory.mktemp("bench") / "adder.tflite")
    return plan_for(model, load_board("mps2_an386"), BuildOptions()).plan


def _measured(instructions: int | None, *operators: OperatorCount) -> MeasuredInvoke:
    cycles = Cycles(instructions, 2 * instructions) if instructions and operators else None
    return MeasuredInvoke("a set", 0, Invocation((), 0, 100, 0, instructions, operators or None, cycles))


def _operator(plan: dict[str, Any], **changes: Any) -> dict[str, Any]:
    steps = [{**step, **changes} if step["kind"] == "operator" else step for step in plan["steps"]]
    return {**plan, "steps": steps}


def test_sums_over_sets(plan: dict[str, Any]) -> None:
    (step,) = [step["index"] for step in plan["steps"] if step["kind"] == "operator"]
    counts = OperatorCount(step, 1, 40, Cycles(30, 60)), OperatorCount(step, 2, 60, Cycles(50, 70))
    sets = [_measured(50, counts[0]), replace(_measured(80, counts[1]), label="another")]
    report = bench_json(_operator(plan, macs=5), sets, CYCLE_MODELS["cortex-m7"], CLOCK)
    cycles = {"cycles_estimated": 260, "cycles_range": [130, 260]}
    per_mac = round(130 / 15, 4)
    computed = {"macs": 15, "instructions_per_mac": per_mac}
    of_file = {"macs_of_file": 15, "instructions_per_mac_of_file": per_mac}
    assert report["total"] == {"instructions": 130, **cycles, **computed, **of_file}
    assert [(o["executions"], o["instructions"], o["macs"]) for o in report["operators"]] == [(3, 100, 15)]
    assert [(o["cycles_estimated"], o["cycles_range"]) for o in report["operators"]] == [(130, [80, 130])]
    assert report["control"] == {"instructions": 30}
    assert [(s["label"], s["instructions"]) for s in report["sets"]] == [("a set", 50), ("another", 80)]
    assert report["stack_bytes"] == 100


def test_operators_that_did_not_run_are_left_out(plan: dict[str, Any]) -> None:
    assert operator_figures(plan, [_measured(50, OperatorCount(999, 1, 50))]) == []


def test_without_counts_per_operator_each_ran_once(plan: dict[str, Any]) -> None:
    report = bench_json(_operator(plan, macs=7), [_measured(50), _measured(50)], CYCLE_MODELS["cortex-m4"], CLOCK)
    assert report["total"]["macs"] == 14
    assert [(o["executions"], o["instructions"]) for o in report["operators"]] == [(2, None)]
    assert report["control"] == {"instructions": None}


def test_without_counts_control_flow_leaves_macs_open(plan: dict[str, Any]) -> None:
    loop = {"index": 1, "kind": "while", "function": plan["signatures"][0]["function"], "parent": 0}
    loop |= {"subgraph": 3, "operator": 4}
    report = bench_json({**plan, "steps": [*plan["steps"], loop]}, [_measured(50)], CYCLE_MODELS["cortex-m4"], CLOCK)
    unknown = dict.fromkeys(("cycles_estimated", "cycles_range", "macs", "instructions_per_mac"))
    of_file = dict.fromkeys(("macs_of_file", "instructions_per_mac_of_file"))
    assert report["total"] == {"instructions": 50, **unknown, **of_file}


def test_bench_has_its_schema(plan: dict[str, Any]) -> None:
    schema = json.loads(files("tflmgen.schema").joinpath("bench.json").read_text())
    memory = dict.fromkeys(("arena_bytes", "weights_bytes", "code_bytes", "flash_bytes", "ram_bytes"), 1)
    about = {"tflmgen": "1", "model": plan["model"], "options": plan["options"], "board": "b", "emulator": "QEMU"}
    about["slide"], about["application"] = plan["slide"], None
    (step,) = [step["index"] for step in plan["steps"] if step["kind"] == "operator"]
    for measured in (_measured(50), _measured(50, OperatorCount(step, 1, 40))):
        figures = bench_json(plan, [measured], CYCLE_MODELS["cortex-m4"], CLOCK)
        report = {**about, "notes": [], "inputs": "generated", **figures, "memory": memory}
        jsonschema.validate(report, schema)
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate({**report, "total": {}}, schema)


def test_schemas_are_schemas() -> None:
    paths = list(Path(str(files("tflmgen.schema"))).glob("*.json"))
    assert ROOT / "schema" / "plan.json" in paths
    for path in paths:
        jsonschema.Draft202012Validator.check_schema(json.loads(path.read_text()))


def test_what_was_expected_and_considered(plan: dict[str, Any]) -> None:
    (step,) = [step["index"] for step in plan["steps"] if step["kind"] == "operator"]
    other = {"kernel": "slower", "variant": "portable", "cycles": 90}
    described = _operator(plan, expected={"cycles": 50}, considered=[other])
    report = bench_json(described, [_measured(50, OperatorCount(step, 1, 40))], CYCLE_MODELS["cortex-m4"], CLOCK)
    assert report["operators"][0]["expected"] == {"cycles": 50}
    assert report["operators"][0]["considered"] == [other]
    assert report["worst_path"] is None


def test_a_loop_without_limit_is_named(plan: dict[str, Any]) -> None:
    loop = {"index": 1, "kind": "while", "function": plan["signatures"][0]["function"], "parent": 0}
    loop |= {"subgraph": 3, "operator": 4}
    report = bench_json({**plan, "steps": [*plan["steps"], loop]}, [_measured(50)], CYCLE_MODELS["cortex-m4"], CLOCK)
    assert report["worst_path"]["instructions"] is None
    assert report["worst_path"]["unbounded_loops"] == ["3:4"]


def _step(plan: dict[str, Any]) -> int:
    (step,) = [step["index"] for step in plan["steps"] if step["kind"] == "operator"]
    return int(step)


def test_one_invoke_is_the_median_and_one_the_worst(plan: dict[str, Any]) -> None:
    step = _step(plan)
    sets = [_measured(n, OperatorCount(step, n // 40, n - 10, Cycles(n, n))) for n in (400, 40, 2000, 80)]
    report = bench_json(_operator(plan, macs=5), sets, CYCLE_MODELS["cortex-m4"], CLOCK)
    typical = {"set": 3, "instructions": 80, "cycles_estimated": 160, "milliseconds_estimated": 0.006}
    worst = {"set": 2, "instructions": 2000, "cycles_estimated": 4000, "milliseconds_estimated": 0.16}
    assert report["per_invoke"] == {"typical": typical, "worst": worst}
    assert report["clock_hz"] == CLOCK
    assert [(s["macs"], s["instructions_per_mac"]) for s in report["sets"]] == [(50, 8), (5, 8), (250, 8), (10, 8)]
    assert [s["control"]["instructions"] for s in report["sets"]] == [10, 10, 10, 10]
    assert [[(o["step"], o["executions"], o["macs"]) for o in s["operators"]] for s in report["sets"]] == [
        [(step, 10, 50)],
        [(step, 1, 5)],
        [(step, 50, 250)],
        [(step, 2, 10)],
    ]


def test_instructions_decide_where_cycles_are_not_estimated(plan: dict[str, Any]) -> None:
    report = bench_json(plan, [_measured(30), _measured(10), _measured(20)], CYCLE_MODELS["cortex-m4"], CLOCK)
    assert [report["per_invoke"][name]["set"] for name in ("typical", "worst")] == [2, 0]
    assert report["per_invoke"]["worst"]["milliseconds_estimated"] is None


def _removed(plan: dict[str, Any], operator: int, macs: int) -> dict[str, Any]:
    entry = {"what": "channels", "name": "a tensor", "subgraph": 0, "operator": operator, "channels": 1, "macs": macs}
    return {**_operator(plan, macs=5), "removed": [entry]}


@pytest.mark.parametrize("operator", [0, 7], ids=["a part of an operator", "an operator"])
def test_macs_of_the_file_are_those_computed_and_those_removed(plan: dict[str, Any], operator: int) -> None:
    measured = [_measured(50, OperatorCount(_step(plan), 1, 40))] * 2
    total = bench_json(_removed(plan, operator, 20), measured, CYCLE_MODELS["cortex-m4"], CLOCK)["total"]
    assert (total["macs"], total["instructions_per_mac"]) == (10, 10)
    assert (total["macs_of_file"], total["instructions_per_mac_of_file"]) == (50, 2)


def test_macs_of_an_operator_removed_from_control_flow_are_not_known(plan: dict[str, Any]) -> None:
    loop = {"index": 1, "kind": "while", "function": "another", "parent": 0, "subgraph": 3, "operator": 4}
    looping = {**_removed(plan, 7, 20), "steps": [*plan["steps"], loop]}
    measured = [_measured(50, OperatorCount(_step(plan), 1, 40))]
    total = bench_json(looping, measured, CYCLE_MODELS["cortex-m4"], CLOCK)["total"]
    assert total["macs_of_file"] is None


def test_waits_for_the_flash_make_a_second_estimate(plan: dict[str, Any]) -> None:
    step, flash = _step(plan), load_board("nucleo_l4r5zi").flash
    counts = OperatorCount(step, 1, 40, Cycles(50, 50), waits=Waits(20, 3))
    measured = [_measured(50, counts)]
    plain = bench_json(plan, measured, CYCLE_MODELS["cortex-m4"], CLOCK)
    assert with_flash(plain, measured, flash) == plain  # the emulator counts no waits
    waited = [replace(m, invocation=replace(m.invocation, waits=Waits(21, 4))) for m in measured]
    assert with_flash(plain, waited, None) == plain
    figures = with_flash(plain, waited, flash)
    assert (figures["flash"]["clock_hz"], figures["flash"]["wait_cycles"]) == (120_000_000, 5)
    waits = {"code_wait_cycles": 21, "constant_wait_cycles": 4}
    estimate = {"cycles_estimated": 100 + 25, **waits, "milliseconds_estimated": 0.001}
    assert figures["sets"][0]["flash"] == figures["total"]["flash"] == estimate
    (operator,) = figures["sets"][0]["operators"]
    assert operator["flash"] == {"cycles_estimated": 73, "code_wait_cycles": 20, "constant_wait_cycles": 3}
    memory = dict.fromkeys(("arena_bytes", "weights_bytes", "code_bytes", "flash_bytes", "ram_bytes"), 1)
    about = {"tflmgen": "1", "model": plan["model"], "options": plan["options"], "board": "b", "emulator": "QEMU"}
    about |= {"slide": plan["slide"], "application": None, "notes": [], "inputs": "generated", "memory": memory}
    schema = json.loads(files("tflmgen.schema").joinpath("bench.json").read_text())
    jsonschema.validate(about | figures, schema)
    bench = bench_of(about | figures)
    assert bench.flash == FlashCycles(125, 21, 4, 0.001)
    assert bench.operators[0].flash == FlashCycles(73, 20, 3, None)


def test_a_worst_case_path_has_what_is_counted_of_it(plan: dict[str, Any]) -> None:
    """Renode estimates no cycles, and nothing of a step that never ran."""
    step = _step(plan)
    choice = {"index": 50, "kind": "if", "function": plan["signatures"][0]["function"], "parent": 0}
    steps = [*_operator(plan, expected={"cycles": 70})["steps"], choice]
    invoke = _measured(50, OperatorCount(step, 1, 40))
    uncycled = replace(invoke, invocation=replace(invoke.invocation, cycles_estimated=None))
    report = bench_json({**plan, "steps": steps}, [uncycled], CYCLE_MODELS["cortex-m4"], CLOCK)
    (operator,) = report["operators"]
    assert (operator["instructions"], operator["cycles_estimated"], operator["cycles_range"]) == (40, None, None)
    path = report["worst_path"]
    assert (path["instructions"], path["cycles_estimated"], path["milliseconds_estimated"]) == (40, None, None)
    assert _worst_case_line(path).startswith("Worst-case path through If and While: 40 instructions; operators only")
    unreached = {**path, "instructions": None, "unknown_operators": ["0:4"]}
    assert "no input set (--inputs) reaches 0:4" in _worst_case_line(unreached)
