"""Stages whose windows slide compute what is new, and the same as whole windows; what cannot slide is an error."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest
from support.application_simulation import ROWS, SCALE, ZERO
from support.commands import tflmgen
from support.pipeline import SELECTOR, compile_parsed
from support.random_applications import dense, filtered
from support.repository import ROOT
from tflmgen.applications import read_program
from tflmgen.applications.link_models import link
from tflmgen.errors import ModelError
from tflmgen.frontend import import_model
from tflmgen.frontend.tflite import Model, write_model
from tflmgen.ir.graph import If, Module, Op, walk
from tflmgen.options import BuildOptions
from tflmgen.passes.macs import macs_of
from tflmgen.reference import Interpreter
from tflmgen.reference.module_interpreter import ModuleInterpreter

HEAD = f"""outputs = ["s.scores", "s.ran"]
[input.x]
type = "int8"
shape = [1, 4]
scale = {SCALE}
zero_point = {ZERO}
[input.gate]
type = "float32"
shape = [1]
[stage.flag]
input = "gate"
builtin = "debounce"
count = 1
[stage.s]
input = "x"
model = "m.tflite"
slide = [1, 1]
"""
STEPS = 40


def application(folder: Path, settings: str, model: Model | None = None) -> Model:
    (folder / "m.tflite").write_bytes(write_model(model or filtered(np.random.default_rng(1))))
    (folder / "app.toml").write_text(f"{HEAD}{settings}\n")
    return read_program(folder / "app.toml", BuildOptions())


def check_steps(model: Model, module: Module, open_gates: list[bool]) -> list[bool]:
    """Runs both on the same rows, and compares; in which calls the stage ran."""
    file, compiled, rng = Interpreter(model), ModuleInterpreter(module), np.random.default_rng(3)
    ran = []
    for is_open in open_gates:
        x, gate = rng.integers(-40, 46, (1, 4)).astype(np.int8), np.array([is_open], np.float32)
        wanted = file.invoke(model.signatures[0].key, [x, gate])
        computed = compiled.invoke(module.signatures[0], (x, gate))
        for expected, array in zip(wanted, computed, strict=True):
            np.testing.assert_array_equal(array, expected)
        ran.append(bool(np.ravel(wanted[1])[0]))
    return ran


@pytest.mark.parametrize("every", [1, 2, 3])
@pytest.mark.parametrize("settings", ["", 'when = "flag.value > 0"', 'when = "flag.value > 0"\ncatch_up = "restart"'])
def test_a_sliding_stage_computes_the_whole_window(settings: str, every: int, tmp_path: Path) -> None:
    model = application(tmp_path, f"{settings}\nevery = {every}")
    module = compile_parsed(model).module
    gates = np.random.default_rng(every).random(STEPS) < 0.8
    gates[5:20] = True
    ran = check_steps(model, module, [bool(gate) for gate in gates])
    assert 1 < sum(ran) < STEPS
    (hop,) = module.hops
    assert hop.signature == "s"
    assert hop.computed_macs == hop.cone_macs < 0.75 * hop.macs


def test_a_stage_that_runs_for_each_hop_has_no_whole_window(tmp_path: Path) -> None:
    """Neither its products nor its rows are there; with gaps, both are."""
    always = compile_parsed(application(tmp_path, "")).module
    gaps = compile_parsed(application(tmp_path, 'when = "flag.value > 0"')).module
    whole = compile_parsed(application(tmp_path, "reuse = false")).module
    products = [sum(macs_of(n) for n in walk(m.functions[0].body) if isinstance(n, Op)) for m in (always, gaps, whole)]
    assert products[0] < 0.6 * products[2]
    assert products[1] == products[0] + products[2]
    assert "s/window" not in always.state
    assert gaps.state["s/window"].home.type.max_shape == (1, ROWS, 4)


def test_an_application_beside_a_model_slides(tmp_path: Path) -> None:
    app = application(tmp_path, 'when = "flag.value > 0"\nevery = 2')
    linked = link({"other": dense(np.random.default_rng(2)), "app": app}, "both", "")
    module = compile_parsed(linked).module
    assert [hop.signature for hop in module.hops] == ["app.s"]
    assert any(isinstance(node, If) for node in module.function(module.signatures[1].function).body.nodes)
    file, compiled, rng = Interpreter(linked), ModuleInterpreter(module), np.random.default_rng(3)
    for _ in range(20):
        x, gate = rng.integers(-40, 46, (1, 4)).astype(np.int8), np.ones(1, np.float32)
        for expected, array in zip(
            file.invoke("app", [x, gate]), compiled.invoke(module.signatures[1], (x, gate)), strict=True
        ):
            np.testing.assert_array_equal(array, expected)


def test_applications_of_sliding_stages_share_a_library(tmp_path: Path) -> None:
    """Stages of one name keep their own rows, though the functions share variables."""
    app = application(tmp_path, "every = 2")
    linked = link({"a": app, "b": app}, "both", "")
    module = compile_parsed(linked).module
    assert [hop.signature for hop in module.hops] == ["a.s", "b.s"]
    file, compiled, rng = (
        Interpreter(linked),
        ModuleInterpreter(module),
        np.random.default_rng(3),
    )
    for step in range(30):
        place = int(rng.integers(2))
        x, gate = rng.integers(-40, 46, (1, 4)).astype(np.int8), np.ones(1, np.float32)
        wanted, results = file.invoke("ab"[place], [x, gate]), compiled.invoke(module.signatures[place], (x, gate))
        for expected, array in zip(wanted, results, strict=True):
            np.testing.assert_array_equal(array, expected, err_msg=f"step {step}")


@pytest.mark.parametrize("settings", ["", 'when = "flag.value > 0"\ncatch_up = "restart"'])
def test_tflite_micro_runs_windows_that_hop_every_few_calls(settings: str, tmp_path: Path) -> None:
    pytest.importorskip("tflite_micro", reason="tflite-micro is the reference")
    application(tmp_path, f"{settings}\nevery = 3")
    done = tflmgen("test", tmp_path / "app.toml", "--board", "host")
    assert done.code == 0, done.err
    assert "Compared with: TFLite Micro\n" in done.out


NO_REUSE = {
    "": r"app.toml:17: stage.s.slide: saves nothing: FULLY_CONNECTED combines rows of the whole window.*reuse = false",
    "every = 7": r"app.toml:17: stage.s.slide: a run takes 7 new rows, and the window has 7",
}


@pytest.mark.parametrize("settings", NO_REUSE)
def test_a_stage_that_cannot_slide_is_named(settings: str, tmp_path: Path) -> None:
    with pytest.raises(ModelError, match=NO_REUSE[settings]):
        compile_parsed(application(tmp_path, settings, dense(np.random.default_rng(1), ROWS)))


def test_hops_that_a_stride_does_not_divide_name_every(tmp_path: Path) -> None:
    wake_word = ROOT / "examples" / "wake_word"
    text = (wake_word / "app.toml").read_text().replace("every = 6", "every = 5")
    (tmp_path / "app.toml").write_text(re.sub(r"(\w+\.tflite)", rf"{wake_word}/\1", text))
    with pytest.raises(ModelError, match=r"app.toml:27: stage.kws.slide: CONV_2D moves 2 rows.*Change every") as error:
        compile_parsed(read_program(tmp_path / "app.toml", BuildOptions()))
    assert "--slide-phases" not in str(error.value)


def test_a_stage_that_cannot_slide_computes_whole_windows_on_request(tmp_path: Path) -> None:
    model = application(tmp_path, "reuse = false", dense(np.random.default_rng(1), ROWS))
    module = compile_parsed(model).module
    assert sum(check_steps(model, module, [True] * STEPS)) == STEPS - ROWS + 1
    assert not module.hops
    assert import_model(model, operators=SELECTOR.operators).windows == ()


def test_an_application_slides_by_its_stages() -> None:
    path = ROOT / "examples" / "gesture" / "app.toml"
    refused = tflmgen("inspect", path, "--slide", "imu=1,1")
    assert refused.code == 2
    assert "--slide is for models: stages slide by `slide = [axis, rows per call]` in" in refused.err
