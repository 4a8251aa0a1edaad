"""The Python interface: what compile() takes, what its model has, and the errors that callers get."""

from __future__ import annotations

import json
import pickle
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tflmgen
from support.commands import tflmgen as command
from support.repository import ROOT
from support.tools import requires, requires_compiler, requires_qemu
from tflmgen.api.plan_records import plan_of
from tflmgen.errors import InternalError
from tflmgen.options import BuildOptions

GATE = ROOT / "examples" / "gate.tflite"
LOOP = ROOT / "examples" / "loop_8k.tflite"
BOARD = "mps2_an386"
FRAME = np.arange(256, dtype=np.int64).reshape(1, 16, 16, 1) - 128


@pytest.fixture(scope="module")
def gate() -> tflmgen.CompiledModel:
    return tflmgen.compile(GATE, board=BOARD)


def test_the_command_line_makes_the_same_c(gate: tflmgen.CompiledModel, tmp_path: Path) -> None:
    assert command("build", GATE, "--board", BOARD, "--no-compile", "-o", tmp_path / "cli").code == 0
    assert gate.save(tmp_path / "api", compile=False) == tmp_path / "api"
    both = [
        {path.relative_to(folder): path.read_bytes() for path in folder.rglob("*") if path.is_file()}
        for folder in (tmp_path / "cli", tmp_path / "api")
    ]
    assert both[0] == both[1]
    assert any(path.suffix == ".c" for path in both[0])


def test_bytes_are_the_file(gate: tflmgen.CompiledModel) -> None:
    data = GATE.read_bytes()
    for source in (data, bytearray(data), memoryview(data), str(GATE)):
        assert tflmgen.compile(source, board=BOARD, name="gate").sources == gate.sources


def test_the_plan_is_that_of_plan_json(gate: tflmgen.CompiledModel, tmp_path: Path) -> None:
    folder = gate.save(tmp_path / "project", compile=False)
    written = json.loads((folder / "plan.json").read_text())
    assert gate.plan == plan_of(written)
    assert gate.plan.to_json() == written
    assert (gate.arena_bytes, gate.weights_bytes) == (written["arena"]["bytes"], written["weights"]["bytes"])
    assert [operator.name for operator in gate.operators][:2] == ["CONV_2D", "MAX_POOL_2D"]
    (signature,) = gate.plan.signatures
    assert (signature.inputs[0].name, signature.inputs[0].dtype, signature.inputs[0].shape) == (
        "frame",
        "int8",
        (1, 16, 16, 1),
    )
    with pytest.raises(AttributeError):
        gate.plan.arena_bytes = 1  # type: ignore[misc]
    gate.plan.to_json()["arena"]["bytes"] = 0
    assert gate.arena_bytes == written["arena"]["bytes"]


def test_options_are_those_of_the_command_line() -> None:
    from tflmgen.api.build_choices import build_options

    built = build_options(
        {
            "optimize": "ram",
            "max_shape": {"x": (4, 3)},
            "max_iterations": {"body": 7},
            "max_slowdown": 2.5,
            "place": {"arena": "dtcm"},
            "constant": {"axes": np.array([1, 2])},
            "push_rows": ["x"],
            "slide": {"y": (1, 2)},
            "plugin": [GATE],
            "check_weights": "start",
        }
    )
    assert built.text == (
        "--optimize ram --max-iterations body=7 --max-shape x=4,3 --check-weights start --plugin gate.tflite "
        "--max-slowdown 2.5% --push-rows x --slide y=1,2 --constant axes=[1, 2]"
    )
    assert built.place == ["arena=dtcm"]
    assert build_options({}) == BuildOptions()
    assert build_options({"ram_budget": 20000, "max_iterations": 3}).text.endswith("3 --ram-budget 20000")


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ({"optimize": "fast"}, "optimize='fast' must be one of balanced, speed, size, ram"),
        ({"optimise": "ram"}, "there is no option 'optimise'"),
        ({"push_rows": "x"}, "push_rows must be a sequence: push_rows=['x']"),
        ({"also": 5}, "also=5 must be a sequence"),
        ({"plugin": [5]}, "plugin must be a path, not int"),
        ({"quantize": {"x": 1}}, "quantize must be a path, not dict"),
        ({"optimize": "ram", "no_overlap": True}, "--no-overlap excludes"),
        ({"reentrant": True, "check_memory": True}, "--reentrant excludes --check-memory"),
        ({"winograd": "yes"}, "winograd='yes' must be True or False"),
        ({"name": 3}, "name=3 must be text"),
        ({"max_dim": "8"}, "max_dim='8' must be a number"),
        ({"max_dim": 0}, "max_dim=0 must be a number of 1 or more"),
        ({"slide": {"frame": 3}}, "must be a mapping of inputs to axis and hop"),
        ({"max_shape": {"frame": 5}}, "must be a mapping of names to shapes"),
        ({"place": "arena"}, "place='arena' must be a mapping of sections to memories"),
        ({"labels": ["one", "two"]}, "must be a file, or a mapping of outputs to files"),
    ],
)
def test_wrong_options(options: Any, text: str) -> None:
    with pytest.raises(tflmgen.UsageError, match=text.replace("[", r"\[")) as raised:
        tflmgen.compile(GATE, **options)
    assert raised.value.problems == ()


def test_errors_say_what_the_command_line_says(tmp_path: Path) -> None:
    path = tmp_path / "bad.tflite"
    path.write_bytes(GATE.read_bytes()[:900])
    printed = command("inspect", path, "--json")
    with pytest.raises(tflmgen.ModelError) as raised:
        tflmgen.compile(path)
    assert str(raised.value) == json.loads(printed.err)["error"]
    rules = [problem["rule"] for problem in json.loads(printed.err)["problems"]]
    assert [problem.rule for problem in raised.value.problems] == rules
    with pytest.raises(tflmgen.ModelError) as unnamed:
        tflmgen.compile(path.read_bytes(), name="kws")
    assert str(unnamed.value) == str(raised.value).replace(str(path), "kws.tflite")
    with pytest.raises(tflmgen.TflmgenError, match="unknown board 'mps3'"):
        tflmgen.compile(GATE, board="mps3")
    for source, text in ((3, "not int"), ("a\0b.tflite", "it has a null character")):
        with pytest.raises(tflmgen.UsageError, match=text):
            tflmgen.compile(source)


def test_a_model_that_does_not_fit_is_compiled_but_not_run() -> None:
    model = tflmgen.compile(LOOP, board="microbit", optimize="speed")
    fitting = tflmgen.compile(LOOP, board=BOARD)
    assert fitting.fits
    if not model.fits:
        with pytest.raises(tflmgen.TflmgenError, match="over budget"):
            model.run({tensor.name: np.zeros(tensor.shape, tensor.dtype) for tensor in model.plan.signatures[0].inputs})


@requires("cc", "gcc", "clang")
def test_arrays_in_arrays_out() -> None:
    model = tflmgen.compile(GATE)
    outputs = model.run({"frame": FRAME})
    assert [(name, str(array.dtype), array.shape) for name, array in outputs.items()] == [("scores", "int8", (1, 5))]
    outputs["scores"][0, 0] = 1
    vectors = np.load(ROOT / "examples" / "gate.npz")
    with model.session() as session:
        assert session.emulator == "host"
        for number in range(int(vectors["n_sets"])):
            expected = vectors[f"s{number}_out_0"]
            session.reset()
            assert np.array_equal(session.run(vectors[f"s{number}_in_0"])["scores"], expected)


@requires("cc", "gcc", "clang")
def test_a_session_without_with_says_how_to_enter_it() -> None:
    with pytest.raises(
        AttributeError, match=r"no 'run' before it is entered: write `with model\.session\(\) as session:`"
    ):
        tflmgen.compile(GATE).session().run(FRAME)  # type: ignore[attr-defined]


def test_threads_share_a_session_until_it_is_over() -> None:
    levels = [-128, -60, 7, 127] * 5

    def scores(level: int) -> list[int]:
        return [int(score) for score in session.run(np.full((1, 16, 16, 1), level, np.int8))["scores"][0]]

    with tflmgen.compile(GATE).session(timeout=20) as session:
        alone = {level: scores(level) for level in set(levels)}
        with ThreadPoolExecutor(4) as threads:
            assert list(threads.map(scores, levels)) == [alone[level] for level in levels]
    for call in (session.reset, lambda: session.run(FRAME)):
        with pytest.raises(tflmgen.UsageError, match="the session is over"):
            call()


def test_errors_survive_pickling() -> None:
    """As workers of sweeps and process pools send them."""
    with pytest.raises(tflmgen.ModelError) as raised:
        tflmgen.compile(b"not a model", name="kws")
    for error in (raised.value, InternalError("a"), tflmgen.UsageError("b")):
        copy = pickle.loads(pickle.dumps(error))
        assert (type(copy), str(copy), copy.problems) == (type(error), str(error), error.problems)


@pytest.mark.parametrize(
    ("inputs", "text"),
    [
        ({}, "array 'frame' is missing"),
        ({"fram": FRAME}, "no input 'fram'. It has 'frame'"),
        (FRAME * np.float64(np.nan), r"is float64\[1,16,16,1\], but input is int8"),
        (FRAME * 3, r"is int64\[1,16,16,1\], but input is int8"),
        (FRAME[0], r"is int(8|64)\[16,16,1\], but input is int8"),
    ],
)
def test_inputs_that_do_not_fit(inputs: Any, text: str) -> None:
    with pytest.raises(tflmgen.TflmgenError, match=text):
        tflmgen.compile(GATE).run(inputs)


@pytest.mark.parametrize("timeout", [0, -1.0, float("nan"), "5"])
def test_a_time_limit_is_a_number(timeout: Any) -> None:
    with pytest.raises(tflmgen.UsageError, match="must be a number of seconds above 0"):
        tflmgen.compile(GATE).run(FRAME, timeout=timeout)


def test_nothing_counts_the_hosts_instructions() -> None:
    with pytest.raises(tflmgen.UsageError, match="choose a board"):
        tflmgen.compile(GATE).bench()


@pytest.mark.emulator
@requires_compiler
@requires_qemu
def test_figures_are_those_of_the_command_line(gate: tflmgen.CompiledModel) -> None:
    printed = command("bench", GATE, "--board", BOARD, "--emulator", "qemu", "--json").json
    bench = gate.bench(emulator="qemu")
    assert bench.to_json() == printed
    assert bench.instructions == printed["total"]["instructions"]
    assert sum(cost.instructions or 0 for cost in bench.operators) <= bench.instructions
    assert bench.milliseconds == printed["sets"][0]["milliseconds_estimated"]
    assert gate.flash_bytes == gate.firmware.flash_bytes == printed["memory"]["flash_bytes"]
    assert gate.firmware.code_bytes == printed["memory"]["code_bytes"]


def test_files_that_are_written(gate: tflmgen.CompiledModel, tmp_path: Path) -> None:
    page = gate.report(tmp_path / "plan.html").read_text()
    assert page.startswith("<!DOCTYPE html>")
    portable = tflmgen.compile(GATE)
    assert (portable.export("zephyr", tmp_path / "lib") / "zephyr" / "module.yml").is_file()
    with pytest.raises(tflmgen.UsageError, match="must be one of platformio"):
        portable.export("zephir", tmp_path / "other")  # type: ignore[arg-type]


def test_a_notebook_shows_plan_and_memory(gate: tflmgen.CompiledModel) -> None:
    html = gate._repr_html_()
    assert f"{gate.arena_bytes:,} bytes of arena" in html
    assert html.count("<rect ") >= 3
    assert html.count("<tr><td>") == len(gate.operators)
    assert "<script" not in html
    assert "CompiledModel gate for mps2_an386: 10 operators" in repr(gate)


def test_tables_of_pandas(gate: tflmgen.CompiledModel, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tflmgen.api.records.find_spec", lambda _: None)
    with pytest.raises(tflmgen.TflmgenError, match="pip install pandas"):
        gate.operators.to_dataframe()
    monkeypatch.undo()
    pytest.importorskip("pandas", reason="needs pandas")
    frame = gate.operators.to_dataframe()
    assert list(frame["macs"]) == [operator.macs for operator in gate.operators]
    assert list(frame.columns)[:3] == ["step", "subgraph", "operator"]


def test_threads_make_the_same_c() -> None:
    sources = [GATE, LOOP, ROOT / "examples" / "if_8k.tflite", ROOT / "examples" / "lstm_sequences.tflite"] * 2
    wanted = [(path, board) for path in sources for board in ("host", BOARD)]
    begin = threading.Barrier(4)

    def compiled(pair: tuple[Path, str]) -> dict[str, str]:
        return dict(tflmgen.compile(pair[0], board=pair[1]).sources)

    with ThreadPoolExecutor(4, initializer=begin.wait) as pool:
        in_threads = list(pool.map(compiled, wanted))
    assert in_threads == [compiled(pair) for pair in wanted]


def test_a_compiled_model_goes_to_another_process(gate: tflmgen.CompiledModel) -> None:
    assert pickle.loads(pickle.dumps(gate)).sources == gate.sources


def test_importing_is_light() -> None:
    loaded = "sorted(m for m in sys.modules if m.startswith(('numpy', 'tflmgen', 'jinja2')))"
    script = f"import sys, tflmgen; print(*{loaded})"
    printed = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True).stdout
    assert printed.split() == ["tflmgen", "tflmgen.version"]


def test_every_name_is_there() -> None:
    assert {name for name in tflmgen.__all__ if getattr(tflmgen, name) is None} == set()
    assert set(dir(tflmgen)) == set(tflmgen.__all__)
    with pytest.raises(AttributeError, match="has no attribute 'compyle'"):
        tflmgen.compyle  # noqa: B018
