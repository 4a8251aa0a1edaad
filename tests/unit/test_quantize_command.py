"""tflmgen quantize: what it writes, and what it says of bad data and models."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from support.commands import tflmgen
from support.lstm_models import FEATURES, STEPS, LstmStyle, lstm_loop
from support.tools import requires_compiler, requires_qemu
from tflmgen.frontend.tflite import ModelBuilder, read_model, write_model
from tflmgen.ir import DType
from tflmgen.options import QuantizeOptions
from tflmgen.quantize import quantize_file

SHAPE = (1, 4)


@pytest.fixture(autouse=True)
def _working_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    write_model_of(["TANH"])
    samples = np.linspace(-2, 2, 160, dtype=np.float32).reshape(40, 1, 4)
    np.savez("good.npz", x=samples)
    np.savez("nan.npz", x=np.where(samples > 1.9, np.float32(np.nan), samples))
    np.savez("shape.npz", x=samples[:, :, :3])
    np.savez("name.npz", y=samples, z=samples)


def write_model_of(operators: list[str], options: dict[str, float] | None = None) -> None:
    builder = ModelBuilder()
    graph = builder.subgraph("main")
    tensor = graph.tensor("x", DType.FLOAT32, SHAPE)
    graph.inputs = [tensor]
    for name in operators:
        result = graph.tensor(name.lower(), DType.FLOAT32, SHAPE)
        graph.operator(name, [tensor], [result], options)
        tensor = result
    graph.outputs = [tensor]
    Path("model.tflite").write_bytes(write_model(builder.model()))


def types_of(path: str) -> list[str]:
    graph = read_model(Path(path)).subgraphs[0]
    return [graph.tensors[op.outputs[0]].type_name for op in graph.operators]


def test_float_inputs_and_outputs() -> None:
    finished = tflmgen("quantize", "model.tflite", "--calibration", "good.npz")
    assert finished.code == 0, finished.err
    assert types_of("model-int8.tflite") == ["int8", "int8", "float32"]
    graph = read_model(Path("model-int8.tflite")).subgraphs[0]
    assert [graph.tensors[i].name for i in (*graph.inputs, *graph.outputs)] == ["x", "tanh"]


def test_integer_inputs_and_outputs() -> None:
    finished = tflmgen("quantize", "model.tflite", "--calibration", "good.npz", "-o", "q.tflite", "--io", "int8")
    assert finished.code == 0, finished.err
    assert types_of("q.tflite") == ["int8"]


def test_an_operator_without_a_kernel_stays_in_float() -> None:
    write_model_of(["TANH", "EXP", "TANH"])
    finished = tflmgen("quantize", "model.tflite", "--calibration", "good.npz", "--json")
    (note,) = finished.json["in_float"]
    assert (note["name"], note["reason"]) == ("EXP", "TFLite Micro has no int8 kernel of EXP")
    assert types_of("model-int8.tflite") == ["int8", "int8", "float32", "float32", "int8", "int8", "float32"]


def test_the_rule_that_scales_break_is_the_reason_for_float() -> None:
    write_model_of(["SOFTMAX"], {"beta": 0.001})
    np.savez("tiny.npz", x=np.linspace(-1e-8, 1e-8, 160, dtype=np.float32).reshape(40, 1, 4))
    (note,) = tflmgen("quantize", "model.tflite", "--calibration", "tiny.npz", "--json").json["in_float"]
    assert note["reason"].startswith("SOFTMAX in int8 requires an input scale times beta of more than 2^-26")


def test_an_operator_that_tflite_micro_lacks_in_any_type_is_in_integers() -> None:
    write_model_of(["TANH", "GELU", "TANH"])
    finished = tflmgen("quantize", "model.tflite", "--calibration", "good.npz", "--io", "int8")
    assert "warning: TFLite Micro has no kernel of GELU (int8)" in finished.out
    assert types_of("model-int8.tflite") == ["int8"] * 3


@pytest.mark.parametrize(("divisor", "operators"), [(3.0, {"MUL"}), (0.0, {"DEQUANTIZE", "DIV", "QUANTIZE"})])
def test_a_division_by_a_constant_is_a_multiplication(divisor: float, operators: set[str]) -> None:
    builder = ModelBuilder()
    graph = builder.subgraph("main")
    x, middle, divided, y = (graph.tensor(label, DType.FLOAT32, SHAPE) for label in ("x", "middle", "divided", "y"))
    number = graph.constant("number", np.array([divisor], np.float32))
    graph.operator("TANH", [x], [middle])
    graph.operator("DIV", [middle, number], [divided], {"fused_activation_function": 1})
    graph.operator("TANH", [divided], [y])
    graph.inputs, graph.outputs = [x], [y]
    Path("model.tflite").write_bytes(write_model(builder.model()))
    finished = tflmgen("quantize", "model.tflite", "--calibration", "good.npz", "--io", "int8", "-o", "q.tflite")
    assert finished.code == 0, finished.err
    written = read_model(Path("q.tflite")).subgraphs[0].operators
    assert {op.name for op in written} == {"TANH", *operators}
    assert [op.options for op in written if op.name in ("MUL", "DIV")] == [{"fused_activation_function": 1}]


@pytest.mark.parametrize("shape", [(1, 3), (1, 1, 1, 3)])
@pytest.mark.parametrize("activations", ["int8", "int16"])
def test_a_bias_of_any_rank_has_a_scale_per_channel(shape: tuple[int, ...], activations: str) -> None:
    builder = ModelBuilder()
    graph = builder.subgraph("main")
    x, y = graph.tensor("x", DType.FLOAT32, SHAPE), graph.tensor("y", DType.FLOAT32, (1, 3))
    weights = graph.constant("weights", np.arange(12, dtype=np.float32).reshape(3, 4) - 6)
    bias = graph.constant("bias", np.array([1, -20, 300], np.float32).reshape(shape))
    graph.operator("FULLY_CONNECTED", [x, weights, bias], [y])
    graph.inputs, graph.outputs = [x], [y]
    Path("model.tflite").write_bytes(write_model(builder.model()))
    words = ("--calibration", "good.npz", "--activations", activations, "-o", "q.tflite")
    finished = tflmgen("quantize", "model.tflite", *words)
    assert finished.code == 0, finished.err
    written = read_model(Path("q.tflite")).subgraphs[0]
    (layer,) = (op for op in written.operators if op.name == "FULLY_CONNECTED")
    assert written.tensors[layer.inputs[2]].shape == (3,)


def infinite(name: str, values: list[list[float]]) -> None:
    """model.tflite: max(tanh(x) with `values` by the operator PADV2 or MAXIMUM, x)."""
    builder = ModelBuilder()
    graph = builder.subgraph("main")
    x, middle, y = (graph.tensor(label, DType.FLOAT32, SHAPE) for label in ("x", "middle", "y"))
    graph.operator("TANH", [x], [middle])
    filler = graph.constant("filler", np.array(values, np.float32))
    if name == "PADV2":
        y = graph.tensor("wide", DType.FLOAT32, (1, 5))
        filler = graph.constant("number", np.array(values[0][0], np.float32))
        graph.operator(name, [middle, graph.constant("pads", np.array([[0, 0], [0, 1]], np.int32)), filler], [y])
    else:
        graph.operator(name, [middle, filler], [y])
    graph.inputs, graph.outputs = [x], [y]
    Path("model.tflite").write_bytes(write_model(builder.model()))


def test_padding_with_an_infinity_is_padding_with_the_least_integer() -> None:
    infinite("PADV2", [[-np.inf]])
    finished = tflmgen("quantize", "model.tflite", "--calibration", "good.npz", "--json", "--io", "int8")
    assert finished.json["in_float"] == []
    graph = read_model(Path("model-int8.tflite")).subgraphs[0]
    (padding,) = (op for op in graph.operators if op.name == "PADV2")
    assert graph.tensors[padding.inputs[2]].data == b"\x80"


@pytest.mark.parametrize(("name", "number"), [("MAXIMUM", -np.inf), ("ADD", np.inf), ("MUL", np.nan)])
def test_other_operators_with_an_infinite_operand_stay_in_float(name: str, number: float) -> None:
    infinite(name, [[0, 0, 0, number]])
    finished = tflmgen("quantize", "model.tflite", "--calibration", "good.npz", "--json")
    assert finished.code == 0, finished.err
    assert [note["reason"] for note in finished.json["in_float"]] == [f"{name} has an infinite or undefined operand"]


@pytest.mark.parametrize(
    ("words", "error"),
    [
        (("--calibration", "nan.npz"), "nan"),
        (("--calibration", "shape.npz"), "float32[1,4]"),
        (("--calibration", "name.npz"), "array 'x' is missing"),
        (("--calibration", "none.npz"), "No such file"),
        (("--calibration", "good.npz", "--max-error", "1e-9"), "beyond the limits"),
        (("--calibration", "good.npz", "--signature", "nosuch"), "no signature 'nosuch'"),
    ],
)
def test_bad_data_and_limits(words: tuple[str, ...], error: str) -> None:
    finished = tflmgen("quantize", "model.tflite", *words)
    assert finished.code == 1
    assert error.lower() in finished.err.lower()
    assert not Path("model-int8.tflite").exists()


def test_limits_hold_on_all_samples_not_on_those_alone_that_are_held_out() -> None:
    samples = np.random.default_rng(0).uniform(-2, 2, (40, 1, 4)).astype(np.float32)
    samples[3::4] = 0
    np.savez("zeros_held_out.npz", x=samples)
    words = ("quantize", "model.tflite", "--calibration", "zeros_held_out.npz")
    finished = tflmgen(*words, "--json", "-o", "any.tflite")
    assert finished.json["held_out"] < finished.json["samples"]
    assert finished.json["evaluation"]["outputs"][0]["max_error"] == 0
    finished = tflmgen(*words, "--max-error", "1e-4")
    assert "beyond the limits" in finished.err
    assert not Path("model-int8.tflite").exists()


def test_strict_refuses_operators_in_float() -> None:
    write_model_of(["TANH", "EXP"])
    finished = tflmgen("quantize", "model.tflite", "--calibration", "good.npz", "--strict")
    assert finished.code == 1
    assert "operator 1 (EXP) of subgraph 0 stays in float32: TFLite Micro has no int8 kernel of EXP" in finished.err
    assert not Path("model-int8.tflite").exists()


def test_a_quantised_model_is_refused() -> None:
    assert tflmgen("quantize", "model.tflite", "--calibration", "good.npz", "--io", "int8").code == 0
    finished = tflmgen("quantize", "model-int8.tflite", "--calibration", "good.npz")
    assert finished.code == 1
    assert "there is nothing to quantise" in finished.err


def test_build_in_one_step() -> None:
    finished = tflmgen("build", "model.tflite", "--quantize", "good.npz", "--board", "mps2_an386", "--no-compile")
    assert finished.code == 0, finished.err
    assert Path("model-int8-mps2_an386").is_dir()
    assert "Wrote model-int8.tflite." in finished.out


def test_build_fuses_an_lstm_layer_and_a_written_file_keeps_the_loop() -> None:
    """What build compiles starts with a state of zeros; TFLite Micro agrees on a new interpreter for each set."""
    Path("lstm.tflite").write_bytes(write_model(lstm_loop(LstmStyle(result="all"))))
    samples = np.random.default_rng(5).uniform(-1, 1, (40, STEPS, 1, FEATURES)).astype(np.float32)
    np.savez("lstm.npz", x=samples)
    assert tflmgen("quantize", "lstm.tflite", "--calibration", "lstm.npz").code == 0
    loop = read_model(Path("lstm-int8.tflite"))
    assert [op.name for op in loop.subgraphs[0].operators].count("WHILE") == 1
    finished = tflmgen("build", "lstm.tflite", "--quantize", "lstm.npz", "--board", "host", "--no-compile")
    assert finished.code == 0, finished.err
    assert "it is one operator now, whose state is zero at the start of each invoke" in finished.out
    assert "Wrote lstm-int8-fused.tflite." in finished.out
    tested = tflmgen("test", "lstm-int8-fused.tflite", "--board", "host", "--json")
    assert tested.code == 0, tested.err
    assert {check["reference"] for check in tested.json["checks"]} == {"TFLite Micro"}


def test_inputs_of_several_lengths() -> None:
    """Samples of a dynamic dimension may differ in it; the quantised file keeps it dynamic."""
    builder = ModelBuilder()
    graph = builder.subgraph("main")
    x, y = (graph.tensor(name, DType.FLOAT32, SHAPE, shape_signature=(-1, 4)) for name in ("x", "y"))
    graph.operator("TANH", [x], [y])
    graph.inputs, graph.outputs = [x], [y]
    Path("rows.tflite").write_bytes(write_model(builder.model()))
    rng = np.random.default_rng(1)
    sets = {f"s{k}_in_0": rng.normal(size=(1 + k % 5, 4)).astype(np.float32) for k in range(40)}
    np.savez("rows.npz", n_sets=np.array(40), **sets)  # type: ignore[arg-type]
    finished = tflmgen("quantize", "rows.tflite", "--calibration", "rows.npz", "--json")
    assert finished.code == 0, finished.err
    (output,) = finished.json["evaluation"]["outputs"]
    assert output["sqnr_db"] > 30
    graph_after = read_model(Path("rows-int8.tflite")).subgraphs[0]
    assert graph_after.tensors[graph_after.inputs[0]].shape_signature == (-1, 4)
    np.savez("stacked.npz", x=rng.normal(size=(40, 4)).astype(np.float32))
    finished = tflmgen("quantize", "rows.tflite", "--calibration", "stacked.npz", "--json")
    assert (finished.json["samples"], finished.json["held_out"]) == (40, 10)


@pytest.mark.parametrize("words", [("--calibration", "nan.npz"), ("--calibration", "good.npz", "--strict")])
def test_nothing_is_written_after_an_error(words: tuple[str, ...]) -> None:
    write_model_of(["TANH", "EXP"])
    before = sorted(Path().iterdir())
    assert tflmgen("quantize", "model.tflite", *words, "--report", "quant.html").code == 1
    assert sorted(Path().iterdir()) == before


def test_an_unknown_board_is_an_error_before_anything_is_quantised() -> None:
    before = sorted(Path().iterdir())
    finished = tflmgen("build", "model.tflite", "--quantize", "good.npz", "--board", "nosuch")
    assert "unknown board 'nosuch'" in finished.err
    assert sorted(Path().iterdir()) == before


def test_build_writes_nothing_after_an_error() -> None:
    before = sorted(Path().iterdir())
    finished = tflmgen("build", "model.tflite", "--quantize", "shape.npz", "--board", "host", "--no-compile")
    assert finished.code == 1
    assert "float32[1,4]" in finished.err
    assert sorted(Path().iterdir()) == before


@pytest.mark.parametrize("path", ["model.tflite", "good.npz"])
def test_a_file_that_is_read_is_not_overwritten(path: str) -> None:
    before = Path(path).read_bytes()
    finished = tflmgen("quantize", "model.tflite", "--calibration", "good.npz", "-o", path)
    assert finished.code == 2
    assert "it is read, and would be overwritten" in finished.err
    assert Path(path).read_bytes() == before


def test_an_input_that_is_always_0_is_a_warning() -> None:
    np.savez("zeros.npz", x=np.zeros((40, 1, 4), np.float32))
    finished = tflmgen("quantize", "model.tflite", "--calibration", "zeros.npz")
    assert finished.code == 0, finished.err
    assert "warning: zeros.npz: input 'x' is 0 in every sample" in finished.out


@pytest.mark.parametrize(("added", "warns"), [(1e6, True), (1000, False)])
def test_an_output_that_is_mostly_noise_is_a_warning(added: float, warns: bool) -> None:
    """A number is added and taken away again: with 1000, a web between them in int16 keeps the values."""
    builder = ModelBuilder()
    graph = builder.subgraph("main")
    x, moved, y = (graph.tensor(name, DType.FLOAT32, SHAPE) for name in ("x", "moved", "y"))
    number = graph.constant("number", np.float32(added))
    graph.operator("ADD", [x, number], [moved])
    graph.operator("SUB", [moved, number], [y])
    graph.inputs, graph.outputs = [x], [y]
    Path("model.tflite").write_bytes(write_model(builder.model()))
    words = ("--calibration", "good.npz", "--io", "int8")
    finished = tflmgen("quantize", "model.tflite", *words, "--json")
    assert any("its error is large" in warning for warning in finished.json["warnings"]) == warns


def test_few_samples_are_a_warning_with_their_number() -> None:
    np.savez("few.npz", x=np.linspace(-2, 2, 20, dtype=np.float32).reshape(5, 1, 4))
    finished = tflmgen("quantize", "model.tflite", "--calibration", "few.npz")
    assert finished.code == 0, finished.err
    assert "warning: few.npz has 5 samples: ranges rest on few values; use 32 samples or more" in finished.out


def write_running_sums() -> None:
    """sums.tflite: adds x to a variable, which is 0 at first, and returns it."""
    builder = ModelBuilder()
    graph, first = builder.subgraph("main"), builder.subgraph("first")
    x, total, following = (graph.tensor(name, DType.FLOAT32, SHAPE) for name in ("x", "total", "following"))
    handle, zero = graph.tensor("handle", None, ()), first.constant("zero", np.zeros(SHAPE, np.float32))
    graph.operator("CALL_ONCE", [], [], {"init_subgraph_index": 1})
    graph.operator("VAR_HANDLE", [], [handle], {"shared_name": "total"})
    graph.operator("READ_VARIABLE", [handle], [total])
    graph.operator("ADD", [total, x], [following])
    graph.operator("ASSIGN_VARIABLE", [handle, following], [])
    graph.inputs, graph.outputs = [x], [following]
    variable = first.tensor("variable", None, ())
    first.operator("VAR_HANDLE", [], [variable], {"shared_name": "total"})
    first.operator("ASSIGN_VARIABLE", [variable, zero], [])
    Path("sums.tflite").write_bytes(write_model(builder.model()))


def test_samples_of_a_model_with_state_follow_one_another_or_not() -> None:
    write_running_sums()
    ones, warning = np.ones((40, 1, 4), np.float32), "does not say whether its samples follow one another"
    scales = {}
    for name, says in {"silent": {}, "apart": {"stateful": False}, "in_order": {"stateful": True}}.items():
        np.savez(f"{name}.npz", x=ones, **says)
        finished = tflmgen("quantize", "sums.tflite", "--calibration", f"{name}.npz", "-o", f"{name}.tflite")
        assert finished.code == 0, finished.err
        assert (warning in finished.out) is (name == "silent")
        tensors = read_model(Path(f"{name}.tflite")).subgraphs[0].tensors
        types = [(t.quantization, t.dtype) for t in tensors if t.quantization and t.dtype]
        scales[name] = max(q.scale * (dtype.limits[1] - q.zero_point) for q, dtype in types)
    # 1 and 40, with the room of states that the caller keeps, which are summed in int16: eight times as much.
    assert scales["apart"] == scales["silent"] == pytest.approx(8, rel=1e-3)
    assert scales["in_order"] == pytest.approx(320, rel=1e-3)
    np.savetxt("table.csv", ones[:, 0], delimiter=",")
    finished = tflmgen("quantize", "sums.tflite", "--calibration", "table.csv", "-o", "table.tflite")
    assert "If they do, put them into an .npz file, with an array stateful=True" in finished.out
    assert "Add an array" not in finished.out


@pytest.mark.emulator
@requires_compiler
@requires_qemu
@pytest.mark.parametrize(("operators", "warns"), [(["ABS"], True), (["TANH", "TANH"], False)])
def test_a_model_that_gets_slower_is_a_warning(operators: list[str], warns: bool) -> None:
    write_model_of(operators)
    words = ("--calibration", "good.npz", "--board", "mps2_an386")
    finished = tflmgen("quantize", "model.tflite", *words, "--json")
    assert finished.code == 0, finished.err
    board = finished.json["board"]
    assert (board["after"]["instructions"] > board["before"]["instructions"]) == warns
    assert any("times the instructions. Keep it in float32" in text for text in finished.json["warnings"]) == warns


def test_progress_says_how_much_is_done() -> None:
    parts = []

    def note(text: str, done: int = 0, total: int = 0) -> None:
        if text.startswith("Calibrating: set"):
            parts.append((done, total))

    quantize_file(Path("model.tflite"), Path("good.npz"), QuantizeOptions(), None, note)
    assert parts == [(number, 30) for number in range(30)]
