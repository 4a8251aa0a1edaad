"""plan.json of random models: it fits its schema, and its parts agree with one another."""

from __future__ import annotations

import json
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any

import jsonschema  # type: ignore[import-untyped]
import pytest
from support.random_chain import random_chain
from support.random_program import Seeded, random_program
from support.repository import ROOT
from tflmgen.compiler import compile_model
from tflmgen.errors import UsageError
from tflmgen.ir.kernel.call import Target
from tflmgen.options import BuildOptions, Optimize

SCHEMA = json.loads(files("tflmgen.schema").joinpath("plan.json").read_text())
SCHEMA["required"].remove("board")  # which the build command adds
SEEDS = range(16)


@cache
def source_lines(plan_folder: Path, seed: int) -> tuple[dict[str, Any], list[str]]:
    path = plan_folder / f"m{seed}.tflite"
    path.write_bytes(random_program(Seeded(seed)))
    compiled = compile_model(path, Target(core="host"), BuildOptions())
    return json.loads(json.dumps(compiled.plan)), compiled.sources.files[f"src/m{seed}.c"].splitlines()


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("plans")


@pytest.mark.parametrize("seed", SEEDS)
def test_plan(folder: Path, seed: int) -> None:
    plan, lines = source_lines(folder, seed)
    jsonschema.validate(plan, SCHEMA)
    arena, steps = plan["arena"], {step["index"]: step for step in plan["steps"]}
    assert sorted(steps) == list(range(len(steps)))
    assert arena["lower_bound"] <= arena["bytes"]
    assert all(step["parent"] is None or step["parent"] in steps for step in plan["steps"])
    for buffer in plan["buffers"]:
        limit = arena["bytes"] if buffer["memory"] == "arena" else sum(v["bytes"] for v in plan["state"]) + 64
        assert buffer["offset"] + buffer["bytes"] <= limit
        assert all(0 <= first <= last < len(steps) for first, last in buffer["ranges"])
        for tensor in buffer["tensors"]:
            assert tensor["offset"] + tensor["bytes"] <= buffer["bytes"]
            lived = [set(range(first, last + 1)) for first, last in buffer["ranges"]]
            assert all(any(set(range(a, b + 1)) <= run for run in lived) for a, b in tensor["ranges"])
    for copy in plan["copies"]:
        assert steps[copy["step"]]["kind"] in (copy["where"], "operator")
        assert copy["bytes"] > 0
    for step in plan["steps"]:
        if step["kind"] == "operator" and step["kernel"]:
            assert step["kernel"] in lines[step["line"] - 1]


@pytest.mark.parametrize("seed", SEEDS)
def test_operands_come_from_steps_that_make_something(folder: Path, seed: int) -> None:
    plan, _ = source_lines(folder, seed)
    steps = {step["index"]: step for step in plan["steps"]}
    producing_kinds = {"operator", "entry", "load", "init", "if", "while", "results"}
    for step in steps.values():
        assert {steps[i]["kind"] for i in step["inputs"]} <= producing_kinds
        if step["kind"] in ("operator", "if", "then", "else"):
            assert all(i < step["index"] for i in step["inputs"])
    outputs = [t["name"] for signature in plan["signatures"] for t in signature["outputs"] if t["offset"] is not None]
    assert not outputs or any(step["inputs"] for step in steps.values() if step["kind"] == "exit")


def test_weights_belong_to_the_step_that_reads_them(folder: Path) -> None:
    for seed in SEEDS:
        plan, _ = source_lines(folder, seed)
        assert sum(step["weights_bytes"] for step in plan["steps"]) <= plan["weights"]["bytes"]
    plan = compile_model(ROOT / "examples" / "gate.tflite", Target(core="host"), BuildOptions()).plan
    by_name = {step["name"]: step["weights_bytes"] for step in plan["steps"] if step["kind"] == "operator"}
    assert by_name["RESHAPE"] == by_name["MAX_POOL_2D"] == 0
    assert by_name["SOFTMAX"] > 0
    assert sum(step["weights_bytes"] for step in plan["steps"]) == plan["weights"]["bytes"]


def test_buffers_that_live_together_are_apart(folder: Path) -> None:
    for seed in SEEDS:
        plan, _ = source_lines(folder, seed)
        live = [b for b in plan["buffers"] if b["memory"] == "arena"]
        live_steps = [{s for first, last in b["ranges"] for s in range(first, last + 1)} for b in live]
        for i, buffer in enumerate(live):
            for j, other in enumerate(live[:i]):
                disjoint = (
                    buffer["offset"] + buffer["bytes"] <= other["offset"]
                    or other["offset"] + other["bytes"] <= buffer["offset"]
                )
                assert disjoint or len(live_steps[i] & live_steps[j]) <= 1, (seed, buffer["name"], other["name"])


def test_a_stream_names_its_operators_and_their_weights(tmp_path: Path) -> None:
    model = tmp_path / "chain.tflite"
    model.write_bytes(random_chain(5))
    plan = compile_model(model, Target("host"), BuildOptions(optimize=Optimize.RAM)).plan
    streams = [step for step in plan["steps"] if step.get("variant") == "stream"]
    assert streams
    jsonschema.validate(plan, SCHEMA)
    for step in streams:
        assert len(step["stages"]) > 1
        assert step["stages"][-1]["outputs"] == step["outputs"]
    assert sum(step["weights_bytes"] for step in streams) > 0


@pytest.mark.parametrize("seed", SEEDS[:10])
def test_outputs_lie_over_inputs_unless_told_not_to(folder: Path, seed: int) -> None:
    path = folder / f"chain{seed}.tflite"
    path.write_bytes(random_chain(seed))
    plans = [compile_model(path, Target("host"), BuildOptions(no_overlap=no)).plan for no in (False, True)]
    overlapped, disjoint = ([s.get("overlapped_bytes", 0) for s in plan["steps"]] for plan in plans)
    assert any(overlapped)
    assert not any(disjoint)
    assert plans[0]["arena"]["bytes"] <= plans[1]["arena"]["bytes"]


def test_no_overlap_and_little_ram_contradict_each_other(folder: Path) -> None:
    path = folder / "chain.tflite"
    path.write_bytes(random_chain(0))
    with pytest.raises(UsageError, match="--no-overlap excludes"):
        compile_model(path, Target("host"), BuildOptions(no_overlap=True, optimize=Optimize.RAM))
