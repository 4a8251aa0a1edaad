"""Tensors without elements: in operators, through If, While and calls, and as a model's inputs and outputs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support.case_models import model_bytes
from support.kernel_harness import Case, Tensor, constant, random_values, tensor
from support.litert import run_litert
from support.model_writer import ModelWriter
from support.native import Invocation, build_native, run_native
from support.pipeline import compile_bytes
from tflmgen.compiler import compile_model
from tflmgen.emulators.open_session import open_session
from tflmgen.errors import ModelError
from tflmgen.hardware.board import load_board
from tflmgen.ir.kernel import Target
from tflmgen.options import BuildOptions
from tflmgen.project.assemble import write
from tflmgen.project.firmware_build import compile_for, project_of

CASES: dict[str, Case] = {}


def add(
    operator: str,
    inputs: Sequence[Tensor],
    outputs: Sequence[Tensor],
    options: Mapping[str, Any] | None = None,
    name: str = "",
) -> None:
    label = f"{operator} {name} {outputs[0].type.dtype.label}"
    CASES[label] = Case(operator, tuple(inputs), tuple(t.type for t in outputs), options or {})


def numbers(dtype: str, *shape: int) -> Tensor:
    return tensor(dtype, shape, 0.5, 3) if dtype == "int8" else tensor(dtype, shape)


def indices(*values: Any) -> Tensor:
    return constant("int32", np.array(values, np.int32))


def layer(dtype: str, *shape: int) -> tuple[Tensor, Tensor]:
    """Weights and biases."""
    if dtype == "int8":
        return constant("int8", np.ones(shape), 0.1), constant("int32", np.ones(shape[0]), 0.05)
    return constant(dtype, np.ones(shape)), constant(dtype, np.ones(shape[0]))


TURNED = {"adj_x": True, "adj_y": True}
for kind in ("float32", "int8"):
    none = numbers(kind, 0, 3)
    add("ADD", [none, numbers(kind, 1, 3)], [none])
    add("MUL", [numbers(kind, 2, 0), numbers(kind, 1)], [numbers(kind, 2, 0)])
    add("RELU", [none], [none])
    add("CONCATENATION", [none, numbers(kind, 2, 3)], [numbers(kind, 2, 3)], {"axis": 0})
    add("CONCATENATION", [numbers(kind, 2, 3), numbers(kind, 2, 0)], [numbers(kind, 2, 3)], {"axis": 1}, "last")
    add("CONCATENATION", [none, none], [none], {"axis": 0}, "nothing")
    add("SLICE", [numbers(kind, 2, 3), indices(0, 1), indices(0, 2)], [numbers(kind, 0, 2)])
    add("STRIDED_SLICE", [numbers(kind, 2, 3), indices(1, 1), indices(1, 2), indices(1, 1)], [numbers(kind, 0, 1)])
    add(
        "SPLIT_V",
        [numbers(kind, 2, 3), indices(0, 3), constant("int32", 1)],
        [numbers(kind, 2, 0), numbers(kind, 2, 3)],
        {"num_splits": 2},
    )
    add("RESHAPE", [none, indices(3, 0)], [numbers(kind, 3, 0)])
    add("TRANSPOSE", [none, indices(1, 0)], [numbers(kind, 3, 0)])
    add("PAD", [none, indices([1, 1], [0, 0])], [numbers(kind, 2, 3)])
    add("PAD", [numbers(kind, 0, 9), indices([9, 0], [0, 0])], [numbers(kind, 9, 9)], name="large")
    add("REDUCE_MAX", [none, indices(0)], [numbers(kind, 3)])
    add("REDUCE_MIN", [numbers(kind, 0, 99), indices(0)], [numbers(kind, 99)])
    add("SUM", [none, indices(1)], [numbers(kind, 0)], name="nothing")
    add("MEAN", [none, indices(0)], [numbers(kind, 3)])
    add("GATHER", [numbers(kind, 2, 3), constant("int32", np.zeros(0))], [none], {"axis": 0})
    add("TILE", [numbers(kind, 2, 3), indices(0, 1)], [none])
    add("PACK", [numbers(kind, 0)] * 2, [numbers(kind, 2, 0)], {"axis": 0, "values_count": 2})
    add("BATCH_MATMUL", [numbers(kind, 0, 2), numbers(kind, 2, 3)], [none])
    add("BATCH_MATMUL", [numbers(kind, 2, 0), numbers(kind, 0, 3)], [numbers(kind, 2, 3)], name="depth 0")
    add("BATCH_MATMUL", [numbers(kind, 0, 2), numbers(kind, 3, 0)], [numbers(kind, 2, 3)], TURNED, name="turned")
    add("ARG_MAX", [none, constant("int32", 1)], [tensor("int32", (0,))], {"output_type": 2}, kind)
    add("FULLY_CONNECTED", [none, *layer(kind, 4, 3)], [numbers(kind, 0, 4)])
    steps = {"padding": 1, "stride_w": 1, "stride_h": 1}
    add("CONV_2D", [numbers(kind, 0, 2, 2, 3), *layer(kind, 4, 1, 1, 3)], [numbers(kind, 0, 2, 2, 4)], steps)
    window = steps | {"filter_width": 2, "filter_height": 2}
    add("MAX_POOL_2D", [numbers(kind, 0, 2, 2, 3)], [numbers(kind, 0, 1, 1, 3)], window)
    add("SHAPE", [none], [tensor("int32", (2,))], {"out_type": 2}, kind)
NONE = tensor("float32", (0, 3))
add("SOFTMAX", [NONE], [NONE], {"beta": 1.0})
add("SUM", [NONE, indices(0)], [tensor("float32", (3,))])
add("MEAN", [tensor("int16", (0, 3), 0.5), indices(0)], [tensor("int16", (3,), 0.5)], name="int16")
add("MEAN", [tensor("int32", (2, 0)), indices(1)], [tensor("int32", (2,))], name="int32")
add("REDUCE_PROD", [NONE, indices(0)], [tensor("float32", (3,))])
add("CAST", [NONE], [tensor("int32", (0, 3))])
add("LESS", [NONE, NONE], [tensor("bool", (0, 3))])
add("QUANTIZE", [NONE], [numbers("int8", 0, 3)])
add("REDUCE_ANY", [tensor("bool", (0, 3)), indices(0)], [tensor("bool", (3,))])
add("REDUCE_ALL", [tensor("bool", (0, 3)), indices(0)], [tensor("bool", (3,))])


def test_operators_equal_litert() -> None:
    rng = np.random.default_rng(0)
    values = {name: random_values(case, rng) for name, case in CASES.items()}
    stages = [compile_bytes(model_bytes(case)) for case in CASES.values()]
    program = build_native({f"m{i}": model.sources(f"m{i}") for i, model in enumerate(stages)})
    inputs_of_cases = [tuple(v for v in values[name] if v is not None) for name in CASES]
    runs = [Invocation(i, 0, inputs) for i, inputs in enumerate(inputs_of_cases)]
    results = run_native(program, runs, [model.program.signatures for model in stages])
    for (name, case), outputs in zip(CASES.items(), results, strict=True):
        for got, wanted in zip(outputs, run_litert(case, values[name]), strict=True):
            np.testing.assert_array_equal(np.reshape(got, wanted.shape), wanted, name)


@pytest.mark.parametrize(("kind", "expected"), [("float32", 1.0), ("int8", round(0.05 / 0.5) + 3)])
@pytest.mark.parametrize("keeps", [False, True])
def test_a_product_over_nothing_is_the_bias(kind: str, expected: float, keeps: bool) -> None:
    """LiteRT leaves the output as it is."""
    shape = (2, 1, 0) if keeps else (2, 0)
    output = numbers(kind, *shape[:-1], 4)
    case = Case(
        "FULLY_CONNECTED", (numbers(kind, *shape), *layer(kind, 4, 0)), (output.type,), {"keep_num_dims": keeps}
    )
    stages = compile_bytes(model_bytes(case))
    program = build_native({"m": stages.sources("m")})
    runs = [Invocation(0, 0, (np.zeros(shape, kind),))]
    ((biases,),) = run_native(program, runs, [stages.program.signatures])
    np.testing.assert_array_equal(biases, np.full((*shape[:-1], 4), expected, kind))


@pytest.mark.parametrize(
    ("operator", "inputs", "output", "options"),
    [
        (
            "SPACE_TO_BATCH_ND",
            [tensor("float32", (1, 0, 2, 3)), indices(1, 1), indices([1, 1], [0, 0])],
            tensor("float32", (1, 2, 2, 3)),
            {},
        ),
        ("SUM", [numbers("int8", 0, 3), indices(0)], numbers("int8", 3), {}),
    ],
)
def test_what_needs_elements_is_refused(
    operator: str, inputs: list[Tensor], output: Tensor, options: dict[str, Any]
) -> None:
    case = Case(operator, tuple(inputs), (output.type,), options)
    with pytest.raises(
        ModelError, match=r"from an operand without any|an input of at least one element for a quantised sum"
    ):
        compile_bytes(model_bytes(case))


@pytest.mark.parametrize("kind", ["int8", "int16"])
def test_a_quantised_sum_of_nothing_has_no_reference(kind: str) -> None:
    """Why it is refused: LiteRT's kernel leaves in the output what was there before."""
    litert = pytest.importorskip("ai_edge_litert.interpreter", reason="ai-edge-litert is not installed")
    source, output = (tensor(kind, shape, 0.5) for shape in ((0, 3), (3,)))
    case = Case("SUM", (source, indices(0)), (output.type,), {})
    resolver = litert.OpResolverType.BUILTIN_WITHOUT_DEFAULT_DELEGATES
    interpreter = litert.Interpreter(model_content=model_bytes(case), experimental_op_resolver_type=resolver)
    interpreter.allocate_tensors()
    (detail,) = interpreter.get_output_details()
    for before in (55, -77):
        interpreter.tensor(detail["index"])()[...] = before
        interpreter.invoke()
        assert np.array(interpreter.get_tensor(detail["index"])).tolist() == [before] * 3


def carrying_model() -> bytes:
    """No elements go through an If, a While that counts down from n, and a call."""
    w = ModelWriter()
    g = w.subgraph("main")
    condition, count, none = (g.tensor(n, d, s) for n, d, s in _ports())
    chosen, doubled, called = (g.tensor(name, "float32", [2, 0]) for name in ("chosen", "doubled", "called"))
    last, joined = g.tensor("last", "int32", [1]), g.tensor("joined", "float32", [2, 1])
    g.operator("IF", [condition, none], [chosen], {"then_subgraph_index": 1, "else_subgraph_index": 2})
    g.operator("WHILE", [count, chosen], [last, doubled], {"cond_subgraph_index": 3, "body_subgraph_index": 4})
    g.operator("CALL", [doubled], [called], {"subgraph": 1})
    row = g.constant("one", np.ones((2, 1), np.float32))
    g.operator("CONCATENATION", [called, row], [joined], {"axis": 1})
    g.inputs, g.outputs = [condition, count, none], [last, called, joined]
    for name in ("yes", "no"):
        s = w.subgraph(name)
        s.inputs = [s.tensor("x", "float32", [2, 0])]
        s.outputs = [s.tensor("y", "float32", [2, 0])]
        s.operator("ADD" if name == "yes" else "MUL", s.inputs * 2, s.outputs)
    for name in ("again", "up"):
        s = w.subgraph(name)
        s.inputs = [s.tensor("i", "int32", [1]), s.tensor("x", "float32", [2, 0])]
        if name == "again":
            s.outputs = [s.tensor("r", "bool", [1])]
            s.operator("GREATER", [s.inputs[0], s.constant("zero", np.array([0], np.int32))], s.outputs)
        else:
            s.outputs = [s.tensor("r", "int32", [1]), s.tensor("y", "float32", [2, 0])]
            s.operator("SUB", [s.inputs[0], s.constant("one", np.array([1], np.int32))], s.outputs[:1])
            s.operator("NEG", s.inputs[1:], s.outputs[1:])
    return w.finish()


def _ports() -> list[tuple[str, str, list[int]]]:
    return [("condition", "bool", [1]), ("n", "int32", [1]), ("none", "float32", [2, 0])]


def test_control_flow_carries_nothing() -> None:
    stages = compile_bytes(carrying_model())
    none = np.zeros((2, 0), np.float32)
    runs = [Invocation(0, 0, (np.array([c]), np.array([n], np.int32), none)) for c in (True, False) for n in (0, 3)]
    program = build_native({"m": stages.sources("m")})
    for last, called, joined in run_native(program, runs, [stages.program.signatures]):
        assert last.tolist() == [0]
        assert called.shape == (2, 0)
        assert joined.tolist() == [[1], [1]]


def test_the_protocol_carries_nothing(tmp_path: Path) -> None:
    board, options, path = load_board("host"), BuildOptions(), tmp_path / "m.tflite"
    path.write_bytes(carrying_model())
    write(project_of(compile_for(path, board, options), board, options), tmp_path / "project")
    with open_session(board, tmp_path / "project", None, sanitize=True) as session:
        outputs = session.invoke(0, [b"\1", np.int32(2).tobytes(), b""]).outputs
    assert outputs == (np.int32(0).tobytes(), b"", np.ones(2, np.float32).tobytes())


def test_indices_without_columns_give_the_whole_input(tmp_path: Path) -> None:
    """GATHER_ND, which validation evaluates too; LiteRT refuses such indices."""
    source, output = tensor("float32", (2, 3)), tensor("float32", (4, 2, 3))
    case = Case("GATHER_ND", (source, constant("int32", np.zeros((4, 0)))), (output.type,), {})
    path = tmp_path / "whole.tflite"
    path.write_bytes(model_bytes(case))
    compilation = compile_model(path, Target("host"), BuildOptions())
    x = np.arange(6, dtype=np.float32).reshape(2, 3)
    program = build_native({"whole": compilation.sources})
    ((rows,),) = run_native(program, [Invocation(0, 0, (x,))], [compilation.module.signatures])
    np.testing.assert_array_equal(rows, [x] * 4)
