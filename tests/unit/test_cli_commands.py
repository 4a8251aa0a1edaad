from __future__ import annotations

import inspect
import json
import os
from dataclasses import replace
from importlib.resources import files
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import jsonschema  # type: ignore[import-untyped]
import numpy as np
import pytest
from support.commands import tflmgen, write_adder, write_two_signatures
from support.model_writer import ModelWriter
from support.random_chain import random_chain
from tflmgen.actions import planned_model
from tflmgen.cli import main
from tflmgen.commands import app
from tflmgen.commands.command_line.protected_files import FOLDERS, WRITTEN
from tflmgen.compiler import Compilation
from tflmgen.hardware.board import list_boards

LEFT = np.array([[1, 2, 3, 4]], np.float32)
RIGHT = np.array([[10, 20, 30, 40]], np.float32)


@pytest.fixture
def adder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return write_adder(tmp_path / "adder.tflite")


def _save(name: str, **arrays: Any) -> str:
    np.savez(name, **arrays)
    return name


def _vectors(wrong: float = 0.0) -> str:
    return _save("v.npz", s0_in_0=LEFT, s0_in_1=RIGHT, s0_out_0=LEFT + RIGHT + np.float32(wrong), s0_label="a, b")


def test_build_writes_a_project_and_its_plan(adder: Path) -> None:
    finished = tflmgen("build", adder, "--board", "mps2_an386", "--no-compile")
    assert finished.code == 0, finished.err
    assert "arena" in finished.out
    assert "4,096 kB" in finished.out
    folder = adder.parent / "adder-mps2_an386"
    plan = json.loads((folder / "plan.json").read_text())
    assert plan["board"] == "mps2_an386"
    assert plan["options"]["name"] == "adder"
    assert (folder / "platformio.ini").is_file()


@pytest.mark.parametrize(
    "command",
    [
        ("run", "adder.tflite", "--inputs", "v.npz", "--board", "host", "--outputs", "v.npz"),
        ("test", "adder.tflite", "--vectors", "v.npz", "--board", "host", "--junit", "v.npz"),
        ("bench", "adder.tflite", "--inputs", "v.npz", "--board", "mps2_an386", "--report", "adder.tflite"),
        ("inspect", "adder.tflite", "--report", "adder.tflite"),
        ("fit", "adder.tflite", "--csv", "adder.tflite"),
        ("diff", "adder.tflite", "v.npz", "--markdown", "v.npz"),
        ("inspect", "adder.tflite", "--also", "other.tflite", "--report", "other.tflite"),
        ("inspect", "adder.tflite", "other.tflite", "--report", "./other.tflite"),
        ("fit", "adder.tflite", "--also", "other.tflite", "--csv", "other.tflite"),
        ("inspect", "adder.tflite", "--labels", "labels.txt", "--report", "labels.txt"),
        ("inspect", "adder.tflite", "--labels", "sum=labels.txt", "--report", "link.txt"),
        ("inspect", "adder.tflite", "--quantize", "v.npz", "--report", "v.npz"),
        ("inspect", "adder.tflite", "--plugin", "labels.txt", "--report", "labels.txt"),
        ("run", "adder.tflite", "--board", "host", "--inputs", "samples", "--outputs", "samples/s.csv"),
        ("inspect", "adder.tflite", "--board", "samples", "--report", "samples/s.csv"),
        ("quantize", "adder.tflite", "--calibration", "v.npz", "-o", "v.npz"),
        ("convert", "other.tflite:net", "-o", "other.tflite"),
    ],
    ids=lambda command: " ".join(command[:1] + command[-2:]),
)
def test_no_command_overwrites_what_it_reads(adder: Path, command: tuple[str, ...]) -> None:
    _vectors()
    Path("other.tflite").write_bytes(adder.read_bytes())
    Path("labels.txt").write_text("a\nb\n")
    Path("link.txt").symlink_to("labels.txt")
    Path("samples").mkdir()
    Path("samples/s.csv").write_text("1\n")
    files = [adder, *map(Path, ("v.npz", "other.tflite", "labels.txt", "samples/s.csv"))]
    before = [path.read_bytes() for path in files]
    finished = tflmgen(*command)
    assert (finished.code, "it is read, and would be overwritten" in finished.err) == (2, True), finished.err
    assert [path.read_bytes() for path in files] == before


def test_every_path_of_a_command_is_known_to_be_read_or_written() -> None:
    """A new option with a path must be looked at: what is not listed counts as read."""
    paths = {
        name
        for command in app.registered_commands
        for name, parameter in inspect.signature(command.callback or print).parameters.items()
        if "Path" in str(parameter.annotation)
    }
    read = {"model", "models", "source", "sources", "old", "new", "inputs", "vectors", "vectors_path", "expect"}
    read |= {"calibration", "plugin", "also", "quantize", "keras_objects", "old_outputs", "new_outputs"}
    assert paths - WRITTEN - FOLDERS <= read


def test_quantising_first_leaves_a_file_of_the_users_alone(adder: Path) -> None:
    _vectors()
    Path("adder-int8.tflite").write_text("mine")
    finished = tflmgen("inspect", adder, "--quantize", "v.npz")
    assert (finished.code, "is in the way of what" in finished.err) == (2, True), finished.err
    assert Path("adder-int8.tflite").read_text() == "mine"


def test_build_is_deterministic_and_keeps_what_is_the_users(adder: Path) -> None:
    for folder in ("one", "other"):
        assert tflmgen("build", adder, "--board", "mps2_an386", "--no-compile", "-o", folder).code == 0
    names = sorted(p.relative_to("one") for p in Path("one").rglob("*") if p.is_file())
    assert [Path("one", n).read_bytes() for n in names] == [Path("other", n).read_bytes() for n in names]
    Path("one/src/main.c").write_text("/* mine */")
    assert tflmgen("build", adder, "--board", "mps2_an386", "--no-compile", "-o", "one", "--optimize", "size").code == 0
    assert Path("one/src/main.c").read_text() == "/* mine */"
    assert json.loads(Path("one/plan.json").read_text())["options"]["optimize"] == "size"


@pytest.mark.parametrize("write", [write_adder, write_two_signatures])
def test_plan_has_its_schema(adder: Path, write: Any) -> None:
    schema = json.loads(files("tflmgen.schema").joinpath("plan.json").read_text())
    finished = tflmgen("build", write(adder), "--board", "host", "--no-compile", "--json")
    assert finished.code == 0, finished.err
    jsonschema.validate(finished.json, schema)
    jsonschema.validate(json.loads(Path("adder-host/plan.json").read_text()), schema)
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate({**finished.json, "arena": {}}, schema)


def test_quiet_says_nothing(adder: Path) -> None:
    assert tflmgen("build", adder, "--board", "host", "--no-compile", "--quiet").out == ""
    assert tflmgen("test", adder, "--board", "host", "--vectors", _vectors(), "--quiet").out == ""


def test_name_becomes_the_prefix(adder: Path) -> None:
    assert tflmgen("build", adder, "--board", "host", "--no-compile", "--name", "Kws 2", "-o", "p").code == 0
    assert "kws_2_invoke" in Path("p/lib/kws_2/include/kws_2.h").read_text()


def test_run_on_sets(adder: Path) -> None:
    inputs = _save("in.npz", n_sets=2, s0_in_0=LEFT, s0_in_1=RIGHT, s1_in_0=LEFT, s1_in_1=LEFT)
    finished = tflmgen("run", adder, "--board", "host", "--inputs", inputs, "--outputs", "out.npz", "--json")
    assert finished.code == 0, finished.err
    assert finished.json["emulator"] == "host"
    assert len(finished.json["sets"]) == 2
    with np.load("out.npz") as out:
        assert int(out["n_sets"]) == 2
        np.testing.assert_array_equal(out["s0_out_0"], LEFT + RIGHT)
        np.testing.assert_array_equal(out["s1_out_0"], LEFT + LEFT)
        assert out["s0_out_0"].dtype == np.float32


def test_run_by_names(adder: Path) -> None:
    inputs = _save("in.npz", left=LEFT, right=RIGHT)
    assert tflmgen("run", adder, "--board", "host", "--inputs", inputs, "--outputs", "out.npz").code == 0
    with np.load("out.npz") as out:
        assert out.files == ["sum"]
        np.testing.assert_array_equal(out["sum"], LEFT + RIGHT)


def test_run_chooses_the_signature(adder: Path) -> None:
    model = write_two_signatures(adder)
    x = np.array([1, 2, 3], np.float32)
    inputs = _save("in.npz", s0_in_0=x, s0_sig="square", s1_in_0=x)
    words = ("run", model, "--board", "host", "--inputs", inputs, "--outputs", "out.npz")
    assert tflmgen(*words, "--signature", "twice").code == 0
    with np.load("out.npz") as out:
        np.testing.assert_array_equal(out["s0_out_0"], x * x)
        np.testing.assert_array_equal(out["s1_out_0"], x + x)
    finished = tflmgen(*words)
    assert finished.code == 1
    assert "set 1: the model has several signatures: choose one of 'twice', 'square'" in finished.err


def test_test_with_vectors(adder: Path) -> None:
    finished = tflmgen("test", adder, "--board", "host", "--vectors", _vectors(), "--junit", "j.xml")
    assert finished.code == 0, finished.err
    assert "passed: all 1 outputs agree" in finished.out
    assert ElementTree.parse("j.xml").getroot().get("failures") == "0"


def test_test_finds_a_wrong_output(adder: Path) -> None:
    finished = tflmgen("test", adder, "--board", "host", "--vectors", _vectors(0.5), "--junit", "j.xml")
    assert finished.code == 1
    assert "4 of 4 wrong, the worst at [0,0]: expected 11.5, got 11.0" in finished.out
    assert "adder.tflite: FAILED: 1 of 1 outputs differ" in finished.err
    assert ElementTree.parse("j.xml").getroot().get("failures") == "1"
    assert tflmgen("test", adder, "--board", "host", "--vectors", "v.npz", "--atol", "0.6").code == 0
    report = tflmgen("test", adder, "--board", "host", "--vectors", "v.npz", "--json")
    assert report.code == 1
    assert report.json["passed"] is False
    assert report.json["checks"][0]["worst"]["index"] == [0, 0]


def test_test_of_integers_knows_no_tolerance(adder: Path) -> None:
    write_adder(adder, "int8")
    x = np.array([[1, 2, 3, 4]], np.int8)
    _save("v.npz", s0_in_0=x, s0_in_1=x, s0_out_0=2 * x + np.int8(1))
    assert tflmgen("test", adder, "--board", "host", "--vectors", "v.npz", "--atol", "5").code == 1


def test_seeded_test_against_tflite_micro(adder: Path) -> None:
    pytest.importorskip("tflite_micro", reason="needs tflite-micro")
    finished = tflmgen("test", adder, "--board", "host")
    assert finished.code == 0, finished.err
    assert "Compared with: TFLite Micro" in finished.out


def write_space_to_batch(path: Path, padding: int) -> Path:
    w = ModelWriter()
    g = w.subgraph("main")
    x = g.tensor("x", "int8", [1, 4 - padding, 4, 1], scale=[0.1], zero_point=[-40])
    y = g.tensor("y", "int8", [4, 2, 2, 1], scale=[0.1], zero_point=[-40])
    tables = g.constant("b", np.array([2, 2], np.int32)), g.constant("p", np.array([[padding, 0], [0, 0]], np.int32))
    g.operator("SPACE_TO_BATCH_ND", [x, *tables], [y])
    g.inputs, g.outputs = [x], [y]
    path.write_bytes(w.finish())
    return path


def test_a_wrong_kernel_of_tflite_micro_is_no_reference(tmp_path: Path) -> None:
    pytest.importorskip("tflite_micro", reason="needs tflite-micro")
    padded = tflmgen("test", write_space_to_batch(tmp_path / "m.tflite", 1), "--board", "host")
    assert padded.code == 1
    assert "operator 0 (SPACE_TO_BATCH_ND): it fills the padding with what its memory happens to hold" in padded.err
    assert tflmgen("test", write_space_to_batch(tmp_path / "m.tflite", 0), "--board", "host").code == 0


def test_seeded_test_says_why_it_has_no_reference(adder: Path) -> None:
    finished = tflmgen("test", write_two_signatures(adder), "--board", "host")
    assert finished.code == 1
    assert "nothing to compare with" in finished.err
    assert "--vectors" in finished.err


def test_inspect(adder: Path) -> None:
    finished = tflmgen("inspect", adder)
    assert finished.code == 0, finished.err
    for word in ("ADD", "left", "right", "sum", "float32[1,4]", "Arena"):
        assert word in finished.out
    described = tflmgen("inspect", adder, "--json").json
    assert [op["name"] for op in described["subgraphs"][0]["operators"]] == ["ADD"]
    assert described["arena"]["bytes"] > 0


def test_inspect_dumps_the_graph(adder: Path) -> None:
    assert "= ADD(%0, %1)" in tflmgen("inspect", adder, "--dump-graph").out


def test_boards() -> None:
    finished = tflmgen("boards")
    described = {board["id"]: board for board in tflmgen("boards", "--json").json}
    assert set(described) == {*(board.id for board in list_boards()), "host"}
    for board in list_boards():
        assert board.id in finished.out
        assert described[board.id]["ram_bytes"] == board.ram_bytes


def test_output_that_is_no_terminal_has_no_escapes(adder: Path) -> None:
    for words in (("boards",), ("inspect", adder), ("build", adder, "--board", "host", "--no-compile")):
        assert "\x1b" not in tflmgen(*words).out


def test_the_curve_of_ram(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    model = tmp_path / "chain.tflite"
    model.write_bytes(random_chain(3))
    points = tflmgen("inspect", model, "--pareto", "--json").json["points"]
    assert len(points) > 1
    assert points[0]["row_calls"] == 0 < points[-1]["row_calls"]
    assert [p["ram_bytes"] for p in points] == sorted((p["ram_bytes"] for p in points), reverse=True)
    assert len({p["macs"] for p in points}) == 1
    budget = points[-1]["ram_bytes"]
    plan = tflmgen("build", model, "--no-compile", "--board", "host", "--ram-budget", budget, "--json").json
    assert plan["arena"]["bytes"] <= budget
    assert tflmgen("build", model, "--no-compile", "--board", "host", "--ram-budget", budget - 1).code == 1
    assert tflmgen("build", model, "--no-compile", "--board", "host", "--ram-budget", "much").code == 2


def test_names_of_files_that_are_not_utf8(tmp_path: Path) -> None:
    model = tmp_path / os.fsdecode(b"adder\xff.tflite")
    write_adder(model)
    for command in (
        ("build", model, "--board", "mps2_an386", "--no-compile", "-o", tmp_path / "project"),
        ("inspect", model, "--also", model, "--report", tmp_path / "page.html"),
    ):
        finished = tflmgen(*command)
        assert finished.code == 0, finished.err


def test_ctrl_c_before_a_command_runs(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    def interrupted() -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("tflmgen.commands.app", interrupted)
    monkeypatch.setattr("tflmgen.failure.leave_on_sigterm", lambda: None)
    with pytest.raises(SystemExit) as left:
        main()
    assert (left.value.code, capsys.readouterr().err) == (130, "interrupted\n")


def test_strict_makes_a_warning_an_error(adder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    plan_for = planned_model.plan_for  # type: ignore[attr-defined]

    def doubtful(*words: Any, **options: Any) -> Compilation:
        compilation = plan_for(*words, **options)
        part = {"text": "nothing was compared", "warning": "no input set was compared"}
        return replace(compilation, plan={**compilation.plan, "proof": [part]})

    monkeypatch.setattr(planned_model, "plan_for", doubtful)
    words = ("build", adder, "--board", "mps2_an386", "--no-compile", "-o", "out")
    refused = tflmgen(*words, "--strict")
    assert (refused.code, "--strict: no input set was compared" in refused.err) == (1, True), refused.err
    assert not Path("out").exists()
    finished = tflmgen(*words)
    assert (finished.code, "warning: no input set was compared" in finished.out) == (0, True), finished.out
