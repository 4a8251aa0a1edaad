"""What is said of channels that value-range analysis finds dead: in plan.json, by build, in the report's words."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support.commands import tflmgen
from support.dead_channels import dead_channels as random_model
from support.model_writer import ModelWriter
from tflmgen.backend.plan_layers import total_macs, with_file_macs
from tflmgen.compiler import compile_model
from tflmgen.ir.kernel.call import Target
from tflmgen.options import BuildOptions, Optimize
from tflmgen.report.removal_texts import DeadChannels, dead_channel_lines, dead_channels

HOST = Target("host")


@pytest.fixture
def model(tmp_path: Path) -> Path:
    """Of 6 channels between two convolutions of 4 x 4 pixels, 2 are one number and 1 is multiplied by zeros."""
    rng, w = np.random.default_rng(0), ModelWriter()
    g = w.subgraph("main")
    x = g.tensor("x", "int8", [1, 4, 4, 2], scale=[0.1], zero_point=[0])
    m = g.tensor("m", "int8", [1, 4, 4, 6], scale=[0.1], zero_point=[0])
    y = g.tensor("y", "int8", [1, 4, 4, 3], scale=[0.1], zero_point=[0])
    first, second = rng.integers(1, 128, (6, 1, 1, 2)), rng.integers(1, 128, (3, 1, 1, 6))
    first[:2] = 0
    second[..., 5] = 0
    options = {"padding": 1, "stride_h": 1, "stride_w": 1, "dilation_h_factor": 1, "dilation_w_factor": 1}
    for name, source, weights, result in (("v", x, first, m), ("w", m, second, y)):
        filter_ = g.constant(name, weights.astype(np.int8), scale=[0.01], zero_point=[0])
        g.operator("CONV_2D", [source, filter_], [result], options)
    g.inputs, g.outputs = [x], [y]
    path = tmp_path / "dead.tflite"
    path.write_bytes(bytes(w.finish()))
    return path


def test_the_plan_has_the_macs_of_the_file(model: Path) -> None:
    plan = compile_model(model, HOST, BuildOptions()).plan
    assert [(s["macs"], s["file_macs"]) for s in plan["steps"] if s["kind"] == "operator"] == [(96, 192), (144, 288)]
    assert plan["macs"] == {"computed": 240, "file": 480}
    whole = compile_model(model, HOST, BuildOptions(no_range_analysis=True)).plan
    assert whole["macs"] == {"computed": 480, "file": 480}
    assert dead_channel_lines(whole) == []


def test_the_plan_says_which_channels_are_dead(model: Path) -> None:
    plan = compile_model(model, HOST, BuildOptions()).plan
    assert dead_channels(plan) == [DeadChannels("0.0", channels=3, of=6, known=2)]


def test_the_generated_c_says_it_at_the_layer(model: Path) -> None:
    text = compile_model(model, HOST, BuildOptions()).sources.files["src/dead.c"]
    titles = text.split("/* subgraph 0 'main', ")[1:]
    assert [("/* 3 of its 6 channels are dead and not computed */" in title) for title in titles] == [True, False]


@pytest.mark.parametrize("command", ["build", "inspect"])
def test_it_is_said(model: Path, command: str, tmp_path: Path) -> None:
    words = ("--no-compile", "-o", tmp_path / "project") if command == "build" else ()
    printed = " ".join(tflmgen(command, model, "--board", "host", *words).out.split())
    assert "Value-range analysis: 3 dead channels in 1 layer are not computed: 0.0 (3 of 6)." in printed
    assert "MACs: 240 of the file's 480 (50.0 %)" in printed


def test_those_of_a_stream_stand_by_its_operators() -> None:
    """Two steps have one place in the file where a function is inlined twice: each has a part."""

    def operator(index: int, place: int, macs: int, **more: Any) -> dict[str, Any]:
        own = {"index": index, "kind": "operator", "parent": None, "subgraph": 0, "operator": place, "macs": macs}
        return own | more

    stages = [{"subgraph": 0, "operator": place, "macs": 10} for place in (3, 4)]
    steps = [operator(0, 1, 5), operator(1, 1, 5), operator(2, 4, 20, stages=stages)]
    removed = {(0, 1): 3, (0, 3): 7, (0, 9): 100}
    with_macs = with_file_macs(steps, removed)
    assert [step["file_macs"] for step in with_macs] == [6, 7, 27]
    assert [stage["file_macs"] for stage in with_macs[2]["stages"]] == [17, 10]
    assert total_macs(with_macs, removed) == {"computed": 30, "file": 140}
    assert all("file_macs" not in step for step in steps)


@pytest.mark.parametrize("optimize", [Optimize.BALANCED, Optimize.RAM])
def test_what_is_computed_and_what_is_removed_make_up_the_file(tmp_path: Path, optimize: Optimize) -> None:
    rng, removed = np.random.default_rng(0), 0
    for number in range(12):
        path = tmp_path / f"m{number}.tflite"
        path.write_bytes(random_model(rng, "int8")[0])
        plan, whole = (
            compile_model(path, HOST, BuildOptions(no_range_analysis=no, optimize=optimize)).plan
            for no in (False, True)
        )
        assert plan["macs"]["file"] == whole["macs"]["computed"] == whole["macs"]["file"]
        removed += plan["macs"]["file"] - plan["macs"]["computed"]
    assert removed > 1000
