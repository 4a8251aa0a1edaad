"""Circle files of Samsung's ONE: read as .tflite files are, with INSTANCE_NORM as TFLite's operators."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support.circle_files import write_circle
from support.commands import tflmgen
from support.corpus import CORPUS, requires_corpus
from tflmgen.frontend.tflite import Model, ModelBuilder, read_model
from tflmgen.ir import DType
from tflmgen.reference import Interpreter


def _normalized(name: str = "INSTANCE_NORM", dtype: DType = DType.FLOAT32) -> Model:
    builder = ModelBuilder()
    graph = builder.subgraph("main")
    x, y = (graph.tensor(key, dtype, (2, 4, 3, 5)) for key in "xy")
    rng = np.random.default_rng(3)
    gamma, beta = (graph.constant(key, rng.uniform(0.5, 2, 5).astype(np.float32)) for key in ("gamma", "beta"))
    options = {"epsilon": 1e-3, "fused_activation_function": 1} if name == "INSTANCE_NORM" else {}
    graph.operator(name, [x, gamma, beta], [y], options)
    graph.inputs, graph.outputs = [x], [y]
    return builder.model()


@pytest.mark.parametrize("old", [False, True])
def test_instance_norm_equals_its_definition(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, old: bool) -> None:
    monkeypatch.chdir(tmp_path)
    source = _normalized()
    write_circle(Path("net.circle"), source, old)
    x = np.random.default_rng(5).normal(1, 3, (2, 4, 3, 5)).astype(np.float32)
    np.savez("in.npz", x=x)
    done = tflmgen("run", "net.circle", "--board", "host", "--inputs", "in.npz", "--outputs", "out.npz")
    assert done.code == 0, done.err
    gamma, beta = (np.frombuffer(source.subgraphs[0].tensors[i].data or b"", np.float32) for i in (2, 3))
    centred = x - x.mean((1, 2), keepdims=True)
    want = np.maximum(centred / np.sqrt(x.var((1, 2), keepdims=True) + 1e-3) * gamma + beta, 0)
    with np.load("out.npz") as data:
        np.testing.assert_allclose(data["y"], want, rtol=1e-5, atol=1e-5)
    assert tflmgen("convert", "net.circle").code == 0
    (result,) = Interpreter(read_model(Path("net.tflite"))).invoke(None, [x])
    np.testing.assert_allclose(result, want, rtol=1e-5, atol=1e-5)


def _one_operator(name: str, shape: tuple[int, ...], tables: list[Any], options: dict[str, Any]) -> Model:
    builder = ModelBuilder()
    graph = builder.subgraph("main")
    x, y = (graph.tensor(key, DType.FLOAT32, shape) for key in "xy")
    constants = [graph.constant(f"c{k}", table) for k, table in enumerate(tables)]
    graph.operator(name, [x, *constants], [y], options)
    graph.inputs, graph.outputs = [x], [y]
    return builder.model()


def _outputs(path: Path, model: Model, x: Any) -> Any:
    return Interpreter(read_model(write_circle(path, model))).invoke(None, [x])[0]


@pytest.mark.parametrize("with_beta", [False, True])
@pytest.mark.parametrize("shape", [(2, 6), (1, 3, 6), (1, 2, 3, 6)])
def test_rms_norm_equals_its_definition(tmp_path: Path, shape: tuple[int, ...], with_beta: bool) -> None:
    rng = np.random.default_rng(6)
    tables = [rng.uniform(0.5, 2, 6).astype(np.float32) for _ in range(1 + with_beta)]
    x = rng.normal(0, 2, shape).astype(np.float32)
    result = _outputs(tmp_path / "n.circle", _one_operator("RMS_NORM", shape, tables, {"epsilon": 0.01}), x)
    want = x / np.sqrt(np.square(x).mean(-1, keepdims=True) + 0.01) * tables[0] + (tables[1] if with_beta else 0)
    np.testing.assert_allclose(result, want, rtol=1e-5, atol=1e-6)


def test_rotary_embedding_equals_its_definition(tmp_path: Path) -> None:
    rng = np.random.default_rng(7)
    sine, cosine = (rng.normal(size=(1, 1, 1, 8)).astype(np.float32) for _ in range(2))
    x = rng.normal(size=(1, 2, 3, 8)).astype(np.float32)
    result = _outputs(tmp_path / "n.circle", _one_operator("ROPE", x.shape, [sine, cosine], {"mode": 0}), x)
    turned = np.concatenate([-x[..., 4:], x[..., :4]], -1)
    np.testing.assert_allclose(result, x * cosine + turned * sine, rtol=1e-5, atol=1e-6)


def test_gru_equals_ones_own_test(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Numbers of Samsung's compiler/luci-interpreter/src/kernels/GRU.test.cpp."""
    monkeypatch.chdir(tmp_path)
    of_input = [0.807328, -0.521874, 0.116675, 0.331105, 0.277033, 0.237678]
    of_input += [0.129396, 0.171752, -0.15585, 0.813781, -0.26672, -0.230285]
    of_state = [-0.192813, -0.458227, -0.178845, -0.275436, 0.704787, 0.187431]
    of_state += [-0.280711, -0.406058, -0.415622, 0.675278, 0.427286, -0.241141]
    builder = ModelBuilder()
    graph = builder.subgraph("main")
    x, y = graph.tensor("x", DType.FLOAT32, (2, 1, 2)), graph.tensor("y", DType.FLOAT32, (1, 2))
    first, second = (
        graph.constant(k, np.array(v, np.float32).reshape(6, 2)) for k, v in (("w", of_input), ("u", of_state))
    )
    state = graph.constant("h", np.zeros((1, 2), np.float32))
    graph.operator("GRU", [x, first, -1, second, -1, state], [y], {"return_sequences": False})
    graph.inputs, graph.outputs = [x], [y]
    write_circle(Path("gru.circle"), builder.model())
    np.savez("in.npz", x=np.array([[[0.98045033, 0.39546537]], [[0.5209594, 0.72873044]]], np.float32))
    done = tflmgen("run", "gru.circle", "--board", "host", "--inputs", "in.npz", "--outputs", "out.npz")
    assert done.code == 0, done.err
    with np.load("out.npz") as data:
        np.testing.assert_allclose(data["y"], [[0.22777566, -0.1976251]], rtol=2e-5)
    assert tflmgen("convert", "gru.circle").code == 0
    assert tflmgen("inspect", "gru.tflite").code == 0


def _coded(rng: Any) -> tuple[Any, list[Any]]:
    """Weights [5, 40] of two clusters, of 2 outputs in 3 bits and 3 in 1, and their scales, codes and clusters."""
    scales = rng.uniform(0.1, 1, 9).astype(np.float32)
    signs = rng.integers(0, 2, (9, 40))
    words = np.packbits(np.pad(signs, ((0, 0), (0, 24))).astype(np.uint8), axis=1, bitorder="little").view("<i4")
    terms = scales[:, None] * (2 * signs - 1)
    weights = np.concatenate([terms[:6].reshape(3, 2, 40).sum(0), terms[6:]])
    return weights, [scales, words, np.array([[3, 2], [1, 3]], np.int32)]


def test_binary_codes_become_their_weights(tmp_path: Path) -> None:
    rng = np.random.default_rng(8)
    weights, (scales, words, clusters) = _coded(rng)
    builder = ModelBuilder()
    graph = builder.subgraph("main")
    x, y = graph.tensor("x", DType.FLOAT32, (40, 3)), graph.tensor("y", DType.FLOAT32, (5, 3))
    bias = rng.normal(size=5).astype(np.float32)
    constants = [graph.constant(f"c{k}", v) for k, v in enumerate((scales, words, bias, clusters))]
    graph.operator("BCQ_FULLY_CONNECTED", [x, *constants], [y], {"weights_hidden_size": 40})
    graph.inputs, graph.outputs = [x], [y]
    value = rng.normal(size=(40, 3)).astype(np.float32)
    result = _outputs(tmp_path / "n.circle", builder.model(), value)
    np.testing.assert_allclose(result, weights @ value + bias[:, None], rtol=1e-4, atol=1e-4)


def test_rows_of_binary_codes(tmp_path: Path) -> None:
    weights, (scales, words, clusters) = _coded(np.random.default_rng(9))
    builder = ModelBuilder()
    graph = builder.subgraph("main")
    x, y = graph.tensor("x", DType.INT32, (4,)), graph.tensor("y", DType.FLOAT32, (4, 40))
    before = [graph.constant("a", scales), graph.constant("b", words)]
    graph.operator("BCQ_GATHER", [*before, x, graph.constant("c", clusters)], [y], {"input_hidden_size": 40, "axis": 0})
    graph.inputs, graph.outputs = [x], [y]
    picked = np.array([4, 0, 1, 4], np.int32)
    np.testing.assert_allclose(_outputs(tmp_path / "n.circle", builder.model(), picked), weights[picked], rtol=1e-5)


_TABLE = np.ones(8, np.float32)


@pytest.mark.parametrize(
    ("model", "sentence"),
    [
        (_one_operator("ROPE", (1, 2, 3, 8), [_TABLE, _TABLE], {"mode": 1}), "requires the mode GPT_NEOX"),
        (_one_operator("ROPE", (1, 2, 3, 6), [_TABLE, _TABLE], {"mode": 0}), "tables of as many"),
        (_one_operator("RMS_NORM", (2, 8), [], {}), "requires an input and gamma"),
        (_normalized("BCQ_GATHER"), "requires scales, codes and clusters"),
        (_normalized(dtype=DType.INT8), "INSTANCE_NORM"),
    ],
)
def test_what_has_no_kernel_is_named(tmp_path: Path, model: Model, sentence: str) -> None:
    path = write_circle(tmp_path / "net.circle", model)
    done = tflmgen("inspect", path)
    assert (done.code, sentence in done.err) == (1, True), done.err


@requires_corpus
@pytest.mark.parametrize("name", ["one_If_001", "one_While_000", "one_While_002"])
def test_control_flow_recipes_of_one_run_from_circle(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    monkeypatch.chdir(tmp_path)
    write_circle(Path("net.circle"), read_model(CORPUS / "one" / f"{name}.tflite"))
    done = tflmgen("test", "net.circle", "--board", "host", "--vectors", CORPUS / "one" / f"{name}.npz")
    assert done.code == 0, done.err


def _product_or_sum() -> Model:
    """As ONE's recipe If_000: then MUL in subgraph 2, else ADD in subgraph 1."""
    builder = ModelBuilder()
    main = builder.subgraph("Main")
    for name, operator in (("IF_ELSE", "ADD"), ("IF_THEN", "MUL")):
        branch = builder.subgraph(name)
        a, b, y = (branch.tensor(key, DType.FLOAT32, (2, 3)) for key in ("ifm1", "ifm2", "ofm"))
        branch.operator(operator, [a, b], [y])
        branch.inputs, branch.outputs = [a, b], [y]
    condition = main.tensor("ifmb", DType.BOOL, ())
    a, b, y = (main.tensor(key, DType.FLOAT32, (2, 3)) for key in ("ifm1", "ifm2", "ofm"))
    main.operator("IF", [condition, a, b], [y], {"then_subgraph_index": 2, "else_subgraph_index": 1})
    main.inputs, main.outputs = [condition, a, b], [y]
    return builder.model()


def _while_at_ten(with_matrix: bool) -> Model:
    """As ONE's recipes While_000 and, with a matrix that grows by 2, While_001: it runs while the number is 10."""
    builder = ModelBuilder()
    types = [(DType.INT32, ()), *([(DType.FLOAT32, (2, 3))] if with_matrix else [])]
    main, condition, body = (builder.subgraph(name) for name in ("Main", "WHILE_COND", "WHILE_BODY"))
    for graph in (main, condition, body):
        graph.inputs = [graph.tensor(f"ifm{i}", dtype, shape) for i, (dtype, shape) in enumerate(types)]
    condition.outputs = [condition.tensor("ofm", DType.BOOL, ())]
    condition.operator("EQUAL", [condition.inputs[0], condition.constant("ten", np.int32(10))], condition.outputs)
    for graph in (main, body):
        graph.outputs = [graph.tensor(f"ofm{i}", dtype, shape) for i, (dtype, shape) in enumerate(types)]
    steps: list[Any] = [np.int32(1), np.full((2, 3), 2, np.float32)]
    for x, y, step in zip(body.inputs, body.outputs, steps, strict=False):
        body.operator("ADD", [x, body.constant(f"step{x}", step)], [y])
    main.operator("WHILE", main.inputs, main.outputs, {"cond_subgraph_index": 1, "body_subgraph_index": 2})
    return builder.model()


_MATRIX = np.arange(6, dtype=np.float32).reshape(2, 3) - 2


@pytest.mark.parametrize(
    ("model", "inputs", "wanted"),
    [
        (_product_or_sum(), [np.bool_(True), _MATRIX, _MATRIX + 1], [_MATRIX * (_MATRIX + 1)]),
        (_product_or_sum(), [np.bool_(False), _MATRIX, _MATRIX + 1], [_MATRIX * 2 + 1]),
        (_while_at_ten(False), [np.int32(10)], [np.int32(11)]),
        (_while_at_ten(False), [np.int32(9)], [np.int32(9)]),
        (_while_at_ten(True), [np.int32(10), _MATRIX], [np.int32(11), _MATRIX + 2]),
        (_while_at_ten(True), [np.int32(-1), _MATRIX], [np.int32(-1), _MATRIX]),
    ],
    ids=["if_then", "if_else", "while_once", "while_never", "while_matrix_once", "while_matrix_never"],
)
def test_recipes_of_one_have_the_results_that_arithmetic_has(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, model: Model, inputs: list[Any], wanted: list[Any]
) -> None:
    """Written as CIR0 files; the .tflite file that convert makes computes the same."""
    monkeypatch.chdir(tmp_path)
    write_circle(Path("net.circle"), model)
    assert Path("net.circle").read_bytes()[4:8] == b"CIR0"
    np.savez("in.npz", **{f"s0_in_{i}": array for i, array in enumerate(inputs)})
    assert tflmgen("convert", "net.circle").code == 0
    for source in ("net.circle", "net.tflite"):
        done = tflmgen("run", source, "--board", "host", "--inputs", "in.npz", "--outputs", "out.npz")
        assert done.code == 0, done.err
        with np.load("out.npz") as data:
            for j, want in enumerate(wanted):
                np.testing.assert_array_equal(data[f"s0_out_{j}"], want)
